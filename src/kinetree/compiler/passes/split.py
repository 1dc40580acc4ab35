"""Splitting long blocks into parts: compile time grows faster than the length of a function, and long
functions use registers less well.

A block with too many operations becomes a sequence of parts (`Part`), each printed as a function. A number
that another part needs goes through the work array "cut"; booleans, and loads of unchanged elements, are
recomputed instead, and integers stay outside the parts. Cuts are equally spaced: a tree algorithm is traced
body by body, so few numbers are live anywhere. A very long block, whose parts would pass on many numbers, has
longer ones. Loops with early exit are placed between parts and consist of parts, so that all parts are
straight-line code.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from kinetree.compiler.ir.graph import Block, Clear, Loop, Part, Statement, Store, Switch, While
from kinetree.compiler.ir.program import Program, operands
from kinetree.compiler.ir.rebuild import Rebuild
from kinetree.compiler.passes.dce import drop_dead_code
from kinetree.ops import PRIMITIVES, Expr
from kinetree.ops.primitives import TRUTH

PART_SIZE = 700  # within 400 to 3000, where single states of large robots are fastest on x86-64
MOST = 20  # parts of a block, as long as none is longer than LONGEST
LONGEST = 3000
LEAST = 60  # operations from which a loop with early exit, such as an iteration, is split into parts
Place = tuple[Block, int]  # a part: a block of the old program and the index of its segment


def split(program: Program, size: int = PART_SIZE) -> Program:
    """The same program with every block of more than 1.5 `size` operations cut into parts of about `size`."""
    plan = _Plan(program, size)
    return drop_dead_code(_Split(program, plan).run()) if plan.segments else program


def _blocks(statement: Statement) -> list[Block]:
    if isinstance(statement, Switch):
        return statement.cases
    return [statement.body] if isinstance(statement, (Loop, While, Part)) else []


def _is_cheap(e: Expr) -> bool:
    """True for what every part recomputes, including sines and cosines of inputs, which printers hoist."""
    if e.op in ("sin", "cos"):
        return type(e.args[0]) is Expr and e.args[0].op == "load" and e.args[0].args[0].kind == "input"
    return PRIMITIVES[e.op].gives == TRUTH or (e.op == "load" and e.args[0].kind != "work")


def _is_integer(statement: Statement) -> bool:
    return type(statement) is Expr and statement.is_integer


class _Plan:
    """Where the cuts are, which numbers cross them, and which element of "cut" holds each one."""

    def __init__(self, program: Program, size: int):
        self.segments: dict[Block, list[list[Statement]]] = {}
        self.home: dict[Expr, Place | None] = {}
        self.slots: dict[Expr, int] = {}
        self.length = 0
        self._size = size
        self._last: dict[Expr, Place | None] = {}  # the last part that needs a number; None: it must be kept
        self._weigh(program.body)
        if self.segments:
            self._times = _Times(program)
            self._renewed: dict[tuple[Expr, Place], bool] = {}
            self._cross(program.body, None)
            self._allocate()

    def _weigh(self, block: Block) -> int:
        """The number of operations of the block as one function; splits it if there are too many."""
        weights = [self._weight(statement) for statement in block.statements]
        total = sum(weights)
        if total <= 1.5 * self._size and not any(map(self.is_apart, block.statements)):
            return total
        self.segments[block] = []
        run: list[tuple[Statement, int]] = []
        for statement, weight in zip(block.statements, weights):
            if self.is_apart(statement):
                self.segments[block] += [*self._cut(run), [statement]]
                run = []
            else:
                run.append((statement, weight))
        self.segments[block] += self._cut(run)
        return len(self.segments[block])

    def _weight(self, statement: Statement) -> int:
        if type(statement) is Expr:
            return 1 if PRIMITIVES[statement.op].cost else 0
        weight = 1 + sum(self._weigh(inner) for inner in _blocks(statement))
        if isinstance(statement, Loop) and statement.until is not None and weight > LEAST:
            self.segments.setdefault(statement.body, [statement.body.statements])
        return weight

    def is_apart(self, statement: Statement) -> bool:
        """True for a loop with early exit that consists of parts: the code around it is straight-line."""
        return isinstance(statement, Loop) and statement.until is not None and statement.body in self.segments

    def _cut(self, run: list[tuple[Statement, int]]) -> list[list[Statement]]:
        """Statements with their weights in segments of about equal length."""
        total = sum(weight for _, weight in run)
        count = max(min(round(total / self._size), MOST), round(total / LONGEST))
        count = max(2, count) if total > 1.5 * self._size else 1
        segments: list[list[Statement]] = [[] for _ in range(count)]
        before = 0
        for statement, weight in run:
            segments[min(before * count // max(total, 1), count - 1)].append(statement)
            before += weight
        return [s for s in segments if s]

    def _cross(self, block: Block, place: Place | None, whole: Statement | None = None) -> None:
        """Note where numbers are computed, and which parts need numbers from elsewhere."""
        segments = self.segments.get(block)
        if segments is None:
            for statement in block.statements:
                self._visit(statement, place, whole)
            return
        for number, segment in enumerate(segments):
            for statement in segment:
                self._visit(statement, None if self.is_apart(statement) else (block, number), statement)

    def _visit(self, statement: Statement, place: Place | None, whole: Statement | None) -> None:
        if place is not None:
            for operand in operands(statement):
                if type(operand) is Expr:
                    self._need(operand, place, whole)
        if type(statement) is Expr:
            self.home[statement] = place
        for inner in _blocks(statement):
            self._cross(inner, place, whole)

    def is_renewed(self, e: Expr, place: Place) -> bool:
        """True for a value that a part recomputes instead of receiving it."""
        return _is_cheap(e) or self._renewed.get((e, place), False)

    def _need(self, e: Expr, place: Place, whole: Any) -> None:
        """A number is needed in a part, by `whole`, one of its statements."""
        if e.is_integer or self.home[e] == place:
            return
        home = self.home[e]
        if e.op == "load" and home is not None and (e, place) not in self._renewed:
            self._renewed[e, place] = self._times.is_same(e, home[0], place[0], whole)
        if self.is_renewed(e, place):
            for operand in e.args:
                if type(operand) is Expr:
                    self._need(operand, place, whole)
            return
        stays = home is None or home[0] is not place[0] or self._last.get(e, place) is None
        self._last[e] = None if stays else place

    def _allocate(self) -> None:
        """Reuse elements after the last part that needs them, within one block."""
        free: dict[Block, list[int]] = {}
        busy: dict[Place, list[int]] = {}  # elements that become free after this part
        reached: dict[Block, int] = {}
        for e, last in self._last.items():
            home = self.home[e]
            if home is None or last is None:
                self.slots[e] = self._fresh()
        for e in sorted((e for e in self._last if e not in self.slots), key=lambda e: self._order(e)):
            block, number = self.home[e]  # type: ignore[misc]
            for done in range(reached.get(block, 0), number):
                free.setdefault(block, []).extend(busy.pop((block, done), ()))
            reached[block] = max(reached.get(block, 0), number)
            elements = free.get(block)
            self.slots[e] = elements.pop() if elements else self._fresh()
            busy.setdefault(self._last[e], []).append(self.slots[e])  # type: ignore[arg-type]

    def _order(self, e: Expr) -> tuple[int, int]:
        return (self.home[e][1], e.number)  # type: ignore[index]

    def _fresh(self) -> int:
        self.length += 1
        return self.length - 1


class _Times:
    """When the statements of a program run, and when elements of work arrays change."""

    def __init__(self, program: Program):
        self._begin: dict[Statement, int] = {}
        self._end: dict[Statement, int] = {}
        self._around: dict[Block, tuple[Block, Statement]] = {}  # block and statement around a block
        self._changes: dict[Any, list[int]] = {}  # by array and by element; None: any element
        self._now = 0
        self._run(program.body)

    def _run(self, block: Block) -> None:
        for s in block.statements:
            self._begin[s] = self._now = self._now + 1
            if isinstance(s, (Store, Clear)):
                index = s.index if isinstance(s, Store) and type(s.index) is int else None
                for key in (s.array, (s.array, index)):
                    self._changes.setdefault(key, []).append(self._now)
            for inner in _blocks(s):
                self._around[inner] = block, s
                self._run(inner)
            self._end[s] = self._now

    def is_same(self, load: Expr, home: Block, block: Block, statement: Statement) -> bool:
        """True if an element loaded in one block is unchanged when a statement of the same block, or of one
        inside it, begins.
        """
        until = self._begin[statement] - 1
        while block is not home:  # changes inside a loop take effect before its next iteration
            block, around = self._around[block]
            until = self._end[around]
        array, index = load.args
        keys = [(array, index), (array, None)] if type(index) is int else [array]
        return not any(self._changed(key, self._begin[load], until) for key in keys)

    def _changed(self, key: Any, after: int, until: int) -> bool:
        times = self._changes.get(key, [])
        first = bisect_right(times, after)
        return first < len(times) and times[first] <= until


class _Split(Rebuild):
    def __init__(self, program: Program, plan: _Plan):
        super().__init__(program)
        self._plan = plan
        taken = {a.name for a in self.graph.arrays}
        name = next(n for n in ("cut", *(f"cut{k}" for k in range(len(taken)))) if n not in taken)
        self._array = self.graph.array(name, "work", plan.length)
        self._place: Place | None = None
        self._replaced: dict[Expr, Any] = {}  # what imported numbers were outside the part

    def run(self) -> Program:
        self.block(self.program.body)
        if not self._array.size:  # nothing crosses a cut
            self.graph.arrays.remove(self._array)
            return self.finish()
        return self.finish(work=(*self.program.work, self._array))

    def block(self, block: Block) -> None:
        segments = self._plan.segments.get(block)
        if segments is None:
            self.copy(block.statements)
            return
        for number, segment in enumerate(segments):
            if self._plan.is_apart(segment[0]):
                super().copy(segment)
                continue
            self.copy([s for s in segment if _is_integer(s)])
            with self.graph.part():
                before = (self._place, self._replaced)
                self._place, self._replaced = (block, number), {}
                self.copy([s for s in segment if not _is_integer(s)])
                self.values.update(self._replaced)
                self._place, self._replaced = before

    def copy(self, statements: list[Statement]) -> None:
        for statement in statements:
            if self._place is not None:
                for e in self._needed(statement):
                    self._import(e)
            super().copy([statement])
            if type(statement) is Expr and statement in self._plan.slots:
                self.graph.store(self._array, self._plan.slots[statement], self.values[statement])

    def _needed(self, statement: Statement) -> Iterator[Expr]:
        """What a statement and the blocks inside it use, except where they are split themselves."""
        yield from (a for a in operands(statement) if type(a) is Expr)
        for inner in _blocks(statement):
            if inner not in self._plan.segments:
                for s in inner.statements:
                    yield from self._needed(s)

    def _import(self, e: Expr) -> None:
        """Make a number from elsewhere available in this part."""
        if e.is_integer or e in self._replaced or self._plan.home.get(e) == self._place:
            return
        outside = self.values.get(e)
        if self._plan.is_renewed(e, self._place):  # type: ignore[arg-type]
            for a in e.args:
                if type(a) is Expr:
                    self._import(a)
            value = self.expr(e, tuple(self.new(a) for a in e.args))
        else:
            value = self.graph.load(self._array, self._plan.slots[e])
        self._replaced[e] = outside
        self.values[e] = value
