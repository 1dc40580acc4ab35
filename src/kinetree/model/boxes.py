"""Box against box: the direction of least overlap, and the contact points along it.

The two faces that face each other are projected along that direction, as two parallelograms. The corners of
each are moved towards the middle of their intersection until they also lie in the other one. This gives eight
points that belong to both faces and move continuously with the boxes. A ninth point serves crossing edges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kinetree import ops
from kinetree.spatial import vector as vec
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Vector

POINTS = 9
_SKEW = 1e-6  # squared sine of the angle between edges below which they count as parallel
_EDGES = 0.002  # edge contact must reduce the overlap by this fraction of the smallest side
_ROUNDS = 3  # iterations of the search for the middle


class Overlap(NamedTuple):
    """How two boxes overlap."""

    depth: Any  # negative for boxes that are apart
    normal: Vector  # unit vector from the second to the first
    crossed: Any  # 1 where edges meet, else 0
    edges: tuple[Vector, Vector]  # their directions


class Side(NamedTuple):
    """The face of a box that faces the other one, projected along the normal: a parallelogram."""

    center: tuple[Any, Any]
    edges: tuple[tuple[Any, Any], tuple[Any, Any]]  # from the centre to the middle of two sides
    height: Any  # of the centre
    rise: tuple[Any, Any]  # of both edges

    def places(self) -> tuple[Callable, Callable]:
        """Two linear functions that are within [-1, 1] inside: of vectors (at=0) or of points (at=1)."""
        (a, b), (c, d) = self.edges
        scale = 1.0 / (a * d - b * c)

        def along(x: Any, y: Any, at: int) -> Any:
            return ((x - at * self.center[0]) * d - (y - at * self.center[1]) * c) * scale

        def across(x: Any, y: Any, at: int) -> Any:
            return ((y - at * self.center[1]) * a - (x - at * self.center[0]) * b) * scale

        return along, across

    def corners(self) -> list[tuple[Any, Any]]:
        """The four corners."""
        (a, b), (c, d) = self.edges
        x, y = self.center
        return [(x + s * a + t * c, y + s * b + t * d) for s, t in ((1, 1), (1, -1), (-1, -1), (-1, 1))]

    def height_at(self, x: Any, y: Any) -> Any:
        """The height of the face over a point."""
        along, across = self.places()
        return self.height + along(x, y, 1) * self.rise[0] + across(x, y, 1) * self.rise[1]


def columns(R: Any) -> tuple[Vector, Vector, Vector]:
    """The axes of a frame."""
    return tuple(zip(*R, strict=True))  # type: ignore[return-value]


def overlap(half: Vector, at: Pose, other: Vector, to: Pose) -> Overlap:
    """The direction of least overlap, among the face normals and edge directions of two boxes."""
    apart = vec.sub(at.p, to.p)
    mine, theirs = columns(at.R), columns(to.R)
    cosines = [[vec.dot(a, b) for b in theirs] for a in mine]
    size = [ops.abs(vec.dot(apart, a)) for a in mine]
    sides = [(half[i] + _sum(other[j] * ops.abs(cosines[i][j]) for j in range(3)) - size[i], mine[i])
             for i in range(3)]  # fmt: skip
    size = [ops.abs(vec.dot(apart, b)) for b in theirs]
    sides += [(other[j] + _sum(half[i] * ops.abs(cosines[i][j]) for i in range(3)) - size[j], theirs[j])
              for j in range(3)]  # fmt: skip
    depth, normal = sides[0]
    for d, axis in sides[1:]:
        is_less = ops.less(d, depth)
        depth, normal = ops.where(is_less, d, depth), _chosen(is_less, axis, normal)
    crossed, edges = 0.0, (mine[0], theirs[1])
    margin = _EDGES * min(*half, *other)
    for i in range(3):
        for j in range(3):
            axis = vec.cross(mine[i], theirs[j])
            square = vec.dot(axis, axis)
            skew = ops.less(_SKEW, square)
            axis = vec.scale(axis, 1.0 / ops.sqrt(ops.where(skew, square, 1.0)))
            reach = _sum(half[k] * ops.abs(vec.dot(mine[k], axis)) for k in range(3) if k != i)
            reach = reach + _sum(other[k] * ops.abs(vec.dot(theirs[k], axis)) for k in range(3) if k != j)
            d = reach - ops.abs(vec.dot(apart, axis))
            bound = ops.where(ops.less(0.5, crossed), depth, depth - margin)
            is_less = ops.less(ops.where(skew, d, 1e30), bound)
            depth, normal = ops.where(is_less, d, depth), _chosen(is_less, axis, normal)
            crossed = ops.where(is_less, 1.0, crossed)
            edges = _chosen(is_less, mine[i], edges[0]), _chosen(is_less, theirs[j], edges[1])
    sign = ops.where(ops.less(vec.dot(normal, apart), 0.0), -1.0, 1.0)
    return Overlap(depth, vec.scale(normal, sign), crossed, edges)


def touching(half: Vector, at: Pose, other: Vector, to: Pose) -> list[tuple[Any, Vector, Vector]]:
    """(gap, normal, point) of the nine contact points of two boxes."""
    found = overlap(half, at, other, to)
    n = found.normal
    (c, e, f), (d, g, h) = _face(half, at, n, -1.0), _face(other, to, n, 1.0)
    x = vec.sub(e, vec.scale(n, vec.dot(e, n)))
    x = vec.scale(x, 1.0 / ops.sqrt(vec.dot(x, x)))
    axes = (x, vec.cross(n, x))
    a, b = _side(c, e, f, axes, n), _side(d, g, h, axes, n)
    middle = _middle(a, b)
    points = []
    for own, outer in ((a, b), (b, a)):
        for corner in own.corners():
            u, v = _drawn(corner, middle, outer)
            top, bottom = a.height_at(u, v), b.height_at(u, v)
            gap = ops.max(top - bottom, -found.depth)
            points.append((gap, n, _lifted((u, v), 0.5 * (top + bottom), axes, n)))
    crossing = _crossing(half, at, other, to, found)
    return [*points, (ops.where(ops.less(0.5, found.crossed), -found.depth, 1.0), n, crossing)]


def _face(half: Vector, at: Pose, n: Vector, sign: float) -> tuple[Vector, Vector, Vector]:
    """The centre and the two half edges of the face whose outward normal is nearest to sign n."""
    mine = columns(at.R)
    along = [vec.dot(axis, n) for axis in mine]
    sizes = [ops.abs(x) for x in along]
    first = ops.less_equal(ops.max(sizes[1], sizes[2]), sizes[0])
    second = ops.less_equal(sizes[2], sizes[1])
    arms = [vec.scale(axis, h) for axis, h in zip(mine, half, strict=True)]

    def pick(i: int, j: int, k: int) -> Vector:
        return _chosen(first, arms[i], _chosen(second, arms[j], arms[k]))

    out = pick(0, 1, 2)
    side = ops.where(ops.less(vec.dot(out, n), 0.0), -sign, sign)
    return vec.add(at.p, vec.scale(out, side)), pick(1, 2, 0), pick(2, 0, 1)


def _side(center: Vector, e: Vector, f: Vector, axes: Any, n: Vector) -> Side:
    flat = [(vec.dot(x, axes[0]), vec.dot(x, axes[1])) for x in (center, e, f)]
    return Side(flat[0], (flat[1], flat[2]), vec.dot(center, n), (vec.dot(e, n), vec.dot(f, n)))


def _lifted(place: Any, height: Any, axes: Any, n: Vector) -> Vector:
    flat = vec.add(vec.scale(axes[0], place[0]), vec.scale(axes[1], place[1]))
    return vec.add(flat, vec.scale(n, height))


def _middle(a: Side, b: Side) -> tuple[Any, Any]:
    """A point in the middle of the intersection of two parallelograms: of its chords along their edges."""
    x, y = _shared(a, b)
    places = (*a.places(), *b.places())
    for _ in range(_ROUNDS):
        for dx, dy in (*a.edges, *b.edges):
            low, high = -1e3, 1e3
            for place in places:
                start, slope = place(x, y, 1), place(dx, dy, 0)
                slope = ops.where(ops.less(ops.abs(slope), 1e-9), 1e-9, slope)
                one, two = (-1.0 - start) / slope, (1.0 - start) / slope
                low, high = ops.max(low, ops.min(one, two)), ops.min(high, ops.max(one, two))
            half = ops.max(-1.0, ops.min(0.5 * (low + high), 1.0))  # beyond only if there is no intersection
            x, y = x + half * dx, y + half * dy
    return x, y


def _shared(a: Side, b: Side) -> tuple[Any, Any]:
    """The mean of the corners of the intersection of two parallelograms."""
    count, x, y = 1e-9, 0.5e-9 * (a.center[0] + b.center[0]), 0.5e-9 * (a.center[1] + b.center[1])
    for own, outer in ((a, b), (b, a)):
        corners, places = own.corners(), outer.places()
        at = [[place(*corner, 1) for place in places] for corner in corners]
        found = [(corner, ops.max(ops.abs(f), ops.abs(g))) for corner, (f, g) in zip(corners, at)]
        if own is a:  # where edges cross
            for k in range(4):
                (px, py), (qx, qy) = corners[k], corners[(k + 1) % 4]
                for m, side in ((0, -1.0), (0, 1.0), (1, -1.0), (1, 1.0)):
                    start, end = at[k], at[(k + 1) % 4]
                    slope = end[m] - start[m]
                    t = (side - start[m]) / ops.where(ops.less(ops.abs(slope), 1e-9), 1.0, slope)
                    other = start[1 - m] + t * (end[1 - m] - start[1 - m])
                    beyond = ops.max(ops.abs(2.0 * t - 1.0), ops.abs(other))
                    beyond = ops.where(ops.less(ops.abs(slope), 1e-9), 2.0, beyond)
                    found.append(((px + t * (qx - px), py + t * (qy - py)), beyond))
        for (u, v), beyond in found:
            w = ops.where(ops.less(beyond, 1.0 + 1e-9), 1.0, 0.0)
            count, x, y = count + w, x + w * u, y + w * v
    return x / count, y / count


def _drawn(corner: tuple[Any, Any], middle: tuple[Any, Any], into: Side) -> tuple[Any, Any]:
    """A corner, moved towards the middle until it lies in the other parallelogram."""
    dx, dy = corner[0] - middle[0], corner[1] - middle[1]
    t: Any = 1.0
    for place in into.places():
        start, slope = place(*middle, 1), place(dx, dy, 0)
        ahead = ops.where(ops.less(slope, 0.0), -start, start)
        t = ops.min(t, ops.max(0.0, 1.0 - ahead) / ops.max(ops.abs(slope), 1e-9))
    return middle[0] + t * dx, middle[1] + t * dy


def _crossing(half: Vector, at: Pose, other: Vector, to: Pose, found: Overlap) -> Vector:
    """The point midway between the two crossing edges."""
    n, (u, v) = found.normal, found.edges
    p, q = _extreme(half, at, n, -1.0), _extreme(other, to, n, 1.0)
    w, uv = vec.sub(p, q), vec.dot(u, v)
    area = 1.0 - uv * uv
    area = ops.where(ops.less(_SKEW, area), area, 1.0)
    wu, wv = vec.dot(w, u), vec.dot(w, v)
    here = vec.add(p, vec.scale(u, (uv * wv - wu) / area))
    there = vec.add(q, vec.scale(v, (wv - uv * wu) / area))
    return vec.scale(vec.add(here, there), 0.5)


def _extreme(half: Vector, at: Pose, n: Vector, sign: float) -> Vector:
    """The point of a box that is farthest along sign n; the middle of an edge perpendicular to n."""
    point = at.p
    for axis, h in zip(columns(at.R), half, strict=True):
        along = vec.dot(axis, n)
        side = ops.where(ops.less(along, -1e-9), -sign * h, ops.where(ops.less(1e-9, along), sign * h, 0.0))
        point = vec.add(point, vec.scale(axis, side))
    return point


def _chosen(truth: Any, a: Vector, b: Vector) -> Vector:
    return tuple(ops.where(truth, x, y) for x, y in zip(a, b, strict=True))  # type: ignore[return-value]


def _sum(numbers: Any) -> Any:
    total: Any = 0.0
    for x in numbers:
        total = total + x
    return total
