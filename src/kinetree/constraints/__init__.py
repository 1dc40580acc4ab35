"""Explicit constraints: their kinds, and the dynamics of a mechanism that satisfies them."""

from kinetree.constraints.dynamics import (
    constrained_dynamics,
    constrained_inverse_dynamics,
    constraint_jacobian,
    constraint_residual,
    delassus,
    impact,
    project,
)
from kinetree.constraints.kinds import (
    Constraint,
    DistanceConstraint,
    FrameConstraint,
    JointConstraint,
    LoopConstraint,
    PointConstraint,
)

__all__ = [
    "Constraint", "DistanceConstraint", "FrameConstraint", "JointConstraint", "LoopConstraint",
    "PointConstraint", "constrained_dynamics", "constrained_inverse_dynamics", "constraint_jacobian",
    "constraint_residual", "delassus", "impact", "project",
]  # fmt: skip
