"""`fix`: a robot file with what can be mended mended, and everything else as its author wrote it."""

from __future__ import annotations

import os
import re

from kinetree.io.build import prepare
from kinetree.io.description import Description, Joint, Link, Mass
from kinetree.io.load import Document, describe, open_document
from kinetree.io.report import Finding, Log, Where, refuse
from kinetree.io.save_urdf import attributes, inertial, number, numbers
from kinetree.io.splice import Splice
from kinetree.io.xml import Element
from kinetree.spatial.inertia import Inertia

_UTF8 = re.compile(rb"""^<\?xml[^>]*encoding\s*=\s*["'](?!utf-?8["']|us-ascii["'])""", re.IGNORECASE)


def fix(source: str | bytes | os.PathLike[str]) -> tuple[str, list[Finding]]:
    """The text of a URDF or MJCF file after repair, and what was changed.

    Only what was wrong is rewritten; comments, visuals and layout stay. Parts of an MJCF model that come from
    an included file are left alone: fix that file.

    Raises:
        FileError: the file has an error that cannot be mended.
    """
    document = open_document(source)
    data = _clean(document)
    log = Log(repair=True)
    mended, original = describe(document, None, log), describe(document, None, Log())
    prepare(mended, log, merge=False)
    log.raise_errors()
    splice = Splice(data)
    edit = _fix_urdf if mended.format == "urdf" else _fix_mjcf
    edit(splice, mended, original)
    return splice.result().removeprefix("\ufeff"), [f for f in log.findings if f.repaired]


def _clean(document: Document) -> bytes:
    """The bytes that spans of elements count in: without blank space before the declaration, UTF-8 only."""
    data = document.content.encode() if isinstance(document.content, str) else document.content
    data = data.lstrip().rstrip(b"\0")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        refuse("xml-encoding", Where(document.file, 0, "document"), f"not UTF-8: {error.reason}")
    if _UTF8.match(data):
        refuse(
            "xml-encoding",
            Where(document.file, 1, "document"),
            "the file declares another encoding than UTF-8",
        )
    return data


def _fix_urdf(splice: Splice, robot: Description, original: Description) -> None:
    masses = {id_of(link.source): link for link in original.links.values()}
    for link in robot.links.values():
        if link.source is None:
            if not link.virtual and robot.document is not None:
                splice.append(robot.document, f"  <link{attributes(name=link.name)}/>\n")
            continue
        if link.source.get("name") != link.name:
            splice.set(link.source, name=link.name)
        before = masses[id_of(link.source)].mass
        if link.mass is not None and link.mass != before:
            _put(splice, link.source, "inertial", _inertial_text(link.mass))
    for joint in robot.joints.values():
        if joint.source is not None:
            _fix_urdf_joint(splice, joint, joint.source)


def _fix_urdf_joint(splice: Splice, joint: Joint, element: Element) -> None:
    if element.get("name") not in (None, joint.name):
        splice.set(element, name=joint.name)
    for tag, name in (("parent", joint.parent), ("child", joint.child)):
        end = element.find(tag)
        if (
            end is not None
            and end.get("link") != name
            and "@" not in name
            and not (tag == "parent" and name == "world")
        ):
            splice.set(end, link=name)
    axis = element.find("axis")
    if (
        axis is not None
        and joint.kind in ("revolute", "prismatic", "helical")
        and _differs(axis.get("xyz"), joint.axis)
    ):
        splice.set(axis, xyz=numbers(joint.axis))
    limit, limits = element.find("limit"), joint.limits
    if limit is not None:
        for name in ("lower", "upper", "velocity", "effort"):
            given, value = limit.get(name), getattr(limits, name)
            if (
                given is not None
                and abs(value) < 1e30
                and _differs(given, (value,))
                and joint.kind != "fixed"
            ):
                splice.set(limit, **{name: number(value)})
    dynamics = element.find("dynamics")
    if dynamics is not None:
        for name in ("damping", "friction", "armature"):
            if (dynamics.get(name) or "").strip().startswith("-") and getattr(joint, name) == 0.0:
                splice.set(dynamics, **{name: "0"})
    mimic = element.find("mimic")
    if mimic is not None and joint.mimic is None:
        splice.replace(mimic, "")
    if joint.kind == "fixed" and element.get("type") != "fixed":
        splice.set(element, type="fixed")


def _fix_mjcf(splice: Splice, robot: Description, original: Description) -> None:
    """Inertials, axes, ranges and coefficients of elements that stand in the main file."""
    masses = {id_of(link.source): link for link in original.links.values()}
    for link in robot.links.values():
        if link.source is not None and link.source.file == robot.file:
            before = masses.get(id_of(link.source), Link("", link.where)).mass
            if link.mass is not None and link.mass != before:
                _put(splice, link.source, "inertial", _mjcf_inertial(link.mass))
    for joint in robot.joints.values():
        if joint.source is None or joint.source.file != robot.file:
            continue
        element = joint.source
        if (
            _differs(element.get("axis"), joint.axis)
            and _differs(element.get("axis"), (0.0, 0.0, 0.0)) is False
        ):
            splice.set(element, axis="0 0 1")
        low, high = _pair(element.get("range"))
        if low > high:
            splice.set(element, range=f"{number(high)} {number(low)}")
        for name in ("damping", "stiffness", "armature", "frictionloss"):
            if (element.get(name) or "").strip().startswith("-"):
                splice.set(element, **{name: "0"})


def id_of(element: Element | None) -> int:
    """Where an element starts: the same in two readings of one text."""
    return -1 if element is None else element.start


def _put(splice: Splice, parent: Element, tag: str, text: str) -> None:
    """Replace the child `tag` of an element, or add it."""
    old = parent.find(tag)
    if old is None:
        splice.insert(parent, text)
    else:
        splice.replace(old, text)


def _inertial_text(mass: Mass) -> str:
    return "".join(line.strip() for line in inertial(Inertia(mass.mass, mass.com, mass.inertia)))


def _mjcf_inertial(mass: Mass) -> str:
    I = mass.inertia
    full = numbers((I[0][0], I[1][1], I[2][2], I[0][1], I[0][2], I[1][2]))
    return f"<inertial{attributes(pos=numbers(mass.com), mass=number(mass.mass), fullinertia=full)}/>"


def _differs(text: str | None, values: tuple[float, ...]) -> bool:
    """Whether a text writes other numbers than `values`."""
    if text is None:
        return False
    try:
        given = [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        return True
    return len(given) != len(values) or any(
        abs(a - b) > 1e-3 * max(1.0, abs(b)) for a, b in zip(given, values)
    )


def _pair(text: str | None) -> tuple[float, float]:
    try:
        low, high = (float(word) for word in (text or "").split())
    except ValueError:
        return 0.0, 0.0
    return low, high
