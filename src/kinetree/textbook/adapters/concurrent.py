"""The joint-centred Newton-Euler notation of Concurrent Dynamics: inertial axes, classical accelerations.

Everything is in inertial axes, so transforms are translations, D = [1 0; -d~ 1]. Velocities are [omega;
velocity of the joint], and accelerations are classical. Its A and B go with classical accelerations, not with
the spatial ones of this library.

| there | here |
|---|---|
| D_i, D_i^T | X_i, X_i^T, rotated into inertial axes |
| G_i | S_i |
| v_i, v-bar_i | velocity at the joint, at the centre of mass |
| M_i, M-bar_i | I about the joint, about the centre of mass |
| A_i, B_i | classical counterparts of xi_i, V x* I V |
| F_i, f_i = G_i^T F_i | wrench through the joint, generalised force |
"""

from __future__ import annotations

from typing import Any

from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Force, Motion
from kinetree.spatial.pose import Pose
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import IDENTITY, ZERO, Vector, add, cross, scale, sym_matrix, sym_vec
from kinetree.textbook.dense import Rows, inner
from kinetree.textbook.lines import free_vector, line_vector
from kinetree.textbook.rigid_body import classical_bias_force


def shift(d: Vector) -> Transform:
    """[1 0; -d~ 1]: D for the joint of a child at d, S for the centre of mass, Y for the point of a force."""
    return Transform(IDENTITY, d)


def in_inertial_axes(I: Inertia, pose: Pose) -> Inertia:
    """The inertia of a body about its own origin, turned into inertial axes: M_i, with s_i = its `com`."""
    return I.congruence(Pose(pose.R).transform())


def joint_centred_inertia(mass: Any, s: Vector, inertia: Any) -> Rows:
    """M_i = [J - m s~ s~, m s~; -m s~, m], about the joint."""
    return Inertia(mass, s, inertia).matrix()


def com_centred_inertia(I: Inertia) -> Rows:
    """M-bar_i = diag(J_c, m)."""
    return Inertia(I.mass, ZERO, sym_matrix(I.about_com)).matrix()


def nonlinear_force(I: Inertia, omega: Vector) -> Force:
    """B_i = [omega x J omega; m omega x (omega x s)] about the joint."""
    return classical_bias_force(I, Motion(omega))


def com_nonlinear_force(I: Inertia, omega: Vector) -> Force:
    """B-bar_i = [omega x J_c omega; 0]: with it, F = S^T M-bar v-bar' + B-bar."""
    return Force(cross(omega, sym_vec(I.about_com, omega)), ZERO)


def com_offset_acceleration(I: Inertia, omega: Vector) -> Motion:
    """A-bar_i = [0; omega x (omega x s)]: v-bar' = S v' + A-bar."""
    return Motion(ZERO, cross(omega, cross(omega, I.com)))


def revolute(axis: Vector) -> Motion:
    """G_i of a revolute joint."""
    return line_vector(ZERO, axis)


def prismatic(axis: Vector) -> Motion:
    """G_i of a prismatic joint."""
    return free_vector(axis)


def revolute_acceleration(omega_p: Vector, d: Vector, axis: Vector, rate: Any) -> Motion:
    """[omega_p x g q'; omega_p x (omega_p x d)]: A_i of a revolute joint, v_i' = D_i v_p' + G_i q'' + A_i."""
    return Motion(cross(omega_p, scale(axis, rate)), cross(omega_p, cross(omega_p, d)))


def prismatic_acceleration(omega_p: Vector, d: Vector, axis: Vector, rate: Any) -> Motion:
    """A_i of a prismatic joint, [0; omega_p x (omega_p x d) + 2 omega_p x g q']; d includes the travel."""
    coriolis = scale(cross(omega_p, axis), 2 * rate)
    return Motion(ZERO, add(cross(omega_p, cross(omega_p, d)), coriolis))


def constraint_forces(complement: tuple[Motion, ...], F: Force) -> tuple:
    """f_i^c = G^_i^T F_i: the components of the joint's wrench along the directions that it constrains."""
    return tuple(inner(column.components, F.components) for column in complement)
