"""A program: what a trace recorded, ready to be checked, transformed and printed.

A `Program` knows nothing of robots: it has input and output arrays of numbers, work arrays, constant tables,
and one block of statements (`compiler/ir/graph.py`). It computes one state; running it over a batch, in lanes
and threads, is up to the printer and the runtime.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kinetree.compiler.ir.graph import (
    Array,
    Block,
    Clear,
    Graph,
    Loop,
    Part,
    Spoil,
    Statement,
    Store,
    Switch,
    While,
)
from kinetree.ops import PRIMITIVES, Expr


@dataclass(frozen=True)
class Program:
    """Inputs, outputs, work arrays and tables, and the statements that compute one from the other.

    `inputs` and `outputs` are in the order of the caller's arguments. Arrays whose elements are not all
    written are cleared at the beginning (`Clear`). `guard` (if not None) is an output of size 1 that is not
    part of the result: it is at least 1 if the result can be trusted, and smaller if a division was (nearly)
    by zero.
    """

    name: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    work: tuple[Array, ...]
    tables: tuple[Array, ...]
    body: Block
    graph: Graph
    guard: Array | None = None

    @staticmethod
    def of(name: str, graph: Graph, inputs: Sequence[Array], outputs: Sequence[Array]) -> Program:
        """The program that a graph has recorded, with all its guards."""
        guard = graph.guard()
        work = tuple(a for a in graph.arrays if a.kind == "work")
        tables = tuple(a for a in graph.arrays if a.kind in ("table", "itable"))
        return Program(name, tuple(inputs), tuple(outputs), work, tables, graph.root, graph, guard)

    @property
    def is_straight(self) -> bool:
        """True if the program has no control flow."""
        return not any(isinstance(s, (Loop, Switch, While)) for s in walk(self.body))

    @property
    def results(self) -> tuple[Array, ...]:
        """The outputs, and the guard if there is one."""
        return self.outputs if self.guard is None else (*self.outputs, self.guard)

    def places(self, array: Array) -> list[int]:
        """The elements of an output that can be non-zero: those that are written, in order."""
        found: set[int] = set()
        for s in walk(self.body):
            if isinstance(s, Store) and s.array is array:
                if type(s.index) is Expr:
                    return list(range(array.size))
                if type(s.value) is Expr or s.value != 0.0:
                    found.add(int(s.index))
        return sorted(found)

    @property
    def spoil(self) -> Spoil | None:
        """The rule for states that are not finite: the last statement, or None if there is no such check."""
        last = self.body.statements[-1] if self.body.statements else None
        return last if isinstance(last, Spoil) else None

    @property
    def ops(self) -> dict[str, int]:
        """How often each kind of operation occurs in the text (loop bodies once).

        `flops` is add + mul + div + sqrt; `sincos` counts arguments, whether of sin, cos or both; those that
        are inputs count once for all parts.
        """
        counts: Counter[str] = Counter()
        arguments = set()
        for statement in walk(self.body):
            if isinstance(statement, Expr):
                if statement.op in ("sin", "cos"):
                    of = statement.args[0]
                    arguments.add(of.args if type(of) is Expr and of.op == "load" else of)
                    continue
                counts.update(PRIMITIVES[statement.op].cost)
        keys = ("add", "mul", "div", "sqrt", "neg", "other")
        result = {key: counts[key] for key in keys}
        result["sincos"] = len(arguments)
        result["flops"] = sum(counts[key] for key in ("add", "mul", "div", "sqrt"))
        return result


def walk(block: Block) -> Iterator[Statement]:
    """Every statement of a block and the blocks inside it, in the order of the text."""
    for statement in block.statements:
        yield statement
        for inner in inside(statement):
            yield from walk(inner)


def blocks(block: Block) -> Iterator[Block]:
    """A block and all blocks inside it."""
    yield block
    for statement in block.statements:
        for inner in inside(statement):
            yield from blocks(inner)


def inside(statement: Statement) -> Sequence[Block]:
    """The blocks of a statement."""
    if isinstance(statement, (Loop, While, Part)):
        return (statement.body,)
    return statement.cases if isinstance(statement, Switch) else ()


def wandering(program: Program) -> set[Array]:
    """Arrays that are accessed at computed indices, or cleared."""
    found = set()
    for s in walk(program.body):
        if isinstance(s, Clear) or (isinstance(s, Store) and isinstance(s.index, Expr)):
            found.add(s.array)
        elif isinstance(s, Expr) and s.op == "load" and isinstance(s.args[1], Expr):
            found.add(s.args[0])
    return found


def captured(part: Part) -> tuple[Expr, ...]:
    """The outside integers that a part uses, in the order of their numbers."""
    inside: set[Expr] = set()
    used: set[Expr] = set()
    for statement in walk(part.body):
        if isinstance(statement, Expr):
            inside.add(statement)
        used.update(a for a in operands(statement) if type(a) is Expr)
    return tuple(sorted(used - inside, key=lambda e: e.number))


def operands(statement: Statement) -> tuple:
    """Everything that a statement itself reads: expressions, literals and, for loads, the array."""
    if isinstance(statement, Expr):
        return statement.args
    if isinstance(statement, Store):
        return (statement.index, statement.value)
    if isinstance(statement, Switch):
        return (statement.selector,)
    if isinstance(statement, While):
        return (statement.initial, statement.successor)
    return ()


__all__ = ["Program", "Store", "blocks", "captured", "inside", "operands", "walk", "wandering"]
