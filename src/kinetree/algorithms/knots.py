"""Nodes between bodies that touch each other: they are freed together (`knotted.py`).

What two bodies do to each other couples the paths from them to the body that carries both. The nodes on these
paths are a knot, whose velocities are found at once, from a matrix H = L D L^T with the inertias of all that
they carry; for the body that carries the knot it is one joint with many velocities. All other nodes are freed
one by one. What is zero in L follows from the tree and the pairs alone, and costs nothing where programs are
recorded; nodes are eliminated in an order that keeps it so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kinetree.sweep import Sweep


class Knot(NamedTuple):
    """Nodes that pairs of bodies couple."""

    nodes: tuple[Any, ...]  # each after its predecessor
    order: tuple[Any, ...]  # the same, as they are eliminated
    pairs: tuple[Any, ...]  # their `columns` say how fast two bodies move against each other


def knots_of(tree: Sweep, nodes: Sequence[Any], pairs: Sequence[Any]) -> list[Knot]:
    """The nodes that pairs couple, those that belong together."""
    groups: list[tuple[set[Any], list[Any]]] = []
    for pair in pairs:
        own: tuple[set[Any], list[Any]] = (set(pair.columns), [pair])
        apart = []
        for group in groups:
            if group[0] & own[0]:
                own = (own[0] | group[0], [*group[1], *own[1]])
            else:
                apart.append(group)
        groups = [*apart, own]
    return [
        Knot(tuple(i for i in nodes if i in found), _order(tree, nodes, found, own), tuple(own))
        for found, own in groups
        if found
    ]


def _order(tree: Sweep, nodes: Sequence[Any], found: set[Any], pairs: Sequence[Any]) -> tuple[Any, ...]:
    """An order of elimination that leaves few entries: of the nodes, the one with the fewest neighbours."""
    near: dict[Any, set[Any]] = {i: set(tree.paths([i])) & found for i in nodes if i in found}
    for i, above in list(near.items()):
        for j in above:
            near[j] = near[j] | {i}
    for pair in pairs:
        for i in pair.columns:
            near[i] = near[i] | set(pair.columns)
    order = []
    while near:
        i = min(near, key=lambda k: (len(near[k]), -nodes.index(k)))
        order.append(i)
        around = near.pop(i) - {i}
        for j in around:
            near[j] = (near[j] | around) - {i}
    return tuple(order)
