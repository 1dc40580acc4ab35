"""Volume, centre and moments of bodies bounded by triangles, by exact integration.

Each triangle makes a tetrahedron with a common apex; polynomials integrate over it in closed form. The sum
over a closed surface is that of the body, whatever the apex, as tetrahedra outside of it count negative.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.model.hull import Faces, FlatError, Points, convex_hull

MODES = ("convex", "exact", "legacy", "shell")
_MOST = 200_000  # vertices of which a hull is made, which takes up to half a minute
_SMALL = 1e-14  # m^2 or m^3: nothing smaller is a body


class Mesh(NamedTuple):
    """A surface of triangles; without faces, it is the hull of its points."""

    vertices: Points  # (n, 3)
    faces: Faces  # (m, 3), counter-clockwise seen from outside
    objects: int = 1  # that its file has

    def moved(self, change: Points, mirrored: bool = False) -> Mesh:
        """The mesh with other vertices; a mirror image has its faces turned, so that they look outwards."""
        return self._replace(vertices=change, faces=self.faces[:, ::-1] if mirrored else self.faces)


class Bulk(NamedTuple):
    """What integration over a body gives for unit density."""

    size: float  # volume, or area of a shell
    center: Points  # (3,)
    moments: Points  # (3, 3): inertia about the centre


class MeshError(ValueError):
    """Why a mesh has no inertia."""


def bulk(mesh: Mesh, mode: str) -> Bulk:
    """Volume, centre and inertia of a mesh, as MuJoCo's compiler understands its mode.

    Args:
        mode: "convex": the hull of the vertices. "exact": the body that the faces bound. "legacy": the
            tetrahedra between the faces and the centre, all counted positive, which overcounts what is not
            convex. "shell": the surface, with density per area.

    Raises:
        MeshError: the mesh has no such thing.
    """
    if mode == "convex" or not len(mesh.faces):
        mesh = hull_of(mesh)
    if mode == "exact" and not is_oriented(mesh):
        raise MeshError("its faces are not oriented alike")
    corners = mesh.vertices[mesh.faces]  # (m, 3 corners, 3)
    areas = _areas(corners)
    if areas.sum() < _SMALL:
        raise MeshError("its surface is too small")
    middle = areas @ corners.mean(axis=1) / areas.sum()
    if mode == "shell":
        return Bulk(float(areas.sum()), middle, _moments(corners - middle, areas, 12))
    volumes = _volumes(corners - middle, mode)
    total = float(volumes.sum())
    if total < _SMALL:
        raise MeshError("its faces look inwards" if total < -_SMALL else "its volume is too small")
    center = volumes @ (0.75 * corners.mean(axis=1) + 0.25 * middle) / total
    volumes = _volumes(corners - center, mode)
    return Bulk(float(volumes.sum()), center, _moments(corners - center, volumes, 20))


def hull_of(mesh: Mesh) -> Mesh:
    """The convex hull of the vertices."""
    if len(mesh.vertices) < 4:
        raise MeshError("it has fewer than four vertices")
    if len(mesh.vertices) > _MOST:
        raise MeshError(f"a hull of {len(mesh.vertices)} vertices is not made; at most {_MOST}")
    try:
        return mesh._replace(faces=convex_hull(mesh.vertices))
    except FlatError:
        raise MeshError("its vertices lie in one plane") from None


def is_oriented(mesh: Mesh) -> bool:
    """Whether no two faces run along an edge in the same direction."""
    faces = mesh.faces[_areas(mesh.vertices[mesh.faces]) > 3.2e-8]  # m^2; MuJoCo leaves slivers out, too
    edges = np.concatenate([faces[:, (k, (k + 1) % 3)] for k in range(3)])
    return len(np.unique(edges, axis=0)) == len(edges)


def is_closed(mesh: Mesh) -> bool:
    """Whether every edge has a face on both sides, in opposite directions."""
    edges = np.concatenate([mesh.faces[:, (k, (k + 1) % 3)] for k in range(3)])
    there, back = np.unique(edges, axis=0), np.unique(edges[:, ::-1], axis=0)
    return len(there) == len(edges) and np.array_equal(there, back)


def _normals(corners: Points) -> Points:
    """Normals of triangles, of twice their area's length."""
    return np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])


def _areas(corners: Points) -> Points:
    return 0.5 * np.sqrt((_normals(corners) ** 2).sum(axis=1))


def _volumes(corners: Points, mode: str) -> Points:
    """Volumes of the tetrahedra between the triangles and the origin."""
    volumes = (corners[:, 0] * _normals(corners)).sum(axis=1) / 6
    return np.abs(volumes) if mode == "legacy" else volumes


def _moments(corners: Points, weights: Points, share: int) -> Points:
    """The inertia (3, 3) about the origin of triangles (share = 12), or of tetrahedra to it (share = 20).

    The second moments of either are weight / share (sum_k c_k c_k' + s s'), s = sum_k c_k over the corners.
    """
    s = corners.sum(axis=1)
    second = np.einsum("m,mki,mkj->ij", weights, corners, corners)
    second = (second + np.einsum("m,mi,mj->ij", weights, s, s)) / share
    return np.trace(second) * np.eye(3) - second
