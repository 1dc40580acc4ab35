"""Joints that turn about and slide along one axis, and the directions across that axis."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from kinetree.joints.axis import Vector, axes_with_z, coordinate_axis, perpendiculars, unit_axis
from kinetree.joints.base import CoordinateJoint
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Motion


class AxialJoint(CoordinateJoint):
    """A joint that turns about and slides along one axis, the first three of its parameters.

    Args:
        axis: unit vector a in predecessor axes (the same in successor axes).
    """

    __slots__ = ()
    fields: ClassVar[tuple[tuple[str, int], ...]] = (("axis", 3),)

    def __init__(self, axis: Any = (0, 0, 1)):
        super().__init__(*unit_axis(axis, type(self).__name__))

    @property
    def axis(self) -> Vector:
        return self.parameters[:3]  # type: ignore[return-value]

    def straightened(self) -> tuple[Any, Self]:
        return axes_with_z(self.axis), self.with_parameters((0, 0, 1, *self.parameters[3:]))

    def axisymmetric(self, inertia: Inertia, mass: Any = 0, along: int = 0) -> Inertia:
        """The mass, `along` times the first moment along the axis, and equal second moments across it.

        Only for a coordinate axis; zero for any other.
        """
        found = coordinate_axis(self.axis)
        if found is None:
            return Inertia.zero()
        index, _ = found
        return axisymmetric(index, inertia, mass, inertia.first_moment[index] if along else 0)


def axisymmetric(index: int, inertia: Inertia, mass: Any, along: Any) -> Inertia:
    """Mass, first moment along coordinate axis `index`, equal second moments across it, none about it."""
    numbers: list[Any] = [mass, *(0,) * 9]
    numbers[1 + index] = along
    for across in ((index + 1) % 3, (index + 2) % 3):
        numbers[4 + across] = inertia.second[(index + 2) % 3]
    return Inertia.from_parameters(numbers)


def turns_across(axis: Vector) -> tuple[Motion, Motion]:
    """The two unit rotations about directions perpendicular to `axis`."""
    a, b = perpendiculars(axis)
    return Motion(a, (0, 0, 0)), Motion(b, (0, 0, 0))


def slides_across(axis: Vector) -> tuple[Motion, Motion]:
    """The two unit translations perpendicular to `axis`."""
    a, b = perpendiculars(axis)
    return Motion((0, 0, 0), a), Motion((0, 0, 0), b)
