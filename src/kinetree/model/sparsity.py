"""Sparsity of results: pairs and triples of velocities on one path to the root can be nonzero."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from kinetree.model.node import Node

if TYPE_CHECKING:
    from kinetree.model.model import Model


class Paths:
    """The velocities on the path of each node, from the root on, and where triples of them are stored.

    above, own: the number of velocities above each node, and in it.
    start: where the triples start whose outermost velocities are in each node. They are ordered in three
        parts, by which of the three is the first in the node, and within a part by their places on the path.
    """

    def __init__(self, nodes: Sequence[Node]):
        self.nodes = nodes
        self.own = np.array([len(node.v_index) for node in nodes], dtype=int)
        self.above = np.zeros(len(nodes), dtype=int)
        for node in nodes:
            p = node.predecessor[0]
            self.above[node.number] = self.above[p] + self.own[p] if p >= 0 else 0
        sizes = (self.above + self.own) ** 3 - self.above**3
        self.start = np.concatenate([[0], np.cumsum(sizes)]).astype(int)

    @property
    def count(self) -> int:
        """The number of triples."""
        return int(self.start[-1])

    def of(self, n: int) -> list[int]:
        """The velocities on the path of a node, from the root on."""
        found: list[int] = []
        while n >= 0:
            found[:0] = self.nodes[n].v_index
            n = self.nodes[n].predecessor[0]
        return found

    def _parts(self) -> Iterator[np.ndarray]:
        for n, width in enumerate(self.own):
            path = self.of(n) if width else []
            above, own = path[: self.above[n]], path[self.above[n] :]
            for three in ((own, path, path), (above, own, path), (above, above, own)):
                yield np.stack(np.meshgrid(*map(np.array, three), indexing="ij"), -1).reshape(-1, 3)

    def triples(self) -> np.ndarray:
        """(count, 3): the velocities of each triple, in the order in which their values are stored."""
        return np.concatenate([np.zeros((0, 3)), *self._parts()]).astype(int)


def paths_of(model: Model) -> Paths:
    """The paths of a model, cached with it."""
    return model.memo("paths", lambda: Paths(model.nodes))


def mass_sparsity(nodes: Sequence[Node], nv: int) -> np.ndarray:
    """(nv, nv), True where the mass matrix can be nonzero: for the velocities of related nodes."""
    result = np.zeros((nv, nv), dtype=bool)
    paths = Paths(nodes)
    for node in nodes:
        for i, j in product(node.v_index, paths.of(node.number)):
            result[i, j] = result[j, i] = True
    return result
