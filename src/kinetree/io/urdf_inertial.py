"""URDF's `<origin>` and `<inertial>`."""

from __future__ import annotations

from kinetree.io.attributes import number, vector
from kinetree.io.placement import HERE, ORIGIN, from_rpy
from kinetree.io.report import Log, Where
from kinetree.io.xml import Element
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Matrix, mat_mul, transpose

NOTHING: Matrix = ((0.0, 0.0, 0.0),) * 3


def read_origin(element: Element | None, log: Log) -> Pose:
    """The pose that an `<origin xyz= rpy=>` element writes; the identity if there is none."""
    if element is None:
        return HERE
    if "quat_xyzw" in element.attributes:
        problem = "attribute quat_xyzw of <origin> is not read"
        log.add("unsupported", element.where, problem, "Write the rotation as rpy.")
    xyz = vector(element, "xyz", 3, ORIGIN, log)
    rpy = vector(element, "rpy", 3, ORIGIN, log)
    return Pose(from_rpy(rpy), xyz)  # type: ignore[arg-type]


def read_inertial(element: Element, where: Where, log: Log) -> Inertia | None:
    """The inertia of an `<inertial>` in link axes; None if it makes no sense."""
    origin = read_origin(element.find("origin"), log)
    mass_element, inertia_element = element.find("mass"), element.find("inertia")
    mass = 0.0 if mass_element is None else number(mass_element, "value", None, log)
    inertia = NOTHING if inertia_element is None else _inertia(inertia_element, where, log)
    if mass_element is None and inertia != NOTHING:
        log.add("element-missing", where, "<inertial> has moments of inertia but no <mass>")
        return None
    if mass_element is None:
        log.add("mass-missing", where, "<inertial> has no <mass>")
    elif inertia_element is None:
        log.add("inertia-zero", where, "<inertial> has no <inertia>")
    return Inertia(mass, origin.p, mat_mul(mat_mul(origin.R, inertia), transpose(origin.R)))


def _inertia(element: Element, where: Where, log: Log) -> Matrix:
    xx, yy, zz = (number(element, f"i{a}", None, log) for a in ("xx", "yy", "zz"))
    xy, xz, yz = (number(element, f"i{a}", 0.0, log) for a in ("xy", "xz", "yz"))
    missing = [name for name in ("ixy", "ixz", "iyz") if element.get(name) is None]
    if missing:
        log.add("inertia-incomplete", where, f"<inertia> does not have {', '.join(missing)}")
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
