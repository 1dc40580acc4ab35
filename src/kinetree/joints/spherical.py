"""The ball joint: three rotations."""

from __future__ import annotations

import math

from kinetree.joints.base import Joint, Numbers
from kinetree.joints.fixed import BASIS
from kinetree.joints.steps import BALL, Step
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.quaternion import (
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_matrix,
    quaternion_normalized,
    quaternion_product,
)
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import transpose


class Spherical(Joint):
    """q = unit quaternion [x y z w] of the successor in the predecessor; v = body angular velocity."""

    __slots__ = ()
    type_name, coordinates = "spherical", ("quaternion",)

    def __init__(self) -> None:
        super().__init__()

    @property
    def steps(self) -> tuple[Step, ...]:
        return (BALL,)

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

    def velocity(self, q: Numbers, rate: Numbers) -> Numbers:
        return turning(q, rate)

    def unfelt(self, inertia: Inertia) -> Inertia:
        """The mass, as a point at the centre of the ball."""
        return point_mass(inertia)

    def complement(self, q: Numbers) -> Subspace:
        return Subspace(BASIS[3:])


def turning(q: Numbers, rate: Numbers) -> Numbers:
    """The body angular velocity of a quaternion that changes at `rate`; changes of its length are ignored."""
    x, y, z, w = q
    twice = 2 / (x * x + y * y + z * z + w * w)
    return tuple(part * twice for part in quaternion_product(quaternion_conjugate(q), rate)[:3])


def point_mass(inertia: Inertia) -> Inertia:
    """The mass alone, at the origin, where no rotation moves it."""
    return Inertia.from_moments(inertia.mass, (0, 0, 0), (0, 0, 0, 0, 0, 0))


def coordinate_matrix(q: Numbers) -> tuple:
    """E = R^T of a quaternion of any length but zero, which gives NaN."""
    try:
        return transpose(quaternion_matrix(q))
    except ZeroDivisionError:
        return ((math.nan,) * 3,) * 3
