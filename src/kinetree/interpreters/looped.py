"""The looped trace: the loops of a sweep stay loops, and their bodies are traced once for each kind of node.

The body of an algorithm runs with symbolic handles. `for i in tree.outward()` opens a loop over all nodes
with a switch over their kinds, and yields one handle for each kind; what the body computes is recorded in
that case of the switch. So a chain of 100,000 bodies makes a program as short as one of ten.

- Numbers of the model are loads from tables, or literals where all nodes of a kind agree.
- A field knows, for each kind, which of its numbers are literals or table entries; only the others go
  through memory (`storage.py`).
- `tree.parent(i)` has an unknown kind, so only types with one form for all kinds can be read through it, with
  all their numbers.
- A path is a `while` over predecessors with a switch over their possible kinds. The sweep owns the values
  carried along.
- Every case is traced twice, the second time into a discarded block. A body that carries a Python variable
  from one iteration to the next then uses a value of a closed block, which raises TraceError.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kinetree.compiler.ir.graph import Array, Block, Graph
from kinetree.compiler.ir.program import Program
from kinetree.errors import TraceError
from kinetree.interpreters.handles import Handle, Velocity, World
from kinetree.interpreters.kinds import structure_of
from kinetree.interpreters.storage import Field, Input, Kept, Output, Sum, Table, Unit
from kinetree.interpreters.triples import LoopedTriples
from kinetree.interpreters.walks import LoopedWalk
from kinetree.model import Node
from kinetree.ops import Expr
from kinetree.spatial import Inertia, Motion
from kinetree.sweep import Algorithm, Argument, Sweep
from kinetree.sweep.signature import MODEL_INPUTS
from kinetree.sweep.sweep import Frame, marked_nodes


class LoopedSweep(Sweep):
    """The tree, with recorded loops."""

    def __init__(self, model: Any, frames: str, nodes: tuple[Node, ...], marks: frozenset[int], graph: Graph):
        super().__init__(model, frames)
        self.graph = graph
        self.nodes = nodes
        self.structure = structure_of(model, nodes, marks)
        self.world = World(self.world_frame)
        self.velocities: LoopedWalk = LoopedWalk(self, nodes, graph)
        self.probing = False
        self.tables: dict[Any, Array] = {}
        self.scope: Any = None  # the case of `units` being traced
        self.given: dict[str, Array] = {}  # the inputs of the program
        self.loop = (0, 1)  # number and direction of the loop being traced
        self._names = 0

    # -- tables and memory

    def unique(self, stem: str) -> str:
        self._names += 1
        return f"{stem}{self._names}"

    def table(self, key: Any, data: np.ndarray, kind: str) -> Array:
        """The constant array with these data, cached."""
        found = self.tables.get(key)
        if found is None:
            dtype = np.int64 if kind == "itable" else float
            found = self.tables[key] = self.graph.array(
                self.unique(kind), kind, data.size, np.ascontiguousarray(data, dtype).ravel()
            )
        return found

    def lookup(self, key: Any, data: np.ndarray, index: Any) -> Any:
        """data[index] as an integer; an affine function of the index where possible."""
        if type(index) is not Expr:
            return int(data[index])
        if data.size == 1 or (data == data[0]).all():
            return int(data[0])
        step = int(data[1]) - int(data[0])
        if (data == int(data[0]) + step * np.arange(data.size)).all() and step == 1:
            return self.graph.iadd(index, int(data[0]))
        return self.graph.load(self.table(key, data, "itable"), index)

    def places(self, i: Handle, name: str) -> list[Any]:
        """The indices of the coordinates of a node: `q_index` or `v_index`."""
        data = i.kind.indices(name)
        width = data.shape[1]
        if width and (data - data[:, :1] == np.arange(width)).all():
            first = self.lookup((i.kind.number, name, 0), data[:, 0], i.ordinal)
            return [self.graph.iadd(first, k) for k in range(width)]
        return [self.lookup((i.kind.number, name, k), data[:, k], i.ordinal) for k in range(width)]

    def body_place(self, i: Handle, member: int) -> Any:
        """The index of a member's body among the bodies of the model."""
        return self.lookup((i.kind.number, "body", member), i.kind.bodies(member) - 1, i.ordinal)

    # -- loops

    def _iterate(self, start: int, step: int) -> Iterator[Handle]:
        graph = self.graph
        if graph.block is not (graph.root if self.scope is None else self.scope):
            raise TraceError(
                "a loop over the tree was left early, or stands in another one: that cannot be traced"
            )
        if not self.nodes:  # all bodies are fixed to the world
            return
        self.loop = (self.loop[0] + 1, step)
        with graph.loop(len(self.nodes), start, step) as counter:
            slot = self.lookup("slot", self.structure.first_slot, counter)
            selector = self.lookup("kind", self.structure.kind_of, counter)
            for kind in self._cases(self.structure.kinds, selector):
                yield Handle(self, kind, counter, slot)

    def outward(self) -> Iterator[Handle]:
        return self._iterate(0, 1)

    def inward(self) -> Iterator[Handle]:
        return self._iterate(len(self.nodes) - 1, -1)

    def _cases(self, choices: list[Any], selector: Any) -> Iterator[Any]:
        """Each choice in its own case, and once more into a discarded block, to catch carried variables."""
        graph = self.graph
        switch = graph.switch(selector) if len(choices) > 1 else None
        for choice in choices:
            if switch is None:
                block = graph.open(Block())
                yield choice
                graph.close(block)
                assert block.parent is not None
                block.parent.statements.extend(block.statements)
            else:
                with graph.case(switch):
                    yield choice
            if not self.probing:
                self.probing = True
                block = graph.open(Block())
                yield choice
                graph.close(block)
                self.probing = False

    def parent(self, i: Any) -> Any:
        return i.carrier

    def path(self, X: Any, j: Any, *carried: Any) -> Iterator[tuple]:
        graph = self.graph
        if isinstance(j, World):
            return
        yield (j, *carried)
        if j.kind.is_root:
            return
        moved = [value.carried(X[j]) for value in carried]
        kept = [Kept(self, value) for value in moved]
        for keep, value in zip(kept, moved, strict=True):
            keep.store(value)
        structure = self.structure
        carriers, cases = structure.above(j.kind)
        with graph.repeat(j.carrier.slot) as loop:
            slot = loop.variable
            node = self.lookup("node of slot", structure.node_of_slot, slot)
            key = ("case of slot", *((kind.number, member) for kind, member in carriers))
            selector = self.lookup(key, cases, slot)
            for kind, member in self._cases(carriers, selector):
                i = Handle(self, kind, node, graph.iadd(slot, -member), member)
                values = [keep.load(i.frames[member]) for keep in kept]
                yield (i, *values)
                if not kind.is_root:
                    for keep, value in zip(kept, values, strict=True):
                        keep.store(value.carried(X[i]))
            loop.successor = self.lookup("above", structure.above_slot, slot)

    # -- storage

    def fields(self, *types: type) -> tuple[Field, ...]:
        return tuple(Field(self, t) for t in types)

    def sums(self, *types: type) -> Any:
        found = tuple(Sum(self, t) for t in types)
        return found[0] if len(found) == 1 else found

    def array(self, *dimensions: str | int) -> Output:
        return Output(self, dimensions)

    def triples(self) -> LoopedTriples:
        return LoopedTriples(self)

    def memory(self, kind: str, dimensions: tuple[str | int, ...]) -> Table:
        return Table(self, dimensions, kind)

    def absent(self, *dimensions: str | int) -> Input:
        return Input(self, Argument("absent", dimensions), None)

    def velocity(self, i: Handle, k: int) -> Velocity:
        return Velocity(self.places(i, "v_index")[k], None, i, k)

    def units(self) -> Iterator[Unit]:
        graph = self.graph
        array = graph.array(self.unique("unit"), "work", self.model.nv)
        with graph.loop(self.model.nv) as place:
            graph.store(array, place, 0.0)
        with graph.loop(self.model.nv) as place:
            graph.store(array, place, 1.0)
            self.scope = graph.block
            yield Unit(self, array, place)
            self.scope = None
            graph.store(array, place, 0.0)

    # -- the model

    def node(self, i: Handle) -> Node:
        """The node with its numbers: literals where all nodes of the kind agree, else loads from tables."""
        if i.rebuilt is None:
            kind = i.kind
            data = kind.numbers
            same = (data == data[0]).all(axis=0)
            varying = np.flatnonzero(~same)
            values: list[Any] = data[0].tolist()
            if varying.size:
                table = self.table((kind.number, "numbers"), data[:, varying], "table")
                row = self.graph.imul(i.ordinal, varying.size)
                for place, k in enumerate(varying):
                    values[k] = self.graph.load(table, self.graph.iadd(row, place))
            i.rebuilt = self._with_given_inertias(i, kind.sample.with_parameters(values))
        return i.rebuilt

    def _with_given_inertias(self, i: Handle, node: Node) -> Node:
        """The node with the inertias of its bodies from the input `parameters`, if given."""
        array, graph = self.given.get("parameters"), self.graph
        if array is None:
            return node
        members = []
        for m, member in enumerate(node.members):
            if i.kind.sample.members[m].body:
                row = graph.imul(self.body_place(i, m), 10)
                numbers = [graph.load(array, graph.iadd(row, k)) for k in range(10)]
                member = member._replace(inertia=Inertia.from_parameters(numbers))
            members.append(member)
        return node._replace(members=tuple(members))

    @property
    def gravity(self) -> Motion:
        array = self.given.get("gravity")
        if array is None:
            return super().gravity
        fall = tuple(self.graph.load(array, k) for k in range(3))
        return Motion((0, 0, 0), fall, self.world_frame)  # type: ignore[arg-type]

    def frame_of(self, i: Handle) -> tuple[Frame, ...]:
        return i.frames

    def parent_frame(self, i: Handle) -> Frame:
        return i.carrier.frame

    def body(self, index: int) -> Any:
        if index == 0:
            return self.world
        node, member = self.model.location(index)
        kind = self.structure.kinds[self.structure.kind_of[node]]
        return Handle(self, kind, node, int(self.structure.first_slot[node]), member)

    def is_marked(self, i: Handle) -> bool:
        return i.kind.marked

    def guard(self, i: Handle, pivots: tuple) -> None:
        for place, pivot in zip(self.places(i, "v_index"), pivots, strict=True):
            self.velocities.guard(Velocity(place), pivot)

    def require_sound(self, i: Handle, q: Any) -> None:
        self.velocities.require(self.node(i).soundness(q))


def trace(
    algorithm: Algorithm,
    model: Any,
    present: tuple[str, ...],
    options: dict[str, Any],
    frames: str = "body",
    nodes: tuple[Node, ...] | None = None,
) -> Program:
    """The program of an algorithm for one model, with loops over its nodes."""
    graph = Graph()
    nodes = model.nodes if nodes is None else nodes
    tree = LoopedSweep(model, frames, nodes, marked_nodes(model, options), graph)
    given: dict[str, Array] = {}
    for argument in (*algorithm.inputs, *MODEL_INPUTS):
        if argument.name in present:
            given[argument.name] = graph.array(argument.name, "input", argument.length(model))
    tree.given = given
    values = [Input(tree, argument, given.get(argument.name)) for argument in algorithm.inputs]
    result = algorithm.body(tree, *values, **options)
    if graph.block is not graph.root:
        raise TraceError(f"{algorithm.name}: a loop over the tree was left early: let it run to its end")
    outputs = []
    results = result if isinstance(result, tuple) else (result,)
    for argument, output in zip(algorithm.outputs, results, strict=True):
        output.array.name = argument.name
        outputs.append(output.array)
        if output.array.size > model.nv or output.array.size <= 1:  # loops may leave elements unwritten
            graph.clear(output.array)
    least = tree.velocities.least
    if least is not None:
        graph.guards.append(graph.load(least, 0))
    return Program.of(algorithm.name, graph, tuple(given.values()), outputs)
