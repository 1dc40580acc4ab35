"""Inertias of solid shapes of uniform density, about their own centre, axes along x, y, z."""

from __future__ import annotations

from typing import Any

from kinetree.spatial.inertia import Inertia
from kinetree.spatial.vector import Vector


def box(mass: float, size: Vector, center: Vector = (0.0, 0.0, 0.0)) -> Inertia:
    """A cuboid with the given edge lengths, m."""
    x, y, z = (s * s for s in size)
    k = mass / 12
    return Inertia(mass, center, diagonal(k * (y + z), k * (x + z), k * (x + y)))


def rod(mass: float, radius: float, length: float, axis: int, center: Vector = (0.0, 0.0, 0.0)) -> Inertia:
    """A cylinder along coordinate axis 0, 1 or 2."""
    moments = [mass * (3 * radius * radius + length * length) / 12] * 3
    moments[axis] = mass * radius * radius / 2
    return Inertia(mass, center, diagonal(*moments))


def ball(mass: float, radius: float, center: Vector = (0.0, 0.0, 0.0)) -> Inertia:
    """A sphere."""
    moment = 0.4 * mass * radius * radius
    return Inertia(mass, center, diagonal(moment, moment, moment))


def bar(mass: float, radius: float, start: Vector, end: Vector) -> Inertia:
    """A cylinder from one point to another."""
    along = tuple(b - a for a, b in zip(start, end, strict=True))
    square = sum(x * x for x in along)
    across, change = mass * (3 * radius * radius + square) / 12, mass * (radius * radius / 4 - square / 12)
    rows = tuple(
        tuple(across * (i == j) + change * x * y / square for j, y in enumerate(along))
        for i, x in enumerate(along)
    )
    center = tuple((a + b) / 2 for a, b in zip(start, end, strict=True))
    return Inertia(mass, center, rows)


def diagonal(x: Any, y: Any, z: Any) -> tuple[Vector, Vector, Vector]:
    """The rows of a diagonal 3x3 matrix."""
    return ((x, 0, 0), (0, y, 0), (0, 0, z))
