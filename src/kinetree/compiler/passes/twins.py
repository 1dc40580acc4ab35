"""Twins: a program for two threads per state, each of which computes one limb of every pair.

Many robots have pairs of limbs that are built alike. Operations that differ only in the limb they work on
(`alike.py`) become one operation, which the first thread does for the first limb and the second thread for
the second one. All others are done by both threads, which exchange what these need from a limb. So the code
is shorter, and a thread keeps fewer values. Each operation has the operands that it has in the program: the
bits are the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kinetree.compiler.ir.graph import Array, Block, Loop, Statement, Store
from kinetree.compiler.ir.program import Program, operands, walk
from kinetree.compiler.ir.rebuild import Rebuild
from kinetree.compiler.passes.alike import FUSED, SUMS, Alike
from kinetree.ops import Expr


@dataclass(frozen=True)
class Either:
    """An operand or index that is `first` in the first thread and `second` in the second one."""

    first: Any
    second: Any


@dataclass(frozen=True)
class Of:
    """An operand in both threads: what a value is in the first or in the second one."""

    value: Expr
    is_second: bool


WORTH = 0.75  # of the statements: a program of one thread that keeps more of them is not worth two threads


def twins(program: Program, given: Iterable[tuple[Array, int, int]]) -> Program | None:
    """The program of one of two threads, given pairs of elements of inputs; None if there is none, or if it
    is not much shorter.

    Operands can be `Either` or `Of`; indices of inputs and results can be `Either`. In work arrays a pair is
    at the place of its first element, which each thread has for itself.
    """
    try:
        found = _Twins(program, Alike(program, given)).run()
    except _EntangledError:
        return None
    return found if _size(found) <= WORTH * _size(program) else None


def _size(program: Program) -> int:
    """The number of statements."""
    return sum(1 for _ in walk(program.body))


class _EntangledError(Exception):
    """What is stored for one limb depends on what is stored for the other."""


class _Twins(Rebuild):
    """The copy for one thread. `lane`: the thread in which a new value is right; None: in both."""

    def __init__(self, program: Program, alike: Alike):
        super().__init__(program)
        self.alike, self.partner = alike, alike.partner
        self.lane: dict[Expr, int | None] = {}

    def block(self, block: Block) -> None:
        order = None
        while order is None:  # each time, one pair less
            order = _ordered(block.statements, self.partner, self.alike.whole)
        for s in order:
            if isinstance(s, Expr):
                if s.args:
                    self._expr(s)
            elif isinstance(s, Store):
                self._store(s)
            else:
                self.copy([s])

    # -- operands

    def own(self, a: Any) -> Any:
        """An operand in the thread to which it belongs."""
        return self.values[a] if type(a) is Expr else a

    def new(self, value: Any) -> Any:
        """An operand in both threads."""
        if type(value) is not Expr:
            return value
        lane = self.lane.get(value)
        if lane is None:
            return self.values[value]
        if value.op == "load" and value.args[0].kind == "input":  # both can read it
            return self.graph.load(*value.args)
        return Of(self.values[value], lane == 1)

    # -- statements

    def _expr(self, e: Expr) -> None:
        place, partner = self.alike.place_of(e), self.partner.get(e)
        if partner is not None:
            first, second = (partner, e) if self.alike.side[e] else (e, partner)
            self.values[first] = self.values[second] = self._both(first, second)
            self.lane[first], self.lane[second] = 0, 1
        elif place is not None and place[0].kind == "work":
            self.lane[e], place = self.alike.places[place]
            self.values[e] = self.graph.fresh("load", place)
        else:
            self.values[e] = self.expr(e, tuple(map(self.new, e.args)))

    def _both(self, first: Expr, second: Expr) -> Expr:
        """One operation in place of two."""
        place = self.alike.place_of(first)
        if place is not None:
            array, index = place
            return self.graph.fresh("load", (array, _index(array, index, int(second.args[1]))))
        (a, signs), (b, others) = self.alike.arranged(first), self.alike.arranged(second)
        turned = [x != y for x, y in zip(signs, others, strict=True)] or [False] * len(a)
        if first.op in FUSED:  # a constant factor takes the sign of the product
            turned = [turned[0] and type(b[0]) is not Expr, turned[0] and type(b[0]) is Expr, turned[1]]
        args = [self._signed(*x) for x in zip(map(self.own, a), map(self.own, b), turned, strict=True)]
        if first.op in SUMS:
            args = args if signs[0] > 0 else args[::-1]
        return self.graph.fresh(first.op, tuple(args))

    def _signed(self, first: Any, second: Any, is_turned: bool) -> Any:
        """An operand that may differ between the threads, with the opposite sign in the second one."""
        if not is_turned:
            return either(first, second)
        if type(second) is not Expr:
            return either(first, -second)
        return self.graph.fresh("mul", (either(first, second), Either(1.0, -1.0)))

    def _store(self, s: Store) -> None:
        place, partner = (s.array, s.index), self.partner.get(s)
        if partner is None:
            if place in self.alike.places:
                raise _EntangledError
            self.store(s, self.new(s.index), self.new(s.value))
            return
        first, second = (partner, s) if self.alike.places[place][0] else (s, partner)
        values = [
            self.own(x.value) if self.lane.get(x.value) == lane else self.new(x.value)
            for lane, x in enumerate((first, second))
        ]
        self.graph.store(first.array, _index(first.array, first.index, second.index), either(*values))


def either(first: Any, second: Any) -> Any:
    """`first` in the first thread, `second` in the second one."""
    is_same = first is second or (type(first) is not Expr and repr(first) == repr(second))
    return first if is_same else Either(first, second)


def _index(array: Array, first: Any, second: Any) -> Any:
    """Where a thread finds its element of a pair."""
    return first if array.kind == "work" else Either(first, second)


# -- the order of statements


def _ordered(
    statements: Sequence[Statement], partner: dict[Any, Any], whole: set[Array]
) -> list[Statement] | None:
    """One statement of each pair and all others, each after what it needs.

    If there is no such order, a pair that prevents it is separated, and the result is None.
    """
    stands, needs = _needs(statements, partner, whole)
    done: set[Statement] = set()
    order: list[Statement] = []
    for s in statements:
        path = [stands[s]]
        while path:
            top = path[-1]
            missing = None if top in done else next((n for n in needs[top] if n not in done), None)
            if missing is None:
                path.pop()
                if top not in done:
                    done.add(top)
                    order.append(top)
            elif missing in path:
                _separate(path[path.index(missing) :], partner)
                return None
            else:
                path.append(missing)
    return order


def _separate(circle: list[Statement], partner: dict[Any, Any]) -> None:
    """Separate a pair of expressions of a circle, in which each needs the next."""
    pair = next((s for s in circle if isinstance(s, Expr) and s in partner), None)
    if pair is None:
        raise _EntangledError
    del partner[partner.pop(pair)]


def _needs(
    statements: Sequence[Statement], partner: dict[Any, Any], whole: set[Array]
) -> tuple[dict[Any, Statement], dict[Statement, list[Statement]]]:
    """Which statement stands for each one and its partner, and which others these need before them."""
    stands: dict[Any, Statement] = {}
    needs: dict[Statement, list[Statement]] = {}
    stored: dict[Hashable, Statement] = {}
    read: dict[Hashable, list[Statement]] = defaultdict(list)
    for s in statements:
        mine = stands[s] = stands.get(partner.get(s), s)
        reads, writes, values = _touched(s, whole)
        found = [stands[a] for a in values if a in stands]
        found += [stored[x] for x in (*reads, *writes) if x in stored]
        found += [r for x in writes for r in read.pop(x, ())]
        needs.setdefault(mine, []).extend(n for n in dict.fromkeys(found) if n is not mine)
        for x in reads:
            read[x].append(mine)
        stored.update(dict.fromkeys(writes, mine))
    return stands, needs


def _touched(s: Statement, whole: set[Array]) -> tuple[list[Hashable], list[Hashable], list[Expr]]:
    """What a statement and those inside it read and write (elements, or arrays as a whole) and use."""
    reads: list[Hashable] = []
    writes: list[Hashable] = []
    values: list[Expr] = []
    for x in walk(Block(statements=[s])):
        values += [a for a in operands(x) if type(a) is Expr]
        if isinstance(x, Expr) and x.op == "load" and x.args[0].kind == "work":
            array, index = x.args
            reads.append(array if array in whole else (array, int(index)))
        elif isinstance(x, Store):
            writes.append(x.array if x.array in whole else (x.array, int(x.index)))
        elif isinstance(x, Loop) and x.until is not None:
            reads.append(x.until if x.until in whole else (x.until, 0))
    return reads, writes, values


__all__ = ["Either", "Of", "twins"]
