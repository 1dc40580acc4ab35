"""Contact between bodies: which geometries can touch each other, and with what properties."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from kinetree.errors import ModelError
from kinetree.model import validate
from kinetree.model.geometry import Geometry, number_at_least, stiffness_of
from kinetree.model.manifold import count

if TYPE_CHECKING:
    from kinetree.model.model import Model

MOST = 256  # most pairs of a model
POINTS = 2048  # most points of all of them


class Pair(NamedTuple):
    """Two geometries that can touch each other. Values of None follow from both geometries.

    Friction is sqrt(mu_a mu_b); springs are in series, k = k_a k_b / (k_a + k_b); dissipation is weighted by
    the deflections of the springs, d = (k_b d_a + k_a d_b) / (k_a + k_b). A geometry that cannot move and has
    no stiffness of its own is rigid.

    Args:
        geometry, other: their names.
        friction: Coulomb's coefficient.
        stiffness: of each point, N/m.
        dissipation: s/m.
    """

    geometry: str
    other: str
    friction: float | None = None
    stiffness: float | None = None  # of each point, N/m
    dissipation: float | None = None  # s/m

    def prefixed(self, prefix: str) -> Pair:
        """The same pair, with the names of its geometries prefixed."""
        return self._replace(geometry=prefix + self.geometry, other=prefix + self.other)


class PairPoint(NamedTuple):
    """One point at which two geometries can touch."""

    geometry: str
    other: str
    body: int  # of the first geometry
    other_body: int
    friction: float
    stiffness: Any  # N/m
    dissipation: Any  # s/m


def pair_points(model: Model) -> tuple[PairPoint, ...]:
    """The points at which the `pairs` of a model can touch, in their order.

    Their places depend on the state. Forces are those on the first geometry.
    """
    return model.memo("pair points", lambda: tuple(_points(model)))


def _points(model: Model) -> Iterable[PairPoint]:
    parts = {part.name: part for part in model.geometries}
    for pair in model.pairs:
        a, b = parts[pair.geometry], parts[pair.other]
        point = PairPoint(a.name, b.name, a.body, b.body, *_felt(model, pair, a, b))
        yield from [point] * count(a.shape, b.shape)


def _felt(model: Model, pair: Pair, a: Geometry, b: Geometry) -> tuple[float, Any, Any]:
    """Friction, stiffness and dissipation between two geometries."""
    friction = math.sqrt(a.friction * b.friction) if pair.friction is None else pair.friction
    k, other = stiffness_of(model, a), stiffness_of(model, b)
    if k is None or other is None:
        rigid, whole = (a, other) if k is None else (b, k)
        d = (b if rigid is a else a).dissipation
    else:
        whole = k * other / (k + other)
        d = (other * a.dissipation + k * b.dissipation) / (k + other)
    stiffness = whole if pair.stiffness is None else pair.stiffness
    return friction, stiffness, d if pair.dissipation is None else pair.dissipation


def possible_pairs(model: Model) -> tuple[tuple[str, str], ...]:
    """The geometries that could touch each other, by name, each pair once.

    Excluded are geometries of one body, of a body and the one that carries it, of bodies fixed to each other,
    and of two bodies that cannot move. The world does not count as the carrier of a freely moving body.
    """
    return model.memo("possible pairs", lambda: tuple(each_possible_pair(model)))


def each_possible_pair(model: Model) -> Iterable[tuple[str, str]]:
    """`possible_pairs`, one after the other."""
    rigid = _fixed_to(model)
    above = [-1, *(-1 if body.joint.is_free else rigid[body.parent] for body in model.bodies)]
    for k, a in enumerate(model.geometries):
        for b in model.geometries[k + 1 :]:
            i, j = rigid[a.body], rigid[b.body]
            if i != j and above[i] != j and above[j] != i:
                yield a.name, b.name


def _fixed_to(model: Model) -> list[int]:
    """The body that each body, the world first, is ultimately fixed to."""
    rigid = [0]
    for i, body in enumerate(model.bodies, 1):
        rigid.append(i if body.joint.nv else rigid[body.parent])
    return rigid


def pair_of(given: Any, owner: str) -> Pair:
    """A pair from user input, two names or a `Pair`, with its numbers checked."""
    if not isinstance(given, (tuple, list)) or not 2 <= len(given) <= 5:
        raise ModelError(f"{owner}: a pair is two names of geometries or a Pair, got {validate.shown(given)}")
    pair = Pair(*given)
    what = f"{owner}: pair of {validate.shown(pair.geometry)} and {validate.shown(pair.other)}"
    least = {"friction": 0.0, "stiffness": None, "dissipation": 0.0}
    own = {name: getattr(pair, name) for name in least}
    checked = (
        None if x is None else number_at_least(least[name], x, f"{what}: {name}") for name, x in own.items()
    )
    return Pair(pair.geometry, pair.other, *checked)


def checked_pairs(model: Model, given: Iterable[Any], owner: str) -> tuple[Pair, ...]:
    """Pairs of geometries of a model, checked."""
    parts = {part.name: part for part in model.geometries}
    rigid, found = _fixed_to(model), dict[frozenset, Pair]()
    for pair in (pair_of(x, owner) for x in given):
        for name in pair[:2]:
            if not isinstance(name, str) or name not in parts:
                raise validate.unknown(name, "geometry", parts, f"{owner}: pair")
        a, b = parts[pair.geometry], parts[pair.other]
        what = f"{owner}: '{a.name}' and '{b.name}'"
        if rigid[a.body] == rigid[b.body]:
            raise ModelError(f"{what} cannot move against each other: they are no pair")
        if frozenset(pair[:2]) in found:
            raise ModelError(f"{what} are a pair already")
        try:
            count(a.shape, b.shape)
        except ModelError as error:
            raise ModelError(f"{what}: {error}") from None
        found[frozenset(pair[:2])] = pair
    _refuse_many(parts, found.values(), owner)
    return tuple(found.values())


def _refuse_many(parts: dict[str, Geometry], pairs: Any, owner: str) -> None:
    """ModelError if there are too many pairs: each costs time in every step."""
    points = sum(count(parts[p.geometry].shape, parts[p.other].shape) for p in pairs)
    if len(pairs) > MOST or points > POINTS:
        raise ModelError(
            f"{owner}: {len(pairs)} pairs with {points} points are asked for, more than {MOST} with "
            f"{POINTS}: each costs time in every step. Name those that will touch (add_pair), or leave out "
            "geometries that will not"
        )


def kept_pairs(model: Model) -> tuple[Pair, ...]:
    """The pairs of a model whose geometries exist and can move relative to each other."""
    bodies, rigid = {part.name: part.body for part in model.geometries}, _fixed_to(model)
    return tuple(
        pair
        for pair in model.pairs
        if pair.geometry in bodies
        and pair.other in bodies
        and rigid[bodies[pair.geometry]] != rigid[bodies[pair.other]]
    )


def changed_pairs(model: Model, given: Any) -> tuple[Pair, ...]:
    """The argument of `replace(pairs=...)`, checked; "all" stands for all possible pairs."""
    owner = f"model '{model.name}': replace(pairs=...)"
    if isinstance(given, str) and given == "all":
        given = possible_pairs(model)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ModelError(f"{owner} takes pairs of names of geometries, or 'all', got {validate.shown(given)}")
    return checked_pairs(model, given, owner)
