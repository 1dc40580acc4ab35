"""One URDF `<joint>`: type, placement, axis, limits, dynamics, mimic."""

from __future__ import annotations

from math import inf, pi

from kinetree.io.attributes import name_of, number, shorten, vector
from kinetree.io.description import FREEDOM, Joint, Limits, Mimic
from kinetree.io.placement import norm, unit
from kinetree.io.report import Log
from kinetree.io.urdf_inertial import read_origin
from kinetree.io.xml import Element
from kinetree.spatial.vector import Vector

KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "floating": "free",
    "planar": "planar",
    "ball": "spherical",  # from here on: extensions that other tools read
    "spherical": "spherical",
    "universal": "universal",
    "screw": "helical",
}
_AXIS = ("revolute", "prismatic", "planar", "helical")  # kinds that have an axis
_DEFAULT_AXIS = (1.0, 0.0, 0.0)


def read_joint(element: Element, log: Log) -> Joint | None:
    """The joint that an element describes, or None where it cannot be one."""
    parent, child = _end(element, "parent", log), _end(element, "child", log)
    type_name = element.get("type")
    kind = KINDS.get(type_name or "")
    if type_name is None:
        log.add(
            "attribute-missing", element.where, "the joint has no type", f"Use one of: {', '.join(KINDS)}."
        )
    elif kind is None:
        log.add(
            "joint-type",
            element.where,
            f"type {shorten(type_name)!r} is unknown",
            f"Use one of: {', '.join(KINDS)}.",
        )
    if parent is None or child is None or kind is None:
        return None
    name = name_of(element, log)
    if name is None:
        name = f"{child}_joint"
        log.add("name-missing", element.where, f"the joint has no name; it is called {name!r} here")
    joint = Joint(
        name, element.where, kind, parent, child, read_origin(element.find("origin"), log), source=element
    )
    if kind in _AXIS:
        joint.axis = read_axis(element, log)
    elif kind == "universal":
        joint.axis, joint.axis2 = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    if kind == "helical":
        joint.pitch = _pitch(element, log)
    if kind != "fixed":
        joint.limits = _limits(element, type_name, log)
        _read_dynamics(joint, element, log)
    _read_mimic(joint, element, log)
    return joint


def _end(element: Element, tag: str, log: Log) -> str | None:
    """The name of the link at one end of a joint."""
    end = element.find(tag)
    if end is None:
        log.add("element-missing", element.where, f"the joint has no <{tag} link=.../>")
        return None
    name = name_of(end, log, "link")
    if name is None:
        log.add("attribute-missing", element.where, f"<{tag}> names no link")
    return name


def read_axis(element: Element, log: Log) -> Vector:
    """The unit axis of a joint, x where the file gives none."""
    axis_element = element.find("axis")
    if axis_element is None or axis_element.get("xyz") is None:
        log.add("axis-missing", element.where, "the joint has no <axis>")
        return _DEFAULT_AXIS
    x, y, z = vector(axis_element, "xyz", 3, _DEFAULT_AXIS, log)
    length = norm((x, y, z))
    if length < 1e-12:
        log.mend("axis-zero", element.where, "the axis is the zero vector", "axis set to 1 0 0")
        return _DEFAULT_AXIS
    if abs(length - 1) > 1e-3:
        log.mend("axis-not-unit", element.where, f"the axis has length {length:.6g}", "normalised")
    return unit((x, y, z))


def _pitch(element: Element, log: Log) -> float:
    """Metres per radian of a screw, from `<drake:screw_thread_pitch value=metres per revolution>`."""
    thread = element.find("drake:screw_thread_pitch")
    if thread is None:
        log.add(
            "element-missing",
            element.where,
            "a screw joint needs <drake:screw_thread_pitch value=.../> in metres per turn",
        )
        return 0.0
    return number(thread, "value", None, log) / (2 * pi)


def _limits(element: Element, type_name: str | None, log: Log) -> Limits:
    limit = element.find("limit")
    if limit is None:
        if type_name in ("revolute", "prismatic"):
            log.add("limits-missing", element.where, f"a {type_name} joint without <limit>")
        return Limits()
    limits = Limits()
    if type_name != "continuous" and (limit.get("lower") is not None or limit.get("upper") is not None):
        limits.lower, limits.upper = (
            number(limit, side, 0.0, log, infinite=True) for side in ("lower", "upper")
        )
    limits.velocity, limits.effort = (
        number(limit, side, inf, log, infinite=True) for side in ("velocity", "effort")
    )
    if limits.lower > limits.upper:
        problem = f"the lower limit {limits.lower:g} is above the upper limit {limits.upper:g}"
        mended = log.mend("limits-swapped", element.where, problem, "limits exchanged")
        limits.lower, limits.upper = (limits.upper, limits.lower) if mended else (-inf, inf)
    for side in ("velocity", "effort"):
        if getattr(limits, side) < 0:
            log.mend(
                "limits-negative",
                element.where,
                f"the {side} limit is {getattr(limits, side):g}",
                "its absolute value is used",
            )
            setattr(limits, side, -getattr(limits, side) if log.repair else inf)
    return limits


def _read_dynamics(joint: Joint, element: Element, log: Log) -> None:
    dynamics = element.find("dynamics")
    if dynamics is None:
        return
    for name in ("damping", "friction", "armature"):
        count = len((dynamics.get(name) or "0").split())
        values = vector(dynamics, name, FREEDOM[joint.kind] if count > 1 else 1, (0.0,), log)
        if min(values) < 0:
            log.mend("coefficient-negative", element.where, f"{name} is {min(values):g}", f"{name} set to 0")
            values = (0.0,)
        setattr(joint, name, values[0] if len(values) == 1 else values)


def _read_mimic(joint: Joint, element: Element, log: Log) -> None:
    mimic = element.find("mimic")
    if mimic is None:
        return
    leader = mimic.get("joint")
    if leader is None:
        log.add("attribute-missing", element.where, "<mimic> names no joint")
        return
    if joint.kind == "fixed":
        log.mend("mimic-fixed", element.where, f"a fixed joint follows {shorten(leader)!r}", "mimic removed")
        return
    multiplier, offset = number(mimic, "multiplier", 1.0, log), number(mimic, "offset", 0.0, log)
    joint.mimic = Mimic(leader, multiplier, offset, element.where)
