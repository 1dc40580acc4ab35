"""The mass of a USD rigid body: from `PhysicsMassAPI`, the rest from its colliders."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.io.mesh_files import checked
from kinetree.io.polyhedra import MeshError, bulk
from kinetree.io.primitives import solid
from kinetree.io.report import Log
from kinetree.io.sdf_inertia import cone
from kinetree.io.urdf_geometry import enclosed
from kinetree.io.usd_stage import Body, Stage
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import scale as scaled
from kinetree.spatial.vector import sym_matrix

_DENSITY = 1000.0  # kg/m^3, default
SHAPES = ("Cube", "Sphere", "Cylinder", "Capsule", "Cone")
_FLAT = ("Plane", "Points")
_ALONG = {"X": ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0)),
          "Y": ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)),
          "Z": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))}  # fmt: skip


def body_inertia(body: Body, stage: Stage, log: Log) -> Inertia | None:
    """The inertia of a body in its own frame, in SI units.

    A mass takes precedence over densities, the density of a collider over that of its body. A centre of mass
    or moments that are not given come from the colliders.
    """
    prim = body.prim
    mass, density = stage.number(prim, "physics:mass"), stage.number(prim, "physics:density")
    shapes = _from_colliders(body, stage, density, log)
    given = stage.vector(prim, "physics:centerOfMass")
    moments = stage.vector(prim, "physics:diagonalInertia")
    if mass < 0 or density < 0 or min(moments, default=0.0) < 0:
        problem = "mass, density or moments of inertia are negative"
        log.repairable("mass-negative", body.where, problem, "they were ignored")
        mass, moments = max(mass, 0.0), ()
    if mass > 0 and shapes is not None:
        factor = mass * stage.kilograms / shapes.mass
        shapes = Inertia.from_parameters(x * factor for x in shapes.parameters)
    total = mass * stage.kilograms if mass > 0 else (0.0 if shapes is None else shapes.mass)
    if total == 0 and not any(moments):
        return None
    com: tuple[float, ...] = (0.0, 0.0, 0.0) if shapes is None else shapes.com
    if given:
        com = tuple(x * s * stage.metres for x, s in zip(given, body.scale, strict=True))
    if any(moments):
        R = np.array(stage.rotation(prim, "physics:principalAxes"))
        units = stage.kilograms * stage.metres**2
        central = (R * (units * np.array(moments))) @ R.T
    else:
        central = np.zeros((3, 3)) if shapes is None else np.array(sym_matrix(shapes.about_com))
    return Inertia(total, com, ((central + central.T) / 2).tolist())


def _from_colliders(body: Body, stage: Stage, density: float, log: Log) -> Inertia | None:
    """The sum over the colliders of a body; None if none of them has a mass."""
    total = Inertia.zero()
    for prim in body.colliders:
        inertia = _collider(body, prim, stage, density, log)
        if inertia is not None:
            total = total + inertia
    return total if total.mass > 0 else None


def _collider(body: Body, prim: Any, stage: Stage, density: float, log: Log) -> Inertia | None:
    """The inertia of one collider in the frame of its body."""
    kind = prim.GetTypeName()
    if kind in _FLAT or not prim.IsA(stage.UsdGeom.Gprim):
        return None
    own, mass = stage.number(prim, "physics:density"), stage.number(prim, "physics:mass")
    per_volume = (own or density or _material_density(prim, stage)) * stage.kilograms / stage.metres**3
    pose, size = stage.placed(prim, body)
    shape = _solid(prim, kind, size, stage) if kind in SHAPES else _mesh(prim, kind, size, stage, log)
    if shape is None:
        said = kind if kind not in SHAPES else f"{kind} with a scale that differs across its axis"
        problem = f"{body.where.element}: the mass of {said} {prim.GetName()!r} is not known"
        if not stage.number(body.prim, "physics:mass"):
            log.add("inertia-mesh", stage.where(prim), problem)
        return None
    inertia, turned = shape
    if mass > 0:
        weight = mass * stage.kilograms / inertia.mass
    else:
        weight = per_volume or _DENSITY
    weighed = Inertia.from_parameters(x * weight for x in inertia.parameters)
    return weighed.congruence((pose @ turned).transform())


def _material_density(prim: Any, stage: Stage) -> float:
    """The density of the physics material bound to a collider, or to a prim above it."""
    material = stage.material(prim)
    return stage.number(material, "physics:density") if material is not None else 0.0


def _solid(prim: Any, kind: str, size: tuple[float, ...], stage: Stage) -> tuple[Inertia, Pose] | None:
    """A primitive of unit density with its axis along z, and its rotation; None if it is no primitive."""
    found = primitive_of(prim, kind, size, stage)
    if found is None:
        return None
    shape, sizes, turned = found
    return (cone(1.0, *sizes) if shape == "cone" else _unit(shape, sizes)), turned


def primitive_of(
    prim: Any, kind: str, size: tuple[float, ...], stage: Stage
) -> tuple[str, tuple[float, ...], Pose] | None:
    """Kind, half sizes in metres and rotation of a primitive from the z axis; None if it is no primitive."""
    x, y, z = (abs(s) * stage.metres for s in size)
    if kind == "Cube":
        half = stage.number(prim, "size") / 2
        return "box", (half * x, half * y, half * z), Pose()
    if kind == "Sphere":
        r = stage.number(prim, "radius")
        return "ellipsoid", (r * x, r * y, r * z), Pose()
    axis = axis_of(prim)
    across = {"X": (y, z), "Y": (x, z), "Z": (x, y)}[axis]
    along = {"X": x, "Y": y, "Z": z}[axis]
    if abs(across[0] - across[1]) > 1e-6 * abs(across[0]):
        return None
    radius, half = stage.number(prim, "radius") * across[0], stage.number(prim, "height") * along / 2
    if kind == "Capsule" and abs(along - across[0]) > 1e-6 * abs(along):
        return None
    return kind.lower(), (radius, half), Pose(_ALONG[axis])


def axis_of(prim: Any) -> str:
    """The axis of a primitive: X, Y or Z (the default)."""
    return prim.GetAttribute("axis").Get() or "Z"


def _mesh(
    prim: Any, kind: str, size: tuple[float, ...], stage: Stage, log: Log
) -> tuple[Inertia, Pose] | None:
    """A mesh of unit density: its hull if it collides as one, otherwise the enclosed volume."""
    if kind != "Mesh":
        return None
    try:
        mesh = checked(stage.mesh(prim))
        mesh = mesh.moved(mesh.vertices * size * stage.metres, mirrored=bool(np.prod(size) < 0))
        hull = stage.get(prim, "physics:approximation") in ("convexHull", "boundingCube", "boundingSphere")
        whole = bulk(mesh, "convex") if hull else enclosed(mesh, prim.GetName(), stage.where(prim), log)
    except MeshError:
        return None
    return Inertia(whole.size, tuple(whole.center.tolist()), whole.moments.tolist()), Pose()


def _unit(kind: str, size: tuple[float, ...]) -> Inertia:
    volume, moments = solid(kind, size)
    return Inertia(volume, inertia=scaled(moments, volume))
