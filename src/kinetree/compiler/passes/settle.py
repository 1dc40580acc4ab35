"""Implied values become the values found: the equation was needed for differentiation only."""

from __future__ import annotations

from typing import Any

from kinetree.compiler.ir.program import Program, walk
from kinetree.compiler.ir.rebuild import Folding
from kinetree.ops import Expr


def settle(program: Program) -> Program:
    """The same program with `implied(value, rule)` replaced by the value."""
    if not any(isinstance(s, Expr) and s.op == "implied" for s in walk(program.body)):
        return program
    return _Settle(program).run()


class _Settle(Folding):
    def expr(self, old: Expr, args: tuple) -> Any:
        return args[0] if old.op == "implied" else super().expr(old, args)
