"""Repair of a URDF text: names, joint ends, inertials, axes, limits and coefficients."""

from __future__ import annotations

from kinetree.io.attributes import clean_name, is_name, parse_numbers, values
from kinetree.io.description import Description, Joint
from kinetree.io.placement import norm, unit
from kinetree.io.save_urdf import inertial
from kinetree.io.splice import Splice, put
from kinetree.io.text import attributes, number, numbers
from kinetree.io.urdf_parts import AXIAL
from kinetree.io.xml import Element
from kinetree.model import Limits
from kinetree.spatial.vector import Vector


def fix_urdf(splice: Splice, robot: Description, original: Description) -> None:
    """Write the repairs into the elements of a `<robot>`."""
    before = {link.source.start: link.inertia for link in original.links.values() if link.source is not None}
    for link in robot.links.values():
        if link.source is None:
            if not link.virtual and robot.document is not None:
                splice.append(robot.document, f"  <link{attributes(name=link.name)}/>\n")
            continue
        if link.source.get("name") != link.name:
            splice.set(link.source, name=link.name)
        if link.inertia is not None and link.inertia != before[link.source.start]:
            put(splice, link.source, "inertial", "".join(line.strip() for line in inertial(link.inertia)))
    read = {link.source.start for link in robot.links.values() if link.source is not None}
    for element in robot.document.children if robot.document is not None else ():
        name = element.get("name")
        if element.tag == "link" and name not in (None, "", "world") and element.start not in read:
            splice.replace(element, "")  # a duplicate
        if element.tag == "frame" and name and not is_name(name):
            splice.set(element, name=clean_name(name))
    for joint in (*robot.joints.values(), *robot.left_out):
        if joint.source is not None:
            _fix_joint(splice, joint, joint.source)


def _fix_joint(splice: Splice, joint: Joint, element: Element) -> None:
    if element.get("name") not in (None, "", joint.name):
        splice.set(element, name=joint.name)
    for tag, name in (("parent", joint.parent), ("child", joint.child)):
        end = element.find(tag)
        if end is not None and end.get("link") != name and "@" not in name and name != "world":
            splice.set(end, link=name)
    if joint.is_fixed and element.get("type") != "fixed":
        splice.set(element, type="fixed")
    mimic = element.find("mimic")
    if mimic is not None and joint.mimic is None:
        splice.replace(mimic, "")
    _fix_axis(splice, joint, element.find("axis"))
    _fix_limits(splice, joint, element.find("limit"))
    _fix_dynamics(splice, joint, element.find("dynamics"))


def _fix_axis(splice: Splice, joint: Joint, axis: Element | None) -> None:
    given = parse_numbers((axis.get("xyz") or "").replace(",", " ")) if axis is not None else ""
    if axis is None or isinstance(given, str) or len(given) != 3:
        return
    wanted: Vector = (given[0], given[1], given[2])
    moves = not joint.is_fixed and joint.source is not None and joint.source.get("type") in AXIAL
    if moves and abs(norm(wanted) - 1) > 1e-3:
        splice.set(axis, xyz=numbers(unit(wanted) if norm(wanted) >= 1e-12 else (1.0, 0.0, 0.0)))


def _fix_limits(splice: Splice, joint: Joint, limit: Element | None) -> None:
    if limit is None or joint.is_fixed:
        return
    for name in Limits._fields:
        given, value = values(limit, name, infinite=True), getattr(joint.limits, name)
        if len(given) == 1 and given != (value,) and abs(value) < 1e30:
            splice.set(limit, **{name: number(value)})


def _fix_dynamics(splice: Splice, joint: Joint, dynamics: Element | None) -> None:
    for name in ("damping", "friction", "armature"):
        if dynamics is not None and any(x < 0 for x in values(dynamics, name)):
            splice.set(dynamics, **{name: "0"})
