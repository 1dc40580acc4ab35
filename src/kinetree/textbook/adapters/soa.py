"""The spatial operator algebra of Jain and Rodriguez: tip-to-base numbering, phi and phi*, gravity offset.

| there | here |
|---|---|
| phi(x, y), forces from y to x | `pose.transform().T` for the pose of y in x |
| phi*(x, y), motions from x to y | `pose.transform()` |
| z~ (motion), z-bar (force) cross products | `crm`, `crf` |
| body 1 is the tip, n the base | body n + 1 - i |
| H*(k), H(k) | S, S^T |
| alpha(k), a(k), b(k) | spatial acceleration, xi, V x* I V |
| M(k) | I |
| g in M(k) (alpha(k) + g) | minus the acceleration of free fall |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinetree.errors import ModelError
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Force, Motion
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import ZERO, Vector, cross, neg
from kinetree.textbook.dense import Rows, transposed


def phi(pose_xy: Pose) -> Rows:
    """phi(x, y) = [1 l~; 0 1] diag(R, R), for the pose of y in x: takes forces at y to x."""
    return transposed(pose_xy.transform().matrix())


def phi_star(pose_xy: Pose) -> Rows:
    """phi*(x, y) = phi(x, y)^T: takes motions at x to y."""
    return pose_xy.transform().matrix()


def body_number(i: int, n: int) -> int:
    """The number of body i of a chain of n, counted from the other end: parent-first to tip-first or back."""
    if not 1 <= i <= n:
        raise ModelError(f"body {i} of a chain of {n}: expected a number from 1 to {n}")
    return n + 1 - i


def reordered(values: Sequence[Any]) -> tuple:
    """The values of the bodies of a chain, from parent-first to tip-first order, or back."""
    return tuple(reversed(values))


def coriolis_acceleration(V: Motion, delta: Motion, hinge_map_constant_in: str = "outboard") -> Motion:
    """a(k), for the velocity V(k) of the outboard body and the hinge velocity Delta, both in outboard axes.

    V x Delta if the hinge map is constant in the outboard (body) frame, as everywhere in this library, and
    V x Delta - [0; Delta_omega x Delta_v] if it is constant in the inboard frame. Both agree for rotations,
    translations and screws.
    """
    if hinge_map_constant_in not in ("outboard", "inboard"):
        raise ModelError(f"hinge map constant in {hinge_map_constant_in!r}: expected 'outboard' or 'inboard'")
    a = V.cross(delta)
    return a if hinge_map_constant_in == "outboard" else a - Motion(ZERO, cross(delta.angular, delta.linear))


def gyroscopic_force(M: Inertia, V: Motion) -> Force:
    """b(k) = V-bar M V, valid only with alpha(k) = d_k V(k) / dt."""
    return V.cross_star(M @ V)


def gravity_offset(free_fall: Vector) -> Motion:
    """The g of M(k) (alpha(k) + g), minus the acceleration of free fall: for every root body, in its axes."""
    return Motion(ZERO, neg(free_fall))
