"""Triangles from mesh files: STL, OBJ and MuJoCo's MSH here, other formats through trimesh.

Files are not trusted: counts are checked against the size of the file before they are used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import FileError, MissingPackageError
from kinetree.extras import needed
from kinetree.io.attributes import shorten
from kinetree.io.files import read_bytes
from kinetree.io.paths import confined
from kinetree.io.polyhedra import Mesh, MeshError
from kinetree.io.triangulate import triangles
from kinetree.model.hull import Faces, Points

SIZE = 64 * 2**20  # most bytes of one mesh file
FACES = 500_000  # most faces of one mesh
_LARGEST = 2.0**30  # largest coordinate
_NUMBER = rb"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
_VERTEX = rb"vertex\s+" + rb"\s+".join([_NUMBER] * 3) + rb"\s+"
_LOOP = re.compile(rb"outer\s+loop\s+" + _VERTEX * 3 + rb"endloop")
_OTHERS = ("dae", "gltf", "glb", "ply", "off")  # read by trimesh, no archives


def read_mesh(path: Path, kind: str = "", first: bool = False) -> Mesh:
    """The triangles of a mesh file.

    Args:
        kind: "stl", "obj", ...; if "", taken from the file extension.
        first: read only the first object of an OBJ file with several.

    Raises:
        MeshError: the file cannot be read, or is not a mesh.
    """
    kind = kind or path.suffix.lower().removeprefix(".")
    content = _content(path)
    if kind in _OTHERS:
        mesh = _by_trimesh(content, kind, path)
    elif kind in _READERS:
        mesh = _READERS[kind](content, first)
    else:
        raise MeshError(f"files of type {shorten(kind)!r} are not read; STL, OBJ, MSH and {_OTHERS} are")
    return checked(mesh)


def read_points(path: Path) -> Points:
    """The vertices of a mesh file, possibly with duplicates, for callers that need no faces."""
    if path.suffix.lower() == ".stl":
        content = _content(path)
        if not _is_ascii(content):
            return checked(Mesh(_stl_corners(content).reshape(-1, 3), np.zeros((0, 3), np.intp))).vertices
    return read_mesh(path).vertices


def checked(mesh: Mesh) -> Mesh:
    """The mesh, if its numbers are valid."""
    vertices, faces = mesh.vertices, mesh.faces
    if len(faces) > FACES or len(vertices) > 3 * FACES:
        raise MeshError(f"it has {len(faces)} faces and {len(vertices)} vertices; at most {FACES} are read")
    if not np.all(np.abs(vertices) <= _LARGEST):
        raise MeshError("a coordinate is not a finite number, or too large")
    if len(faces) and not (faces.min() >= 0 and faces.max() < len(vertices)):
        raise MeshError(f"a face has a vertex that does not exist; there are {len(vertices)}")
    return mesh


def joined(corners: Points) -> Mesh:
    """A mesh from the corners (m, 3, 3) of its triangles; equal corners become one vertex."""
    flat = np.ascontiguousarray(corners.reshape(-1, 3)) + 0.0  # no negative zeros
    vertices, places = np.unique(flat, axis=0, return_inverse=True)
    return Mesh(vertices, places.reshape(-1, 3).astype(np.intp))


def _content(path: Path) -> bytes:
    try:
        return read_bytes(path, SIZE)
    except FileError as error:
        raise MeshError(error.finding.problem) from None


# --- STL ---
def _read_stl(content: bytes, first: bool) -> Mesh:
    return _read_ascii_stl(content) if _is_ascii(content) else joined(_stl_corners(content))


def _is_ascii(content: bytes) -> bool:
    count = int.from_bytes(content[80:84], "little")
    return content.lstrip()[:5].lower() == b"solid" and len(content) != 84 + 50 * count


def _stl_corners(content: bytes) -> Points:
    """The corners (m, 3, 3) of the triangles of a binary STL file."""
    count = int.from_bytes(content[80:84], "little")
    if len(content) < 84:
        raise MeshError(f"an STL file has at least 84 bytes, this one has {len(content)}")
    there = (len(content) - 84) // 50
    if count > there:
        raise MeshError(f"the STL file says that it has {count} triangles, but it ends after {there}")
    if not count:
        raise MeshError("the STL file has no triangles")
    if count > FACES:
        raise MeshError(f"the STL file has {count} triangles; at most {FACES} are read")
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("spare", "<u2")])
    corners = np.frombuffer(content, record, count, 84)["corners"].astype(float)
    if not np.all(np.isfinite(corners)):
        raise MeshError("a coordinate is not a finite number")
    return corners


def _read_ascii_stl(content: bytes) -> Mesh:
    lowered = content.lower()
    loops = _LOOP.findall(lowered)
    if not loops or len(loops) != len(re.findall(rb"outer\s+loop", lowered)) or b"endsolid" not in lowered:
        raise MeshError("the ASCII STL file is truncated, or holds something other than numeric triangles")
    return joined(np.array(loops, dtype=float).reshape(-1, 3, 3))


# --- OBJ ---
def _read_obj(content: bytes, first: bool) -> Mesh:
    """Vertices and polygons; materials, normals and curves are ignored."""
    vertices: list[tuple[float, ...]] = []
    objects: list[list[list[int]]] = [[]]
    for number, line in enumerate(content.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ").splitlines(), 1):
        words = line.split(b"#", 1)[0].split()
        try:
            if words and words[0] == b"v":
                x, y, z = map(float, words[1:4])
                vertices.append((x, y, z))
            elif words and words[0] == b"f":
                objects[-1].append([_index(word, len(vertices)) for word in words[1:]])
            elif words and words[0] in (b"o", b"g") and objects[-1]:
                objects.append([])
        except (ValueError, OverflowError):
            raise MeshError(f"line {number} of the OBJ file is not a valid vertex or face") from None
        if len(vertices) > 3 * FACES or number > 20 * FACES:
            raise MeshError(f"the OBJ file has more than {FACES} faces")
    points = np.array(vertices, dtype=float).reshape(-1, 3)
    objects = [polygons for polygons in objects if polygons]
    faces = [face for polygons in (objects[:1] if first else objects) for face in polygons]
    if any(not 0 <= k < len(points) for face in faces for k in face):
        raise MeshError(f"a face has a vertex that does not exist; there are {len(points)}")
    return Mesh(points, _cut(points, faces), len(objects))


def _index(word: bytes, count: int) -> int:
    """The index of a vertex: `7/2/3` counts from 1, negative numbers count back from the latest vertex."""
    k = int(word.split(b"/", 1)[0])
    if k == 0:
        raise ValueError
    return k - 1 if k > 0 else count + k


def _cut(points: Points, polygons: list[list[int]]) -> Faces:
    """All polygons as triangles."""
    found = [triangle for polygon in polygons for triangle in triangles(points, polygon)]
    return np.array(found, dtype=np.intp).reshape(-1, 3)


# --- MuJoCo's MSH ---
def _read_msh(content: bytes, first: bool) -> Mesh:
    if len(content) < 16:
        raise MeshError(f"an MSH file has at least 16 bytes, this one has {len(content)}")
    nvertex, nnormal, ntexcoord, nface = (int(n) for n in np.frombuffer(content, "<i4", 4))
    size = 16 + 12 * (nvertex + nnormal + nface) + 8 * ntexcoord
    if min(nvertex, nnormal, ntexcoord, nface) < 0 or len(content) != size:
        raise MeshError("the counts at the beginning of the MSH file do not match its size")
    vertices = np.frombuffer(content, "<f4", 3 * nvertex, 16).astype(float).reshape(-1, 3)
    start = 16 + 12 * (nvertex + nnormal) + 8 * ntexcoord
    faces = np.frombuffer(content, "<i4", 3 * nface, start).astype(np.intp).reshape(-1, 3)
    return Mesh(vertices, faces)


_READERS: dict[str, Callable[[bytes, bool], Mesh]] = {"stl": _read_stl, "obj": _read_obj, "msh": _read_msh}


# --- everything else ---
class _Beside:
    """Gives trimesh the files that a mesh refers to, if they are in its folder."""

    def __init__(self, path: Path) -> None:
        self.folder = path.parent

    def get(self, name: str) -> bytes:
        found = confined(name, self.folder, self.folder)
        if found is None:
            raise MeshError(f"it refers to {shorten(name)!r}, which is not in its folder")
        return read_bytes(found, SIZE)

    def __getitem__(self, name: str) -> bytes:
        return self.get(name)

    def keys(self) -> list[str]:
        return []


def _metres(units: str | None) -> float:
    """The length unit of a file in metres: for a DAE, trimesh reports e.g. "0.01 * meters"."""
    factor, star, _ = (units or "").partition(" * meters")
    return float(factor) if star else 1.0


def _by_trimesh(content: bytes, kind: str, path: Path) -> Mesh:
    """The triangles that trimesh finds, in metres."""
    try:
        trimesh = needed("trimesh", f"reading {kind.upper()} meshes", "files")
        if kind == "dae":
            needed("collada", "reading DAE meshes")
    except MissingPackageError as error:
        raise MeshError(str(error)) from None
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise MeshError("it declares entities")
    try:
        scene: Any = trimesh.load_scene(BytesIO(content), file_type=kind, resolver=_Beside(path))
        mesh = scene.to_mesh()
        vertices, faces = np.asarray(mesh.vertices, dtype=float), np.asarray(mesh.faces, dtype=np.intp)
        vertices = vertices * _metres(scene.units)
    except MeshError:
        raise
    except Exception as error:  # a parser may raise anything
        raise MeshError(f"trimesh cannot read it: {shorten(str(error))}") from None
    if len(faces) > FACES:
        raise MeshError(f"it has {len(faces)} faces; at most {FACES} are read")
    return joined(vertices[faces])
