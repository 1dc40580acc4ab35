"""The graph that expressions belong to: blocks of nodes, arrays, and the control flow between blocks.

    graph = Graph()
    x = graph.load(graph.array("x", "input", 3), 0)
    y = graph.array("y", "output", 1)
    graph.store(y, 0, x * x + 1.0)

Arrays are the only memory. Inputs, tables (constants) and integer tables are read; outputs are written; work
arrays are written and read. Loops, switches and whiles keep their bodies in nested blocks. New nodes go to
the open block; once it is closed, its values can no longer be used: whatever must survive goes through an
array. Control flow depends on integer tables and literals only, never on numbers, so that all lanes of a SIMD
program take the same path; a loop may end early once further iterations change nothing in any lane
(`Loop.until`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from kinetree import ops
from kinetree.errors import TraceError
from kinetree.ops import PRIMITIVES, Expr
from kinetree.ops import expr as ex
from kinetree.ops.primitives import INTEGER

LARGEST = 1 << 24  # rows or columns of a matrix: integers below are exact in float32
READS = ("load", "iload", "lookup")  # operations whose first operand is an array

Index = Any  # a literal int, or an integer Expr


@dataclass(eq=False)
class Array:
    """A named array of a program.

    kind: "input", "output", "work" (floats), "table" (constant floats; their data is a matrix
    if they are looked up by row and column) or "itable" (constant integers).
    """

    name: str
    kind: str
    size: int
    data: np.ndarray | None = None

    def __repr__(self) -> str:
        return f"{self.kind} {self.name}[{self.size}]"


@dataclass(eq=False)
class Store:
    """`array[index] = value`, or `array[index] += value` if `accumulate`."""

    array: Array
    index: Index
    value: Any
    accumulate: bool = False


@dataclass(eq=False)
class Loop:
    """The body runs `count` times with the integer `counter` = start, start + step, ...

    `until`: a work array of one number. The loop may end before an iteration in which it is at least 1, and
    ends once it is in all lanes: further iterations must not change anything for that state.
    """

    counter: Expr
    start: int
    count: int
    step: int
    body: Block
    until: Array | None = None

    @property
    def flag(self) -> Expr:
        """The content of `until`, as a load."""
        return Expr("load", (self.until, 0), self.counter.graph, self.body, 0)


@dataclass(eq=False)
class Switch:
    """Exactly one case runs: the one with index `selector`."""

    selector: Expr
    cases: list[Block]


@dataclass(eq=False)
class While:
    """The body runs until the integer `variable` is 0: first `initial`, then `successor` each time; none is
    negative.
    """

    variable: Expr
    initial: Index
    body: Block
    successor: Index = 0


@dataclass(eq=False)
class Part:
    """The body runs once. It uses only integers from outside, so it can be printed as a function."""

    body: Block


@dataclass(eq=False)
class Clear:
    """All elements of an output or work array become 0. At the beginning of a program."""

    array: Array


@dataclass(eq=False)
class Spoil:
    """If a number in `inputs` is not finite, all `outputs` become NaN, and the guard 1. Ends a program.

    So an invalid state gives NaN throughout, even in results that do not depend on the non-finite number; and
    it is not reported as singular. `silent`: a state that the guard refuses gives NaN too.
    """

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    guard: Array | None
    silent: bool = False


Statement = Expr | Store | Loop | Switch | While | Part | Clear | Spoil


@dataclass(eq=False)
class Block:
    """A list of statements in execution order."""

    parent: Block | None = None
    statements: list[Statement] = field(default_factory=list)
    is_open: bool = True
    keys: list[tuple] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"Block of {len(self.statements)} statements"


class Graph:
    """Records expressions and statements; see the module."""

    def __init__(self) -> None:
        self.root = Block()
        self.block = self.root
        self.arrays: list[Array] = []
        self.guards: list[Any] = []  # numbers that are at least 1 if the result can be trusted
        self.nearby: dict[Expr, tuple[Any, Any]] = {}  # see `ops.nearby`
        self._shared: defaultdict[str, dict[tuple, Expr]] = defaultdict(dict)  # by operation and operands
        self._count = 0
        self._matrices: dict[int, tuple[Any, Array]] = {}  # matrices of lookups, by the object that was given

    def array(self, name: str, kind: str, size: int, data: np.ndarray | None = None) -> Array:
        """A new array of the program."""
        array = Array(name, kind, size, data)
        self.arrays.append(array)
        return array

    def find(self, op: str, args: tuple) -> Expr | None:
        """The node `op(args)` if it exists in an open block."""
        return self._shared[op].get(args)

    def node(self, op: str, args: tuple) -> Expr:
        """The pure node `op(args)`, shared with an equal one in an open block."""
        shared = self._shared[op]
        known = shared.get(args)
        if known is not None:
            return known
        shared[args] = result = self.fresh(op, args)
        mirrored = args[::-1] if PRIMITIVES[op].commutative else args
        shared[mirrored] = result
        if self.block is not self.root:  # the root is never closed
            self.block.keys += ((op, args), (op, mirrored))
        return result

    def fresh(self, op: str, args: tuple) -> Expr:
        """A node that is not shared (loads, counters)."""
        for a in args:
            if type(a) is Expr and not (a.block.is_open and a.graph is self):
                self._refuse(a)
        self._count += 1
        result = Expr(op, args, self, self.block, self._count)
        self.block.statements.append(result)
        return result

    def _refuse(self, operand: Expr) -> NoReturn:
        if operand.graph is not self:
            raise TraceError("expressions of two different traces cannot be combined")
        raise TraceError(
            f"{operand!r} was computed in a loop body that has ended: a value leaves a loop only through "
            "a field, a sum or an output of the sweep"
        )

    def empty(self) -> None:
        """Drop everything: its records refer to it, and would wait for the garbage collector."""
        self._shared.clear()
        self.nearby.clear()
        blocks = [self.root]
        while blocks:
            block = blocks.pop()
            for statement in block.statements:
                blocks += statement.cases if isinstance(statement, Switch) else []
                blocks += [statement.body] if isinstance(statement, (Loop, While, Part)) else []
            block.statements.clear()

    def load(self, array: Array, index: Index) -> Expr:
        """The element of `array` at `index`. Loads of constants and inputs are shared, of work arrays not."""
        if array.kind == "itable":
            return self.node("iload", (array, index))
        if array.kind == "work":
            return self.fresh("load", (array, index))
        return self.node("load", (array, index))

    def matrix(self, data: Any) -> Array:
        """A constant matrix for lookups, shared by uses of the same array; or that of a copied program."""
        if isinstance(data, Array):
            return data
        known = self._matrices.get(id(data))
        if known is None:
            copy = np.array(data, dtype=float, order="C")
            if copy.ndim != 2 or not copy.size or max(copy.shape) >= LARGEST:
                raise TraceError(
                    f"lookup takes a matrix with fewer than {LARGEST} rows and columns, "
                    f"not an array of shape {copy.shape}"
                )
            copy.flags.writeable = False
            array = self.array(f"matrix{len(self.arrays)}", "table", copy.size, copy)
            known = self._matrices[id(data)] = (data, array)
        return known[1]

    def store(self, array: Array, index: Index, value: Any, accumulate: bool = False) -> None:
        """Record `array[index] = value` (or += value)."""
        for a in (index, value):
            if type(a) is Expr and not a.block.is_open:
                raise TraceError(f"{a!r} was computed in a loop body that has ended and cannot be stored")
        self.block.statements.append(Store(array, index, value, accumulate))

    def clear(self, array: Array) -> None:
        """Record that `array` starts at zero: at the beginning of the program, whenever this is called."""
        self.begin(Clear(array))

    def begin(self, *statements: Statement) -> None:
        """Record statements at the beginning of the program, after the clears."""
        recorded = self.root.statements
        place = next((k for k, s in enumerate(recorded) if type(s) is not Clear), len(recorded))
        recorded[place:place] = statements

    def spoil(
        self,
        inputs: tuple[Array, ...],
        outputs: tuple[Array, ...],
        guard: Array | None,
        silent: bool = False,
    ) -> None:
        """Record the end of a program: non-finite inputs spoil all outputs."""
        self.root.statements.append(Spoil(inputs, outputs, guard, silent))

    def guard(self) -> Array | None:
        """The smallest of all guards, as an output of its own; None if nothing is guarded."""
        if not self.guards:
            return None
        smallest = self.guards[0]
        for value in self.guards[1:]:
            smallest = ops.min(smallest, value)
        array = self.array("guard", "output", 1)
        self.store(array, 0, smallest)
        return array

    def iadd(self, a: Index, b: Index) -> Index:
        """The integer a + b."""
        return ex.iadd(a, b)

    def imul(self, a: Index, b: Index) -> Index:
        """The integer a * b."""
        return ex.imul(a, b)

    def open(self, block: Block) -> Block:
        """Make `block` a child of the current block, and the destination of new statements."""
        block.parent = self.block
        self.block = block
        return block

    def close(self, block: Block) -> None:
        """Leave `block`; its values can no longer be used."""
        if self.block is not block:
            raise TraceError(
                "a loop of the sweep was left early: let every `for` over the tree run to its end"
            )
        block.is_open = False
        for op, args in block.keys:
            self._shared[op].pop(args, None)  # x * x is its own mirror image
        block.keys.clear()
        assert block.parent is not None
        self.block = block.parent

    @contextmanager
    def loop(
        self, count: int, start: int = 0, step: int = 1, until: Array | None = None
    ) -> Iterator[Expr]:
        """A loop; yields its counter, an integer expression."""
        body = Block()
        outer = self.block
        self.open(body)
        counter = self.fresh("counter", ())
        outer.statements.append(Loop(counter, start, count, step, body, until))
        yield counter
        self.close(body)

    @contextmanager
    def case(self, switch: Switch) -> Iterator[Block]:
        """Add a case to a switch made by `switch()`."""
        block = self.open(Block())
        switch.cases.append(block)
        yield block
        self.close(block)

    def switch(self, selector: Expr) -> Switch:
        """A switch without cases yet."""
        result = Switch(selector, [])
        self.block.statements.append(result)
        return result

    @contextmanager
    def part(self) -> Iterator[Block]:
        """A part: a block that runs once, in place, and shares only integers with its surroundings."""
        body = Block()
        self.block.statements.append(Part(body))
        self.open(body)
        around = self._shared
        integers = {op: dict(nodes) for op, nodes in around.items() if PRIMITIVES[op].gives == INTEGER}
        self._shared = defaultdict(dict, integers)
        yield body
        self.close(body)
        self._shared = around

    @contextmanager
    def repeat(self, initial: Index) -> Iterator[While]:
        """A while loop over an integer; set `.successor` before it ends."""
        body = Block()
        outer = self.block
        self.open(body)
        variable = self.fresh("variable", ())
        result = While(variable, initial, body)
        outer.statements.append(result)
        yield result
        self.close(body)
