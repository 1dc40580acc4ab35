"""SDF -> `Description`: the models of a document or of its world, in one tree.

A model floats unless a joint fixes it to the world. Names are those of the file, prefixed with the names of
the enclosing models ("gripper::finger"), except for that of a single top-level model.
"""

from __future__ import annotations

from pathlib import Path

from kinetree.io.attributes import clean_name, is_name, parse_numbers, shorten
from kinetree.io.description import WORLD, Description, Frame, Joint, Link, Names
from kinetree.io.files import Document
from kinetree.io.graph import Connection, span
from kinetree.io.loops import HINTS, read_hint
from kinetree.io.mjcf_parts import fuse
from kinetree.io.placement import HERE
from kinetree.io.report import Log
from kinetree.io.save_sdf import BASE, LOOP, NAME, ORDER, PART, ROTOR
from kinetree.io.sdf_frames import SEPARATOR, Node
from kinetree.io.sdf_inertia import read_inertia
from kinetree.io.sdf_joint import (
    AXES,
    DRIVE,
    GEARBOX,
    direction,
    extend,
    gear_ratio,
    is_last,
    read_joint,
    read_mimics,
)
from kinetree.io.sdf_spec import Spec
from kinetree.io.sdf_values import flag_in, pose_in, text_in, vector_in, version_of
from kinetree.io.sdf_words import check_sdf_words
from kinetree.io.urdf_drive import read_rotor
from kinetree.io.xml import Element
from kinetree.joints import Fixed, Revolute, Universal
from kinetree.model.parts import Mimic
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import dot, mat_vec

GRAVITY = (0.0, 0.0, -9.8)  # default of a world
_PARALLEL = 1e-6


def read_sdf(document: Document, log: Log) -> Description:
    """The robot described by an `<sdf>` element; findings go to `log`."""
    root = document.root
    robot = Description("robot", root.file, "sdf", document=root)
    worlds = list(root.all("world"))
    container = worlds[0] if worlds else root
    spec = Spec(root, document.reach, log)
    file = None if document.directory is None else document.directory / Path(document.file).name
    spec.read(container, version_of(root, log), file)
    for world in worlds[1:]:
        log.add("ignored", world.where, "only the first world of a file is read")
    if worlds:
        x, y, z = vector_in(container, "gravity", GRAVITY, log)
        robot.gravity = (x, y, z)
        spec.elements.append(container)
    log.checkpoint()
    _Reader(robot, spec, log).read(container.get("name") or "")
    check_sdf_words(spec.elements, log)
    if not (robot.links or robot.frames):
        log.add("tree-empty", root.where, "there is no link")
    return robot


class _Reader:
    """Turns the frames of a document into links, joints and frames of a robot."""

    def __init__(self, robot: Description, spec: Spec, log: Log) -> None:
        self.robot, self.spec, self.frames, self.log = robot, spec, spec.frames, log
        self.sole = spec.top[0] + SEPARATOR if len(spec.top) == 1 else ""
        self.links: dict[str, str] = {WORLD: WORLD}  # key -> name
        self.connections: dict[tuple[str, str], Connection] = {}  # by key and axis
        self.homes: dict[str, Pose] = {}
        self.bases: list[tuple[str, Element]] = []

    def read(self, world: str) -> None:
        spec, robot = self.spec, self.robot
        robot.name = (self._label(spec.top[0]) if self.sole else world) or "robot"
        for key in spec.links:
            self._add_link(key, self.frames.nodes[key])
        parts = self._in_parts()
        names = Names()
        for key in spec.joints:
            node = self.frames.nodes[key]
            if self._kind(node) != GEARBOX:
                self._add_joint(key, node, names.claim(self._label(key)), key in parts)
        for key in spec.joints:
            node = self.frames.nodes[key]
            self._add_mimics(key, node)
            if self._kind(node) == GEARBOX:
                self._add_gear(key, node)
        span(robot, self._welds() + list(self.connections.values()), self.homes, self.log)
        self._add_frames()
        self._add_extensions()

    def _kind(self, node: Node) -> str:
        return (node.element.get("type") or "").lower()

    def _label(self, key: str) -> str:
        node = self.frames.nodes.get(key)
        return (node.element.get(NAME) if node is not None else None) or key.removeprefix(self.sole)

    def _add_link(self, key: str, node: Node) -> None:
        name, element = self._label(key), node.element
        while name in self.robot.links or name == WORLD:
            name += "_link"
        self.links[key] = name
        link = self.robot.links[name] = Link(name, element.where, source=element)
        link.virtual = element.find(PART) is not None

        def placed(part: Element) -> Pose:
            pose = part.find("pose")
            frame = "" if pose is None else pose.get("relative_to") or ""
            found = self.frames.named(node.scope, frame, part, "relative_to") if frame else None
            return (HERE if found is None else self.frames.relative(key, found)) @ pose_in(part, self.log)

        link.inertia = read_inertia(element, node.scope.static, placed, self.spec.reach, self.log)
        link.collisions = [(part, placed(part)) for part in element.all("collision")]
        self.homes[name] = self.frames.relative(WORLD, key)
        base = element.find(BASE)
        if base is not None:
            self.bases.append((name, base))

    def _welds(self) -> list[Connection]:
        """Welds of the links of static models."""
        found = []
        still = [key for key in self.spec.links if self.frames.nodes[key].scope.static]
        names = Names(each.joint.name for each in self.connections.values())
        for key in still:
            name, where = self.links[key], self.frames.nodes[key].element.where
            joint = Joint(names.claim(f"{name}_fixed"), where, Fixed(), WORLD, name, self.homes[name])
            found.append(Connection(joint))
        weightless = [key for key in self.spec.links if self._floats(key)]
        if weightless and len(weightless) == len(self.spec.links) - len(still):
            self.robot.gravity = (0.0, 0.0, 0.0)
        elif weightless:
            where = self.frames.nodes[weightless[0]].element.where
            problem = f"gravity is off for {len(weightless)} links: not modelled, it acts on all links"
            self.log.add("unsupported", where, problem)
        return found

    def _floats(self, key: str) -> bool:
        node = self.frames.nodes[key]
        return not node.scope.static and not flag_in(node.element, "gravity", True)

    def _end(self, node: Node, tag: str) -> tuple[str, str] | None:
        """The key of the link at one end of a joint, and that of the named frame."""
        name = text_in(node.element, tag)
        if not name:
            self.log.add("element-missing", node.element.where, f"the joint has no <{tag}>")
            return None
        frame = self.frames.find(node.scope, name)
        if frame is None and not is_name(name):
            problem = f"<{tag}> has quotes, brackets or control characters in the name {shorten(name)!r}"
            cleaned = clean_name(name)
            self.log.repairable("name-invalid", node.element.where, problem, f"renamed to {cleaned!r}")
            frame, name = self.frames.find(node.scope, cleaned), cleaned
        if frame is None:
            return name, ""
        body = self.frames.body(frame)
        return None if body is None else (body, frame)

    def _add_joint(self, key: str, node: Node, name: str, apart: bool) -> None:
        """Read a joint; one whose axes are mimicked or mimic individually becomes two in a row."""
        log, frames = self.log, self.frames
        joint = read_joint(name, node, key, frames, log)
        parent, child = self._end(node, "parent"), self._end(node, "child")
        if joint is None or parent is None or child is None:
            return
        if node.scope.static:
            log.add("ignored", node.element.where, "a joint of a static model does not move")
            return
        joint.parent, joint.child = (self.links.get(end[0], self._label(end[0])) for end in (parent, child))
        extend(joint, node.element.find(DRIVE), log)
        anchor = HERE
        if parent[1] and child[1]:
            joint.placement = frames.relative(parent[0], child[0])
            anchor = frames.relative(child[0], key)
        connection = Connection(joint, anchor, is_last(node.element))
        if apart and isinstance(joint.motion, Universal):
            self._split(key, connection)
        else:
            self.connections[key, AXES[0]] = connection

    def _split(self, key: str, whole: Connection) -> None:
        """Two hinges with a massless link in between, for axes that follow or lead individually."""
        joint, motion = whole.joint, whole.joint.motion
        assert isinstance(motion, Universal)
        middle = f"{joint.child}@{joint.name}"
        self.robot.links[middle] = Link(middle, joint.where, virtual=True)
        self.homes[middle] = self.homes.get(joint.child, HERE)
        ends = ((joint.parent, middle), (middle, joint.child))
        for k, (tag, axis, (parent, child)) in enumerate(zip(AXES, (motion.axis1, motion.axis2), ends)):
            part = Joint(f"{joint.name}/{tag}", joint.where, Revolute(axis), parent, child)
            part.placement = joint.placement if k == 0 else HERE
            part.limits = type(joint.limits)(*(x[k] for x in joint.limits))
            for field in ("armature", "damping", "friction", "stiffness", "spring_reference"):
                values = getattr(joint, field)
                setattr(part, field, values[k] if isinstance(values, tuple) else values)
            self.connections[key, tag] = Connection(part, whole.anchor, whole.last)

    def _in_parts(self) -> set[str]:
        """The keys of joints with a single axis that follows or leads."""
        found: set[str] = set()
        for key in self.spec.joints:
            node = self.frames.nodes[key]
            for follow in read_mimics(node, Log()):
                found.add(key)
                found.add(self.frames.find(node.scope, follow.joint) or "")
        return found

    def _add_mimics(self, key: str, node: Node) -> None:
        for follow in read_mimics(node, self.log):
            leader = self.frames.find(node.scope, follow.joint)
            own = self.connections.get((key, follow.axis))
            other = self.connections.get((leader or "", follow.leader_axis))
            if own is None:
                continue
            if other is None:
                unknown = self._label(node.scope.prefix + follow.joint)  # reported with the tree
                own.joint.mimic = Mimic(unknown)
                continue
            if own.joint.is_fixed:
                problem = f"a fixed joint follows {shorten(follow.joint)!r}"
                self.log.repairable("mimic-fixed", node.element.where, problem, "mimic removed")
                continue
            own.joint.mimic = Mimic(other.joint.name, follow.multiplier, follow.offset)

    def _add_gear(self, key: str, node: Node) -> None:
        """A gearbox couples the hinges of two links on a third one.

        theta_2 = -ratio theta_1, where theta_1 is the angle of the parent, theta_2 that of the child.
        """
        element = node.element
        name = text_in(element, "gearbox_reference_body")
        frame = self.frames.find(node.scope, name) if name else None
        body = None if frame is None else self.frames.body(frame)
        ends, signs = [], []
        for tag, end in zip(AXES, ("parent", "child")):
            found, axis = self._end(node, end), element.find(tag)
            hinge = None if found is None or body is None else self._hinge(body, found[0])
            if hinge is None or axis is None:
                problem = f"the gear ratio is not modelled: <{end}> has no hinge on {shorten(name)!r}"
                self.log.add("unsupported", element.where, problem)
                return
            sign = self._sign(hinge, direction(axis, node, key, self.frames, self.log), key, str(body))
            ends.append(hinge)
            signs.append(sign)
        if not all(signs) or ends[1].joint.mimic is not None or ends[0] is ends[1]:
            problem = (
                "the gear ratio is not modelled: its axes are not those of the hinges, or these are coupled"
            )
            self.log.add("unsupported", element.where, problem)
            return
        ratio = -gear_ratio(element, self.log) * signs[0] / signs[1]
        ends[1].joint.mimic = Mimic(ends[0].joint.name, ratio)

    def _hinge(self, reference: str, link: str) -> Connection | None:
        """The hinge between two links."""
        pair = {self.links.get(reference), self.links.get(link)}
        for each in self.connections.values():
            if {each.joint.parent, each.joint.child} == pair and isinstance(each.joint.motion, Revolute):
                return each
        return None

    def _sign(self, hinge: Connection, axis: tuple, gear: str, body: str) -> int:
        """1 or -1 if the gear axis is along or against that of the hinge as seen by the link; otherwise 0."""
        assert isinstance(hinge.joint.motion, Revolute)
        world = mat_vec(self.frames.relative(WORLD, gear).R, axis)
        home = self.homes.get(hinge.joint.child, HERE)
        own = mat_vec((home @ hinge.anchor).R, hinge.joint.motion.axis)
        along = dot(world, own)
        if abs(abs(along) - 1) > _PARALLEL:
            return 0
        forward = 1 if hinge.joint.parent == self.links[body] else -1
        return forward if along > 0 else -forward

    def _add_frames(self) -> None:
        """Every `<frame>` becomes a frame on the link it is attached to."""
        names = Names(self.robot.links)
        for key in self.spec.marks:
            body = self.frames.body(key)
            if body is None:
                continue
            name = self._label(key)
            pose = self.frames.relative(body, key)
            label = names.claim(f"{name}_frame" if name in self.robot.links else name)
            frame = Frame(label, self.frames.nodes[key].element.where, self.links.get(body, WORLD), pose)
            self.robot.frames.append(frame)

    def _add_extensions(self) -> None:
        """Read the extensions written by `kt.save`: floating bases, the order of bodies, exact rotors."""
        robot, log = self.robot, self.log
        for link, element in self.bases:
            joint = next((j for j in robot.joints.values() if j.child == link and j.parent == WORLD), None)
            if joint is None or not joint.motion.is_free:
                continue
            name = element.get("joint") or joint.name
            if name != joint.name and name not in robot.joints:
                joint.name = name
            joint.placement, joint.home = joint.home, HERE
            extend(joint, element, log)
        robot.joints = {joint.name: joint for joint in robot.joints.values()}
        fuse(robot, log)
        models = [self.frames.nodes[key].element for key in self.spec.top]
        if any(model.find(ORDER) is not None for model in models):
            place = {name: k for k, name in enumerate(robot.links)}
            joints = sorted(robot.joints.values(), key=lambda joint: place[joint.child])
            robot.joints = {joint.name: joint for joint in joints}
            robot.file_order = True
        for model in models:
            for element in model.all(ROTOR):
                read_rotor(robot, element, log)
            for element in model.all(LOOP):
                for field in HINTS:
                    values = parse_numbers(element.get(field) or "")
                    if values and not isinstance(values, str):
                        read_hint(robot, element.get("joint") or "", field, values)
