"""Where two shapes touch each other: a fixed number of points for each pair of shapes."""

from __future__ import annotations

from typing import Any, NamedTuple

from kinetree.model.distance import between
from kinetree.model.shapes import Shape
from kinetree.spatial import vector as vec
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Vector


class Touch(NamedTuple):
    """One point at which two shapes can touch, in the axes in which they are placed."""

    gap: Any  # m, negative where they overlap
    normal: Vector  # unit vector from the second to the first
    point: Vector  # midway between the two surfaces
    share: float = 1.0  # of the stiffness of the pair


def touches(a: Shape, at: Pose, b: Shape, to: Pose) -> list[Touch]:
    """The points at which two shapes with their poses can touch; functions of these alone."""
    gap, normal, point, other = between(a, at, b, to)
    return [Touch(gap, normal, vec.scale(vec.add(point, other), 0.5))]


def count(a: Shape, b: Shape) -> int:
    """At how many points two shapes can touch."""
    return 1
