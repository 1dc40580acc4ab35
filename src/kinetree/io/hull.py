"""The convex hull of points in space, by quickhull (Barber, Dobkin, Huhdanpaa 1996)."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
Faces = NDArray[np.intp]

_NEAR = 1e-13  # of the extent of the points: what lies this close to a plane lies in it


class FlatError(ValueError):
    """The points lie in one plane: their hull has no volume."""


def convex_hull(points: Points) -> Faces:
    """The triangles (m, 3) of the convex hull of `points` (n, 3), each counter-clockwise seen from outside.

    Raises:
        FlatError: all points lie in one plane.
    """
    near = _NEAR * float(np.ptp(points, axis=0).max(initial=0.0)) if len(points) else 0.0
    for coarser in (1, 100, 10_000):  # rounding may tear the surface where points are closer than it
        with suppress(KeyError):
            return _Hull(points, coarser * near).grow()
    raise FlatError


class _Hull:
    """A hull that grows point by point; each face keeps the points that lie outside of it."""

    def __init__(self, points: Points, near: float) -> None:
        self.points, self.near = points, near
        self.faces: dict[int, tuple[int, int, int]] = {}
        self.planes: dict[int, list[float]] = {}  # unit normal, offset
        self.outside: dict[int, Faces] = {}
        self.edges: dict[tuple[int, int], int] = {}  # directed edge -> the face to the left of it
        self.made = 0
        a, b, c, d = self._simplex()
        self._add([(a, b, c), (a, c, d), (a, d, b), (b, d, c)], np.arange(len(points)))

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

    def _add(self, faces: list[tuple[int, int, int]], points: Faces) -> None:
        """Add faces; each of `points` goes to the face that it is farthest outside of, if to any."""
        a, b, c = self.points[np.array(faces).T]
        normals = np.cross(b - a, c - a)
        sizes = np.sqrt((normals**2).sum(axis=1))
        normals /= np.where(sizes > 0, sizes, 1.0)[:, None]
        offsets = (normals * (a + b + c)).sum(axis=1) / 3
        numbers = range(self.made, self.made + len(faces))
        self.made += len(faces)
        for number, face, plane in zip(numbers, faces, np.c_[normals, offsets].tolist()):
            self.faces[number], self.planes[number] = face, plane
            i, j, k = face
            self.edges[i, j] = self.edges[j, k] = self.edges[k, i] = number
        heights = self.points[points] @ normals.T - offsets
        best = heights.argmax(axis=1)
        out = heights[np.arange(len(points)), best] > self.near
        points, best = points[out], best[out]
        order = best.argsort(kind="stable")
        owners, starts = np.unique(best[order], return_index=True)
        for owner, group in zip(owners.tolist(), np.split(points[order], starts[1:])):
            self.outside[numbers[owner]] = group

    def grow(self) -> Faces:
        while self.outside:
            first, waiting = next(iter(self.outside.items()))
            heights = self.points[waiting] @ self.planes[first][:3]
            self._include(int(waiting[heights.argmax()]), first)
        return np.array(list(self.faces.values()))

    def _include(self, point: int, first: int) -> None:
        """Replace the faces that `point` sees by those between it and their rim."""
        seen, rim = self._visible(point, first)
        left = [self.outside.pop(face) for face in seen if face in self.outside]
        for face in seen:
            i, j, k = self.faces.pop(face)
            del self.planes[face], self.edges[i, j], self.edges[j, k], self.edges[k, i]
        rest = np.concatenate(left)
        self._add([(a, b, point) for a, b in rim], rest[rest != point])

    def _visible(self, point: int, first: int) -> tuple[set[int], list[tuple[int, int]]]:
        """The faces that `point` is above or in the plane of, and the edges around them."""
        x, y, z = self.points[point].tolist()
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
        # a face may have been seen after an edge to it was taken for the rim
        return seen, [(a, b) for a, b in rim if self.edges[b, a] not in seen]
