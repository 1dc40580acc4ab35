"""Choosing the fused multiply-adds: which product goes into which sum.

A product that is used exactly once, by a sum or a difference, becomes part of it: a b + c, a b - c or c -
a b with one rounding. Of two such products in one sum the one computed later goes in. The choice is made
here and nowhere else, so a result does not depend on how a program is split, on the number of lanes, or
on compiler settings.
"""

from __future__ import annotations

from typing import Any

from kinetree.compiler.ir.program import Program, operands, walk
from kinetree.compiler.ir.rebuild import Rebuild
from kinetree.ops import Expr


def fuse(program: Program) -> Program:
    """The same program with fused multiply-adds."""
    return _Fuse(program, _choose(program)).run()


def _choose(program: Program) -> dict[Expr, Expr]:
    """The product that each fused sum takes in."""
    uses: dict[Expr, int] = {}
    sums: list[Expr] = []
    for statement in walk(program.body):
        for operand in operands(statement):
            if type(operand) is Expr and operand.op == "mul":
                uses[operand] = uses.get(operand, 0) + 1
        if type(statement) is Expr and statement.op in ("add", "sub"):
            sums.append(statement)
    chosen = {}
    for e in sums:
        products = [a for a in e.args if type(a) is Expr and a.op == "mul" and uses[a] == 1]
        if products:
            chosen[e] = max(products, key=lambda a: a.number)
    return chosen


class _Fuse(Rebuild):
    """Keeps the chosen products back as pairs of factors; the sums that take them become fused operations."""

    def __init__(self, program: Program, chosen: dict[Expr, Expr]):
        super().__init__(program)
        self._chosen = chosen
        self._inside = set(chosen.values())

    def expr(self, old: Expr, args: tuple) -> Any:
        if old in self._inside:
            return args
        product = self._chosen.get(old)
        if product is None:
            return super().expr(old, args)
        left, right = args
        if product is old.args[1]:
            return self.graph.node("fma" if old.op == "add" else "fnma", (*right, left))
        return self.graph.node("fma" if old.op == "add" else "fms", (*left, right))
