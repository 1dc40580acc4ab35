"""The `<collision>` elements of SDF: shapes, `<surface>`, and the plane that is the ground."""

from __future__ import annotations

from typing import Any

from kinetree.io.attributes import parse_numbers
from kinetree.io.collisions import MISSES_GROUND, RESTITUTION, Collisions
from kinetree.io.description import WORLD, Joint
from kinetree.io.report import Log
from kinetree.io.sdf_inertia import size_of
from kinetree.io.sdf_values import flag_in, number_in, text_in, vector_in
from kinetree.io.text import CUSTOM, GEOMETRY, GROUND, PAIR
from kinetree.io.urdf_collisions import PROXIMITY, numbers
from kinetree.io.xml import Element
from kinetree.model.ground import Ground
from kinetree.model.shapes import Shape
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import dot, mat_vec

_FRICTION, _STIFFNESS, _DAMPING = 1.0, 1e12, 1.0  # defaults of SDF
_ALL = 0xFFFF  # all bits of a mask
_GROUNDS = ("plane", "heightmap")
_READ = ("ode", "torsional", "bounce", "collide_without_contact", "collide_bitmask", "category_bitmask")


def read_sdf_collisions(found: Collisions, root: Element) -> None:
    """Read the collisions of all links, or what `save` wrote if present."""
    ours = [e for e in root.walk() if e.tag.startswith(CUSTOM)]
    texts = [[(e, e.text) for e in ours if e.tag == CUSTOM + tag] for tag in (GEOMETRY, GROUND, PAIR)]
    if found.restore(*texts):
        return
    models = [*root.all("model"), *(m for world in root.all("world") for m in world.all("model"))]
    selfish = [m for m in models if text_in(m, "self_collide").strip().lower() in ("true", "1")]
    found.robot.collide = {(m.get("name") or "") if len(models) > 1 else "" for m in selfish}
    parts = [
        (link, collision, placement, part)
        for link in found.robot.links.values()
        for collision, placement in link.collisions
        if (geometry := collision.find("geometry")) is not None
        for part in geometry.children
    ]
    welds = {j.child: j for j in found.robot.joints.values() if j.is_fixed and j.parent == WORLD}
    below = _ALL, _ALL
    for link, collision, placement, part in parts:
        if part.tag in _GROUNDS and _read_ground(found, welds.get(link.name), part, placement):
            below = _masks(found, collision)
    for link, collision, placement, part in parts:
        own, others = (0, 0) if part.tag in _GROUNDS else _masks(found, collision)
        if not (own or others):
            continue
        if not (own & below[1] or below[0] & others) and link.name not in welds:
            found.note("contact-pairs", collision.where, MISSES_GROUND)
            continue
        contact = _surface(found, collision) | {"groups": (own, others)}
        contact["owner"] = link.name.partition("::")[0] if len(models) > 1 else ""
        name, shape = collision.get("name"), _shape(found, part)
        found.add(name, link.name, collision.where, shape, placement, **contact)


def _shape(found: Collisions, element: Element) -> Shape | None:
    unheard = Log()
    if element.tag == "mesh":
        scale = vector_in(element, "scale", (1.0, 1.0, 1.0), unheard)
        return found.mesh(text_in(element, "uri"), scale, element.where, unheard)
    sizes = size_of(element, unheard)
    if sizes is None or unheard.errors:
        found.note("contact-shape", element.where, f"a <{element.tag[:20]}> is not read, or has no sizes")
        return None
    return found.primitive(*sizes, element.where)


def _surface(found: Collisions, collision: Element) -> dict[str, Any]:
    """Friction and stiffness from the ODE elements, which all SDF simulators read."""
    contact: dict[str, Any] = {"friction": _FRICTION}
    surface, where, unheard = collision.find("surface"), collision.where, Log()
    ode = _inside(surface, "friction", "ode")
    if ode is not None:
        friction = number_in(ode, "mu", _FRICTION, unheard)
        contact |= found.coefficient(friction, where)
        if number_in(ode, "mu2", friction, unheard) != friction:
            found.note("contact-parameter", where, "a second coefficient of friction (mu2)")
    ode = _inside(surface, "contact", "ode")
    if ode is not None:
        stiffness = number_in(ode, "kp", _STIFFNESS, unheard, infinite=True)
        damping = number_in(ode, "kd", _DAMPING, unheard, infinite=True)
        contact |= found.springy(stiffness, damping, where)
    if _inside(surface, "friction", "torsional") is not None:
        found.note("contact-parameter", where, "torsional friction")
    if surface is not None:
        _note_unread(found, surface)
    bounce = _inside(surface, "bounce")
    if bounce is not None and number_in(bounce, "restitution_coefficient", 0.0, unheard):
        found.note("contact-parameter", where, RESTITUTION)
    for error in unheard.errors:
        found.note("contact-parameter", error.where, error.problem)
    return contact | numbers(found, list(collision.all(PROXIMITY)))


def _masks(found: Collisions, collision: Element) -> tuple[int, int]:
    """Bit masks of a shape: its own groups, and those it collides with; none for a shape that only senses."""
    contact = _inside(collision, "surface", "contact")
    if contact is None:
        return _ALL, _ALL
    if flag_in(contact, "collide_without_contact"):
        found.note("contact-parameter", collision.where, "a shape that collides without contact is left out")
        return 0, 0
    others = _mask(found, contact, "collide_bitmask", _ALL)
    return _mask(found, contact, "category_bitmask", others), others


def _mask(found: Collisions, contact: Element, name: str, usual: int) -> int:
    text = text_in(contact, name)
    try:
        return int(text, 0) & _ALL if text else usual
    except ValueError:
        found.note("contact-parameter", contact.where, f"<{name}> is not a number")
        return usual


def _note_unread(found: Collisions, surface: Element) -> None:
    """Note what acts on contact but is not read: parameters of other engines, and slip."""
    for part in surface.children:
        for child in part.children if part.tag in ("friction", "contact") else (part,):
            if child.tag not in _READ:
                found.note("contact-parameter", child.where, f"<{child.tag[:20]}> of a surface")
            for element in child.all("slip1", "slip2", "fdir1", "soft_cfm") if child.tag == "ode" else ():
                if any(parse_numbers(element.text)):
                    found.note("contact-parameter", element.where, f"<{element.tag}> of a surface")


def _inside(element: Element | None, *tags: str) -> Element | None:
    for tag in tags:
        element = None if element is None else element.find(tag)
    return element


def _read_ground(found: Collisions, weld: Joint | None, element: Element, placement: Pose) -> bool:
    """Make a fixed plane the ground; `weld` is the joint that fixes its link to the world."""
    robot, unheard = found.robot, Log()
    if element.tag != "plane" or weld is None:
        found.note("contact-shape", element.where, f"a <{element.tag}>: only fixed planes are read")
        return False
    if robot.ground is not None:
        found.note("contact-shape", element.where, "a second plane: the first one is the ground")
        return False
    pose = weld.placement @ placement
    normal = mat_vec(pose.R, vector_in(element, "normal", (0.0, 0.0, 1.0), unheard))  # type: ignore[arg-type]
    if unheard.errors or not any(normal):
        found.note("contact-shape", element.where, "a plane whose normal is not a direction")
        return False
    size = dot(normal, normal) ** 0.5
    robot.ground = Ground(normal, dot(normal, pose.p) / size)
    return True
