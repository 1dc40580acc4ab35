"""The meshes of an MJCF model: `<asset><mesh>`, from a file, from inline numbers or built in.

A mesh is read only if a moving body uses it for its inertia or for contact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kinetree.io.attributes import choice, shorten, vector
from kinetree.io.mesh_files import checked, read_mesh
from kinetree.io.mjcf_builtin import builtin_mesh, is_surface
from kinetree.io.mjcf_compiler import Compiler
from kinetree.io.paths import Reach
from kinetree.io.placement import ORIGIN, from_wxyz
from kinetree.io.polyhedra import MODES, Bulk, Mesh, MeshError, bulk
from kinetree.io.report import Log
from kinetree.io.xml import Element
from kinetree.model.hull import Points
from kinetree.spatial.pose import Pose
from kinetree.spatial.rotation import Rotation

_TYPES = {"model/stl": "stl", "model/obj": "obj", "model/vnd.mujoco.msh": "msh"}
_MOST = 256 * 2**20  # most bytes of all mesh files of a model


class Shape(NamedTuple):
    """The properties of a mesh that are kept."""

    bulk: Bulk
    moments: Points  # (3,) principal moments, the largest first
    axes: Points  # (3, 3): their directions in columns
    low: Points  # (3,): corners of the bounding box along these axes, from the centre
    high: Points


@dataclass
class Meshes:
    """The meshes and height fields of one model by name; each mesh is read once."""

    elements: dict[str, Element]  # with their defaults filled in
    fields: dict[str, Element]  # height fields
    compiler: Compiler
    reach: Reach
    log: Log
    kept: dict[str, Shape | MeshError] = field(default_factory=dict)
    bytes: int = 0
    read: dict[str, Mesh] = field(default_factory=dict)

    def shape(self, name: str) -> Shape:
        """Volume, centre, moments and extent of a mesh, in the frame that geoms place.

        Raises:
            MeshError: the mesh has none; the message says why.
        """
        if name not in self.kept:
            try:
                self.kept[name] = self._shape(name)
            except MeshError as error:
                self.kept[name] = error
        found = self.kept[name]
        if isinstance(found, MeshError):
            raise found
        return found

    def _shape(self, name: str) -> Shape:
        mesh, element = self.placed(name), self.elements[name]
        mode = self._mode(element)
        if (mode == "convex" or not len(mesh.faces)) and (element.get("maxhullvert") or "-1") != "-1":
            problem = "maxhullvert is not modelled: the full convex hull is used"
            self.log.add("unsupported", element.where, problem)
        whole = bulk(mesh, mode)
        moments, axes = np.linalg.eigh(whole.moments)
        moments, axes = moments[::-1], axes[:, ::-1] * np.array([1.0, 1.0, np.linalg.det(axes[:, ::-1])])
        inside = (mesh.vertices - whole.center) @ axes
        return Shape(whole, moments, axes, inside.min(axis=0), inside.max(axis=0))

    def _mode(self, element: Element) -> str:
        usual = "exact" if self.compiler.exactmeshinertia else "legacy"
        mode = choice(element, "inertia", MODES, usual, self.log)
        thin = element.get("builtin") == "plate" or (mode == "legacy" and is_surface(element))
        return "shell" if thin else mode

    def placed(self, name: str) -> Mesh:
        """A mesh in the frame that geoms place; MeshError if there is none."""
        if name not in self.read:
            self.read[name] = self._placed(name)
        return self.read[name]

    def _placed(self, name: str) -> Mesh:
        element = self.elements.get(name)
        if element is None:
            raise MeshError("no mesh has this name")
        if element.get("file") is not None:
            mesh = self._from_file(element)
        elif element.get("builtin") is not None:
            mesh = builtin_mesh(element)
        elif element.find("plugin") is not None:
            raise MeshError("a plugin generates it")
        else:
            mesh = _from_numbers(element)
        rounded = checked(mesh).vertices.astype(np.float32).astype(float)  # as MuJoCo stores them
        return _placed(mesh._replace(vertices=rounded), element, self.log)

    def file(self, element: Element) -> Path:
        """The file that an asset names, in the folder for meshes; MeshError if there is none."""
        name = (element.get("file") or "").replace("\\", "/")
        if self.compiler.strippath:
            name = name.rpartition("/")[2]
        folder = self.compiler.meshdir or self.compiler.assetdir
        uri = f"{folder}/{name}" if folder and not name.startswith("/") else name
        inside = self.reach.part(uri)
        path = next((path for path in inside if path.is_file()), None)
        if path is None:
            where = (
                "was not found" if inside else "lies outside the model's folder: allow it with include_dirs="
            )
            raise MeshError(f"the file {shorten(uri)!r} {where}")
        return path

    def _from_file(self, element: Element) -> Mesh:
        path = self.file(element)
        self.bytes += path.stat().st_size
        if self.bytes > _MOST:
            raise MeshError(f"the meshes of the model have more than {_MOST} bytes")
        kind = path.suffix.lower().removeprefix(".")
        if kind not in _TYPES.values():  # MuJoCo goes by the extension, too
            kind = _TYPES.get(element.get("content_type") or "", kind)
        mesh = read_mesh(path, kind, first=True)
        if mesh.objects > 1:
            problem = f"only the first of the {mesh.objects} objects in {shorten(path.name)!r} is used"
            self.log.add("mesh-objects", element.where, problem)
        return mesh


def label(asset: Element) -> str:
    """The name of an asset, or that of its file."""
    return asset.get("name") or Path((asset.get("file") or "").replace("\\", "/")).stem


def _numbers(element: Element, name: str) -> Points:
    """The numbers of an attribute, in rows of three."""
    words = (element.get(name) or "").split()
    try:
        return np.array(words, dtype=float).reshape(-1, 3)
    except ValueError:
        raise MeshError(f"{name} must be numbers, three per entry") from None


def _from_numbers(element: Element) -> Mesh:
    vertices, faces = _numbers(element, "vertex"), _numbers(element, "face")
    if len(vertices) < 4:
        raise MeshError("it has neither a file nor four vertices")
    if not np.all(faces == np.floor(faces)) or not np.all(np.abs(faces) < 2**31):
        raise MeshError("a face has indices that are not whole numbers")
    return Mesh(vertices, faces.astype(np.intp))


def _placed(mesh: Mesh, element: Element, log: Log) -> Mesh:
    """The mesh moved by `refpos`, rotated back by `refquat`, then scaled."""
    origin, scale = vector(element, "refpos", 3, ORIGIN, log), vector(element, "scale", 3, (1.0,) * 3, log)
    turn = vector(element, "refquat", 4, (1.0, 0.0, 0.0, 0.0), log)
    R = np.array(from_wxyz(turn).rows) if any(turn) else np.eye(3)
    vertices = ((mesh.vertices - origin) @ R) * scale
    return mesh.moved(vertices, mirrored=bool(np.prod(scale) < 0))


def fitted(kind: str, shape: Shape, aabb: bool, factor: float) -> tuple[tuple[float, ...], Pose]:
    """Size and pose of the primitive fitted to a mesh, by the box of equal inertia or by the bounding box.

    Args:
        aabb: use the bounding box along the principal axes.
        factor: scales the sizes.
    """
    center, axes = shape.bulk.center, shape.axes
    if aabb:
        center, half = center + axes @ (shape.low + shape.high) / 2, (shape.high - shape.low) / 2
    else:
        equal = 6 * (shape.moments.sum() - 2 * shape.moments) / shape.bulk.size
        half = 0.5 * np.sqrt(np.maximum(equal, 0.0))
    a, b, c = half.tolist()
    size: tuple[float, ...]
    match kind:
        case "sphere":
            size = (max(a, b, c) if aabb else (a + b + c) / 3,)
        case "capsule":
            r = max(a, b) if aabb else (a + b) / 2
            size = (r, max(0.0, c - (r if aabb else r / 2)))
        case "cylinder":
            size = (max(a, b) if aabb else (a + b) / 2, c)
        case _:
            size = (a, b, c)
    rows = tuple(map(tuple, axes.tolist()))
    return tuple(factor * x for x in size), Pose(Rotation(rows), tuple(center.tolist()))  # type: ignore[arg-type]
