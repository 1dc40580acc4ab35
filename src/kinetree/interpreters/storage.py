"""Storage of a looped trace: fields, sums, inputs and outputs as accesses to arrays of the program.

Every number of a field is an array with one element per slot (the index of a body; the world is slot 0).
Numbers that are literals or table entries for a kind of node are not read from memory but recreated; arrays
that are never read disappear as dead code.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kinetree.compiler.ir.graph import Array, Store
from kinetree.errors import TraceError
from kinetree.interpreters.handles import Block, Carrier, Handle, Velocity, World
from kinetree.interpreters.results import Memory, number
from kinetree.model.node import stacked
from kinetree.ops import Expr
from kinetree.spatial import Coordinates, Detached, Force, Stack
from kinetree.spatial.value import Builder, Value, take_apart
from kinetree.sweep.sweep import Frame

if TYPE_CHECKING:
    from kinetree.interpreters.looped import LoopedSweep


class Kept:
    """Values that a path carries from one body to the next, in memory of their own."""

    def __init__(self, tree: LoopedSweep, value: Value):
        leaves, self.build = take_apart(value.uniform())
        self.tree = tree
        self.arrays = [tree.graph.array(tree.unique("carried"), "work", 1) for _ in leaves]

    def store(self, value: Value) -> None:
        leaves, _ = take_apart(value.uniform())
        for array, leaf in zip(self.arrays, leaves, strict=True):
            self.tree.graph.store(array, 0, number(leaf))

    def load(self, frame: Frame) -> Any:
        return self.build(iter([self.tree.graph.load(array, 0) for array in self.arrays])).arrived(frame)


def is_uniform(kind: type) -> bool:
    """True for types with one form for all kinds of nodes: only they can be read through a predecessor."""
    return issubclass(kind, Value) and kind.is_uniform


class Template:
    """The form of a field's value for one kind of node, and where each number comes from."""

    def __init__(self, value: Any, i: Handle):
        leaves, self.build = take_apart(value)
        self.sources: list[Any] = []  # a literal, (table, offset), or None for memory
        for leaf in leaves:
            self.sources.append(_origin(leaf, i))
        # a transform maps from the carrier's frame (a new tag for each handle), or from a permanent one
        first = value.values[0] if isinstance(value, Stack) else value
        source = getattr(first, "source", None)
        self.from_carrier = source is i.carrier.frame
        self.source = None if self.from_carrier else source


def _origin(leaf: Any, i: Handle) -> Any:
    """A literal, the entry in a table of the own node, or None."""
    if not isinstance(leaf, Expr):
        return float(leaf)
    if leaf.op == "load" and leaf.args[0].kind == "table":
        table, index = leaf.args
        sum_of = isinstance(index, Expr) and index.op == "iadd"
        row, offset = index.args if sum_of else (index, 0)
        if isinstance(row, Expr) and row.op == "imul" and row.args[0] is i.ordinal and type(offset) is int:
            return (table, row.args[1], offset)
    return None


class Field:
    """One value per node, written once: literals and table entries by kind, other numbers in memory."""

    def __init__(self, tree: LoopedSweep, kind: Any):
        self.tree, self.type = tree, kind
        self.name = tree.unique(kind.__name__.lower())
        self.templates: dict[int, Template] = {}
        self.memory: dict[Any, Array] = {}
        self.written: dict[Any, int] = {}  # kind of node -> number of the loop that writes it
        self.current: dict[Handle, Any] = {}
        self.neutral: Any = None

    def place(self, key: Any) -> Array:
        """The array of one number of the field: one element per slot."""
        found = self.memory.get(key)
        if found is None:
            graph = self.tree.graph
            found = self.memory[key] = graph.array(f"{self.name}.{key}", "work", self.tree.structure.slots)
        return found

    def world_value(self) -> Any:
        return self.type.zero() if self.neutral is None else self.neutral

    def __setitem__(self, i: Any, value: Any) -> None:
        if isinstance(i, World):
            self.neutral = value
            return
        self.check_handle(i)
        self.check_write(i)
        template = self.templates[i.kind.number] = Template(value, i)
        self.current[i] = value
        leaves, _ = take_apart(value)
        graph = self.tree.graph
        for k, (leaf, source) in enumerate(zip(leaves, template.sources, strict=True)):
            if source is None:
                graph.store(self.place(f"own{k}"), i.slot, leaf)
        members = value.values if isinstance(value, Stack) else (value,)
        if is_uniform(type(members[0])):
            for m, single in enumerate(members):
                if not isinstance(single, Detached):
                    self.store_uniform(i.slot_of(m), single)

    def store_uniform(self, slot: Any, value: Any) -> None:
        leaves, _ = take_apart(value.uniform())
        for k, leaf in enumerate(leaves):
            self.tree.graph.store(self.place(k), slot, number(leaf))

    def load_uniform(self, slot: Any) -> Any:
        leaves, build = _form(self.type)
        return build(iter([self.tree.graph.load(self.place(k), slot) for k in range(leaves)]))

    def check_write(self, i: Handle) -> None:
        """Raise unless this is the first write to the node."""
        key = (i.kind.number, self.tree.scope)
        if key in self.written and not self.tree.probing:
            raise TraceError(
                "a field is written once for each node: use tree.sums for a value that is added to"
            )
        self.written[key] = self.tree.loop[0]

    def check_above(self) -> None:
        """Raise unless predecessors are written: by an earlier loop, or by this one if it goes outward."""
        number, step = self.tree.loop
        if not self.written or (step < 0 and number in self.written.values()):
            raise TraceError("a field was read or added to before it was written for a predecessor")

    def check_handle(self, i: Any) -> None:
        if isinstance(i, Handle) and not i.block.is_open:
            raise TraceError("a handle of a loop that has ended was used: use the handle of the current loop")

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, World):
            return self.world_value()
        if isinstance(i, Carrier):
            if not is_uniform(self.type):
                raise TraceError(
                    f"a {self.type.__name__} of a predecessor was read: its form depends on the kind of "
                    "node, which is not known there"
                )
            self.check_above()
            return self.load_uniform(i.slot).between(None, i.frame)
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
        found = []
        for k, source in enumerate(template.sources):
            if source is None:
                found.append(graph.load(self.place(f"own{k}"), i.slot))
            elif isinstance(source, tuple):
                table, width, offset = source
                found.append(graph.load(table, graph.iadd(graph.imul(i.ordinal, width), offset)))
            else:
                found.append(source)
        source = i.carrier.frame if template.from_carrier else template.source
        return _tagged_members(template.build(iter(found)), i, source)


def _tagged_members(value: Any, i: Handle, source: Frame | None) -> Any:
    if isinstance(value, Stack):
        return Stack(v.between(source, f) for v, f in zip(value.values, i.frames, strict=True))
    return value.between(source, i.frames[0]) if isinstance(value, Value) and len(i.frames) == 1 else value


@cache
def _form(kind: type[Value]) -> tuple[int, Builder]:
    """The number of components of a uniform type, and how its values are built."""
    leaves, build = take_apart(kind.zero().uniform())
    return len(leaves), build


class Sum(Field):
    """One value per node, written once and then added to: all its numbers are in memory."""

    def __init__(self, tree: LoopedSweep, kind: Any):
        super().__init__(tree, kind)
        if not is_uniform(kind):
            raise TraceError(f"no sums of {kind.__name__}: its form depends on the kind of node")
        self.at_world = False

    def __setitem__(self, i: Handle, value: Any) -> None:
        self.check_handle(i)
        self.check_write(i)
        for m, single in enumerate(value.values if isinstance(value, Stack) else (value,)):
            self.store_uniform(i.slot_of(m), self.type.promoted(single))

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, World) and not self.at_world:
            return self.world_value()
        if isinstance(i, (World, Carrier)):
            return self.load_uniform(i.slot).between(None, i.frame)
        self.check_handle(i)
        value = self.current.get(i)
        if value is None:
            if not any(kind == i.kind.number for kind, _ in self.written):
                raise TraceError("a field was read before it was written for that kind of node")
            members = [self.load_uniform(i.slot_of(m)).between(None, f) for m, f in enumerate(i.frames)]
            value = self.current[i] = stacked(members)
        if i.member is not None and isinstance(value, Stack):
            return value.values[i.member]
        return value

    def add(self, i: Any, value: Any) -> None:
        """Add to the value of one body."""
        if isinstance(i, Carrier):
            self.check_above()
        if isinstance(i, World) and not self.at_world:
            self.at_world = True
            count, _ = _form(self.type)
            self.tree.graph.begin(*(Store(self.place(k), 0, 0.0) for k in range(count)))
        value = self.type.promoted(value)
        slot = i.slot_of(i.member or 0) if isinstance(i, Handle) else i.slot
        if not self.type.is_linear:
            self.store_uniform(slot, self[i] + value)
            return
        leaves, _ = take_apart(value)
        for k, leaf in enumerate(leaves):
            if isinstance(leaf, Expr) or leaf != 0:
                self.tree.graph.store(self.place(k), slot, leaf, accumulate=True)


class Output(Memory):
    """A result array, filled by node."""

    def __init__(self, tree: LoopedSweep, dimensions: tuple[str | int, ...], kind: str = "output"):
        super().__init__(tree, dimensions, kind, tree.unique(kind))

    def positions(self, dimension: str | int, i: Any) -> Any:
        """The indices along one dimension that belong to a handle; a single velocity has one and no axis."""
        if isinstance(i, (Velocity, Block)):
            return i.place if isinstance(i, Velocity) else tuple(i.places)
        if dimension == "nv":
            return tuple(self.tree.places(i, "v_index"))
        return super().positions(dimension, i)

    def bodies(self, i: Handle) -> list[Any]:
        members = enumerate(i.kind.sample.members)
        return [self.tree.body_place(i, m) if member.body else None for m, member in members]

    def mirror(self, i: Handle, j: Any, block: Any) -> None:
        """Write a block of a symmetric matrix and its mirror image; for a unit, its whole column."""
        if not isinstance(j, Unit):
            return super().mirror(i, j, block)
        for r, value in zip(self.positions("nv", i), block, strict=True):
            self.put((r, j.place), value)

    def add(self, value: Any, *key: Velocity) -> None:
        self.graph.store(self.array, self.place(k.place for k in key), number(value), accumulate=True)


class Table(Output):
    """Numbers that are written like an output, and read by velocity or, for a vector, by node."""

    def __init__(self, tree: LoopedSweep, dimensions: tuple[str | int, ...], kind: str):
        super().__init__(tree, dimensions, kind)
        tree.graph.clear(self.array)

    def __getitem__(self, key: Any) -> Any:
        key = key if isinstance(key, tuple) else (key,)
        *first, last = (self.positions("nv", k) for k in key)
        if isinstance(last, tuple):
            return Coordinates(self.graph.load(self.array, self.place((*first, k))) for k in last)
        return self.graph.load(self.array, self.place((*first, last)))


class Unit:
    """An input that is one for one velocity and zero for all others: an array of zeros with a single one."""

    def __init__(self, tree: LoopedSweep, array: Array, place: Any):
        self.tree, self.array, self.place = tree, array, place

    @property
    def velocity(self) -> Velocity:
        """The velocity that is one."""
        return Velocity(self.place)

    def __getitem__(self, i: Handle) -> Coordinates:
        return Coordinates(self.tree.graph.load(self.array, k) for k in self.tree.places(i, "v_index"))


INDICES = {"nq": "q_index", "nv": "v_index", "nu": "u_index"}


class Input:
    """An input with numbers for each node; zeros if it is absent."""

    def __init__(self, tree: LoopedSweep, argument: Any, array: Array | None):
        self.tree, self.argument, self.array = tree, argument, array

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, int):
            if i >= self.argument.shape[0]:
                raise IndexError(i)  # ends the iteration over a vector
            return 0 if self.array is None else self.tree.graph.load(self.array, i)
        if self.argument.shape == ("nb", 6):
            return self.tree.wrenches(i, [self._wrench(i, m) for m in range(i.kind.width)])
        places = self.tree.places(i, INDICES[self.argument.shape[0]])
        if self.array is None:
            return Coordinates((0,) * len(places))
        return Coordinates(self.tree.graph.load(self.array, place) for place in places)

    def _wrench(self, i: Handle, member: int) -> Force:
        if self.array is None or not i.kind.sample.members[member].body:
            return Force()
        graph = self.tree.graph
        row = graph.imul(self.tree.body_place(i, member), 6)
        values = [graph.load(self.array, graph.iadd(row, k)) for k in range(6)]
        return Force.from_components(values)
