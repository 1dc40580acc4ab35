"""What eager sweeps use and fill: handles of nodes and velocities, tables and outputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinetree.compiler.ir.graph import Graph
from kinetree.ops import Expr
from kinetree.spatial import Coordinates, Stack
from kinetree.spatial.value import as_numbers
from kinetree.sweep.signature import Argument
from kinetree.sweep.walk import VelocityTree, Walk

if TYPE_CHECKING:
    from kinetree.interpreters.eager import EagerSweep


class Handle(NamedTuple):
    """A node, or with `member` one of its bodies; node -1 is the world."""

    node: int
    member: int | None = None


WORLD = Handle(-1, 0)


class Velocity(NamedTuple):
    """One velocity of a node."""

    node: int
    place: int

    @property
    def handle(self) -> Handle:
        """The node."""
        return Handle(self.node)

    @property
    def local(self) -> int:
        """Its index among the node's velocities."""
        return self.place


class Unit:
    """An input that is one for one velocity and zero for all others."""

    def __init__(self, tree: EagerSweep, node: int, place: int):
        self.tree, self.node, self.place = tree, node, place

    @property
    def velocity(self) -> Velocity:
        """The velocity that is one."""
        return Velocity(self.node, self.place)

    def __getitem__(self, i: Handle) -> Coordinates:
        width = len(self.tree.nodes[i.node].v_index)
        return Coordinates(int(i.node == self.node and k == self.place) for k in range(width))


class Output:
    """A result array, filled by node: out[i], out[i, j], out[:, i]."""

    def __init__(self, tree: Any, dimensions: tuple[str | int, ...]):
        self.tree, self.dimensions = tree, dimensions
        self.shape = Argument("output", dimensions).sizes(tree.model)
        self.values: dict[tuple[int, ...], Any] = {}

    def positions(self, dimension: str | int, i: Any) -> Any:
        """The indices along one dimension that belong to a handle; a velocity has one index and no axis."""
        if isinstance(i, Velocity):
            return self.tree.nodes[i.node].v_index[i.place]
        if dimension == "nv":
            return self.tree.nodes[i.node].v_index
        if isinstance(i, slice):
            return tuple(range(dimension))  # type: ignore[arg-type]
        return (i,)

    def __setitem__(self, key: Any, value: Any) -> None:
        key = key if isinstance(key, tuple) and not isinstance(key, (Handle, Velocity)) else (key,)
        if self.dimensions and self.dimensions[0] == "nb":
            self._set_bodies(key[0], key[1:] or (slice(None),) * (len(self.dimensions) - 1), value)
            return
        places = [self.positions(d, k) for d, k in zip(self.dimensions, key, strict=True)]
        if () not in places:
            self._fill(places, (), as_numbers(value))

    def bodies(self, i: Any) -> list[Any]:
        """The indices of a node's bodies among those of the model; None for members that are not bodies."""
        return [m.body - 1 if m.body else None for m in self.tree.nodes[i.node].members]

    def _set_bodies(self, i: Any, key: tuple, value: Any) -> None:
        values = value.values if isinstance(value, Stack) else (value,)
        places = [self.positions(d, k) for d, k in zip(self.dimensions[1:], key, strict=True)]
        for body, single in zip(self.bodies(i), values, strict=True):
            if body is not None:
                self._fill(places, (body,), as_numbers(single))

    def _fill(self, places: list[tuple[int, ...] | int], index: tuple[int, ...], value: Any) -> None:
        if not places:
            self.put(index, value)
        elif not isinstance(places[0], tuple):
            self._fill(places[1:], (*index, places[0]), value)
        else:
            for position, part in zip(places[0], value, strict=True):
                self._fill(places[1:], (*index, position), part)

    def mirror(self, i: Any, j: Any, block: Any) -> None:
        """Write a block of a symmetric matrix and its mirror image; for a unit, only from its velocity on."""
        rows = self.positions("nv", i)
        if isinstance(j, Unit):
            c = self.tree.nodes[j.node].v_index[j.place]
            for a, r in enumerate(rows):
                if (i.node, a) >= (j.node, j.place):
                    self.put((r, c), block[a])
                    self.put((c, r), block[a])
            return
        for a, r in enumerate(rows):
            for b, c in enumerate(self.positions("nv", j)):
                if i != j or a <= b:
                    self.put((r, c), block.rows[a][b])
                    if i != j or a < b:
                        self.put((c, r), block.rows[a][b])

    def add(self, value: Any, *key: Any) -> None:
        """Add to one number: a scalar output, or a table entry by velocities."""
        index = tuple(self.positions("nv", k) for k in key)
        known = self.values.get(index)
        self.values[index] = value if known is None else known + value

    def put(self, index: tuple[int, ...], value: Any) -> None:
        """Write one number."""
        self.values[index] = value


class Table(Output):
    """Numbers that are written like an output, and read by velocity or, for a vector, by node."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Handle):
            return Coordinates(self.values.get((k,), 0) for k in self.tree.nodes[key.node].v_index)
        key = (key,) if isinstance(key, Velocity) else key
        return self.values.get(tuple(self.positions("nv", k) for k in key), 0)


class Memory(Output):
    """A table or output stored in an array of a program."""

    def __init__(self, tree: Any, dimensions: tuple[str | int, ...], kind: str, name: str):
        super().__init__(tree, dimensions)
        self.graph: Graph = tree.graph
        self.array = self.graph.array(name, kind, math.prod(self.shape))

    def place(self, index: Iterable[Any]) -> Any:
        """The index of an element in the array."""
        place: Any = 0
        for size, k in zip(self.shape, index, strict=True):
            place = self.graph.iadd(self.graph.imul(place, size), k)
        return place

    def put(self, index: tuple, value: Any) -> None:
        self.graph.store(self.array, self.place(index), number(value))


def number(value: Any) -> Any:
    """A number in stored form: an expression, or a float."""
    return value if isinstance(value, Expr) else float(value)


class PlainWalk(Walk):
    """Plain Python loops over the velocities."""

    def __init__(self, tree: EagerSweep):
        self.tree = tree
        self.velocities = VelocityTree(tree.nodes)

    def outward(self) -> Iterator[Velocity]:
        return (Velocity(node, k) for node, k, _ in self.velocities.order)

    def inward(self) -> Iterator[Velocity]:
        return (Velocity(node, k) for node, k, _ in reversed(self.velocities.order))

    blocks = outward

    def above(self, k: Velocity) -> Iterator[Velocity]:
        tree = self.velocities
        place = tree.above[tree.place[k]]
        while place >= 0:
            yield Velocity(*tree.order[place][:2])
            place = tree.above[place]

    def before(self, k: Velocity) -> Iterator[Velocity]:
        upto = self.velocities.order[: self.velocities.place[k] + 1]
        return (Velocity(node, n) for node, n, _ in reversed(upto))

    def table(self, *dimensions: str | int) -> Table:
        return Table(self.tree, dimensions)

    def column(self, block: Velocity) -> Table:
        return Table(self.tree, ("nv",))

    def guard(self, k: Velocity, pivot: Any) -> None:
        self.tree.guard_pivot(Handle(k.node), self.tree.nodes[k.node].v_index[k.place], pivot)


def assembled(output: Output, batch: tuple[int, ...] = (), objects: bool = False) -> Any:
    """The result as an array with leading batch axes: floats if possible, unless `objects` is set."""
    entries = output.values
    kinds = [v for v in entries.values() if isinstance(v, (np.ndarray, np.generic, float, int, complex))]
    if len(kinds) == len(entries) and not objects:
        dtype = np.result_type(np.float64, *{np.asarray(v).dtype for v in kinds}) if kinds else np.float64
        result = np.zeros(batch + output.shape, dtype)
    else:
        result = np.zeros(batch + output.shape, object)
    for index, value in entries.items():
        result[(..., *index) if batch else index] = value  # type: ignore[index]
    return result[()] if result.ndim == 0 else result
