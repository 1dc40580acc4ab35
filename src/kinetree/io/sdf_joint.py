"""The joints of SDF: type, axes, limits, dynamics and couplings."""

from __future__ import annotations

from math import hypot, inf, pi
from typing import NamedTuple

from kinetree.io.attributes import per_degree, shorten, vector
from kinetree.io.description import Joint
from kinetree.io.placement import norm, unit
from kinetree.io.report import Log
from kinetree.io.sdf_frames import Frames, Node
from kinetree.io.sdf_values import bound_in, flag_in, number_in, text_in, vector_in
from kinetree.io.xml import Element
from kinetree.joints import Fixed, Helical, Prismatic, Revolute, Spherical, Universal
from kinetree.joints import Joint as Motion
from kinetree.model import Limits
from kinetree.spatial.vector import Vector, cross, mat_vec

TYPES: dict[str, tuple[type[Motion], int]] = {  # with the number of axes
    "fixed": (Fixed, 0),
    "revolute": (Revolute, 1),
    "continuous": (Revolute, 1),
    "prismatic": (Prismatic, 1),
    "screw": (Helical, 1),
    "universal": (Universal, 2),
    "revolute2": (Universal, 2),
    "ball": (Spherical, 0),
}
GEARBOX = "gearbox"
DRIVE = "kinetree:drive"  # data that SDF cannot express, as attributes
AXES = ("axis", "axis2")
_Z: Vector = (0.0, 0.0, 1.0)
_OLD = 1.045  # versions up to 1.4 give axes in the frame of the model


class Axis(NamedTuple):
    """The content of an `<axis>`: a unit vector in the frame of the joint, limits and forces."""

    direction: Vector
    limits: Limits
    damping: float
    friction: float
    stiffness: float
    spring_reference: float


def read_axis(element: Element, node: Node, key: str, frames: Frames, log: Log) -> Axis:
    """One axis of a joint."""
    where = node.element.where
    limit, dynamics = element.find("limit"), element.find("dynamics")
    values = dict.fromkeys(("damping", "friction", "spring_stiffness"), 0.0)
    rest = 0.0
    if dynamics is not None:
        rest = number_in(dynamics, "spring_reference", 0.0, log)
        for name in values:
            values[name] = x = number_in(dynamics, name, 0.0, log)
            if x < 0:
                log.repairable("coefficient-negative", where, f"{name} is {x:g}", f"{name} set to 0")
                values[name] = 0.0
    limits = _limits(limit, node.element, log)
    damping, friction, stiffness = values.values()
    return Axis(direction(element, node, key, frames, log), limits, damping, friction, stiffness, rest)


def direction(element: Element, node: Node, key: str, frames: Frames, log: Log) -> Vector:
    """The unit vector of an axis in the frame of its joint."""
    where, xyz = node.element.where, element.find("xyz")
    if xyz is None:
        log.add("axis-missing", where, f"<{element.tag}> has no <xyz>")
        return _Z
    x, y, z = vector_in(element, "xyz", _Z, log)
    length = norm((x, y, z))
    if length < 1e-12:
        log.repairable("axis-zero", where, "the axis is the zero vector", "axis set to 0 0 1")
        return _Z
    if abs(length - 1) > 1e-3:
        log.repairable("axis-not-unit", where, f"the axis has length {length:.6g}", "normalised")
    frame = xyz.get("expressed_in") or ""
    if not frame and flag_in(element, "use_parent_model_frame", node.scope.version < _OLD):
        frame = "__model__"
    found = frames.named(node.scope, frame, xyz, "expressed_in") if frame else None
    own = unit((x, y, z))
    return own if found is None else unit(mat_vec(frames.relative(key, found).R, own))


def _limits(limit: Element | None, element: Element, log: Log) -> Limits:
    kind = (element.get("type") or "").lower()
    if limit is None:
        if kind in ("revolute", "prismatic"):
            log.add("limits-missing", element.where, "an <axis> has no <limit>")
        return Limits()
    lower, upper = bound_in(limit, "lower", -inf, log), bound_in(limit, "upper", inf, log)
    if kind == "continuous":
        lower, upper = -inf, inf
    lower, upper = log.bounds(lower, upper, element.where)
    speed, effort = (bound_in(limit, name, inf, log) for name in ("velocity", "effort"))
    return Limits(lower, upper, *(inf if x < 0 else x for x in (speed, effort)))  # negative: no limit


def read_joint(name: str, node: Node, key: str, frames: Frames, log: Log) -> Joint | None:
    """The joint in an element, without its ends; None if it is invalid."""
    element = node.element
    kind = (element.get("type") or "").lower()
    if kind not in TYPES:
        known = ", ".join((*TYPES, GEARBOX))
        if not kind:
            log.add("attribute-missing", element.where, "the joint has no type", f"Use one of: {known}.")
        else:
            problem = f"type {shorten(kind)!r} is unknown"
            log.add("joint-type", element.where, problem, f"Use one of: {known}.")
        return None
    motion, count = TYPES[kind]
    axes = []
    for tag in AXES[:count]:
        found = element.find(tag)
        if found is None:
            log.add("axis-missing", element.where, f"a {kind} joint has no <{tag}>")
            found = Element(tag, {}, element.file, element.line)
            found.children.append(Element("xyz", {}, element.file, element.line))
        axes.append(read_axis(found, node, key, frames, log))
    joint = Joint(name, element.where, Fixed(), "", "", source=element)
    joint.motion = _motion(kind, motion, [axis.direction for axis in axes], element, log)
    if count == 0:
        _read_ball(joint, element, log)
    elif count == 1:
        (axis,) = axes
        joint.limits, joint.damping, joint.friction = axis.limits, axis.damping, axis.friction
        joint.stiffness, joint.spring_reference = axis.stiffness, axis.spring_reference
    else:
        joint.limits = Limits(*map(tuple, zip(*(axis.limits for axis in axes), strict=True)))
        for field in ("damping", "friction", "stiffness", "spring_reference"):
            setattr(joint, field, tuple(getattr(axis, field) for axis in axes))
    _read_rotor_inertia(joint, element, log)
    return joint


def _motion(kind: str, motion: type[Motion], directions: list[Vector], element: Element, log: Log) -> Motion:
    if kind == "screw":
        return Helical(directions[0], _pitch(element, log))
    if len(directions) == 2 and hypot(*cross(*directions)) < 1e-6:
        problem = "axis and axis2 are parallel: both would be the same rotation"
        log.add("value", element.where, problem, "Choose two different directions.")
        return motion()
    return motion(*directions)


def _pitch(element: Element, log: Log) -> float:
    """Metres per radian of a screw.

    `screw_thread_pitch` is in metres per turn, right-handed. `thread_pitch`, which it replaces, is in radians
    per metre, left-handed.
    """
    pitch = number_in(element, "screw_thread_pitch", 0.0, log)
    if element.find("screw_thread_pitch") is not None:
        return pitch / (2 * pi)
    old = number_in(element, "thread_pitch", 0.0, log)
    if element.find("thread_pitch") is not None and old:
        return -1 / old
    problem = "a screw joint needs a <screw_thread_pitch> in metres per turn"
    log.add("element-missing", element.where, problem)
    return 0.0


def _read_ball(joint: Joint, element: Element, log: Log) -> None:
    """Damping and friction of a ball joint, stored in an otherwise unused axis."""
    axis = element.find("axis")
    dynamics = None if axis is None else axis.find("dynamics")
    if dynamics is None or joint.is_fixed:
        return
    for name in ("damping", "friction"):
        value = number_in(dynamics, name, 0.0, log)
        if value < 0:
            change = f"{name} set to 0"
            log.repairable("coefficient-negative", element.where, f"{name} is {value:g}", change)
        setattr(joint, name, max(value, 0.0))
    if number_in(dynamics, "spring_stiffness", 0.0, log):
        log.add("unsupported", element.where, "a spring at a ball joint is not modelled")


def _read_rotor_inertia(joint: Joint, element: Element, log: Log) -> None:
    """`<drake:rotor_inertia>` behind a `<drake:gear_ratio>`: ratio^2 J along the joint."""
    inertia = number_in(element, "drake:rotor_inertia", 0.0, log)
    ratio = number_in(element, "drake:gear_ratio", 1.0, log)
    if inertia < 0:
        problem = f"the rotor inertia is {inertia:g}"
        log.repairable("coefficient-negative", element.where, problem, "rotor ignored")
    elif inertia and joint.motion.nv == 1:
        joint.armature = ratio * ratio * inertia
        problem = f"armature {ratio:g}^2 x {inertia:g} = {joint.armature:g}"
        log.add("rotor-reflected", element.where, problem)
    elif inertia:
        problem = "the rotor drives a joint that does not have one degree of freedom"
        log.add("rotor-incomplete", element.where, problem)


def extend(joint: Joint, element: Element | None, log: Log) -> None:
    """Read `<kinetree:drive>`, written by `kt.save`: drive data per coordinate."""
    if element is None:
        return
    nq, nv = joint.motion.nq, joint.motion.nv
    for name in ("armature", "damping", "friction", "stiffness"):
        if element.get(name) is not None:
            setattr(joint, name, per_degree(element, name, nv, 0.0, log))
    if element.get("spring_reference") is not None:
        joint.spring_reference = vector(element, "spring_reference", nq, joint.motion.neutral(), log)
    given = {name: none for name, none in Limits()._asdict().items() if element.get(name) is not None}
    joint.limits = joint.limits._replace(**{
        name: per_degree(element, name, nv, none, log, infinite=True) for name, none in given.items()
    })  # fmt: skip


class Follow(NamedTuple):
    """A `<mimic>`: the axis of the joint that is followed, and the relation."""

    element: Element
    axis: str  # the follower's own
    joint: str
    leader_axis: str
    multiplier: float
    offset: float


def read_mimics(node: Node, log: Log) -> list[Follow]:
    """follower = multiplier (leader - reference) + offset, for every axis that follows another."""
    found = []
    for tag in AXES:
        axis = node.element.find(tag)
        mimic = None if axis is None else axis.find("mimic")
        if mimic is None:
            continue
        joint = mimic.get("joint") or text_in(mimic, "joint")
        if not joint:
            log.add("attribute-missing", node.element.where, "<mimic> names no joint")
            continue
        multiplier = number_in(mimic, "multiplier", 1.0, log)
        offset = number_in(mimic, "offset", 0.0, log)
        offset -= multiplier * number_in(mimic, "reference", 0.0, log)
        found.append(Follow(mimic, tag, joint, mimic.get("axis") or AXES[0], multiplier, offset))
    return found


def gear_ratio(element: Element, log: Log) -> float:
    return number_in(element, "gearbox_ratio", 1.0, log)


def is_last(element: Element) -> bool:
    """Whether a loop should be cut at this joint."""
    physics = element.find("physics")
    simbody = None if physics is None else physics.find("simbody")
    return simbody is not None and flag_in(simbody, "must_be_loop_joint")
