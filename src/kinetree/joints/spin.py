"""The spin of a rotor seen from a frame that does not turn with it."""

from __future__ import annotations

from typing import Any

from kinetree.joints.axis import Vector, coordinate_axis
from kinetree.joints.base import CoordinateJoint, Numbers
from kinetree.joints.fixed import BASIS
from kinetree.joints.revolute import axisymmetric, turns_across
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Motion
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform


class Spin(CoordinateJoint):
    """A rotation about `axis` that is felt but not followed: S = [a; 0], yet the placement is the identity.

    For a body that looks the same from every angle about its axis (a rotor, an armature) the frame in which
    its inertia is written need not turn with it. The library uses this joint inside groups; models do not
    contain it.
    """

    __slots__ = ()
    type_name, nq, nv = "spin", 1, 1

    def __init__(self, axis: Any = (0, 0, 1)):
        super().__init__(*axis)

    @property
    def axis(self) -> Vector:
        return self.parameters  # type: ignore[return-value]

    def placement(self, q: Numbers) -> Transform:
        return Transform.identity()

    def subspace(self, q: Numbers) -> Subspace:
        return Subspace((Motion(self.axis, (0, 0, 0)),))

    def random(self, rng: Any) -> Numbers:
        return (0.0,)

    def unfelt(self, inertia: Inertia) -> Inertia:
        """About a coordinate axis: all but the moment of inertia about the axis."""
        along = coordinate_axis(self.axis)
        if along is None:
            return Inertia.zero()
        index, _ = along
        return axisymmetric(index, inertia, inertia.mass, inertia.first_moment[index])

    def complement(self, q: Numbers) -> Subspace:
        return Subspace((*turns_across(self.axis), *BASIS[3:]))

    def __repr__(self) -> str:
        return f"Spin(axis={self.axis})"
