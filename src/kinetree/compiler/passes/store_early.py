"""Storing results as soon as they are known: a value that waits to be stored occupies a register.

A trace stores its outputs, and gathers its guard, at the end. Here a store to an output moves to where its
value is computed, and operations for the guard alone to where their operands are. Everything else keeps the
order of the trace, which is good: a tree algorithm works on one body after another.
"""

from __future__ import annotations

from collections import Counter

from kinetree.compiler.ir.graph import Array, Statement, Store
from kinetree.compiler.ir.program import Program, operands, walk
from kinetree.compiler.ir.rebuild import Rebuild
from kinetree.ops import PRIMITIVES, Expr


def store_early(program: Program) -> Program:
    """The same program with its results stored early."""
    return _StoreEarly(program).run()


class _StoreEarly(Rebuild):
    def __init__(self, program: Program):
        super().__init__(program)
        results = set(program.results)
        stores: Counter[tuple[Array, int]] = Counter()
        self._unsure: set[Array] = set()
        for statement in walk(program.body):
            if isinstance(statement, Store) and statement.array in results:
                if statement.accumulate or type(statement.index) is not int:
                    self._unsure.add(statement.array)
                else:
                    stores[statement.array, statement.index] += 1
        self._once = {place for place, count in stores.items() if count == 1}
        self._guard = only_for_guard(program)

    def copy(self, statements: list[Statement]) -> None:
        here = {s for s in statements if isinstance(s, Expr)}
        place: dict[Expr, tuple[int, int]] = {}
        order: list[tuple[tuple[int, int], Statement]] = []
        for number, statement in enumerate(statements):
            position = (number, 0)
            if self._moves(statement):
                known = [place[a] for a in operands(statement) if type(a) is Expr and a in here]
                last = max(known, default=position)
                position = (last[0], number + 1)
            if isinstance(statement, Expr):
                place[statement] = position
            order.append((position, statement))
        order.sort(key=lambda item: item[0])
        super().copy([statement for _, statement in order])

    def _moves(self, statement: Statement) -> bool:
        if isinstance(statement, Store):
            return (statement.array, statement.index) in self._once and statement.array not in self._unsure
        return isinstance(statement, Expr) and statement in self._guard


def only_for_guard(program: Program) -> set[Expr]:
    """The expressions that only the guard depends on."""
    if program.guard is None:
        return set()
    elsewhere: set[Expr] = set()
    found: set[Expr] = set()
    for statement in reversed(list(walk(program.body))):
        if isinstance(statement, Expr):
            inside = statement in found and statement not in elsewhere
        else:
            inside = isinstance(statement, Store) and statement.array is program.guard
        pure = not isinstance(statement, Expr) or PRIMITIVES[statement.op].numpy is not None
        target = found if inside and pure else elsewhere
        target.update(a for a in operands(statement) if type(a) is Expr)
        if isinstance(statement, Expr) and not (inside and pure):
            elsewhere.add(statement)
    return found - elsewhere
