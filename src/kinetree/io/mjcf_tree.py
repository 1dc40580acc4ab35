"""The bodies of an MJCF model, depth first: joints, inertias, geoms and sites of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from kinetree.io.attributes import name_of, number
from kinetree.io.description import WORLD, Description, Frame, Joint, Link, Names
from kinetree.io.mjcf_compiler import read_pose
from kinetree.io.mjcf_inertia import bounded, inertia_of_geoms, read_inertial, read_site
from kinetree.io.mjcf_joint import FREE, Chain, read_joint
from kinetree.io.mjcf_mesh import Meshes
from kinetree.io.mjcf_spec import MAIN, Spec, expand_attach, replicas
from kinetree.io.placement import HERE
from kinetree.io.report import Log, Where, refuse
from kinetree.io.text import CUSTOM
from kinetree.io.xml import Element
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Vector

_COPIES = 20_000  # most elements that <replicate> and <attach> may create


@dataclass(frozen=True, slots=True)
class Context:
    """The position of an element in the tree."""

    spec: Spec  # the model it belongs to: compiler settings, defaults, name prefix
    parent: str  # the link that carries it
    frame: Pose  # the frames between that link and the element
    childclass: str
    suffix: str = ""  # of names, from <replicate>
    moving: bool = False  # whether any joint is above it


@dataclass(slots=True)
class Parts:
    """The direct content of a body, with frames and replicas expanded."""

    joints: list[Joint] = field(default_factory=list)
    anchors: list[Vector] = field(default_factory=list)  # of the joints, in the body
    geoms: list[tuple[Element, Pose, Meshes]] = field(default_factory=list)
    bodies: list[tuple[Element, Context]] = field(default_factory=list)
    inertial: Inertia | None = None


class Reader:
    """Walks the bodies depth first with an explicit stack."""

    def __init__(self, robot: Description, root: Element, log: Log) -> None:
        self.robot, self.log = robot, log
        named = [(e.tag, e.get("name") or "") for e in root.walk()]
        self.links = Names({WORLD}, (name for tag, name in named if tag == "body"))
        self.joints = Names((), (name for tag, name in named if tag in ("joint", "freejoint")))
        self.chain = Chain(robot, self.links, self.joints, log)
        self.attached: list[Spec] = []
        self.sites: list[tuple[Element, str, Context]] = []
        self.places: dict[str, Frame] = {}  # the frames that sites became
        self.mocap: set[str] = set()  # links moved from outside
        self.copies = 0

    def read(self, world: Element, context: Context) -> None:
        """Read the world body and everything on it."""
        stack: list[tuple[Element, Context]] = []
        for element, inner in self._children(world, context):
            if element.tag == "body":
                stack.append((element, inner))
            elif element.tag == "site":
                self._note_site(element, WORLD, inner)
            elif element.tag == "geom":
                self.robot.still.append(_geom(element, inner))
        stack.reverse()
        while stack:
            body, context = stack.pop()
            stack.extend(reversed(self._read_body(body, context)))
        for element, link, context in self.sites:
            self._add_site(element, link, context)
        self.sites.clear()

    def _children(self, element: Element, context: Context) -> Iterator[tuple[Element, Context]]:
        """The children of a body in order, with frames, replicas and attached bodies expanded."""
        stack = [(child, context) for child in reversed(element.children)]
        while stack:
            child, inner = stack.pop()
            self.copies += bool(inner.suffix or inner.spec.depth)
            if self.copies > _COPIES:
                problem = f"<replicate> and <attach> create more than {_COPIES} elements"
                refuse("xml-limit", child.where, problem)
            compiler = inner.spec.compiler
            if child.tag == "frame":
                inner = replace(inner, frame=inner.frame @ read_pose(child, compiler, self.log))
                inner = replace(inner, childclass=child.get("childclass") or inner.childclass)
                stack.extend((grandchild, inner) for grandchild in reversed(child.children))
            elif child.tag == "replicate":
                inner = replace(inner, childclass=child.get("childclass") or inner.childclass)
                copies = [
                    replace(inner, frame=inner.frame @ pose, suffix=inner.suffix + suffix)
                    for pose, suffix in replicas(child, compiler, self.log)
                ]
                stack.extend((part, copy) for copy in reversed(copies) for part in reversed(child.children))
            elif child.tag == "attach":
                attached = expand_attach(child, inner.spec, self.log)
                if attached is not None:
                    brought, spec = attached
                    self.attached.append(spec)
                    inner = replace(inner, spec=spec, childclass=MAIN)
                    stack.extend((part, inner) for part in reversed(brought))
            else:
                yield child, inner

    def _read_body(self, element: Element, context: Context) -> list[tuple[Element, Context]]:
        """Add one body; return its child bodies."""
        link = Link(self._body_name(element, context), element.where, source=element)
        childclass = element.get("childclass") or context.childclass
        inside = replace(context, parent=link.name, frame=HERE, childclass=childclass)
        parts = self._gather(element, inside, link)
        link.geoms = list(parts.geoms)
        if not self._is_free_alone(element, parts.joints, context):
            del parts.joints[1:], parts.anchors[1:]
        moving = context.moving or bool(parts.joints)
        link.inertia = self._inertia(parts, context.spec, moving, link.where)
        placement = context.frame @ read_pose(element, context.spec.compiler, self.log)
        self.chain.lay(link, context.parent, placement, parts.joints, parts.anchors)
        if number(element, "gravcomp", 0.0, self.log):
            self.log.add("unsupported", element.where, "gravcomp (gravity compensation) is not modelled")
        if element.get("mocap") == "true" or context.parent in self.mocap:
            self.mocap.add(link.name)
        if element.get("mocap") == "true":
            self.log.add("unsupported", element.where, "a mocap body stands still: nothing moves it here")
        return [(body, replace(inner, moving=moving)) for body, inner in parts.bodies]

    def _gather(self, element: Element, inside: Context, link: Link) -> Parts:
        """Read the direct content of a body."""
        parts = Parts()
        for child, inner in self._children(element, inside):
            spec = inner.spec
            match child.tag:
                case "joint" | "freejoint":
                    resolved = spec.defaults.resolve(child, inner.childclass)
                    name = self._joint_name(child, link.name, inner)
                    joint, anchor = read_joint(resolved, inner.frame, name, spec.compiler, self.log)
                    joint.source = child
                    parts.joints.append(joint)
                    parts.anchors.append(anchor)
                case "geom":
                    parts.geoms.append(_geom(child, inner))
                case "inertial" if parts.inertial is not None:
                    problem = f"body {link.name!r} has several <inertial> elements"
                    self.log.add("element-repeated", child.where, problem)
                case "inertial":
                    inertial = read_inertial(child, spec.compiler, self.log)
                    parts.inertial = inertial.congruence(inner.frame.transform())
                case "site":
                    self._note_site(child, link.name, inner)
                case "body":
                    parts.bodies.append((child, inner))
        return parts

    def _inertia(self, parts: Parts, spec: Spec, moving: bool, where: Where) -> Inertia | None:
        """The inertia of a body, from its `<inertial>` or its geoms, depending on the compiler settings."""
        inertia, mode = parts.inertial, spec.compiler.inertiafromgeom
        if not moving and spec.compiler.settotalmass <= 0:  # part of the world
            return inertia
        if mode == "true" or (mode == "auto" and inertia is None):
            inertia = inertia_of_geoms(parts.geoms, spec.compiler, where, self.log) or inertia
        if inertia is None and not (spec.compiler.boundmass or spec.compiler.boundinertia):
            return None
        return bounded(inertia or Inertia.zero(), spec.compiler)

    def _is_free_alone(self, element: Element, joints: list[Joint], context: Context) -> bool:
        """Whether a free joint is, as it must be, the only joint of a child body of the world."""
        if not any(joint.motion == FREE for joint in joints) or (
            len(joints) == 1 and context.parent == WORLD
        ):
            return True
        problem = "a free joint needs a body of its own directly in the world"
        remedy = "Move the body to <worldbody>, or use other joints."
        self.log.add("joint-type", element.where, problem, remedy)
        return False

    def _body_name(self, element: Element, context: Context) -> str:
        name = name_of(element, self.log)
        if name is None:
            made = self.links.make(f"body{len(self.links.taken)}")
            self.log.add("name-missing", element.where, f"the body has no name; it is called {made!r} here")
            return made
        return self._claim(self.links, "body", context.spec.prefix + name + context.suffix, element)

    def _joint_name(self, element: Element, body: str, context: Context) -> str:
        name = name_of(element, self.log)
        if name is None:
            return self.joints.make(f"{body}_joint")
        return self._claim(self.joints, "joint", context.spec.prefix + name + context.suffix, element)

    def _claim(self, names: Names, kind: str, name: str, element: Element) -> str:
        claimed = names.claim(name)
        if claimed != name:
            problem = f"a second {kind} is called {name!r}"
            self.log.repairable("name-duplicate", element.where, problem, f"renamed to {claimed!r}")
        return claimed

    def _note_site(self, element: Element, link: str, context: Context) -> None:
        """Sites become frames once all bodies are named, since a frame must not share a body's name."""
        if element.get("name"):
            self.sites.append((element, link, context))

    def _add_site(self, element: Element, link: str, context: Context) -> None:
        resolved = context.spec.defaults.resolve(element, context.childclass)
        pose = context.frame @ read_site(resolved, context.spec.compiler, self.log)
        name = context.spec.prefix + (name_of(element, self.log) or "") + context.suffix
        taken = name in self.links.taken  # by a body, or by another site that was renamed
        frame = self.links.claim(f"{name}_site" if taken else name)
        self.places[name] = Frame(frame, element.where, link, pose)
        if not name.startswith(CUSTOM):  # the ends of a loop written by `save`
            self.robot.frames.append(self.places[name])


def _geom(element: Element, context: Context) -> tuple[Element, Pose, Meshes]:
    """A geom with its defaults and full name, the frame it is given in, and the meshes it may refer to."""
    spec = context.spec
    resolved = spec.defaults.resolve(element, context.childclass)
    if (name := element.get("name")) and spec.prefix + context.suffix:
        name = spec.prefix + name + context.suffix
        resolved = resolved.with_attributes({**resolved.attributes, "name": name})
    return resolved, context.frame, spec.meshes
