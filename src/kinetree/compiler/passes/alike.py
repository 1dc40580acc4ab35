"""Pairs of operations that are alike: they differ only in the limb of a robot that they work on.

The caller pairs elements of inputs. Numbers that are computed from the first or from the second elements of
pairs, and not from both, have a side. Numbers on opposite sides are partners if they have the same form, but
for constants, operands without a side and the signs of terms. Elements of work arrays are paired if such
numbers are always stored in them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import Any

from kinetree.compiler.ir.graph import Array, Loop, Store
from kinetree.compiler.ir.program import Program, blocks, walk, wandering
from kinetree.ops import Expr

Place = tuple[Array, int]

ROUNDS = 60  # robots with two or four legs need seven or eight; what is not found then stays unpaired
SUMS = {"add": (1, 1), "sub": (1, -1)}  # the signs of the terms
FUSED = {"fma": (1, 1), "fms": (1, -1), "fnma": (-1, 1), "fnms": (-1, -1)}  # of the product, and of the term
FAMILY = {**dict.fromkeys(SUMS, "sum"), **dict.fromkeys(FUSED, "fused")}
NEUTRAL = -1  # the form of operands without a side


class Alike:
    """The pairs of a program.

    Attributes:
        whole: arrays whose elements have no side.
        places: the side of elements of arrays (0 or 1), and the first element of their pair.
        side: that of each expression; None: it depends on both sides, or on none.
        partner: of expressions, and of stores of pairs.
    """

    def __init__(self, program: Program, given: Iterable[tuple[Array, int, int]]):
        self.program = program
        self.whole = wandering(program)
        for s in walk(program.body):
            if isinstance(s, Store) and s.accumulate:
                self.whole.add(s.array)
            elif isinstance(s, Loop) and s.until is not None:
                self.whole.add(s.until)
        self.places: dict[Place, tuple[int, Place]] = {}
        for array, first, second in given:
            if array not in self.whole:
                self._pair((array, first), (array, second))
        self.side: dict[Any, int | None] = {}
        self.partner: dict[Any, Any] = {}
        self._form: dict[Any, int] = {}
        self._sums: set[Expr] = set()  # over both sides, and what else is on one side without a partner
        self._doubtful: set[Expr] = set()  # what is computed from the sums that were found last
        for _ in range(ROUNDS):
            self._read()
            self._match()
            if not (self._find_sums() | self._learn()):
                break

    def place_of(self, e: Expr) -> Place | None:
        """The element that a load reads, if that has a side."""
        if e.op != "load" or isinstance(e.args[1], Expr):
            return None
        place = e.args[0], int(e.args[1])
        return place if place in self.places else None

    def arranged(self, e: Expr) -> tuple[list[Any], list[int]]:
        """The operands, sorted by form where their order does not matter, and the signs of terms."""
        args = list(e.args)
        if e.op in SUMS:
            terms = sorted(zip(args, SUMS[e.op], strict=True), key=lambda term: self._kind(term[0]))
            return [a for a, _ in terms], [sign for _, sign in terms]
        if e.op == "mul" or e.op in FUSED:
            args[:2] = sorted(args[:2], key=self._kind)
        return args, list(FUSED.get(e.op, ()))

    def _pair(self, first: Place, second: Place) -> None:
        self.places[first], self.places[second] = (0, first), (1, first)

    def _kind(self, a: Any) -> int:
        """The form of an operand with a side; all others are alike."""
        return self._form[a] if self.side.get(a) is not None else NEUTRAL

    def _read(self) -> None:
        """Find the side and the form of each value, and what is stored in each element."""
        self._forms: dict[Hashable, int] = {}
        self._stores: dict[Place, list[tuple[int, Any]]] = defaultdict(list)
        for number, block in enumerate(blocks(self.program.body)):
            for s in block.statements:
                if isinstance(s, Expr):
                    self._judge(s)
                elif isinstance(s, Store) and s.array not in self.whole:
                    self._stores[s.array, int(s.index)].append((number, s.value))

    def _judge(self, e: Expr) -> None:
        place = self.place_of(e)
        if place is not None:
            self.side[e], first = self.places[place]
            form: Hashable = ("load", first, len(self._stores[place]))
        else:
            sides = {self.side[a] for a in e.args if isinstance(a, Expr)} - {None}
            self.side[e] = sides.pop() if len(sides) == 1 and e not in self._sums else None
            operands = [id(a) if isinstance(a, Array) else self._kind(a) for a in self.arranged(e)[0]]
            form = (FAMILY.get(e.op, e.op), *operands)
        self._form[e] = self._forms.setdefault(form, len(self._forms))

    def _match(self) -> None:
        """Find partners within each block."""
        self.partner.clear()
        for block in blocks(self.program.body):
            found: dict[Hashable, tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
            for s in block.statements:
                if isinstance(s, Expr) and (side := self.side[s]) is not None:
                    found[self._form[s]][side].append(s)
                elif isinstance(s, Store) and (s.array, s.index) in self.places:
                    side, first = self.places[s.array, s.index]
                    found[first][side].append(s)
            for pairs in found.values():
                for a, b in zip(*pairs, strict=False):
                    self.partner[a], self.partner[b] = b, a

    def _find_sums(self) -> bool:
        """Find numbers that have no partner although all that they are computed from has one.

        Such as a sum to which one limb adds, and then the other. They have no side. What is computed from
        them, except further such sums, can only be judged in the next round.
        """
        found: set[Expr] = set()
        self._doubtful.clear()
        for e, side in self.side.items():
            given = [a for a in e.args if isinstance(a, Expr)]
            new = [a for a in given if a in found]
            is_odd = side is not None and e not in self.partner and e.op != "load"
            if any(a in self._doubtful for a in given):
                self._doubtful.add(e)
            elif new:
                goes_on = e not in self.partner and all(_is_term(e, a) for a in new)
                (found if goes_on else self._doubtful).add(e)
            elif is_odd:
                found.add(e)
        self._sums |= found
        return bool(found)

    def _learn(self) -> bool:
        """Pair elements of an array, and work arrays of one number, in which partners are stored."""
        groups: dict[Hashable, tuple[list[Place], list[Place]]] = defaultdict(lambda: ([], []))
        for place, stores in self._stores.items():
            sides = {self.side.get(x) for _, x in stores} - {None}
            is_sure = not any(x in self._doubtful for _, x in stores)
            if place not in self.places and len(sides) == 1 and is_sure:
                array = place[0] if place[0].kind != "work" or place[0].size > 1 else None
                groups[array, *((block, self._kind(x)) for block, x in stores)][sides == {1}].append(place)
        found = [pair for both in groups.values() for pair in zip(*both, strict=False)]
        for first, second in found:
            self._pair(first, second)
        return bool(found)


def _is_term(e: Expr, a: Expr) -> bool:
    """Whether an operation only adds something to a number."""
    return e.op in SUMS or (e.op in FUSED and a is e.args[2] and a not in e.args[:2])


__all__ = ["FUSED", "SUMS", "Alike", "Place"]
