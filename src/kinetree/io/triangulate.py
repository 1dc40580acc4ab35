"""Polygons in space, cut into triangles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinetree.model.hull import Points

_LARGE = 200  # polygons with more corners are taken as convex: ear clipping is quadratic


def triangles(points: Points, polygon: Sequence[int]) -> list[tuple[int, int, int]]:
    """The triangles of a polygon, which may be concave but must be flat.

    A polygon with four corners is cut along its shorter diagonal; others by ear clipping.
    """
    if len(polygon) < 3:
        return []
    if len(polygon) == 3:
        return [(polygon[0], polygon[1], polygon[2])]
    if len(polygon) == 4:
        a, b, c, d = polygon
        concave = _is_concave(points[list(polygon)])
        along, across = (((points[i] - points[j]) ** 2).sum() for i, j in ((a, c), (b, d)))
        if not concave:
            return [(a, b, c), (a, c, d)] if along < across else [(a, b, d), (b, c, d)]
    return _clip(points, list(polygon))


def _flat(corners: Points) -> Points:
    """The corners projected to the coordinate plane with the largest area, counter-clockwise."""
    normal = np.cross(corners - corners[0], np.roll(corners, -1, axis=0) - corners[0]).sum(axis=0)
    k = int(np.abs(normal).argmax())
    return corners[:, [(k + 1) % 3, (k + 2) % 3][:: 1 if normal[k] > 0 else -1]]


def _turns(flat: Points) -> Points:
    """Twice the signed area at each corner: negative where the polygon is concave."""
    before, after = flat - np.roll(flat, 1, axis=0), np.roll(flat, -1, axis=0) - flat
    return before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]


def _is_concave(corners: Points) -> bool:
    return bool(np.any(_turns(_flat(corners)) < 0))


def _clip(points: Points, polygon: list[int]) -> list[tuple[int, int, int]]:
    """Clip ears: corners whose triangle contains no other corner."""
    found: list[tuple[int, int, int]] = []
    while len(polygon) > 3:
        flat = _flat(points[polygon])
        turns = _turns(flat)
        count = len(polygon)
        if count > _LARGE or np.all(turns >= 0):  # convex: a fan
            return found + [(polygon[0], polygon[k], polygon[k + 1]) for k in range(1, count - 1)]
        ears = (k for k in range(count) if turns[k] > 0 and not _holds(flat, k))
        k = next(ears, int(turns.argmax()))
        found.append((polygon[k - 1], polygon[k], polygon[(k + 1) % count]))
        del polygon[k]
    return [*found, (polygon[0], polygon[1], polygon[2])]


def _holds(flat: Points, k: int) -> bool:
    """Whether another corner lies inside the triangle of corner k and its neighbours."""
    triangle = flat[[k - 1, k, (k + 1) % len(flat)]]
    rest = np.delete(flat, [(k - 1) % len(flat), k, (k + 1) % len(flat)], axis=0)
    sides = []
    for a, b in zip(triangle, np.roll(triangle, -1, axis=0)):
        sides.append((b[0] - a[0]) * (rest[:, 1] - a[1]) - (b[1] - a[1]) * (rest[:, 0] - a[0]))
    return bool(np.any(np.all(np.array(sides) > 0, axis=0)))
