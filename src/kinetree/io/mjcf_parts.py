"""Reassembles joints that `kt.save` wrote to MJCF in parts, and reads the limits it stored separately."""

from __future__ import annotations

from typing import Any

from kinetree.io.attributes import is_name, parse_numbers
from kinetree.io.description import Description, Joint
from kinetree.io.loops import read_hint
from kinetree.io.mjcf_joint import unbounded
from kinetree.io.notes import parts_of
from kinetree.io.placement import HERE
from kinetree.io.report import Log
from kinetree.io.save_mjcf import BODY, ORDER
from kinetree.io.text import CUSTOM
from kinetree.io.xml import Element
from kinetree.joints import Step
from kinetree.joints.made_of import made_of
from kinetree.model import Limits

_DRIVE = ("armature", "damping", "friction", "stiffness")


def read_parts(robot: Description, root: Element, log: Log) -> None:
    """Reassemble joints and their limits, and restore the order of bodies."""
    order = _read_custom(robot, root, log)
    fuse(robot, log)
    _rename(robot, root)
    reorder(robot, order)


def _read_custom(robot: Description, root: Element, log: Log) -> tuple[float, ...]:
    """Read limits from custom numbers called `kinetree:FIELD:JOINT`; return those of `kinetree:order`."""
    order: tuple[float, ...] | str = ()
    for element in (e for section in root.all("custom") for e in section.all("numeric")):
        name = element.get("name") or ""
        if not name.startswith(CUSTOM):
            continue
        if name == CUSTOM + ORDER:
            order = parse_numbers(element.get("data") or "")
            continue
        field, _, label = name.removeprefix(CUSTOM).partition(":")
        joint, values = robot.joints.get(label), parse_numbers(element.get("data") or "")
        if not isinstance(values, str) and read_hint(robot, label, field, values):
            continue
        if joint is None or field not in Limits._fields or len(values) not in (1, joint.motion.nv):
            log.add("ignored", element.where, "not a limit of a joint")
        elif isinstance(values, str):
            log.add("number", element.where, f"data contains {values!r}, not a finite number")
        else:
            bounds = tuple(unbounded(x) for x in values)
            joint.limits = joint.limits._replace(**{field: bounds if len(bounds) > 1 else bounds[0]})
    return () if isinstance(order, str) else order


def _rename(robot: Description, root: Element) -> None:
    """Rename links between the joints of one body as in custom texts called `kinetree:body:JOINT`."""
    names: dict[str, str] = {}
    for element in (e for section in root.all("custom") for e in section.all("text")):
        prefix, _, label = (element.get("name") or "").rpartition(f"{CUSTOM}{BODY}:")
        joint, name = robot.joints.get(label), element.get("data") or ""
        if not prefix and joint is not None and is_name(name) and name not in robot.links:
            if robot.links[joint.child].virtual:
                names[joint.child] = name
    robot.links = {names.get(name, name): link for name, link in robot.links.items()}
    for name, link in robot.links.items():
        link.name = name
    for joint in robot.joints.values():
        joint.parent, joint.child = (names.get(end, end) for end in (joint.parent, joint.child))
    for closure in robot.closures:
        closure.ends = tuple(names.get(end, end) for end in closure.ends)  # type: ignore[assignment]


def reorder(robot: Description, order: tuple[float, ...]) -> None:
    """Put the bodies in the given order, if it lists all of them."""
    if sorted(order) == list(range(1, len(robot.joints) + 1)):
        placed = zip(order, robot.joints.values(), strict=True)
        robot.joints = {joint.name: joint for _, joint in sorted(placed, key=lambda pair: pair[0])}
        robot.file_order = True


def fuse(robot: Description, log: Log) -> None:
    """Fuse the joints j/1, j/2, ... of one body into a joint j, if some joint type moves as they do."""
    for first in [joint for joint in robot.joints.values() if joint.name.endswith("/1")]:
        name = first.name.removesuffix("/1")
        parts = _parts(robot, first, name)
        steps = [_step(part, parts, k) for k, part in enumerate(parts)]
        motion = made_of([step for step in steps if step is not None]) if len(parts) > 1 else None
        if motion is None or None in steps or name in robot.joints:
            continue
        joint = Joint(name, first.where, motion, first.parent, parts[-1].child, first.placement)
        joint.mimic, joint.source = first.mimic, first.source
        _arrange(joint, parts)
        for key in robot.configurations:
            key.positions[name] = _row(joint, parts, key.positions)
        for part in parts[:-1]:
            del robot.links[part.child]
        joints = [joint if j is first else j for j in robot.joints.values() if j is first or j not in parts]
        robot.joints = {j.name: j for j in joints}
        for other in joints:
            if other.mimic is not None and other.mimic.joint == first.name:
                other.mimic = other.mimic._replace(joint=name)
        for closure in robot.closures:
            closure.ends = tuple(name if end == first.name else end for end in closure.ends)  # type: ignore[assignment]
        where = robot.links[joint.child].where
        log.findings = [f for f in log.findings if (f.rule, f.where) != ("split", where)]


def _parts(robot: Description, first: Joint, name: str) -> list[Joint]:
    """The consecutive joints of one body, each directly after the one before."""
    parts = [first]
    for label in parts_of(name, 10)[1:]:
        part, before = robot.joints.get(label), parts[-1]
        if part is None or part.parent != before.child or not robot.links[before.child].virtual:
            break
        if part.placement != HERE or part.reference or first.reference:
            break
        parts.append(part)
    return parts


def _step(part: Joint, parts: list[Joint], k: int) -> Step | None:
    """The elementary motion of a part, with the coordinate of the first part if it follows that."""
    if part.motion.steps is None or len(part.motion.steps) != 1:
        return None
    step = part.motion.steps[0]._replace(positions=(k,))
    if part.mimic is None or k == 0:
        return step
    leader, ratio, offset = part.mimic
    return step._replace(positions=(0,), ratio=ratio) if leader == parts[0].name and not offset else None


def _row(joint: Joint, parts: list[Joint], positions: dict[str, tuple[float, ...]]) -> tuple[float, ...]:
    """The positions of a joint in a keyframe, from those of its parts."""
    row = list(joint.motion.neutral())
    for part, step in zip(parts, joint.motion.steps or (), strict=True):
        given = positions.get(part.name, ())
        if len(given) == len(step.positions) and (part.mimic is None or part is parts[0]):
            for k, value in zip(step.positions, given):
                row[k] = value
    return tuple(row)


def _arrange(joint: Joint, parts: list[Joint]) -> None:
    """Combine the drives and limits of the parts, in the order of the joint's coordinates."""
    nv, neutral = joint.motion.nv, list(joint.motion.neutral())
    drive: dict[str, list[Any]] = {name: [0.0] * nv for name in _DRIVE}
    limits = {name: [none] * nv for name, none in Limits()._asdict().items()}
    for part, step in zip(parts, joint.motion.steps or (), strict=True):
        if part.mimic is not None and part is not parts[0]:
            continue  # tied to the first
        for table, source in ((drive, part), (limits, part.limits)):
            for name, row in table.items():
                given = getattr(source, name)
                for j, k in enumerate(step.velocities):
                    row[k] = given[j] if isinstance(given, tuple) else given
        if isinstance(part.spring_reference, float):
            neutral[step.positions[0]] = part.spring_reference
    for name, values in drive.items():
        setattr(joint, name, tuple(values))
    joint.limits = Limits(**{name: tuple(values) for name, values in limits.items()})
    joint.spring_reference = tuple(neutral)
