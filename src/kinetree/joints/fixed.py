"""The joint that does not move."""

from __future__ import annotations

from kinetree.joints.base import CoordinateJoint, Numbers
from kinetree.joints.steps import Step
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Motion
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform


class Fixed(CoordinateJoint):
    """A weld: no coordinates."""

    __slots__ = ()
    type_name, coordinates = "fixed", ()

    def __init__(self) -> None:
        super().__init__()

    @property
    def steps(self) -> tuple[Step, ...]:
        return ()

    def placement(self, q: Numbers) -> Transform:
        return Transform.identity()

    def subspace(self, q: Numbers) -> Subspace:
        return Subspace(())

    def unfelt(self, inertia: Inertia) -> Inertia:
        return inertia

    def complement(self, q: Numbers) -> Subspace:
        return Subspace(BASIS)


# The six unit motions: rotations about x, y, z, then translations along them.
BASIS: tuple[Motion, ...] = tuple(Motion.from_components(int(j == k) for j in range(6)) for k in range(6))
