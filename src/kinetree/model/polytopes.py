"""Shapes with faces: their extent along directions, and the separating face of two of them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.model.hull import FlatError, convex_hull
from kinetree.model.shapes import Box, Cylinder, Shape, Vertices
from kinetree.spatial import vector as vec
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Vector

CORNERED = (Box, Cylinder, Vertices)


@lru_cache(256)
def triangles(shape: Vertices) -> np.ndarray:
    """(m, 12): the unit normal and the three corners of each face of the hull of vertices.

    Raises:
        ModelError: the points lie in one plane.
    """
    points = np.array(shape.points)
    try:
        corners = points[convex_hull(points)]
    except FlatError:
        raise ModelError("vertices that lie in one plane cannot touch bodies: give them volume") from None
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return np.concatenate([normals, corners.reshape(-1, 9)], axis=1)


def reach(shape: Shape, n: Vector) -> Any:
    """The extent of a shape along a direction, in its own frame."""
    match shape:
        case Box():
            return _sum(h * ops.abs(x) for h, x in zip(shape.half_extents, n, strict=True))
        case Cylinder():
            across = ops.sqrt(ops.max(n[0] * n[0] + n[1] * n[1], 1e-300))
            return shape.half_length * ops.abs(n[2]) + shape.radius * across
        case Vertices():
            best = vec.dot(shape.points[0], n)
            for point in shape.points[1:]:
                best = ops.max(best, vec.dot(point, n))
            return best
    raise ModelError(f"a {shape.kind} has no faces")


def farthest(shape: Shape, n: Vector) -> Vector:
    """The point of a shape that is farthest along a direction, in its own frame."""
    match shape:
        case Box():
            signs = (ops.where(ops.less(x, 0.0), -h, h) for x, h in zip(n, shape.half_extents, strict=True))
            return tuple(signs)  # type: ignore[return-value]
        case Cylinder():
            across = shape.radius / ops.sqrt(ops.max(n[0] * n[0] + n[1] * n[1], 1e-300))
            up = ops.where(ops.less(n[2], 0.0), -shape.half_length, shape.half_length)
            return n[0] * across, n[1] * across, up
        case Vertices():
            best, place = vec.dot(shape.points[0], n), shape.points[0]
            for point in shape.points[1:]:
                along = vec.dot(point, n)
                is_more = ops.less(best, along)
                best = ops.where(is_more, along, best)
                place = tuple(ops.where(is_more, x, y) for x, y in zip(point, place, strict=True))
            return place  # type: ignore[return-value]
    raise ModelError(f"a {shape.kind} has no faces")


def extent(shape: Shape) -> float:
    """The smallest half size of a shape."""
    if isinstance(shape, Vertices):
        return 0.5 * float(np.ptp(np.array(shape.points), axis=0).min())
    return min(shape.size)


def widest(a: Shape, at: Pose, b: Shape, to: Pose) -> Vector:
    """The normal, out of the second shape, of the face of either shape with the largest separation."""
    gap, n = _faces(b, to, a, at)
    other, m = _faces(a, at, b, to)
    is_first = ops.less_equal(other, gap)
    return tuple(ops.where(is_first, x, -y) for x, y in zip(n, m, strict=True))  # type: ignore[return-value]


def _faces(a: Shape, at: Pose, b: Shape, to: Pose) -> tuple[Any, Vector]:
    """(gap, normal) of the face of the first shape that separates the second one most."""

    def separation(n: Any, offset: Any) -> tuple[Any, Vector]:
        out = vec.mat_vec(at.R, n)
        back = vec.neg(vec.mat_t_vec(to.R, out))
        return vec.dot(out, vec.sub(to.p, at.p)) - reach(b, back) - offset, out

    def better(best: Any, found: Any) -> Any:
        is_more = ops.less(best[0], found[0])
        normal = tuple(ops.where(is_more, x, y) for x, y in zip(found[1], best[1], strict=True))
        return ops.where(is_more, found[0], best[0]), normal

    if isinstance(a, Vertices):
        table = triangles(a)

        def turn(k: Any, gap: Any, *normal: Any) -> tuple:
            n, corner = (tuple(ops.lookup(table, k, c + 0.0) for c in range(i, i + 3)) for i in (0, 3))
            found = better((gap, normal), separation(n, vec.dot(n, corner)))  # type: ignore[arg-type]
            return k + 1.0, found[0], *found[1]

        zero = 0.0 * vec.dot(at.p, at.p) + 0.0 * vec.dot(to.p, to.p)
        _, gap, *normal = ops.repeat(len(table), turn, zero, zero - 1e30, zero, zero, zero + 1.0)
        return gap, (normal[0], normal[1], normal[2])
    units = [tuple(float(s) if k == m else 0.0 for m in range(3)) for k in range(3) for s in (1, -1)]
    if isinstance(a, Box):
        sides = [separation(n, a.half_extents[k // 2]) for k, n in enumerate(units)]
    else:
        assert isinstance(a, Cylinder)
        where = vec.mat_t_vec(at.R, vec.sub(to.p, at.p))
        square = where[0] * where[0] + where[1] * where[1]
        some = ops.less(1e-24, square)
        length = ops.sqrt(ops.where(some, square, 1.0))
        across = (ops.where(some, where[0] / length, 1.0), ops.where(some, where[1] / length, 0.0), 0.0)
        sides = [separation(n, a.half_length) for n in units[4:]] + [separation(across, a.radius)]
    best = sides[0]
    for found in sides[1:]:
        best = better(best, found)
    return best


def _sum(numbers: Any) -> Any:
    total: Any = 0.0
    for x in numbers:
        total = total + x
    return total
