"""The interface to single velocities: loops over them, and numbers that belong to pairs of them.

It serves linear algebra with matrices whose entries belong to pairs of velocities on one path, such as the
mass matrix. A joint with several velocities counts as a chain of them. The rules of sweeps apply: a number
computed in one iteration reaches another only through a table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from kinetree.model.node import Node
from kinetree.spatial.matrix import reciprocal


class Walk(ABC):
    """The velocities of a tree; a handle of one indexes tables and outputs."""

    @abstractmethod
    def outward(self) -> Iterator[Any]:
        """All velocities, each after those inboard of it."""

    @abstractmethod
    def inward(self) -> Iterator[Any]:
        """All velocities, each before those inboard of it."""

    @abstractmethod
    def above(self, k: Any) -> Iterator[Any]:
        """The velocities inboard of k, the nearest first."""

    @abstractmethod
    def before(self, k: Any) -> Iterator[Any]:
        """Velocity k and all that come before it in `outward`, from k backwards."""

    @abstractmethod
    def blocks(self) -> Iterator[Any]:
        """All velocities, in blocks: the numbers that belong to a block form a vector."""

    @abstractmethod
    def table(self, *dimensions: str | int) -> Any:
        """Numbers that are written like an output, and read one by one by velocity or as a vector by node.

        Entries not written are zero; `.add(value, *key)` adds to one.
        """

    @abstractmethod
    def column(self, block: Any) -> Any:
        """A table with the numbers of one block for each velocity; write all before reading any."""

    def in_blocks(self, table: Any) -> Any:
        """A table, ready to be read by velocity and block."""
        return table

    @abstractmethod
    def guard(self, k: Any, pivot: Any) -> None:
        """Flag the result if the pivot of a velocity is zero or rounding noise."""

    def reciprocal(self, k: Any, pivot: Any) -> Any:
        """1 / pivot; a pivot of zero raises an error that names the joint."""
        self.guard(k, pivot)
        return reciprocal(pivot)


class VelocityTree:
    """The velocities of some nodes: their order, and the nearest one inboard of each.

    order: (node, place in the node, index in v), outward.
    above: for each entry of `order`, the place of the nearest velocity inboard; -1 if there is none.
    """

    def __init__(self, nodes: Sequence[Node]):
        self.order: list[tuple[int, int, int]] = []
        self.above: list[int] = []
        self.place: dict[tuple[int, int], int] = {}
        last: dict[int, int] = {-1: -1}  # the last velocity of each node, or of what carries it
        for node in nodes:
            nearest = last[node.predecessor[0]]
            for k, index in enumerate(node.v_index):
                self.above.append(nearest)
                nearest = self.place[node.number, k] = len(self.order)
                self.order.append((node.number, k, index))
            last[node.number] = nearest

    def paths(self) -> int:
        """The number of pairs of velocities on one path, counting each velocity with itself."""
        depths: list[int] = []
        for above in self.above:
            depths.append(1 if above < 0 else depths[above] + 1)
        return sum(depths)
