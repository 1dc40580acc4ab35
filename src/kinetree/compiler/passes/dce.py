"""Dead code elimination: drops everything that no output needs, including stores to work arrays.

A store to a work array is live if a live load may access the same element, which is decided from what is
known about the two indices (`indices.py`). So a field of six components of which two are read costs two
stores.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from kinetree.compiler.ir.graph import (
    READS,
    Array,
    Block,
    Clear,
    Loop,
    Part,
    Spoil,
    Statement,
    Store,
    Switch,
    While,
)
from kinetree.compiler.ir.indices import ANYTHING, Facts, Indices
from kinetree.compiler.ir.program import Program, operands
from kinetree.compiler.ir.rebuild import Rebuild
from kinetree.ops import Expr


def eliminate_dead_code(program: Program) -> Program:
    """The same program without statements, work arrays and tables that no output depends on."""
    return drop_dead_code(Rebuild(program).run())


def drop_dead_code(program: Program) -> Program:
    """The same in place, for a program that nobody else uses."""
    used: set[Array] = set()
    _drop(program.body, _Liveness(program).alive, used, count(1))
    program.graph.arrays = [a for a in program.graph.arrays if a.kind in ("input", "output") or a in used]
    work, tables = (tuple(a for a in arrays if a in used) for arrays in (program.work, program.tables))
    return replace(program, work=work, tables=tables)


def _drop(block: Block, alive: set[Any], used: set[Array], numbers: Iterator[int]) -> None:
    """Keep the live statements, renumbered, and note which arrays they use."""
    kept = block.statements = [s for s in block.statements if s in alive or _belongs(s)]
    for statement in kept:
        if type(statement) is Expr:
            statement.number = next(numbers)
            if statement.op in READS:
                used.add(statement.args[0])
        elif isinstance(statement, (Store, Clear)):
            used.add(statement.array)
        elif isinstance(statement, Switch):
            for case in statement.cases:
                _drop(case, alive, used, numbers)
        elif isinstance(statement, (Loop, While, Part)):
            _drop(statement.body, alive, used, numbers)


def _belongs(statement: Statement) -> bool:
    """True for statements that introduce a loop."""
    return type(statement) is Expr and statement.op in ("counter", "variable")


class _Liveness:
    """Finds the live statements, starting from the stores to outputs."""

    def __init__(self, program: Program):
        self.alive: set[Any] = set()
        self._indices = Indices(program)
        self._around: dict[Any, Statement] = {}  # the control statement around a store or control statement
        self._fixed: dict[Array, dict[int, list[Store]]] = defaultdict(lambda: defaultdict(list))
        self._moving: dict[Array, dict[Facts, list[Any]]] = defaultdict(lambda: defaultdict(list))
        self._read: set[tuple[Array, Any]] = set()
        roots: list[Any] = []
        self._collect(program.body, None, roots)
        self._mark(roots)

    def _collect(self, block: Block, around: Statement | None, roots: list[Any]) -> None:
        for statement in block.statements:
            if type(statement) is Expr:
                continue
            if around is not None:
                self._around[statement] = around
            if type(statement) is Spoil:
                roots.append(statement)
            elif type(statement) is Clear:
                if statement.array.kind == "output":
                    roots.append(statement)
                else:
                    self._moving[statement.array][ANYTHING].append(statement)
            elif type(statement) is Store:
                if statement.array.kind == "output":
                    roots.append(statement)
                elif type(statement.index) is Expr:
                    facts = self._indices.facts(statement.index)
                    self._moving[statement.array][facts].append(statement)
                else:
                    self._fixed[statement.array][statement.index].append(statement)
            elif isinstance(statement, Switch):
                for case in statement.cases:
                    self._collect(case, statement, roots)
            else:
                self._collect(statement.body, statement, roots)  # type: ignore[union-attr]

    def _mark(self, todo: list[Any]) -> None:
        alive = self.alive
        while todo:
            statement = todo.pop()
            if statement in alive:
                continue
            alive.add(statement)
            if type(statement) is Expr:
                if statement.op == "load" and statement.args[0].kind == "work":
                    todo += self._stores(*statement.args)
                for operand in statement.args:
                    if type(operand) is Expr and operand not in alive:
                        todo.append(operand)
                continue
            if statement in self._around:
                todo.append(self._around[statement])
            if type(statement) is Loop and statement.until is not None:
                todo += self._stores(statement.until, 0)
            for operand in operands(statement):
                if type(operand) is Expr and operand not in alive:
                    todo.append(operand)

    def _stores(self, array: Array, index: Any) -> list[Any]:
        """The stores and clears that a load may read from, each reported at least once over all loads."""
        key = (array, self._indices.facts(index) if type(index) is Expr else index)
        if key in self._read:
            return []
        self._read.add(key)
        facts = self._indices.facts(index)
        fixed = self._fixed[array]
        found = []
        if type(index) is not Expr:
            found += fixed.pop(index, [])
        else:
            for i in [i for i in fixed if self._indices.facts(i).may_equal(facts)]:
                found += fixed.pop(i)
        moving = self._moving[array]
        for place in [f for f in moving if f.may_equal(facts)]:
            found += moving.pop(place)
        return found
