"""The geometry of URDF links, and the inertia of links without `<inertial>`."""

from __future__ import annotations

import numpy as np

from kinetree.io.attributes import shorten, values, vector
from kinetree.io.mesh_files import read_mesh
from kinetree.io.paths import Reach
from kinetree.io.polyhedra import Bulk, Mesh, MeshError, bulk, is_closed
from kinetree.io.primitives import solid
from kinetree.io.report import Log, Where
from kinetree.io.urdf_parts import read_origin
from kinetree.io.xml import Element
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.vector import scale


def primitive(element: Element) -> tuple[str, tuple[float, ...]] | None:
    """Kind and half sizes of a box, sphere, cylinder or capsule; None if the sizes are invalid."""

    def numbers(name: str, count: int) -> tuple[float, ...]:
        given = values(element, name)
        return given if len(given) == count and min(given) > 0 else ()

    radius, length, size = numbers("radius", 1), numbers("length", 1), numbers("size", 3)
    if element.tag == "box" and size:
        return "box", tuple(x / 2 for x in size)
    if element.tag == "sphere" and radius:
        return "sphere", radius
    if element.tag in ("cylinder", "capsule") and radius and length:
        return element.tag, (*radius, length[0] / 2)
    return None


def inertia_of_geometry(link: Element, density: float, reach: Reach, log: Log) -> Inertia | None:
    """The inertia of the volume enclosed by the collision elements of a link, or else by its visual ones.

    Args:
        density: kg/m^3.
    """
    total, tag = Inertia.zero(), "collision" if link.find("collision") is not None else "visual"
    for part in link.all(tag):
        geometry, origin = part.find("geometry"), read_origin(part.find("origin"), log)
        for shape in geometry.children if geometry is not None else ():
            try:
                inertia = _inertia(shape, density, reach, log)
            except MeshError as error:
                problem = f"{link.label}: the mass of {_named(shape)} is not known: {error}"
                log.add("inertia-mesh", shape.where, problem)
                continue
            total = total + inertia.congruence(origin.transform())
    if total.mass == 0:
        return None
    problem = f"{total.mass:.6g} kg from the <{tag}> geometry with {density:g} kg/m^3"
    log.add("inertia-geometry", link.where, problem)
    return total


def _named(shape: Element) -> str:
    return f"mesh {shorten(shape.get('filename') or '')!r}" if shape.tag == "mesh" else f"the <{shape.tag}>"


def _inertia(shape: Element, density: float, reach: Reach, log: Log) -> Inertia:
    if shape.tag != "mesh":
        found = primitive(shape)
        if found is None:
            raise MeshError("its sizes are not valid")
        volume, moments = solid(*found)
        return Inertia(density * volume, inertia=scale(moments, density * volume))
    factor = vector(shape, "scale", 3, (1.0, 1.0, 1.0), log)
    whole = mesh_bulk(shape.get("filename") or "", factor, shape.where, reach, log)
    moments = (density * whole.moments).tolist()
    return Inertia(density * whole.size, tuple(whole.center.tolist()), moments)


def mesh_bulk(uri: str, scale: tuple[float, ...], where: Where, reach: Reach, log: Log) -> Bulk:
    """The volume enclosed by a mesh file, scaled; that of its hull if it has holes."""
    inside = reach.mesh(uri)
    path = next((path for path in inside if path.is_file()), None)
    if path is None:
        problem = "its file was not found" if inside else "it lies outside the allowed folders"
        raise MeshError(problem + "; give package_dirs= or include_dirs=")
    mesh, factor = read_mesh(path), np.array(scale)
    mesh = mesh.moved(mesh.vertices * factor, mirrored=bool(np.prod(factor) < 0))
    return enclosed(mesh, uri, where, log)


def enclosed(mesh: Mesh, name: str, where: Where, log: Log) -> Bulk:
    """The volume enclosed by a mesh; that of its hull if it has holes."""
    if not is_closed(mesh):
        log.add("mesh-open", where, f"mesh {shorten(name)!r} has holes, or faces of mixed orientation")
        return bulk(mesh, "convex")
    return bulk(_outwards(mesh), "exact")


def _outwards(mesh: Mesh) -> Mesh:
    """A closed mesh with its faces flipped if they point inwards."""
    corners = mesh.vertices[mesh.faces] - mesh.vertices.mean(axis=0)
    volume = (corners[:, 0] * np.cross(corners[:, 1], corners[:, 2])).sum()
    return mesh.moved(mesh.vertices, mirrored=bool(volume < 0))
