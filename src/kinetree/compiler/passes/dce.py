"""Dead code elimination: whatever no output needs is dropped, stores to work arrays included.

A store to a work array lives if a living load can touch the same element, which is decided by what is
known about the two indices (`indices.py`). So a field of six components of which two are read costs two
stores.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from kinetree.compiler.ir.graph import (
    READS,
    Array,
    Block,
    Clear,
    Loop,
    Spoil,
    Statement,
    Store,
    Switch,
)
from kinetree.compiler.ir.indices import ANYTHING, Facts, Indices
from kinetree.compiler.ir.program import Program, operands, walk
from kinetree.compiler.ir.rebuild import Rebuild
from kinetree.ops import Expr


def eliminate_dead_code(program: Program) -> Program:
    """The same program without statements, work arrays and tables that no output depends on."""
    alive = _Liveness(program).alive
    used: set[Array] = set()
    is_all_alive = True
    for statement in walk(program.body):
        is_all_alive = is_all_alive and statement in alive
        if isinstance(statement, (Store, Clear)):
            used.add(statement.array)
        elif isinstance(statement, Expr) and statement.op in READS:
            used.add(statement.args[0])
    if is_all_alive and used.issuperset((*program.work, *program.tables)):
        return program
    return _Without(program, alive).run()


class _Liveness:
    """Finds the statements that live, starting from the stores to outputs."""

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


class _Without(Rebuild):
    """The copy that leaves out what is not alive."""

    def __init__(self, program: Program, alive: set[Any]):
        super().__init__(program)
        self._alive = alive
        self._used: set[Array] = set()

    def keep(self, statement: Statement) -> bool:
        if statement not in self._alive:
            return False
        if type(statement) is Expr:
            if statement.op in READS:
                self._used.add(statement.args[0])
        elif isinstance(statement, (Store, Clear)):
            self._used.add(statement.array)
        return True

    def run(self) -> Program:
        self.block(self.program.body)
        program, used = self.program, self._used
        work = tuple(a for a in program.work if a in used)
        tables = tuple(a for a in program.tables if a in used)
        self.graph.arrays = [a for a in self.graph.arrays if a.kind in ("input", "output") or a in used]
        return self.finish(work=work, tables=tables)
