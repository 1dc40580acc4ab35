"""Which geometries of a file collide with each other.

Geometries of different robots do if the masks of the file allow it and there are not too many; those of one
robot do only if the file says so, or on request. Neighbours in a tree never do, unless the file names the
pair. A robot is a child body of the world (MJCF), a model (SDF), or the whole file (URDF).
"""

from __future__ import annotations

from collections.abc import Iterator

from kinetree.errors import ModelError
from kinetree.io.description import WORLD, Description, Geometry
from kinetree.io.report import Log, Where
from kinetree.model import Model
from kinetree.model.manifold import count
from kinetree.model.pairs import MOST, Pair, checked_pairs, each_possible_pair, kept_pairs
from kinetree.model.shapes import Shape

MANY, MANY_POINTS = 32, 256  # most pairs, and points of pairs, unless requested
_SEEN = 10_000  # most pairs that are counted


def pairs_of(robot: Description, model: Model, within: bool, log: Log) -> tuple[Pair, ...]:
    """The pairs of a model read from a file; `within` lets the links of one robot touch each other."""
    shapes = {part.name: part.shape for part in model.geometries}
    named = tuple(pair for pair in robot.pairs if _can_touch(robot, shapes, pair, log))
    named = kept_pairs(model.remade(pairs=named))
    if robot.restored:
        return named
    where = Where(robot.file, 0, "contact")
    found = {frozenset(pair[:2]): pair for pair in named}
    if len(model.geometries) > MOST and not within:
        problem = f"{len(model.geometries)} shapes: too many to look for pairs that could touch each other"
        log.add("contact-pairs", where, problem)
        return named
    for pair in _possible(robot, model, within):
        if frozenset(pair[:2]) not in found and _can_touch(robot, shapes, pair, log):
            found[frozenset(pair[:2])] = pair
        if len(found) > _SEEN:
            problem = f"self_collision=True makes more than {_SEEN} pairs of shapes; {MOST} are supported"
            remedy = "load without it and name those that will touch with model.add_pair"
            raise ModelError(f"model '{model.name}': {problem}: {remedy}")
    if within:
        return checked_pairs(model, found.values(), f"model '{model.name}'")
    for chosen in (tuple(found.values()), named, ()):
        points = sum(count(shapes[pair.geometry], shapes[pair.other]) for pair in chosen)
        if len(chosen) <= MANY and points <= MANY_POINTS:
            break
        problem = f"{len(chosen)} pairs of shapes with {points} points could touch each other: too many"
        log.add("contact-pairs", where, problem)
    return chosen


def _possible(robot: Description, model: Model, within: bool) -> Iterator[Pair]:
    """The pairs that the owners and masks of the file allow."""
    parts = {part.name: part for part in robot.geometries}
    carriers = _carriers(robot)

    def are_apart(a: Geometry, b: Geometry) -> bool:
        if carriers.get(a.link) == b.link or carriers.get(b.link) == a.link:
            return False
        return within or a.owner != b.owner or a.owner in robot.collide

    for name, other in each_possible_pair(model):
        a, b = parts[name], parts[other]
        masks = a.groups[0] & b.groups[1] or b.groups[0] & a.groups[1]
        if masks and are_apart(a, b) and frozenset((a.home, b.home)) not in robot.excluded:
            rough = None if a.surface is None or b.surface is None else _roughness(a, b)
            yield Pair(name, other, rough)


def _carriers(robot: Description) -> dict[str, str]:
    """The link that carries each link, past the massless ones between several joints of one body."""
    found: dict[str, str] = {}
    for joint in robot.in_order():
        parent = robot.links.get(joint.parent)
        past = parent is not None and parent.virtual
        found[joint.child] = found[joint.parent] if past else joint.parent
    return {link: carrier for link, carrier in found.items() if carrier != WORLD}


def _roughness(a: Geometry, b: Geometry) -> float:
    """The friction of two geoms."""
    contact = a.surface.on(b.surface)
    rough = 1.0 if contact.friction is None else max(contact.friction, 0.0)
    return 0.0 if contact.condim == 1 else rough


def _can_touch(robot: Description, shapes: dict[str, Shape], pair: Pair, log: Log) -> bool:
    """Whether contact between two shapes is supported; a note if not."""
    try:
        count(shapes[pair.geometry], shapes[pair.other])
    except ModelError as error:
        problem = f"{pair.geometry!r}, {pair.other!r}: {error}"
        log.add("contact-pairs", Where(robot.file, 0, "contact"), problem)
        return False
    return True
