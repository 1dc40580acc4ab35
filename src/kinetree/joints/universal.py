"""The cross (Cardan) joint: two rotations in sequence about two intersecting axes."""

from __future__ import annotations

import math
from typing import Any

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.joints.axis import Vector, rotation_about, unit_axis
from kinetree.joints.base import CoordinateJoint, Numbers
from kinetree.joints.fixed import BASIS
from kinetree.joints.spherical import point_mass
from kinetree.joints.steps import Step, hinge
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Motion
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import cross, dot, neg, scale


def _is_right(a: Vector, b: Vector) -> bool:
    """Whether two axes are at right angles, up to rounding."""
    return all(ops.is_literal(x) for x in (*a, *b)) and abs(dot(a, b)) < 1e-15


_STILL = Motion((0, 0, 0), (0, 0, 0))


class Universal(CoordinateJoint):
    """R = R(axis1, q1) R(axis2, q2); S = [R2^T a1, a2; 0 0], which turns with q2.

    Args:
        axis1: unit vector a1 in predecessor axes.
        axis2: unit vector a2 in successor axes.
    """

    __slots__ = ()
    type_name, coordinates = "universal", ("angle", "angle")
    fields = (("axis1", 3), ("axis2", 3))

    def __init__(self, axis1: Any = (1, 0, 0), axis2: Any = (0, 1, 0)):
        a1, a2 = unit_axis(axis1, "Universal, axis1"), unit_axis(axis2, "Universal, axis2")
        if all(ops.is_literal(a) for a in (*a1, *a2)) and math.hypot(*cross(a1, a2)) < 1e-6:
            raise ModelError(
                f"Universal: axis1 {a1} and axis2 {a2} are parallel, so both coordinates would be the same "
                "rotation: choose two different directions, as in (1, 0, 0) and (0, 1, 0)"
            )
        super().__init__(*a1, *a2)

    @property
    def axis1(self) -> Vector:
        return self.parameters[:3]  # type: ignore[return-value]

    @property
    def axis2(self) -> Vector:
        return self.parameters[3:]  # type: ignore[return-value]

    @property
    def steps(self) -> tuple[Step, ...]:
        return hinge(self.axis1, 0), hinge(self.axis2, 1)

    @property
    def first_axis(self) -> Vector | None:
        return self.axis1 if _is_right(self.axis1, self.axis2) else None

    def straightened(self) -> tuple[Any, Universal] | None:
        """Axes with x along the second axis, if the two axes are at right angles."""
        a, b = self.axis1, self.axis2
        if not _is_right(a, b):
            return None
        return (b, cross(a, b), a), self.with_parameters((0, 0, 1, 1, 0, 0))

    def placement(self, q: Numbers) -> Transform:
        return rotation_about(self.axis2, q[1]).following(rotation_about(self.axis1, q[0]))

    def _turned_axis1(self, q: Numbers) -> Vector:
        """R2^T a1: the first axis in successor axes."""
        return rotation_about(self.axis2, q[1]).turned(self.axis1)

    def subspace(self, q: Numbers) -> Subspace:
        return Subspace((Motion(self._turned_axis1(q), (0, 0, 0)), Motion(self.axis2, (0, 0, 0))))

    def subspace_partials(self, q: Numbers) -> tuple[Subspace, ...]:
        turning = neg(cross(self.axis2, self._turned_axis1(q)))
        return Subspace((_STILL, _STILL)), Subspace((Motion(turning, (0, 0, 0)), _STILL))

    def subspace_second_partials(self, q: Numbers) -> tuple[tuple[Subspace, ...], ...]:
        still = Subspace((_STILL, _STILL))
        turned = cross(self.axis2, cross(self.axis2, self._turned_axis1(q)))
        return (still, still), (still, Subspace((Motion(turned, (0, 0, 0)), _STILL)))

    def unfelt(self, inertia: Inertia) -> Inertia:
        """The mass, as a point where the axes meet."""
        return point_mass(inertia)

    def complement(self, q: Numbers) -> Subspace:
        normal = cross(self._turned_axis1(q), self.axis2)
        return Subspace((Motion(scale(normal, 1 / ops.sqrt(dot(normal, normal))), (0, 0, 0)), *BASIS[3:]))
