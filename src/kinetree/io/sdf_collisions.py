"""The `<collision>` elements of SDF: shapes, `<surface>`, and the plane that is the ground."""

from __future__ import annotations

from typing import Any

from kinetree.io.collisions import Collisions
from kinetree.io.description import Link
from kinetree.io.placement import HERE
from kinetree.io.report import Log
from kinetree.io.sdf_inertia import size_of
from kinetree.io.sdf_values import number_in, text_in, vector_in
from kinetree.io.text import CUSTOM, GEOMETRY, GROUND, PAIR
from kinetree.io.urdf_collisions import PROXIMITY, numbers
from kinetree.io.xml import Element
from kinetree.model.ground import Ground
from kinetree.model.shapes import Shape
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import dot, mat_vec

_FRICTION, _STIFFNESS, _DAMPING = 1.0, 1e12, 1.0  # defaults of SDF
_GROUNDS = ("plane", "heightmap")


def read_sdf_collisions(found: Collisions, root: Element) -> None:
    """Read the collisions of all links, or what `save` wrote if present."""
    ours = [e for e in root.walk() if e.tag.startswith(CUSTOM)]
    texts = [[(e, e.text) for e in ours if e.tag == CUSTOM + tag] for tag in (GEOMETRY, GROUND, PAIR)]
    if found.restore(*texts):
        return
    models = [*root.all("model"), *(m for world in root.all("world") for m in world.all("model"))]
    selfish = [m for m in models if text_in(m, "self_collide").strip().lower() in ("true", "1")]
    found.robot.collide = {(m.get("name") or "") if len(models) > 1 else "" for m in selfish}
    for link in found.robot.links.values():
        owner = link.name.partition("::")[0] if len(models) > 1 else ""
        for collision, placement in link.collisions:
            geometry = collision.find("geometry")
            for part in geometry.children if geometry is not None else ():
                if part.tag in _GROUNDS:
                    _read_ground(found, link, part, placement)
                    continue
                shape = _shape(found, part)
                contact = _surface(found, collision) | {"owner": owner}
                found.add(collision.get("name"), link.name, collision.where, shape, placement, **contact)


def _shape(found: Collisions, element: Element) -> Shape | None:
    if element.tag == "mesh":
        scale = vector_in(element, "scale", (1.0, 1.0, 1.0), Log())
        return found.mesh(text_in(element, "uri"), scale, element.where)
    unheard = Log()
    sizes = size_of(element, unheard)
    if sizes is None or unheard.errors:
        found.note("contact-shape", element.where, f"a <{element.tag[:20]}> is not read, or has no sizes")
        return None
    return found.primitive(*sizes, element.where)


def _surface(found: Collisions, collision: Element) -> dict[str, Any]:
    """Friction and stiffness from the ODE elements, which all SDF simulators read."""
    contact: dict[str, Any] = {"friction": _FRICTION}
    surface, unheard = collision.find("surface"), Log()
    ode = _inside(surface, "friction", "ode")
    if ode is not None:
        contact |= found.coefficient(number_in(ode, "mu", _FRICTION, unheard), collision.where)
    ode = _inside(surface, "contact", "ode")
    if ode is not None:
        stiffness = number_in(ode, "kp", _STIFFNESS, unheard, infinite=True)
        damping = number_in(ode, "kd", _DAMPING, unheard, infinite=True)
        contact |= found.springy(stiffness, damping, collision.where)
    if _inside(surface, "friction", "torsional") is not None:
        found.note("contact-parameter", collision.where, "torsional friction")
    mask = _inside(surface, "contact")
    if mask is not None and text_in(mask, "collide_bitmask"):
        bits = _bits(text_in(mask, "collide_bitmask"))
        contact["groups"] = (bits, bits)
    return contact | numbers(found, list(collision.all(PROXIMITY)))


def _bits(text: str) -> int:
    """A bit mask, decimal or as 0x..; all bits if it is neither."""
    try:
        return int(text.strip(), 0) & 0xFFFF
    except ValueError:
        return 0xFFFF


def _inside(element: Element | None, *tags: str) -> Element | None:
    for tag in tags:
        element = None if element is None else element.find(tag)
    return element


def _read_ground(found: Collisions, link: Link, element: Element, placement: Pose) -> None:
    """A fixed plane becomes the ground."""
    robot = found.robot
    weld = next((j for j in robot.joints.values() if j.child == link.name and j.parent == "world"), None)
    if element.tag != "plane" or weld is None or not weld.is_fixed:
        found.note("contact-shape", element.where, f"a <{element.tag}>: only fixed planes are read")
        return
    if robot.ground is not None:
        found.note("contact-shape", element.where, "a second plane: the first one is the ground")
        return
    pose = weld.placement @ (placement or HERE)
    normal = mat_vec(pose.R, vector_in(element, "normal", (0.0, 0.0, 1.0), Log()))  # type: ignore[arg-type]
    if any(normal):
        size = dot(normal, normal) ** 0.5
        robot.ground = Ground(normal, dot(normal, pose.p) / size)
