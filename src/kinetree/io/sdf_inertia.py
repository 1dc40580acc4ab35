"""Inertias in SDF: the `<inertial>` element, and the masses of collision shapes if it is auto."""

from __future__ import annotations

from collections.abc import Callable
from math import pi

from kinetree.io.attributes import shorten
from kinetree.io.paths import Reach
from kinetree.io.polyhedra import MeshError
from kinetree.io.primitives import solid
from kinetree.io.report import Log, Where
from kinetree.io.sdf_values import number_in, pose_in, text_in, vector_in
from kinetree.io.urdf_geometry import mesh_bulk
from kinetree.io.xml import Element
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Matrix, mat_mul, scale, transpose

_DENSITY = 1000.0
_UNIT = 1.0  # kg and kg m^2: SDF's defaults
_MASSLESS = ("plane", "heightmap", "image", "empty")


def read_inertia(
    link: Element, static: bool, placed: Callable[[Element], Pose], reach: Reach, log: Log
) -> Inertia:
    """The inertia of a link in its own frame.

    Args:
        static: the link does not move, so its inertia has no effect.
        placed: returns the pose of a part in the link.
    """
    inertial = link.find("inertial")
    if inertial is None:
        if not static:
            log.add("inertia-default", link.where, "the link has no <inertial>")
        return Inertia(_UNIT, inertia=(_UNIT,) * 3)
    if (inertial.get("auto") or "").lower() in ("true", "1"):
        return _from_shapes(link, inertial, placed, reach, log)
    pose = pose_in(inertial, log)
    missing = [tag for tag in ("mass", "inertia") if inertial.find(tag) is None]
    if missing and not static:
        log.add("inertia-default", link.where, f"<inertial> has no <{'> and no <'.join(missing)}>")
    mass = number_in(inertial, "mass", _UNIT, log)
    moments = _moments(inertial.find("inertia"), link.where, log)
    return Inertia(mass, pose.p, mat_mul(mat_mul(pose.R, moments), transpose(pose.R)))


def _moments(element: Element | None, where: Where, log: Log) -> Matrix:
    if element is None:
        return ((_UNIT, 0.0, 0.0), (0.0, _UNIT, 0.0), (0.0, 0.0, _UNIT))
    missing = [f"i{a}" for a in ("xx", "yy", "zz") if element.find(f"i{a}") is None]
    if missing:
        log.add("inertia-default", where, f"<inertia> has no <{'>, <'.join(missing)}>")
    xx, yy, zz = (number_in(element, f"i{a}", _UNIT, log) for a in ("xx", "yy", "zz"))
    xy, xz, yz = (number_in(element, f"i{a}", 0.0, log) for a in ("xy", "xz", "yz"))
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


def _from_shapes(
    link: Element, inertial: Element, placed: Callable[[Element], Pose], reach: Reach, log: Log
) -> Inertia:
    """The sum over the collision shapes, each with its own density, scaled to the mass if that is given."""
    density = number_in(inertial, "density", _DENSITY, log)
    total = Inertia.zero()
    for collision in link.all("collision"):
        own = number_in(collision, "density", density, log)
        if own < 0:
            problem, change = "a shape has negative density", "its mass was set to 0"
            log.repairable("mass-negative", collision.where, problem, change)
            continue
        geometry = collision.find("geometry")
        for shape in geometry.children if geometry is not None else ():
            inertia = _shape_inertia(shape, own, link, reach, log)
            if inertia is not None:
                total = total + inertia.congruence(placed(collision).transform())
    if not total.mass:
        log.add("inertia-default", link.where, "auto inertia, but no shape has mass")
        return Inertia(_UNIT, inertia=(_UNIT,) * 3)
    if inertial.find("mass") is None:
        return total
    factor = number_in(inertial, "mass", _UNIT, log) / total.mass
    return Inertia.from_parameters(x * factor for x in total.parameters)


def _shape_inertia(shape: Element, density: float, link: Element, reach: Reach, log: Log) -> Inertia | None:
    """The inertia of a solid shape in its own frame; None if it has none."""
    if shape.tag in _MASSLESS or ":" in shape.tag:
        return None
    found = size_of(shape, log)
    if found is None:
        return _mesh_inertia(shape, density, link, reach, log)
    kind, size = found
    if min(size) <= 0:
        log.add("value", shape.where, f"a {kind} needs positive sizes", "Give its size.")
        return None
    if kind == "cone":
        return cone(density, *size)
    volume, moments = solid(kind, size)
    return Inertia(density * volume, inertia=scale(moments, density * volume))


def _mesh_inertia(shape: Element, density: float, link: Element, reach: Reach, log: Log) -> Inertia | None:
    uri = text_in(shape, "uri")
    try:
        if shape.tag != "mesh" or shape.find("submesh") is not None:
            raise MeshError("such shapes are not supported")
        whole = mesh_bulk(uri, vector_in(shape, "scale", (1.0, 1.0, 1.0), log), shape.where, reach, log)
    except MeshError as error:
        problem = f"{link.label}: the mass of <{shape.tag}> {shorten(uri)!r} is not known: {error}"
        log.add("inertia-mesh", shape.where, problem)
        return None
    return Inertia(density * whole.size, tuple(whole.center.tolist()), (density * whole.moments).tolist())


def size_of(shape: Element, log: Log) -> tuple[str, tuple[float, ...]] | None:
    """Kind and half sizes of a primitive, as in MJCF; None for anything else."""
    match shape.tag:
        case "box":
            return "box", tuple(x / 2 for x in vector_in(shape, "size", (1.0, 1.0, 1.0), log))
        case "sphere":
            return "sphere", (number_in(shape, "radius", 1.0, log),)
        case "ellipsoid":
            return "ellipsoid", vector_in(shape, "radii", (1.0, 1.0, 1.0), log)
        case "cylinder" | "capsule" | "cone":
            radius = number_in(shape, "radius", 1.0 if shape.tag == "cylinder" else 0.5, log)
            length = number_in(shape, "length", 1.0, log)
            return shape.tag, (radius, length / 2)
    return None


def cone(density: float, radius: float, half: float) -> Inertia:
    """A cone, tip up, with the origin at half height; its centre of mass is at a quarter of the height."""
    height = 2 * half
    mass = density * pi * radius**2 * height / 3
    across = mass * (3 / 20 * radius**2 + 3 / 80 * height**2)
    centred = Inertia(mass, inertia=(across, across, 3 / 10 * mass * radius**2))
    return centred.congruence(Pose(p=(0.0, 0.0, -half / 2)).transform())
