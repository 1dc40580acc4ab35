"""Kinds of nodes: nodes of equal structure, traced once for all of them, and the tables of their numbers.

A column of numbers that is the same for all nodes of a kind becomes a literal, so identical links specialise
automatically; the others become tables, indexed by the number of the node within its kind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.errors import CompileError
from kinetree.model import Node


class Kind:
    """Nodes of one structure: a sample, their numbers by column, and the indices of their coordinates."""

    def __init__(self, number: int, sample: Node, marked: bool):
        self.number = number
        self.sample = sample
        self.marked = marked
        self.nodes: list[Node] = []
        self._indices: dict[str, np.ndarray] = {}

    @property
    def is_root(self) -> bool:
        return self.sample.predecessor[0] < 0

    @property
    def width(self) -> int:
        """The number of members of a node of this kind."""
        return len(self.sample.members)

    @cached_property
    def numbers(self) -> np.ndarray:
        """The parameters of all nodes of the kind, one row each."""
        rows = [node.parameters for node in self.nodes]
        try:
            return np.array(rows, dtype=float).reshape(len(rows), -1)
        except (TypeError, ValueError):
            raise CompileError(
                "the model holds symbols or expressions, and only plain numbers can be compiled: "
                "call the function with target='eager'"
            ) from None

    def indices(self, name: str) -> np.ndarray:
        """`q_index` or `v_index` of all nodes of the kind, one row each."""
        if name not in self._indices:
            rows = [getattr(node, name) for node in self.nodes]
            self._indices[name] = np.array(rows, dtype=np.int64).reshape(len(rows), -1)
        return self._indices[name]

    def bodies(self, member: int) -> np.ndarray:
        """The index of the body of one member, for all nodes of the kind."""
        return np.array([node.members[member].body for node in self.nodes], dtype=np.int64)


class Structure:
    """The kinds of a tree, and the tables that map a node to its kind, slots and predecessor.

    A slot is the index of one member; slot 0 is the world.
    """

    def __init__(self, nodes: Sequence[Node], marks: frozenset[int] = frozenset()):
        found: dict[Any, Kind] = {}
        count = len(nodes)
        kind_of, ordinal, widths = [0] * count, [0] * count, [0] * count
        for k, node in enumerate(nodes):
            key = (node.structure, k in marks)
            kind = found.get(key)
            if kind is None:
                kind = found[key] = Kind(len(found), node, k in marks)
            kind_of[k], ordinal[k], widths[k] = kind.number, len(kind.nodes), kind.width
            kind.nodes.append(node)
        self.kinds = list(found.values())
        self.kind_of = np.array(kind_of, np.int64)
        self.ordinal = np.array(ordinal, np.int64)
        ends = np.cumsum(widths, dtype=np.int64)
        self.slots = int(ends[-1]) + 1 if count else 1
        self.first_slot = ends - np.array(widths, np.int64) + 1
        above = np.array([node.predecessor for node in nodes], np.int64).reshape(count, 2)
        carried = self.first_slot[above[:, 0]] + above[:, 1] if count else np.zeros(0, np.int64)
        self.carrier_slot = np.where(above[:, 0] < 0, 0, carried)
        self.node_of_slot = np.concatenate([[0], np.repeat(np.arange(count), widths)]).astype(np.int64)
        self.member_of_slot = np.arange(self.slots) - np.concatenate(
            [[0], np.repeat(self.first_slot, widths)]
        )

    @cached_property
    def above_slot(self) -> np.ndarray:
        """For each slot, the slot of the body that carries its node; 0 for the world itself."""
        found = self.carrier_slot[self.node_of_slot]
        found[0] = 0
        return found

    @cached_property
    def carriers(self) -> list[tuple[Kind, int]]:
        """The kinds, and their members, that carry other nodes: those that a path can pass through."""
        return [(self.kinds[kind], member) for kind, member in self._carrier_pairs]

    @cached_property
    def _carrier_pairs(self) -> list[tuple[int, int]]:
        used = np.unique(self.carrier_slot[self.carrier_slot > 0])
        pairs = np.stack([self.kind_of[self.node_of_slot[used]], self.member_of_slot[used]], axis=1)
        return [(int(kind), int(member)) for kind, member in np.unique(pairs, axis=0)]

    @cached_property
    def case_of_slot(self) -> np.ndarray:
        """For each slot, the index of its entry in `carriers`; 0 where it carries nothing."""
        found = np.zeros(self.slots, np.int64)
        for number, (kind, member) in enumerate(self._carrier_pairs):
            here = (self.kind_of[self.node_of_slot] == kind) & (self.member_of_slot == member)
            found[here] = number
        found[0] = 0
        return found

    def above(self, kind: Kind) -> tuple[list[tuple[Kind, int]], np.ndarray]:
        """The entries of `carriers` above nodes of a kind; for each slot, the index of its entry."""
        numbers = sorted(self._above[kind.number])
        places = np.zeros(len(self.carriers), np.int64)
        places[numbers] = np.arange(len(numbers))
        return [self.carriers[n] for n in numbers], places[self.case_of_slot]

    @cached_property
    def _above(self) -> list[frozenset[int]]:
        """For each kind, the indices of the `carriers` on the paths from its nodes to the world."""
        found: list[frozenset[int]] = [frozenset()] * len(self.kinds)
        ways: list[frozenset[int]] = []
        cases, nodes = self.case_of_slot.tolist(), self.node_of_slot.tolist()
        for kind, slot in zip(self.kind_of.tolist(), self.carrier_slot.tolist(), strict=True):
            way = ways[nodes[slot]] if slot else frozenset[int]()
            if slot and cases[slot] not in way:
                way = way | {cases[slot]}
            ways.append(way)
            if not way <= found[kind]:
                found[kind] = found[kind] | way
        return found

    def digest(self) -> bytes:
        """A hash of the structure and all numbers."""
        result = hashlib.sha256()
        for kind in self.kinds:
            result.update(repr((kind.sample.structure, kind.marked)).encode())
            for array in (kind.numbers, kind.indices("q_index"), kind.indices("v_index")):
                result.update(array.tobytes())
            for member in range(kind.width):
                result.update(kind.bodies(member).tobytes())
        for array in (self.kind_of, self.carrier_slot):
            result.update(array.tobytes())
        return result.digest()


def structure_of(model: Any, nodes: tuple[Node, ...], marks: frozenset[int]) -> Structure:
    """The structure of nodes; that of the model's own nodes is cached."""
    if nodes is not model.nodes or marks:
        return Structure(nodes, marks)
    return model.memo("structure", lambda: Structure(nodes))
