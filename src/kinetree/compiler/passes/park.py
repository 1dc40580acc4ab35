"""Explicit spilling, for straight-line programs that keep more values than there are registers.

Where more than `most` values are live, the one whose next use is farthest away is put aside, and fetched
before it is needed again. Inputs and values exchanged between strands have a place already; others get one
of `slots`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from kinetree.compiler.ir.graph import Array, Statement, Store
from kinetree.compiler.passes.recompute import is_input, numbers
from kinetree.ops import PRIMITIVES, Expr
from kinetree.ops.primitives import TRUTH

Place = int | tuple[Array, int]  # a slot, or an element of an input


@dataclass(frozen=True, eq=False)
class Put:
    """Put a value aside: in a slot, or in the place of an input."""

    value: Expr
    slot: Place


@dataclass(frozen=True, eq=False)
class Fetch:
    """Fetch a value again; `slot` is None if it has a place of its own."""

    value: Expr
    slot: Place | None


Step = tuple[int, Statement | Put | Fetch]  # at which statement, and what is done
NEVER = 1 << 60


def parked(
    body: Sequence[Statement],
    most: int,
    slots: int,
    placed: set[Expr],
    virtual: set[Expr],
    windows: dict[tuple[Array, int], tuple[int, int]],
) -> tuple[list[Step], int]:
    """The statements with puts and fetches inserted, and how many slots they take.

    `placed` values are stored elsewhere anyway, from their computation to the end; `virtual` ones are not
    kept at all. `windows` says when elements of inputs are not needed.
    """
    return _Parking(body, most, slots, placed, virtual, windows).run()


def windows(
    body: Sequence[Statement], inputs: Sequence[Array], overwritten: dict[Array, Array]
) -> dict[tuple[Array, int], tuple[int, int]]:
    """When the places of input elements are free for other values.

    `overwritten` says which result is stored in the place of which input.
    """
    last = {(array, k): 0 for array in inputs for k in range(array.size)}
    stored: dict[tuple[Array, int], int] = {}
    for when, s in enumerate(body):
        last |= {(a.args[0], int(a.args[1])): when for a in numbers(s) if is_input(a)}
        if isinstance(s, Store) and s.array in overwritten:
            stored[overwritten[s.array], int(s.index)] = when
    return {place: (when, stored.get(place, NEVER)) for place, when in last.items() if place[0] in inputs}


class _Parking:
    def __init__(
        self,
        body: Sequence[Statement],
        most: int,
        slots: int,
        placed: set[Expr],
        virtual: set[Expr],
        windows: dict[tuple[Array, int], tuple[int, int]],
    ):
        self.windows = windows
        self.body, self.most, self.slots, self.placed, self.virtual = body, most, slots, placed, virtual
        self.uses: dict[Expr, list[int]] = {}
        self.made: dict[Expr, list[int]] = {}
        for k, s in enumerate(body):
            for a in numbers(s):
                self.uses.setdefault(a, []).append(k)
            if isinstance(s, Expr) and not is_input(s):
                self.made.setdefault(s, []).append(k)
        self.held: dict[Expr, None] = {}  # in registers, in the order in which they came there
        self.slot: dict[Expr, Place] = {}
        self.free: list[Place] = list(windows)
        self.count = 0
        self.version: dict[Expr, int] = {}  # when a value was computed or fetched
        self.known: dict[Expr, tuple[int, ...]] = {}  # the versions that a value was computed from
        self.order: list[Step] = []
        self.longest, self.asked = -1, (-1, 0, 0)

    def run(self) -> tuple[list[Step], int]:
        for k, s in enumerate(self.body):
            if isinstance(s, Expr) and is_input(s):
                continue
            given = [a for a in dict.fromkeys(numbers(s)) if a not in self.virtual]
            if isinstance(s, Expr):
                self._make_new(s, given)
            for a in given:
                if a not in self.held:
                    self.order.append((k, Fetch(a, self.slot.get(a))))
                    self.held[a] = None
                    self.version[a] = k
            self.order.append((k, s))
            if isinstance(s, Expr) and s not in self.virtual:
                self.known[s] = tuple(self.version.get(a, -1) for a in given)
                self.version[s] = k
                self._release(s)
                self.held[s] = None
                given.append(s)
            for a in given:
                if self._next(a, k) == NEVER:
                    self.held.pop(a, None)
                    self._release(a)
            self._evict(k)
        return self.order, self.count

    def _make_new(self, s: Expr, given: list[Expr]) -> None:
        """Fetch an operand before recomputing a value, or the compiler would reuse the old one."""
        if self.known.get(s) == tuple(self.version.get(a, -1) for a in given):
            again = sorted((a for a in given if self._has_place(a) or a in self.slot), key=self._has_place)
            for a in again[-1:]:
                self.held.pop(a, None)

    def _has_place(self, a: Expr) -> bool:
        return is_input(a) or a in self.placed

    def _next(self, a: Expr, k: int) -> int:
        """The next use of a value; never if it is recomputed before that."""
        uses = self.uses.get(a, ())
        at = bisect_right(uses, k)
        if at == len(uses):
            return NEVER
        made = self.made.get(a, ())
        again = bisect_right(made, k)
        return NEVER if again < len(made) and made[again] < uses[at] else uses[at]

    def _release(self, a: Expr) -> None:
        if a in self.slot:
            self.free.append(self.slot.pop(a))

    def _evict(self, k: int) -> None:
        """Put aside the values whose next use is farthest away."""
        if len(self.held) <= self.most:
            return
        for a in sorted(self.held, key=lambda a: -self._next(a, k)):
            self._aside(a, k)
            if len(self.held) <= self.most:
                return

    def _aside(self, a: Expr, k: int) -> None:
        """Put a value aside, if there is a place for it."""
        if not self._has_place(a) and a not in self.slot:
            place = None if PRIMITIVES[a.op].gives == TRUTH else self._place(k, self._last(a, k))
            if place is None:
                return
            self.slot[a] = place
            self.order.append((k, Put(a, place)))
        self.held.pop(a, None)

    def _place(self, k: int, last: int) -> Place | None:
        """A place that is free from now until `last`: the one that is free for the shortest time."""
        if last > self._longest(k):
            return None
        best, least = None, NEVER + 1
        for place in self.free:
            first, until = self._window(place)
            if first <= k and last <= until < least:
                best, least = place, until
        if best is not None:
            self.free.remove(best)
        elif self.count < self.slots:
            best = self.count
            self.count += 1
        return best

    def _longest(self, k: int) -> int:
        """Until when a place that is free now stays free, at most; most questions are answered by this."""
        if self.count < self.slots:
            return NEVER
        known = k, len(self.free), len(self.slot)
        if self.asked != known:
            windows = map(self._window, self.free)
            self.longest = max((until for first, until in windows if first <= k), default=-1)
            self.asked = known
        return self.longest

    def _window(self, place: Place) -> tuple[int, int]:
        return self.windows.get(place, (-1, NEVER)) if isinstance(place, tuple) else (-1, NEVER)

    def _last(self, a: Expr, k: int) -> int:
        """The last use of a value before it is recomputed."""
        made = self.made.get(a, [])
        again = bisect_right(made, k)
        uses = self.uses[a]
        return uses[(bisect_right(uses, made[again]) if again < len(made) else len(uses)) - 1]
