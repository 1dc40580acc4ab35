"""Simplification: operations fold again, and a load takes the value that was last stored, if that is known.

Tracing folds as it goes, so this finds something only in programs that passes have made, and where an
algorithm reads from a work array what it has just written there.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kinetree.compiler.dce import eliminate_dead_code
from kinetree.compiler.program import Program, walk
from kinetree.compiler.rebuild import Folding
from kinetree.ops import Array, Block, Expr, Loop, Part, Statement, Store, Switch, While


def simplify(program: Program) -> Program:
    """The same program with fewer operations, if possible, and without dead code."""
    return eliminate_dead_code(_Simplify(program).run())


class _Contents:
    """What is known about the elements of the work arrays at one point of the program."""

    def __init__(self) -> None:
        self._fixed: dict[Array, dict[int, Any]] = {}
        self._moving: dict[Array, dict[Expr, Any]] = {}

    def get(self, array: Array, index: Any) -> Any:
        places: Any = self._moving if type(index) is Expr else self._fixed
        return places.get(array, {}).get(index)

    def learn(self, array: Array, index: Any, value: Any) -> None:
        places: Any = self._moving if type(index) is Expr else self._fixed
        places.setdefault(array, {})[index] = value

    def forget(self, array: Array, index: Any = None) -> None:
        """An element (None: any) of the array has changed, and with it whatever may be the same element."""
        self._moving.pop(array, None)
        if type(index) is int:
            self._fixed.get(array, {}).pop(index, None)
        else:
            self._fixed.pop(array, None)

    def without(self, arrays: Collection[Array] = ()) -> _Contents:
        """A copy that knows nothing about some arrays."""
        copy = _Contents()
        copy._fixed = {a: dict(d) for a, d in self._fixed.items() if a not in arrays}
        copy._moving = {a: dict(d) for a, d in self._moving.items() if a not in arrays}
        return copy


def _blocks(statement: Statement) -> list[Block]:
    if isinstance(statement, Switch):
        return statement.cases
    return [statement.body] if isinstance(statement, (Loop, While, Part)) else []


class _Simplify(Folding):
    """Folds, and forwards stores to loads within straight stretches."""

    def __init__(self, program: Program):
        super().__init__(program)
        self._contents = _Contents()
        self._start = self._contents  # what holds at the beginning of a nested block

    def expr(self, old: Expr, args: tuple) -> Any:
        if old.op != "load" or args[0].kind != "work":
            return super().expr(old, args)
        known = self._contents.get(*args)
        if known is None:
            known = self.graph.load(*args)
            self._contents.learn(*args, known)
        return known

    def store(self, old: Store, index: Any, value: Any) -> None:
        super().store(old, index, value)
        if old.array.kind == "work":
            self._contents.forget(old.array, index)
            if not old.accumulate:
                self._contents.learn(old.array, index, value)

    def control(self, statement: Statement) -> None:
        written = {s.array for block in _blocks(statement) for s in walk(block) if isinstance(s, Store)}
        after = self._contents.without(written)
        outer = self._start
        self._start = _Contents() if isinstance(statement, Part) else after  # a part sees no outer values
        super().control(statement)
        self._start, self._contents = outer, after

    def nested(self, block: Block) -> None:
        self._contents = self._start.without()
        super().nested(block)


__all__ = ["simplify"]
