"""The meshes that MuJoCo's compiler generates: `<mesh builtin= params=>`.

Convex shapes are returned as points, whose hull is taken later.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import cos, pi, sin, sqrt

import numpy as np

from kinetree.io.attributes import parse_numbers, shorten
from kinetree.io.polyhedra import Mesh, MeshError
from kinetree.io.xml import Element
from kinetree.model.hull import Points, convex_hull

_MOST = 200_000  # most points of a mesh
Faces = list[tuple[int, int, int]]


def builtin_mesh(element: Element) -> Mesh:
    """The mesh of the attributes `builtin` and `params`."""
    kind, params = element.get("builtin") or "", parse_numbers(element.get("params") or "")
    if kind not in _SHAPES:
        raise MeshError(f"there is no built-in mesh {shorten(kind)!r}")
    if isinstance(params, str):
        raise MeshError(f"params has {shorten(params)!r}, which is not a number")
    least, most, make = _SHAPES[kind]
    if not least <= len(params) <= most or params != params[:most]:
        raise MeshError(f"the built-in {kind} takes {least} numbers, not {len(params)}")
    points, faces = make(*params)
    return Mesh(np.array(points, dtype=float).reshape(-1, 3), np.array(faces, dtype=np.intp).reshape(-1, 3))


def is_surface(element: Element) -> bool:
    """Whether a built-in mesh is a surface without volume."""
    kind, params = element.get("builtin"), parse_numbers(element.get("params") or "")
    solid = kind in ("grid", "box", "cylinder", "ellipsoid")
    return kind in ("square", "disc") or (solid and len(params) == 7 and params[6] == 2)


def _count(value: float, least: int, most: int = 10_000) -> int:
    if value != int(value) or not least <= value <= most:
        raise MeshError(f"{value:g} is not a whole number from {least} to {most}")
    return int(value)


def _some(*counts: int) -> None:
    if np.prod(counts, dtype=float) > _MOST:
        raise MeshError(f"a built-in mesh may not have more than {_MOST} points")


def _sphere(divisions: float) -> tuple[Points, Faces]:
    """An icosahedron that is repeatedly subdivided and projected onto the unit sphere."""
    golden = (1 + sqrt(5)) / 2
    points = np.array([np.roll((0, a, b * golden), k) for a in (-1, 1) for b in (-1, 1) for k in range(3)])
    points /= np.linalg.norm(points[0])
    for _ in range(_count(divisions, 0, 4)):
        faces = convex_hull(points)
        edges = np.unique(np.sort(np.concatenate([faces[:, :2], faces[:, 1:], faces[:, ::2]])), axis=0)
        middles = points[edges].sum(axis=1)
        points = np.concatenate([points, middles / np.linalg.norm(middles, axis=1)[:, None]])
    return points, []


def _hemisphere(resolution: float) -> tuple[Points, Faces]:
    """Rings of 4, 8, 12, ... points between the pole and the equator, closed by the centre."""
    n = _count(resolution, 0, 10) + 1
    rings, points, faces = [[0]], [(0.0, 0.0, 1.0)], []
    for k in range(1, n + 1):
        quadrant = [np.array((k - i, i, n - k)) for i in range(k)]
        turned = [
            (cos(q * pi / 2) * x - sin(q * pi / 2) * y, sin(q * pi / 2) * x + cos(q * pi / 2) * y, z)
            for q in range(4)
            for x, y, z in (p / np.linalg.norm(p) for p in quadrant)
        ]
        rings.append([len(points) + i for i in range(4 * k)])
        points += turned
        inner, outer = rings[-2], rings[-1]
        for q, i in product(range(4), range(k)):
            a, b = outer[q * k + i], outer[(q * k + i + 1) % (4 * k)]
            c = inner[(q * (k - 1) + i) % len(inner)]
            faces.append((c, a, b))
            if i < k - 1:
                faces.append((c, b, inner[(q * (k - 1) + i + 1) % len(inner)]))
    rim, center = rings[-1], len(points)
    faces += [(rim[i], center, rim[(i + 1) % len(rim)]) for i in range(len(rim))]
    return np.array([*points, (0.0, 0.0, 0.0)]), faces


def _cone(edges: float, radius: float) -> tuple[Points, Faces]:
    if not 0 <= radius <= 1:
        raise MeshError(f"the radius {radius:g} is not between 0 and 1")
    angles = 2 * pi * np.arange(_count(edges, 3)) / edges
    circle = np.c_[np.cos(angles), np.sin(angles), -np.ones_like(angles)]
    top = circle * (radius, radius, -1.0) if radius else np.array([(0.0, 0.0, 1.0)])
    return np.concatenate([circle, top]), []


def _power(x: Points, exponent: float) -> Points:
    return np.sign(x) * np.abs(x) ** exponent


def _supersphere(resolution: float, e: float, n: float) -> tuple[Points, Faces]:
    k = _count(resolution, 3, 400)
    lat, lon = (pi * np.arange(1, k) / k - pi / 2)[:, None], 2 * pi * np.arange(k) / k - pi
    across, up = _power(np.cos(lat), n), _power(np.sin(lat), n)
    rings = np.stack([across * _power(np.cos(lon), e), across * _power(np.sin(lon), e), up + 0 * lon], 2)
    points = np.concatenate([[(0.0, 0.0, -1.0)], rings.reshape(-1, 3), [(0.0, 0.0, 1.0)]])
    faces, top = [], len(points) - 1
    for j in range(k):
        a, b = 1 + j, 1 + (j + 1) % k
        last = (k - 2) * k
        faces += [(0, b, a), (last + a, last + b, top)]
        for i in range(0, last, k):
            faces += [(i + a, i + b, i + k + a), (i + b, i + k + b, i + k + a)]
    return points, faces


def _supertorus(resolution: float, radius: float, s: float, t: float) -> tuple[Points, Faces]:
    k = _count(resolution, 3, 400)
    minor = 2 * pi * np.arange(k) / k
    major = minor[:, None]
    tube = 1 + radius * _power(np.cos(minor), s)
    ring = [tube * _power(np.cos(major), t), tube * _power(np.sin(major), t)]
    points = np.stack([*ring, radius * _power(np.sin(minor), s) + 0 * major], 2).reshape(-1, 3)
    faces = []
    for i, j in product(range(k), range(k)):
        a, c = i * k + j, i * k + (j + 1) % k
        b, d = ((x + k) % (k * k) for x in (a, c))
        faces += [(a, b, c), (b, d, c)]
    return points, faces


def _middles(count: int, gamma: float = 0.0) -> Points:
    """The midpoints of `count` cells of [-1, 1], which are smaller around zero if gamma > 0."""
    edges = np.linspace(-1, 1, count + 1)
    edges = (1 - gamma) * edges + gamma * edges**5
    return (edges[1:] + edges[:-1]) / 2


def _wedge(nphi: float, ntheta: float, phi: float, theta: float, gamma: float) -> tuple[Points, Faces]:
    counts = _count(nphi, 1), _count(ntheta, 1)
    _some(*counts)
    a = np.radians(phi) * _middles(counts[0], gamma)[:, None]
    b = np.radians(theta) * _middles(counts[1], gamma)
    points = np.stack([np.sin(a) * np.cos(b), np.sin(b) + 0 * a, -np.cos(a) * np.cos(b)], 2)
    return points.reshape(-1, 3), []


def _plate(nx: float, ny: float) -> tuple[Points, Faces]:
    counts = _count(nx, 1), _count(ny, 1)
    _some(*counts)
    points = [(x, y, -1.0) for x in _middles(counts[0]) for y in _middles(counts[1])]
    return np.array(points), _sheet(*counts)


def _sheet(nx: int, ny: int) -> Faces:
    """The triangles between the points of a flat lattice, with y as the fastest index."""
    quads = [(i * ny + j, (i + 1) * ny + j) for i in range(nx - 1) for j in range(ny - 1)]
    return [t for a, b in quads for t in ((a, b, b + 1), (a, b + 1, a + 1))]


def _lattice(shape: str, *numbers: float) -> tuple[Points, Faces]:
    """A lattice of points, mapped onto a cylinder or an ellipsoid; a surface open at the top if it is 2D."""
    flat = shape in ("square", "disc") or numbers[6:] == (2.0,)
    counts = [_count(n, 1) for n in numbers[:3]]
    _some(*counts)
    half = np.array(numbers[3:6]) * (np.array(counts) - 1) / 2
    axes = [np.linspace(-1, 1, n) if n > 1 else np.zeros(1) for n in counts]
    points = np.array(list(product(*axes)), dtype=float)
    if shape == "disc":  # as in MuJoCo, the radius is multiplied by the size twice
        raw = points * half
        away = np.hypot(raw[:, 0], raw[:, 1])
        turn = raw[:, :2] / np.where(away > 0, away, 1.0)[:, None]
        points = np.c_[turn * np.abs(raw[:, :2]).max(axis=1)[:, None], np.zeros(len(raw))]
    elif shape in ("cylinder", "ellipsoid"):
        round = points[:, : 2 if shape == "cylinder" else 3]
        length = np.linalg.norm(round, axis=1)
        round *= (np.abs(round).max(axis=1) / np.where(length > 0, length, 1.0))[:, None]
    if not flat:
        return points * half, []
    if shape in ("square", "disc", "grid"):
        return points * half, _sheet(counts[0], counts[1])
    faces = _tub(*counts)
    used, places = np.unique(faces, return_inverse=True)  # drop the points inside and on top
    return (points * half)[used], [(a, b, c) for a, b, c in places.reshape(-1, 3).tolist()]


def _tub(nx: int, ny: int, nz: int) -> Faces:
    """The triangles of the surface of a lattice, except those on top."""

    def at(i: int, j: int, k: int) -> int:
        return (i * ny + j) * nz + k

    quads = []
    for i, j in product(range(nx - 1), range(ny - 1)):
        quads.append((at(i, j, 0), at(i, j + 1, 0), at(i + 1, j + 1, 0), at(i + 1, j, 0)))
    for i, k in product(range(nx - 1), range(nz - 1)):
        quads.append((at(i, 0, k), at(i + 1, 0, k), at(i + 1, 0, k + 1), at(i, 0, k + 1)))
        y = ny - 1
        quads.append((at(i + 1, y, k), at(i, y, k), at(i, y, k + 1), at(i + 1, y, k + 1)))
    for j, k in product(range(ny - 1), range(nz - 1)):
        x = nx - 1
        quads.append((at(0, j + 1, k), at(0, j, k), at(0, j, k + 1), at(0, j + 1, k + 1)))
        quads.append((at(x, j, k), at(x, j + 1, k), at(x, j + 1, k + 1), at(x, j, k + 1)))
    return [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]


_SHAPES: dict[str, tuple[int, int, Callable[..., tuple[Points, Faces]]]] = {
    "sphere": (1, 1, _sphere),
    "hemisphere": (1, 1, _hemisphere),
    "cone": (2, 2, _cone),
    "supersphere": (3, 3, _supersphere),
    "supertorus": (4, 4, _supertorus),
    "wedge": (5, 5, _wedge),
    "plate": (2, 2, _plate),
    **{
        shape: (6, 7, lambda *numbers, shape=shape: _lattice(shape, *numbers))
        for shape in ("grid", "box", "cylinder", "ellipsoid")
    },
    **{
        shape: (6, 6, lambda *numbers, shape=shape: _lattice(shape, *numbers)) for shape in ("square", "disc")
    },
}
