"""The screw: a rotation about an axis coupled to a translation along it."""

from __future__ import annotations

import math
from typing import Any

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.joints.axial import AxialJoint, slides_across, turns_across
from kinetree.joints.axis import turned_and_shifted, unit_axis
from kinetree.joints.base import Joint, Numbers
from kinetree.joints.steps import Step, hinge, slide
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Motion
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import scale


class Helical(AxialJoint):
    """A rotation by q about `axis` with a translation h q along it; S = [a; h a].

    Args:
        axis: unit vector a in predecessor axes (the same in successor axes).
        pitch: translation per angle, h, m/rad.
    """

    __slots__ = ()
    type_name, coordinates = "helical", ("angle",)
    fields = (("axis", 3), ("pitch", 1))

    def __init__(self, axis: Any = (0, 0, 1), pitch: Any = 0.0):
        if isinstance(pitch, (str, bytes, tuple, list)) or pitch is None:
            raise ModelError(f"Helical: the pitch must be a number in m/rad, got {pitch!r}")
        if ops.is_literal(pitch) and not math.isfinite(pitch):
            raise ModelError(f"Helical: the pitch {pitch} is not finite: give a length per angle in m/rad")
        Joint.__init__(self, *unit_axis(axis, type(self).__name__), pitch)

    @property
    def pitch(self) -> Any:
        return self.parameters[3]

    @property
    def steps(self) -> tuple[Step, ...]:
        return hinge(self.axis), slide(self.axis, 0, self.pitch)

    def placement(self, q: Numbers) -> Transform:
        return turned_and_shifted(self.axis, q[0], scale(self.axis, self.pitch * q[0]))

    def subspace(self, q: Numbers) -> Subspace:
        return Subspace((Motion(self.axis, scale(self.axis, self.pitch)),))

    def unfelt(self, inertia: Inertia) -> Inertia:
        """For a coordinate axis z: diag(Jyy, Jyy, 0)."""
        return self.axisymmetric(inertia)

    def complement(self, q: Numbers) -> Subspace:
        h = self.pitch
        norm = 1 / ops.sqrt(1 + h * h)
        reciprocal = Motion(scale(self.axis, -h * norm), scale(self.axis, norm))
        return Subspace((*turns_across(self.axis), *slides_across(self.axis), reciprocal))
