"""The joints of one MJCF body as a chain of joints with massless links in between."""

from __future__ import annotations

from math import copysign, inf

from kinetree.io.attributes import choice, number, parse_numbers, shorten, vector
from kinetree.io.description import Description, Joint, Link, Names
from kinetree.io.mjcf_compiler import Compiler
from kinetree.io.placement import HERE, ORIGIN, norm, unit
from kinetree.io.report import Log, Where
from kinetree.io.save_mjcf import NO_LIMIT
from kinetree.io.xml import Element
from kinetree.joints import Fixed, Free, Prismatic, Revolute, Spherical
from kinetree.model import Limits
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Vector, mat_vec, neg

FREE = Free()
TYPES = {"hinge": Revolute, "slide": Prismatic, "ball": Spherical, "free": Free}
_AXIAL = ("hinge", "slide")


class Chain:
    """Inserts the joints of a body between its parent and itself.

    A joint turns about a point `pos` of the body, so the pose of the body in its parent is the product of
    T(pos) J(q) T(-pos) over its joints. The last T(-pos) becomes a fixed joint; this is exact.
    """

    def __init__(self, robot: Description, links: Names, joints: Names, log: Log) -> None:
        self.robot, self.links, self.joints, self.log = robot, links, joints, log

    def lay(
        self, body: Link, parent: str, placement: Pose, joints: list[Joint], anchors: list[Vector]
    ) -> None:
        """Add `body` and its joints to the robot."""
        before = parent
        here = placement
        for joint, anchor in zip(joints, anchors, strict=True):
            last = joint is joints[-1] and anchor == ORIGIN
            between = f"{body.name}@{joint.name}"
            link = body if last else Link(self.links.make(between), joint.where, virtual=True)
            joint.parent, joint.child = before, link.name
            if joint.motion == FREE:
                joint.home = here
            else:  # `joint.placement` holds the reference position of the file, from which q counts
                joint.placement = here @ Pose(p=anchor) @ joint.placement
            self._add(link, joint)
            before, here = link.name, Pose(p=neg(anchor)) if anchor != ORIGIN else HERE
        if before == parent or before != body.name:
            weld = self.joints.make(f"{body.name}_fixed")
            self._add(body, Joint(weld, body.where, Fixed(), before, body.name, here))
        if len(joints) > 1:
            self.log.add("split", body.where, f"{len(joints)} joints became {len(joints)} bodies")

    def _add(self, link: Link, joint: Joint) -> None:
        self.robot.links[link.name] = link
        self.robot.joints[joint.name] = joint


def read_joint(
    element: Element, frame: Pose, name: str, compiler: Compiler, log: Log
) -> tuple[Joint, Vector]:
    """A joint with its dynamics, and its anchor in the body; `placement` undoes its reference position."""
    kind_name = "free" if element.tag == "freejoint" else choice(element, "type", tuple(TYPES), "hinge", log)
    axis = (_axis(element, frame, log),) if kind_name in _AXIAL else ()
    joint = Joint(name, element.where, TYPES[kind_name](*axis), "", "")
    if kind_name == "free":
        joint.armature, joint.damping = (_coefficient(element, k, log) for k in ("armature", "damping"))
        for name in ("frictionloss", "stiffness"):
            if _coefficient(element, name, log):
                log.add("unsupported", element.where, f"{name} of a free joint is not modelled")
        return joint, ORIGIN
    position = vector(element, "pos", 3, ORIGIN, log)
    anchor = frame.apply(position) if kind_name != "slide" else ORIGIN
    angle = compiler.angle if kind_name in ("hinge", "ball") else float
    joint.limits = _limits(element, kind_name, compiler, log)
    for name, attribute in (("damping", "damping"), ("friction", "frictionloss"), ("armature", "armature")):
        setattr(joint, name, _coefficient(element, attribute, log))
    joint.stiffness = _coefficient(element, "stiffness", log)
    rest = angle(number(element, "springref", 0.0, log))
    if kind_name in _AXIAL:
        joint.spring_reference = rest if joint.stiffness else None
        joint.reference = angle(number(element, "ref", 0.0, log))
        joint.placement = joint.at(-joint.reference) if joint.reference else joint.placement
    if element.get("springdamper") is not None and any(
        parse_numbers(element.get("springdamper") or "") or ()
    ):
        log.add("unsupported", element.where, "springdamper is not modelled", "Write stiffness and damping.")
    return joint, anchor


def _axis(element: Element, frame: Pose, log: Log) -> Vector:
    x, y, z = vector(element, "axis", 3, (0.0, 0.0, 1.0), log)
    if norm((x, y, z)) < 1e-12:
        log.repairable("axis-zero", element.where, "the axis is the zero vector", "axis set to 0 0 1")
        return (0.0, 0.0, 1.0)
    return unit(mat_vec(frame.R, (x, y, z)))


def _coefficient(element: Element, name: str, log: Log) -> float:
    """A non-negative coefficient; the linear term of a polynomial."""
    values = parse_numbers(element.get(name) or "0")
    if isinstance(values, str):
        log.add("number", element.where, f"{name} contains {shorten(values)!r}, not a finite number")
        return 0.0
    if any(values[1:]):
        log.add("unsupported", element.where, f"{name} is a polynomial: only its first coefficient is used")
    if values and values[0] < 0:
        log.repairable("coefficient-negative", element.where, f"{name} is {values[0]:g}", f"{name} set to 0")
        return 0.0
    return values[0] if values else 0.0


def unbounded(x: float) -> float:
    """A bound; infinite from MuJoCo's largest number on."""
    return x if abs(x) < NO_LIMIT else copysign(inf, x)


def _limits(element: Element, kind: str, compiler: Compiler, log: Log) -> Limits:
    limits: dict[str, float] = {}
    lower, upper = vector(element, "range", 2, (0.0, 0.0), log)
    limited = choice(element, "limited", ("true", "false", "auto"), "auto", log)
    if limited == "true" or (limited == "auto" and compiler.autolimits and lower != upper):
        lower, upper = log.bounds(unbounded(lower), unbounded(upper), element.where)
        if kind == "hinge":
            lower, upper = compiler.angle(lower), compiler.angle(upper)
        if kind in _AXIAL:
            limits |= {"lower": lower, "upper": upper}
        else:
            where = Where(element.file, element.line, element.label)
            problem = f"the range of a {kind} joint bounds its total angle, not single coordinates"
            log.add("ignored", where, problem)
    low, high = vector(element, "actuatorfrcrange", 2, (0.0, 0.0), log)
    if element.get("actuatorfrclimited") != "false" and low < high:
        limits["effort"] = max(abs(low), abs(high))
    return Limits(**limits)
