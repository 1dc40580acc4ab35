"""A builder for mechanisms with loops, described by points in one position."""

from __future__ import annotations

import math
from typing import Any

from kinetree.joints import Joint
from kinetree.model import Model, ModelBuilder
from kinetree.spatial import vector as vec
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Vector
from kinetree.zoo.shapes import bar


class Drawing:
    """A builder that takes every point in world coordinates, in one drawn position.

    In that position all coordinates are zero, and every body has its origin at its joint and its axes
    parallel to those of the world. So loops that close in the drawing are closed at zero.
    """

    def __init__(self, name: str):
        self.builder = ModelBuilder(name)
        self.origins: dict[str, Vector] = {"world": vec.ZERO}
        self.parents: dict[str, str] = {}

    def seen(self, body: str, point: Vector) -> Pose:
        """A point of the drawing in the frame of a body."""
        return Pose(p=vec.sub(point, self.origins[body]))

    def body(
        self, name: str, parent: str, joint: Joint, at: Vector, inertia: Inertia | None = None, **more: Any
    ) -> None:
        """A body on a joint at a point. Its inertia and the joint limits are given in the drawn position."""
        own = None if inertia is None else inertia.congruence(Pose(p=vec.neg(at)).transform())
        self.builder.add_body(name, parent, joint, self.seen(parent, at), own, **more)
        self.origins[name], self.parents[name] = at, parent

    def bar(
        self, name: str, parent: str, joint: Joint, at: Vector, end: Vector, mass: float,
        radius: float = 0.01, **more: Any,
    ) -> None:  # fmt: skip
        """A body that is a cylinder from its joint to another point."""
        self.body(name, parent, joint, at, bar(mass, radius, at, end), **more)

    def motor(self, body: str, axis: Vector, ratio: float, mass: float, radius: float) -> None:
        """A rotor located at the joint of a body, which it drives: a disc behind a gear."""
        half = vec.scale(axis, 0.5 * radius)
        place = self.seen(self.parents[body], self.origins[body])
        self.builder.add_rotor(body, bar(mass, radius, vec.neg(half), half), place, axis, ratio)

    def close(self, one: str, other: str, joint: Joint, at: Vector, **more: Any) -> None:
        """A joint between two bodies at a point."""
        self.builder.add_loop(one, other, joint, self.seen(one, at), self.seen(other, at), **more)

    def frame(self, name: str, body: str, at: Vector) -> None:
        """A named frame at a point."""
        self.builder.add_frame(name, body, self.seen(body, at))

    def model(self) -> Model:
        return self.builder.build()


def meeting(a: Vector, to_a: float, b: Vector, to_b: float) -> Vector:
    """The point at the given distances from two points, in their plane y = const, to the left of the line
    from a to b as seen along +y: above it if b is in the direction +x."""
    along = vec.sub(b, a)
    square = vec.dot(along, along)
    part = 0.5 * (1 + (to_a * to_a - to_b * to_b) / square)
    rise = math.sqrt(to_a * to_a / square - part * part)
    x, _, z = along
    return a[0] + part * x - rise * z, a[1], a[2] + part * z + rise * x


def unit(a: Vector) -> Vector:
    """A vector divided by its length."""
    return vec.divide(a, math.hypot(*a))


def beyond(a: Vector, direction: Vector, distance: float) -> Vector:
    """The point at a distance from another in a direction."""
    return vec.add(a, vec.scale(unit(direction), distance))
