"""Volume, centre and moments of bodies bounded by triangles, by exact integration.

Each triangle forms a tetrahedron with a common apex, over which polynomials integrate in closed form. The sum
over a closed surface is that of the body for any apex, because tetrahedra outside the body count negative.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.model.hull import Faces, FlatError, Points, convex_hull

MODES = ("convex", "exact", "legacy", "shell")
_MOST = 200_000  # most vertices for a hull, which takes up to half a minute
_SMALL = 1e-14  # m^2 or m^3: the smallest body


class Mesh(NamedTuple):
    """A triangle mesh; without faces, the hull of its points."""

    vertices: Points  # (n, 3)
    faces: Faces  # (m, 3), counter-clockwise seen from outside
    objects: int = 1  # objects in its file

    def moved(self, change: Points, mirrored: bool = False) -> Mesh:
        """The mesh with other vertices; the faces of a mirror image are flipped to face outwards."""
        return self._replace(vertices=change, faces=self.faces[:, ::-1] if mirrored else self.faces)


class Bulk(NamedTuple):
    """The integrals over a body of unit density."""

    size: float  # volume, or area of a shell
    center: Points  # (3,)
    moments: Points  # (3, 3): inertia about the centre


class MeshError(ValueError):
    """The mesh is unusable; the message says why."""


def bulk(mesh: Mesh, mode: str) -> Bulk:
    """Volume, centre and inertia of a mesh, with the modes of MuJoCo's compiler.

    Args:
        mode: "convex": the hull of the vertices. "exact": the body bounded by the faces. "legacy": the
            tetrahedra between the faces and the centre, all counted positive, which overestimates non-convex
            bodies. "shell": the surface, with density per area.

    Raises:
        MeshError: they are not defined for this mesh.
    """
    if mode == "convex" or not len(mesh.faces):
        mesh = hull_of(mesh)
    if mode == "exact" and not is_oriented(mesh):
        raise MeshError("its faces are not oriented consistently")
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
        raise MeshError("its faces point inwards" if total < -_SMALL else "its volume is too small")
    center = volumes @ (0.75 * corners.mean(axis=1) + 0.25 * middle) / total
    volumes = _volumes(corners - center, mode)
    return Bulk(float(volumes.sum()), center, _moments(corners - center, volumes, 20))


def hull_of(mesh: Mesh) -> Mesh:
    """The convex hull of the vertices."""
    if len(mesh.vertices) < 4:
        raise MeshError("it has fewer than four vertices")
    if len(mesh.vertices) > _MOST:
        raise MeshError(f"its hull is not computed: it has {len(mesh.vertices)} vertices, more than {_MOST}")
    try:
        return mesh._replace(faces=convex_hull(mesh.vertices))
    except FlatError:
        raise MeshError("its vertices lie in one plane") from None


def is_oriented(mesh: Mesh) -> bool:
    """Whether no two faces run along an edge in the same direction."""
    faces = mesh.faces[_areas(mesh.vertices[mesh.faces]) > 3.2e-8]  # m^2; MuJoCo skips slivers, too
    edges = np.concatenate([faces[:, (k, (k + 1) % 3)] for k in range(3)])
    return len(np.unique(edges, axis=0)) == len(edges)


def is_closed(mesh: Mesh) -> bool:
    """Whether every edge is shared by two faces that run along it in opposite directions."""
    edges = np.concatenate([mesh.faces[:, (k, (k + 1) % 3)] for k in range(3)])
    there, back = np.unique(edges, axis=0), np.unique(edges[:, ::-1], axis=0)
    return len(there) == len(edges) and np.array_equal(there, back)


def _normals(corners: Points) -> Points:
    """Normals of triangles, with lengths of twice the area."""
    return np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])


def _areas(corners: Points) -> Points:
    return 0.5 * np.sqrt((_normals(corners) ** 2).sum(axis=1))


def _volumes(corners: Points, mode: str) -> Points:
    """Volumes of the tetrahedra between the triangles and the origin."""
    volumes = (corners[:, 0] * _normals(corners)).sum(axis=1) / 6
    return np.abs(volumes) if mode == "legacy" else volumes


def _moments(corners: Points, weights: Points, share: int) -> Points:
    """The inertia (3, 3) about the origin of triangles (share = 12), or of their tetrahedra (share = 20).

    The second moments of either are weight / share (sum_k c_k c_k' + s s'), s = sum_k c_k over the corners.
    """
    s = corners.sum(axis=1)
    second = np.einsum("m,mki,mkj->ij", weights, corners, corners)
    second = (second + np.einsum("m,mi,mj->ij", weights, s, s)) / share
    return np.trace(second) * np.eye(3) - second
