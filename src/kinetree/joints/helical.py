"""The screw: a rotation about an axis coupled to a translation along it."""

from __future__ import annotations

import math
from typing import Any

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.joints.axis import Vector, coordinate_axis, turned_and_shifted, unit_axis
from kinetree.joints.base import CoordinateJoint, Numbers
from kinetree.joints.revolute import axisymmetric, slides_across, turns_across
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Motion
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import scale


class Helical(CoordinateJoint):
    """A rotation by q about `axis` with the translation h q along it; S = [a; h a].

    Args:
        axis: unit vector a in predecessor axes (the same in successor axes).
        pitch: translation per angle h, m/rad.
    """

    __slots__ = ()
    type_name, nq, nv = "helical", 1, 1

    def __init__(self, axis: Any = (0, 0, 1), pitch: Any = 0.0):
        if isinstance(pitch, (str, bytes, tuple, list)) or pitch is None:
            raise ModelError(f"Helical: the pitch must be a number in m/rad, got {pitch!r}")
        if ops.is_literal(pitch) and not math.isfinite(pitch):
            raise ModelError(f"Helical: the pitch {pitch} is not finite: give a length per angle in m/rad")
        super().__init__(*unit_axis(axis, "Helical"), pitch)

    @property
    def axis(self) -> Vector:
        return self.parameters[:3]  # type: ignore[return-value]

    @property
    def pitch(self) -> Any:
        return self.parameters[3]

    def placement(self, q: Numbers) -> Transform:
        return turned_and_shifted(self.axis, q[0], scale(self.axis, self.pitch * q[0]))

    def subspace(self, q: Numbers) -> Subspace:
        return Subspace((Motion(self.axis, scale(self.axis, self.pitch)),))

    def random(self, rng: Any) -> Numbers:
        return (float(rng.uniform(-math.pi, math.pi)),)

    def unfelt(self, inertia: Inertia) -> Inertia:
        """About a coordinate axis z: diag(Jyy, Jyy, 0)."""
        along = coordinate_axis(self.axis)
        return Inertia.zero() if along is None else axisymmetric(along[0], inertia, 0, 0)

    def complement(self, q: Numbers) -> Subspace:
        h = self.pitch
        norm = 1 / ops.sqrt(1 + h * h)
        reciprocal = Motion(scale(self.axis, -h * norm), scale(self.axis, norm))
        return Subspace((*turns_across(self.axis), *slides_across(self.axis), reciprocal))

    def __repr__(self) -> str:
        return f"Helical(axis={self.axis}, pitch={self.pitch})"
