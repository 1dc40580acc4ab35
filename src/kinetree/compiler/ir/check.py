"""The grammar of programs, executable: `check(program)` passes or says what is wrong.

It runs between passes, so a pass that breaks a program is caught there, and not in a printer or, worse, in a
number. What it cannot decide (an index that depends on a table) it lets pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.compiler.ir.graph import Array, Block, Clear, Loop, Part, Spoil, Statement, Store, Switch, While
from kinetree.compiler.ir.indices import Indices
from kinetree.compiler.ir.program import Program
from kinetree.errors import CompileError
from kinetree.ops import PRIMITIVES, Expr

READABLE = {"load": ("input", "work", "table"), "iload": ("itable",)}


def check(program: Program) -> Program:
    """The program itself, if it is well formed.

    Raises:
        CompileError: says which array or statement breaks which rule.
    """
    _Checker(program).run()
    return program


def kind_of(value: Any) -> str:
    """The kind of an operand: "number", "integer" or "truth"."""
    if type(value) is Expr:
        return PRIMITIVES[value.op].gives
    return "truth" if isinstance(value, bool) else "integer" if isinstance(value, int) else "number"


class _Checker:
    def __init__(self, program: Program):
        self.program = program
        self.known: set[Expr] = set()  # values that may be used at this point
        self.seen: set[Expr] = set()
        self.written: set[tuple[Array, int]] = set()
        self.cleared: set[Array] = set()
        self.is_straight = True

    def fail(self, problem: str) -> None:
        raise CompileError(f"program {self.program.name!r}: {problem}")

    def run(self) -> None:
        self.arrays()
        self.indices = Indices(self.program)
        self.block(self.program.body)
        self.outputs()

    def arrays(self) -> None:
        """Check that arrays have unique names, the right kind, and data if they are constant."""
        p = self.program
        places = (("input", p.inputs), ("output", p.outputs), ("work", p.work), ("table", p.tables))
        self.members: set[Array] = set()
        for place, arrays in (*places, ("output", p.results[len(p.outputs) :])):
            for array in arrays:
                kinds = ("table", "itable") if place == "table" else (place,)
                if array.kind not in kinds:
                    self.fail(f"{array!r} is among the {place} arrays; expected kind {' or '.join(kinds)}")
                if array in self.members:
                    self.fail(f"{array!r} is listed twice")
                self.members.add(array)
                if array.size < 0:
                    self.fail(f"{array!r} has a negative size")
                if place == "table":
                    self.table(array)
        names = [a.name for a in self.members]
        for name in {n for n in names if names.count(n) > 1}:
            self.fail(f"two arrays are called {name!r}")
        if p.guard is not None and p.guard.size != 1:
            self.fail(f"the guard {p.guard!r} must have exactly one element")

    def table(self, array: Array) -> None:
        if array.data is None or array.data.size != array.size or array.data.ndim > 2:
            shape = None if array.data is None else array.data.shape
            self.fail(f"{array!r} needs data of shape ({array.size},), not {shape}")
        wanted = np.integer if array.kind == "itable" else np.floating
        if not np.issubdtype(array.data.dtype, wanted):  # type: ignore[union-attr]
            self.fail(f"{array!r} holds {array.data.dtype} values")  # type: ignore[union-attr]

    def block(self, block: Block) -> None:
        """Check that statements use only values computed before, in this block or around it."""
        mine: list[Expr] = []
        for statement in block.statements:
            if type(statement) is Expr:
                self.expr(statement)
                if statement in self.seen:
                    self.fail(f"{statement!r} appears twice")
                self.seen.add(statement)
                self.known.add(statement)
                mine.append(statement)
            elif type(statement) is Store:
                self.store(statement)
            elif type(statement) is Clear:
                self.clear(statement)
            elif type(statement) is Spoil:
                self.spoil(statement)
            else:
                self.control(statement)
        self.known.difference_update(mine)

    def operand(self, where: Any, value: Any, wanted: str) -> None:
        if kind_of(value) != wanted:
            self.fail(f"{where}: {value!r} is a {kind_of(value)}, expected a {wanted}")
        if type(value) is Expr and value not in self.known:
            self.fail(f"{where}: {value!r} is not computed before it is used, or in a block that has ended")

    def expr(self, e: Expr) -> None:
        if e.op in READABLE:
            self.access(e, e.args[0], e.args[1], READABLE[e.op])
            return
        if e.op == "lookup":
            self.lookup(e)
            return
        row = PRIMITIVES.get(e.op)
        if row is None:
            self.fail(f"{e!r}: no such operation: the table of primitives is closed")
        elif row.arity != len(e.args):
            self.fail(f"{e!r}: {e.op} takes {row.arity} operands, not {len(e.args)}")
        else:
            for value, wanted in zip(e.args, row.takes):
                if type(value) is Expr:
                    is_fine = value in self.known and PRIMITIVES[value.op].gives == wanted
                else:
                    is_fine = type(value) is float and wanted == "number"
                if not is_fine:
                    self.operand(e, value, wanted)

    def lookup(self, e: Expr) -> None:
        """Check that a lookup has a matrix of the program and two numbers."""
        array, *places = e.args
        if array not in self.members or array.kind != "table" or array.data.ndim != 2 or len(places) != 2:
            self.fail(f"{e!r}: lookup takes a matrix of the program, a row and a column")
        for place in places:
            self.operand(e, place, "number")

    def access(self, where: Any, array: Any, index: Any, kinds: tuple[str, ...]) -> None:
        """Check an access: an array of the program, of an allowed kind, and an index that may be valid."""
        if not isinstance(array, Array) or array not in self.members:
            self.fail(f"{where}: {array!r} is not an array of the program")
        if array.kind not in kinds:
            self.fail(f"{where}: {array!r} must be of kind {' or '.join(kinds)}")
        self.operand(where, index, "integer")
        facts = self.indices.facts(index)
        if facts.highest < 0 or facts.lowest >= array.size:
            self.fail(f"{where}: index {index!r} is outside {array!r}")

    def store(self, store: Store) -> None:
        where = f"store to {store.array!r}"
        self.access(where, store.array, store.index, ("output", "work"))
        self.operand(where, store.value, "number")
        if type(store.index) is int:
            if store.accumulate and store.array.kind == "output" and store.array not in self.cleared:
                if self.is_straight and (store.array, store.index) not in self.written:
                    self.fail(f"{where}: element {store.index} is added to before it is set")
            self.written.add((store.array, store.index))
        else:
            self.is_straight = False

    def clear(self, clear: Clear) -> None:
        if clear.array not in self.members or clear.array.kind not in ("output", "work"):
            self.fail(f"{clear.array!r} is cleared but is not an output or work array of the program")
        place = len(self.cleared)
        if clear.array in self.cleared or self.program.body.statements[place] is not clear:
            self.fail(f"{clear.array!r} must be cleared once, at the beginning")
        self.cleared.add(clear.array)

    def spoil(self, spoil: Spoil) -> None:
        p = self.program
        if spoil is not p.spoil or (spoil.inputs, spoil.outputs, spoil.guard) != (
            p.inputs,
            p.outputs,
            p.guard,
        ):
            self.fail("inputs that are not finite must spoil all outputs and the guard, at the end")

    def control(self, statement: Statement) -> None:
        if isinstance(statement, Part):
            outside, self.known = self.known, {e for e in self.known if e.is_integer}
            self.block(statement.body)
            self.known = outside
            return
        self.is_straight = False
        if isinstance(statement, Loop):
            if statement.count < 0 or statement.step == 0:
                self.fail(f"a loop runs {statement.count} times with step {statement.step}")
            self.first(statement.body, statement.counter, "counter")
            until = statement.until
            if until is not None and (until not in self.members or until.kind != "work" or until.size != 1):
                self.fail(f"a loop ends by {until!r}, which is not a work array of one number")
            self.block(statement.body)
        elif isinstance(statement, Switch):
            self.operand("switch", statement.selector, "integer")
            facts = self.indices.facts(statement.selector)
            if not statement.cases or facts.highest < 0 or facts.lowest >= len(statement.cases):
                self.fail(f"a switch on {statement.selector!r} has {len(statement.cases)} cases")
            for case in statement.cases:
                self.block(case)
        elif isinstance(statement, While):
            self.operand("while", statement.initial, "integer")
            self.first(statement.body, statement.variable, "variable")
            self.block(_closed_by(statement))
        else:
            self.fail(f"{statement!r} is not a statement")

    def first(self, body: Block, value: Expr, op: str) -> None:
        if not body.statements or body.statements[0] is not value or value.op != op:
            self.fail(f"the body of a loop must begin with its {op}")

    def outputs(self) -> None:
        """Check that every output element is written or starts at zero (straight-line programs only)."""
        p = self.program
        for array in p.results:
            if array in self.cleared or not self.is_straight:
                continue
            for index in range(array.size):
                if (array, index) not in self.written:
                    self.fail(f"element {index} of {array!r} is never written, and the array is not cleared")


def _closed_by(statement: While) -> Block:
    """The body of a while followed by a use of its successor, so that it is checked as part of the body."""
    body = statement.body
    use = Expr("iadd", (statement.successor, 0), body.statements[0].graph, body, 0)  # type: ignore[union-attr]
    return Block(body.parent, [*body.statements, use])
