"""MJCF `<equality>`: mimic joints and loop closures.

A polynomial of degree one between two joints is a mimic joint. Other polynomials, `<connect>` and `<weld>`
are closures. MuJoCo refers to the initial pose of the file: if a position is given in one body only, it
coincides with that of the other body in this pose.
"""

from __future__ import annotations

from math import comb

from kinetree.errors import ModelError
from kinetree.io.attributes import parse_numbers, shorten, vector
from kinetree.io.description import WORLD, Closure, Description, Frame, Joint, Names
from kinetree.io.graph import between
from kinetree.io.mjcf_spec import MAIN, Spec
from kinetree.io.placement import HERE, ORIGIN
from kinetree.io.report import Log, Where
from kinetree.io.save_loops import LOOP, PART, RELATION
from kinetree.io.text import CUSTOM
from kinetree.io.xml import Element
from kinetree.joints import Fixed, Spherical
from kinetree.joints import Joint as Motion
from kinetree.model.parts import Mimic
from kinetree.spatial.pose import Pose
from kinetree.spatial.rotation import Rotation

_FOLLOW = (0.0, 1.0, 0.0, 0.0, 0.0)
_SOFT = ("solref", "solimp", "torquescale")
_ENDS = (("body1", "body2"), ("site1", "site2"))
_TRANSMISSIONS = ("joint", "jointinparent", "tendon")


class Equalities:
    """Reads the equalities of a model, and of those attached to it.

    Args:
        sites: the frame that each site became, by its name in the file.
        mocap: bodies moved from outside the model.
    """

    def __init__(self, robot: Description, sites: dict[str, Frame], mocap: set[str], log: Log) -> None:
        self.robot, self.sites, self.mocap, self.log = robot, sites, mocap, log
        self.names = Names()
        self.drawn, self.moving = _drawn(robot)
        self.soft: list[Element] = []
        self.written: dict[str, str] = {}  # loops that `kt.save` wrote as several points -> their joint

    def read(self, spec: Spec, off: bool) -> None:
        """Read one model; `off` if an option disables its equalities."""
        for text in (e for section in spec.root.all("custom") for e in section.all("text")):
            prefix, _, name = (text.get("name") or "").rpartition(f"{CUSTOM}{LOOP}:")
            if name and not prefix and (text.get("data") or "").strip():
                self.written[name] = text.get("data") or ""
        for section in spec.root.all("equality"):
            for element in section.children:
                resolved = spec.defaults.resolve(element, MAIN)
                inherited = spec.defaults.classes.get(element.get("class") or MAIN, {}).get("equality", {})
                if off or (resolved.get("active") or inherited.get("active")) == "false":
                    self.log.add("ignored", element.where, f"an inactive <{element.tag}> constraint")
                elif element.tag == "joint":
                    self._read_joint(resolved, spec.prefix)
                elif element.tag in ("connect", "weld"):
                    self._read_bodies(resolved, spec.prefix)
                else:
                    self._leave_out(element, f"<{element.tag}> is not modelled: it has no effect")
        self.robot.driven += _driven(spec.root, spec.prefix)

    def report(self) -> None:
        """Report once that loops are closed exactly, however soft they are in the file."""
        if self.soft and self.robot.closures:
            first = self.soft[0]
            problem = f"{', '.join(_SOFT[:2])} of {len(self.soft)} constraints: loops are closed exactly"
            self.log.add("ignored", Where(first.file, first.line, "<equality>"), problem)

    def _leave_out(self, element: Element, problem: str) -> None:
        self.log.add("unsupported", element.where, problem, "Add the constraint in your simulation code.")

    def _read_bodies(self, element: Element, prefix: str) -> None:
        ends = self._ends(element, prefix)
        if ends is None:
            return
        (a, A), (b, B) = ends
        label = element.get("name")
        sites = "-".join(element.get(word) or "" for word in _ENDS[1])
        name = self.names.claim(prefix + (label or (sites if sites != "-" else "")) or f"{a}-{b}")
        problem = f"<{element.tag}> closes a loop: the mechanism moves as if it were open"
        held = {a, b} & self.mocap or (element.tag == "weld" and {a, b} - self.moving)
        if held:
            what = f"<{element.tag}> holds a body at {min(held)!r}, which no joint moves"
            self._leave_out(element, f"{what}: it moves as if it were free")
            return
        motion: Motion | None = (
            Fixed() if element.tag == "weld" and self._scale(element) != 0.0 else Spherical()
        )
        if label and label.partition(PART)[0] in self.written:
            name = label.partition(PART)[0]
            motion = self._written(name, element) if label == name else None
        if motion is None:
            return
        closure = Closure(name, element.where, (a, b), motion, A, B)
        closure.problem, closure.remedy = problem, "Add the constraint in your simulation code."
        self.robot.closures.append(closure)
        if any(element.get(word) is not None for word in _SOFT):
            self.soft.append(element)

    def _written(self, name: str, element: Element) -> Motion | None:
        """The joint that `kt.save` wrote as several points, if this is the first of them."""
        kind, *parameters = self.written[name].split()
        values = parse_numbers(" ".join(parameters))
        try:
            return Motion.named(kind, name).from_parameters(() if isinstance(values, str) else values, name)
        except ModelError as error:
            self.log.add("value", element.where, str(error))
            return None

    def _scale(self, element: Element) -> float:
        values = parse_numbers(element.get("torquescale") or "1")
        return values[0] if values and not isinstance(values, str) else 1.0

    def _ends(self, element: Element, prefix: str) -> tuple[tuple[str, Pose], tuple[str, Pose]] | None:
        """The two links of a constraint, each with the frame that coincides with the other's."""
        bodies, sites = ([element.get(word) for word in pair] for pair in _ENDS)
        if sites[0] is not None or sites[1] is not None:
            found = [self.sites.get(prefix + (name or "")) for name in sites]
            if None in found or bodies[0] is not None:
                problem = f"constraint between sites {sites[0]!r} and {sites[1]!r}"
                self.log.add("value", element.where, problem, "Name two sites of the model, and no bodies.")
                return None
            a, b = (frame for frame in found if frame is not None)
            return (a.link, a.placement), (b.link, b.placement)
        links = [prefix + bodies[0] if bodies[0] else "", prefix + bodies[1] if bodies[1] else WORLD]
        links = [WORLD if link == prefix + WORLD else link for link in links]
        for link in links:
            if link not in self.robot.links and link != WORLD:
                problem, remedy = f"no such body: {shorten(link)!r}", self.log.suggest(link, self.robot.links)
                self.log.add("value", element.where, problem, remedy or "Name two bodies.")
                return None
        if links[0] == links[1]:
            self.log.add("value", element.where, f"both bodies are {links[0]!r}", "Name two bodies.")
            return None
        A, B = self._places(element, *links)
        return (links[0], A), (links[1], B)

    def _places(self, element: Element, a: str, b: str) -> tuple[Pose, Pose]:
        """The coinciding frames of two bodies, from an anchor or a relative pose."""
        seen = between(self.drawn[a], self.drawn[b])  # the second body in the first
        x, y, z = vector(element, "anchor", 3, ORIGIN, self.log)
        if element.tag == "connect":
            return Pose(p=(x, y, z)), Pose(p=seen.inverse().apply((x, y, z)))
        given = vector(element, "relpose", 7, (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0), self.log)
        if any(given[3:]):
            w, i, j, k = given[3:]
            return Pose(Rotation.from_quaternion(_unit((i, j, k, w))), given[:3]), Pose(p=(x, y, z))
        anchor = Pose(p=(x, y, z))
        return seen @ anchor, anchor

    def _read_joint(self, element: Element, prefix: str) -> None:
        """q1 - ref1 = c0 + c1 (q2 - ref2) + c2 ...: a mimic joint if there are only c0 and c1."""
        robot, log = self.robot, self.log
        follower = robot.joints.get(prefix + (element.get("joint1") or ""))
        leader = robot.joints.get(prefix + (element.get("joint2") or "")) if element.get("joint2") else None
        name = shorten(element.get("joint1") or "")
        if follower is None or (leader is None and element.get("joint2")):
            problem = f"constraint between {name!r} and {element.get('joint2')!r}: no such joint"
            log.add("value", element.where, problem, "Correct the name.")
            return
        coefficients = parse_numbers(element.get("polycoef") or "0 1 0 0 0")
        if isinstance(coefficients, str):
            log.add(
                "number", element.where, f"polycoef contains {shorten(coefficients)!r}, not a finite number"
            )
            return
        c = (*coefficients, *_FOLLOW[len(coefficients) :])
        reason, is_mimic = _kind(robot, follower, leader, c)
        is_mimic = is_mimic and self.written.get(element.get("name") or "") != RELATION
        problem = f"the constraint on joint {name!r} is not modelled: {reason}"
        if is_mimic and leader is not None:
            offset = c[0] + follower.reference - c[1] * leader.reference
            follower.mimic = Mimic(leader.name, c[1], offset)
        elif leader is None or follower is leader or follower.motion.nv != 1 or leader.motion.nv != 1:
            log.add("unsupported", element.where, problem)
        else:
            label = element.get("name")
            named = self.names.claim(prefix + label if label else f"{follower.name}-{leader.name}")
            closure = Closure(named, element.where, (follower.name, leader.name))
            closure.coefficients = counted_from_zero(c, follower.reference, leader.reference)
            closure.problem = problem
            robot.closures.append(closure)


def _kind(
    robot: Description, follower: Joint, leader: Joint | None, c: tuple[float, ...]
) -> tuple[str, bool]:
    """Why a joint equality is not a mimic joint ("" if it is), and whether it is one."""
    if leader is None:
        return "it holds the joint at a position", False
    if any(c[2:]):
        return "it is not linear", False
    if follower.motion.nv != 1 or leader.motion.nv != 1:
        return "a joint has more than one degree of freedom", False
    if follower.mimic is not None:
        return "the joint already follows another", False
    step: Joint | None = leader
    while step is not None:
        if step is follower:
            return "the joints would follow each other in a cycle", False
        step = robot.joints[step.mimic.joint] if step.mimic is not None else None
    return "", True


def counted_from_zero(c: tuple[float, ...], own: float, led: float) -> tuple[float, ...]:
    """The coefficients of own + c(y - led) as a polynomial in y."""
    degree = max((k for k, x in enumerate(c) if x), default=0)
    out = [0.0] * (degree + 1)
    for k, x in enumerate(c[: degree + 1]):
        for j in range(k + 1):
            out[j] += x * comb(k, j) * (-led) ** (k - j)
    out[0] += own
    return tuple(out)


def _unit(quaternion: tuple[float, ...]) -> tuple[float, ...]:
    size = sum(x * x for x in quaternion) ** 0.5
    return tuple(x / size for x in quaternion)


def _drawn(robot: Description) -> tuple[dict[str, Pose], set[str]]:
    """The pose of every link in the initial configuration of the file, and the links that joints move."""
    found, moving = {WORLD: HERE}, set()
    for joint in robot.in_order():
        here = joint.home if joint.motion.is_free else joint.placement
        here = joint.at(joint.reference) if joint.motion.nq == 1 and joint.reference else here
        found[joint.child] = found[joint.parent] @ here
        if not joint.is_fixed or joint.parent in moving:
            moving.add(joint.child)
    return found, moving


def _driven(root: Element, prefix: str) -> list[str]:
    """The joints that actuators act on, directly or through tendons."""
    tendons = {
        tendon.get("name"): [part.get("joint") for part in tendon.all("joint")]
        for section in root.all("tendon")
        for tendon in section.children
    }
    found: list[str | None] = []
    for actuator in (a for section in root.all("actuator") for a in section.children):
        for word in _TRANSMISSIONS:
            name = actuator.get(word)
            found += tendons.get(name, []) if word == "tendon" else [name]
    return [prefix + name for name in found if name]
