"""MJCF's `<equality>`: a joint that follows another linearly is a mimic joint; all else is reported."""

from __future__ import annotations

from kinetree.io.attributes import parse_numbers, shorten
from kinetree.io.description import Description, Joint
from kinetree.io.mjcf_spec import MAIN, Defaults
from kinetree.io.report import Log
from kinetree.io.xml import Element
from kinetree.model.parts import Mimic

_FOLLOW = (0.0, 1.0, 0.0, 0.0, 0.0)


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
