"""Spatial and classical accelerations, and how accelerations add up across a moving joint.

The *spatial* acceleration [omega'; a] is the derivative of the components of V in body coordinates. The
*classical* one has in its linear part the acceleration of the point at the origin, v' = a + omega x v. They
differ even when motion is uniform: a body on a circle about the origin has zero spatial, but centripetal
classical acceleration.
"""

from __future__ import annotations

from kinetree.errors import ModelError
from kinetree.spatial.motion import Motion
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import ZERO, Vector, add, cross, sub


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
    """What must be added to X alpha(x) + alpha(x, y) to give alpha(y), for any choice of derivative frames.

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
    Reference:
        Jain, lecture notes on spatial notation, "Coriolis term expressions". The three terms printed there
        belong to the choices ("A", "A", "A"), ("A", "A", "B") and ("C", "B", "C").
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
