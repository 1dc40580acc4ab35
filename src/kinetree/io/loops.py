"""Closes the loops of a robot and reports on each: closed, with its degrees of freedom, or why not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kinetree.errors import ModelError
from kinetree.io.description import WORLD, Closure, Description, Joint, Link, Names
from kinetree.io.placement import HERE, norm
from kinetree.io.report import Log
from kinetree.io.text import numbers
from kinetree.joints import Fixed, Prismatic, Revolute, Spherical, Universal
from kinetree.joints.axis import perpendiculars
from kinetree.model import Model, ModelBuilder
from kinetree.model.closures import Closure as Closing
from kinetree.model.closures import JointClosure, has_rows
from kinetree.model.loops import closed_model, total_velocities
from kinetree.model.parts import Loop
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.vector import cross, dot, mat_vec, scale, sub, sym_vec

CHOICES = ("close", "ignore")
HINTS = ("independent", "reference")
_AT_ZERO = 1e-9  # m or rad
_SLENDER = 1e-12  # of the other moments: a rod without inertia about its axis
_MOST = (
    128  # closures of one file, and velocities in all its loops: analysing more takes too long
)


def leave_open(robot: Description, log: Log) -> None:
    """Leave out all loop closures, and report them."""
    for closure in robot.closures:
        log.add(closure.rule, closure.where, closure.problem, closure.remedy)
    robot.closures = []


def choose_closures(robot: Description, log: Log) -> None:
    """Leave out closures that do not connect two links, or two joints, of one robot."""
    if len(robot.closures) > _MOST:
        log.add("xml-limit", robot.closures[_MOST].where, f"more than {_MOST} elements close loops")
        robot.closures = []
    carriers = robot.parent_joints()
    kept = []
    for closure in robot.closures:
        reason = _why_not(robot, carriers, closure)
        if reason:
            log.add("loop-open", closure.where, f"{closure.name!r} is not closed: {reason}")
        else:
            kept.append(closure)
    robot.closures = kept
    _carry(robot)
    _stop_spins(robot, carriers, log)


def _carry(robot: Description) -> None:
    """Turn a closing joint without constraint rows (a screw) into a tree joint whose new link is welded."""
    links, joints = Names((WORLD, *robot.links)), Names(robot.joints)
    for closure in robot.closures:
        if closure.motion is None or has_rows(closure.motion):
            continue
        link = Link(links.claim(f"{closure.ends[1]}@{closure.name}"), closure.where, virtual=True)
        name = joints.claim(closure.name)
        robot.links[link.name] = link
        robot.joints[name] = Joint(
            name, closure.where, closure.motion, closure.ends[0], link.name, closure.placement
        )
        closure.ends, closure.motion, closure.placement = (link.name, closure.ends[1]), Fixed(), HERE


def _stop_spins(robot: Description, carriers: dict[str, Joint], log: Log) -> None:
    """Replace the ball joint of a rod without inertia about its own axis by a universal joint.

    With ball joints at both ends, such a rod spins freely without inertia and without effect.
    """
    carrying = {joint.parent for joint in robot.joints.values()}
    for closure in robot.closures:
        for link, place in zip(closure.ends, (closure.placement, closure.other), strict=True):
            joint = carriers.get(link)
            balls = isinstance(closure.motion, Spherical) and joint and isinstance(joint.motion, Spherical)
            length = norm(place.p)
            if (
                not balls
                or joint is None
                or link in carrying
                or joint.armature
                or joint.stiffness
                or not length
            ):
                continue
            line = scale(place.p, 1 / length)
            moments = (robot.links[link].inertia or Inertia.zero()).second
            if abs(dot(line, sym_vec(moments, line))) <= _SLENDER * max(map(abs, moments)):
                joint.motion = Universal(*perpendiculars(line))
                problem = (
                    f"rod {link!r} has no inertia about its axis: a universal joint keeps it from spinning"
                )
                log.add("loop", closure.where, problem)
                break


def _why_not(robot: Description, carriers: dict[str, Joint], closure: Closure) -> str:
    a, b = closure.ends
    if closure.motion is None:
        lost = [name for name in (a, b) if name not in robot.joints or robot.joints[name].motion.nv != 1]
        return f"joint {lost[0]!r} does not move" if lost else ""
    if a == b:
        return f"both ends are fixed to {a!r}"
    bases = [_base(carriers, end) for end in (a, b)]
    if bases[0] != bases[1]:
        return f"{a!r} and {b!r} are not parts of one robot, but of {bases[0]!r} and {bases[1]!r}"
    return ""


def _base(carriers: dict[str, Joint], link: str) -> str:
    """The floating base that carries a link, or the world."""
    while link in carriers:
        if carriers[link].motion.is_free:
            return link
        link = carriers[link].parent
    return WORLD


def add_closures(robot: Description, builder: ModelBuilder) -> None:
    """Add the loop closures of a robot to a builder."""
    for closure in robot.closures:
        if closure.motion is None:
            builder.add_relation(*closure.ends, closure.coefficients, name=closure.name)
        else:
            poses = closure.placement, closure.other
            builder.add_loop(*closure.ends, closure.motion, *poses, name=closure.name)


def close_loops(robot: Description, model: Model, closings: Sequence[Closing], log: Log) -> None:
    """Analyse the loops of a robot and store the result in `robot.loops`.

    Args:
        model: its open tree.
        closings: the loop closures, in terms of the model.
    """
    if not closings:
        return
    known = {closure.name: closure for closure in robot.closures}
    if total_velocities(model, closings) > _MOST:
        problem = f"its loops couple more than {_MOST} velocities: all of them were left open"
        log.add("loop-open", robot.closures[0].where, problem)
        return

    def refused(closings: Sequence[Closing], error: ModelError) -> None:
        reason = str(error).removeprefix(f"model '{model.name}': ")
        log.add("loop-open", known[closings[0].name].where, f"{reason}")

    preferred = robot.independent or _velocities(robot, robot.driven)
    start: dict[str, Any] = {j.name: j.reference for j in robot.joints.values() if j.reference}
    own = {name: row.shape for name, row in model.split_positions(model.neutral()).items()}
    start |= {name: row for name, row in robot.start.items() if own.get(name) == (len(row),)}
    robot.loops = closed_model(model, closings, (), start, preferred, refused).loops
    for loop in robot.loops:
        _report(loop, known[loop.closures[0].name], robot.independent, log)


def hints(model: Model) -> Iterator[tuple[str, dict[str, str]]]:
    """Extra data that files store with joints of loops: independent velocities, and a closed position."""
    for loop in model.loops:
        for joint, row in loop.reference:
            chosen = [k for name, k in loop.independent if name == joint]
            said = {"independent": numbers(chosen)} if chosen else {}
            yield joint, said | {"reference": numbers(row)}


def is_closed_at_zero(model: Model, closure: JointClosure) -> bool:
    """Whether a fixed, revolute, prismatic or spherical closure is closed with every joint at zero."""
    poses = [HERE]
    for body in model.bodies:
        poses.append(poses[body.parent] @ body.placement)
    a, b = poses[closure.body] @ closure.placement, poses[closure.other] @ closure.other_placement
    seen, axis = a.inverse() @ b, closure.joint.axis or (0.0, 0.0, 0.0)
    slides, turns = isinstance(closure.joint, Prismatic), isinstance(closure.joint, (Revolute, Spherical))
    off = [norm(cross(axis, seen.p)) if slides else norm(seen.p), norm(sub(mat_vec(seen.R, axis), axis))]
    if not turns:
        off += [norm(sub(row, e)) for row, e in zip(seen.R, HERE.R, strict=True)]
    return max(off) < _AT_ZERO


def read_hint(robot: Description, joint: str, field: str, values: Sequence[float]) -> bool:
    """Read an entry written by `hints`; False if it is something else."""
    if field == "reference":
        robot.start[joint] = tuple(values)
    elif field == "independent":
        robot.independent += [(joint, int(k)) for k in values]
    return field in HINTS


def _velocities(robot: Description, names: Sequence[str]) -> list[tuple[str, int]]:
    joints = (robot.joints[name] for name in names if name in robot.joints)
    return [(joint.name, k) for joint in joints for k in range(joint.motion.nv)]


def _report(loop: Loop, closure: Closure, independent: Sequence[tuple[str, int]], log: Log) -> None:
    more = f" and {len(loop.closures) - 1} more" if len(loop.closures) > 1 else ""
    name = f"{loop.closures[0].name!r}{more}"
    joints = ", ".join(dict.fromkeys(repr(joint) for joint, _ in loop.independent))
    total = len(loop.independent) + len(loop.dependent)
    freedom = f"{len(loop.independent)} of {total} velocities are independent"
    log.add("loop", closure.where, f"{name} is closed: {freedom}, those of {joints}")
    if refused := [joint for joint, k in loop.dependent if (joint, k) in independent]:
        problem = f"{name}: {', '.join(map(repr, refused))} cannot be independent in addition to {joints}"
        log.add("loop-independent", closure.where, problem)
    if loop.redundant:
        slack = f"{loop.slack * loop.size:.2g} m" if loop.slack > 1e-12 else "rounding"
        rows = "1 row is redundant" if loop.redundant == 1 else f"{loop.redundant} rows are redundant"
        problem = f"{name}: {rows}; in motion they open by at most {slack}"
        log.add("loop-redundant", closure.where, problem)
