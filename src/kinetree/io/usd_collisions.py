"""The colliders of USD: shapes of bodies and the world, their materials, and the plane that is the ground."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinetree.io.collisions import RESTITUTION, Collisions
from kinetree.io.description import WORLD
from kinetree.io.polyhedra import MeshError
from kinetree.io.usd_mass import SHAPES, axis_of, primitive_of
from kinetree.io.usd_stage import Body, Stage
from kinetree.model.ground import Ground
from kinetree.model.shapes import Shape
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import dot, mat_vec

_NORMALS = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
_FRICTION = ("physics:dynamicFriction", "physics:staticFriction")
_COMPLIANT = ("physxMaterial:compliantContactStiffness", "physxMaterial:compliantContactDamping")


class Colliders(NamedTuple):
    """The colliders of a stage: those of bodies, by link name, and those of the world."""

    stage: Stage
    bodies: dict[str, Body]
    still: list[Any]


def read_usd_collisions(found: Collisions, given: Colliders) -> None:
    """Read the colliders of all bodies, then those of the world."""
    for link, body in given.bodies.items():
        for prim in body.colliders:
            _read(found, given.stage, link, prim, *given.stage.placed(prim, body))
    for prim in given.still:
        if prim.GetTypeName() == "Plane":
            _read_ground(found, given.stage, prim)
        else:
            _read(found, given.stage, WORLD, prim, *given.stage.transform(prim))


def _read(found: Collisions, stage: Stage, link: str, prim: Any, pose: Pose, size: tuple[float, ...]) -> None:
    if stage.get(prim, "physics:collisionEnabled") is False:
        return
    where, kind = stage.where(prim), prim.GetTypeName()
    shape: Shape | None = None
    if kind in SHAPES:
        sizes = primitive_of(prim, kind, size, stage)
        if sizes is None:
            found.note("contact-shape", where, f"a {kind} with a scale that differs across its axis")
        else:
            shape, pose = _primitive(found, *sizes[:2], where), pose @ sizes[2]
    elif kind == "Mesh":
        shape, pose = _mesh(found, stage, prim, pose, size)
    else:
        found.note("contact-shape", where, f"a {kind or 'prim'} is not read")
    target = prim.GetRelationship("physics:filteredPairs")
    if target and target.GetTargets():
        found.note("contact-parameter", where, "filtered pairs are not read")
    found.add(prim.GetName(), link, where, shape, pose, **_material(found, stage, prim))


def _primitive(found: Collisions, kind: str, sizes: tuple[float, ...], where: Any) -> Shape | None:
    if kind == "ellipsoid" and max(sizes) - min(sizes) <= 1e-6 * max(sizes):
        return found.primitive("sphere", sizes[:1], where)
    return found.primitive(kind, sizes, where)


def _mesh(
    found: Collisions, stage: Stage, prim: Any, pose: Pose, size: tuple[float, ...]
) -> tuple[Shape | None, Pose]:
    """The hull of a mesh, or its bounding box or ball, as requested by the prim; and its pose."""
    where, around = stage.where(prim), stage.get(prim, "physics:approximation")

    def vertices() -> np.ndarray:
        points = stage.mesh(prim).vertices * size * stage.metres
        if not np.isfinite(points).all():
            raise MeshError("its vertices are not finite")
        return points

    if around not in ("boundingCube", "boundingSphere"):
        return found.hull(str(prim.GetPath()), vertices, where), pose
    try:
        points = vertices()
    except MeshError as error:
        found.missing(error, where)
        return None, pose
    low, high = points.min(0), points.max(0)
    middle = (low + high) / 2
    pose = pose @ Pose(p=tuple(middle.tolist()))
    if around == "boundingCube":
        return found.primitive("box", tuple(((high - low) / 2).tolist()), where), pose
    return found.primitive("sphere", (float(np.linalg.norm(points - middle, axis=1).max()),), where), pose


def _read_ground(found: Collisions, stage: Stage, prim: Any) -> None:
    if found.robot.ground is not None:
        found.note("contact-shape", stage.where(prim), "a second plane: the first one is the ground")
        return
    pose, _ = stage.transform(prim)
    normal = mat_vec(pose.R, _NORMALS[axis_of(prim)])
    found.robot.ground = Ground(normal, dot(normal, pose.p))


def _material(found: Collisions, stage: Stage, prim: Any) -> dict[str, Any]:
    """Friction of the material bound to a collider, and its PhysX stiffness."""
    material, contact = stage.material(prim), dict[str, Any]()
    if material is None:
        return contact
    where = stage.where(material)
    for name in _FRICTION:
        attribute = material.GetAttribute(name)
        if attribute and attribute.HasAuthoredValue():
            contact |= found.coefficient(stage.number(material, name), where)
            break
    if stage.number(material, "physics:restitution"):
        found.note("contact-parameter", where, RESTITUTION)
    stiffness, damping = (stage.number(material, name) * stage.kilograms for name in _COMPLIANT)
    return contact | (found.springy(stiffness, damping, where) if stiffness > 0 else {})
