"""Programs run on the numbers of another library, whose functions replace NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from kinetree.compiler.emit.printer import Walk
from kinetree.compiler.ir.graph import Array, Clear, Loop, Part, Spoil, Store, Switch, While
from kinetree.compiler.ir.program import Program
from kinetree.ops import PRIMITIVES, Expr


class Run(Walk):
    """Runs a program; loops are executed, not recorded, and do not end early.

    Args:
        operations: what `operations` makes of the functions of the library.
        inputs: the numbers of each input.
    """

    def __init__(self, program: Program, operations: dict[str, Any], inputs: Sequence[Sequence[Any]]):
        self.operations = operations
        self.values: dict[Expr, Any] = {}
        self.memory: dict[Array, list[Any]] = {a: [0.0] * a.size for a in (*program.results, *program.work)}
        for table in program.tables:
            assert table.data is not None
            self.memory[table] = table.data.tolist()
        for array, numbers in zip(program.inputs, inputs, strict=True):
            self.memory[array] = list(numbers)
        self.statements(program.body.statements)

    def operand(self, x: Any) -> Any:
        return self.values[x] if type(x) is Expr else x

    def expression(self, e: Expr) -> None:
        if e.op in ("load", "iload"):
            array, index = e.args
            self.values[e] = self.memory[array][self.operand(index)]
        else:
            self.values[e] = self.operations[e.op](*map(self.operand, e.args))

    def store(self, s: Store) -> None:
        place, index, value = self.memory[s.array], self.operand(s.index), self.operand(s.value)
        place[index] = place[index] + value if s.accumulate else value

    def clear(self, s: Clear) -> None:
        self.memory[s.array] = [0.0] * s.array.size

    def loop(self, s: Loop) -> None:
        for k in range(s.start, s.start + s.count * s.step, s.step):
            self.values[s.counter] = k
            self.statements(s.body.statements)

    def switch(self, s: Switch) -> None:
        self.statements(s.cases[self.operand(s.selector)].statements)

    def repeat(self, s: While) -> None:
        self.values[s.variable] = self.operand(s.initial)
        while self.values[s.variable]:
            self.statements(s.body.statements)
            self.values[s.variable] = self.operand(s.successor)

    def part(self, s: Part) -> None:
        self.statements(s.body.statements)

    def spoil(self, s: Spoil) -> None:
        """Non-finite numbers are left to the caller."""


def operations(functions: SimpleNamespace) -> dict[str, Any]:
    """Each operation of a program by name, built from these functions."""
    operands = ["x", "y", "z"]
    return {
        name: eval(
            f"lambda {', '.join(operands[: row.arity])}: {row.python.format(*operands[: row.arity])}",
            {"ops": functions, "np": functions},
        )
        for name, row in PRIMITIVES.items()
        if row.python
    }


__all__ = ["Run", "operations"]
