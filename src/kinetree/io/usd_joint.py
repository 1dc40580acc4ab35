"""The joints of USD: revolute, prismatic, spherical, fixed, and six-axis joints with individual locks."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, radians
from typing import Any, NamedTuple

from kinetree.io.description import Joint
from kinetree.io.report import Log
from kinetree.io.usd_stage import Stage
from kinetree.joints import Fixed, Free, Prismatic, Revolute, Spherical, Step
from kinetree.joints import Joint as Motion
from kinetree.joints.made_of import made_of
from kinetree.joints.steps import BALL, hinge, slide
from kinetree.model import Limits
from kinetree.spatial.vector import Vector

AXES: dict[str, Vector] = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
JOINTS = (
    "PhysicsRevoluteJoint", "PhysicsPrismaticJoint", "PhysicsSphericalJoint", "PhysicsFixedJoint",
    "PhysicsDistanceJoint", "PhysicsJoint",
)  # fmt: skip
_TURNS = ("rotX", "rotY", "rotZ")
_SLIDES = ("transX", "transY", "transZ")


class Part(NamedTuple):
    """One kinetree joint: its motion, and the names of its drives and limits in the file, by coordinate."""

    motion: Motion
    freedoms: tuple[str, ...] = ()


def parts_of_joint(prim: Any, stage: Stage, log: Log) -> list[Part]:
    """The consecutive joints that a prim describes; none if it is not modelled."""
    kind = prim.GetTypeName()
    axis = AXES.get(stage.get(prim, "physics:axis") or "X", AXES["X"])
    match kind:
        case "PhysicsFixedJoint":
            return [Part(Fixed())]
        case "PhysicsRevoluteJoint":
            return [Part(Revolute(axis), ("angular",))]
        case "PhysicsPrismaticJoint":
            return [Part(Prismatic(axis), ("linear",))]
        case "PhysicsSphericalJoint":
            cone = [stage.number(prim, f"physics:coneAngle{k}Limit", -1.0, infinite=True) for k in (0, 1)]
            if any(0 <= angle < inf for angle in cone):
                problem = "the cone bounds two angles together, which limits per coordinate cannot express"
                log.add("ignored", stage.where(prim), problem)
            return [Part(Spherical(), ())]
        case "PhysicsJoint":
            return _free_axes(prim, stage, log)
    log.add(
        "unsupported", stage.where(prim), f"a {kind} is not modelled: the bodies move as if it were absent"
    )
    return []


def _free_axes(prim: Any, stage: Stage, log: Log) -> list[Part]:
    """A joint of six axes, each free, limited, or locked (lower limit above the upper one)."""
    if stage.get(prim, "limit:distance:physics:high") is not None:
        log.add("unsupported", stage.where(prim), "a limit on the distance between bodies is not modelled")
    slides = [name for name in _SLIDES if not _locked(prim, name, stage)]
    turns = [name for name in _TURNS if not _locked(prim, name, stage)]
    if len(slides) == len(turns) == 3:
        return [Part(Free(), ())]
    parts = [Part(Prismatic(AXES[name[-1]]), (name,)) for name in slides]
    if len(turns) == 3:
        parts.append(Part(Spherical(), ()))
    else:
        parts += [Part(Revolute(AXES[name[-1]]), (name,)) for name in turns]
    if len(turns) == 2:
        problem = (
            f"the joint turns about {turns[0][-1].lower()}, then about {turns[1][-1].lower()} of the child"
        )
        log.add("ignored", stage.where(prim), problem)
    return _fused(parts) or [Part(Fixed())]


def _locked(prim: Any, name: str, stage: Stage) -> bool:
    low, high = (stage.number(prim, f"limit:{name}:physics:{side}", sign * inf, infinite=True)
                 for side, sign in (("low", -1.0), ("high", 1.0)))  # fmt: skip
    return low > high


def _fused(parts: list[Part]) -> list[Part]:
    """A single joint equivalent to several, if there is one."""
    steps: list[Step] = []
    for k, part in enumerate(parts):
        axis = part.motion.axis
        if axis is None:
            steps.append(BALL._replace(positions=tuple(range(k, k + 4)), velocities=tuple(range(k, k + 3))))
        else:
            steps.append(hinge(axis, k) if isinstance(part.motion, Revolute) else slide(axis, k))
    motion = made_of(steps) if len(parts) > 1 else None
    if motion is None or motion.steps is None or motion.nv != len(parts):
        return parts
    names = [""] * motion.nv
    for part, step in zip(parts, motion.steps, strict=True):
        names[step.velocities[0]] = part.freedoms[0]
    return [Part(motion, tuple(names))]


def read_drive(joint: Joint, prim: Any, freedoms: Sequence[str], stage: Stage, log: Log) -> None:
    """Limits, and the springs and dampers of the drives, per coordinate."""
    rows = [_axis(prim, name, stage, log) for name in freedoms]
    if not rows:
        return
    columns = [column[0] if len(rows) == 1 else tuple(column) for column in zip(*rows, strict=True)]
    lower, upper, velocity, effort, stiffness, damping, rest, armature = columns
    joint.limits = Limits(lower, upper, velocity, effort)
    joint.stiffness, joint.damping, joint.armature = stiffness, damping, armature
    joint.spring_reference = rest if any(row[4] for row in rows) else None


def _axis(prim: Any, name: str, stage: Stage, log: Log) -> tuple[float, ...]:
    """Limits, drive and armature of one coordinate, in SI units."""
    where = stage.where(prim)
    turns = name == "angular" or name.startswith("rot")
    unit = radians(1.0) if turns else stage.metres  # of positions: degrees or lengths
    power = stage.kilograms * (stage.metres**2 if turns else 1.0)  # of mass, or mass times length^2
    own = name in ("angular", "linear")
    low, high = ("physics:lowerLimit", "physics:upperLimit") if own else (
        f"limit:{name}:physics:low", f"limit:{name}:physics:high")  # fmt: skip
    lower, upper = (stage.number(prim, side, sign * inf, infinite=True) * unit
                    for side, sign in ((low, -1.0), (high, 1.0)))  # fmt: skip
    lower, upper = log.bounds(lower, upper, where)
    stiffness, damping, rest, effort = _drive(prim, f"drive:{name}:physics:", turns, stage, log)
    speed = stage.number(prim, "physxJoint:maxJointVelocity", inf, infinite=True) * unit
    armature = stage.number(prim, "physxJoint:armature") * power
    if armature < 0:
        log.repairable("coefficient-negative", where, f"armature is {armature:g}", "armature set to 0")
        armature = 0.0
    return lower, upper, speed if speed >= 0 else inf, effort, stiffness, damping, rest, armature


def _drive(prim: Any, name: str, turns: bool, stage: Stage, log: Log) -> tuple[float, ...]:
    """Stiffness, damping, rest position and largest force of a position drive.

    f = stiffness (target - q) + damping (0 - v), with angles in degrees in the file.
    """
    where, unit = stage.where(prim), radians(1.0) if turns else stage.metres
    inertia = (
        stage.kilograms * stage.metres**2
    )  # force times length, per angle; force per length times unit^2
    stiffness = stage.number(prim, f"{name}stiffness")
    damping = stage.number(prim, f"{name}damping")
    rest = stage.number(prim, f"{name}targetPosition") * unit
    effort = stage.number(prim, f"{name}maxForce", inf, infinite=True)
    effort *= inertia if turns else stage.kilograms * stage.metres
    effort = effort if isfinite(effort) and effort >= 0 else inf
    if not stiffness and not damping:
        return 0.0, 0.0, 0.0, effort
    if stage.get(prim, f"{name}type") == "acceleration":
        log.add("unsupported", where, "a drive of type 'acceleration' is not modelled", "Use type 'force'.")
        return 0.0, 0.0, 0.0, effort
    if damping and stage.number(prim, f"{name}targetVelocity"):
        log.add("unsupported", where, "the target velocity of a drive is not modelled: it brakes to rest")
    scale = inertia / unit if turns else stage.kilograms
    for what, value in (("stiffness", stiffness), ("damping", damping)):
        if value < 0:
            log.repairable("coefficient-negative", where, f"{what} is {value:g}", f"{what} set to 0")
    return max(stiffness, 0.0) * scale, max(damping, 0.0) * scale, rest, effort
