"""Repair of an SDF text: names, inertials, poses, axes, limits and coefficients of the main file."""

from __future__ import annotations

from collections import Counter
from math import hypot

from kinetree.io.attributes import clean_name, is_name, parse_numbers
from kinetree.io.description import Description
from kinetree.io.placement import norm, unit
from kinetree.io.save_sdf import inertial
from kinetree.io.sdf_frames import SEPARATOR
from kinetree.io.splice import Splice, put
from kinetree.io.text import attributes, number, numbers
from kinetree.io.xml import Element
from kinetree.spatial.inertia import Inertia

_COEFFICIENTS = ("damping", "friction", "spring_stiffness")
_NAMED = ("link", "joint", "frame", "model")


def fix_sdf(splice: Splice, robot: Description, original: Description) -> None:
    """Write the repairs into the elements of the main file."""
    before = {link.source.start: link.inertia for link in original.links.values() if link.source is not None}
    sources = [link.source for link in robot.links.values()]
    uses = Counter(source.start for source in sources if source is not None)
    for link in robot.links.values():
        if link.source is None or link.source.file != robot.file or uses[link.source.start] > 1:
            continue
        if link.inertia is not None and link.inertia != before.get(link.source.start):
            put(splice, link.source, "inertial", inertial(link.inertia))
    for joint in robot.joints.values():
        source = joint.source
        if source is not None and source.file == robot.file and joint.is_fixed and _moves(source):
            splice.set(source, type="fixed")
        if source is not None and source.file == robot.file and joint.mimic is None:
            for axis in source.all("axis", "axis2"):
                for mimic in axis.all("mimic"):
                    splice.replace(mimic, "")
    missing = {name for name, link in robot.links.items() if link.source is None and not link.virtual}
    added: set[tuple[int, str]] = set()
    stack = [] if robot.document is None else [robot.document]
    while stack:
        element = stack.pop()
        _fix_names(splice, element)
        if element.tag == "model":
            _add_links(splice, element, missing, added)
        _fix_numbers(splice, element)
        stack.extend(element.children)


def _add_links(splice: Splice, model: Element, missing: set[str], added: set[tuple[int, str]]) -> None:
    """Add the missing links that joints of a model refer to, in the model that their names indicate."""
    for end in (end for joint in model.all("joint") for end in joint.all("parent", "child")):
        name = end.text.strip()
        if not is_name(name):
            name = clean_name(name)
            _write(splice, end, name)
        if name not in missing:
            continue
        *around, own = name.split(SEPARATOR)
        inner: Element | None = model
        for part in around:
            inner = next((e for e in inner.all("model") if e.get("name") == part), None) if inner else None
        if inner is not None and (inner.start, own) not in added:
            added.add((inner.start, own))
            splice.append(inner, f"<link{attributes(name=own)}>{inertial(Inertia.zero())}</link>\n")


def _moves(element: Element) -> bool:
    return (element.get("type") or "").lower() not in ("fixed", "gearbox")


def _fix_names(splice: Splice, parent: Element) -> None:
    """Make the names in one model unique."""
    taken: set[tuple[str, str]] = set()
    for element in parent.all(*_NAMED):
        given = element.get("name")
        if not given:
            continue
        name = given if is_name(given) else clean_name(given)
        while (element.tag, name) in taken:
            name += f"_{element.tag}"
        taken.add((element.tag, name))
        if name != given:
            splice.set(element, name=name)


def _fix_numbers(splice: Splice, element: Element) -> None:
    match element.tag:
        case "xyz":
            _fix_axis(splice, element)
        case "limit":
            _fix_limit(splice, element)
        case "dynamics":
            for child in element.all(*_COEFFICIENTS):
                if min(_numbers(child), default=0.0) < 0:
                    _write(splice, child, "0")
        case "pose":
            given = _numbers(element)
            if element.get("rotation_format") == "quat_xyzw" and len(given) == 7:
                length = hypot(*given[3:])
                if length < 1e-12:
                    _write(splice, element, numbers((*given[:3], 0, 0, 0, 1)))
                elif abs(length - 1) > 1e-3:
                    _write(splice, element, numbers((*given[:3], *(x / length for x in given[3:]))))


def _fix_axis(splice: Splice, element: Element) -> None:
    given = _numbers(element)
    if len(given) != 3:
        return
    x, y, z = given
    length = norm((x, y, z))
    if abs(length - 1) > 1e-3:
        _write(splice, element, "0 0 1" if length < 1e-12 else numbers(unit((x, y, z))))


def _fix_limit(splice: Splice, element: Element) -> None:
    lower, upper = element.find("lower"), element.find("upper")
    if lower is None or upper is None:
        return
    a, b = _numbers(lower), _numbers(upper)
    if len(a) == len(b) == 1 and a[0] > b[0]:
        _write(splice, lower, number(b[0]))
        _write(splice, upper, number(a[0]))


def _numbers(element: Element) -> tuple[float, ...]:
    found = parse_numbers(element.text)
    return () if isinstance(found, str) else found


def _write(splice: Splice, element: Element, text: str) -> None:
    """Replace the text of an element; its attributes stay."""
    splice.replace(element, f"<{element.tag}{attributes(**element.attributes)}>{text}</{element.tag}>")
