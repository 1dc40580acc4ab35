"""A program as a kernel for a graphics processor: one state a thread, in LLVM text.

    kernel(input, state stride, element stride, ..., output, ..., tables, work, worst, n, blocks)

Strides count numbers. The threads of a block compute neighbouring states. Inputs are read where they stand;
results of straight programs that stand in rows leave through shared memory, tile by tile, so that rows are
written in whole lines. Work arrays that are small stay with their thread; larger ones stand in `work`,
interleaved by thread. `worst` is lowered to the number of the first state that the guard refuses.

Large angles need much more code for their sines. So there are two kernels: one without it, which notes behind
`worst` if it met such an angle, and one with it (`large`), which returns at once if there was none.

What is particular to one make of processor is a `Device`; everything else is the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kinetree.compiler.emit.llvm import sincos
from kinetree.compiler.emit.llvm.body import Printer
from kinetree.compiler.emit.llvm.device import AMD, ATTRIBUTES, NVIDIA, Device, declarations
from kinetree.compiler.emit.llvm.instructions import LIBRARY
from kinetree.compiler.emit.llvm.layout import layout
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Array, Clear, Part, Spoil, Store
from kinetree.compiler.ir.program import Program, walk
from kinetree.errors import CompileError
from kinetree.ops import Expr

THREADS = 128  # of a block
TILE = 32  # elements of a row that leave together
OWN_BYTES = 2048  # work arrays up to this size stay with their thread


@dataclass(frozen=True)
class GpuModule:
    """LLVM text with one kernel, `states`, and what launching it needs."""

    text: str
    shared_bytes: int
    work_numbers: int  # for each thread in `work`; 0 if its work arrays stay with it


def emit_gpu(
    program: Program, dtype: str, rows: bool, device: Device = NVIDIA, large: bool = True
) -> GpuModule:
    """The module of a program. `rows`: results stand in rows without gaps; else anywhere."""
    refused = sorted({s.op for s in walk(program.body) if isinstance(s, Expr) and s.op in LIBRARY})
    if refused:
        raise CompileError(
            f"{program.name}: {', '.join(refused)} cannot run on a GPU; use target='cpu' for this function"
        )
    return _Kernel(program, Number(dtype, 1), rows, device, large).module()


class _Kernel(Printer):
    """Prints a program for one thread."""

    def __init__(self, program: Program, number: Number, rows: bool, device: Device, large: bool):
        super().__init__(program, number, layout(program, number, 0, 1), {}, True)
        self.device = device
        self.large = large
        self.staged = rows and program.is_straight
        self.rows = rows
        self.results_kept: dict[Array, dict[int, str]] = {a: {} for a in program.outputs}
        size = sum(a.size for a in program.work)
        self.work_numbers = size if size * number.bytes > OWN_BYTES else 0
        self.work_start: dict[Array, int] = {}
        start = 0
        for array in program.work:
            self.work_start[array] = start
            start += array.size

    # -- the kernel

    def module(self) -> GpuModule:
        p, number, device = self.program, self.number, self.device
        scalar = number.scalar
        parameters = []
        for k in range(len(p.inputs)):
            parameters.append(f"ptr addrspace(1) noalias readonly %in{k}, i64 %in{k}.s, i64 %in{k}.e")
        for k in range(len(p.outputs)):
            parameters.append(f"ptr addrspace(1) %out{k}, i64 %out{k}.s, i64 %out{k}.e")
        parameters += ["ptr addrspace(1) noalias readonly %tables", "ptr addrspace(1) %work"]
        parameters += ["ptr addrspace(1) %worst", "i64 %n", "i64 %blocks"]
        if not self.work_numbers:
            for array in p.work:
                self._reserve(f"own{self.work_start[array]}", f"[{max(array.size, 1)} x {scalar}]")
        if p.guard is not None:
            self._reserve("guard", scalar)
        self._reserve("beyond", "i1")
        self._reserve("poison", scalar)
        self._lines += [
            f"  %tid32 = {device.thread}",
            f"  %ctaid32 = {device.block}",
            "  %tid = zext i32 %tid32 to i64",
            "  %ctaid = zext i32 %ctaid32 to i64",
            f"  %first = mul i64 %ctaid, {THREADS}",
            "  %thread = add i64 %first, %tid",
            f"  %threads = mul i64 %blocks, {THREADS}",
            "  %far = getelementptr i32, ptr addrspace(1) %worst, i64 2",
            "  %asked = load i32, ptr addrspace(1) %far",
            f"  %wanted = icmp {'ne' if self.large else 'ule'} i32 %asked, {0 if self.large else -1}",
            "  %inside.any = icmp slt i64 %first, %n",
            "  %any = and i1 %inside.any, %wanted",
            "  br i1 %any, label %states, label %finish",
            "states:",
            "  %base = phi i64 [ %first, %entry ], [ %base.next, %latch ]",
            "  %mine = add i64 %base, %tid",
            "  %last = sub i64 %n, 1",
            "  %inside = icmp slt i64 %mine, %n",
            "  %state = select i1 %inside, i64 %mine, i64 %last",
        ]
        self._label = "states"
        for k in range(len(p.inputs)):
            self._row(f"in{k}")
        for k in range(len(p.outputs)):
            self._row(f"out{k}")
        self._lines.append("  store i1 false, ptr %beyond")
        self.statements(p.body.statements)
        self._refuse()
        if not self.large:
            self._ask()
        if self.staged:
            self._deliver()
        self._lines += [
            "  br label %latch",
            "latch:",
            "  %base.next = add i64 %base, %threads",
            "  %more = icmp slt i64 %base.next, %n",
            "  br i1 %more, label %states, label %finish",
            "finish:",
            "  ret void",
        ]
        pitch = self._pitch()
        shared = THREADS * pitch * number.bytes if self.staged and pitch else 0
        size = THREADS * max(pitch, 1)
        store = f"@stage = internal {device.shared} global [{size} x {scalar}] poison, align 16"
        body = "\n".join(["entry:", *self._lines])
        functions = [store] if shared else []
        if self.needs_sincos:
            functions.append(sincos.define(number, True, "alwaysinline nounwind", near=not self.large))
            functions += [sincos.define_large("addrspace(4)")] if self.large else []
        functions.append(f"define {device.kernel} void @states({', '.join(parameters)}) #0 {{\n{body}\n}}")
        functions += [device.declarations, declarations(number), ATTRIBUTES]
        return GpuModule("\n\n".join(functions), shared, self.work_numbers)

    def _reserve(self, name: str, kind: str) -> None:
        """Memory that belongs to one thread."""
        own = self.device.own
        if not own:
            self._lines.append(f"  %{name} = alloca {kind}")
            return
        self._lines += [
            f"  %{name}.own = alloca {kind}, {own}",
            f"  %{name} = addrspacecast ptr {own} %{name}.own to ptr",
        ]

    def _row(self, name: str) -> None:
        self._lines += [
            f"  %{name}.offset = mul i64 %state, %{name}.s",
            f"  %{name}.row = getelementptr {self.number.scalar}, ptr addrspace(1) %{name}, "
            f"i64 %{name}.offset",
        ]

    # -- memory

    def _element(self, name: str, index: Any, dense: bool) -> str:
        place = self._integer(index)
        if not dense:
            place = self._fresh(f"mul i64 {place}, %{name}.e")
        return self._fresh(f"getelementptr {self.number.scalar}, ptr addrspace(1) %{name}.row, i64 {place}")

    def _load(self, value: Expr) -> str:
        array, index = value.args
        scalar = self.number.scalar
        if array in self.layout.table:
            kind = scalar if value.op == "load" else "i64"
            start = self.layout.table[array]
            base = self._fresh(f"getelementptr i8, ptr addrspace(1) %tables, i64 {start}")
            address = self._fresh(
                f"getelementptr {kind}, ptr addrspace(1) {base}, i64 {self._integer(index)}"
            )
            return self._fresh(f"load {kind}, ptr addrspace(1) {address}, !invariant.load !1")
        if array.kind == "input":
            name = f"in{self.program.inputs.index(array)}"
            address = self._element(name, index, self.rows)
            return self._fresh(f"load {scalar}, ptr addrspace(1) {address}, !invariant.load !1")
        address, space = self._address(array, index)
        return self._fresh(f"load {scalar}, ptr{space} {address}")

    def _address(self, array: Array, index: Any) -> tuple[str, str]:
        """Where an element of a work array, an output or the guard stands, and in which address space."""
        scalar = self.number.scalar
        if array is self.program.guard:
            return "%guard", ""
        if array.kind == "output":
            name = f"out{self.program.outputs.index(array)}"
            return self._element(name, index, self.rows), " addrspace(1)"
        start, place = self.work_start[array], self._integer(index)
        if not self.work_numbers:
            return self._fresh(f"getelementptr {scalar}, ptr %own{start}, i64 {place}"), ""
        slot = self._fresh(f"add i64 {place}, {start}")
        row = self._fresh(f"mul i64 {slot}, %threads")
        offset = self._fresh(f"add i64 {row}, %thread")
        return self._fresh(f"getelementptr {scalar}, ptr addrspace(1) %work, i64 {offset}"), " addrspace(1)"

    def _sincos(self, e: Expr) -> None:
        if not self.large and self._find(("sincos", e.args[0])) is None:
            scalar, angle = self.number.scalar, self._operand(e.args[0])
            size = self._fresh(f"call {scalar} @llvm.fabs.{self.number.suffix}({scalar} {angle})")
            most = self.number.constant(sincos.FAR[self.number.dtype])
            beyond = self._fresh(f"fcmp ogt {scalar} {size}, {most}")
            known = self._fresh("load i1, ptr %beyond")
            self._lines.append(f"  store i1 {self._fresh(f'or i1 {beyond}, {known}')}, ptr %beyond")
        super()._sincos(e)

    def store(self, s: Store) -> None:
        value = self._operand(s.value)
        if self.staged and s.array in self.results_kept:
            kept = self.results_kept[s.array]
            if s.accumulate and s.index in kept:
                value = self._fresh(f"fadd {self.number.scalar} {kept[s.index]}, {value}")
            kept[s.index] = value
            return
        self._put(s.array, s.index, value, s.accumulate)

    def _put(self, array: Array, index: Any, value: str, accumulate: bool = False) -> None:
        address, space = self._address(array, index)
        scalar = self.number.scalar
        if accumulate:
            before = self._fresh(f"load {scalar}, ptr{space} {address}")
            value = self._fresh(f"fadd {scalar} {before}, {value}")
        self._lines.append(f"  store {scalar} {value}, ptr{space} {address}")

    def part(self, part: Part) -> None:
        self.statements(part.body.statements)

    def clear(self, s: Clear) -> None:
        if not (self.staged and s.array in self.results_kept):
            self._fill(s.array, self.number.constant(0.0))

    def _fill(self, array: Array, value: str) -> None:
        """One value in all elements of an array."""
        if array.size:
            with self._turns("0", str(array.size)) as k:
                self._put(array, k, value)

    @contextmanager
    def _turns(self, first: str, stop: str, step: int = 1, some: str = "true") -> Iterator[Counter]:
        """A loop over the integers from `first` to before `stop`, if there are `some`; it has no branches."""
        head, done = self._labels("turn", "turned")
        before = self._label
        self._lines.append(f"  br i1 {some}, label %{head}, label %{done}")
        self._start(head)
        k = Counter(self._fresh(f"phi i64 [ {first}, %{before} ], [ %{head}.i, %{head} ]"))
        yield k
        self._lines.append(f"  %{head}.i = add i64 {k}, {step}")
        more = self._fresh(f"icmp slt i64 %{head}.i, {stop}")
        self._lines.append(f"  br i1 {more}, label %{head}, label %{done}")
        self._start(done)

    def _integer(self, value: Any) -> str:
        return str(value) if isinstance(value, Counter) else super()._integer(value)

    # -- rules of a result

    def spoil(self, s: Spoil) -> None:
        """NaN in all results of a state with an input that is not finite."""
        scalar, zero = self.number.scalar, self.number.constant(0.0)
        self._lines.append(f"  store {scalar} {zero}, ptr %poison")
        for k, array in enumerate(s.inputs):
            if not array.size:
                continue
            with self._turns("0", str(array.size)) as place:
                address = self._element(f"in{k}", place, self.rows)
                value = self._fresh(f"load {scalar}, ptr addrspace(1) {address}, !invariant.load !1")
                nothing = self._fresh(f"fmul {scalar} {value}, {zero}")
                before = self._fresh(f"load {scalar}, ptr %poison")
                after = self._fresh(f"fadd {scalar} {before}, {nothing}")
                self._lines.append(f"  store {scalar} {after}, ptr %poison")
        total = self._fresh(f"load {scalar}, ptr %poison")
        bad = self._fresh(f"fcmp une {scalar} {total}, {zero}")
        if s.silent:
            trust = self._fresh(f"load {scalar}, ptr %guard")
            low = self._fresh(f"fcmp ult {scalar} {trust}, {self.number.constant(1.0)}")
            bad = self._fresh(f"or i1 {bad}, {low}")
        nan = self.number.constant(float("nan"))
        if self.staged:
            for kept, array in ((self.results_kept[a], a) for a in s.outputs):
                for index in range(array.size):
                    value = kept.get(index, zero)
                    kept[index] = self._fresh(f"select i1 {bad}, {scalar} {nan}, {scalar} {value}")
            if s.guard is not None:
                trust = self._fresh(f"load {scalar}, ptr %guard")
                one = self.number.constant(1.0)
                trust = self._fresh(f"select i1 {bad}, {scalar} {one}, {scalar} {trust}")
                self._lines.append(f"  store {scalar} {trust}, ptr %guard")
            return
        spoiled, sound = self._labels("spoiled", "sound")
        self._lines.append(f"  br i1 {bad}, label %{spoiled}, label %{sound}, !prof !0")
        self._start(spoiled)
        for array in s.outputs:
            self._fill(array, nan)
        if s.guard is not None:
            self._lines.append(f"  store {scalar} {self.number.constant(1.0)}, ptr %guard")
        self._lines.append(f"  br label %{sound}")
        self._start(sound)

    def _refuse(self) -> None:
        """Note the first state that the guard refuses."""
        if self.program.guard is None:
            return
        scalar = self.number.scalar
        trust = self._fresh(f"load {scalar}, ptr %guard")
        low = self._fresh(f"fcmp ult {scalar} {trust}, {self.number.constant(1.0)}")
        if not self.large:  # else the other kernel judges
            met = self._fresh("load i1, ptr %beyond")
            low = self._fresh(f"and i1 {low}, {self._fresh(f'xor i1 {met}, true')}")
        refused, fine = self._labels("refused", "fine")
        self._lines.append(f"  br i1 {low}, label %{refused}, label %{fine}, !prof !0")
        self._start(refused)
        self._lines.append("  %old = atomicrmw umin ptr addrspace(1) %worst, i64 %state monotonic")
        self._lines.append(f"  br label %{fine}")
        self._start(fine)

    def _ask(self) -> None:
        """Ask for the kernel that can do large angles, if there was one."""
        far, near = self._labels("asked", "near")
        met = self._fresh("load i1, ptr %beyond")
        self._lines.append(f"  br i1 {met}, label %{far}, label %{near}, !prof !0")
        self._start(far)
        self._lines.append("  store i32 1, ptr addrspace(1) %far")
        self._lines.append(f"  br label %{near}")
        self._start(near)

    # -- results through shared memory

    def _pitch(self) -> int:
        """Numbers from one thread's part of a tile to the next: odd, so that threads use different banks."""
        widest = max((min(a.size, TILE) for a in self.program.outputs), default=0)
        return widest | 1 if widest else 0

    def _deliver(self) -> None:
        scalar, zero, pitch = self.number.scalar, self.number.constant(0.0), self._pitch()
        stage = f"ptr {self.device.shared}"
        left = self._fresh("sub i64 %n, %base")
        full = self._fresh(f"icmp sgt i64 {left}, {THREADS}")
        rows = self._fresh(f"select i1 {full}, i64 {THREADS}, i64 {left}")
        own = self._fresh(f"mul i64 %tid, {pitch}")
        mine = self._fresh(f"getelementptr {scalar}, {stage} @stage, i64 {own}")
        for number, array in enumerate(self.program.outputs):
            for start in range(0, array.size, TILE):
                width = min(TILE, array.size - start)
                for k in range(width):
                    place = self._fresh(f"getelementptr {scalar}, {stage} {mine}, i64 {k}")
                    value = self.results_kept[array].get(start + k, zero)
                    self._lines.append(f"  store {scalar} {value}, {stage} {place}")
                self._lines.append(f"  {self.device.barrier}")
                self._copy(number, array.size, start, width, rows, pitch)
                self._lines.append(f"  {self.device.barrier}")

    def _copy(self, number: int, size: int, start: int, width: int, rows: str, pitch: int) -> None:
        """The tile of all rows of the block, written by all threads in turn."""
        scalar, stage = self.number.scalar, f"ptr {self.device.shared}"
        total = self._fresh(f"mul i64 {rows}, {width}")
        some = self._fresh(f"icmp slt i64 %tid, {total}")
        with self._turns("%tid", total, THREADS, some) as k:
            row = self._fresh(f"udiv i64 {k}, {width}")
            whole = self._fresh(f"mul i64 {row}, {width}")
            column = self._fresh(f"sub i64 {k}, {whole}")
            there = self._fresh(f"mul i64 {row}, {pitch}")
            source = self._fresh(f"add i64 {there}, {column}")
            address = self._fresh(f"getelementptr {scalar}, {stage} @stage, i64 {source}")
            value = self._fresh(f"load {scalar}, {stage} {address}")
            state = self._fresh(f"add i64 %base, {row}")
            line = self._fresh(f"mul i64 {state}, {size}")
            target = self._fresh(f"add i64 {line}, {column}")
            target = self._fresh(f"add i64 {target}, {start}")
            to = self._fresh(f"getelementptr {scalar}, ptr addrspace(1) %out{number}, i64 {target}")
            self._lines.append(f"  store {scalar} {value}, ptr addrspace(1) {to}")


class Counter(str):
    """The name of an integer that a loop of the printer itself counts with."""


__all__ = ["AMD", "NVIDIA", "OWN_BYTES", "THREADS", "Device", "GpuModule", "emit_gpu"]
