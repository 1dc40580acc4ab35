"""Contact geometry: shapes on bodies with their contact properties, and the contact points they have."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.model import validate
from kinetree.model.shapes import Rim, Shape, Support, offset
from kinetree.spatial import vector as vec
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Vector

if TYPE_CHECKING:
    from kinetree.model.model import Model

FRICTION, DISSIPATION = 0.8, 1.0
SINK = 1e-3  # m: default depth to which a robot that stands on its feet sinks in
_FEET = 4  # most points that a robot is assumed to stand on, for its default stiffness
EARTH = 9.81  # m/s^2: gravity for the weight of models without gravity


class Geometry(NamedTuple):
    """A shape that is fixed in a body, and its contact properties."""

    name: str
    body: int  # index of the body; 0 is the world
    shape: Shape
    placement: Pose  # of the shape's frame in the body
    friction: float = FRICTION  # Coulomb's coefficient
    stiffness: float | None = None  # of each of its points, N/m; None: derived from the weight
    dissipation: float = DISSIPATION  # s/m: relative growth of the force per m/s of approach


class ContactPoint(NamedTuple):
    """One point of a body that can touch the ground."""

    geometry: str  # the name of the geometry that it belongs to
    body: int
    position: Vector  # in body coordinates: of the point, or of the centre of its ball or rim
    radius: float  # of the ball, m; 0 for points
    friction: float
    stiffness: Any  # N/m
    dissipation: float  # s/m
    rim: Rim | None = None  # of a cylinder: the place of the point on a circle depends on the normal

    @property
    def support(self) -> Support:
        """Its place on the body."""
        return Support(self.position, self.radius, self.rim)

    def touching(self, normal: Vector) -> Vector:
        """The point, in body coordinates, at which it touches a surface.

        Args:
            normal: unit vector out of the surface, in the axes of the body; numbers of any kind.
        """
        return vec.add(self.position, offset(self.support.numbers, normal))

    def moved(self, pose: Pose, body: int | None = None) -> ContactPoint:
        """The same point in another frame, in which the present one has this pose."""
        place = self.support.moved(pose)
        return self._replace(position=place.position, rim=place.rim, body=self.body if body is None else body)


def geometry(name: str, body: int, given: tuple, owner: str) -> Geometry:
    """A geometry from user input, checked: shape, placement, friction, stiffness, dissipation."""
    shape, placement, friction, stiffness, dissipation = given
    if not isinstance(shape, Shape):
        hint = f"write {shape.__name__}(...)" if isinstance(shape, type) else "as in Sphere(0.02)"
        raise ModelError(f"{owner}: shape must be a shape, {hint}, got {validate.shown(shape)}")
    return Geometry(
        name,
        body,
        shape,
        validate.pose(placement, f"{owner}: placement"),
        number_at_least(0.0, friction, f"{owner}: friction"),
        None if stiffness is None else number_at_least(None, stiffness, f"{owner}: stiffness"),
        number_at_least(0.0, dissipation, f"{owner}: dissipation"),
    )


def number_at_least(least: float | None, value: Any, what: str) -> float:
    """A number that is not below `least`; positive if that is None."""
    if isinstance(value, bool) or not ops.is_literal(value):
        raise ModelError(f"{what} is {validate.shown(value)}: it must be a plain number")
    if not math.isfinite(value) or (value <= 0 if least is None else value < least):
        kind = "positive" if least is None else "not negative"
        raise ModelError(f"{what} is {value}: it must be finite and {kind}")
    return float(value)


_FIELDS = ("shape", "placement", "friction", "stiffness", "dissipation")


def changed_geometries(model: Model, changes: Any) -> tuple[Geometry, ...]:
    """The geometries of a model after changes, a dict from their names to dicts, or to None."""
    owner = f"model '{model.name}': replace(geometries=...)"
    if not isinstance(changes, Mapping):
        raise ModelError(f"{owner} takes a dict from names of geometries, got {validate.shown(changes)}")
    own: dict[str, Geometry | None] = {part.name: part for part in model.geometries}
    for name, values in changes.items():
        part = own.get(name)
        if part is None:
            raise validate.unknown(name, "geometry", own, owner)
        if values is None:
            own[name] = None
            continue
        if not isinstance(values, Mapping):
            got = validate.shown(values)
            raise ModelError(f"{owner}: '{name}' needs a dict of what changes, or None, got {got}")
        for field in values:
            if field not in _FIELDS:
                raise validate.unknown(field, "entry", _FIELDS, f"{owner}: '{name}'")
        given = {**part._asdict(), **values}
        what = f"model '{model.name}': geometry '{name}'"
        own[name] = geometry(name, part.body, tuple(given[field] for field in _FIELDS), what)
    return tuple(part for part in own.values() if part is not None)


def names(model: Model) -> tuple[str, ...]:
    """The names of the geometries, in the order in which they were added."""
    return tuple(part.name for part in model.geometries)


def free_name(wanted: str, taken: Any) -> str:
    """`wanted`, or `wanted_2`, ... if it is taken."""
    name, count = wanted, 2
    while name in taken:
        name, count = f"{wanted}_{count}", count + 1
    return name


def contact_points(model: Model) -> tuple[ContactPoint, ...]:
    """The points of bodies that can touch the ground, in the order of the geometries.

    A body that cannot move has none. The default stiffness lets a robot on its feet sink in by 1 mm:
    k = m g / (n 1 mm), with the mass m of the tree that the body belongs to (from the first joint that
    moves), |g| of the model (9.81 without gravity), and the number n of points on that tree, at most 4.
    """
    return model.memo("contact points", lambda: _points(model))


def weights(model: Model) -> list[Any]:
    """The weight of the tree that each body belongs to, the world first, N; 0 for bodies that cannot move.

    Trees that can touch each other may support each other, so they count together.
    """
    roots = roots_of(model)
    own = {root: _weight(model, root, roots) for root in set(roots) if root}
    bodies = {part.name: part.body for part in model.geometries}
    linked = {root: {root} for root in own}
    for pair in model.pairs:
        a, b = roots[bodies[pair.geometry]], roots[bodies[pair.other]]
        if a and b:
            linked[a] |= linked[b]
            linked |= dict.fromkeys(linked[a], linked[a])
    return [sum(own[k] for k in sorted(linked[root])) if root else 0.0 for root in roots]


def stiffness_of(model: Model, part: Geometry) -> Any:
    """The stiffness of each point of a geometry; None for a rigid one, which cannot move."""
    if part.stiffness is not None:
        return part.stiffness
    root = roots_of(model)[part.body]
    return _defaults(model)[root] if root else None


def _points(model: Model) -> tuple[ContactPoint, ...]:
    roots, resolved = roots_of(model), _defaults(model)
    found = [(part, roots[part.body], s) for part in model.geometries for s in part.shape.supports]
    found = [(part, root, s.moved(part.placement)) for part, root, s in found if root]
    return tuple(
        ContactPoint(
            part.name, part.body, s.position, s.radius, part.friction,
            resolved[root] if part.stiffness is None else part.stiffness, part.dissipation, s.rim,
        )
        for part, root, s in found
    )  # fmt: skip


def _defaults(model: Model) -> dict[int, Any]:
    """The default stiffness of points, by the root body of their tree."""
    roots, weight = roots_of(model), weights(model)
    counts = Counter(roots[part.body] for part in model.geometries for _ in part.shape.supports)
    return {root: weight[root] / (min(count, _FEET) * SINK) for root, count in counts.items()}


def roots_of(model: Model) -> list[int]:
    """For each body, the world first, the root of its tree: the first that moves; 0 if there is none."""
    roots = [0]
    for i, body in enumerate(model.bodies, 1):
        roots.append(roots[body.parent] or (i if body.joint.nv else 0))
    return roots


def _weight(model: Model, root: int, roots: list[int]) -> Any:
    """The weight of a tree, N; that of 1 kg if it has no mass."""
    mass = sum(body.inertia.mass for body, own in zip(model.bodies, roots[1:]) if own == root)
    if ops.is_literal(mass) and not mass > 0:
        mass = 1.0
    square = vec.dot(model.gravity, model.gravity)  # type: ignore[arg-type]
    return mass * (EARTH if ops.is_literal(square) and square == 0 else ops.sqrt(square))
