"""Rods with ball joints at both ends: their spin about their own line moves nothing else."""

from __future__ import annotations

import math
from typing import Any

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.joints import Spherical, Universal
from kinetree.joints.axis import perpendiculars
from kinetree.model import validate
from kinetree.model.parts import Body
from kinetree.spatial.vector import Vector, scale

SPINS = ("keep", "lock")


def without_spin(body: Body, end: Vector, owner: str) -> Body:
    """A rod on a universal joint instead of a ball joint: it cannot turn about the line to its other end."""
    length = math.hypot(*end) if all(map(ops.is_literal, end)) else 0.0
    if not length > 0.0:
        raise ModelError(f"{owner}: spin='lock' needs two ends of rod '{body.name}' apart, at known places")
    joint = Universal(*perpendiculars(scale(end, 1 / length)))
    what = f"{owner}: spin='lock': joint '{body.joint_name}'"
    fields: dict[str, Any] = {"spring_reference": None, "limits": None}
    for name in ("armature", "damping", "friction", "stiffness"):
        first, *others = getattr(body, name)
        if any(x != first for x in others) or (name == "stiffness" and first != 0):
            raise ModelError(
                f"{what} has {name} {getattr(body, name)}, which a universal joint in its place cannot have: "
                "put that joint there yourself"
            )
        fields[name] = first
    if any(math.isfinite(x) for values in body.limits for x in values):
        raise ModelError(f"{what} has limits: put a universal joint with its own there yourself")
    checked = {name: validate.JOINT_FIELDS[name](x, joint, f"{what}: {name}") for name, x in fields.items()}
    return body._replace(joint=joint, **checked)


def rod_of(
    bodies: list[Body], ends: tuple[tuple[int, Vector], ...], joint: Any, owner: str
) -> tuple[int, Vector]:
    """Which of two bodies is a rod with ball joints at both ends, and where its second one is."""
    if isinstance(joint, Spherical):
        for body, point in ends:
            if body and isinstance(bodies[body - 1].joint, Spherical):
                return body, point
    raise ModelError(
        f"{owner}: spin='lock' is for a rod with balls at both ends: close it by Spherical(), with one of "
        "the two bodies on a Spherical joint of its own"
    )


def refuse_unknown_spin(spin: Any, owner: str) -> None:
    if spin not in SPINS:
        raise ModelError(f"{owner}: spin must be 'keep' or 'lock', got {validate.shown(spin)}")
