"""Distances between shapes: gaps, normals and closest points.

Everything is written for numbers of any kind, without branches on them, so it can be traced. A gap is
negative where shapes overlap: the depth of the deepest point below the surface of the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.model.boxes import overlap
from kinetree.model.polytopes import farthest, reach, triangles, widest
from kinetree.model.shapes import Box, Capsule, Cylinder, Point, Shape, Sphere, Vertices
from kinetree.spatial import vector as vec
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Vector

ROUND = (Point, Sphere, Capsule)  # balls around a point or a line
_NONE = 1e-300  # a square below which a vector has no direction
_GOLDEN = 0.6180339887498949
_TURNS = 100  # alternating projections between two solids
_STEPS = 64  # golden-section steps; each shrinks the interval by _GOLDEN


class Closest(NamedTuple):
    """The closest points of two shapes, in the axes in which the shapes are placed."""

    gap: Any  # m
    normal: Vector  # unit vector from the second to the first
    point: Vector  # of the surface of the first
    other: Vector  # of the surface of the second


def between(a: Shape, at: Pose, b: Shape, to: Pose) -> Closest:
    """The closest points of two shapes at their poses; where they overlap, the deepest ones.

    Exact for points, spheres and capsules, against each other and against other shapes; also for boxes,
    cylinders and vertices that overlap along a face normal, and for two boxes that overlap across two edges.
    Other solids that are apart: accurate to about 1e-9 of their distance, unless they are nearly parallel.

    Raises:
        ModelError: vertices that lie in a plane.
    """
    if isinstance(a, ROUND) and isinstance(b, ROUND):
        return next_to(line_of(a, at), radius_of(a), line_of(b, to), radius_of(b))
    if isinstance(a, ROUND):
        return _on_solid(a, at, b, to)
    if isinstance(b, ROUND):
        gap, normal, point, other = _on_solid(b, to, a, at)
        return Closest(gap, vec.neg(normal), other, point)
    return _solids(a, at, b, to)


def _solids(a: Shape, at: Pose, b: Shape, to: Pose) -> Closest:
    """Two solids: by alternating projections if they are apart, else by the face of least depth."""
    if isinstance(a, Box) and isinstance(b, Box):
        found = overlap(a.half_extents, at, b.half_extents, to)
        n, deep = found.normal, found.depth
    else:
        n = widest(a, at, b, to)
        deep = reach(a, vec.neg(vec.mat_t_vec(at.R, n))) + reach(b, vec.mat_t_vec(to.R, n))
        deep = deep - vec.dot(n, vec.sub(at.p, to.p))

    def onto(shape: Shape, pose: Pose, x: Vector) -> Vector:
        gap, normal = outside(shape, vec.mat_t_vec(pose.R, vec.sub(x, pose.p)))
        return vec.sub(x, vec.scale(vec.mat_vec(pose.R, normal), ops.max(gap, 0.0)))

    def turn(x: Any, y: Any, z: Any) -> Vector:
        return onto(a, at, onto(b, to, (x, y, z)))

    zero = 0.0 * deep
    start = turn(*(zero + x for x in at.p))
    here: Vector = ops.repeat(_TURNS, turn, *start)
    there = onto(b, to, here)
    gap, normal = _length(vec.sub(here, there))
    low = vec.add(at.p, vec.mat_vec(at.R, farthest(a, vec.neg(vec.mat_t_vec(at.R, n)))))
    is_apart = ops.less(deep, 0.0)
    under = vec.add(low, vec.scale(n, deep))
    pairs = ((normal, n), (here, low), (there, under))
    chosen = [tuple(ops.where(is_apart, x, y) for x, y in zip(*pair, strict=True)) for pair in pairs]
    return Closest(ops.where(is_apart, gap, -deep), *chosen)  # type: ignore[arg-type]


def outside(shape: Shape, point: Vector) -> tuple[Any, Vector]:
    """(gap, normal) of a point relative to a shape, in the frame of the shape, as `Ground.at` gives them."""
    x, y, z = point
    match shape:
        case Point() | Sphere():
            gap, normal = _length(point)
            return gap - radius_of(shape), normal
        case Capsule():
            gap, normal = _length((x, y, z - clamped(z, shape.half_length)))
            return gap - shape.radius, normal
        case Box():
            return _cornered(point, shape.half_extents)
        case Cylinder():
            across, (u, v, _) = _length((x, y, 0.0))
            gap, (out, _, up) = _cornered((across, 0.0, z), (shape.radius, 0.0, shape.half_length))
            return gap, (out * u, out * v, up)
        case Vertices():
            return _beside_hull(triangles(shape), point)
    raise ModelError(f"the distance of a point and a {shape.kind} is not known")


def _beside_hull(table: Any, point: Vector) -> tuple[Any, Vector]:
    """(gap, normal) of a point relative to a convex hull, by its triangles."""

    def turn(k: Any, height: Any, nx: Any, ny: Any, nz: Any, square: Any, x: Any, y: Any, z: Any) -> tuple:
        row = [ops.lookup(table, k, c + 0.0) for c in range(12)]
        n, a, b, c = (tuple(row[i : i + 3]) for i in (0, 3, 6, 9))
        h = vec.dot(n, vec.sub(point, a))
        higher = ops.less(height, h)
        p = _on_triangle(point, h, n, a, b, c)
        apart = vec.sub(point, p)
        d = vec.dot(apart, apart)
        nearer = ops.less(d, square)
        normal = (ops.where(higher, new, old) for new, old in zip(n, (nx, ny, nz)))
        place = (ops.where(nearer, new, old) for new, old in zip(p, (x, y, z)))
        return k + 1.0, ops.max(height, h), *normal, ops.where(nearer, d, square), *place

    zero = 0.0 * (point[0] + point[1] + point[2])
    start = (zero, zero - 1e30, zero, zero, zero + 1.0, zero + 1e30, zero, zero, zero)
    _, height, nx, ny, nz, _, x, y, z = ops.repeat(len(table), turn, *start)
    gap, normal = _length(vec.sub(point, (x, y, z)))
    is_out = ops.less(0.0, height)
    chosen = tuple(ops.where(is_out, u, v) for u, v in zip(normal, (nx, ny, nz), strict=True))
    return ops.where(is_out, gap, height), chosen  # type: ignore[return-value]


def _on_triangle(point: Vector, h: Any, n: Any, a: Any, b: Any, c: Any) -> Vector:
    """The point of a triangle nearest to a point at height h above its plane."""
    best = vec.sub(point, vec.scale(n, h))
    square, is_in = 1e30, 1.0
    nearest = best
    for start, end in ((a, b), (b, c), (c, a)):
        edge, way = vec.sub(end, start), vec.sub(point, start)
        is_in = ops.where(ops.less(vec.dot(vec.cross(edge, way), n), 0.0), 0.0, is_in)
        t = ops.max(0.0, ops.min(vec.dot(way, edge) / vec.dot(edge, edge), 1.0))
        here = vec.add(start, vec.scale(edge, t))
        apart = vec.sub(point, here)
        d = vec.dot(apart, apart)
        nearer = ops.less(d, square)
        square = ops.where(nearer, d, square)
        nearest = tuple(ops.where(nearer, x, y) for x, y in zip(here, nearest))  # type: ignore[assignment]
    inside = ops.less(0.5, is_in)
    return tuple(ops.where(inside, x, y) for x, y in zip(best, nearest))  # type: ignore[return-value]


def _cornered(point: Vector, half: Any) -> tuple[Any, Vector]:
    """(gap, normal) of a point relative to a box; a side of zero length has no faces."""
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
    """The length of a vector and its direction; z for a zero vector."""
    square = vec.dot(a, a)
    some = ops.less(_NONE, square)
    length = ops.sqrt(ops.where(some, square, 1.0))
    up = (0.0, 0.0, 1.0)
    direction = tuple(ops.where(some, x / length, z) for x, z in zip(a, up, strict=True))
    return ops.where(some, length, 0.0), direction  # type: ignore[return-value]


def radius_of(shape: Shape) -> float:
    return shape.radius if isinstance(shape, (Sphere, Capsule)) else 0.0


def line_of(shape: Shape, pose: Pose) -> tuple[Vector, Vector | None]:
    """The centre of a round shape, and the vector from there to one of its ends."""
    if not isinstance(shape, Capsule):
        return pose.p, None
    return pose.p, vec.scale(tuple(row[2] for row in pose.R), shape.half_length)  # type: ignore[arg-type]


def clamped(x: Any, most: float = 1.0) -> Any:
    return ops.max(-most, ops.min(x, most))


def along_line(line: tuple[Vector, Vector | None], s: Any) -> Vector:
    return line[0] if line[1] is None else vec.add(line[0], vec.scale(line[1], s))


def next_to(a: Any, radius: float, b: Any, other: float) -> Closest:
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
        s = ops.where(crossed, clamped((uv * va - ua * vv) / ops.where(crossed, area, 1.0)), 0.0)
        t = clamped((uv * s + va) / vv)
        s = clamped((t * uv - ua) / uu)
        t = clamped((uv * s + va) / vv)
    elif u is not None:
        s = clamped(-vec.dot(u, apart) / vec.dot(u, u))
    elif v is not None:
        t = clamped(vec.dot(v, apart) / vec.dot(v, v))
    here, there = along_line(a, s), along_line(b, t)
    length, normal = _length(vec.sub(here, there))
    point = vec.sub(here, vec.scale(normal, radius))
    return Closest(length - radius - other, normal, point, vec.add(there, vec.scale(normal, other)))


def _on_solid(a: Shape, at: Pose, b: Shape, to: Pose) -> Closest:
    """A round shape and a solid: the gap of a point is convex along the line of the round shape."""
    inner = to.inverse() @ at
    line, radius = line_of(a, inner), radius_of(a)
    s: Any = 0.0
    if line[1] is not None:
        s = _lowest(lambda x: outside(b, along_line(line, x))[0])
    here = along_line(line, s)
    gap, normal = outside(b, here)
    point, other = vec.sub(here, vec.scale(normal, radius)), vec.sub(here, vec.scale(normal, gap))
    return Closest(gap - radius, vec.mat_vec(to.R, normal), to.apply(point), to.apply(other))


def _lowest(height: Any) -> Any:
    """The minimiser of a convex function in [-1, 1], by golden-section search."""

    def narrower(low: Any, high: Any) -> tuple[Any, Any]:
        step = _GOLDEN * (high - low)
        left, right = high - step, low + step
        is_left = ops.less_equal(height(left), height(right))
        return ops.where(is_left, low, left), ops.where(is_left, right, high)

    start = ops.min(ops.abs(height(0.0)), 0.0)  # zero, but an expression in a trace, so a loop is recorded
    low, high = ops.repeat(_STEPS, narrower, start - 1.0, start + 1.0)
    return 0.5 * (low + high)
