"""The parts of a URDF: `<origin>`, `<inertial>`, and `<joint>` with type, axis, limits, dynamics, mimic."""

from __future__ import annotations

from math import inf, pi

from kinetree.io.attributes import name_of, number, per_degree, shorten, vector
from kinetree.io.description import Joint
from kinetree.io.placement import HERE, ORIGIN, from_rpy, norm, unit
from kinetree.io.report import Log, Where
from kinetree.io.xml import Element
from kinetree.joints import Fixed, Free, Helical, Planar, Prismatic, Revolute, Spherical, Universal
from kinetree.joints import Joint as Motion
from kinetree.model import Limits
from kinetree.model.parts import Mimic
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Matrix, Vector, mat_mul, transpose

TYPES: dict[str, type[Motion]] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "fixed": Fixed,
    "floating": Free,
    "planar": Planar,
    "ball": Spherical,  # from here on: extensions of other tools, which are read but not written
    "spherical": Spherical,
    "universal": Universal,
    "screw": Helical,
}
WRITTEN = {TYPES[name].type_name: name for name in ("fixed", "revolute", "prismatic", "floating", "planar")}
AXIAL = ("revolute", "continuous", "prismatic", "planar", "screw")  # types that have an axis
_DEFAULT_AXIS = (1.0, 0.0, 0.0)
NOTHING: Matrix = ((0.0, 0.0, 0.0),) * 3


def read_joint(element: Element, log: Log) -> Joint | None:
    """The joint in an element; None if it is invalid."""
    parent, child = _end(element, "parent", log), _end(element, "child", log)
    type_name = element.get("type")
    motion = TYPES.get(type_name or "")
    if type_name is None:
        problem = "the joint has no type"
        log.add("attribute-missing", element.where, problem, f"Use one of: {', '.join(TYPES)}.")
    elif motion is None:
        problem = f"type {shorten(type_name)!r} is unknown"
        log.add("joint-type", element.where, problem, f"Use one of: {', '.join(TYPES)}.")
    if parent is None or child is None or type_name is None or motion is None:
        return None
    name = name_of(element, log)
    if name is None:
        name = f"{child}_joint"
        log.add("name-missing", element.where, f"the joint has no name; it is called {name!r} here")
    joint = Joint(name, element.where, Fixed(), parent, child, read_origin(element.find("origin"), log))
    joint.source = element
    axis = read_axis(element, log) if type_name in AXIAL else _DEFAULT_AXIS
    if type_name == "planar":  # ours moves in its own x-y plane
        joint.motion, joint.normal = motion(), axis
    elif type_name == "screw":
        joint.motion = Helical(axis, _pitch(element, log))
    else:
        joint.motion = motion(axis) if type_name in AXIAL else motion()
    if not joint.is_fixed:
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
    """The unit axis of a joint; x if the file gives none."""
    axis_element = element.find("axis")
    if axis_element is None or axis_element.get("xyz") is None:
        log.add("axis-missing", element.where, "the joint has no <axis>")
        return _DEFAULT_AXIS
    x, y, z = vector(axis_element, "xyz", 3, _DEFAULT_AXIS, log)
    length = norm((x, y, z))
    if length < 1e-12:
        log.repairable("axis-zero", element.where, "the axis is the zero vector", "axis set to 1 0 0")
        return _DEFAULT_AXIS
    if abs(length - 1) > 1e-3:
        log.repairable("axis-not-unit", element.where, f"the axis has length {length:.6g}", "normalised")
    return unit((x, y, z))


def _pitch(element: Element, log: Log) -> float:
    """Metres per radian of a screw, from `<drake:screw_thread_pitch value=metres per revolution>`."""
    thread = element.find("drake:screw_thread_pitch")
    if thread is None:
        problem = "a screw joint needs <drake:screw_thread_pitch value=.../> in metres per turn"
        log.add("element-missing", element.where, problem)
        return 0.0
    return number(thread, "value", None, log) / (2 * pi)


def _limits(element: Element, type_name: str, log: Log) -> Limits:
    limit = element.find("limit")
    if limit is None:
        if type_name in ("revolute", "prismatic"):
            log.add("limits-missing", element.where, f"a {type_name} joint has no <limit>")
        return Limits()
    lower, upper = -inf, inf
    if type_name != "continuous" and (limit.get("lower") is not None or limit.get("upper") is not None):
        lower, upper = (number(limit, side, 0.0, log, infinite=True) for side in ("lower", "upper"))
    lower, upper = log.bounds(lower, upper, element.where)
    return Limits(lower, upper, *(_magnitude(limit, side, element, log) for side in ("velocity", "effort")))


def _magnitude(limit: Element, side: str, element: Element, log: Log) -> float:
    """A symmetric bound, which cannot be negative."""
    value = number(limit, side, inf, log, infinite=True)
    if value >= 0:
        return value
    problem, change = f"the {side} limit is {value:g}", "its absolute value is used"
    return -value if log.repairable("limits-negative", element.where, problem, change) else inf


def _read_dynamics(joint: Joint, element: Element, log: Log) -> None:
    dynamics = element.find("dynamics")
    if dynamics is None:
        return
    for name in ("damping", "friction", "armature"):
        values = per_degree(dynamics, name, joint.motion.nv, 0.0, log)
        least = min(values) if isinstance(values, tuple) else values
        if least < 0:
            log.repairable("coefficient-negative", element.where, f"{name} is {least:g}", f"{name} set to 0")
            values = 0.0
        setattr(joint, name, values)


def _read_mimic(joint: Joint, element: Element, log: Log) -> None:
    mimic = element.find("mimic")
    if mimic is None:
        return
    leader = mimic.get("joint")
    if leader is None:
        log.add("attribute-missing", element.where, "<mimic> names no joint")
        return
    if joint.is_fixed:
        problem = f"a fixed joint follows {shorten(leader)!r}"
        log.repairable("mimic-fixed", element.where, problem, "mimic removed")
        return
    multiplier, offset = number(mimic, "multiplier", 1.0, log), number(mimic, "offset", 0.0, log)
    joint.mimic = Mimic(leader, multiplier, offset)


def read_origin(element: Element | None, log: Log) -> Pose:
    """The pose of an `<origin xyz= rpy=>` element; the identity if there is none."""
    if element is None:
        return HERE
    if "quat_xyzw" in element.attributes:
        problem = "attribute quat_xyzw of <origin> is not read"
        log.add("unsupported", element.where, problem, "Write the rotation as rpy.")
    xyz = vector(element, "xyz", 3, ORIGIN, log)
    rpy = vector(element, "rpy", 3, ORIGIN, log)
    return Pose(from_rpy(rpy), xyz)  # type: ignore[arg-type]


def read_inertial(element: Element, where: Where, log: Log) -> Inertia | None:
    """The inertia of an `<inertial>` in link axes; None if it is invalid."""
    origin = read_origin(element.find("origin"), log)
    mass_element, inertia_element = element.find("mass"), element.find("inertia")
    mass = 0.0 if mass_element is None else number(mass_element, "value", None, log)
    inertia = NOTHING if inertia_element is None else _inertia(inertia_element, where, log)
    if mass_element is None and inertia != NOTHING:
        log.add("element-missing", where, "<inertial> has moments of inertia but no <mass>")
        return None
    if mass_element is None:
        log.add("mass-missing", where, "<inertial> has no <mass>")
    elif inertia_element is None:
        log.add("inertia-zero", where, "<inertial> has no <inertia>")
    return Inertia(mass, origin.p, mat_mul(mat_mul(origin.R, inertia), transpose(origin.R)))


def _inertia(element: Element, where: Where, log: Log) -> Matrix:
    xx, yy, zz = (number(element, f"i{a}", None, log) for a in ("xx", "yy", "zz"))
    xy, xz, yz = (number(element, f"i{a}", 0.0, log) for a in ("xy", "xz", "yz"))
    missing = [name for name in ("ixy", "ixz", "iyz") if element.get(name) is None]
    if missing:
        log.add("inertia-incomplete", where, f"<inertia> lacks {', '.join(missing)}")
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
