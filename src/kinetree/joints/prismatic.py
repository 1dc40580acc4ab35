"""The slider: one translation along an axis."""

from __future__ import annotations

from typing import Any

from kinetree.joints.axis import Vector, unit_axis
from kinetree.joints.base import CoordinateJoint, Numbers
from kinetree.joints.fixed import BASIS
from kinetree.joints.revolute import slides_across
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Motion
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import scale


class Prismatic(CoordinateJoint):
    """A translation by q along `axis`; S = [0; a].

    Args:
        axis: unit vector a in predecessor axes (the same in successor axes).
    """

    __slots__ = ()
    type_name, nq, nv = "prismatic", 1, 1

    def __init__(self, axis: Any = (0, 0, 1)):
        super().__init__(*unit_axis(axis, "Prismatic"))

    @property
    def axis(self) -> Vector:
        return self.parameters  # type: ignore[return-value]

    def placement(self, q: Numbers) -> Transform:
        return Transform(((1, 0, 0), (0, 1, 0), (0, 0, 1)), scale(self.axis, q[0]))

    def subspace(self, q: Numbers) -> Subspace:
        return Subspace((Motion((0, 0, 0), self.axis),))

    def random(self, rng: Any) -> Numbers:
        return (float(rng.uniform(-1.0, 1.0)),)

    def unfelt(self, inertia: Inertia) -> Inertia:
        """The whole second moment: a slider does not feel how its body resists turning."""
        return Inertia.from_moments(0, (0, 0, 0), inertia.second)

    def complement(self, q: Numbers) -> Subspace:
        return Subspace((*BASIS[:3], *slides_across(self.axis)))

    def __repr__(self) -> str:
        return f"Prismatic(axis={self.axis})"
