"""Copying a program into a new graph, statement by statement: the basis of every pass.

A pass is a `Rebuild` that overrides what it changes: `expr` returns the new value of an expression (a number
or another expression), `store` records a store, `keep` drops statements. The old and the new program share
arrays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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
from kinetree.compiler.ir.program import Program
from kinetree.ops import PRIMITIVES, Expr


class Rebuild:
    """The identity pass: `Rebuild(program).run()` is an equal program in a graph of its own."""

    def __init__(self, program: Program):
        self.program = program
        self.graph = Graph()
        self.graph.arrays = [*program.inputs, *program.results, *program.work, *program.tables]
        self.values: dict[Expr, Any] = {}

    def run(self) -> Program:
        """The new program."""
        self.block(self.program.body)
        return self.finish()

    def finish(self, **changes: Any) -> Program:
        """The program with everything recorded so far."""
        return replace(self.program, body=self.graph.root, graph=self.graph, **changes)

    def new(self, value: Any) -> Any:
        """The new value of an operand of the old program."""
        return self.values[value] if type(value) is Expr else value

    def place(self, array: Array) -> Array:
        """The new array for an array of the old program."""
        return array

    def keep(self, statement: Statement) -> bool:
        """False for a statement to drop."""
        return True

    def expr(self, old: Expr, args: tuple) -> Any:
        """The new value of the expression `old`, whose operands have become `args`."""
        op = old.op
        if op == "load" or op == "iload":
            return self.graph.load(args[0], args[1])
        return self.graph.node(op, args)

    def store(self, old: Store, index: Any, value: Any) -> None:
        """Record the store `old`, whose operands have become `index` and `value`."""
        self.graph.store(old.array, index, value, old.accumulate)

    def clear(self, old: Clear) -> None:
        """Record that an array starts at zero."""
        self.graph.clear(old.array)

    def spoil(self, old: Spoil) -> None:
        """Record the rule for non-finite inputs."""
        self.graph.spoil(old.inputs, old.outputs, old.guard, old.silent)

    def block(self, block: Block) -> None:
        """Copy a block into the open block of the graph."""
        self.copy(block.statements)

    def copy(self, statements: list[Statement]) -> None:
        """Copy some statements into the open block of the graph."""
        values = self.values
        for statement in statements:
            if not self.keep(statement):
                continue
            if type(statement) is Expr:
                if statement.op != "counter" and statement.op != "variable":
                    args = tuple([values[a] if type(a) is Expr else a for a in statement.args])
                    values[statement] = self.expr(statement, args)
            elif type(statement) is Store:
                self.store(statement, self.new(statement.index), self.new(statement.value))
            elif type(statement) is Clear:
                self.clear(statement)
            elif type(statement) is Spoil:
                self.spoil(statement)
            else:
                self.control(statement)

    def nested(self, block: Block) -> None:
        """Copy a block inside a loop, switch, while or part that the graph has just opened."""
        self.block(block)

    def control(self, statement: Statement) -> None:
        """Copy a loop, switch, while or part."""
        graph = self.graph
        if isinstance(statement, Loop):
            until = None if statement.until is None else self.place(statement.until)
            with graph.loop(statement.count, statement.start, statement.step, until) as counter:
                self.values[statement.counter] = counter
                self.nested(statement.body)
        elif isinstance(statement, Switch):
            switch = graph.switch(self.new(statement.selector))
            for case in statement.cases:
                with graph.case(switch):
                    self.nested(case)
        elif isinstance(statement, While):
            with graph.repeat(self.new(statement.initial)) as again:
                self.values[statement.variable] = again.variable
                self.nested(statement.body)
                again.successor = self.new(statement.successor)
        elif isinstance(statement, Part):
            with graph.part():
                self.nested(statement.body)


class Folding(Rebuild):
    """A pass that re-evaluates every operation, so that known values fold."""

    def expr(self, old: Expr, args: tuple) -> Any:
        fold = PRIMITIVES[old.op].fold
        return super().expr(old, args) if fold is None else fold(*args)
