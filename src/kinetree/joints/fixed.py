"""The joint that does not move."""

from __future__ import annotations

from typing import Any

from kinetree.joints.base import CoordinateJoint, Numbers
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Motion
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform


class Fixed(CoordinateJoint):
    """A weld: no coordinates."""

    __slots__ = ()
    type_name, nq, nv = "fixed", 0, 0

    def __init__(self) -> None:
        super().__init__()

    def placement(self, q: Numbers) -> Transform:
        return Transform.identity()

    def subspace(self, q: Numbers) -> Subspace:
        return Subspace(())

    def random(self, rng: Any) -> Numbers:
        return ()

    def unfelt(self, inertia: Inertia) -> Inertia:
        return inertia

    def complement(self, q: Numbers) -> Subspace:
        return Subspace(BASIS)


# The six unit motions: turns about, then translations along x, y, z.
BASIS: tuple[Motion, ...] = tuple(Motion.from_components(int(j == k) for j in range(6)) for k in range(6))
