"""Contact shapes: plain values, each with the points at which it can touch a surface.

A shape has its centre at the origin of its own frame and its long axis along z. Convex shapes touch a plane,
or a ground that is flat at their scale, at finitely many points; `supports` lists these.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.model.hull import corners
from kinetree.model.validate import shown, unknown
from kinetree.spatial import vector as vec
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Vector

MOST = 256  # most points of one `Vertices`
_AROUND = 3  # points of a rim: equally stiff against tilting in all directions, however they are turned
_UPRIGHT = 1e-12  # squared sine of the tilt below which all points of a rim count as equally low
X_AXIS, Z_AXIS = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


class Rim(NamedTuple):
    """A circle: the place of a contact point on it depends on the normal of the surface."""

    axis: Vector  # unit vector along the axis of the circle
    start: Vector  # unit vector across, which places the points if the axis is along the normal
    radius: float  # of the circle, m
    angle: float  # of the point on the circle, from its lowest point, rad

    def moved(self, pose: Pose) -> Rim:
        """The same rim in another frame, in which the shape's frame has this pose."""
        return self._replace(axis=vec.mat_vec(pose.R, self.axis), start=vec.mat_vec(pose.R, self.start))

    @property
    def reach(self) -> tuple[float, float]:
        """The distances of the point from the centre: down, and aside."""
        aside = self.radius * math.sin(self.angle) if self.angle else 0.0
        return self.radius * math.cos(self.angle), aside


def offset(numbers: Sequence[Any], normal: Vector) -> Vector:
    """The vector from a support with these `numbers` to where it touches a surface with this normal."""
    radius, rim = numbers[3], tuple(numbers[4:])
    found = vec.scale(normal, -radius)
    return vec.add(found, _on_rim(rim[:3], rim[3:6], rim[6:], normal)) if rim else found


def _on_rim(axis: Any, start: Any, reach: tuple, normal: Vector) -> Vector:
    """A point of a circle, from its centre: `reach` down and aside, for a surface with this normal."""
    across = vec.sub(normal, vec.scale(axis, vec.dot(axis, normal)))
    square = vec.dot(across, across)
    tilted = ops.less(_UPRIGHT, square)
    length = ops.sqrt(ops.where(tilted, square, 1.0))
    down = tuple(-ops.where(tilted, a / length, b) for a, b in zip(across, start, strict=True))
    return vec.add(vec.scale(down, reach[0]), vec.scale(vec.cross(axis, down), reach[1]))  # type: ignore[arg-type]


class Support(NamedTuple):
    """A point of a shape that can touch: a point, the lowest one of a ball, or one of a rim."""

    position: Vector  # of the point, or of the centre of the ball or the rim
    radius: float = 0.0  # of the ball
    rim: Rim | None = None

    @property
    def numbers(self) -> tuple[Any, ...]:
        """All numbers that determine where it touches, in a flat tuple."""
        rim = () if self.rim is None else (*self.rim.axis, *self.rim.start, *self.rim.reach)
        return (*self.position, self.radius, *rim)

    def moved(self, pose: Pose) -> Support:
        """The same point in another frame, in which the present one has this pose."""
        rim = self.rim and self.rim.moved(pose)
        return Support(pose.apply(self.position), self.radius, rim)


class Shape:
    """The contact shape of a body: a value that compares and hashes by its sizes."""

    kind: ClassVar[str] = ""

    @property
    def size(self) -> tuple[float, ...]:
        """Radius; radius and half length; half extents; or the coordinates of all points, m."""
        raise NotImplementedError

    @classmethod
    def _of_size(cls, size: tuple[float, ...]) -> Shape | None:
        """The shape of this class with these numbers; None if their count is wrong."""
        raise NotImplementedError

    @property
    def supports(self) -> tuple[Support, ...]:
        """The points that can touch a surface, in the frame of the shape."""
        raise NotImplementedError


class _Sized(Shape):
    """A shape described by a few lengths, in the order of its fields."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, _length(value, f"{type(self).__name__}: {name}"))

    @property
    def size(self) -> tuple[float, ...]:
        return astuple(self)  # type: ignore[call-overload]

    @classmethod
    def _of_size(cls, size: tuple[float, ...]) -> Shape | None:
        return cls(*size) if len(size) == len(fields(cls)) else None  # type: ignore[arg-type]


@dataclass(frozen=True)
class Point(_Sized):
    """A single point: a foot without size."""

    kind: ClassVar[str] = "point"

    @property
    def supports(self) -> tuple[Support, ...]:
        return (Support(vec.ZERO),)


@dataclass(frozen=True)
class Sphere(_Sized):
    """A ball.

    Args:
        radius: m.
    """

    kind: ClassVar[str] = "sphere"
    radius: float

    @property
    def supports(self) -> tuple[Support, ...]:
        return (Support(vec.ZERO, self.radius),)


@dataclass(frozen=True)
class Capsule(_Sized):
    """A cylinder along z with hemispherical ends, which touches as two balls.

    Args:
        radius: m.
        half_length: from the centre to the centre of either ball, m.
    """

    kind: ClassVar[str] = "capsule"
    radius: float
    half_length: float

    @property
    def supports(self) -> tuple[Support, ...]:
        return tuple(Support((0.0, 0.0, z), self.radius) for z in (-self.half_length, self.half_length))


@dataclass(frozen=True)
class Cylinder(_Sized):
    """A cylinder along z. Each rim touches at its lowest point and at two more, a third of a turn away.

    It thus rolls smoothly on its side, stands on either end, and tips over the lowest point of its rim.

    Args:
        radius: m.
        half_length: from the centre to either end, m.
    """

    kind: ClassVar[str] = "cylinder"
    radius: float
    half_length: float

    @property
    def supports(self) -> tuple[Support, ...]:
        angles = [2 * math.pi * k / _AROUND for k in range(_AROUND)]
        rims = [Rim(Z_AXIS, X_AXIS, self.radius, angle) for angle in angles]
        ends = (-self.half_length, self.half_length)
        return tuple(Support((0.0, 0.0, z), 0.0, rim) for z in ends for rim in rims)


@dataclass(frozen=True)
class Box(Shape):
    """A cuboid, which touches at its eight corners.

    Args:
        half_extents: from the centre to the faces along x, y, z, m.
    """

    kind: ClassVar[str] = "box"
    half_extents: Any  # read as a tuple of floats

    def __post_init__(self) -> None:
        given = self.half_extents
        if isinstance(given, Iterable) and not isinstance(given, str):
            given = tuple(given)
        if not isinstance(given, tuple) or len(given) != 3:
            raise ModelError(f"Box: half_extents is {shown(given)}: it must be three lengths, in m")
        lengths = tuple(_length(x, "Box: half_extents") for x in given)
        object.__setattr__(self, "half_extents", lengths)

    @property
    def size(self) -> tuple[float, ...]:
        return self.half_extents

    @classmethod
    def _of_size(cls, size: tuple[float, ...]) -> Shape | None:
        return cls(size) if len(size) == 3 else None

    @property
    def supports(self) -> tuple[Support, ...]:
        x, y, z = self.half_extents
        return tuple(Support((a, b, c)) for c in (-z, z) for b in (-y, y) for a in (-x, x))


@dataclass(frozen=True)
class Vertices(Shape):
    """The convex hull of points, each of which can touch.

    Args:
        points: (n, 3), m; at most 256. `Vertices.hull` takes more and keeps the corners of their hull.
    """

    kind: ClassVar[str] = "vertices"
    points: Any  # read as tuples of floats

    def __post_init__(self) -> None:
        rows = _rows(self.points)
        if len(rows) > MOST:
            raise ModelError(
                f"Vertices: {len(rows)} points are more than {MOST}: give Vertices.hull(points), which keeps "
                "the outermost ones"
            )
        object.__setattr__(self, "points", tuple(map(tuple, rows.tolist())))

    @classmethod
    def hull(cls, points: Any, most: int = 64) -> Vertices:
        """The corners of the convex hull of any number of points; at most `most` of them.

        Corners are chosen one after the other, each as far as possible from those before it.
        """
        if isinstance(most, bool) or not isinstance(most, int) or not 4 <= most <= MOST:
            raise ModelError(f"Vertices.hull: most is {shown(most)}: it must be an integer from 4 to {MOST}")
        return cls(corners(_rows(points), most))

    @property
    def size(self) -> tuple[float, ...]:
        return tuple(x for point in self.points for x in point)

    @classmethod
    def _of_size(cls, size: tuple[float, ...]) -> Shape | None:
        return cls(np.reshape(size, (-1, 3))) if size and len(size) % 3 == 0 else None

    @property
    def supports(self) -> tuple[Support, ...]:
        return tuple(map(Support, self.points))

    def __repr__(self) -> str:
        count = len(self.points)
        return f"<Vertices: {count} point{'s' * (count != 1)}>"


SHAPES: dict[str, type[Shape]] = {
    shape.kind: shape for shape in (Point, Sphere, Capsule, Box, Cylinder, Vertices)
}


def shape_named(kind: Any, size: tuple[float, ...]) -> Shape:
    """The shape of a kind ("sphere", ...) with its `size`."""
    if not isinstance(kind, str) or kind not in SHAPES:
        raise unknown(kind, "shape", SHAPES, "shape")
    made = SHAPES[kind]._of_size(size)
    if made is None:
        raise ModelError(f"a {kind} cannot have {len(size)} number{'s' * (len(size) != 1)} as its size")
    return made


def _length(value: Any, what: str) -> float:
    """A positive length."""
    if isinstance(value, bool) or not ops.is_literal(value):
        raise ModelError(f"{what} is {shown(value)}: it must be a length in m, a plain number")
    if not (math.isfinite(value) and value > 0):
        raise ModelError(f"{what} is {value}: it must be a positive, finite length in m")
    return float(value)


def _rows(points: Any) -> np.ndarray:
    """Points as an array (n, 3) of finite numbers."""
    try:
        rows = np.asarray(points, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"Vertices: {shown(points)} is not an array of numbers (n, 3)") from None
    if rows.ndim != 2 or rows.shape[1] != 3 or not len(rows):
        raise ModelError(f"Vertices: the points have shape {rows.shape}: it must be (n, 3) with n at least 1")
    if not np.isfinite(rows).all():
        raise ModelError("Vertices: a coordinate is not finite")
    return rows
