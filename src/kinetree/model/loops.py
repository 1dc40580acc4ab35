"""From the loops of a model to nodes that hold them, and from closures to loops.

Closures that share joints are one loop, in one node. `find` decides how each is solved; `closed` makes the
nodes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.model.assembly import Assembly, resolved
from kinetree.model.closures import Closure
from kinetree.model.coupling import Coupling, Own
from kinetree.model.loop import Closing, LoopNode
from kinetree.model.node import PREDECESSOR, Node
from kinetree.model.parts import Loop
from kinetree.model.ties import Tie

if TYPE_CHECKING:
    from kinetree.model.grouping import Grouping
    from kinetree.model.layout import Layout
    from kinetree.model.model import Model


def closed(
    spanning: Sequence[Node], loops: Sequence[Loop], grouping: Grouping
) -> tuple[tuple[Node, ...], Layout]:
    """The nodes with their loops, whose velocities are the independent ones, and the layout of these."""
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
    model: Model, closures: Sequence[Closure], required: Sequence[tuple[str, int]], start: Mapping[str, Any]
) -> Model:
    """The model with loops, found by what closes them.

    Args:
        model: without loops.
        required: velocities that are to be independent.
        start: positions of joints, near closed ones.
    """
    if not closures:
        return model
    grouping = model.remade(loops=unresolved(closures))._grouping
    q = model.positions(start).tolist()
    found = find(closures, required, q, grouping, f"model '{model.name}'")
    return model.remade(loops=found)


def for_derivatives(model: Model, order: int) -> Model:
    """The model with as many Newton steps in its loops as derivatives of an order need to be exact."""
    steps = max(1, order.bit_length())
    if all(loop.steps >= steps for loop in model.loops):
        return model
    loops = tuple(loop._replace(steps=max(loop.steps, steps)) for loop in model.loops)
    return model.memo(("Newton steps", steps), lambda: model.remade(loops=loops))


def find(
    closures: Sequence[Closure],
    required: Sequence[tuple[str, int]],
    start: Any,
    grouping: Grouping,
    owner: str,
) -> tuple[Loop, ...]:
    """The loops that closures make, each resolved.

    Args:
        required: velocities that are to be independent.
        start: q of all joints, near a closed position.
        grouping: of the model with one unresolved loop for each closure.
    """
    by_node: dict[int, list[Closure]] = {}
    for closure in closures:
        by_node.setdefault(_home(_unresolved(closure), grouping), []).append(closure)
    return tuple(
        _resolve(grouping.nodes[index], group, required, start, grouping, owner)
        for index, group in by_node.items()
    )


def unresolved(closures: Sequence[Closure]) -> tuple[Loop, ...]:
    """One loop for each closure, of which nothing is known yet."""
    return tuple(map(_unresolved, closures))


def _unresolved(closure: Closure) -> Loop:
    return Loop((closure,), (), (), (), (), (), 1.0)


def _home(loop: Loop, grouping: Grouping) -> int:
    """The node of a loop."""
    closure = loop.closures[0]
    meeting = closure.meeting(grouping.topology)
    body = next(i for i in closure.bodies if i != meeting)
    return grouping.locations[body][0]


def _ties(node: Node, closures: Sequence[Closure], size: float, grouping: Grouping) -> list[list[Tie]]:
    """The rows of each closure, for the members of a node."""
    member = {m.body: k for k, m in enumerate(node.members) if m.body}
    coupling: dict[int, Coupling] = {m.body: m.coupling for m in node.members if m.body}
    return [c.ties(lambda body: member.get(body, PREDECESSOR), coupling, size) for c in closures]


def _with_loop(node: Node, loop: Loop, grouping: Grouping) -> Node:
    place = {velocity: k for k, velocity in enumerate(_velocities(node, grouping))}
    rows = _ties(node, loop.closures, loop.size, grouping)
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
    )
    independent = tuple(node.v_index[j] for j in closing.independent)
    return LoopNode(node.number, node.predecessor, node.members, node.q_index, independent, closing)


def _resolve(
    node: Node,
    closures: Sequence[Closure],
    required: Sequence[tuple[str, int]],
    start: Any,
    grouping: Grouping,
    owner: str,
) -> Loop:
    names = " and ".join(repr(closure.name) for closure in closures)
    what = f"{owner}: loop {names}"
    size = _size(node, closures, what)
    rows = _ties(node, closures, size, grouping)
    which = [(c, r) for c, own in enumerate(rows) for r in range(len(own))]
    velocities = _velocities(node, grouping)
    wanted = {k for k, velocity in enumerate(velocities) if velocity in set(required)}
    assembly = Assembly(node, [rows[c][r] for c, r in which], size)
    q = np.array([start[k] for k in node.q_index], dtype=float)
    found = resolved(assembly, q, wanted, lambda k: repr(velocities[k][0]), what)
    reference = []
    for m in node.members:
        if m.body and isinstance(m.coupling, Own) and m.coupling.nq:
            own = found.reference[m.coupling.q_start : m.coupling.q_start + m.coupling.nq]
            reference.append((grouping.bodies[m.body - 1].joint_name, tuple(own)))
    return Loop(
        closures=tuple(closures),
        independent=tuple(velocities[k] for k in found.independent),
        dependent=tuple(velocities[k] for k in found.dependent),
        rows=tuple(which[r] for r in found.rows),
        pivots=found.pivots,
        reference=tuple(reference),
        size=size,
        slack=found.slack,
    )


def _velocities(node: Node, grouping: Grouping) -> list[tuple[str, int]]:
    """(joint, degree of freedom) of each velocity of a spanning node."""
    found = [("", 0)] * sum(m.coupling.nv for m in node.members if m.body and isinstance(m.coupling, Own))
    for m in node.members:
        if m.body and isinstance(m.coupling, Own):
            for k in range(m.coupling.nv):
                found[m.coupling.v_start + k] = (grouping.bodies[m.body - 1].joint_name, k)
    return found


def _size(node: Node, closures: Sequence[Closure], owner: str) -> float:
    """A length of the loop: the longest way from joint to joint."""
    lengths = [m.placement.translation for m in node.members if m.body]
    for closure in closures:
        lengths += closure.arms
    if not all(ops.is_literal(x) for r in lengths for x in r):
        raise ModelError(
            f"{owner}: a loop needs numbers for its frames, not symbols: substitute values first"
        )
    longest = max((math.hypot(*r) for r in lengths), default=0.0)
    return longest if longest > 0.0 else 1.0
