"""Register allocation for straight-line code: which values are spilled, and when they are reloaded.

A trace of a robot is one block of thousands of operations. LLVM's allocator, made for loops, stores values
that are in memory already and reloads many of them one by one. In a straight block the best choice is known
(Belady 1966): spill the value whose next use is farthest away. Inputs, sines, constants and values from
another part have a place in memory; the others get one on the stack. A value is reloaded right before its
use, as a memory operand of the instruction. The loads and stores are volatile, so that LLVM does not move
them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from kinetree.compiler.emit.llvm.addresses import Addresses
from kinetree.compiler.emit.llvm.body import Printer
from kinetree.compiler.emit.llvm.function import Value
from kinetree.compiler.emit.llvm.hoist import is_free
from kinetree.compiler.emit.llvm.literals import Literals
from kinetree.compiler.ir.graph import Array, Clear, Spoil, Statement, Store
from kinetree.ops import PRIMITIVES, Expr
from kinetree.ops.primitives import TRUTH

if TYPE_CHECKING:
    from kinetree.compiler.runtime.machine import Target

SHORTEST = 30  # statements of a function; LLVM does as well with fewer
SPARE = 3  # registers left for the instructions themselves
STORED = 0.3  # how much farther away a value must be that still needs a store: stores are expensive
STACK = "%spilled"
TABLE = "%literals"


class Frugal(Printer):
    """Prints functions without control flow for a given number of registers, and all others as usual."""

    def __init__(self, target: Target, literals: Literals, *arguments: Any):
        super().__init__(*arguments)
        self._registers = target.registers - SPARE
        self._window = target.window
        self._addresses = Addresses(0)
        self._literals = literals
        self._straight: _Straight | None = None

    def statements(self, statements: Sequence[Statement]) -> None:
        body = [s for s in statements if not isinstance(s, (Clear, Spoil))]
        plain = all(isinstance(s, (Expr, Store)) for s in body) and len(self._scopes) == 1
        if not plain or len(body) < SHORTEST:
            super().statements(statements)
            return
        start = len(self._lines)
        self._straight = known = _Straight(self._uses(body), body)
        self._addresses = addresses = Addresses(self._window)
        for known.now, statement in enumerate(body):
            super().statements([statement])
            self._let_go(known)
        self._straight = None
        head = [f"  {TABLE} = {self._literals.address}"]
        if known.slots:
            kind = f"[{known.slots} x {self.number.vector}]"
            head.append(f"  {STACK} = alloca {kind}, align {self.number.size}")
            addresses.sort(STACK, self.number.size)
        head += addresses.head()
        for place, line in addresses.lines():
            self._lines[place] = line
        self._lines[start:start] = head

    # -- uses

    def _uses(self, body: Sequence[Statement]) -> dict[Hashable, list[int]]:
        """The statements at which every value is needed."""
        uses: dict[Hashable, list[int]] = defaultdict(list)
        for k, statement in enumerate(body):
            for value in self._needed(statement):
                if type(value) is not Expr:
                    uses[self.number.constant(value)].append(k)
                elif not value.is_integer and PRIMITIVES[value.op].gives != TRUTH:
                    uses[value].append(k)
        return uses

    def _needed(self, statement: Any) -> Iterator[Any]:
        if type(statement) is Expr:
            if not is_free(statement, self.hoisted) and statement.op not in ("load", "iload"):
                yield from (a for a in statement.args if type(a) is Expr or isinstance(a, float))
            return
        place, results = (statement.array, statement.index), self.results
        if results is None or place not in results.values:
            yield statement.value
            return
        if place in results.slots:
            yield statement.value
        for first, step in results.completes.get(place, ()):
            for e in range(first, first + step):
                value = results.values.get((statement.array, e))
                if type(value) is Expr:
                    yield value

    # -- spills

    def _let_go(self, known: _Straight) -> None:
        """Drop the values that are no longer needed, and those for which there is no register."""
        for value, name in known.leaving(self._registers):
            self._scopes[-1].pop(value, None)
            if name is not None and value not in known.homes:
                known.homes[value] = (STACK, slot := known.slot(value))
                address, number = self._slot_address(slot, STACK), self.number
                self.do(f"store volatile {number.vector} {name}, ptr {address}, align {number.size}")

    def _read(self, value: Hashable, home: tuple[str, Any]) -> str:
        """Load a value into a register from its place in memory."""
        assert self._straight is not None
        self._straight.homes[value] = home
        address = self._slot_address(home[1], home[0])
        name = self._fresh(f"load volatile {self.number.vector}, ptr {address}, align {self.number.size}")
        self._scopes[-1][value] = name
        self._straight.enter(value, name)
        return name

    def _slot_address(self, slot: Any, base: str = "%ws") -> str:
        if self._straight is None or not str(slot).isdecimal():
            return super()._slot_address(slot, base)
        return self._address(base, int(slot) * self.number.size)

    def at(self, base: str, index: Value, unit: str = "i64") -> str:
        if self._straight is None or not str(index).isdecimal():
            return super().at(base, index, unit)
        return self._address(base, int(index) * (1 if unit == "i8" else self.number.bytes))

    def _address(self, base: str, offset: int) -> str:
        name = self._fresh("")
        self._addresses.ask(len(self._lines) - 1, name, base, offset)
        return name

    # -- called by the printer

    def _bind(self, value: Expr, name: str) -> None:
        super()._bind(value, name)
        if self._straight is not None:
            self._straight.enter(value, name)

    def _operand(self, value: Any) -> str:
        known = self._straight
        if known is None:
            return super()._operand(value)
        key: Hashable = value
        if type(value) is not Expr:
            key = text = self.number.constant(float(value))
            if value == 0.0 or text not in known.uses:
                return text
            known.homes[key] = (TABLE, self._literals.place(float(value)))
        found = self._find(key)
        if found is not None:
            return found
        if key in known.homes:
            return self._read(key, known.homes[key])
        if value in self.hoisted:
            first = self.layout.sines if value.op == "sin" else self.layout.cosines
            return self._read(value, ("%ws", first + self.hoisted[value]))
        if is_free(value, self.hoisted) and value.args[0] not in self.layout.table:
            return self._read(value, ("%ws", self._slot(*value.args)))
        name = super()._operand(value)
        known.enter(value, name)
        return name

    def expression(self, e: Expr) -> None:
        known = self._straight
        if known is not None and e.op == "load" and known.is_kept(*e.args) and not is_free(e, self.hoisted):
            if e.args[0] not in self.layout.table:  # read when it is needed
                known.homes[e] = ("%ws", self._slot(*e.args))
                return
        super().expression(e)

    def store(self, s: Store) -> None:
        super().store(s)
        known = self._straight
        if known is None or type(s.value) is not Expr or s.value in known.homes or s.accumulate:
            return
        place = (s.array, s.index)
        if self.results is not None and place in self.results.values:
            slot = self.results.slots.get(place)
            if slot is not None:
                known.homes[s.value] = ("%ws", self.layout.values + slot)
        elif s.array not in self.direct and known.is_stored_once(*place):
            known.homes[s.value] = ("%ws", self._slot(*place))


class _Straight:
    """What is known about the values of one function while it is printed.

    uses: where each is needed. homes: where those with a place in memory are, as an address and an element
    offset. now: the index of the current statement.
    """

    def __init__(self, uses: dict[Hashable, list[int]], body: Sequence[Statement]):
        self.uses = uses
        self.homes: dict[Hashable, tuple[str, Any]] = {}
        self.now = 0
        self.slots = 0
        self._names: dict[Hashable, str] = {}  # of values in registers
        self._later: dict[Hashable, int] = {}  # where each of these is needed next
        self._due: dict[int, list[Hashable]] = defaultdict(list)  # the same by statement
        self._new: list[Hashable] = []  # entered since the previous statement
        self._turn: dict[Hashable, int] = {}  # when each of them entered
        self._turns = count()
        self._taken: dict[Hashable, int] = {}
        self._free: list[int] = []
        self._stores = Counter((s.array, s.index) for s in body if isinstance(s, Store))

    def is_kept(self, array: Array, index: Any) -> bool:
        """True if an element never changes."""
        return type(index) is int and (array, index) not in self._stores and array.kind == "work"

    def is_stored_once(self, array: Array, index: Any) -> bool:
        return type(index) is int and self._stores[array, index] == 1

    def enter(self, value: Hashable, name: str) -> None:
        """Note that a value is in a register."""
        if value in self.uses:
            self._names[value] = name
            if value not in self._later:
                self._later[value] = -1
                self._turn[value] = next(self._turns)
                self._new.append(value)

    def leaving(self, registers: int) -> Iterator[tuple[Hashable, str | None]]:
        """The values that leave their registers after this statement; with their names if needed again."""
        later, now = self._later, self.now
        due = {value for value in self._due.pop(now, ()) if later.get(value) == now}
        for value in sorted((*due, *self._new), key=self._turn.__getitem__):
            places = self.uses[value]
            k = bisect_right(places, now)
            if k < len(places):
                later[value] = places[k]
                self._due[places[k]].append(value)
                continue
            del later[value], self._names[value]
            if value in self._taken:
                self._free.append(self._taken.pop(value))
            yield value, None
        self._new.clear()
        while len(later) > registers:
            value = max(later, key=lambda v: (later[v] - now) * (1.0 if v in self.homes else STORED))
            del later[value]
            yield value, self._names.pop(value)

    def slot(self, value: Hashable) -> int:
        """A stack slot, until the value is no longer needed."""
        self._taken[value] = slot = self._free.pop() if self._free else self.slots
        self.slots = max(self.slots, slot + 1)
        return slot
