"""Rotors in URDF: transmissions with reductions and rotor inertias, and the `<kinetree>` extension."""

from __future__ import annotations

from kinetree.io.attributes import parse_number, parse_numbers, per_degree, shorten, vector
from kinetree.io.description import Description, Rotor
from kinetree.io.loops import HINTS, read_hint
from kinetree.io.placement import norm, unit
from kinetree.io.report import Log, Where
from kinetree.io.urdf_parts import read_inertial, read_origin
from kinetree.io.xml import Element
from kinetree.joints import CoordinateJoint
from kinetree.model import Limits

_INERTIA = ("rotor_inertia", "rotorInertia", "motor_inertia", "motorInertia")
_RATIO = ("gear_ratio", "gearRatio", "mechanicalReduction", "mechanical_reduction")


def read_drives(robot: Description, root: Element, log: Log) -> None:
    """Add the rotors of all transmissions and the content of the `<kinetree>` extension to the robot."""
    bare = []
    for transmission in root.all("transmission"):
        if not _read_transmission(robot, transmission, log):
            bare.append(transmission)
    if bare:
        where = Where(bare[0].file, bare[0].line, "<transmission>")
        problem = f"{len(bare)} transmissions without a rotor inertia add no inertia to the model"
        log.add("rotor-incomplete", where, problem)
    for extension in root.all("kinetree"):
        _read_extension(robot, extension, log)


def _local(tag: str) -> str:
    """A tag without its prefix: `drake:rotor_inertia` and `rotor_inertia` mean the same."""
    return tag.rpartition(":")[2]


def _value(scopes: list[Element], tags: tuple[str, ...], log: Log) -> float | None:
    """The number in the first element with one of these tags: its `value` attribute or its text."""
    for scope in scopes:
        for element in scope.children:
            if _local(element.tag) in tags:
                text = element.get("value") or element.text.strip()
                value = parse_number(text.strip())
                if value is None:
                    problem = f"<{element.tag}> contains {shorten(text)!r}, not a finite number"
                    log.add("number", element.where, problem)
                return value
    return None


def _read_transmission(robot: Description, transmission: Element, log: Log) -> bool:
    """Add the rotors of one transmission; False if it has none."""
    joints = [e for e in transmission.all("joint", "rightJoint", "leftJoint") if e.get("name") is not None]
    robot.driven += [e.get("name") or "" for e in joints]
    found = False
    for actuator in transmission.all("actuator"):
        scopes = [actuator, *joints, transmission]
        inertia = _value(scopes, _INERTIA, log)
        if inertia is None:
            continue
        ratio = _value(scopes, _RATIO, log)
        found = True
        for joint_element in joints[:1]:
            _reflect(robot, joint_element.get("name") or "", inertia, ratio, actuator, log)
        if len(joints) > 1:
            problem = "a transmission of several joints: its rotors act on the first one only"
            log.add("unsupported", transmission.where, problem)
    return found


def _reflect(
    robot: Description, name: str, inertia: float, ratio: float | None, element: Element, log: Log
) -> None:
    """Add ratio^2 J to the armature of a joint, since mass and axis of the rotor are not in the file."""
    joint = robot.joints.get(name)
    if joint is None or joint.motion.nv != 1:
        problem = f"the rotor drives {shorten(name)!r}, which is not a joint with one degree of freedom"
        log.add("rotor-incomplete", element.where, problem)
    elif inertia < 0:
        problem = f"the rotor inertia is {inertia:g}"
        log.repairable("coefficient-negative", element.where, problem, "rotor ignored")
    elif inertia > 0 and not isinstance(joint.armature, tuple):
        n = 1.0 if ratio is None else ratio
        joint.armature += n * n * inertia
        problem = f"joint {name!r}: armature {n:g}^2 x {inertia:g} = {n * n * inertia:g} kg m^2"
        log.add("rotor-reflected", element.where, problem)


def _read_extension(robot: Description, extension: Element, log: Log) -> None:
    """`<kinetree gravity=>` with exact rotors, springs and limits per coordinate, as written by `kt.save`."""
    robot.file_order = extension.get("order") == "file"
    x, y, z = vector(extension, "gravity", 3, robot.gravity, log)
    robot.gravity = (x, y, z)
    for element in extension.all("joint"):
        joint = robot.joints.get(element.get("name") or "")
        if joint is None:
            log.add("ignored", element.where, "<kinetree> refers to a joint that does not exist")
            continue
        nq, nv = joint.motion.nq, joint.motion.nv
        joint.stiffness = per_degree(element, "stiffness", nv, 0.0, log)
        if element.get("spring_reference") is not None:
            joint.spring_reference = vector(element, "spring_reference", nq, joint.motion.neutral(), log)
        for field in HINTS:
            if element.get(field) is not None:
                values = parse_numbers(element.get(field) or "")
                read_hint(robot, joint.name, field, () if isinstance(values, str) else values)
        given = {name: infinity for name, infinity in Limits()._asdict().items() if element.get(name)}
        joint.limits = joint.limits._replace(**{
            name: per_degree(element, name, nv, infinity, log, infinite=True)
            for name, infinity in given.items()
        })  # fmt: skip
    for element in extension.all("rotor"):
        read_rotor(robot, element, log)


def read_rotor(robot: Description, element: Element, log: Log) -> None:
    """`<rotor joint= ratio=><origin/><axis/><inertial/></rotor>`: all that an exact rotor needs."""
    name = element.get("joint") or ""
    joint = robot.joints.get(name)
    inertial = element.find("inertial")
    drives = joint is not None and isinstance(joint.motion, CoordinateJoint) and joint.motion.nv > 0
    if joint is None or not drives or inertial is None:
        problem = f"a rotor needs an <inertial> and a joint that a gear can drive, not {name!r}"
        log.add("rotor-incomplete", element.where, problem)
        return
    mass = read_inertial(inertial, element.where, log)
    axis_element = element.find("axis")
    x, y, z = vector(axis_element, "xyz", 3, (0.0, 0.0, 1.0), log) if axis_element else (0.0, 0.0, 1.0)
    if mass is None or norm((x, y, z)) < 1e-12:
        log.add("rotor-incomplete", element.where, "a rotor needs mass and an axis")
        return
    placement = read_origin(element.find("origin"), log)
    ratio = vector(element, "ratio", joint.motion.nv, None, log)
    robot.rotors.append(Rotor(name, element.where, mass, placement, unit((x, y, z)), ratio))
