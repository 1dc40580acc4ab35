"""The sleeve: a rotation about an axis and an independent translation along it."""

from __future__ import annotations

from kinetree.joints.axial import AxialJoint, slides_across, turns_across
from kinetree.joints.axis import turned_and_shifted
from kinetree.joints.base import Numbers
from kinetree.joints.steps import Step, hinge, slide
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Motion
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import scale


class Cylindrical(AxialJoint):
    """q = [angle about, displacement along `axis`]; S = [a 0; 0 a].

    Args:
        axis: unit vector a in predecessor axes (the same in successor axes).
    """

    __slots__ = ()
    type_name, coordinates = "cylindrical", ("angle", "length")

    @property
    def steps(self) -> tuple[Step, ...]:
        return hinge(self.axis, 0), slide(self.axis, 1)

    def placement(self, q: Numbers) -> Transform:
        return turned_and_shifted(self.axis, q[0], scale(self.axis, q[1]))

    def subspace(self, q: Numbers) -> Subspace:
        return Subspace((Motion(self.axis, (0, 0, 0)), Motion((0, 0, 0), self.axis)))

    def unfelt(self, inertia: Inertia) -> Inertia:
        """For a coordinate axis z: diag(Jyy, Jyy, 0)."""
        return self.axisymmetric(inertia)

    def complement(self, q: Numbers) -> Subspace:
        return Subspace((*turns_across(self.axis), *slides_across(self.axis)))
