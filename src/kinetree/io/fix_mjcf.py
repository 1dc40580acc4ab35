"""Repair of an MJCF text: names, inertials, orientations, axes, ranges and coefficients of the main file."""

from __future__ import annotations

from collections import Counter

from kinetree.io.attributes import clean_name, is_name, values
from kinetree.io.description import Description
from kinetree.io.mjcf_compiler import LENGTHS, is_degenerate
from kinetree.io.splice import Splice, put
from kinetree.io.text import attributes, number, numbers
from kinetree.io.xml import Element
from kinetree.spatial.inertia import Inertia

_COEFFICIENTS = ("damping", "stiffness", "armature", "frictionloss")


def fix_mjcf(splice: Splice, robot: Description, original: Description) -> None:
    """Write the repairs into the elements of the main file."""
    before = {link.source.start: link.inertia for link in original.links.values() if link.source is not None}
    _fix_names(splice, robot)
    for link in robot.links.values():
        if link.source is not None and link.source.file == robot.file:
            if link.inertia is not None and link.inertia != before.get(link.source.start):
                put(splice, link.source, "inertial", _inertial(link.inertia))
    for element in robot.document.walk() if robot.document is not None else ():
        if element.file == robot.file:
            _fix_numbers(splice, element)


def _fix_names(splice: Splice, robot: Description) -> None:
    """Write the repaired names of bodies and joints; replicated ones keep theirs."""
    named = [(link.source, link.name) for link in robot.links.values()]
    named += [(joint.source, joint.name) for joint in robot.joints.values()]
    uses = Counter(element.start for element, _ in named if element is not None)
    for element, name in named:
        if element is None or element.file != robot.file or uses[element.start] > 1:
            continue
        if element.get("name") not in (None, "", name):
            splice.set(element, name=name)


def _fix_numbers(splice: Splice, element: Element) -> None:
    for orientation, length in LENGTHS.items():
        given = values(element, orientation)
        if orientation != "euler" and len(given) == length and is_degenerate(orientation, given):
            splice.set(element, **{orientation: None})
    if element.tag == "geom" and min(values(element, "mass") + values(element, "density"), default=0.0) < 0:
        splice.set(element, mass="0")
    name = element.get("name")
    if element.tag == "site" and name and not is_name(name):
        splice.set(element, name=clean_name(name))
    if element.tag == "joint":
        axis, bounds = values(element, "axis"), values(element, "range")
        if len(axis) == 3 and is_degenerate("zaxis", axis):
            splice.set(element, axis="0 0 1")
        if len(bounds) == 2 and bounds[0] > bounds[1]:
            splice.set(element, range=f"{number(bounds[1])} {number(bounds[0])}")
        for coefficient in _COEFFICIENTS:
            if any(x < 0 for x in values(element, coefficient)[:1]):
                splice.set(element, **{coefficient: "0"})


def _inertial(inertia: Inertia) -> str:
    mass, full = number(inertia.mass), numbers(inertia.about_com)
    return f"<inertial{attributes(pos=numbers(inertia.com), mass=mass, fullinertia=full)}/>"
