"""Shared memory of a block, checks of input rows for non-finite numbers, and copies of result rows."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

from kinetree.compiler.emit.llvm.device import Device
from kinetree.compiler.emit.llvm.gpu_kernel import GpuKernel
from kinetree.compiler.emit.llvm.gpu_plan import CHUNK, WARP, Plan
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Array, Store
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.spoil import telling
from kinetree.compiler.passes.store_early import only_for_guard
from kinetree.compiler.passes.strands import Strands

ONE, INFINITE = 0x3FF00000, 0x7FF00000  # the upper halves of 1 and of infinity
TIGHT = 8  # warps whose threads have no spare registers
LONGEST = 64  # unrolled copies per thread; more become a loop


class TileOfRows(GpuKernel):
    """The shared memory of a block, and the copies that its threads make together."""

    def __init__(
        self,
        program: Program,
        number: Number,
        device: Device,
        large: bool,
        strands: Strands,
        plan: Plan,
        arriving: str,
        ahead: bool,
        warps: int = 0,
    ):
        super().__init__(program, number, device, large)
        self.strands, self.plan, self.tile = strands, plan, plan.tile
        self.arriving, self.ahead = arriving, ahead
        self.threads = self.tile * strands.count
        self.resident = WARP * warps // self.threads
        self.tells = self._telling()  # inputs that need not be checked
        self.early = 0 < warps <= TIGHT and not self.tells  # check rows before computing anything
        self.tight = 0 < warps <= TIGHT
        self.exchange = {e: k for k, e in enumerate(strands.sent)}
        self.stored: set[tuple[Array, int]] = set()
        self.staged = [(k, a) for k, a in enumerate(program.inputs) if a in plan.start and a.size]
        if any(plan.pitch(a) != a.size for _, a in self.staged) or not self.staged:
            self.arriving = self.arriving and "chunks"
        guarding = only_for_guard(program)
        self.looked: set[tuple[Array, int]] = set()
        self._conditions = 0
        self._other = ""  # a number waiting to be checked together with the next
        self.gathered = {e for e in guarding if e.op == "min"}
        rule = program.spoil
        self.silent = rule is not None and rule.silent  # refused states become NaN

    # -- shared memory

    def _at(self, place: str | int, start: int = 0) -> str:
        """The address of a number in shared memory."""
        scalar, space = self.number.scalar, self.device.shared
        if start:
            place = self._fresh(f"add i64 {place}, {start}") if isinstance(place, str) else place + start
        return self._fresh(f"getelementptr {scalar}, ptr {space} @shared, i64 {place}")

    def _place(self, array: Array, place: str) -> str:
        """An index within the rows of a result; results that overwrite an input are in one of two buffers."""
        return self._fresh(f"add i64 %offset, {place}") if array in self.plan.within else place

    def _fetch(self, address: str) -> str:
        return self._fresh(f"load {self.number.scalar}, ptr {self.device.shared} {address}")

    def _set(self, address: str, value: str) -> None:
        self._lines.append(f"  store {self.number.scalar} {value}, ptr {self.device.shared} {address}")

    def _mark(self, k: int) -> str:
        return self._fresh(f"getelementptr i64, ptr {self.device.shared} @marks, i64 {k}")

    def _note(self, k: int) -> None:
        """Mark this tile: 0: a result is NaN, since an input is not finite; 1: an angle is too large."""
        self._fresh(f"atomicrmw xchg ptr {self.device.shared} {self._mark(k)}, i64 %base monotonic")

    def _marked(self, k: int) -> str:
        value = self._fresh(f"load i64, ptr {self.device.shared} {self._mark(k)}")
        return self._fresh(f"icmp eq i64 {value}, %base")

    def _barrier(self) -> None:
        self._lines.append(f"  {self.device.barrier}")

    def _meet(self) -> None:
        """A barrier within strands, each of which has its own code."""
        self._lines.append(f"  {self.device.meeting if self.strands.count > 1 else self.device.barrier}")

    def _skewed(self, array: Array, k: str) -> str:
        """The index in shared memory of number k of the rows of a tile."""
        if self.plan.pitch(array) == array.size:
            return k
        return self._fresh(f"add i64 {k}, {self._fresh(f'udiv i64 {k}, {array.size}')}")

    @property
    def _vector(self) -> tuple[str, int]:
        """The type of a copied chunk, and how many numbers it holds."""
        count = CHUNK // self.number.bytes
        return f"<{count} x {self.number.scalar}>", count

    def _is_even(self, name: str) -> str:
        """Whether an array is aligned to the size of a chunk."""
        address = self._fresh(f"ptrtoint ptr addrspace(1) %{name} to i64")
        return self._fresh(f"icmp eq i64 {self._fresh(f'and i64 {address}, {CHUNK - 1}')}, 0")

    # -- checks of rows

    def _telling(self) -> set[tuple[Array, int]]:
        """Inputs whose non-finite values show in a result, if there are fewer results to check."""
        found = telling(self.program)
        results = {s.value for s in self.program.body.statements if isinstance(s, Store)}
        return found if len(results) < len(found) else set()

    @contextmanager
    def _among(self, j: int, total: int) -> Iterator[str]:
        """The index of a thread's number in the iteration that starts at j, if it is below `total`."""
        k = self._fresh(f"add i64 %tid, {j}")
        if j + self.threads <= total:
            yield k
            return
        some, none = self._labels("some", "none")
        inside = self._fresh(f"icmp slt i64 {k}, {total}")
        self._lines.append(f"  br i1 {inside}, label %{some}, label %{none}")
        self._start(some)
        yield k
        self._lines.append(f"  br label %{none}")
        self._start(none)

    @contextmanager
    def first_thread(self) -> Iterator[None]:
        """Code for a single thread of a block, in a form that the assembler recognises."""
        warp, one, all_ = self._labels("warp", "one", "all")
        first = "true" if self.threads == WARP else self._fresh(f"icmp ult i32 %tid32, {WARP}")
        self._lines.append(f"  br i1 {first}, label %{warp}, label %{all_}")
        self._start(warp)
        lead = self._fresh("call i1 @warp.lead()")
        self._lines.append(f"  br i1 {lead}, label %{one}, label %{all_}")
        self._start(one)
        yield
        self._lines.append(f"  br label %{all_}")
        self._start(all_)

    def _look_at(self, value: str) -> None:
        """Add a number to the sum that tells whether all are finite: two at a time, multiplied.

        The upper half of a float64 is enough: read as a float32 it is not finite either. Numbers that are
        merely huge are distinguished later.
        """
        if not self._other or self._other == value:
            self._other, other = ("", value) if self._other else (value, "")
        else:
            other, self._other = self._other, ""
        if other:
            total = self._fresh("load float, ptr %sum")
            a, b = self._upper(other), self._upper(value)
            total = self._fresh(f"call float @llvm.fma.f32(float {a}, float {b}, float {total})")
            self._lines.append(f"  store float {total}, ptr %sum")

    def _inspect(self) -> None:
        """Check all rows of a tile at once: values that are checked later occupy registers longer."""
        whole, ragged, done = self._labels("look", "row", "looked")
        self._lines.append(f"  br i1 %full, label %{whole}, label %{ragged}")
        self._start(whole)
        vector, many = self._vector
        skewed = [a for _, a in self.staged if self.plan.pitch(a) != a.size]
        for array in (a for _, a in self.staged if a not in skewed):
            source = self._at("%offset", self.plan.start[array])
            total = self.tile * array.size // many
            for j in range(0, total, self.threads):
                with self._among(j, total) as k:
                    here = self._fresh(f"getelementptr {vector}, ptr {self.device.shared} {source}, i64 {k}")
                    value = self._fresh(f"load {vector}, ptr {self.device.shared} {here}, align {CHUNK}")
                    for place in range(many):
                        self._look_at(self._fresh(f"extractelement {vector} {value}, i32 {place}"))
        self._inspect_rows(skewed)
        self._lines.append(f"  br label %{done}")
        self._start(ragged)
        self._inspect_rows([a for _, a in self.staged])
        self._lines.append(f"  br label %{done}")
        self._start(done)

    def _inspect_rows(self, arrays: list[Array]) -> None:
        """Each thread checks its share of its state's rows."""
        for array in arrays:
            some = self._fresh(f"icmp slt i64 %strand, {array.size}")
            row = self._fresh(f"mul i64 %place, {self.plan.pitch(array)}")
            source = self._at(self._fresh(f"add i64 %offset, {row}"), self.plan.start[array])
            with self.turns("%strand", str(array.size), self.strands.count, some) as k:
                here = self._fresh(
                    f"getelementptr {self.number.scalar}, ptr {self.device.shared} {source}, i64 {k}"
                )
                self._other = value = self._fetch(here)
                self._look_at(value)

    # -- upper halves of numbers, compared on units other than those for arithmetic

    def _upper_bits(self, value: str) -> str:
        bits = self._fresh(f"lshr i64 {self._fresh(f'bitcast double {value} to i64')}, 32")
        return self._fresh(f"trunc i64 {bits} to i32")

    def _upper(self, value: str) -> str:
        """A number as a float32: for a float64 its upper half, not finite either if the number is huge."""
        if self.number.bytes == 4:
            return value
        return self._fresh(f"bitcast i32 {self._upper_bits(value)} to float")

    def is_far(self, angle: str, most: float) -> str:
        """Also true for NaN: results show it, and the other kernel is not requested."""
        if self.number.bytes == 4:
            return super().is_far(angle, most)
        size = self._fresh(f"call float @llvm.fabs.f32(float {self._upper(angle)})")
        upper = struct.unpack("<ff", struct.pack("<d", most))[1]
        return self._fresh(f"fcmp uge float {size}, {Number('float32', 1).constant(upper)}")

    def is_below_one(self, value: str) -> str:
        """Whether a number is below 1 or NaN; for a float64 by an integer comparison of its upper half."""
        if self.number.bytes == 4:
            return self._fresh(f"fcmp ult float {value}, {self.number.constant(1.0)}")
        above = self._fresh(f"sub i32 {self._upper_bits(value)}, {ONE}")
        return self._fresh(f"icmp ugt i32 {above}, {INFINITE - ONE}")

    # -- checks of inputs that are not copied to shared memory

    def _look(self, number: int, array: Array) -> None:
        """Check the rows of an input in global memory: each thread its share."""
        if all((array, k) in self.tells for k in range(array.size)):
            return
        source = self.row(f"in{number}", "%state")
        some = self._fresh(f"icmp slt i64 %strand, {array.size}")
        with self.turns("%strand", str(array.size), self.strands.count, some) as k:
            place = self._fresh(f"getelementptr {self.number.scalar}, ptr addrspace(1) {source}, i64 {k}")
            value = self._fresh(f"load {self.number.scalar}, ptr addrspace(1) {place}, !invariant.load !1")
            self._other = value
            self._look_at(value)

    # -- rows out

    def _write(self, target: str, place: str, value: str) -> None:
        scalar = self.number.scalar
        there = self._fresh(f"getelementptr {scalar}, ptr addrspace(1) {target}, i64 {place}")
        self._lines.append(f"  store {scalar} {value}, ptr addrspace(1) {there}")

    def _give_rows(self, number: int, array: Array, target: str) -> None:
        vector, many = self._vector
        total = self.tile * array.size // many
        good = self._fresh(f"and i1 %full, {self._is_even(f'out{number}')}")
        if self.plan.pitch(array) != array.size:
            good = "false"
        whole, ragged, done = self._labels("give", "last", "given")
        self._lines.append(f"  br i1 {good}, label %{whole}, label %{ragged}")
        self._start(whole)
        source = self._at(self._place(array, "0"), self.plan.start[array])
        if total <= LONGEST * self.threads:
            for j in range(0, total, self.threads):
                with self._among(j, total) as k:
                    self._give_chunk(vector, source, target, k)
        else:
            some = self._fresh(f"icmp slt i64 %tid, {total}")
            with self.turns("%tid", str(total), self.threads, some, True) as turn:
                self._give_chunk(vector, source, target, turn)
        self._lines.append(f"  br label %{done}")
        self._start(ragged)
        numbers = self._fresh(f"mul i64 %rows, {array.size}")
        some = self._fresh(f"icmp slt i64 %tid, {numbers}")
        often = self.plan.pitch(array) != array.size
        with self.turns("%tid", numbers, self.threads, some, often) as one:
            place = self._place(array, self._skewed(array, one))
            self._write(target, one, self._fetch(self._at(place, self.plan.start[array])))
        self._lines.append(f"  br label %{done}")
        self._start(done)

    def _give_chunk(self, vector: str, source: str, target: str, k: str) -> None:
        here = self._fresh(f"getelementptr {vector}, ptr {self.device.shared} {source}, i64 {k}")
        value = self._fresh(f"load {vector}, ptr {self.device.shared} {here}, align {CHUNK}")
        there = self._fresh(f"getelementptr {vector}, ptr addrspace(1) {target}, i64 {k}")
        self._lines.append(f"  store {vector} {value}, ptr addrspace(1) {there}, align {CHUNK}")

    # -- packed results

    def _places(self, number: int, array: Array) -> str:
        """The table of the positions of a packed result's elements."""
        slots = self.plan.packed[array]
        numbers = ", ".join(f"i32 {slots.get(e, 0) * (self.tile + 1)}" for e in range(array.size))
        return f"@places{number} = internal addrspace(1) constant [{array.size} x i32] [{numbers}]"

    def _unpack(self, number: int, array: Array, target: str) -> None:
        """Each thread writes some columns: the positions of their numbers are the same in all rows."""
        some = self._fresh(f"icmp slt i64 %tid, {array.size}")
        with self.turns("%tid", str(array.size), self.threads, some) as column:
            entry = self._fresh(f"getelementptr i32, ptr addrspace(1) @places{number}, i64 {column}")
            slot = self._fresh(f"load i32, ptr addrspace(1) {entry}, !invariant.load !1")
            wide = self._fresh(f"zext i32 {slot} to i64")
            source = self._at(wide, self.plan.start[array])
            there = self._fresh(
                f"getelementptr {self.number.scalar}, ptr addrspace(1) {target}, i64 {column}"
            )
            whole, ragged, done = self._labels("columns", "fewer", "unpacked")
            self._lines.append(f"  br i1 %full, label %{whole}, label %{ragged}")
            self._start(whole)
            for row in range(self.tile):
                self._give_one(array, source, there, str(row))
            self._lines.append(f"  br label %{done}")
            self._start(ragged)
            with self.turns("0", "%rows") as one:
                self._give_one(array, source, there, one)
            self._lines.append(f"  br label %{done}")
            self._start(done)

    def _give_one(self, array: Array, source: str, target: str, row: str) -> None:
        scalar = self.number.scalar
        place = self._fresh(f"getelementptr {scalar}, ptr {self.device.shared} {source}, i64 {row}")
        value = self._fetch(place)
        line = str(int(row) * array.size) if row.isdigit() else self._fresh(f"mul i64 {row}, {array.size}")
        self._write(target, line, value)
