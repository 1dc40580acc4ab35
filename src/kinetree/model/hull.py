"""The convex hull of points in space, by quickhull (Barber, Dobkin, Huhdanpaa 1996)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from math import sqrt

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
Faces = NDArray[np.intp]

Plane = tuple[float, float, float, float]  # unit normal, offset

_FEW = 300  # points times planes above which arrays are faster than loops
_MANY = 300  # points above which `outermost` searches along directions instead
_WAYS = 256  # number of such directions
_CHUNK = 4096  # points processed together
_NEAR = 1e-13  # points within this fraction of the extent from a plane lie in it


class FlatError(ValueError):
    """The points lie in one plane: their hull has no volume."""


def convex_hull(points: Points) -> Faces:
    """The triangles (m, 3) of the convex hull of `points` (n, 3), each counter-clockwise seen from outside.

    Raises:
        FlatError: all points lie in one plane.
    """
    near = _NEAR * float(np.ptp(points, axis=0).max(initial=0.0)) if len(points) else 0.0
    for coarser in (1, 100, 10_000):  # rounding may tear the surface where points are very close
        with suppress(KeyError):
            return _Hull(points, coarser * near).grow()
    raise FlatError


def corners(points: Points, most: int) -> Points:
    """At most `most` corners of the convex hull of `points`, each as far as possible from those before it."""
    return spread(outermost(points), most)


def outermost(points: Points) -> Points:
    """The corners of the convex hull of `points`; for many, the outermost ones along fixed directions."""
    if len(points) > _MANY:
        return np.unique(points[_ahead(points)], axis=0)
    found = np.unique(points, axis=0)
    return found[_extreme(found)]


def spread(points: Points, most: int) -> Points:
    """At most `most` of these points, each as far as possible from those before it."""
    if len(points) <= most:
        return points
    chosen = [int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmax())]
    distance = np.full(len(points), np.inf)
    while len(chosen) < most:
        np.minimum(distance, ((points - points[chosen[-1]]) ** 2).sum(axis=1), out=distance)
        chosen.append(int(distance.argmax()))
    return points[np.sort(chosen)]


def _ahead(points: Points) -> NDArray[np.intp]:
    """The indices of the points that are outermost along one of `_directions`."""
    ways = _directions().astype(np.float32)
    middle = points.mean(axis=0)
    best, found = np.full(_WAYS, -np.inf), np.zeros(_WAYS, np.intp)
    for first in range(0, len(points), _CHUNK):
        heights = ways @ (points[first : first + _CHUNK] - middle).astype(np.float32).T
        highest = heights.argmax(axis=1)
        reached = heights[np.arange(_WAYS), highest]
        found = np.where(reached > best, first + highest, found)
        best = np.maximum(reached, best)
    return np.unique(found)


def shortfall(points: Points, chosen: Points) -> float:
    """How far the hull of `points` extends beyond that of `chosen`, at most, along fixed directions."""
    return max(0.0, max(float((points @ way).max() - (chosen @ way).max()) for way in _directions()))


def _extreme(points: Points) -> list[int]:
    """The points that are corners of their hull, or of their outline if they lie in a plane or on a line."""
    if len(points) < 3:
        return list(range(len(points)))
    try:
        return np.unique(convex_hull(points)).tolist()
    except FlatError:
        _, sizes, axes = np.linalg.svd(points - points.mean(axis=0))
    if sizes[1] <= 1e-9 * sizes[0]:  # a line
        along = points @ axes[0]
        return sorted({int(along.argmin()), int(along.argmax())})
    apex = points.mean(axis=0) + axes[2] * sizes[0]  # the outline is the base of a pyramid
    try:
        found = np.unique(convex_hull(np.vstack([points, apex]))).tolist()
    except FlatError:
        return list(range(len(points)))
    return [k for k in found if k < len(points)]


def _directions() -> Points:
    """Unit vectors spread over the sphere: a Fibonacci lattice."""
    k = np.arange(_WAYS) + 0.5
    z, angle = 1 - 2 * k / _WAYS, np.pi * (1 + sqrt(5)) * k
    across = np.sqrt(1 - z * z)
    return np.stack([across * np.cos(angle), across * np.sin(angle), z], axis=1)


class _Hull:
    """A hull that grows point by point; each face keeps the points outside of it."""

    def __init__(self, points: Points, near: float) -> None:
        self.points, self.places, self.near = points, points.tolist(), near
        self.faces: dict[int, tuple[int, int, int]] = {}
        self.planes: dict[int, Plane] = {}
        self.outside: dict[int, list[int]] = {}
        self.edges: dict[tuple[int, int], int] = {}  # directed edge -> the face to the left of it
        self.made = 0
        a, b, c, d = self._simplex()
        self._add([(a, b, c), (a, c, d), (a, d, b), (b, d, c)], list(range(len(points))))

    def _simplex(self) -> tuple[int, int, int, int]:
        """Four points far from each other, the last one below the plane of the others."""
        P = self.points
        if len(P) < 4:
            raise FlatError
        ends = np.concatenate([P.argmin(axis=0), P.argmax(axis=0)])
        apart = ((P[ends][:, None] - P[ends][None]) ** 2).sum(axis=2)
        a, b = (int(ends[k]) for k in np.unravel_index(apart.argmax(), apart.shape))
        along = P[b] - P[a]
        across = np.cross(P - P[a], along)
        c = int((across**2).sum(axis=1).argmax())
        normal = np.cross(along, P[c] - P[a])
        size = float(np.linalg.norm(normal))
        if size <= self.near * float(np.linalg.norm(along)):
            raise FlatError
        heights = (P - P[a]) @ (normal / size)
        d = int(np.abs(heights).argmax())
        if abs(heights[d]) <= 10 * self.near:
            raise FlatError
        return (a, b, c, d) if heights[d] < 0 else (a, c, b, d)

    def _add(self, faces: list[tuple[int, int, int]], points: list[int]) -> None:
        """Add faces; each of `points` is assigned to the face it is farthest outside of, if any."""
        first = self.made
        self.made += len(faces)
        for number, face in enumerate(faces, first):
            i, j, k = face
            self.faces[number], self.planes[number] = face, _plane(*(self.places[c] for c in face))
            self.edges[i, j] = self.edges[j, k] = self.edges[k, i] = number
        planes = [self.planes[first + k] for k in range(len(faces))]
        share = self._by_loops if len(points) * len(faces) < _FEW else self._by_arrays
        for point, best in share(points, planes):
            self.outside.setdefault(first + best, []).append(point)

    def _by_loops(self, points: list[int], planes: list[Plane]) -> Iterator[tuple[int, int]]:
        """The points outside of a plane, each with the plane it is farthest from."""
        for point in points:
            x, y, z = self.places[point]
            farthest, best = self.near, -1
            for k, (u, v, w, offset) in enumerate(planes):
                height = u * x + v * y + w * z - offset
                if height > farthest:
                    farthest, best = height, k
            if best >= 0:
                yield point, best

    def _by_arrays(self, points: list[int], planes: list[Plane]) -> Iterator[tuple[int, int]]:
        """`_by_loops` for many points and planes."""
        some, P = np.array(points), np.array(planes)
        heights = self.points[some] @ P[:, :3].T - P[:, 3]
        best = heights.argmax(axis=1)
        out = heights[np.arange(len(some)), best] > self.near
        return zip(some[out].tolist(), best[out].tolist())

    def grow(self) -> Faces:
        while self.outside:
            first, waiting = next(iter(self.outside.items()))
            u, v, w, _ = self.planes[first]
            self._include(max(waiting, key=lambda k: _dot(self.places[k], u, v, w)), first)
        return np.array(list(self.faces.values()))

    def _include(self, point: int, first: int) -> None:
        """Replace the faces visible from `point` by those between it and their boundary."""
        seen, rim = self._visible(point, first)
        rest = [k for face in seen for k in self.outside.pop(face, ()) if k != point]
        for face in seen:
            i, j, k = self.faces.pop(face)
            del self.planes[face], self.edges[i, j], self.edges[j, k], self.edges[k, i]
        self._add([(a, b, point) for a, b in rim], rest)

    def _visible(self, point: int, first: int) -> tuple[set[int], list[tuple[int, int]]]:
        """The faces that `point` is above or in the plane of, and the edges around these faces."""
        x, y, z = self.places[point]
        seen, rim, stack = {first}, [], [first]
        while stack:
            i, j, k = self.faces[stack.pop()]
            for edge in ((i, j), (j, k), (k, i)):
                beyond = self.edges[edge[1], edge[0]]
                if beyond in seen:
                    continue
                u, v, w, offset = self.planes[beyond]
                if u * x + v * y + w * z - offset >= -self.near:
                    seen.add(beyond)
                    stack.append(beyond)
                else:
                    rim.append(edge)
        # a face may have been found visible after an edge to it was recorded as boundary
        return seen, [(a, b) for a, b in rim if self.edges[b, a] not in seen]


def _dot(place: list[float], u: float, v: float, w: float) -> float:
    return place[0] * u + place[1] * v + place[2] * w


def _plane(a: list[float], b: list[float], c: list[float]) -> Plane:
    """The plane through three points; they run counter-clockwise seen from the side of its normal."""
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    size = sqrt(x * x + y * y + z * z) or 1.0
    x, y, z = x / size, y / size, z / size
    middle = [(a[k] + b[k] + c[k]) / 3 for k in range(3)]
    return x, y, z, _dot(middle, x, y, z)
