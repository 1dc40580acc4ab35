"""Contact points of two shapes: a fixed number for each pair of shapes.

Points, normals and depths follow from the poses of both shapes alone. They are written for numbers of any
kind, without branches on them. Points that do not touch have a positive gap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kinetree import ops
from kinetree.model import boxes
from kinetree.model.distance import ROUND, along_line, between, clamped, line_of, next_to, outside, radius_of
from kinetree.model.polytopes import CORNERED, extent, reach, triangles, widest
from kinetree.model.shapes import Box, Capsule, Shape, Vertices, offset
from kinetree.spatial import vector as vec
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Vector

_PARALLEL = 1e-3  # squared sine of the angle between capsules below which their ends carry the contact
_RIM = 0.05  # points beyond the rim by less than this fraction of the smallest size of a shape rest on it


class Touch(NamedTuple):
    """One point at which two shapes can touch, in the axes in which the shapes are placed."""

    gap: Any  # m, negative where they overlap
    normal: Vector  # unit vector from the second to the first
    point: Vector  # midway between the two surfaces
    share: Any = 1.0  # of the stiffness of the pair

    def turned(self) -> Touch:
        """The same point with the two shapes swapped."""
        return self._replace(normal=vec.neg(self.normal))


def touches(a: Shape, at: Pose, b: Shape, to: Pose) -> list[Touch]:
    """The points at which two shapes can touch, as functions of their poses alone.

    Raises:
        ModelError: a shape without volume, such as vertices in a plane.
    """
    find, turned = _rule(a, b)
    if turned:
        return [touch.turned() for touch in find(b, to, a, at)]
    return find(a, at, b, to)


def count(a: Shape, b: Shape) -> int:
    """The number of points at which two shapes can touch.

    Raises:
        ModelError: a shape without volume, such as vertices in a plane.
    """
    for shape in (a, b):
        if isinstance(shape, Vertices):
            triangles(shape)
    find, _ = _rule(a, b)
    return _COUNTS[find] if find in _COUNTS else len(a.supports) + len(b.supports)


def _rule(a: Shape, b: Shape) -> tuple[Callable[..., list[Touch]], bool]:
    """The function that finds the points of two shapes, and True if it takes them in reverse order."""
    if isinstance(a, Capsule) and isinstance(b, Capsule):
        return _capsules, False
    for one, other, turned in ((a, b, False), (b, a, True)):
        if isinstance(one, Capsule) and isinstance(other, Box):
            return _capsule_on_box, turned
        if isinstance(one, Capsule) and isinstance(other, CORNERED):
            return _capsule, turned
    if isinstance(a, ROUND) or isinstance(b, ROUND):
        return _nearest, False
    if isinstance(a, Box) and isinstance(b, Box):
        return _boxes, False
    return _corners, False


def _nearest(a: Shape, at: Pose, b: Shape, to: Pose) -> list[Touch]:
    """A ball and any shape: their closest points."""
    gap, normal, point, other = between(a, at, b, to)
    return [Touch(gap, normal, vec.scale(vec.add(point, other), 0.5))]


def _boxes(a: Box, at: Pose, b: Box, to: Pose) -> list[Touch]:
    *faces, crossing = boxes.touching(a.half_extents, at, b.half_extents, to)
    return [*(Touch(*face, 0.5) for face in faces), Touch(*crossing)]


# -- capsules: the balls at their ends, and some in between


def _capsules(a: Capsule, at: Pose, b: Capsule, to: Pose) -> list[Touch]:
    """Two capsules: each end against the other capsule, and the closest points of their lines.

    For parallel capsules the last point is undetermined, so the ends alone carry the contact.
    """
    one: Any = line_of(a, at)
    other: Any = line_of(b, to)
    found = []
    for s in (-1.0, 1.0):
        here = (along_line(one, s), None)
        found.append(_of(next_to(here, a.radius, other, b.radius), 0.5))
        here = (along_line(other, s), None)
        found.append(_of(next_to(one, a.radius, here, b.radius), 0.5))
    u, v = vec.scale(one[1], 1.0 / a.half_length), vec.scale(other[1], 1.0 / b.half_length)
    across = vec.cross(u, v)
    square = vec.dot(across, across)
    return [*found, _of(next_to(one, a.radius, other, b.radius), square / (square + _PARALLEL))]


def _of(found: Any, share: Any) -> Touch:
    gap, normal, point, other = found
    return Touch(gap, normal, vec.scale(vec.add(point, other), 0.5), share)


def _capsule_on_box(a: Capsule, at: Pose, b: Box, to: Pose) -> list[Touch]:
    """Both ends, the ends of the part over the face below, and the point nearest to an edge."""
    inner = to.inverse() @ at
    line: Any = line_of(a, inner)
    p, u = line
    apart = [ops.abs(x) - h - ops.abs(y) for x, y, h in zip(p, u, b.half_extents, strict=True)]
    widest = ops.max(apart[0], ops.max(apart[1], apart[2]))
    low: Any = -1.0
    high: Any = 1.0
    for x, y, h, gap in zip(p, u, b.half_extents, apart, strict=True):
        level = ops.less(ops.abs(y), 1e-9 * a.half_length)
        slope = ops.where(level, 1.0, y)
        ends = (-h - x) / slope, (h - x) / slope
        free = ops.less_equal(0.5, ops.where(level, 1.0, ops.where(ops.less(gap, widest), 0.0, 1.0)))
        low = ops.where(free, low, ops.max(low, ops.min(*ends)))
        high = ops.where(free, high, ops.min(high, ops.max(*ends)))
    middle = clamped(0.5 * (low + high))
    low, high = ops.where(ops.less(low, high), low, middle), ops.where(ops.less(low, high), high, middle)
    found = [_ball(a, b, line, s, 0.5) for s in (-1.0, 1.0, low, high)]
    found.append(_ball(a, b, line, _over_edges(line, b), 1.0))
    return [_placed(touch, to) for touch in found]


def _over_edges(line: Any, b: Box) -> Any:
    """The place on a line that is nearest to one of the edges of a box."""
    best, place = None, None
    for k in range(3):
        edge = tuple(b.half_extents[k] if m == k else 0.0 for m in range(3))
        i, j = (m for m in range(3) if m != k)
        for x in (-1.0, 1.0):
            for y in (-1.0, 1.0):
                at = {k: 0.0, i: x * b.half_extents[i], j: y * b.half_extents[j]}
                s, gap = _meeting(line, ((at[0], at[1], at[2]), edge))
                nearer = True if best is None else ops.less(gap, best)
                best = gap if best is None else ops.where(nearer, gap, best)
                place = s if place is None else ops.where(nearer, s, place)
    return place


def _meeting(line: Any, other: Any) -> tuple[Any, Any]:
    """The place on a line that is nearest to another line, and the square of their distance."""
    found = next_to(line, 0.0, other, 0.0)
    way = vec.sub(found.point, line[0])
    apart = vec.sub(found.point, found.other)
    return vec.dot(way, line[1]) / vec.dot(line[1], line[1]), vec.dot(apart, apart)


def _capsule(a: Capsule, at: Pose, b: Shape, to: Pose) -> list[Touch]:
    """Both ends, and the point of the line nearest to the other shape."""
    inner = to.inverse() @ at
    line = line_of(a, inner)
    found = [_ball(a, b, line, s, 0.5) for s in (-1.0, 1.0)]
    nearest = between(a, inner, b, Pose.identity())
    return [_placed(touch, to) for touch in (*found, _of(nearest, 0.5))]


def _ball(a: Capsule, b: Shape, line: Any, s: Any, share: float) -> Touch:
    """A ball on the line of a capsule against a solid, in the frame of the solid."""
    center = along_line(line, s)
    gap, normal = outside(b, center)
    radius = radius_of(a)
    return Touch(gap - radius, normal, vec.sub(center, vec.scale(normal, 0.5 * (gap + radius))), share)


def _placed(touch: Touch, pose: Pose) -> Touch:
    return touch._replace(normal=vec.mat_vec(pose.R, touch.normal), point=pose.apply(touch.point))


# -- shapes with corners and rims


def _corners(a: Shape, at: Pose, b: Shape, to: Pose) -> list[Touch]:
    """The points of either shape against the opposing face of the other.

    The normal is that of the face with the largest separation. A point touches if it is below the face and
    not beyond its rim.
    """
    n = widest(a, at, b, to)
    here = _resting(a, at, b, to, n)
    there = [touch.turned() for touch in _resting(b, to, a, at, vec.neg(n))]
    return [*here, *there]


def _resting(a: Shape, at: Pose, b: Shape, to: Pose, n: Vector) -> list[Touch]:
    """The points of the first shape above the second one, with normal n."""
    margin = _RIM * extent(b)
    own = vec.mat_t_vec(at.R, n)
    inner = vec.mat_t_vec(to.R, n)
    level = vec.dot(n, to.p) + reach(b, inner)
    found = []
    for support in a.supports:
        point = at.apply(vec.add(support.position, offset(support.numbers, own)))
        height = vec.dot(n, point) - level
        below = vec.sub(vec.sub(point, vec.scale(n, height + margin)), to.p)
        beyond = outside(b, vec.mat_t_vec(to.R, below))[0]
        gap = ops.max(height, beyond - margin)
        found.append(Touch(gap, n, vec.sub(point, vec.scale(n, 0.5 * height)), 0.5))
    return found


_COUNTS = {_nearest: 1, _capsules: 5, _capsule_on_box: 5, _capsule: 3, _boxes: boxes.POINTS}
