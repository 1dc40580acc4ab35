"""MJCF -> `Description`: the tree below `<worldbody>`, with everything that shapes its dynamics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kinetree.io.attributes import name_of, number, vector
from kinetree.io.description import WORLD, Description, Frame, Joint, Link, Mass, Names
from kinetree.io.mjcf_attach import Spec, expand_attach, read_spec, replicas
from kinetree.io.mjcf_compiler import read_pose
from kinetree.io.mjcf_defaults import MAIN
from kinetree.io.mjcf_equality import read_equalities
from kinetree.io.mjcf_ignored import list_ignored
from kinetree.io.mjcf_inertia import bounded, mass_of_geoms, read_inertial
from kinetree.io.mjcf_joint import Chain, read_joint
from kinetree.io.placement import Placement
from kinetree.io.report import Log, refuse
from kinetree.io.xml import Element
from kinetree.spatial.vector import Vector, scale

_COPIES = 20_000  # elements that <replicate> and <attach> may make


@dataclass(frozen=True, slots=True)
class Context:
    """Where in the tree an element stands."""

    spec: Spec  # the model it belongs to: compiler settings, defaults, prefix of names
    parent: str  # the link that carries it
    frame: Placement  # the frames between that link and the element
    childclass: str
    suffix: str = ""  # of names, from <replicate>
    moving: bool = False  # whether any joint is above it


def read_mjcf(root: Element, directory: Path | None, log: Log) -> Description:
    """The robot that a `<mujoco>` element describes; everything odd about it goes to `log`."""
    spec = read_spec(root, directory, "", log)
    robot = Description(root.get("model") or "robot", root.file, "mjcf", document=root)
    _read_option(robot, root, log)
    reader = _Reader(robot, log)
    for world in root.all("worldbody"):
        reader.read(world, Context(spec, WORLD, Placement(), MAIN))
    if not any(True for _ in root.all("worldbody")):
        log.add("tree-empty", root.where, "there is no <worldbody>", "Load the file that includes this one.")
    _set_total_mass(robot, spec.compiler.settotalmass)
    for each in (spec, *reader.attached):
        read_equalities(robot, each.root, each.defaults, each.prefix, log)
        list_ignored(each.root, log)
    return robot


def _read_option(robot: Description, root: Element, log: Log) -> None:
    """Gravity, which is all that the options say about the tree itself."""
    for option in root.all("option"):
        x, y, z = vector(option, "gravity", 3, robot.gravity, log)
        robot.gravity = (x, y, z)
        if any(flag.get("gravity") == "disable" for flag in option.all("flag")):
            robot.gravity = (0.0, 0.0, 0.0)
        for name in ("density", "viscosity", "wind"):
            if any(
                float(word) for word in (option.get(name) or "").split() if word.replace(".", "").isdigit()
            ):
                log.add("unsupported", option.where, f"{name}: forces of a fluid are not modelled")


def _set_total_mass(robot: Description, wanted: float) -> None:
    masses = [link.mass for link in robot.links.values() if link.mass is not None]
    total = sum(mass.mass for mass in masses)
    if wanted <= 0 or total <= 0:
        return
    factor = wanted / total
    for mass in masses:
        mass.mass *= factor
        rows = [scale(row, factor) for row in mass.inertia]
        mass.inertia = (rows[0], rows[1], rows[2])


class _Reader:
    """Walks the bodies depth first with an explicit stack."""

    def __init__(self, robot: Description, log: Log) -> None:
        self.robot, self.log = robot, log
        self.links, self.joints, self.frames = Names({WORLD}), Names(()), Names(())
        self.chain = Chain(robot, self.links, self.joints, log)
        self.attached: list[Spec] = []
        self.sites: list[tuple[Element, str, Context]] = []
        self.copies = 0

    def read(self, world: Element, context: Context) -> None:
        """Read the world body and everything on it."""
        stack: list[tuple[Element, Context]] = []
        for element, inner in self._children(world, context):
            if element.tag == "body":
                stack.append((element, inner))
            elif element.tag == "site":
                self._note_site(element, WORLD, inner)
        stack.reverse()
        while stack:
            body, context = stack.pop()
            stack.extend(reversed(self._read_body(body, context)))
        for element, link, context in self.sites:
            self._add_site(element, link, context)
        self.sites.clear()

    def _children(self, element: Element, context: Context) -> Iterator[tuple[Element, Context]]:
        """The children of a body in order, with frames, replicas and attached bodies opened up."""
        stack = [(child, context) for child in reversed(element.children)]
        while stack:
            child, inner = stack.pop()
            self.copies += bool(inner.suffix or inner.spec.depth)
            if self.copies > _COPIES:
                refuse(
                    "xml-limit", child.where, f"<replicate> and <attach> make more than {_COPIES} elements"
                )
            compiler = inner.spec.compiler
            if child.tag == "frame":
                inner = replace(inner, frame=inner.frame @ read_pose(child, compiler, self.log))
                inner = replace(inner, childclass=child.get("childclass") or inner.childclass)
                stack.extend((grandchild, inner) for grandchild in reversed(child.children))
            elif child.tag == "replicate":
                copies = [
                    replace(inner, frame=inner.frame @ pose, suffix=inner.suffix + suffix)
                    for pose, suffix in replicas(child, compiler, self.log)
                ]
                stack.extend((part, copy) for copy in reversed(copies) for part in reversed(child.children))
            elif child.tag == "attach":
                attached = expand_attach(child, inner.spec, self.log)
                if attached is not None:
                    body, spec = attached
                    self.attached.append(spec)
                    stack.append((body, replace(inner, spec=spec, childclass=MAIN)))
            else:
                yield child, inner

    def _read_body(self, element: Element, context: Context) -> list[tuple[Element, Context]]:
        """Add one body; returns the bodies on it."""
        spec, log = context.spec, self.log
        link = Link(self._body_name(element, context), element.where, source=element)
        childclass = element.get("childclass") or context.childclass
        inside = replace(context, parent=link.name, frame=Placement(), childclass=childclass)
        joints: list[Joint] = []
        anchors: list[Vector] = []
        geoms: list[tuple[Element, Placement]] = []
        bodies: list[tuple[Element, Context]] = []
        inertial: Mass | None = None
        for child, inner in self._children(element, inside):
            if child.tag in ("joint", "freejoint"):
                resolved = (
                    inner.spec.defaults.resolve(child, inner.childclass) if child.tag == "joint" else child
                )
                name = self._joint_name(child, link.name, inner)
                joint, anchor = read_joint(resolved, inner.frame, name, inner.spec.compiler, log)
                joint.source = child
                joints.append(joint)
                anchors.append(anchor)
            elif child.tag == "geom":
                geoms.append((inner.spec.defaults.resolve(child, inner.childclass), inner.frame))
            elif child.tag == "inertial" and inertial is not None:
                log.add(
                    "element-repeated", child.where, f"body {link.name!r} has several <inertial> elements"
                )
            elif child.tag == "inertial":
                inertial = read_inertial(child, inner.spec.compiler, log).moved(inner.frame)
            elif child.tag == "site":
                self._note_site(child, link.name, inner)
            elif child.tag == "body":
                bodies.append((child, inner))
        moving = context.moving or bool(joints)
        mode = spec.compiler.inertiafromgeom
        if moving and (mode == "true" or (mode == "auto" and inertial is None)):
            inertial = mass_of_geoms(geoms, spec.compiler, link.where, log) or inertial
        if (moving and inertial is not None) or spec.compiler.boundmass or spec.compiler.boundinertia:
            inertial = bounded(inertial or Mass(), spec.compiler)
        link.mass = inertial
        if not self._is_free_alone(element, joints, context):
            joints, anchors = joints[:1], anchors[:1]
        placement = context.frame @ read_pose(element, spec.compiler, log)
        self.chain.lay(link, context.parent, placement, joints, anchors)
        if number(element, "gravcomp", 0.0, log):
            log.add("unsupported", element.where, "gravcomp (gravity compensation) is not modelled")
        return [(body, replace(inner, moving=moving)) for body, inner in bodies]

    def _is_free_alone(self, element: Element, joints: list[Joint], context: Context) -> bool:
        """A free joint must be alone on a body of the world."""
        if not any(joint.kind == "free" for joint in joints) or (
            len(joints) == 1 and context.parent == WORLD
        ):
            return True
        problem = "a free joint needs a body of its own directly in the world"
        self.log.add(
            "joint-type", element.where, problem, "Move the body to <worldbody>, or use other joints."
        )
        return False

    def _body_name(self, element: Element, context: Context) -> str:
        name = name_of(element, self.log)
        if name is None:
            made = self.links.claim(f"body{len(self.links.taken)}")
            self.log.add("name-missing", element.where, f"the body has no name; it is called {made!r} here")
            return made
        return self._claim(self.links, "body", context.spec.prefix + name + context.suffix, element)

    def _joint_name(self, element: Element, body: str, context: Context) -> str:
        name = name_of(element, self.log)
        if name is None:
            return self.joints.claim(f"{body}_joint")
        return self._claim(self.joints, "joint", context.spec.prefix + name + context.suffix, element)

    def _claim(self, names: Names, kind: str, name: str, element: Element) -> str:
        claimed = names.claim(name)
        if claimed != name:
            self.log.mend(
                "name-duplicate",
                element.where,
                f"a second {kind} is called {name!r}",
                f"renamed to {claimed!r}",
            )
        return claimed

    def _note_site(self, element: Element, link: str, context: Context) -> None:
        """Sites become frames once all bodies have their names: a frame may not have that of a body."""
        if element.get("name"):
            self.sites.append((element, link, context))

    def _add_site(self, element: Element, link: str, context: Context) -> None:
        resolved = context.spec.defaults.resolve(element, context.childclass)
        pose = context.frame @ read_pose(resolved, context.spec.compiler, self.log)
        name = context.spec.prefix + (name_of(element, self.log) or "") + context.suffix
        if name in self.links.taken or name in self.frames.taken:
            name = self.frames.claim(f"{name}_site")
        self.robot.frames.append(Frame(self.links.claim(name), element.where, link, pose))
