"""Simplification: operations fold again, and a load takes the value last stored, if it is known.

Tracing folds as it goes, so this applies only to programs made by passes, and where an algorithm reads from a
work array what it has just written.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterable
from typing import Any

from kinetree.compiler.ir.graph import Array, Block, Clear, Loop, Part, Statement, Store, Switch, While
from kinetree.compiler.ir.program import Program, walk
from kinetree.compiler.ir.rebuild import Folding
from kinetree.compiler.passes.dce import drop_dead_code
from kinetree.ops import Expr
from kinetree.ops import expr as ex

_simple: weakref.WeakSet[Block] = weakref.WeakSet()  # bodies of programs that are fully simplified


def simplify(program: Program) -> Program:
    """The same program with fewer operations, if possible, and without dead code."""
    if program.body in _simple:
        return program
    simple = drop_dead_code(_Simplify(program).run())
    _simple.add(simple.body)
    return simple


class _Contents:
    """What is known about the elements of work arrays at one point of the program."""

    def __init__(self, zeroed: Iterable[Array] = ()) -> None:
        self._fixed: dict[Array, dict[int, Any]] = {}
        self._moving: dict[Array, dict[Expr, Any]] = {}
        self._zero = set(zeroed)  # arrays that are 0 where nothing else is known

    def get(self, array: Array, index: Any) -> Any:
        """The content of an element, None if unknown."""
        if type(index) is Expr:
            return self._moving.get(array, {}).get(index)
        return self._fixed.get(array, {}).get(index, 0.0 if array in self._zero else None)

    def learn(self, array: Array, index: Any, value: Any) -> None:
        places: Any = self._moving if type(index) is Expr else self._fixed
        places.setdefault(array, {})[index] = value

    def clear(self, array: Array) -> None:
        """All elements of the array have become 0."""
        self.forget(array)
        self._zero.add(array)

    def forget(self, array: Array, index: Any = None) -> None:
        """An element (None: any) of the array has changed; forget everything that may alias it."""
        self._moving.pop(array, None)
        if type(index) is int:
            self._fixed.setdefault(array, {})[index] = None
        else:
            self._fixed.pop(array, None)
            self._zero.discard(array)

    def without(self, arrays: Collection[Array] = ()) -> _Contents:
        """A copy without knowledge of some arrays."""
        copy = _Contents(a for a in self._zero if a not in arrays)
        copy._fixed = {a: dict(d) for a, d in self._fixed.items() if a not in arrays}
        copy._moving = {a: dict(d) for a, d in self._moving.items() if a not in arrays}
        return copy


def _blocks(statement: Statement) -> list[Block]:
    if isinstance(statement, Switch):
        return statement.cases
    return [statement.body] if isinstance(statement, (Loop, While, Part)) else []


class _Simplify(Folding):
    """Folds, and forwards stores to loads within straight-line sections."""

    def __init__(self, program: Program):
        super().__init__(program)
        self._contents = _Contents()
        self._start = self._contents  # what holds at the beginning of a nested block

    def expr(self, old: Expr, args: tuple) -> Any:
        if old.op != "load" or args[0].kind != "work":
            return super().expr(old, args)
        array, index = args
        known = self._contents.get(array, index)
        if known is None:
            known = self.graph.load(array, index)
            self._contents.learn(array, index, known)
        return known

    def store(self, old: Store, index: Any, value: Any) -> None:
        if old.array.kind != "work":
            super().store(old, index, value)
            return
        before = self._contents.get(old.array, index) if old.accumulate else 0.0
        self._contents.forget(old.array, index)
        if before is None:
            super().store(old, index, value)
        else:
            value = ex.add(before, value) if old.accumulate else value
            self.graph.store(old.array, index, value)
            self._contents.learn(old.array, index, value)

    def clear(self, old: Clear) -> None:
        super().clear(old)
        if old.array.kind == "work":
            self._contents.clear(old.array)

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
