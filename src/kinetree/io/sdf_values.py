"""Values of SDF, which are texts of elements: words, booleans, numbers and poses."""

from __future__ import annotations

from math import copysign, hypot, inf, radians

from kinetree.io.attributes import parse_numbers, shorten, vector
from kinetree.io.placement import HERE, from_rpy, from_wxyz
from kinetree.io.report import Log
from kinetree.io.xml import Element
from kinetree.spatial.pose import Pose

NO_LIMIT = 1e16  # bounds from here on mean "unbounded"
_FORMATS = ("euler_rpy", "quat_xyzw")
_TRUE = ("true", "1")
_ANGLES = 6
_QUATERNION = 7


def text_in(parent: Element, tag: str) -> str:
    """The text of a child, "" if there is none."""
    child = parent.find(tag)
    return "" if child is None else child.text.strip()


def flag_in(parent: Element, tag: str, default: bool = False) -> bool:
    """A boolean: "true" or "1" is True."""
    text = text_in(parent, tag).lower()
    return text in _TRUE if text else default


def vector_in(
    parent: Element, tag: str, default: tuple[float, ...], log: Log, infinite: bool = False
) -> tuple[float, ...]:
    """The numbers in a child element, or `default` if it is absent; `default` also gives their count."""
    child = parent.find(tag)
    if child is None or not child.text.strip():
        return default
    return vector(child, tag, len(default), default, log, text=child.text, infinite=infinite)


def number_in(parent: Element, tag: str, default: float, log: Log, infinite: bool = False) -> float:
    return vector_in(parent, tag, (default,), log, infinite)[0]


def bound_in(parent: Element, tag: str, default: float, log: Log) -> float:
    """A bound; infinite from `NO_LIMIT` on."""
    x = number_in(parent, tag, default, log, infinite=True)
    return x if abs(x) < NO_LIMIT else copysign(inf, x)


def pose_in(parent: Element, log: Log) -> Pose:
    """The pose of an element: three lengths and three angles, or three lengths and a quaternion."""
    element = parent.find("pose")
    if element is None or not element.text.strip():
        return HERE
    if element.get("frame"):
        problem = f"attribute frame={shorten(element.get('frame') or '')!r} of <pose> has no effect"
        log.add("unsupported", element.where, problem, "Write relative_to= (SDF 1.7).")
    kind = element.get("rotation_format") or _FORMATS[0]
    if kind not in _FORMATS:
        problem = f"rotation_format={shorten(kind)!r}, expected one of: {', '.join(_FORMATS)}"
        log.add("value", element.where, problem)
        return HERE
    given = parse_numbers(element.text)
    quaternion = kind == "quat_xyzw"
    if not isinstance(given, str) and quaternion and len(given) == _QUATERNION:
        return _from_quaternion(element, given, log)
    values = vector(element, "pose", _QUATERNION if quaternion else _ANGLES, None, log, text=element.text)
    p, angles = values[:3], values[3:6]
    if (element.get("degrees") or "").lower() in _TRUE:
        angles = tuple(radians(x) for x in angles)
    return Pose(from_rpy(angles), p)  # type: ignore[arg-type]


def _from_quaternion(element: Element, values: tuple[float, ...], log: Log) -> Pose:
    x, y, z, w = values[3:]
    length = hypot(x, y, z, w)
    if length < 1e-12:
        problem = f"pose {shorten(element.text.strip())!r} has a zero quaternion"
        log.repairable("quaternion", element.where, problem, "set to the identity")
        return Pose(p=values[:3])
    if abs(length - 1) > 1e-3:
        log.repairable(
            "axis-not-unit", element.where, f"the quaternion has length {length:.6g}", "normalised"
        )
    return Pose(from_wxyz((w, x, y, z)), values[:3])


def version_of(root: Element, log: Log) -> float:
    """The version of a document as a number; 1.12 is after 1.9."""
    major, _, minor = (root.get("version") or "").partition(".")
    if not (major.isdecimal() and minor.isdecimal() and len(minor) < 3):
        if root.tag == "sdf":
            log.add("attribute-missing", root.where, "<sdf> needs a version, such as version='1.9'")
        return 1.09
    return int(major) + int(minor) / 100
