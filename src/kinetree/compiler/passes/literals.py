"""Work arrays that hold the same number everywhere: their loads become that number.

A looped trace keeps a field in memory even if it is zero for every kind of node, which no single case can
know. What follows from the number folds, and may make other arrays constant in turn.
"""

from __future__ import annotations

from typing import Any

from kinetree.compiler.ir.graph import Array, Clear, Store
from kinetree.compiler.ir.program import Program, walk
from kinetree.compiler.ir.rebuild import Folding
from kinetree.compiler.passes.simplify import simplify
from kinetree.ops import Expr


def replace_constant_arrays(program: Program) -> Program:
    """The same program without work arrays of which every store writes the same literal."""
    while constants := _constants(program):
        program = simplify(_Without(program, constants).run())
    return program


def _constants(program: Program) -> dict[Array, float]:
    found: dict[Array, float | None] = {}
    for statement in walk(program.body):
        if isinstance(statement, Clear) and statement.array.kind == "work":
            found[statement.array] = 0.0
        elif isinstance(statement, Store) and statement.array.kind == "work":
            value = statement.value
            known = found.get(statement.array, value)
            same = type(value) is float and not statement.accumulate and known == value
            found[statement.array] = value if same else None
    return {a: v for a, v in found.items() if v is not None}


class _Without(Folding):
    """The copy that knows the numbers of constant arrays, and folds with them."""

    def __init__(self, program: Program, constants: dict[Array, float]):
        super().__init__(program)
        self.constants = constants

    def expr(self, old: Expr, args: tuple) -> Any:
        if old.op == "load" and args[0] in self.constants:
            return self.constants[args[0]]
        return super().expr(old, args)

    def store(self, old: Store, index: Any, value: Any) -> None:
        if old.array not in self.constants:
            super().store(old, index, value)

    def clear(self, old: Clear) -> None:
        if old.array not in self.constants:
            super().clear(old)

    def finish(self, **changes: Any) -> Program:
        work = tuple(array for array in self.program.work if array not in self.constants)
        return super().finish(work=work, **changes)
