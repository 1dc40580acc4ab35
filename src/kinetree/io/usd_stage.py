"""Access to a USD stage: attributes as plain numbers, poses in metres, bodies and their colliders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from kinetree.extras import needed
from kinetree.io.attributes import LARGEST
from kinetree.io.placement import HERE, exact, from_wxyz
from kinetree.io.polyhedra import Mesh, MeshError
from kinetree.io.report import Log, Where, refuse
from kinetree.io.triangulate import triangles
from kinetree.spatial.pose import Pose
from kinetree.spatial.rotation import Rotation

_PRIMS = 200_000
_CORNERS = 2_000_000  # most face corners of a mesh
_MESH = ("points", "faceVertexCounts", "faceVertexIndices")
_SHEAR = 1e-5  # of a scale: larger than single-precision rounding


@dataclass
class Body:
    """A rigid body: its prim, the world pose of its frame (m), and the scale of its local space."""

    prim: Any
    where: Where
    pose: Pose
    scale: tuple[float, ...]
    colliders: list[Any] = field(default_factory=list)


class Stage:
    """Reads the prims of one stage: poses in metres, everything else in the units of the stage."""

    def __init__(self, stage: Any, file: str, log: Log) -> None:
        self.stage, self.file, self.log = stage, file, log
        self.Usd, self.UsdGeom, self.UsdPhysics, self.UsdShade = (
            needed(f"pxr.{name}", "loading USD") for name in ("Usd", "UsdGeom", "UsdPhysics", "UsdShade")
        )
        self.metres: float = self.UsdGeom.GetStageMetersPerUnit(stage)
        self.kilograms: float = self.UsdPhysics.GetStageKilogramsPerUnit(stage)
        self.up: str = self.UsdGeom.GetStageUpAxis(stage)
        self._cache = self.UsdGeom.XformCache()
        if not all(isfinite(x) and 0 < x < LARGEST for x in (self.metres, self.kilograms)):
            where = Where(file, 0, "stage")
            refuse("value", where, f"metersPerUnit {self.metres}, kilogramsPerUnit {self.kilograms}")

    def prims(self) -> Iterator[Any]:
        """All active prims, including those of instances."""
        predicate = self.Usd.TraverseInstanceProxies(self.Usd.PrimDefaultPredicate)
        for count, prim in enumerate(self.Usd.PrimRange(self.stage.GetPseudoRoot(), predicate)):
            if count > _PRIMS:
                refuse("xml-limit", Where(self.file, 0, "stage"), f"more than {_PRIMS} prims")
            yield prim

    def where(self, prim: Any) -> Where:
        path = str(prim.GetPath())
        return Where(self.file, 0, f"{prim.GetTypeName() or 'prim'} {path[-120:]!r}")

    def get(self, prim: Any, name: str) -> Any:
        """The value of an attribute, None if it has none."""
        attribute = prim.GetAttribute(name)
        return attribute.Get() if attribute else None

    def _given(self, prim: Any, name: str) -> tuple[float, ...]:
        """The numbers of an attribute, none if it has no value; quaternions with the scalar first."""
        value = self.get(prim, name)
        if value is None:
            return ()
        try:
            if hasattr(value, "GetReal"):
                return (float(value.GetReal()), *map(float, value.GetImaginary()))
            return tuple(map(float, value)) if hasattr(value, "__len__") else (float(value),)
        except (TypeError, ValueError):
            self.log.add("number", self.where(prim), f"{name} is {str(value)[:60]!r}, not numeric")
            return ()

    def number(self, prim: Any, name: str, default: float = 0.0, infinite: bool = False) -> float:
        """A number; a non-finite one is recorded, unless `infinite` allows it."""
        given = self._given(prim, name)
        x = given[0] if len(given) == 1 else default
        if infinite and abs(x) >= LARGEST:
            return float(np.copysign(np.inf, x))
        if not abs(x) <= LARGEST:
            self.log.add("number", self.where(prim), f"{name} is {x}, not a finite number")
            return default
        return x

    def vector(self, prim: Any, name: str) -> tuple[float, ...]:
        """Three numbers; none if the attribute has no value, or is infinite (USD's mark for unset)."""
        given = self._given(prim, name)
        if len(given) != 3 or any(abs(x) == np.inf for x in given):
            return ()
        if not all(abs(x) <= LARGEST for x in given):
            self.log.add("number", self.where(prim), f"{name} is {given}, not three finite numbers")
            return ()
        return given

    def position(self, prim: Any, name: str, scale: tuple[float, ...]) -> tuple[float, ...]:
        """A position in the space of a body, in metres."""
        given = self.vector(prim, name) or (0.0, 0.0, 0.0)
        return tuple(x * s * self.metres for x, s in zip(given, scale, strict=True))

    def rotation(self, prim: Any, name: str) -> tuple:
        """The rows of a rotation given as a quaternion; a zero quaternion means unset."""
        quaternion = self._given(prim, name)
        if len(quaternion) != 4:
            return HERE.R
        length = float(np.linalg.norm(quaternion))
        if not isfinite(length) or length > 1e3 or 0 < length < 1e-3:
            problem = f"{name} is {quaternion}, not a rotation"
            self.log.repairable("quaternion", self.where(prim), problem, "set to the identity")
            return HERE.R
        return HERE.R if length == 0 else from_wxyz(quaternion).rows

    def transform(self, prim: Any) -> tuple[Pose, tuple[float, ...]]:
        """The world pose of a prim, in metres, and the scale of its local space."""
        matrix = np.array(self._cache.GetLocalToWorldTransform(prim), dtype=float).T  # column vectors here
        return self._apart(matrix, prim)

    def _apart(self, matrix: np.ndarray, prim: Any) -> tuple[Pose, tuple[float, ...]]:
        """A matrix decomposed into a pose and scales along its axes."""
        A, p = matrix[:3, :3], matrix[:3, 3]
        if not np.all(np.abs(matrix) <= LARGEST):
            self.log.add("number", self.where(prim), "its transform is not finite")
            return HERE, (1.0, 1.0, 1.0)
        scale = np.linalg.norm(A, axis=0)
        if min(scale) <= 0:
            self.log.add("value", self.where(prim), "its transform flattens it: a scale is zero")
            return HERE, (1.0, 1.0, 1.0)
        R = A / scale
        if np.linalg.det(R) < 0:  # a mirror image: flip the last axis
            R, scale = R * (1, 1, -1), scale * (1, 1, -1)
        if np.abs(R.T @ R - np.eye(3)).max() > _SHEAR:
            problem = "its transform shears: the axes were made orthogonal"
            self.log.add("unsupported", self.where(prim), problem)
        U, _, V = np.linalg.svd(R)
        rows = np.where(np.abs(R.T @ R - np.eye(3)).max() < 1e-14, R, U @ V)
        rotation = exact(Rotation.from_matrix(rows.tolist()))
        near = np.where(np.abs(scale - np.round(scale, 6)) < 1e-7, np.round(scale, 6), scale)
        return Pose(rotation, tuple((p * self.metres).tolist())), tuple(near.tolist())

    def placed(self, prim: Any, body: Body) -> tuple[Pose, tuple[float, ...]]:
        """The pose of a prim in a body, in metres, and the scale of its local space in the world."""
        if prim == body.prim:
            return HERE, body.scale
        pose, scale = self.transform(prim)
        return body.pose.inverse() @ pose, scale

    def material(self, prim: Any) -> Any:
        """The physics material bound to a prim, None if there is none."""
        binding = self.UsdShade.MaterialBindingAPI(prim)
        material, _ = binding.ComputeBoundMaterial("physics")
        return material.GetPrim() if material else None

    def mesh(self, prim: Any) -> Mesh:
        """The triangles of a mesh in its local space; MeshError if it is invalid."""
        points, counts, places = (self.get(prim, name) for name in _MESH)
        if points is None or counts is None or places is None or not len(counts):
            raise MeshError("it has no faces")
        vertices, sizes, corners = np.array(points, float), np.array(counts), np.array(places)
        if min(sizes) < 0 or sizes.sum() != len(corners) or len(corners) > _CORNERS:
            raise MeshError("its face counts do not match its corners, or are too large")
        if not len(vertices) or corners.min() < 0 or corners.max() >= len(vertices):
            raise MeshError("a face has a vertex that does not exist")
        polygons = np.split(corners, np.cumsum(sizes)[:-1])
        faces = [face for polygon in polygons for face in triangles(vertices, polygon.tolist())]
        turned = self.get(prim, "orientation") == "leftHanded"
        found = Mesh(vertices, np.array(faces, dtype=np.intp).reshape(-1, 3))
        return found.moved(vertices, mirrored=turned)

    def owner(self, prim: Any) -> Any:
        """The prim itself or its nearest ancestor that is a rigid body; None if it belongs to the world."""
        while prim and not prim.IsPseudoRoot():
            if prim.HasAPI(self.UsdPhysics.RigidBodyAPI):
                return prim
            prim = prim.GetParent()
        return None

    def target(self, prim: Any, name: str) -> Any:
        """The prim that a relationship targets, None if there is none."""
        relationship = prim.GetRelationship(name)
        paths = relationship.GetForwardedTargets() if relationship else []
        return self.stage.GetPrimAtPath(paths[0]) if paths else None
