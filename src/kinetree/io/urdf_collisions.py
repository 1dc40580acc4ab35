"""The `<collision>` elements of URDF, and the friction and stiffness extensions of other tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kinetree.io.attributes import parse_number, vector
from kinetree.io.collisions import Collisions
from kinetree.io.description import Link
from kinetree.io.report import Log
from kinetree.io.text import GEOMETRY, GROUND, PAIR
from kinetree.io.urdf_geometry import primitive
from kinetree.io.urdf_parts import read_origin
from kinetree.io.xml import Element
from kinetree.model.shapes import Shape

# tags for friction, stiffness (N/m), damping (N s/m) and dissipation (s/m) in Gazebo, Bullet and Drake
FRICTION = ("mu1", "mu", "lateral_friction", "drake:mu_dynamic", "drake:mu_static")
STIFFNESS = ("kp", "stiffness", "contact_stiffness", "drake:point_contact_stiffness")
DAMPING = ("kd", "damping", "contact_damping")
DISSIPATION = ("drake:hunt_crossley_dissipation",)
PROXIMITY = "drake:proximity_properties"


def read_urdf_collisions(found: Collisions, root: Element) -> None:
    """Read the collisions of all links, or what `save` wrote if present."""
    ours = [child for extension in root.all("kinetree") for child in extension.children]
    texts = [[(e, e.text) for e in ours if e.tag == tag] for tag in (GEOMETRY, GROUND, PAIR)]
    if found.restore(*texts):
        return
    beside: dict[str, list[Element]] = {}
    for element in root.all("gazebo"):
        beside.setdefault(element.get("reference") or "", []).append(element)
    for link in found.robot.links.values():
        if link.source is not None:
            _read_link(found, link, link.source, beside.get(link.name, []))


def _read_link(found: Collisions, link: Link, element: Element, beside: list[Element]) -> None:
    general = [*beside, *element.all("contact")]
    for collision in element.all("collision"):
        geometry, unheard = collision.find("geometry"), Log()
        placement = read_origin(collision.find("origin"), unheard)
        if unheard.errors:
            found.note("contact-shape", collision.where, unheard.errors[0].problem)
            continue
        contact = numbers(found, [*collision.all(PROXIMITY), *general])
        for part in geometry.children if geometry is not None else ():
            shape = _shape(found, part)
            found.add(collision.get("name"), link.name, collision.where, shape, placement, **contact)


def _shape(found: Collisions, element: Element) -> Shape | None:
    if element.tag == "mesh":
        unheard = Log()
        scale = vector(element, "scale", 3, (1.0, 1.0, 1.0), unheard)
        return found.mesh(element.get("filename") or "", scale, element.where, unheard)
    sizes = primitive(element)
    if sizes is None:
        found.note("contact-shape", element.where, f"a <{element.tag[:20]}> without valid sizes")
        return None
    return found.primitive(*sizes, element.where)


def numbers(found: Collisions, scopes: list[Element]) -> dict[str, Any]:
    """Friction, stiffness and dissipation from the given elements; earlier ones take precedence."""
    contact: dict[str, Any] = {}
    words = (FRICTION, STIFFNESS, DAMPING, DISSIPATION)
    friction, stiffness, damping, dissipation = (next(_values(found, scopes, each), None) for each in words)
    if friction is not None:
        contact |= found.coefficient(friction, scopes[0].where)
    if stiffness is not None:
        contact |= found.springy(stiffness, damping, scopes[0].where)
    if dissipation is not None and dissipation < 0:
        found.note("contact-parameter", scopes[0].where, f"dissipation {dissipation} was not used")
    elif dissipation is not None:
        contact["dissipation"] = dissipation
    return contact


def _values(found: Collisions, scopes: list[Element], words: tuple[str, ...]) -> Iterator[float]:
    for scope in scopes:
        for word in words:
            for element in scope.all(word):
                number = parse_number((element.get("value") or element.text).strip())
                if number is not None:
                    yield number
                else:
                    found.note("contact-parameter", element.where, f"<{element.tag}> is not a finite number")
