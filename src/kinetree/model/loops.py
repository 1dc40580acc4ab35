"""From closures to loops, and from the loops of a model to nodes that contain them.

Closures that share joints form one loop, in one node. `find` decides how each is solved; `closed` makes the
nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree import ops
from kinetree.errors import AssemblyError, ModelError
from kinetree.model.assembly import Assembly, Resolved, RigidError, resolved
from kinetree.model.carried import Carried
from kinetree.model.closures import Closure
from kinetree.model.coupling import Coupling, Own
from kinetree.model.limbs import limb_axes, steady_axes
from kinetree.model.loop import Closing, LoopNode
from kinetree.model.node import PREDECESSOR, Node
from kinetree.model.parts import Loop, Numbers
from kinetree.model.ties import Offset, Tie
from kinetree.spatial.vector import Matrix

if TYPE_CHECKING:
    from kinetree.model.grouping import Grouping
    from kinetree.model.layout import Layout
    from kinetree.model.model import Model

Velocity = tuple[str, int]  # joint, degree of freedom
Refused = Callable[[Sequence[Closure], ModelError], None]
_LEAVE = "leave out all but its closures (and independent) to have it solved anew"
_SIZES = 1e3  # the size of a loop may differ by at most this factor from that of its frames
_FIRM = 0.5  # rows whose firmness is below this fraction of the others' lose digits
_EXACT = 1e-13  # redundant rows that open by less, in units of the size, do so by rounding
LARGEST = 32  # most velocities of one loop: its matrices are dense, and traced one number at a time


def closed(
    spanning: Sequence[Node], loops: Sequence[Loop], grouping: Grouping
) -> tuple[tuple[Node, ...], Layout]:
    """The nodes with their loops, in terms of the independent velocities, and the layout of these."""
    nodes: list[Node] = list(spanning)
    independent: list[int] = []
    for loop in loops:
        if loop.dependent:
            node = spanning[_home(loop, grouping)]
            nodes[node.number] = _with_loop(node, loop, grouping)
    for node in nodes:
        independent.extend(node.v_index)
    independent.sort()
    place = {j: k for k, j in enumerate(independent)}
    found = tuple(node._replace(v_index=tuple(place[j] for j in node.v_index)) for node in nodes)
    return found, grouping.layout.among(independent)


def closed_model(
    model: Model,
    closures: Sequence[Closure],
    required: Sequence[Velocity] = (),
    start: Mapping[str, Any] | None = None,
    preferred: Collection[Velocity] = (),
    refused: Refused | None = None,
    kept: Sequence[Loop] = (),
) -> Model:
    """The model with loops, given by their closures.

    Args:
        model: without loops.
        required: velocities that must be independent.
        start: positions of joints, near closed ones.
        preferred: velocities that are independent if possible.
        refused: called with closures that share joints and cannot be closed, and the error; they are left
            out. If None, the error is raised.
        kept: loops of the model that are already resolved and share no joints with the others.
    """
    if not closures:
        return model.remade(loops=tuple(kept)) if kept else model
    grouping = model.remade(loops=unresolved(closures))._grouping
    q = model.positions(start or {}).tolist()
    found = find(closures, required, q, grouping, f"model '{model.name}'", preferred, refused)
    return model.remade(loops=(*kept, *found))


def total_velocities(model: Model, closures: Sequence[Closure]) -> int:
    """The total number of velocities in the loops that these closures make."""
    grouping = model.remade(loops=unresolved(closures))._grouping
    homes = {_home(_unresolved(closure), grouping) for closure in closures}
    return sum(len(grouping.nodes[home].v_index) for home in homes)


def for_derivatives(model: Model, order: int) -> Model:
    """The model with enough Newton steps in its loops for exact derivatives of this order."""
    steps = max(1, order.bit_length())
    if all(loop.steps >= steps for loop in model.loops):
        return model
    loops = tuple(loop._replace(steps=max(loop.steps, steps)) for loop in model.loops)
    return model.memo(("Newton steps", steps), lambda: model.remade(loops=loops))


def find(
    closures: Sequence[Closure],
    required: Sequence[Velocity],
    start: Any,
    grouping: Grouping,
    owner: str,
    preferred: Collection[Velocity] = (),
    refused: Refused | None = None,
) -> tuple[Loop, ...]:
    """The loops that closures make, each resolved.

    Args:
        required, preferred, refused: as for `closed_model`.
        start: q of all joints, near a closed position.
        grouping: of the model with one unresolved loop for each closure.
    """
    by_node: dict[int, list[Closure]] = {}
    for closure in closures:
        by_node.setdefault(_home(_unresolved(closure), grouping), []).append(closure)
    found = []
    for index, group in by_node.items():
        try:
            with np.errstate(all="ignore"):
                found.append(
                    _resolve(grouping.nodes[index], group, required, preferred, start, grouping, owner)
                )
        except ModelError as error:
            if refused is None:
                raise
            refused(group, error)
    return tuple(found)


def restored(model: Model, loops: Sequence[Loop]) -> Model:
    """The model with loops that are already solved; ModelError if a solution does not fit the model."""
    grouping = model.remade(loops=unresolved([c for loop in loops for c in loop.closures]))._grouping
    homes: dict[int, Loop] = {}
    for loop in loops:
        own = {_home(_unresolved(closure), grouping) for closure in loop.closures}
        if len(own) > 1 or own & homes.keys():
            raise ModelError(
                f"model '{model.name}': loop '{loop.name}': closures that share joints make one loop, and "
                "others do not"
            )
        homes[own.pop()] = loop
    for home, loop in homes.items():
        _refuse_misfit(loop, grouping.nodes[home], grouping, f"model '{model.name}': loop '{loop.name}'")
    made = model.remade(loops=tuple(loops))
    for node in made.nodes:
        if isinstance(node, LoopNode) and not _is_sound(node):
            raise ModelError(
                f"model '{model.name}': loop '{homes[node.number].name}' is open at its reference, or at a "
                f"dead point: {_LEAVE}"
            )
    return made


def _is_sound(node: LoopNode) -> bool:
    """Whether a node is closed at its reference, and away from dead points."""
    with np.errstate(all="ignore"):
        return all(x >= 1 for x in node.soundness([np.float64(x) for x in node.reference]))


def _refuse_misfit(loop: Loop, node: Node, grouping: Grouping, owner: str) -> None:
    velocities = _velocities(node, grouping)
    place = {velocity: k for k, velocity in enumerate(velocities)}
    size = size_of(node, loop.closures, owner)
    rows = _ties(node, loop.closures, size, loop.axes if len(loop.axes) == len(loop.closures) else ())
    known = {(c, r) for c, own in enumerate(rows) for r in range(len(own))}
    chosen = (*loop.independent, *loop.dependent)
    widths = [(joint, len(row)) for joint, row in loop.reference]
    q = _positions(node, [0.0] * len(node.q_index), grouping)
    for fits, what in (
        (
            sorted(chosen) == sorted(velocities),
            "independent and dependent must be the velocities of its joints",
        ),
        (
            sorted(loop.independent, key=lambda velocity: place.get(velocity, 0)) == list(loop.independent),
            "independent must be in order",
        ),
        (len(loop.independent) > 0, "a velocity must be independent"),
        (
            len(set(loop.rows)) == len(loop.rows) and set(loop.rows) <= known,
            "rows must be those of its closures",
        ),
        (
            len(loop.rows) == len(loop.dependent) == len(loop.pivots),
            "each dependent velocity has a row and a pivot",
        ),
        (all(0 < x < math.inf for x in loop.pivots), "pivots must be positive"),
        (widths == [(joint, len(row)) for joint, row in q], "reference must be a position of its joints"),
        (size / _SIZES <= loop.size <= size * _SIZES, f"size must be about {size:.3g} m"),
        (0 <= loop.slack < math.inf, "slack must not be negative"),
        (len(loop.axes) in (0, len(loop.closures)), "axes must be those of each closure"),
    ):
        if not fits:
            raise ModelError(f"{owner}: {what}: {_LEAVE}")


def unresolved(closures: Sequence[Closure]) -> tuple[Loop, ...]:
    """One loop for each closure, not yet solved."""
    return tuple(map(_unresolved, closures))


def _unresolved(closure: Closure) -> Loop:
    return Loop((closure,), (), (), (), (), (), 1.0)


def _home(loop: Loop, grouping: Grouping) -> int:
    """The node of a loop."""
    closure = loop.closures[0]
    meeting = closure.meeting(grouping.topology)
    body = next(i for i in closure.bodies if i != meeting)
    return grouping.locations[body][0]


def _ties(
    node: Node, closures: Sequence[Closure], size: float, axes: Sequence[Matrix] = ()
) -> list[list[Tie]]:
    """The rows of each closure, for the members of a node; point rows are written along `axes`, if given."""
    coupling: dict[int, Coupling] = {m.body: m.coupling for m in node.members if m.body}
    own: Sequence[Matrix | None] = axes or [None] * len(closures)
    return [c.ties(_locating(node), coupling, size, along) for c, along in zip(closures, own, strict=True)]


def _locating(node: Node) -> Callable[[int], int]:
    """A function from a body to its place among the members of a node."""
    member = {m.body: k for k, m in enumerate(node.members) if m.body}
    return lambda body: member.get(body, PREDECESSOR)


def _with_loop(node: Node, loop: Loop, grouping: Grouping) -> Node:
    place = {velocity: k for k, velocity in enumerate(_velocities(node, grouping))}
    rows = _ties(node, loop.closures, loop.size, loop.axes)
    reference = list(node.reference)
    positions = dict(loop.reference)
    for m in node.members:
        name = grouping.bodies[m.body - 1].joint_name if m.body else ""
        if name in positions and isinstance(m.coupling, Own):
            reference[m.coupling.q_start : m.coupling.q_start + m.coupling.nq] = positions[name]
    closing = Closing(
        name=loop.name,
        rows=tuple(rows[c][r] for c, r in loop.rows),
        independent=tuple(place[velocity] for velocity in loop.independent),
        dependent=tuple(place[velocity] for velocity in loop.dependent),
        pivots=loop.pivots,
        reference=tuple(reference),
        steps=loop.steps,
        size=loop.size,
        steady=steady_axes(node, [*chain(*rows)], [place[velocity] for velocity in loop.dependent]),
        pins=_pins(loop, rows),
    )
    independent = tuple(node.v_index[j] for j in closing.independent)
    return LoopNode(*node[:4], independent, node.u_index, closing)


def _pins(loop: Loop, rows: Sequence[Sequence[Tie]]) -> tuple[tuple[Carried, Carried], ...]:
    """The points that closures keep together, where no row is left out that could open."""
    found = []
    for c, ties in enumerate(rows):
        places = [r for r, tie in enumerate(ties) if isinstance(tie, Offset)]
        if len(places) == 3 and (loop.slack < _EXACT or all((c, r) in loop.rows for r in places)):
            found.append(ties[places[0]].carried[-2:])
    return tuple((a, b) for a, b in found)


def _resolve(
    node: Node,
    closures: Sequence[Closure],
    required: Collection[Velocity],
    preferred: Collection[Velocity],
    start: Any,
    grouping: Grouping,
    owner: str,
) -> Loop:
    more = f" and {len(closures) - 1} more" if len(closures) > 1 else ""
    what = f"{owner}: loop {closures[0].name!r}{more}"
    if len(node.v_index) > LARGEST:
        raise ModelError(
            f"{what} ties {len(node.v_index)} velocities to each other, and at most {LARGEST} are solved as "
            "one: leave out closures, or hold them by constraints (kinetree.constrained_dynamics)"
        )
    size = size_of(node, closures, what)
    velocities = _velocities(node, grouping)
    wanted, better = (_places(velocities, chosen) for chosen in (required, preferred))
    q = np.array([start[k] for k in node.q_index], dtype=float)

    axes = limb_axes(node, [list(map(_locating(node), closure.bodies)) for closure in closures])

    def solved(at_base: bool) -> tuple[list[tuple[int, int]], Resolved]:
        rows = _ties(node, closures, size, axes if at_base else ())
        which = [(c, r) for c, own in enumerate(rows) for r in range(len(own))]
        assembly = Assembly(node, [rows[c][r] for c, r in which], size)
        return which, resolved(assembly, q, wanted, lambda k: repr(velocities[k][0]), what, better)

    try:
        at_base, (which, found) = _cheapest(solved)
    except RigidError as error:
        error.positions = _positions(node, error.reference, grouping)
        raise
    except np.linalg.LinAlgError:
        raise AssemblyError(
            f"{what} cannot be solved: its frames and lengths are too large or too small"
        ) from None
    return Loop(
        closures=tuple(closures),
        independent=tuple(velocities[k] for k in found.independent),
        dependent=tuple(velocities[k] for k in found.dependent),
        rows=tuple(which[r] for r in found.rows),
        pivots=found.pivots,
        reference=_positions(node, found.reference, grouping),
        size=size,
        axes=tuple(axes) if at_base else (),
        slack=found.slack,
    )


def _cheapest(solved: Callable[[bool], Any]) -> tuple[bool, Any]:
    """A solution with rows along the axes of the body that carries the loop, unless others are better.

    Rows that are redundant along axes that move with the loop need not be redundant along fixed axes.
    """
    try:
        first = solved(True)
    except ModelError:
        return False, solved(False)
    if len(first[1].rows) == len(first[0]):
        return True, first
    second = solved(False)
    same = len(second[1].rows) == len(first[1].rows)
    is_good = same and first[1].slack <= 10 * second[1].slack + 1e-12
    is_good = is_good and first[1].firmness >= _FIRM * second[1].firmness
    return (True, first) if is_good else (False, second)


def _positions(node: Node, q: Sequence[float], grouping: Grouping) -> tuple[tuple[str, Numbers], ...]:
    """The positions, by name, of the joints of a node that have coordinates of their own."""
    found = []
    for m in node.members:
        if m.body and isinstance(m.coupling, Own) and m.coupling.nq:
            own = tuple(q[m.coupling.q_start : m.coupling.q_start + m.coupling.nq])
            found.append((grouping.bodies[m.body - 1].joint_name, own))
    return tuple(found)


def _places(velocities: Sequence[Velocity], chosen: Collection[Velocity]) -> set[int]:
    wanted = set(chosen)
    return {k for k, velocity in enumerate(velocities) if velocity in wanted}


def _velocities(node: Node, grouping: Grouping) -> list[Velocity]:
    """(joint, degree of freedom) of each velocity of a spanning node."""
    found = [("", 0)] * sum(m.coupling.nv for m in node.members if m.body and isinstance(m.coupling, Own))
    for m in node.members:
        if m.body and isinstance(m.coupling, Own):
            for k in range(m.coupling.nv):
                found[m.coupling.v_start + k] = (grouping.bodies[m.body - 1].joint_name, k)
    return found


def size_of(node: Node, closures: Sequence[Closure], owner: str) -> float:
    """A characteristic length of the loop: the longest distance from joint to joint."""
    lengths = [m.placement.translation for m in node.members if m.body]
    for closure in closures:
        lengths += closure.arms
    if not all(ops.is_literal(x) for r in lengths for x in r):
        raise ModelError(
            f"{owner}: a loop needs numbers for its frames, not symbols: substitute values first"
        )
    longest = max((math.hypot(*r) for r in lengths), default=0.0)
    return longest if longest > 0.0 else 1.0
