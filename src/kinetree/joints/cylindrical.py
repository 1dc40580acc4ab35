"""The sleeve: a rotation about an axis and an independent translation along it."""

from __future__ import annotations

import math
from typing import Any

from kinetree.joints.axis import Vector, coordinate_axis, turned_and_shifted, unit_axis
from kinetree.joints.base import CoordinateJoint, Numbers
from kinetree.joints.revolute import axisymmetric, slides_across, turns_across
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Motion
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import scale


class Cylindrical(CoordinateJoint):
    """q = [angle about, displacement along `axis`]; S = [a 0; 0 a].

    Args:
        axis: unit vector a in predecessor axes (the same in successor axes).
    """

    __slots__ = ()
    type_name, nq, nv = "cylindrical", 2, 2

    def __init__(self, axis: Any = (0, 0, 1)):
        super().__init__(*unit_axis(axis, "Cylindrical"))

    @property
    def axis(self) -> Vector:
        return self.parameters  # type: ignore[return-value]

    def placement(self, q: Numbers) -> Transform:
        return turned_and_shifted(self.axis, q[0], scale(self.axis, q[1]))

    def subspace(self, q: Numbers) -> Subspace:
        return Subspace((Motion(self.axis, (0, 0, 0)), Motion((0, 0, 0), self.axis)))

    def random(self, rng: Any) -> Numbers:
        return float(rng.uniform(-math.pi, math.pi)), float(rng.uniform(-1.0, 1.0))

    def unfelt(self, inertia: Inertia) -> Inertia:
        """About a coordinate axis z: diag(Jyy, Jyy, 0)."""
        along = coordinate_axis(self.axis)
        return Inertia.zero() if along is None else axisymmetric(along[0], inertia, 0, 0)

    def complement(self, q: Numbers) -> Subspace:
        return Subspace((*turns_across(self.axis), *slides_across(self.axis)))

    def __repr__(self) -> str:
        return f"Cylindrical(axis={self.axis})"
