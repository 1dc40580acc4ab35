"""Dropping stores that put back what is there: a carried value that an iteration does not change.

t = work[i]; ...; work[i] = t        with no store to `work` in between
"""

from __future__ import annotations

from typing import Any

from kinetree.compiler.program import Program
from kinetree.compiler.rebuild import Rebuild
from kinetree.ops import Array, Expr, Statement, Store


def drop_idle_stores(program: Program) -> Program:
    """The same program without stores of a value to where it was loaded from."""
    return _Idle(program).run()


class _Idle(Rebuild):
    def copy(self, statements: list[Statement]) -> None:
        super().copy([s for s, idle in zip(statements, _idle(statements)) if not idle])


def _idle(statements: list[Statement]) -> list[bool]:
    """For each statement, whether it is a store without effect."""
    here: dict[Array, dict[Any, Expr]] = {}  # what is known to stand where, within this list
    result = []
    for statement in statements:
        idle = False
        if isinstance(statement, Expr):
            if statement.op == "load" and statement.args[0].kind == "work":
                here.setdefault(statement.args[0], {})[statement.args[1]] = statement
        elif isinstance(statement, Store):
            known = here.get(statement.array, {})
            idle = not statement.accumulate and known.get(statement.index) is statement.value
            idle = idle and isinstance(statement.value, Expr)
            if not idle:
                _forget(here, statement)
        else:
            here.clear()
        result.append(idle)
    return result


def _forget(here: dict[Array, dict[Any, Expr]], store: Store) -> None:
    """After a store, only elements of its array at other literal indices are still known."""
    known = here.get(store.array)
    if known is None:
        return
    if type(store.index) is int:
        here[store.array] = {k: v for k, v in known.items() if type(k) is int and k != store.index}
    else:
        here[store.array] = {}


__all__ = ["drop_idle_stores"]
