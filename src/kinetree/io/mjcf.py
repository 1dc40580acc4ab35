"""MJCF -> `Description`: the tree below `<worldbody>`, and all other sections that affect its dynamics.

Elements that are not part of the model are reported once per kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kinetree.io.attributes import parse_numbers, vector
from kinetree.io.description import WORLD, Description
from kinetree.io.files import Document
from kinetree.io.mjcf_equality import Equalities
from kinetree.io.mjcf_marks import read_keyframes
from kinetree.io.mjcf_parts import read_parts
from kinetree.io.mjcf_spec import MAIN, contacts_of, read_spec
from kinetree.io.mjcf_tree import Context, Reader
from kinetree.io.placement import HERE
from kinetree.io.report import Log, Where
from kinetree.io.text import CUSTOM
from kinetree.io.words import MJCF, check_words, tally
from kinetree.io.xml import Element
from kinetree.spatial.inertia import Inertia

_READ = ("compiler", "option", "default", "worldbody", "equality", "keyframe")
_ACTING = ("tendon", "deformable", "extension", "composite", "flexcomp")  # sections that affect the motion
_IN_BODIES = ("body", "joint", "freejoint", "inertial", "geom", "site", "frame", "replicate", "attach")


def read_mjcf(document: Document, log: Log) -> Description:
    """The robot described by a `<mujoco>` element; findings go to `log`."""
    root = document.root
    spec = read_spec(root, document.reach, "", log)
    robot = Description(root.get("model") or "robot", root.file, "mjcf", document=root)
    _read_option(robot, root, log)
    reader = Reader(robot, root, log)
    for world in root.all("worldbody"):
        reader.read(world, Context(spec, WORLD, HERE, MAIN))
    if not any(True for _ in root.all("worldbody")):
        log.add("tree-empty", root.where, "there is no <worldbody>", "Load the file that includes this one.")
    read_keyframes(robot, root, log)
    _set_total_mass(robot, spec.compiler.settotalmass)
    _apply_flags(robot, root)
    free = _off(root, "equality", "constraint")
    equalities = Equalities(robot, reader.places, reader.mocap, log)
    for each in (spec, *reader.attached):
        equalities.read(each, off=free)
        robot.contacts += contacts_of(each)
        list_ignored(each.root, log)
    equalities.report()
    read_parts(robot, root, log)
    return robot


def _read_option(robot: Description, root: Element, log: Log) -> None:
    """Read gravity, the only option that concerns the tree itself."""
    for option in root.all("option"):
        x, y, z = vector(option, "gravity", 3, robot.gravity, log)
        robot.gravity = (x, y, z)
        if _off(root, "gravity"):
            robot.gravity = (0.0, 0.0, 0.0)
        for name in ("density", "viscosity", "wind"):
            if any(parse_numbers(option.get(name) or "")):
                log.add("unsupported", option.where, f"{name}: fluid forces are not modelled")


def _off(root: Element, *names: str) -> bool:
    """Whether a flag with one of these names turns something off."""
    flags = (flag for option in root.all("option") for flag in option.all("flag"))
    return any(flag.get(name) == "disable" for flag in flags for name in names)


def _apply_flags(robot: Description, root: Element) -> None:
    """Remove the passive forces that the options turn off."""
    for joint in robot.joints.values():
        if _off(root, "spring", "passive"):
            joint.stiffness = 0.0
        if _off(root, "damper", "passive"):
            joint.damping = 0.0
        if _off(root, "frictionloss", "constraint"):
            joint.friction = 0.0


def _set_total_mass(robot: Description, wanted: float) -> None:
    total = sum(link.inertia.mass for link in robot.links.values() if link.inertia is not None)
    if wanted <= 0 or total <= 0:
        return
    for link in robot.links.values():
        if link.inertia is not None:
            link.inertia = Inertia.from_parameters(x * (wanted / total) for x in link.inertia.parameters)


def _dynamic(root: Element) -> Iterator[Element]:
    """The elements that concern the dynamics."""
    yield root
    for section in root.all("compiler", "option", "worldbody", "contact"):
        yield from section.walk()
    for section in root.all("default"):
        yield from (e for e in section.walk() if e.tag in ("joint", "geom", "site", "mesh", "pair"))
    for section in root.all("asset"):
        yield from section.all("mesh")


def _is_read(element: Element) -> bool:
    """Whether an element is read although its section is not: what `save` wrote, contacts, height fields."""
    return (element.get("name") or "").startswith(CUSTOM) or element.tag in ("pair", "exclude", "hfield")


def list_ignored(root: Element, log: Log) -> None:
    """Record one finding for each kind of ignored element, and for each unknown attribute or element."""
    check_words(_dynamic(root), MJCF, log)
    for actuator in (a for section in root.all("actuator") for a in section.children):
        for name in ("armature", "damping"):
            if any(parse_numbers(actuator.get(name) or "")):
                log.add("unsupported", actuator.where, f"the {name} of an actuator is not modelled")
    for section in root.children:
        if section.tag not in _READ:
            unread = [e for e in section.children if not _is_read(e)]
            if section.children and not unread:
                continue
            kinds = Counter(child.tag for child in unread)
            shown = ", ".join(f"{count} {tag}" for tag, count in kinds.items()) or "empty"
            rule = "unsupported" if section.tag in _ACTING and kinds else "ignored"
            log.add(rule, Where(section.file, section.line, f"<{section.tag}>"), f"not read: {shown}")
    inside = (e for world in root.all("worldbody") for e in world.walk() if e is not world)
    for tag, (element, count) in tally((e.tag, e) for e in inside if e.tag not in _IN_BODIES).items():
        rule = "unsupported" if tag in _ACTING else "ignored"
        problem = f"<{tag}> is not modelled ({count} elements)"
        log.add(rule, Where(element.file, element.line, f"<{tag}>"), problem)
