"""Kinds of nodes: nodes of equal structure, which one text serves, and the tables of their numbers.

A column of numbers that is the same for all nodes of a kind becomes a literal, so identical links specialise by themselves;
the others become tables, indexed by the number of the node within its kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.model import Node


class Kind:
    """Nodes of one structure: a sample of them, their numbers by column, and where their coordinates are."""

    def __init__(self, number: int, sample: Node, marked: bool):
        self.number = number
        self.sample = sample
        self.marked = marked
        self.nodes: list[Node] = []
        self.rows: list[tuple] = []

    @property
    def is_root(self) -> bool:
        return self.sample.predecessor[0] < 0

    @property
    def width(self) -> int:
        """How many members a node of this kind has."""
        return len(self.sample.members)

    def numbers(self) -> np.ndarray:
        """The parameters of all nodes of the kind, one row each."""
        return np.array(self.rows, dtype=float).reshape(len(self.nodes), -1)

    def indices(self, name: str) -> np.ndarray:
        """`q_index` or `v_index` of all nodes of the kind, one row each."""
        return np.array([getattr(node, name) for node in self.nodes], dtype=np.int64).reshape(len(self.nodes), -1)

    def bodies(self, member: int) -> np.ndarray:
        """The index of the body that one member is, for all nodes of the kind."""
        return np.array([node.members[member].body for node in self.nodes], dtype=np.int64)


class Structure:
    """The kinds of a tree, and the tables that lead from a node to its kind, slots and predecessor.

    A slot is the place of one member; slot 0 is the world.
    """

    def __init__(self, nodes: Sequence[Node], marks: frozenset[int]):
        found: dict[Any, Kind] = {}
        count = len(nodes)
        self.kind_of = np.zeros(count, np.int64)
        self.ordinal = np.zeros(count, np.int64)
        self.first_slot = np.zeros(count, np.int64)
        self.carrier_slot = np.zeros(count, np.int64)
        slots = 1
        for k, node in enumerate(nodes):
            key = (node.structure, k in marks)
            kind = found.get(key)
            if kind is None:
                kind = found[key] = Kind(len(found), node, k in marks)
            self.kind_of[k] = kind.number
            self.ordinal[k] = len(kind.nodes)
            self.first_slot[k] = slots
            kind.nodes.append(node)
            kind.rows.append(node.parameters)
            above, member = node.predecessor
            self.carrier_slot[k] = 0 if above < 0 else self.first_slot[above] + member
            slots += len(node.members)
        self.kinds = list(found.values())
        self.slots = slots
        self.node_of_slot = np.zeros(slots, np.int64)
        self.member_of_slot = np.zeros(slots, np.int64)
        for k, node in enumerate(nodes):
            first = self.first_slot[k]
            self.node_of_slot[first : first + len(node.members)] = k
            self.member_of_slot[first : first + len(node.members)] = np.arange(len(node.members))

    def carriers(self) -> list[tuple[int, int]]:
        """(kind, member) of the bodies that carry other nodes: those that a path can pass through."""
        used = np.unique(self.carrier_slot[self.carrier_slot > 0])
        pairs = {(int(self.kind_of[self.node_of_slot[s]]), int(self.member_of_slot[s])) for s in used}
        return sorted(pairs)
