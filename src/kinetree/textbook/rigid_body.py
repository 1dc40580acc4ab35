"""A single rigid body: accelerations, equations of motion, and quantities moved from frame to frame.

The *spatial* acceleration [omega'; a] is the derivative of the components of V in body coordinates. The
linear part of the *classical* one is the acceleration of the point at the origin, v' = a + omega x v. They
differ even in uniform motion: a body on a circle about the origin has zero spatial, but centripetal classical
acceleration.

The equations of motion have three forms. Spatial: f = I a + V x* I V about any frame. Classical about the
body's origin: f = I v' + B. About the centre of mass: Newton's and Euler's equations, decoupled. The forms
differ in their accelerations, and so in their bias terms: never mix them.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from kinetree.errors import ModelError
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.matrix import Factored, Matrix
from kinetree.spatial.motion import Force, Motion
from kinetree.spatial.pose import Pose
from kinetree.spatial.reading import read_matrix, read_vector
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import (
    NO_MOMENTS,
    ZERO,
    Number,
    Vector,
    add,
    cross,
    scale,
    sub,
    sym_matrix,
    sym_vec,
)
from kinetree.textbook.dense import Rows


def classical_acceleration(V: Motion, A: Motion) -> Motion:
    """[omega'; a + omega x v], from the velocity and the spatial acceleration of a body."""
    return A.classical(V)


def spatial_acceleration(V: Motion, classical: Motion) -> Motion:
    """[omega'; v' - omega x v]: the inverse of `classical_acceleration`."""
    return Motion(classical.angular, sub(classical.linear, cross(V.angular, V.linear)), classical.frame)


def point_velocity(V: Motion, r: Vector) -> Vector:
    """v + omega x r: the velocity of the point of the body at `r`."""
    return add(V.linear, cross(V.angular, r))


def point_acceleration(V: Motion, A: Motion, r: Vector) -> Vector:
    """a + omega' x r + omega x (v + omega x r): the acceleration of the point of the body at `r`."""
    return add(add(A.linear, cross(A.angular, r)), cross(V.angular, point_velocity(V, r)))


BODY_FRAMES = ("C", "B", "C")
"""Each velocity differentiated in the frame at whose origin it is taken: what the algorithms use."""


def coriolis_term(
    X: Transform, V_x: Motion, V_xy: Motion, frames: tuple[str, str, str] = BODY_FRAMES
) -> Motion:
    """The term that X alpha(x) + alpha(x, y) lacks to be alpha(y), for any choice of derivative frames.

    A is the inertial frame, B is fixed to the inboard body (origin x), C to the outboard body (origin y). A
    spatial acceleration is the derivative of a spatial velocity *seen from some frame*, and its meaning
    depends on that frame. The derivative in F of a vector z is that in G plus omega(F, G) x z, on both halves
    of z; from this and

        alpha_C(y) = X alpha_B(x) + alpha_C(x, y) + V(y) x V(x, y)

    all 27 choices follow.

    Args:
        X: transform from B-coordinates to C-coordinates.
        V_x: velocity of B relative to A, in B-coordinates.
        V_xy: velocity of C relative to B, in C-coordinates.
        frames: where V(y), V(x) and V(x, y) are differentiated: three of "A", "B", "C".

    Returns:
        The term, in C-coordinates.

    Reference: Jain, lecture notes on spatial notation, "Coriolis term expressions". The three terms printed
    there belong to the choices ("A", "A", "A"), ("A", "A", "B") and ("C", "B", "C").
    """
    if len(frames) != 3 or any(f not in ("A", "B", "C") for f in frames):
        raise ModelError(
            f"derivative frames {frames!r}: expected three of 'A' (inertial), 'B' (inboard), 'C' (outboard)"
        )
    total, inboard, relative = frames
    arrived = X @ V_x
    V_y = arrived + V_xy
    spin = {"A": ZERO, "B": arrived.angular, "C": V_y.angular}  # of each frame relative to A, in C-axes

    def seen(z: Motion, source: str, target: str) -> Motion:
        """(derivative of z in `target`) - (derivative of z in `source`)."""
        w = sub(spin[source], spin[target])
        return Motion(cross(w, z.angular), cross(w, z.linear), z.frame)

    back = X.turned_back(sub(spin[inboard], spin["B"]))  # in B-axes, where V_x is
    moved = X @ Motion(cross(back, V_x.angular), cross(back, V_x.linear), V_x.frame)
    return V_y.cross(V_xy) + moved + seen(V_xy, relative, "C") + seen(V_y, "C", total)


def propagate_acceleration(
    X: Transform, V_x: Motion, V_xy: Motion, alpha_x: Motion, alpha_xy: Motion,
    frames: tuple[str, str, str] = BODY_FRAMES,
) -> Motion:  # fmt: skip
    """The spatial acceleration of the outboard body: X alpha(x) + alpha(x, y) + Coriolis term."""
    return X @ alpha_x + alpha_xy + coriolis_term(X, V_x, V_xy, frames)


def momentum(I: Inertia, V: Motion) -> Force:
    """I V: angular momentum about the origin, and linear momentum."""
    return I @ V


def body_force(I: Inertia, V: Motion, A: Motion) -> Force:
    """I A + V x* I V: the force that produces the spatial acceleration A of a body with velocity V."""
    return I @ A + V.cross_star(I @ V)


def bias_force(I: Inertia, V: Motion) -> Force:
    """V x* I V: the force needed for zero spatial acceleration."""
    return V.cross_star(I @ V)


def body_acceleration(I: Inertia, V: Motion, F: Force) -> Motion:
    """I^-1 (F - V x* I V): the spatial acceleration of a free body under the force F."""
    return inertia_solve(I, F - bias_force(I, V))


def inertia_solve(I: Inertia, F: Force) -> Motion:
    """I^-1 F, computed about the centre of mass: only the mass and a 3x3 matrix are inverted."""
    c = I.com
    angular = Factored(Matrix(sym_matrix(I.about_com))).solve(sub(F.angular, cross(c, F.linear)))
    omega: Vector = (angular[0], angular[1], angular[2])
    return Motion(omega, add(scale(F.linear, 1 / I.mass), cross(c, omega)), F.frame)


def classical_bias_force(I: Inertia, V: Motion) -> Force:
    """B = [omega x J omega; m omega x (omega x c)], for the classical acceleration of the origin."""
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


def shift_rotational_inertia(J: Any, mass: Number, com: Any, y: Any) -> Rows:
    """The 3x3 inertia about a point y, from that about a point x; neither need be the centre of mass.

    J(y) = J(x) + m (c~ y~ + y~ c~ - y~ y~), with the centre of mass c and y both as seen from x.
    Where x or y is the centre of mass, this is the parallel-axis theorem.
    """
    rows = read_matrix(J, 3, 3, "rotational inertia")
    c, r = read_vector(com, 3, "centre of mass"), read_vector(y, 3, "point")
    change = Inertia.from_moments(mass, scale(c, mass), NO_MOMENTS).rotational_at(r)
    return tuple(tuple(map(operator.add, *pair)) for pair in zip(rows, change, strict=True))


def transform_rate(X: Transform, V: Motion) -> tuple[tuple, ...]:
    """d/dt X = -V x X, for the velocity V of the successor relative to the predecessor."""
    columns = zip(*X.matrix(), strict=True)
    return tuple(zip(*((-V.cross(Motion.from_components(c))).components for c in columns), strict=True))


def inertia_rate(I: Inertia, V: Motion) -> tuple[tuple, ...]:
    """d/dt I = V x* I - I V x: the rate, in a frame at rest, of the 6x6 inertia of a body moving with V."""
    units = [Motion.from_components(1 if i == j else 0 for i in range(6)) for j in range(6)]
    columns = [(V.cross_star(I @ e) - I @ V.cross(e)).components for e in units]
    return tuple(zip(*columns, strict=True))
