"""Shapes for the scene in the browser: visual geometry, meshes from files, inertia ellipsoids."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.extras import needed
from kinetree.io.visuals import MESH, Visual
from kinetree.model.hull import FlatError, convex_hull
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.rotation import Rotation
from kinetree.spatial.vector import sym_matrix

GREY = (170, 175, 185)
MESH_FORMATS = ("stl", "obj", "ply", "off", "glb", "dae")
LARGEST = 64 << 20  # most bytes of a mesh file
_ROUND = 24  # points around a capsule


class MeshError(Exception):
    """A mesh that cannot be drawn; the message says why."""


def wxyz(R: Any) -> tuple[float, ...]:
    """The quaternion of a rotation, scalar first as viser expects."""
    x, y, z, w = np.asarray(Rotation.from_matrix(np.asarray(R, float)).as_quaternion(), float)
    return float(w), float(x), float(y), float(z)


def add_visual(scene: Any, name: str, visual: Visual, placement: np.ndarray) -> Any:
    """Add one shape below the parent node in `name`, at a 4x4 placement relative to it."""
    rgba = visual.color or (*(c / 255 for c in GREY), 1.0)
    options: dict[str, Any] = {"color": tuple(round(255 * c) for c in rgba[:3])}
    if rgba[3] < 1:
        options["opacity"] = rgba[3]
    options |= {"wxyz": wxyz(placement[:3, :3]), "position": tuple(map(float, placement[:3, 3]))}
    match visual.shape, visual.size:
        case "box", (x, y, z):
            return scene.add_box(name, dimensions=(2 * x, 2 * y, 2 * z), **options)
        case "sphere", (r,):
            return scene.add_icosphere(name, radius=r, **options)
        case "ellipsoid", (x, y, z):
            return scene.add_icosphere(name, radius=1.0, scale=(x, y, z), **options)
        case "cylinder", (r, half):
            return scene.add_cylinder(name, radius=r, height=2 * half, **options)
        case "capsule", (r, half):
            return scene.add_mesh_simple(name, *capsule(r, half), **options)
    if visual.shape == "vertices":
        return scene.add_mesh_simple(name, *hull(visual.size), side="double", **options)
    assert visual.shape == MESH and visual.file is not None, visual
    vertices, faces = read_mesh(visual.file)
    flipped = np.prod(np.sign(visual.size)) < 0
    return scene.add_mesh_simple(
        name, vertices * np.array(visual.size), faces[:, ::-1] if flipped else faces, side="double", **options
    )


def read_mesh(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a mesh file. Only the file itself is opened.

    Raises:
        MeshError: trimesh cannot read it, or it is too large.
    """
    kind = path.suffix.lower().lstrip(".")
    if kind not in MESH_FORMATS:
        raise MeshError(f"'{path.name}' has none of the formats {', '.join(MESH_FORMATS)}")
    if path.stat().st_size > LARGEST:
        raise MeshError(f"'{path.name}' has more than {LARGEST >> 20} MB")
    trimesh = needed("trimesh", f"mesh '{path.name}'")
    try:
        content = io.BytesIO(path.read_bytes())  # no path, so a mesh cannot refer to other files
        mesh = trimesh.load(content, file_type=kind, force="mesh", process=False)
        vertices, faces = np.asarray(mesh.vertices, np.float32), np.asarray(mesh.faces, np.uint32)
    except Exception as error:
        raise MeshError(f"'{path.name}' cannot be read: {error}") from error
    if not len(faces) or not np.isfinite(vertices).all() or faces.max() >= len(vertices):
        raise MeshError(f"'{path.name}' has no valid triangles")
    return vertices, faces


def hull(size: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of the convex hull of points; a fan if the points are coplanar."""
    points = np.reshape(size, (-1, 3))
    try:
        faces = convex_hull(points)
    except FlatError:
        middle = points.mean(axis=0)
        _, _, axes = np.linalg.svd(points - middle)
        around = np.arctan2(*((points - middle) @ axes[:2].T).T)
        points = np.concatenate([points[np.argsort(around)], middle[None]])
        k = np.arange(len(points) - 1)
        faces = np.stack([np.full_like(k, len(k)), k, (k + 1) % len(k)], 1)
    return points.astype(np.float32), faces.astype(np.uint32)


def capsule(radius: float, half: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a cylinder along z with hemispheres at its ends."""
    quarter = np.linspace(0, np.pi / 2, _ROUND // 2)
    angles = np.concatenate([-quarter[::-1], quarter])
    z = radius * np.sin(angles) + np.repeat([-half, half], _ROUND // 2)
    around = np.linspace(0, 2 * np.pi, _ROUND, endpoint=False)
    ring = np.stack([np.cos(around), np.sin(around)], -1)
    points = np.concatenate([radius * np.cos(angles)[:, None, None] * ring,
                             np.broadcast_to(z[:, None, None], (_ROUND, _ROUND, 1))], -1)  # fmt: skip
    i, j = np.meshgrid(np.arange(_ROUND - 1), np.arange(_ROUND), indexing="ij")
    a, b = i * _ROUND + j, i * _ROUND + (j + 1) % _ROUND
    faces = np.concatenate([np.stack([a, b, b + _ROUND], -1), np.stack([a, b + _ROUND, a + _ROUND], -1)])
    return points.reshape(-1, 3).astype(np.float32), faces.reshape(-1, 3).astype(np.uint32)


def ellipsoid_of(inertia: Inertia) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The solid ellipsoid with this inertia: its centre, attitude (3x3) and half axes; None without mass."""
    mass = float(inertia.mass)
    if not mass > 0:
        return None
    moments, axes = np.linalg.eigh(np.array(sym_matrix(inertia.about_com), dtype=float))
    if np.linalg.det(axes) < 0:
        axes = axes * (1, 1, -1)
    squares = 2.5 / mass * (moments.sum() - 2 * moments)  # 5/2 (I_y + I_z - I_x) / m
    return np.array(inertia.com, float), axes, np.sqrt(np.maximum(squares, 0.0))


__all__ = ["MeshError", "add_visual", "capsule", "ellipsoid_of", "hull", "read_mesh", "wxyz"]
