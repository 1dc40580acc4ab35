"""Postponement: values are computed where they are first needed, so that they do not occupy registers before.

A trace computes a body's quantities when it reaches the body, and some of them are needed only on the way
back. Here an operation moves to its first use if that extends the life of at most one of its operands: then
no more values are live than before. Results do not change, since only the order does.
"""

from __future__ import annotations

from collections import Counter

from kinetree.compiler.ir.graph import Statement, Store
from kinetree.compiler.ir.program import Program, operands, walk
from kinetree.compiler.ir.rebuild import Rebuild
from kinetree.ops import PRIMITIVES, Expr

SHORTEST = 30  # statements in a row; with fewer, all values fit into registers
ARITHMETIC = frozenset(name for name, p in PRIMITIVES.items() if p.cost and name not in ("sin", "cos"))


def postpone(program: Program) -> Program:
    """The same program, with operations as late as possible at no cost."""
    return _Postpone(program).run()


class _Postpone(Rebuild):
    def __init__(self, program: Program):
        super().__init__(program)
        self._uses = Counter(a for s in walk(program.body) for a in operands(s) if type(a) is Expr)

    def copy(self, statements: list[Statement]) -> None:
        row: list[Statement] = []
        for statement in statements:
            if isinstance(statement, (Expr, Store)):
                row.append(statement)
                continue
            self._copy_row(row)
            super().copy([statement])
            row = []
        self._copy_row(row)

    def _copy_row(self, row: list[Statement]) -> None:
        super().copy(_ordered(row, self._uses) if len(row) >= SHORTEST else row)


def _ordered(row: list[Statement], uses: Counter[Expr]) -> list[Statement]:
    """The statements in their new order: from the last one on, each moves to the first that needs it."""
    end = float(len(row))
    inside = Counter(a for s in row for a in operands(s) if type(a) is Expr)
    first = {a: end for a in inside}
    last = {a: end if uses[a] > n else -1.0 for a, n in inside.items()}
    places = []
    for k in range(len(row) - 1, -1, -1):
        statement, place = row[k], float(k)
        needed = {a for a in operands(statement) if type(a) is Expr}
        if statement in first and statement.op in ARITHMETIC and uses[statement] == inside[statement]:
            later = first[statement]
            freed = sum(a.op in ARITHMETIC and last[a] < later for a in needed)
            if later > k + 1 and freed <= 1:
                place = later - 1.0 / end
        places.append((place, k))
        for a in needed:
            first[a] = min(first[a], place)
            last[a] = max(last[a], place)
    return [row[k] for _, k in sorted(places)]
