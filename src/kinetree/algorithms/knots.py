"""Knots: nodes between bodies that touch each other, which are freed together (`knotted.py`).

Contact between two bodies couples the paths from them to the body that carries both. The nodes on these paths
form a knot; all other nodes are freed one by one. A knot with many velocities and few points is solved for
the forces at the points (`knot_forces.py`), any other for its velocities (`knot_velocities.py`). The results
are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kinetree.sweep import Sweep

LONG = 7  # velocities for each point: above this, to solve for forces costs less


class Knot(NamedTuple):
    """Nodes coupled by pairs of bodies."""

    nodes: tuple[Any, ...]  # each after its predecessor
    order: tuple[Any, ...]  # the same nodes in the order of elimination
    pairs: tuple[Any, ...]  # their `columns` give the relative velocity of two bodies

    @property
    def is_long(self) -> bool:
        """True if the knot has many more velocities than points, all of which enter one by one."""
        widths = {i: len(J) for pair in self.pairs for i, J in pair.columns.items()}
        points = sum(pair.count for pair in self.pairs)
        return sum(widths.values()) > LONG * points and not any(pair.loops for pair in self.pairs)


def knots_of(tree: Sweep, nodes: Sequence[Any], pairs: Sequence[Any]) -> list[Knot]:
    """The nodes coupled by pairs, grouped into knots."""
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
    """An order of elimination with little fill-in: always the node with the fewest neighbours."""
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
