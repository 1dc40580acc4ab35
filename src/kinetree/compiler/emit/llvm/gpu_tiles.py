"""Kernels for rows (batch, n) without gaps: straight programs, whose blocks move whole tiles of states.

A block takes the rows of `tile` states into shared memory, line by line, computes, and writes the rows of the
results line by line again. Each state has one thread; or, for robots with limbs, a thread in each of several
warps, which run the strands of the program (`passes/strands.py`) and exchange numbers through shared memory.

Results that fit stand in shared memory as they will in rows. Of larger ones (mass matrices of big robots)
every number is kept once, and a table says which of them, or 0, stands where.
"""

from __future__ import annotations

from typing import Any

from kinetree.compiler.emit.llvm.device import Device
from kinetree.compiler.emit.llvm.gpu_kernel import GpuKernel, GpuModule
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Array, Clear, Spoil, Store
from kinetree.compiler.ir.program import Program, walk
from kinetree.compiler.passes.strands import Strands
from kinetree.errors import CompileError
from kinetree.ops import PRIMITIVES, Expr
from kinetree.ops.primitives import TRUTH

TILES = (128, 64, 32)  # states of a block
FEW = 40 << 10  # bytes of shared memory of a block that leave room for several
MUCH = 100 << 10  # bytes above which results are packed
AT_ONCE = 16  # loads that wait together
WARP = 32


class Plan:
    """Where what a block shares stands, in numbers: rows of inputs and results, and what strands exchange."""

    def __init__(
        self, program: Program, strands: Strands, tile: int, packing: bool, staged: tuple[Array, ...]
    ):
        self.tile, self.numbers = tile, 0
        self.start: dict[Array, int] = {}
        self.packed: dict[Array, dict[int, int]] = {}  # of a result: which of its numbers an element is
        self.zeros: list[tuple[int, int]] = []  # what is 0 from the beginning: start and size
        for array in staged:
            self.start[array] = self._take(tile * self.pitch(array))
        self.slots = self._take(tile * len(strands.sent))
        for array in program.outputs:
            slots, count = _slots(program, array)
            if packing and count < array.size // 2:
                self.packed[array] = slots
                self.start[array] = self._take(count * (tile + 1))
                self.zeros.append((self.start[array], tile + 1))
            else:
                size = tile * self.pitch(array)
                self.start[array] = self._take(size)
                self.zeros += [(self.start[array], size)] if len(slots) < array.size else []

    def pitch(self, array: Array) -> int:
        """Numbers from one row to the next: not a multiple of 8, so that threads use different banks."""
        return array.size if array.size % 8 else array.size + 1

    def _take(self, count: int) -> int:
        first = self.numbers
        self.numbers += count
        return first


def _slots(program: Program, array: Array) -> tuple[dict[int, int], int]:
    """Which number each element of a result is that is stored to, from 1 on; how many there are, with 0."""
    found: dict[Any, int] = {}
    slots = {
        int(s.index): found.setdefault(s.value, len(found) + 1)
        for s in program.body.statements
        if isinstance(s, Store) and s.array is array
    }
    return slots, len(found) + 1


def planned(program: Program, number: Number, strands: Strands, most: int) -> Plan | None:
    """The plan for tiles that leave room for several blocks; None if nothing fits into `most` bytes."""
    inputs = tuple(a for a in program.inputs if a.size)
    tiles = TILES if strands.count == 1 else (WARP,)
    for tile in tiles:
        plan = Plan(program, strands, tile, False, inputs)
        if plan.numbers * number.bytes <= FEW:
            return plan
    limit = min(MUCH, most)
    for packing in (False, True):
        staged = sorted(inputs, key=lambda a: a.size)
        while True:
            plan = Plan(program, strands, WARP, packing, tuple(staged))
            if plan.numbers * number.bytes <= limit:
                return plan
            if not staged or not packing:
                break
            staged.pop()
        limit = most
    return None


def fits(program: Program) -> bool:
    """Whether a program is one for tiles: straight, each element of its results stored once."""
    if not program.is_straight or program.work:
        return False
    places = [(s.array, s.index) for s in walk(program.body) if isinstance(s, Store)]
    stores = [s for s in walk(program.body) if isinstance(s, Store)]
    integers = any(isinstance(s, Expr) and s.is_integer for s in walk(program.body))
    return len(set(places)) == len(places) and not integers and not any(s.accumulate for s in stores)


class Tiled(GpuKernel):
    """Prints a straight program for the threads of a block."""

    def __init__(
        self, program: Program, number: Number, device: Device, large: bool, strands: Strands, plan: Plan
    ):
        super().__init__(program, number, device, large)
        self.strands, self.plan = strands, plan
        self.tile = self.plan.tile
        self.threads = self.tile * strands.count
        self.exchange = {e: k for k, e in enumerate(strands.sent)}
        self.stored: set[tuple[Array, int]] = set()

    def module(self) -> GpuModule:
        plan, scalar = self.plan, self.number.scalar
        space = self.device.shared
        self.reserve("low", "i1")
        self.reserve("beyond", "i1")
        self.reserve("poison", scalar)
        self._prepare()
        self.head("begin", "again")
        self._lines += [
            f"  %lane = and i64 %tid, {self.tile - 1}",
            f"  %strand = lshr i64 %tid, {self.tile.bit_length() - 1}",
            "  %left = sub i64 %n, %base",
            f"  %full = icmp sge i64 %left, {self.tile}",
            f"  %rows = select i1 %full, i64 {self.tile}, i64 %left",
            "  %inside = icmp slt i64 %lane, %rows",
            "  %short = sub i64 %rows, 1",
            "  %place = select i1 %inside, i64 %lane, i64 %short",
            "  %state = add i64 %base, %place",
            "  store i1 false, ptr %beyond",
            "  store i1 false, ptr %low",
        ]
        self._take()
        self._compute()
        self._judge()
        self._give()
        self.foot("again")
        self._lines += ["again:", f"  {self.device.barrier}", "  br label %states"]
        memory = [
            f"@shared = external {space} global [0 x {scalar}], align 16",
            f"@marks = internal {space} global [2 x i64] poison, align 8",
            *(self._places(k, a) for k, a in enumerate(self.program.outputs) if a in plan.packed),
        ]
        size = plan.numbers * self.number.bytes
        return GpuModule(self.text(memory), self.tile, self.threads, size, 0)

    # -- shared memory

    def _at(self, place: str | int, start: int = 0) -> str:
        """The address of a number in shared memory."""
        scalar, space = self.number.scalar, self.device.shared
        if start:
            place = self._fresh(f"add i64 {place}, {start}") if isinstance(place, str) else place + start
        return self._fresh(f"getelementptr {scalar}, ptr {space} @shared, i64 {place}")

    def _fetch(self, address: str) -> str:
        return self._fresh(f"load {self.number.scalar}, ptr {self.device.shared} {address}")

    def _set(self, address: str, value: str) -> None:
        self._lines.append(f"  store {self.number.scalar} {value}, ptr {self.device.shared} {address}")

    def _mark(self, k: int) -> str:
        return self._fresh(f"getelementptr i64, ptr {self.device.shared} @marks, i64 {k}")

    def _marked(self, k: int) -> str:
        """Whether this tile has been marked: 0: an input is not finite; 1: an angle is too large."""
        value = self._fresh(f"load i64, ptr {self.device.shared} {self._mark(k)}")
        return self._fresh(f"icmp eq i64 {value}, %base")

    def _barrier(self) -> None:
        self._lines.append(f"  {self.device.barrier}")

    def _row_place(self, array: Array) -> str:
        """Where the row of this thread's state begins among the tile's."""
        return self._fresh(f"mul i64 %place, {self.plan.pitch(array)}")

    def _skewed(self, array: Array, k: str) -> str:
        """Where number k of the rows of a tile stands in shared memory."""
        if self.plan.pitch(array) == array.size:
            return k
        return self._fresh(f"add i64 {k}, {self._fresh(f'udiv i64 {k}, {array.size}')}")

    # -- before the first tile

    def _prepare(self) -> None:
        """No mark is set; results that nothing is stored to are 0."""
        self._lines.append(f"  %tid0 = zext i32 {self._fresh(self.device.thread)} to i64")
        self._lines.append("  %first.thread = icmp eq i64 %tid0, 0")
        with self.rarely("%first.thread"):
            for k in range(2):
                self._lines.append(f"  store i64 -1, ptr {self.device.shared} {self._mark(k)}")
        for start, size in self.plan.zeros:
            some = self._fresh(f"icmp slt i64 %tid0, {size}")
            with self.turns("%tid0", str(size), self.threads, some) as place:
                self._set(self._at(place, start), self.number.constant(0.0))
        self._lines += [f"  {self.device.barrier}", "  br label %begin", "begin:"]
        self._label = "begin"


    # -- rows in

    def _take(self) -> None:
        """The rows of the inputs to shared memory; a mark if something in them is not finite."""
        scalar, zero = self.number.scalar, self.number.constant(0.0)
        self._lines.append(f"  store {scalar} {zero}, ptr %poison")
        staged = [(k, a) for k, a in enumerate(self.program.inputs) if a in self.plan.start and a.size]
        dense = "%full"
        for k, array in staged:
            same = self._fresh(f"icmp eq i64 %in{k}.s, {array.size}")
            dense = self._fresh(f"and i1 {dense}, {same}")
        whole, ragged, done = self._labels("whole", "ragged", "taken")
        self._lines.append(f"  br i1 {dense}, label %{whole}, label %{ragged}")
        self._start(whole)
        self._take_whole(staged)
        self._lines.append(f"  br label %{done}")
        self._start(ragged)
        for k, array in staged:
            self._take_ragged(k, array)
        self._lines.append(f"  br label %{done}")
        self._start(done)
        for k, array in enumerate(self.program.inputs):
            if array not in self.plan.start and array.size:
                self._look(k, array)
        total = self._fresh(f"load {scalar}, ptr %poison")
        with self.rarely(self._fresh(f"fcmp une {scalar} {total}, {zero}")):
            self._lines.append(f"  store i64 %base, ptr {self.device.shared} {self._mark(0)}")
        self._barrier()

    def _take_whole(self, staged: list[tuple[int, Array]]) -> None:
        """A full tile: rows stand one behind the other, so whole lines are copied."""
        scalar = self.number.scalar
        moves = []
        for number, array in staged:
            line = self._fresh(f"mul i64 %base, {array.size}")
            source = self._fresh(f"getelementptr {scalar}, ptr addrspace(1) %in{number}, i64 {line}")
            moves += [(array, source, j) for j in range(0, self.tile * array.size, self.threads)]
        total = self._fresh(f"load {scalar}, ptr %poison")
        for first in range(0, len(moves), AT_ONCE):
            held = []
            for array, source, j in moves[first : first + AT_ONCE]:
                k = self._fresh(f"add i64 %tid, {j}")
                if j + self.threads > self.tile * array.size:
                    inside = self._fresh(f"icmp slt i64 {k}, {self.tile * array.size}")
                    k = self._fresh(f"select i1 {inside}, i64 {k}, i64 {self.tile * array.size - 1}")
                place = self._fresh(f"getelementptr {scalar}, ptr addrspace(1) {source}, i64 {k}")
                value = self._fresh(f"load {scalar}, ptr addrspace(1) {place}, !invariant.load !1")
                held.append((array, k, value))
            for array, k, value in held:
                self._set(self._at(self._skewed(array, k), self.plan.start[array]), value)
                total = self.nothing(total, value)
        self._lines.append(f"  store {scalar} {total}, ptr %poison")

    def _take_ragged(self, number: int, array: Array) -> None:
        """The last tile, or rows that do not follow one another."""
        scalar, size = self.number.scalar, array.size
        total = self._fresh(f"mul i64 %rows, {size}")
        some = self._fresh(f"icmp slt i64 %tid, {total}")
        with self.turns("%tid", total, self.threads, some) as k:
            row = self._fresh(f"udiv i64 {k}, {size}")
            column = self._fresh(f"sub i64 {k}, {self._fresh(f'mul i64 {row}, {size}')}")
            source = self.row(f"in{number}", self._fresh(f"add i64 %base, {row}"))
            place = self._fresh(f"getelementptr {scalar}, ptr addrspace(1) {source}, i64 {column}")
            value = self._fresh(f"load {scalar}, ptr addrspace(1) {place}, !invariant.load !1")
            self._set(self._at(self._skewed(array, k), self.plan.start[array]), value)
            before = self._fresh(f"load {scalar}, ptr %poison")
            self._lines.append(f"  store {scalar} {self.nothing(before, value)}, ptr %poison")

    def _look(self, number: int, array: Array) -> None:
        """Whether the rows of an input that stays where it is are finite: each thread looks at its share."""
        scalar = self.number.scalar
        source = self.row(f"in{number}", "%state")
        some = self._fresh(f"icmp slt i64 %strand, {array.size}")
        with self.turns("%strand", str(array.size), self.strands.count, some) as k:
            place = self._fresh(f"getelementptr {scalar}, ptr addrspace(1) {source}, i64 {k}")
            value = self._fresh(f"load {scalar}, ptr addrspace(1) {place}, !invariant.load !1")
            before = self._fresh(f"load {scalar}, ptr %poison")
            self._lines.append(f"  store {scalar} {self.nothing(before, value)}, ptr %poison")

    # -- the program

    def _compute(self) -> None:
        """Every strand runs its statements, phase by phase."""
        count = self.strands.count
        rows = {a: self._row_place(a) for a in (*self.program.inputs, *self.program.outputs)}
        rows |= {
            a: self.row(f"in{k}", "%state")
            for k, a in enumerate(self.program.inputs)
            if a not in self.plan.start
        }
        self.rows = rows
        labels = self._labels(*(f"strand{w}." for w in range(count)))
        (done,) = self._labels("computed")
        cases = " ".join(f"i64 {w}, label %{label}" for w, label in enumerate(labels) if w)
        self._lines.append(f"  switch i64 %strand, label %{labels[0]} [ {cases} ]")
        for w, label in enumerate(labels):
            self._start(label)
            self._scopes = [{}]
            for phase in self.strands.phases:
                self.statements(phase[w])
                if phase is self.strands.phases[-1]:
                    self._ask()
                self._barrier()
            self._lines.append(f"  br label %{done}")
        self._start(done)
        self._scopes = [{}]

    def expression(self, e: Expr) -> None:
        super().expression(e)
        if e in self.exchange:
            value = self._operand(e)
            if PRIMITIVES[e.op].gives == TRUTH:
                one, zero = self.number.constant(1.0), self.number.constant(0.0)
                scalar = self.number.scalar
                value = self._fresh(f"select i1 {value}, {scalar} {one}, {scalar} {zero}")
            self._set(self._slot_of(e), value)

    def _slot_of(self, e: Expr) -> str:
        return self._at("%lane", self.plan.slots + self.tile * self.exchange[e])

    def _operand(self, value: object) -> str:
        if type(value) is Expr and value in self.exchange and self._find(value) is None:
            found = self._fetch(self._slot_of(value))
            if PRIMITIVES[value.op].gives == TRUTH:
                found = self._fresh(f"fcmp une {self.number.scalar} {found}, {self.number.constant(0.0)}")
            self._bind(value, found)
            return found
        return super()._operand(value)

    def _load(self, value: Expr) -> str:
        array, index = value.args
        if array in self.layout.table:
            return self.table(value)
        if array.kind != "input":
            raise CompileError(f"{self.program.name}: a straight kernel reads {array!r}")
        if array in self.plan.start:
            return self._fetch(self._at(self.rows[array], self.plan.start[array] + int(index)))
        scalar = self.number.scalar
        place = self._fresh(f"getelementptr {scalar}, ptr addrspace(1) {self.rows[array]}, i64 {int(index)}")
        return self._fresh(f"load {scalar}, ptr addrspace(1) {place}, !invariant.load !1")

    def store(self, s: Store) -> None:
        value = self._operand(s.value)
        if s.array is self.program.guard:
            one = self.number.constant(1.0)
            self._lines.append(
                f"  store i1 {self._fresh(f'fcmp ult {self.number.scalar} {value}, {one}')}, ptr %low"
            )
            return
        plan = self.plan
        if s.array in plan.packed:
            slot = plan.packed[s.array][s.index]
            if (s.array, slot) in self.stored:
                return
            self.stored.add((s.array, slot))
            address = self._at("%lane", plan.start[s.array] + slot * (self.tile + 1))
        else:
            place = self._fresh(f"mul i64 %lane, {plan.pitch(s.array)}")
            address = self._at(place, plan.start[s.array] + int(s.index))
        self._set(address, value)

    def clear(self, s: Clear) -> None:
        """Done once, before the first tile."""

    def spoil(self, s: Spoil) -> None:
        """Done when rows are taken and given."""

    # -- what the states are worth

    def _judge(self) -> None:
        """Note states that the guard refuses; angles that are too large leave that to the other kernel."""
        if self.program.guard is None:
            return
        low = self._fresh("load i1, ptr %low")
        if not self.large:
            low = self._fresh(f"and i1 {low}, {self._fresh(f'xor i1 {self._marked(1)}, true')}")
        with self.rarely(low), self.rarely(self._fresh(f"xor i1 {self._is_spoiled()}, true")):
            self.refuse("%state")

    def _is_spoiled(self) -> str:
        """Whether an input of this thread's state is not finite."""
        rows = [(self.row(f"in{k}", "%state"), a) for k, a in enumerate(self.program.inputs)]
        return self.summed([("addrspace(1)", address, a) for address, a in rows])

    def _ask(self) -> None:
        """Ask for the kernel that can do large angles, if there was one."""
        if not self.large:
            with self.rarely(self._fresh("load i1, ptr %beyond")):
                self._lines.append("  store i32 %epoch32, ptr addrspace(1) %far")
                self._lines.append(f"  store i64 %base, ptr {self.device.shared} {self._mark(1)}")

    # -- rows out

    def _give(self) -> None:
        """The rows of the results to their arrays; NaN where an input was not finite."""
        for k, array in enumerate(self.program.outputs):
            if not array.size:
                continue
            if array in self.plan.packed:
                self._unpack(k, array)
            else:
                self._give_rows(k, array)
        with self.rarely(self._marked(0)):
            self._barrier()
            with self.rarely(self._is_spoiled()):
                for k, array in enumerate(self.program.outputs):
                    target = self.row(f"out{k}", "%state")
                    if array.size:
                        with self.turns("0", str(array.size)) as place:
                            self._write(target, place, self.number.constant(float("nan")))

    def _write(self, target: str, place: str, value: str) -> None:
        scalar = self.number.scalar
        there = self._fresh(f"getelementptr {scalar}, ptr addrspace(1) {target}, i64 {place}")
        self._lines.append(f"  store {scalar} {value}, ptr addrspace(1) {there}")

    def _give_rows(self, number: int, array: Array) -> None:
        total = self.tile * array.size
        target = self._tile_of(number, array)
        whole, ragged, done = self._labels("give", "last", "given")
        self._lines.append(f"  br i1 %full, label %{whole}, label %{ragged}")
        self._start(whole)
        if total // self.threads <= 4 * AT_ONCE:
            for j in range(0, total, self.threads):
                k = self._fresh(f"add i64 %tid, {j}")
                if j + self.threads > total:
                    inside = self._fresh(f"icmp slt i64 {k}, {total}")
                    k = self._fresh(f"select i1 {inside}, i64 {k}, i64 {total - 1}")
                value = self._fetch(self._at(self._skewed(array, k), self.plan.start[array]))
                self._write(target, k, value)
        else:
            self._give_some(array, target, str(total), True)
        self._lines.append(f"  br label %{done}")
        self._start(ragged)
        self._give_some(array, target, self._fresh(f"mul i64 %rows, {array.size}"))
        self._lines.append(f"  br label %{done}")
        self._start(done)

    def _tile_of(self, number: int, array: Array) -> str:
        line = self._fresh(f"mul i64 %base, {array.size}")
        return self._fresh(f"getelementptr {self.number.scalar}, ptr addrspace(1) %out{number}, i64 {line}")

    def _give_some(self, array: Array, target: str, total: str, often: bool = False) -> None:
        some = self._fresh(f"icmp slt i64 %tid, {total}")
        with self.turns("%tid", total, self.threads, some, often) as k:
            self._write(target, k, self._fetch(self._at(self._skewed(array, k), self.plan.start[array])))

    # -- packed results

    def _places(self, number: int, array: Array) -> str:
        """The table of where the elements of a packed result stand."""
        slots = self.plan.packed[array]
        numbers = ", ".join(f"i32 {slots.get(e, 0) * (self.tile + 1)}" for e in range(array.size))
        return f"@places{number} = internal addrspace(1) constant [{array.size} x i32] [{numbers}]"

    def _unpack(self, number: int, array: Array) -> None:
        target = self._tile_of(number, array)
        total = self._fresh(f"mul i64 %rows, {array.size}")
        some = self._fresh(f"icmp slt i64 %tid, {total}")
        with self.turns("%tid", total, self.threads, some, True) as k:
            row = self._fresh(f"udiv i64 {k}, {array.size}")
            column = self._fresh(f"sub i64 {k}, {self._fresh(f'mul i64 {row}, {array.size}')}")
            entry = self._fresh(f"getelementptr i32, ptr addrspace(1) @places{number}, i64 {column}")
            slot = self._fresh(f"load i32, ptr addrspace(1) {entry}, !invariant.load !1")
            wide = self._fresh(f"zext i32 {slot} to i64")
            place = self._fresh(f"add i64 {wide}, {row}")
            self._write(target, k, self._fetch(self._at(place, self.plan.start[array])))
