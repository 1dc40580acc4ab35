"""`fix`: a robot file with what can be mended mended, and everything else as its author wrote it."""

from __future__ import annotations

import os
import re

from kinetree.io.attributes import clean_name, is_name, parse_numbers
from kinetree.io.build import prepare
from kinetree.io.description import Description, Joint, Mass
from kinetree.io.fix_mjcf import fix_mjcf
from kinetree.io.load import Document, describe, open_document
from kinetree.io.placement import norm, unit
from kinetree.io.report import Finding, Log, Where, refuse
from kinetree.io.save_urdf import attributes, inertial, number, numbers
from kinetree.io.splice import Splice, put
from kinetree.io.xml import Element
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.vector import Vector

_OTHER = re.compile(rb"""^<\?xml[^>]*encoding\s*=\s*["'](?!utf-?8["']|us-ascii["'])""", re.IGNORECASE)


def fix(source: str | bytes | os.PathLike[str]) -> tuple[str, list[Finding]]:
    """The text of a URDF or MJCF file after repair, and what was changed.

    Only what was wrong is rewritten; comments, visuals and layout stay. Parts of an MJCF model that come from
    an included file are left alone: fix that file.

    Raises:
        FileError: the file has an error that cannot be mended.
    """
    document = open_document(source)
    splice = Splice(_clean(document))
    log = Log(repair=True)
    mended, original = describe(document, None, log), describe(document, None, Log())
    prepare(mended, log, merge=False)
    log.raise_errors()
    masses = {link.source.start: link.mass for link in original.links.values() if link.source is not None}
    if mended.format == "urdf":
        _fix_urdf(splice, mended, masses)
    else:
        fix_mjcf(splice, mended, masses)
    return splice.result().removeprefix("\ufeff"), [f for f in log.findings if f.repaired]


def _clean(document: Document) -> bytes:
    """The bytes that spans of elements count in: without blank space before the declaration, UTF-8 only."""
    data = document.content.encode() if isinstance(document.content, str) else document.content
    data = data.lstrip().rstrip(b"\0")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        refuse("xml-encoding", Where(document.file, 0, "document"), f"not UTF-8: {error.reason}")
    if isinstance(document.content, bytes) and _OTHER.match(data):
        refuse(
            "xml-encoding",
            Where(document.file, 1, "document"),
            "the file declares another encoding than UTF-8",
        )
    return data


def _fix_urdf(splice: Splice, robot: Description, masses: dict[int, Mass | None]) -> None:
    for link in robot.links.values():
        if link.source is None:
            if not link.virtual and robot.document is not None:
                splice.append(robot.document, f"  <link{attributes(name=link.name)}/>\n")
            continue
        if link.source.get("name") != link.name:
            splice.set(link.source, name=link.name)
        if link.mass is not None and link.mass != masses[link.source.start]:
            put(splice, link.source, "inertial", _inertial_text(link.mass))
    read = {link.source.start for link in robot.links.values() if link.source is not None}
    for element in robot.document.children if robot.document is not None else ():
        if (
            element.tag == "link"
            and element.get("name") not in (None, "", "world")
            and element.start not in read
        ):
            splice.replace(element, "")  # said twice
        name = element.get("name")
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
    if joint.kind == "fixed" and element.get("type") != "fixed":
        splice.set(element, type="fixed")
    mimic = element.find("mimic")
    if mimic is not None and joint.mimic is None:
        splice.replace(mimic, "")
    _fix_axis(splice, joint, element.find("axis"))
    _fix_limits(splice, joint, element.find("limit"))
    _fix_dynamics(splice, joint, element.find("dynamics"))


def _fix_axis(splice: Splice, joint: Joint, axis: Element | None) -> None:
    given = parse_numbers((axis.get("xyz") or "").replace(",", " ")) if axis is not None else ()
    if axis is None or isinstance(given, str) or len(given) != 3:
        return
    wanted: Vector = (given[0], given[1], given[2])
    if joint.kind in ("revolute", "prismatic", "helical", "planar") and abs(norm(wanted) - 1) > 1e-3:
        splice.set(axis, xyz=numbers(unit(wanted) if norm(wanted) >= 1e-12 else (1.0, 0.0, 0.0)))


def _fix_limits(splice: Splice, joint: Joint, limit: Element | None) -> None:
    if limit is None or joint.kind == "fixed":
        return
    for name in ("lower", "upper", "velocity", "effort"):
        given, value = parse_numbers(limit.get(name) or "", infinite=True), getattr(joint.limits, name)
        if len(given) == 1 and given != (value,) and abs(value) < 1e30:
            splice.set(limit, **{name: number(value)})


def _fix_dynamics(splice: Splice, joint: Joint, dynamics: Element | None) -> None:
    for name in ("damping", "friction", "armature") if dynamics is not None else ():
        given = parse_numbers(dynamics.get(name) or "") if dynamics is not None else ()
        if dynamics is not None and not isinstance(given, str) and any(x < 0 for x in given):
            splice.set(dynamics, **{name: "0"})


def _inertial_text(mass: Mass) -> str:
    return "".join(line.strip() for line in inertial(Inertia(mass.mass, mass.com, mass.inertia)))
