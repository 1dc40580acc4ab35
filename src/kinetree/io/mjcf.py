"""MJCF -> `Description`: the tree below `<worldbody>`, with everything that shapes its dynamics."""

from __future__ import annotations

from kinetree.io.attributes import parse_numbers, vector
from kinetree.io.description import WORLD, Description
from kinetree.io.document import Document
from kinetree.io.mjcf_attach import read_spec
from kinetree.io.mjcf_defaults import MAIN
from kinetree.io.mjcf_equality import read_equalities
from kinetree.io.mjcf_ignored import list_ignored
from kinetree.io.mjcf_marks import read_keyframes
from kinetree.io.mjcf_parts import read_parts
from kinetree.io.mjcf_tree import Context, Reader
from kinetree.io.placement import HERE
from kinetree.io.report import Log
from kinetree.io.xml import Element
from kinetree.spatial.inertia import Inertia


def read_mjcf(document: Document, log: Log) -> Description:
    """The robot that a `<mujoco>` element describes; everything odd about it goes to `log`."""
    root = document.root
    spec = read_spec(root, document.directory, "", log)
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
