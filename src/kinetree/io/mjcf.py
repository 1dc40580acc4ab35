"""MJCF -> `Description`: the tree below `<worldbody>`, and everything beside it that shapes its dynamics.

A joint equality that is linear is a mimic joint; what else has no part in the model is said once per kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kinetree.io.attributes import parse_numbers, shorten, vector
from kinetree.io.description import WORLD, Description, Joint
from kinetree.io.files import Document
from kinetree.io.mjcf_marks import read_keyframes
from kinetree.io.mjcf_parts import read_parts
from kinetree.io.mjcf_spec import MAIN, Defaults, read_spec
from kinetree.io.mjcf_tree import Context, Reader
from kinetree.io.placement import HERE
from kinetree.io.report import Log, Where
from kinetree.io.save_mjcf import CUSTOM
from kinetree.io.words import MJCF, check_words, tally
from kinetree.io.xml import Element
from kinetree.model.parts import Mimic
from kinetree.spatial.inertia import Inertia

_FOLLOW = (0.0, 1.0, 0.0, 0.0, 0.0)
_READ = ("compiler", "option", "default", "worldbody", "equality", "keyframe")
_ACTING = ("tendon", "deformable", "extension", "composite", "flexcomp")  # sections that act on the motion
_IN_BODIES = ("body", "joint", "freejoint", "inertial", "site", "frame", "replicate", "attach")


def read_mjcf(document: Document, log: Log) -> Description:
    """The robot that a `<mujoco>` element describes; everything odd about it goes to `log`."""
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
    for each in (spec, *reader.attached):
        read_equalities(robot, each.root, each.defaults, each.prefix, log, off=free)
        list_ignored(each.root, log)
    read_parts(robot, root, log)
    return robot


def _read_option(robot: Description, root: Element, log: Log) -> None:
    """Gravity, which is all that the options say about the tree itself."""
    for option in root.all("option"):
        x, y, z = vector(option, "gravity", 3, robot.gravity, log)
        robot.gravity = (x, y, z)
        if _off(root, "gravity"):
            robot.gravity = (0.0, 0.0, 0.0)
        for name in ("density", "viscosity", "wind"):
            if any(parse_numbers(option.get(name) or "")):
                log.add("unsupported", option.where, f"{name}: forces of a fluid are not modelled")


def _off(root: Element, *names: str) -> bool:
    """Whether a flag with one of these names turns something off."""
    flags = (flag for option in root.all("option") for flag in option.all("flag"))
    return any(flag.get(name) == "disable" for flag in flags for name in names)


def _apply_flags(robot: Description, root: Element) -> None:
    """Take away the passive forces that the options turn off."""
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


def read_equalities(
    robot: Description, root: Element, defaults: Defaults, prefix: str, log: Log, off: bool
) -> None:
    """Turn joint equalities into mimic joints, and say which constraints have no place in a tree."""
    for section in root.all("equality"):
        for element in section.children:
            resolved = defaults.resolve(element, MAIN)
            equality = defaults.classes.get(element.get("class") or MAIN, {}).get("equality", {})
            if off or (resolved.get("active") or equality.get("active")) == "false":
                log.add("ignored", element.where, f"an inactive <{element.tag}> constraint")
            elif element.tag == "joint":
                _read_joint(robot, resolved, prefix, log)
            else:
                problem = f"<{element.tag}> closes a loop: the mechanism moves as if it were open"
                log.add("unsupported", element.where, problem, "Add the constraint in your simulation code.")


def _read_joint(robot: Description, element: Element, prefix: str, log: Log) -> None:
    """q1 - ref1 = c0 + c1 (q2 - ref2) + c2 ... : a mimic if only c0 and c1 are there."""
    follower = robot.joints.get(prefix + (element.get("joint1") or ""))
    leader = robot.joints.get(prefix + (element.get("joint2") or "")) if element.get("joint2") else None
    name = shorten(element.get("joint1") or "")
    if follower is None or (leader is None and element.get("joint2")):
        problem = f"constraint between {name!r} and {element.get('joint2')!r}: no such joint"
        log.add("value", element.where, problem, "Correct the name.")
        return
    coefficients = parse_numbers(element.get("polycoef") or "0 1 0 0 0")
    if isinstance(coefficients, str):
        log.add("number", element.where, f"polycoef contains {shorten(coefficients)!r}, not a finite number")
        return
    c = (*coefficients, *_FOLLOW[len(coefficients) :])
    reason = _why_not(robot, follower, leader, c)
    if reason:
        log.add("unsupported", element.where, f"the constraint on joint {name!r} is not modelled: {reason}")
        return
    assert leader is not None
    offset = c[0] + follower.reference - c[1] * leader.reference
    follower.mimic = Mimic(leader.name, c[1], offset)


def _why_not(robot: Description, follower: Joint, leader: Joint | None, c: tuple[float, ...]) -> str:
    """Why a joint equality is not a mimic joint; "" if it is one."""
    if leader is None:
        return "it holds the joint at a position"
    if any(c[2:]):
        return "it is not linear"
    if follower.motion.nv != 1 or leader.motion.nv != 1:
        return "a joint has more than one degree of freedom"
    if follower.mimic is not None:
        return "the joint already follows another"
    step: Joint | None = leader
    while step is not None:
        if step is follower:
            return "the joints would follow each other in a circle"
        step = robot.joints[step.mimic.joint] if step.mimic is not None else None
    return ""


def _dynamic(root: Element) -> Iterator[Element]:
    """The elements that say something about the dynamics."""
    yield root
    for section in root.all("compiler", "option", "worldbody"):
        yield from section.walk()
    for section in root.all("default"):
        yield from (e for e in section.walk() if e.tag in ("joint", "geom", "site", "mesh"))
    for section in root.all("asset"):
        yield from section.all("mesh")


def list_ignored(root: Element, log: Log) -> None:
    """One finding for each kind of element that had no part in the model, and for each unknown word."""
    check_words(_dynamic(root), MJCF, log)
    for actuator in (a for section in root.all("actuator") for a in section.children):
        for name in ("armature", "damping"):
            if any(parse_numbers(actuator.get(name) or "")):
                log.add("unsupported", actuator.where, f"the {name} of an actuator is not modelled")
    for section in root.children:
        if section.tag not in _READ:
            unread = [e for e in section.children if not (e.get("name") or "").startswith(CUSTOM)]
            if section.children and not unread:
                continue
            kinds = Counter(child.tag for child in unread)
            shown = ", ".join(f"{count} {tag}" for tag, count in kinds.items()) or "empty"
            rule = "unsupported" if section.tag in _ACTING and kinds else "ignored"
            log.add(rule, Where(section.file, section.line, f"<{section.tag}>"), f"not read: {shown}")
    inside = (e for world in root.all("worldbody") for e in world.walk() if e is not world)
    for tag, (element, count) in tally((e.tag, e) for e in inside if e.tag not in _IN_BODIES).items():
        rule = "unsupported" if tag in _ACTING else "ignored"
        what = "contact and looks of geoms are" if tag == "geom" else f"<{tag}> is"
        problem = f"{what} not modelled ({count} elements)"
        log.add(rule, Where(element.file, element.line, f"<{tag}>"), problem)
