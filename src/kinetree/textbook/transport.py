"""Velocities, forces and inertias carried from frame to frame and added up."""

from __future__ import annotations

from collections.abc import Iterable

from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Force, Motion
from kinetree.spatial.pose import Pose
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import Vector, add, cross, sub


def accumulate_linear_velocity(v_ab: Vector, omega_ab: Vector, l_bc: Vector, v_bc: Vector) -> Vector:
    """v(A, C) = v(A, B) + omega(A, B) x l(B, C) + v(B, C), all in the same axes."""
    return add(add(v_ab, cross(omega_ab, l_bc)), v_bc)


def reverse_linear_velocity(v_xy: Vector, omega_xy: Vector, l_xy: Vector) -> Vector:
    """v(y, x) = -v(x, y) + omega(x, y) x l(x, y), all in the same axes."""
    return sub(cross(omega_xy, l_xy), v_xy)


def accumulate_velocity(X_cb: Transform, V_ab: Motion, V_bc: Motion) -> Motion:
    """V(A, C) = X V(A, B) + V(B, C), in C-coordinates. On one rigid body V(B, C) = 0: X alone transports."""
    return X_cb @ V_ab + V_bc


def relative_velocity(X_cb: Transform, V_ab: Motion, V_ac: Motion) -> Motion:
    """V(B, C) = V(A, C) - X V(A, B): the velocity of C seen from B, in C-coordinates."""
    return V_ac - X_cb @ V_ab


def reverse_velocity(X_yx: Transform, V_xy: Motion) -> Motion:
    """V(y, x) = -X^-1 V(x, y): the velocity of x seen from y, in x-coordinates (V(x, y) in y)."""
    return -(X_yx.inverse() @ V_xy)


def sum_forces_at(forces: Iterable[tuple[Pose, Force]]) -> Force:
    """The total wrench at a frame B, from wrenches at frames given by their poses in B."""
    total = Force()
    for pose, force in forces:
        total = total + pose.transform().T @ force
    return total


def sum_inertias_at(inertias: Iterable[tuple[Pose, Inertia]]) -> Inertia:
    """The total inertia in a frame B, of bodies given by the poses of their frames in B."""
    total = Inertia.zero()
    for pose, inertia in inertias:
        total = total + inertia.congruence(pose.transform())
    return total


def transform_rate(X: Transform, V: Motion) -> tuple[tuple, ...]:
    """d/dt X = -V x X, for the velocity V of the successor relative to the predecessor."""
    columns = zip(*X.matrix(), strict=True)
    return tuple(zip(*((-V.cross(Motion.from_components(c))).components for c in columns), strict=True))


def inertia_rate(I: Inertia, V: Motion) -> tuple[tuple, ...]:
    """d/dt I = V x* I - I V x: how the 6x6 inertia of a body that moves with V changes in a frame at rest."""
    units = [Motion.from_components(1 if i == j else 0 for i in range(6)) for j in range(6)]
    columns = [(V.cross_star(I @ e) - I @ V.cross(e)).components for e in units]
    return tuple(zip(*columns, strict=True))
