"""Meshes for the tests, as arrays and as the bytes of files."""

from __future__ import annotations

import numpy as np


def box(a=0.3, b=0.2, c=0.1, at=(0.05, -0.1, 0.2)):
    corners = np.array([(x, y, z) for x in (-a, a) for y in (-b, b) for z in (-c, c)]) + at
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, np.array([t for p, q, r, s in quads for t in ((p, q, r), (p, r, s))])


def sphere(rows=8, radius=0.2, stretch=(1.0, 0.7, 1.3), at=(0.1, 0.2, -0.1)):
    """Rings of points between two poles."""
    columns = 2 * rows
    u, w = np.arange(1, rows) * np.pi / rows, np.arange(columns) * 2 * np.pi / columns
    ring = [(np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)) for a in u for b in w]
    points = np.concatenate([ring, [(0, 0, 1), (0, 0, -1)]]) * radius * np.array(stretch) + at
    top, bottom, faces = len(ring), len(ring) + 1, []
    for j in range(columns):
        k = (j + 1) % columns
        last = (rows - 2) * columns
        faces += [(top, j, k), (bottom, last + k, last + j)]
        for i in range(rows - 2):
            a, b, c, d = i * columns + j, (i + 1) * columns + j, (i + 1) * columns + k, i * columns + k
            faces += [(a, b, c), (a, c, d)]
    return points, np.array(faces)


def prism(outline, height=0.4, at=(0.2, 0.1, 0.3)):
    """A prism over a flat outline that is star-shaped from its middle."""
    n = len(outline)
    low = np.c_[outline, np.zeros(n)]
    middle = np.mean(outline, axis=0)
    points = np.concatenate([low, low + (0, 0, height), [(*middle, 0), (*middle, height)]]) + at
    faces = []
    for i in range(n):
        j = (i + 1) % n
        faces += [(i, j, n + j), (i, n + j, n + i), (2 * n, j, i), (2 * n + 1, n + i, n + j)]
    return points, np.array(faces)


def star():
    """A concave body: a prism over a long star with seven rays."""
    angles = np.arange(14) * np.pi / 7
    radii = np.where(np.arange(14) % 2, 0.1, 0.3)
    return prism(np.c_[1.4 * radii * np.cos(angles), radii * np.sin(angles)])


def torn():
    """A surface with holes."""
    points, faces = sphere()
    return points, np.delete(faces, slice(3, 40, 5), axis=0)


def flipped():
    points, faces = box()
    return points, faces[:, ::-1]


def mixed():
    """Some faces look inwards."""
    points, faces = star()
    return points, np.where(np.arange(len(faces))[:, None] % 5 == 0, faces[:, ::-1], faces)


def degenerate():
    """A body with triangles that have no area, and with points that no face has."""
    points, faces = sphere()
    more = np.concatenate([points, [points[0], points[0]]])
    return more, np.concatenate([faces, [(0, 0, 1), (2, 2, 2), (0, len(points), 5)]])


def thin():
    return box(0.3, 0.2, 1e-4)


def apart():
    """Two bodies in one mesh."""
    (p, f), (q, g) = box(), sphere(at=(1.0, 0.5, 0.3))
    return np.concatenate([p, q]), np.concatenate([f, g + len(p)])


MESHES = {
    f.__name__: f for f in (box, sphere, star, torn, flipped, mixed, degenerate, thin, apart)
}  # fmt: skip


def stl(points, faces, header=b"triangles"):
    record = np.zeros(len(faces), [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("spare", "<u2")])
    record["corners"] = np.asarray(points, dtype="<f4")[faces]
    return header.ljust(80, b"\0") + len(faces).to_bytes(4, "little") + record.tobytes()


def ascii_stl(points, faces, newline="\n"):
    lines = ["solid thing"]
    for face in faces:
        lines += ["facet normal 0 0 1", " outer loop"]
        lines += ["  vertex " + " ".join(repr(float(x)) for x in points[k]) for k in face]
        lines += [" endloop", "endfacet"]
    return newline.join([*lines, "endsolid thing", ""]).encode()


def obj(points, faces, newline="\n"):
    lines = ["# a mesh", "mtllib none.mtl", "vn 0 0 1"]
    lines += ["v " + " ".join(repr(float(x)) for x in p) for p in points]
    lines += ["f " + " ".join(f"{k + 1}//1" for k in face) for face in faces]
    return newline.join([*lines, ""]).encode()


def msh(points, faces):
    head = np.array([len(points), 0, 0, len(faces)], dtype="<i4")
    return head.tobytes() + np.asarray(points, "<f4").tobytes() + np.asarray(faces, "<i4").tobytes()


def inline(points, faces):
    vertices = " ".join(repr(float(x)) for x in np.ravel(points))
    return f'vertex="{vertices}" face="{" ".join(map(str, np.ravel(faces)))}"'


WRITERS = {"stl": stl, "obj": obj, "msh": msh}
