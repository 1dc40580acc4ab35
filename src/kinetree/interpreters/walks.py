"""Recorded loops over velocities, for a looped trace and for the unrolled trace of a large robot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.compiler.ir.graph import Array, Graph, Store
from kinetree.interpreters import results
from kinetree.interpreters.eager import EagerSweep
from kinetree.interpreters.handles import Block, Velocity
from kinetree.model import Node
from kinetree.spatial import Coordinates
from kinetree.sweep.bounds import NEGLIGIBLE, inertia_bounds
from kinetree.sweep.walk import VelocityTree, Walk

BLOCK = 4  # columns at a time: factors are loaded once for all of them
LARGE = 1e300  # larger than any guarded number


class LoopedWalk(Walk):
    """The velocities, with loops that are recorded in a graph."""

    def __init__(self, tree: Any, nodes: Sequence[Node], graph: Graph):
        self.tree, self.graph, self.nv = tree, graph, tree.model.nv
        self.velocities = VelocityTree(nodes)
        self.least: Array | None = None
        self._tables: dict[str, Array] = {}

    def lookup(self, name: str, numbers: list[int], index: Any) -> Any:
        """An entry of a list of integers; the index itself if the list counts from 0."""
        if numbers == list(range(len(numbers))):
            return index
        if name not in self._tables:
            self._tables[name] = self.graph.array(name, "itable", len(numbers), np.array(numbers, np.int64))
        return self.graph.load(self._tables[name], index)

    def _velocity(self, place: Any) -> Velocity:
        """The velocity at an index of the walk."""
        indices = [index for *_, index in self.velocities.order]
        return Velocity(self.lookup("velocity_index", indices, place), place)

    def outward(self) -> Iterator[Velocity]:
        return self._loop(0, 1)

    def inward(self) -> Iterator[Velocity]:
        return self._loop(self.nv - 1, -1)

    def _loop(self, start: int, step: int) -> Iterator[Velocity]:
        if self.nv:
            with self.graph.loop(self.nv, start, step) as place:
                yield self._velocity(place)

    def above(self, k: Velocity) -> Iterator[Velocity]:
        above = [place + 1 for place in self.velocities.above]
        with self.graph.repeat(self.lookup("velocity_above", above, k.order)) as loop:
            place = self.graph.iadd(loop.variable, -1)
            yield self._velocity(place)
            loop.successor = self.lookup("velocity_above", above, place)

    def before(self, k: Velocity) -> Iterator[Velocity]:
        with self.graph.repeat(self.graph.iadd(k.order, 1)) as loop:
            place = self.graph.iadd(loop.variable, -1)
            yield self._velocity(place)
            loop.successor = place

    def blocks(self) -> Iterator[Block]:
        """Columns in the order of v; any order will do."""
        return block_loops(self.graph, self.nv)

    def table(self, *dimensions: str | int) -> Any:
        return self.tree.memory("work", dimensions)

    def column(self, block: Block) -> Column:
        return Column(self.graph, self.nv, len(block.places))

    def guard(self, k: Velocity, pivot: Any) -> None:
        scales = 1.0 / (NEGLIGIBLE * inertia_bounds(self.tree.model))
        if "scale" not in self._tables:
            self._tables["scale"] = self.graph.array("velocity_scale", "table", scales.size, scales)
        self.require([pivot * self.graph.load(self._tables["scale"], k.place)])

    def require(self, numbers: Sequence[Any]) -> None:
        """Flag the result unless these numbers are at least 1."""
        if not numbers:
            return
        if self.least is None:
            self.least = self.graph.array("least", "work", 1)
            self.graph.begin(Store(self.least, 0, LARGE))
        self.graph.store(self.least, 0, reduce(ops.min, numbers, self.graph.load(self.least, 0)))


class Column:
    """The numbers of one block of columns for each velocity, in memory."""

    def __init__(self, graph: Graph, length: int, width: int):
        self.graph, self.width = graph, width
        self.array = graph.array(f"column{len(graph.arrays)}", "work", length * width)

    def _places(self, k: Velocity) -> list[Any]:
        first = self.graph.imul(k.place, self.width)
        return [self.graph.iadd(first, n) for n in range(self.width)]

    def __getitem__(self, k: Velocity) -> Coordinates:
        return Coordinates(self.graph.load(self.array, place) for place in self._places(k))

    def __setitem__(self, k: Velocity, values: Any) -> None:
        for place, value in zip(self._places(k), values, strict=True):
            self.graph.store(self.array, place, value)

    def add(self, values: Any, k: Velocity) -> None:
        for place, value in zip(self._places(k), values, strict=True):
            self.graph.store(self.array, place, value, accumulate=True)


class Memory(results.Memory):
    """A table or output of an unrolled trace, indexed by blocks of velocities."""

    def __init__(self, tree: MixedSweep, kind: str, dimensions: tuple[str | int, ...]):
        super().__init__(tree, dimensions, kind, f"{kind}{len(tree.graph.arrays)}")
        self.graph.clear(self.array)

    def positions(self, dimension: str | int, i: Any) -> Any:
        return tuple(i.places) if isinstance(i, Block) else super().positions(dimension, i)

    def __getitem__(self, key: Any) -> Any:
        row, columns = (self.positions("nv", k) for k in key)
        return Coordinates(self.graph.load(self.array, self.place((row, k))) for k in columns)


class MixedWalk(results.PlainWalk):
    """Plain loops over velocities, but recorded loops over blocks of columns."""

    tree: MixedSweep

    def blocks(self) -> Iterator[Block]:  # type: ignore[override]
        return block_loops(self.tree.graph, self.tree.model.nv)

    def in_blocks(self, table: results.Table) -> Memory:
        kept = Memory(self.tree, "work", table.dimensions)
        for index, value in table.values.items():
            kept.put(index, value)
        return kept


class MixedSweep(EagerSweep):
    """The tree of an unrolled trace, with loops over the columns of matrices."""

    graph: Graph

    def __init__(self, graph: Graph, *args: Any):
        super().__init__(*args)
        self.graph = graph
        self.velocities = MixedWalk(self)

    def array(self, *dimensions: str | int) -> Memory:
        return Memory(self, "output", dimensions)


def mixed_sweep(graph: Graph) -> Callable[..., EagerSweep]:
    """A factory of such trees, recorded in a graph."""
    return partial(MixedSweep, graph)


def block_loops(graph: Graph, count: int) -> Iterator[Block]:
    """The columns of a matrix in blocks; the remaining ones one by one."""
    whole, rest = divmod(count, BLOCK)
    if whole:
        with graph.loop(whole) as n:
            first = graph.imul(n, BLOCK)
            yield Block([graph.iadd(first, k) for k in range(BLOCK)])
    if rest:
        with graph.loop(rest, whole * BLOCK) as place:
            yield Block([place])


__all__ = ["LARGE", "LoopedWalk", "Memory", "mixed_sweep"]
