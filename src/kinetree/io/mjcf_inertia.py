"""Inertias in MJCF: the `<inertial>` element, and the masses of geoms."""

from __future__ import annotations

import numpy as np

from kinetree.io.attributes import choice, number, parse_numbers, shorten, vector
from kinetree.io.mjcf_compiler import Compiler, read_orientation, read_pose
from kinetree.io.mjcf_mesh import Meshes, fitted
from kinetree.io.placement import HERE, from_z, norm
from kinetree.io.polyhedra import MeshError
from kinetree.io.primitives import SIZES, shell, solid
from kinetree.io.report import Log, Where
from kinetree.io.xml import Element
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Matrix, Vector, add, mat_mul, scale, sub, sym_matrix, transpose

TYPES = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
_DENSITY = 1000.0


def read_inertial(element: Element, compiler: Compiler, log: Log) -> Inertia:
    """The inertia in an `<inertial>` element."""
    x, y, z = vector(element, "pos", 3, (0.0, 0.0, 0.0), log)
    mass = number(element, "mass", None, log)
    mass = max(mass, compiler.boundmass) if compiler.boundmass else mass
    R = read_orientation(element, compiler, log).rows
    if element.get("fullinertia") is not None:
        xx, yy, zz, xy, xz, yz = vector(element, "fullinertia", 6, None, log)
        if element.get("diaginertia") is not None:
            log.add("value", element.where, "both fullinertia and diaginertia are given", "Keep one of them.")
    else:
        xx, yy, zz = vector(element, "diaginertia", 3, (0.0, 0.0, 0.0), log)
        xy = xz = yz = 0.0
    inertia: Matrix = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    return Inertia(mass, (x, y, z), mat_mul(mat_mul(R, inertia), transpose(R)))


def inertia_of_geoms(
    geoms: list[tuple[Element, Pose, Meshes]], compiler: Compiler, where: Where, log: Log
) -> Inertia | None:
    """The inertia of a body from its geoms, or None if none of them has mass.

    Args:
        geoms: the geoms with defaults filled in, each with the frame it is given in and the meshes it may
            refer to.
    """
    total = Inertia.zero()
    for element, frame, meshes in geoms:
        group = number(element, "group", 0.0, log)
        if not compiler.inertiagrouprange[0] <= group <= compiler.inertiagrouprange[1]:
            continue
        inertia = _geom_inertia(element, meshes, where, log)
        if inertia is not None:
            total = total + inertia.congruence(frame.transform())
    return total if any(total.parameters) else None


def _geom_inertia(element: Element, meshes: Meshes, where: Where, log: Log) -> Inertia | None:
    kind = choice(element, "type", TYPES, "sphere", log)
    density = number(element, "density", _DENSITY, log)
    given = number(element, "mass", 0.0, log) if element.get("mass") is not None else None
    if density < 0 or (given is not None and given < 0):
        problem = "a geom has negative mass or density"
        log.repairable("mass-negative", element.where, problem, "its mass was set to 0")
        return None
    if given == 0.0 or (given is None and density == 0.0) or kind in ("plane", "hfield"):
        return None
    mesh = element.get("mesh")
    try:
        if kind in ("mesh", "sdf"):
            return _mesh_inertia(element, meshes, density, given, log)
        if mesh is not None:
            fit = number(element, "fitscale", 1.0, log)
            size, inner = fitted(kind, meshes.shape(mesh), meshes.compiler.fitaabb, fit)
            pose = read_pose(element, meshes.compiler, log) @ inner
        else:
            shape = shape_of_geom(element, kind, meshes.compiler, log)
            if shape is None:
                return None
            size, pose = shape
    except MeshError as error:
        problem = f"{where.element}: the mass of mesh {shorten(mesh or '')!r} is not known: {error}"
        log.add("inertia-mesh", element.where, problem)
        return None
    amount, moments = (shell if element.get("shellinertia") == "true" else solid)(kind, size)
    mass = density * amount if given is None else given
    return Inertia(mass, inertia=scale(moments, mass)).congruence(pose.transform())


def _mesh_inertia(element: Element, meshes: Meshes, density: float, given: float | None, log: Log) -> Inertia:
    """The inertia of a mesh geom."""
    name = element.get("mesh")
    if name is None or element.get("type") == "sdf":
        raise MeshError("a plugin generates it" if name else "the geom names no mesh")
    whole = meshes.shape(name).bulk
    if given is not None:
        density = given / whole.size
    mass, center = density * whole.size, tuple(whole.center.tolist())
    moments = (density * whole.moments).tolist()
    return Inertia(mass, center, moments).congruence(read_pose(element, meshes.compiler, log).transform())


def shape_of_geom(
    element: Element, kind: str, compiler: Compiler, log: Log
) -> tuple[tuple[float, ...], Pose] | None:
    """The half sizes and the pose of a primitive, from `size`, `pos` and orientation, or from `fromto`."""
    size = parse_numbers(element.get("size") or "")
    if isinstance(size, str):
        log.add("number", element.where, f"size contains {shorten(size)!r}, not a finite number")
        return None
    pose = None
    if element.get("fromto") is not None and kind != "sphere":
        ends = vector(element, "fromto", 6, (0.0, 0.0, 0.0, 0.0, 0.0, 1.0), log)
        size, pose = _between(kind, size, ends[:3], ends[3:])  # type: ignore[arg-type]
    size = size[: SIZES[kind]]
    if len(size) < SIZES[kind] or min(size) <= 0:
        wanted = f"{SIZES[kind]} positive numbers"
        problem = f"size={shorten(element.get('size') or '')!r}: a {kind} needs {wanted}"
        log.add("value", element.where, problem, "Give its size.")
        return None
    return size, read_pose(element, compiler, log) if pose is None else pose


def read_site(element: Element, compiler: Compiler, log: Log) -> Pose:
    """The pose of a site, from `pos` and orientation, or from the two ends in `fromto`."""
    if element.get("fromto") is None:
        return read_pose(element, compiler, log)
    ends = vector(element, "fromto", 6, (0.0, 0.0, 0.0, 0.0, 0.0, 1.0), log)
    return _between("capsule", (), ends[:3], ends[3:])[1]  # type: ignore[arg-type]


def _between(
    kind: str, size: tuple[float, ...], start: Vector, end: Vector
) -> tuple[tuple[float, ...], Pose]:
    """Size and pose of a geom that reaches from one point to another along its z axis."""
    direction = sub(start, end)
    half = norm(direction) / 2
    pose = Pose(from_z(direction) if half > 0 else HERE.R, scale(add(start, end), 0.5))
    across = size[:1]
    return (*across, half) if kind in ("capsule", "cylinder") else (*across, *across, half), pose


def bounded(inertia: Inertia, compiler: Compiler) -> Inertia:
    """The inertia after applying the compiler's lower bounds and its balancing of impossible inertias."""
    if not (compiler.boundmass or compiler.boundinertia or compiler.balanceinertia):
        return inertia
    mass: float = max(inertia.mass, compiler.boundmass)
    central = np.array(sym_matrix(inertia.about_com), dtype=float)
    moments, axes = np.linalg.eigh(central)
    bound = np.maximum(moments, compiler.boundinertia)
    if compiler.balanceinertia and bound[0] + bound[1] < bound[2]:
        bound[:] = bound.mean()
    if not np.array_equal(bound, moments):
        central = (axes * bound) @ axes.T
    return Inertia(mass, inertia.com, ((central + central.T) / 2).tolist())
