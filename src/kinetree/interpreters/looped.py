"""The looped trace: the loops of a sweep stay loops, and their bodies are traced once for each kind of node.

The text of an algorithm runs with symbolic handles. `for i in tree.outward()` opens a loop over all nodes with a switch over their kinds
and yields one handle for each kind; what the body computes lands in that case of the switch. So a chain of 100,000
bodies makes a program as short as one of ten.

- Numbers of the model are loads from tables, or literals where all nodes of a kind agree.
- A field remembers, for each kind, which of its numbers are literals or table entries; only the others go through memory.
- Through `tree.parent(i)`, whose kind is not known, only types of one form can be read: their full set of numbers.
- A path is a `while` over predecessors with a switch over the kinds they can have. The sweep owns what is carried along.
- Every case is traced twice, the second time into nothing: a text that carries a Python variable from one iteration to the next uses a value of a
  closed block then, and raises TraceError.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.compiler.interleave import interleave
from kinetree.compiler.program import Program
from kinetree.compiler.simplify import simplify
from kinetree.errors import TraceError
from kinetree.interpreters.eager import numbers, promoted
from kinetree.interpreters.kinds import Kind, Structure
from kinetree.interpreters.leaves import Builder, tagged, take_apart
from kinetree.model import Node
from kinetree.model.node import stacked
from kinetree.ops import Array, Expr, Graph
from kinetree.spatial import (
    ArticulatedInertia,
    Coordinates,
    CoriolisInertia,
    Detached,
    Force,
    Inertia,
    Jet,
    Motion,
    Stack,
    Transform,
)
from kinetree.spatial.rotations import Dense
from kinetree.sweep import Algorithm, Sweep
from kinetree.sweep.bounds import NEGLIGIBLE, inertia_bounds
from kinetree.sweep.sweep import Frame, carry, marked_nodes

UNIFORM = (Motion, Force, Inertia, ArticulatedInertia, CoriolisInertia, Jet, Transform)
LARGE = 1e300  # larger than any pivot


class Handle:
    """A node of a known kind in the iteration that is being traced, or one member of it (a body on a path)."""

    def __init__(self, tree: LoopedSweep, kind: Kind, node: Any, slot: Any, member: int | None = None):
        self.tree, self.kind, self.node, self.member = tree, kind, node, member
        self.slot = slot  # of the first member
        self.ordinal = tree.lookup("ordinal", tree.structure.ordinal, node)
        frames = [tree.common] * kind.width if tree.frames == "common" else [
            Frame(f"member {m} of a node of kind {kind.number}") for m in range(kind.width)
        ]  # fmt: skip
        self.frames = tuple(frames)
        self.above: Carrier | None = None
        self.rebuilt: Node | None = None
        self.block = tree.graph.block

    @property
    def carrier(self) -> Any:
        """The handle of the body that carries the node: the world for roots."""
        if self.kind.is_root:
            return self.tree.world
        if self.above is None:
            slot = self.tree.lookup("carrier", self.tree.structure.carrier_slot, self.node)
            self.above = Carrier(self.tree, slot)
        return self.above

    def slot_of(self, member: int) -> Any:
        return self.tree.graph.iadd(self.slot, member)


class Carrier:
    """A body of unknown kind: the predecessor of a node."""

    def __init__(self, tree: LoopedSweep, slot: Any):
        self.slot = slot
        self.frame = tree.common if tree.frames == "common" else Frame("the predecessor")


class World:
    """The handle of the world."""

    slot = 0

    def __init__(self, frame: Frame):
        self.frame = frame


class LoopedSweep(Sweep):
    """The tree, with loops that are recorded."""

    def __init__(self, model: Any, frames: str, nodes: tuple[Node, ...], marks: frozenset[int], graph: Graph):
        super().__init__(model, frames)
        self.graph = graph
        self.nodes = nodes
        self.structure = Structure(nodes, marks)
        self.world = World(self.world_frame)
        self.probing = False
        self.tables: dict[Any, Array] = {}
        self.least: Array | None = None
        self._names = 0

    # -- tables and memory

    def unique(self, stem: str) -> str:
        self._names += 1
        return f"{stem}{self._names}"

    def table(self, key: Any, data: np.ndarray, kind: str) -> Array:
        """The constant array with these data, made once."""
        found = self.tables.get(key)
        if found is None:
            dtype = np.int64 if kind == "itable" else float
            found = self.tables[key] = self.graph.array(
                self.unique(kind), kind, data.size, np.ascontiguousarray(data, dtype).ravel()
            )
        return found

    def lookup(self, key: Any, data: np.ndarray, index: Any) -> Any:
        """data[index] as an integer: an affine function of the index where it is one."""
        if type(index) is not Expr:
            return int(data[index])
        if data.size == 1 or (data == data[0]).all():
            return int(data[0])
        step = int(data[1]) - int(data[0])
        if (data == int(data[0]) + step * np.arange(data.size)).all() and step == 1:
            return self.graph.iadd(index, int(data[0]))
        return self.graph.load(self.table(key, data, "itable"), index)

    def column(self, kind: Kind, name: str, data: np.ndarray, column: int, i: Handle) -> Any:
        """An integer of a node of the kind, from a column of a table indexed by its number within the kind."""
        return self.lookup((kind.number, name, column), data[:, column], i.ordinal)

    # -- loops

    def _iterate(self, start: int, step: int) -> Iterator[Handle]:
        graph = self.graph
        if graph.block is not graph.root:
            raise TraceError("a loop of the sweep was left early, or loops over all nodes were nested: that cannot be traced")
        with graph.loop(len(self.nodes), start, step) as counter:
            slot = self.lookup("slot", self.structure.first_slot, counter)
            for kind, _ in self._cases(
                self.structure.kinds, self.lookup("kind", self.structure.kind_of, counter), "outward"
            ):
                yield Handle(self, kind, counter, slot)

    def outward(self) -> Iterator[Handle]:
        return self._iterate(0, 1)

    def inward(self) -> Iterator[Handle]:
        return self._iterate(len(self.nodes) - 1, -1)

    def _cases(self, choices: list, selector: Any, what: str) -> Iterator[tuple[Any, int]]:
        """Each choice in a case of its own, and once more into nothing to catch values carried in variables."""
        graph = self.graph
        switch = graph.switch(selector) if len(choices) > 1 else None
        for number, choice in enumerate(choices):
            if switch is None:
                block = graph.open(ops.Block())
                yield choice, number
                graph.close(block)
                assert block.parent is not None
                block.parent.statements.extend(block.statements)
            else:
                with graph.case(switch):
                    yield choice, number
            if not self.probing:
                self.probing = True
                block = graph.open(ops.Block())
                yield choice, number
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
        moved = [carry(X[j], value) for value in carried]
        kept = [Kept(self, value) for value in moved]
        for keep, value in zip(kept, moved, strict=True):
            keep.store(value)
        choices = self.structure.carriers()
        case_of_slot = np.zeros(self.structure.slots, np.int64)
        for s in range(1, self.structure.slots):
            pair = (int(self.structure.kind_of[self.structure.node_of_slot[s]]), int(self.structure.member_of_slot[s]))
            case_of_slot[s] = choices.index(pair) if pair in choices else 0
        with graph.repeat(j.carrier.slot) as loop:
            slot = loop.variable
            node = self.lookup("node of slot", self.structure.node_of_slot, slot)
            for (kind_number, member), _ in self._cases(choices, self.lookup("case", case_of_slot, slot), "path"):
                kind = self.structure.kinds[kind_number]
                first = graph.iadd(slot, -member) if member else slot
                i = Handle(self, kind, node, first, member)
                values = [keep.load(i.frames[member]) for keep in kept]
                yield (i, *values)
                if not kind.is_root:
                    for keep, value in zip(kept, values, strict=True):
                        keep.store(carry(X[i], value))
            above = self.structure.carrier_slot[self.structure.node_of_slot]
            above[0] = 0
            loop.successor = self.lookup("above", above, slot)

    # -- storage

    def fields(self, *types: type) -> tuple[Field, ...]:
        return tuple(Field(self, t) for t in types)

    def sums(self, *types: type) -> Any:
        found = tuple(Sum(self, t) for t in types)
        return found[0] if len(found) == 1 else found

    def array(self, *dimensions: str | int) -> Output:
        return Output(self, dimensions)

    # -- the model

    def node(self, i: Handle) -> Node:
        """The node with its numbers: literals where all nodes of the kind agree, else loads from tables."""
        if i.rebuilt is None:
            kind = i.kind
            data = kind.numbers()
            same = (data == data[0]).all(axis=0)
            varying = np.flatnonzero(~same)
            values: list[Any] = data[0].tolist()
            if varying.size:
                table = self.table((kind.number, "numbers"), data[:, varying], "table")
                row = self.graph.imul(i.ordinal, varying.size)
                for place, k in enumerate(varying):
                    values[k] = self.graph.load(table, self.graph.iadd(row, place))
            i.rebuilt = kind.sample.with_parameters(values)
        return i.rebuilt

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
        if not pivots:
            return
        bounds = inertia_bounds(self.model)
        scales = 1.0 / (NEGLIGIBLE * bounds[i.kind.indices("v_index")])
        if self.least is None:
            self.least = self.graph.array("least", "work", 1)
            self.graph.root.statements.insert(0, ops.Store(self.least, 0, LARGE))
        smallest: Any = self.graph.load(self.least, 0)
        for k, pivot in enumerate(pivots):
            column = scales[:, k]
            if (column == column[0]).all():
                scale: Any = float(column[0])
            else:
                scale = self.graph.load(self.table((i.kind.number, "scale", k), column, "table"), i.ordinal)
            smallest = ops.min(smallest, pivot * scale)
        self.graph.store(self.least, 0, smallest)


class Kept:
    """Values that a path carries from one body to the next, in memory of their own."""

    def __init__(self, tree: LoopedSweep, value: Any):
        leaves, self.build = take_apart(dense(value))
        self.tree = tree
        self.arrays = [tree.graph.array(tree.unique("carried"), "work", 1) for _ in leaves]

    def store(self, value: Any) -> None:
        leaves, _ = take_apart(dense(value))
        for array, leaf in zip(self.arrays, leaves, strict=True):
            self.tree.graph.store(array, 0, leaf if isinstance(leaf, Expr) else float(leaf))

    def load(self, frame: Frame) -> Any:
        value = self.build(iter([self.tree.graph.load(array, 0) for array in self.arrays]))
        if isinstance(value, Transform):
            return value.between(frame, None)
        return tagged(value, frame, None)


def dense(value: Any) -> Any:
    """A transform with one general rotation: the form that all kinds of nodes share."""
    if isinstance(value, Transform) and not (len(value.factors) == 1 and isinstance(value.factors[0], Dense)):
        return Transform.from_factors(value.translation, (Dense(value.rotation),))
    return value


class Template:
    """How the value of a field looks for one kind of node: its form, and where each number comes from."""

    def __init__(self, value: Any, i: Handle):
        leaves, self.build = take_apart(value)
        self.sources: list[Any] = []  # a literal, (table, offset), or None for memory
        for leaf in leaves:
            self.sources.append(_origin(leaf, i))


def _origin(leaf: Any, i: Handle) -> Any:
    """A literal, the table entry of the own node that a number is, or None."""
    if not isinstance(leaf, Expr):
        return float(leaf)
    if leaf.op == "load" and leaf.args[0].kind == "table":
        table, index = leaf.args
        row, offset = (index.args[0], index.args[1]) if isinstance(index, Expr) and index.op == "iadd" else (index, 0)
        if isinstance(row, Expr) and row.op == "imul" and row.args[0] is i.ordinal and type(offset) is int:
            return (table, row.args[1], offset)
    return None


class Field:
    """One value for each node, written once: literals and table entries by kind, other numbers in memory."""

    def __init__(self, tree: LoopedSweep, kind: type):
        self.tree, self.type = tree, kind
        self.name = tree.unique(kind.__name__.lower())
        self.templates: dict[int, Template] = {}
        self.memory: dict[Any, Array] = {}
        self.current: dict[Handle, Any] = {}
        self.neutral: Any = None

    def place(self, key: Any) -> Array:
        """The array of one number of the field: an element for each slot."""
        found = self.memory.get(key)
        if found is None:
            graph = self.tree.graph
            found = self.memory[key] = graph.array(f"{self.name}.{key}", "work", self.tree.structure.slots)
        return found

    def world_value(self) -> Any:
        return self.type() if self.neutral is None else self.neutral

    def __setitem__(self, i: Any, value: Any) -> None:
        if isinstance(i, World):
            self.neutral = value
            return
        self.check_handle(i)
        if i.kind.number in self.templates and not self.tree.probing and i not in self.current:
            raise TraceError("a field is written once for each node: use tree.sums for a value that is added to")
        template = self.templates[i.kind.number] = Template(value, i)
        self.current[i] = value
        leaves, _ = take_apart(value)
        graph = self.tree.graph
        for k, (leaf, source) in enumerate(zip(leaves, template.sources, strict=True)):
            if source is None:
                graph.store(self.place(f"own{k}"), i.slot, leaf)
        members = value.values if isinstance(value, Stack) else (value,)
        if isinstance(members[0], UNIFORM):
            for m, single in enumerate(members):
                if not isinstance(single, Detached):
                    self.store_uniform(i.slot_of(m), single)

    def store_uniform(self, slot: Any, value: Any) -> None:
        leaves, _ = take_apart(dense(value))
        for k, leaf in enumerate(leaves):
            self.tree.graph.store(self.place(k), slot, leaf if isinstance(leaf, Expr) else float(leaf))

    def load_uniform(self, slot: Any) -> Any:
        leaves, build = _form(self.type)
        return build(iter([self.tree.graph.load(self.place(k), slot) for k in range(leaves)]))

    def check_handle(self, i: Any) -> None:
        if isinstance(i, Handle) and not i.block.is_open:
            raise TraceError("a handle of a loop that has ended was used: index fields with the handle of the current loop")

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, World):
            return self.world_value()
        if isinstance(i, Carrier):
            if self.type not in UNIFORM:
                raise TraceError(
                    f"a {self.type.__name__} of a predecessor was read: its form depends on the kind of node, which is not known there"
                )
            return tagged(self.load_uniform(i.slot), i.frame, None)
        self.check_handle(i)
        value = self.current.get(i)
        if value is None:
            value = self.current[i] = self.load(i)
        if i.member is not None and isinstance(value, Stack):
            return value.values[i.member]
        return value

    def load(self, i: Handle) -> Any:
        """The value of a node of known kind, from literals, tables and memory."""
        template = self.templates.get(i.kind.number)
        if template is None:
            raise TraceError("a field was read before it was written for that kind of node")
        graph = self.tree.graph
        numbers = []
        for k, source in enumerate(template.sources):
            if source is None:
                numbers.append(graph.load(self.place(f"own{k}"), i.slot))
            elif isinstance(source, tuple):
                table, width, offset = source
                numbers.append(graph.load(table, graph.iadd(graph.imul(i.ordinal, width), offset)))
            else:
                numbers.append(source)
        return _tagged_members(template.build(iter(numbers)), i)


def _tagged_members(value: Any, i: Handle) -> Any:
    source = i.carrier.frame
    if isinstance(value, Stack):
        return Stack(tagged(v, f, source) for v, f in zip(value.values, i.frames, strict=True))
    return tagged(value, i.frames[0], source) if len(i.frames) == 1 else value


def _form(kind: type) -> tuple[int, Builder]:
    """How many numbers a value of a uniform type has, and how it is built."""
    leaves, build = take_apart(dense(kind(*((0, (0, 0, 0)) if kind is Inertia else ()))))
    return len(leaves), build


class Sum(Field):
    """One value for each node, written once and then added to: all its numbers are in memory."""

    def __init__(self, tree: LoopedSweep, kind: type):
        super().__init__(tree, kind)
        self.at_world = False
        self.written = False

    def __setitem__(self, i: Handle, value: Any) -> None:
        self.check_handle(i)
        self.written = True
        value = promoted(self.type, value)
        for m, single in enumerate(value.values if isinstance(value, Stack) else (value,)):
            self.store_uniform(i.slot_of(m), single)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, (World, Carrier)):
            return tagged(self.load_uniform(i.slot), i.frame, None)
        self.check_handle(i)
        value = self.current.get(i)
        if value is None:
            members = [tagged(self.load_uniform(i.slot_of(m)), f, None) for m, f in enumerate(i.frames)]
            value = self.current[i] = stacked(members)
        if i.member is not None and isinstance(value, Stack):
            return value.values[i.member]
        return value

    def add(self, i: Any, value: Any) -> None:
        """Add to the value of one body."""
        if isinstance(i, World) and not self.at_world:
            self.at_world = True
            leaves, _ = _form(self.type)
            zeros = [ops.Store(self.place(k), 0, 0.0) for k in range(leaves)]
            self.tree.graph.root.statements[:0] = zeros
        leaves, _ = take_apart(promoted(self.type, value))
        for k, leaf in enumerate(leaves):
            if isinstance(leaf, Expr) or leaf != 0:
                self.tree.graph.store(self.place(k), i.slot, leaf, accumulate=True)


class Output:
    """A result array, filled by node."""

    def __init__(self, tree: LoopedSweep, dimensions: tuple[str | int, ...]):
        self.tree, self.dimensions = tree, dimensions
        model = tree.model
        sizes = {"nv": model.nv, "nq": model.nq, "nb": model.nbodies}
        self.shape = tuple(sizes[d] if isinstance(d, str) else d for d in dimensions)
        self.array = tree.graph.array(tree.unique("output"), "output", math.prod(self.shape))
        self.filled = 0

    def places(self, dimension: str | int, i: Any) -> list[Any]:
        if dimension == "nv":
            data = i.kind.indices("v_index")
            if not data.shape[1]:
                return []
            if (data - data[:, :1] == np.arange(data.shape[1])).all():
                first = self.tree.column(i.kind, "v_index", data, 0, i)
                return [self.tree.graph.iadd(first, k) for k in range(data.shape[1])]
            return [self.tree.column(i.kind, "v_index", data, k, i) for k in range(data.shape[1])]
        if isinstance(i, slice):
            return list(range(dimension))  # type: ignore[arg-type]
        return [i]

    def __setitem__(self, key: Any, value: Any) -> None:
        key = key if isinstance(key, tuple) else (key,)
        if self.dimensions and self.dimensions[0] == "nb":
            self._set_bodies(key[0], value)
            return
        places = [self.places(d, k) for d, k in zip(self.dimensions, key, strict=True)]
        self._fill(places, 0, 0, numbers(value))

    def _set_bodies(self, i: Handle, value: Any) -> None:
        values = value.values if isinstance(value, Stack) else (value,)
        for m, single in enumerate(values):
            if i.kind.sample.members[m].body:
                bodies = i.kind.bodies(m)[:, None] - 1
                first = self.tree.column(i.kind, f"body{m}", bodies, 0, i)
                self._fill([list(range(d)) for d in self.shape[1:]], 1, first, numbers(single))

    def _fill(self, places: list[list[Any]], depth: int, index: Any, value: Any) -> None:
        graph = self.tree.graph
        if not places:
            self.tree.graph.store(self.array, index, value if isinstance(value, Expr) else float(value))
            return
        base = graph.imul(index, self.shape[depth]) if depth else 0
        for place, part in zip(places[0], value, strict=True):
            self._fill(places[1:], depth + 1, graph.iadd(base, place), part)

    def mirror(self, i: Handle, j: Handle, block: Any) -> None:
        """Write a block of a symmetric matrix and its mirror image."""
        graph, n = self.tree.graph, self.shape[0]
        rows, columns = self.places("nv", i), self.places("nv", j)
        for a, r in enumerate(rows):
            for b, c in enumerate(columns):
                value = block.rows[a][b]
                value = value if isinstance(value, Expr) else float(value)
                if i is not j:
                    graph.store(self.array, graph.iadd(graph.imul(r, n), c), value)
                    graph.store(self.array, graph.iadd(graph.imul(c, n), r), value)
                elif a <= b:
                    graph.store(self.array, graph.iadd(graph.imul(r, n), c), value)
                    if a < b:
                        graph.store(self.array, graph.iadd(graph.imul(c, n), r), value)

    def add(self, value: Any) -> None:
        """Add to a scalar output."""
        self.tree.graph.store(self.array, 0, value if isinstance(value, Expr) else float(value), accumulate=True)


class Input:
    """An input with numbers for each node, or zeros if it is absent."""

    def __init__(self, tree: LoopedSweep, argument: Any, array: Array | None):
        self.tree, self.argument, self.array = tree, argument, array

    def __getitem__(self, i: Handle) -> Any:
        if self.argument.shape == ("nb", 6):
            return stacked([self._wrench(i, m) for m in range(i.kind.width)])
        name = "q_index" if self.argument.shape == ("nq",) else "v_index"
        data = i.kind.indices(name)
        if self.array is None:
            return Coordinates((0,) * data.shape[1])
        graph = self.tree.graph
        if data.shape[1] and (data - data[:, :1] == np.arange(data.shape[1])).all():
            first = self.tree.column(i.kind, name, data, 0, i)
            places = [graph.iadd(first, k) for k in range(data.shape[1])]
        else:
            places = [self.tree.column(i.kind, name, data, k, i) for k in range(data.shape[1])]
        return Coordinates(graph.load(self.array, place) for place in places)

    def _wrench(self, i: Handle, member: int) -> Force:
        if self.array is None or not i.kind.sample.members[member].body:
            return Force()
        graph = self.tree.graph
        body = self.tree.column(i.kind, f"body{member}", i.kind.bodies(member)[:, None] - 1, 0, i)
        row = graph.imul(body, 6)
        values = [graph.load(self.array, graph.iadd(row, k)) for k in range(6)]
        return Force.from_components(values, i.frames[member])


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
    tree = LoopedSweep(model, frames, model.nodes if nodes is None else nodes, marked_nodes(model, options), graph)
    inputs, values = [], []
    for argument in algorithm.inputs:
        array = None
        if argument.name in present:
            array = graph.array(argument.name, "input", math.prod(argument.sizes(model)))
            inputs.append(array)
        values.append(Input(tree, argument, array))
    result = algorithm.text(tree, *values, **options)
    if graph.block is not graph.root:
        raise TraceError(f"{algorithm.name}: a loop of the sweep was left early: let every `for` over the tree run to its end")
    outputs = []
    for argument, output in zip(algorithm.outputs, result if isinstance(result, tuple) else (result,), strict=True):
        output.array.name = argument.name
        outputs.append(output.array)
    guard = None
    if tree.least is not None:
        guard = graph.array("guard", "output", 1)
        graph.store(guard, 0, graph.load(tree.least, 0))
    program = Program(
        name=algorithm.name,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        work=tuple(a for a in graph.arrays if a.kind == "work"),
        tables=tuple(a for a in graph.arrays if a.kind in ("table", "itable")),
        body=graph.root,
        graph=graph,
        zeroed=tuple(a for a in outputs if a.size > model.nv or a.size <= 1),
        guard=guard,
    )
    return interleave(simplify(program))
