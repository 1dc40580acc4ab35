"""How far shapes are from each other: gaps, normals and the points that are next to each other.

Everything is written for numbers of any kind, without branches on them, so that it can be traced. A gap is
negative where shapes overlap: how deep the deepest point is below the surface of the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.model.shapes import Box, Capsule, Cylinder, Point, Shape, Sphere
from kinetree.spatial import vector as vec
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Vector

ROUND = (Point, Sphere, Capsule)  # balls around a point or a line
SOLID = (Box, Cylinder)
_NONE = 1e-300  # a square below which a vector has no direction
_GOLDEN = 0.6180339887498949
_STEPS = 64  # of the search along a line, each of which leaves this share of it


class Closest(NamedTuple):
    """Where two shapes are next to each other, in the axes in which they are placed."""

    gap: Any  # m
    normal: Vector  # unit vector from the second to the first
    point: Vector  # of the surface of the first
    other: Vector  # of the surface of the second


def between(a: Shape, at: Pose, b: Shape, to: Pose) -> Closest:
    """The closest points of two shapes with their poses: points, spheres and capsules with each other, and
    any of these with a box or a cylinder.

    Raises:
        ModelError: two boxes, two cylinders, vertices.
    """
    if isinstance(a, ROUND) and isinstance(b, ROUND):
        return _round(_line(a, at), _radius(a), _line(b, to), _radius(b))
    if isinstance(a, ROUND) and isinstance(b, SOLID):
        return _on_solid(a, at, b, to)
    if isinstance(a, SOLID) and isinstance(b, ROUND):
        gap, normal, point, other = _on_solid(b, to, a, at)
        return Closest(gap, vec.neg(normal), other, point)
    raise ModelError(f"the distance of a {a.kind} and a {b.kind} is not known: use spheres and capsules")


def outside(shape: Shape, point: Vector) -> tuple[Any, Vector]:
    """(gap, normal) of a point and a shape, in the frame of the shape: as of a ground."""
    x, y, z = point
    match shape:
        case Point() | Sphere():
            gap, normal = _length(point)
            return gap - _radius(shape), normal
        case Capsule():
            gap, normal = _length((x, y, z - _between(z, shape.half_length)))
            return gap - shape.radius, normal
        case Box():
            return _cornered(point, shape.half_extents)
        case Cylinder():
            across, (u, v, _) = _length((x, y, 0.0))
            gap, (out, _, up) = _cornered((across, 0.0, z), (shape.radius, 0.0, shape.half_length))
            return gap, (out * u, out * v, up)
    raise ModelError(f"the distance of a point and a {shape.kind} is not known: use spheres and capsules")


def _cornered(point: Vector, half: Any) -> tuple[Any, Vector]:
    """(gap, normal) of a point and a box; a side of no length is one without faces."""
    signs = [ops.where(ops.less(x, 0.0), -1.0, 1.0) for x in point]
    beyond = [s * x - h if h else -1e300 for s, x, h in zip(signs, point, half, strict=True)]
    reach = [ops.max(d, 0.0) for d in beyond]
    out, (a, b, c) = _length((reach[0], reach[1], reach[2]))
    nearest = ops.max(beyond[0], ops.max(beyond[1], beyond[2]))
    first = ops.equal(beyond[0], nearest)
    second = ops.equal(beyond[1], nearest)
    faces = (
        ops.where(first, 1.0, 0.0),
        ops.where(first, 0.0, ops.where(second, 1.0, 0.0)),
        ops.where(first, 0.0, ops.where(second, 0.0, 1.0)),
    )
    is_out = ops.less(0.0, nearest)
    normal = (s * ops.where(is_out, n, f) for s, n, f in zip(signs, (a, b, c), faces, strict=True))
    return ops.where(is_out, out, nearest), tuple(normal)  # type: ignore[return-value]


def _length(a: Vector) -> tuple[Any, Vector]:
    """The length of a vector and its direction; z for one that has none."""
    square = vec.dot(a, a)
    some = ops.less(_NONE, square)
    length = ops.sqrt(ops.where(some, square, 1.0))
    up = (0.0, 0.0, 1.0)
    direction = tuple(ops.where(some, x / length, z) for x, z in zip(a, up, strict=True))
    return ops.where(some, length, 0.0), direction  # type: ignore[return-value]


def _radius(shape: Shape) -> float:
    return shape.radius if isinstance(shape, (Sphere, Capsule)) else 0.0


def _line(shape: Shape, pose: Pose) -> tuple[Vector, Vector | None]:
    """The middle of a round shape, and from there to one of its ends."""
    if not isinstance(shape, Capsule):
        return pose.p, None
    return pose.p, vec.scale(tuple(row[2] for row in pose.R), shape.half_length)  # type: ignore[arg-type]


def _between(x: Any, most: float = 1.0) -> Any:
    return ops.max(-most, ops.min(x, most))


def _along(line: tuple[Vector, Vector | None], s: Any) -> Vector:
    return line[0] if line[1] is None else vec.add(line[0], vec.scale(line[1], s))


def _round(a: Any, radius: float, b: Any, other: float) -> Closest:
    """Two balls around points or lines: the closest points of the lines (Ericson (2005), 5.1.9)."""
    (p, u), (q, v) = a, b
    apart = vec.sub(p, q)
    s: Any = 0.0
    t: Any = 0.0
    if u is not None and v is not None:
        uu, vv, uv = vec.dot(u, u), vec.dot(v, v), vec.dot(u, v)
        ua, va = vec.dot(u, apart), vec.dot(v, apart)
        area = uu * vv - uv * uv
        crossed = ops.less(1e-14 * (uu * vv), area)
        s = ops.where(crossed, _between((uv * va - ua * vv) / ops.where(crossed, area, 1.0)), 0.0)
        t = _between((uv * s + va) / vv)
        s = _between((t * uv - ua) / uu)
        t = _between((uv * s + va) / vv)
    elif u is not None:
        s = _between(-vec.dot(u, apart) / vec.dot(u, u))
    elif v is not None:
        t = _between(vec.dot(v, apart) / vec.dot(v, v))
    here, there = _along(a, s), _along(b, t)
    length, normal = _length(vec.sub(here, there))
    point = vec.sub(here, vec.scale(normal, radius))
    return Closest(length - radius - other, normal, point, vec.add(there, vec.scale(normal, other)))


def _on_solid(a: Shape, at: Pose, b: Shape, to: Pose) -> Closest:
    """A round shape and a solid one: the gap of a point is convex along the line of the round one."""
    inner = to.inverse() @ at
    line, radius = _line(a, inner), _radius(a)
    s: Any = 0.0
    if line[1] is not None:
        s = _lowest(lambda x: outside(b, _along(line, x))[0])
    here = _along(line, s)
    gap, normal = outside(b, here)
    point, other = vec.sub(here, vec.scale(normal, radius)), vec.sub(here, vec.scale(normal, gap))
    return Closest(gap - radius, vec.mat_vec(to.R, normal), to.apply(point), to.apply(other))


def _lowest(height: Any) -> Any:
    """Where in [-1, 1] a convex function is lowest, by golden sections."""

    def narrower(low: Any, high: Any) -> tuple[Any, Any]:
        step = _GOLDEN * (high - low)
        left, right = high - step, low + step
        is_left = ops.less_equal(height(left), height(right))
        return ops.where(is_left, low, left), ops.where(is_left, right, high)

    start = ops.min(ops.abs(height(0.0)), 0.0)  # zero, as an expression in a trace: a loop is recorded then
    low, high = ops.repeat(_STEPS, narrower, start - 1.0, start + 1.0)
    return 0.5 * (low + high)
