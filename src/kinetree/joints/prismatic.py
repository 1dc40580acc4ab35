"""The slider: one translation along an axis."""

from __future__ import annotations

from kinetree.joints.axial import AxialJoint, slides_across
from kinetree.joints.base import Numbers
from kinetree.joints.fixed import BASIS
from kinetree.joints.steps import Step, slide
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Motion
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import scale


class Prismatic(AxialJoint):
    """A translation by q along `axis`; S = [0; a].

    Args:
        axis: unit vector a in predecessor axes (the same in successor axes).
    """

    __slots__ = ()
    type_name, coordinates = "prismatic", ("length",)

    @property
    def steps(self) -> tuple[Step, ...]:
        return (slide(self.axis),)

    def placement(self, q: Numbers) -> Transform:
        return Transform(((1, 0, 0), (0, 1, 0), (0, 0, 1)), scale(self.axis, q[0]))

    def subspace(self, q: Numbers) -> Subspace:
        return Subspace((Motion((0, 0, 0), self.axis),))

    def unfelt(self, inertia: Inertia) -> Inertia:
        """The whole second moment: a slider does not feel how its body resists turning."""
        return Inertia.from_moments(0, (0, 0, 0), inertia.second)

    def complement(self, q: Numbers) -> Subspace:
        return Subspace((*BASIS[:3], *slides_across(self.axis)))
