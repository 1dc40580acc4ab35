"""The hinge: one rotation about an axis."""

from __future__ import annotations

import math
from typing import Any

from kinetree.joints.axis import Vector, coordinate_axis, perpendiculars, rotation_about, unit_axis
from kinetree.joints.base import CoordinateJoint, Numbers
from kinetree.joints.fixed import BASIS
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Motion
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform


class Revolute(CoordinateJoint):
    """A rotation by q about `axis`; S = [a; 0].

    Args:
        axis: unit vector a in predecessor axes (the same in successor axes).
    """

    __slots__ = ()
    type_name, nq, nv = "revolute", 1, 1

    def __init__(self, axis: Any = (0, 0, 1)):
        super().__init__(*unit_axis(axis, "Revolute"))

    @property
    def axis(self) -> Vector:
        return self.parameters  # type: ignore[return-value]

    def placement(self, q: Numbers) -> Transform:
        return rotation_about(self.axis, q[0])

    def subspace(self, q: Numbers) -> Subspace:
        return Subspace((Motion(self.axis, (0, 0, 0)),))

    def random(self, rng: Any) -> Numbers:
        return (float(rng.uniform(-math.pi, math.pi)),)

    def unfelt(self, inertia: Inertia) -> Inertia:
        """About a coordinate axis z: the mass, the first moment along z, and diag(Jyy, Jyy, 0)."""
        along = coordinate_axis(self.axis)
        if along is None:
            return Inertia.zero()
        index, _ = along
        return axisymmetric(index, inertia, inertia.mass, inertia.first_moment[index])

    def complement(self, q: Numbers) -> Subspace:
        return Subspace((*turns_across(self.axis), *BASIS[3:]))

    def __repr__(self) -> str:
        return f"Revolute(axis={self.axis})"


def axisymmetric(index: int, inertia: Inertia, mass: Any, along: Any) -> Inertia:
    """Mass, first moment along coordinate axis `index`, equal second moments across it, none about it."""
    numbers: list[Any] = [mass, *(0,) * 9]
    numbers[1 + index] = along
    for across in ((index + 1) % 3, (index + 2) % 3):
        numbers[4 + across] = inertia.second[(index + 2) % 3]
    return Inertia.from_parameters(numbers)


def turns_across(axis: Vector) -> tuple[Motion, Motion]:
    """The two unit turns about directions perpendicular to `axis`."""
    a, b = perpendiculars(axis)
    return Motion(a, (0, 0, 0)), Motion(b, (0, 0, 0))


def slides_across(axis: Vector) -> tuple[Motion, Motion]:
    """The two unit translations perpendicular to `axis`."""
    a, b = perpendiculars(axis)
    return Motion((0, 0, 0), a), Motion((0, 0, 0), b)
