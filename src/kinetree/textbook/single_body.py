"""The equations of motion of one rigid body, in the three forms of the literature.

Spatial: f = I a + V x* I V about any frame. Classical about the body's origin: f = I v' + B. About the centre
of mass: the Newton and Euler equations apart. The accelerations, and so the bias terms, of the forms differ:
never mix them.
"""

from __future__ import annotations

from kinetree.spatial.inertia import Inertia
from kinetree.spatial.matrix import Factored, Matrix
from kinetree.spatial.motion import Force, Motion
from kinetree.spatial.vector import Vector, add, cross, scale, sub, sym_matrix, sym_vec
from kinetree.textbook.acceleration import point_acceleration, point_velocity


def body_force(I: Inertia, V: Motion, A: Motion) -> Force:
    """I A + V x* I V: the force that gives a body with velocity V the spatial acceleration A."""
    return I @ A + V.cross_star(I @ V)


def bias_force(I: Inertia, V: Motion) -> Force:
    """V x* I V: the force needed for zero spatial acceleration."""
    return V.cross_star(I @ V)


def body_acceleration(I: Inertia, V: Motion, F: Force) -> Motion:
    """I^-1 (F - V x* I V): the spatial acceleration of a free body under the force F."""
    return inertia_solve(I, F - bias_force(I, V))


def inertia_solve(I: Inertia, F: Force) -> Motion:
    """I^-1 F, by way of the centre of mass: a mass and a 3x3 matrix are all that is inverted."""
    c = I.com
    angular = Factored(Matrix(sym_matrix(I.about_com))).solve(sub(F.angular, cross(c, F.linear)))
    omega: Vector = (angular[0], angular[1], angular[2])
    return Motion(omega, add(scale(F.linear, 1 / I.mass), cross(c, omega)), F.frame)


def classical_bias_force(I: Inertia, V: Motion) -> Force:
    """B = [omega x J omega; m omega x (omega x c)]: it goes with the classical acceleration of the origin."""
    w = V.angular
    return Force(cross(w, sym_vec(I.second, w)), cross(w, cross(w, I.first_moment)), V.frame)


def classical_body_force(I: Inertia, V: Motion, classical: Motion) -> Force:
    """I v' + B: the force about the origin, from the classical acceleration [omega'; v'] of the origin."""
    return I @ classical + classical_bias_force(I, V)


def com_velocity(I: Inertia, V: Motion) -> Motion:
    """[omega; velocity of the centre of mass]."""
    return Motion(V.angular, point_velocity(V, I.com), V.frame)


def com_acceleration(I: Inertia, V: Motion, A: Motion) -> Motion:
    """[omega'; acceleration of the centre of mass], from the spatial acceleration A of the body."""
    return Motion(A.angular, point_acceleration(V, A, I.com), A.frame)


def com_force(I: Inertia, V: Motion, A: Motion) -> Force:
    """[J_c omega' + omega x J_c omega; m a_c]: the force about the centre of mass."""
    w, about = V.angular, I.about_com
    acceleration = com_acceleration(I, V, A)
    moment = add(sym_vec(about, acceleration.angular), cross(w, sym_vec(about, w)))
    return Force(moment, scale(acceleration.linear, I.mass), V.frame)
