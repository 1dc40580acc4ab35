"""Grounds: a plane, or heights over a grid."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.model.validate import numbers, shown
from kinetree.spatial import vector as vec
from kinetree.spatial.vector import Vector

if TYPE_CHECKING:
    from kinetree.model.model import Model

_MOST = 1 << 26  # most heights of a field
_ROUNDING = 2.3e-16  # a normal whose length differs from 1 by less stays as it is


@dataclass(frozen=True)
class Ground:
    """A plane: the points x with normal . x = height.

    Args:
        normal: pointing out of the ground, in world axes; its length does not matter.
        height: of the plane along its normal, above the world origin, m.
    """

    normal: Any = (0.0, 0.0, 1.0)
    height: float = 0.0

    def __post_init__(self) -> None:
        normal = _plain(self.normal, 3, "Ground: normal")
        length = math.hypot(*normal)
        if not 0 < length < math.inf:
            raise ModelError(f"Ground: normal is {shown(self.normal)}: it needs a direction")
        if abs(length - 1.0) > _ROUNDING:
            normal = tuple(x / length for x in normal)
        object.__setattr__(self, "normal", normal)
        object.__setattr__(self, "height", _plain((self.height,), 1, "Ground: height")[0])

    def at(self, point: Vector, heights: Any = None) -> tuple[Any, Vector]:
        """(gap, normal) at a point of the world: its distance above the ground, and the upward normal."""
        return vec.dot(self.normal, point) - self.height, self.normal


@dataclass(frozen=True)
class NoGround:
    """No ground: bodies touch only each other."""


class Heightfield:
    """Heights over a grid in the plane z = 0, with bilinear interpolation.

    Beyond its edges the ground continues level, at the height of the edge.

    Args:
        array: (nx, ny) heights, m: array[i, j] is the height at x = x0 + i dx, y = y0 + j dy.
        spacing: dx and dy, or one number for both, m.
        origin: (x0, y0), or (x0, y0, z0) to raise it all; None puts the middle of the grid over the origin.
    """

    __slots__ = ("array", "origin", "shape", "spacing")

    array: np.ndarray
    shape: tuple[int, int]
    spacing: tuple[float, float]
    origin: tuple[float, float, float]

    def __init__(self, array: Any, spacing: Any, origin: Any = None):
        heights = _heights(array)
        heights.flags.writeable = False
        steps = _plain(spacing if np.ndim(spacing) else (spacing, spacing), 2, "Heightfield: spacing")
        if not min(steps) > 0:
            raise ModelError(f"Heightfield: spacing is {shown(spacing)}: it must be positive")
        if origin is None:
            origin = tuple(-0.5 * (n - 1) * step for n, step in zip(heights.shape, steps))
        given = tuple(origin) if np.ndim(origin) == 1 else origin
        count = len(given) if isinstance(given, tuple) and len(given) == 3 else 2
        place = (*_plain(given, count, "Heightfield: origin"), 0.0)[:3]
        own = {"array": heights, "shape": heights.shape, "spacing": steps, "origin": place}
        for name, value in own.items():
            object.__setattr__(self, name, value)

    def at(self, point: Vector, heights: Any = None) -> tuple[Any, Vector]:
        """(gap, normal) at a point of the world: (z - h) n_z, and the unit normal below the point.

        Args:
            point: numbers of any kind.
            heights: replaces the array if that is an input of a program; None for the field's own array.
        """
        h, slopes = self.height(point[0], point[1], heights)
        along = 1.0 / ops.sqrt(1.0 + slopes[0] * slopes[0] + slopes[1] * slopes[1])
        return (point[2] - h) * along, (-slopes[0] * along, -slopes[1] * along, along)

    def height(self, x: Any, y: Any, heights: Any = None) -> tuple[Any, tuple[Any, Any]]:
        """The height at a point, and its slopes along x and y."""
        table = self.array if heights is None else heights
        (i, s, in_x), (j, t, in_y) = (self._cell(place, k) for k, place in enumerate((x, y)))
        a, b = ops.lookup(table, i, j), ops.lookup(table, i + 1.0, j)
        c, d = ops.lookup(table, i, j + 1.0), ops.lookup(table, i + 1.0, j + 1.0)
        along_x, along_y = (b - a) * (1.0 - t) + (d - c) * t, (c - a) * (1.0 - s) + (d - b) * s
        h = a + (b - a) * s + (c - a) * t + (a - b - c + d) * (s * t) + self.origin[2]
        return h, (in_x * along_x / self.spacing[0], in_y * along_y / self.spacing[1])

    def _cell(self, x: Any, k: int) -> tuple[Any, Any, Any]:
        """The cell of a coordinate, the position within it, and 1 if it is on the grid, else 0."""
        last = self.shape[k] - 1.0
        u = (x - self.origin[k]) * (1.0 / self.spacing[k])
        on = ops.where(ops.less(u, 0.0), 0.0, ops.where(ops.less(last, u), 0.0, 1.0))
        inside = ops.max(0.0, ops.min(u, last))
        cell = ops.min(ops.floor(inside), last - 1.0)
        return cell, inside - cell, on

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Heightfield does not change: make another one with another {name}")

    @property
    def _content(self) -> tuple:
        return self.shape, self.spacing, self.origin, self.array.tobytes()

    def __eq__(self, other: object) -> bool:
        return other is self or (isinstance(other, Heightfield) and self._content == other._content)

    def __hash__(self) -> int:
        return hash((self.shape, self.spacing, self.origin))

    def __reduce__(self) -> tuple:
        return Heightfield, (self.array, self.spacing, self.origin)

    def __repr__(self) -> str:
        nx, ny = self.shape
        low, high = float(self.array.min()) + self.origin[2], float(self.array.max()) + self.origin[2]
        x, y = self.spacing
        facts = f"{nx} x {ny} heights from {low:.4g} to {high:.4g} m, spacing {x:.4g} x {y:.4g} m"
        return f"<Heightfield: {facts}, {self._digest}>"

    @property
    def _digest(self) -> str:
        """A short digest of the contents, which keeps kernels for different fields apart."""
        facts = repr(self._content[:3]).encode()
        return hashlib.sha256(facts + self._content[3]).hexdigest()[:20]


def refuse_no_ground(ground: Any, owner: str) -> Ground | Heightfield:
    """The ground, checked to be one."""
    if not isinstance(ground, Ground | Heightfield):
        raise ModelError(f"{owner}: ground must be a Ground or a Heightfield, got {shown(ground)}")
    return ground


def changed_ground(model: Model, ground: Any) -> Ground | Heightfield | None:
    """The argument of `replace(ground=...)`, checked."""
    return None if ground is None else refuse_no_ground(ground, f"model '{model.name}': replace")


def _heights(array: Any) -> np.ndarray:
    try:
        heights = np.array(array, dtype=float, order="C")
    except (TypeError, ValueError):
        raise ModelError(f"Heightfield: {shown(array)} is not an array of numbers (nx, ny)") from None
    if heights.ndim != 2 or min(heights.shape) < 2:
        raise ModelError(
            f"Heightfield: the array has shape {heights.shape}: it must be (nx, ny), each at least 2"
        )
    if heights.size > _MOST:
        raise ModelError(f"Heightfield: {heights.size} heights are more than {_MOST}: take a coarser grid")
    if not np.isfinite(heights).all():
        raise ModelError("Heightfield: a height is not finite: fill the gaps of the array first")
    return heights


def _plain(values: Any, count: int, what: str) -> tuple[float, ...]:
    """`values` as `count` plain finite numbers."""
    found = numbers(values, count, what)
    for x in found:
        if not ops.is_literal(x):
            raise ModelError(f"{what} is {shown(values)}: it must be made of plain numbers")
    return tuple(map(float, found))
