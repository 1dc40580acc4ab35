"""The ball joint: three rotations."""

from __future__ import annotations

from typing import Any

from kinetree.joints.base import Joint, Numbers
from kinetree.joints.fixed import BASIS
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.quaternion import (
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_normalized,
    quaternion_product,
)
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform


class Spherical(Joint):
    """q = unit quaternion [x y z w] of the successor in the predecessor; v = body angular velocity."""

    __slots__ = ()
    type_name, nq, nv = "spherical", 4, 3

    def __init__(self) -> None:
        super().__init__()

    def placement(self, q: Numbers) -> Transform:
        return Transform(coordinate_matrix(q), (0, 0, 0))

    def subspace(self, q: Numbers) -> Subspace:
        return Subspace(BASIS[:3])

    def brackets(self) -> tuple[tuple[Numbers, ...], ...]:
        return tuple(tuple(BASIS[j].cross(BASIS[k]).components[:3] for k in range(3)) for j in range(3))

    def integrate(self, q: Numbers, dv: Numbers) -> Numbers:
        return quaternion_normalized(quaternion_product(q, quaternion_exp(dv)))

    def difference(self, q0: Numbers, q1: Numbers) -> Numbers:
        return quaternion_log(quaternion_product(quaternion_conjugate(q0), q1))

    def rate(self, q: Numbers, v: Numbers) -> Numbers:
        return quaternion_product(q, (v[0] / 2, v[1] / 2, v[2] / 2, 0))

    def neutral(self) -> Numbers:
        return (0.0, 0.0, 0.0, 1.0)

    def random(self, rng: Any) -> Numbers:
        return quaternion_normalized(tuple(float(x) for x in rng.standard_normal(4)))

    def unfelt(self, inertia: Inertia) -> Inertia:
        """The mass, as a point at the centre of the ball."""
        return point_mass(inertia)

    def complement(self, q: Numbers) -> Subspace:
        return Subspace(BASIS[3:])


def point_mass(inertia: Inertia) -> Inertia:
    """The mass alone, at the origin: no rotation about the origin moves it."""
    return Inertia.from_moments(inertia.mass, (0, 0, 0), (0, 0, 0, 0, 0, 0))


def coordinate_matrix(q: Numbers) -> tuple:
    """E = R^T of a unit quaternion, polynomial in q: a quaternion that is not unit is not normalised here."""
    x, y, z, w = q
    x2, y2, z2 = 2 * x, 2 * y, 2 * z
    xx, yy, zz = x2 * x, y2 * y, z2 * z
    xy, xz, yz = x2 * y, x2 * z, y2 * z
    wx, wy, wz = x2 * w, y2 * w, z2 * w
    return (
        (1 - (yy + zz), xy + wz, xz - wy),
        (xy - wz, 1 - (xx + zz), yz + wx),
        (xz + wy, yz - wx, 1 - (xx + yy)),
    )
