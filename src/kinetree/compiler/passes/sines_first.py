"""Sines and cosines of values in memory come first: they are calls, across which no register is kept.

A trace takes the sine of an angle when it reaches the joint, among other values, all of which would have to
be spilled around the call. Printers hoist those of inputs; this pass handles those of a state that a loop
carries.
"""

from __future__ import annotations

from kinetree.compiler.ir.graph import Array, Clear, Statement, Store
from kinetree.compiler.ir.program import Program
from kinetree.compiler.ir.rebuild import Rebuild
from kinetree.ops import Expr


def sines_first(program: Program) -> Program:
    """The same program with sines and cosines of work array elements as early as possible."""
    return _SinesFirst(program).run()


class _SinesFirst(Rebuild):
    def copy(self, statements: list[Statement]) -> None:
        row: list[Expr | Store | Clear] = []
        for statement in statements:
            if isinstance(statement, (Expr, Store, Clear)):
                row.append(statement)
                continue
            super().copy(_ordered(row))
            super().copy([statement])
            row = []
        super().copy(_ordered(row))


def _ordered(row: list[Expr | Store | Clear]) -> list[Statement]:
    """Statements without control flow in their new order."""
    changed: set[Array] = set()
    loads: set[Expr] = set()
    first: dict[Statement, None] = {}
    for s in row:
        if not isinstance(s, Expr):
            changed.add(s.array)
        elif s.op == "load" and s.args[0].kind == "work" and type(s.args[1]) is int:
            if s.args[0] not in changed:
                loads.add(s)
        elif s.op in ("sin", "cos") and s.args[0] in loads:
            first |= {s.args[0]: None, s: None}
    return [*first, *(s for s in row if s not in first)]
