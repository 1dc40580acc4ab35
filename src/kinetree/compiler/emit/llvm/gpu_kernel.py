"""Shared by all GPU kernels: parameters, the printer's own loops, sines, notes.

    kernel(input, state stride, element stride, ..., output, ..., tables, work, notes, n, blocks, epoch)

Strides count numbers. `notes` holds the index of the first state that the guard refuses, followed by the
`epoch` of the last launch that met an angle too large for it. Sines of large angles need much more code, so
there are two kernels: the first handles ordinary angles only; the other (`large`) returns at once unless the
first has noted its epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kinetree.compiler.emit.llvm import elementary, reciprocal, sincos
from kinetree.compiler.emit.llvm.body import Printer
from kinetree.compiler.emit.llvm.device import Device, attributes, declarations
from kinetree.compiler.emit.llvm.layout import layout
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Array, Part
from kinetree.compiler.ir.program import Program, walk
from kinetree.ops import Expr

ANY = 0  # no limit on waves
TURNS = ("sin", "cos")  # operations that need the second kernel
EXACT = (1.0, -1.0, 2.0, -2.0)  # numerators for which multiplying by the reciprocal is exact


@dataclass(frozen=True)
class GpuModule:
    """LLVM text with one kernel, `states`, and what its launch needs."""

    text: str
    tile: int  # states per block
    threads: int  # per block
    shared_bytes: int  # dynamic, requested at launch
    work_numbers: int  # per thread in `work`; 0 if work arrays are thread-local
    waves: int  # waves of blocks to launch; blocks then loop over tiles
    least: int = 0  # if blocks can be smaller, of one warp or more: a state per thread; 0: they cannot


class Counter(str):
    """The name of an integer counter of a loop of the printer itself."""


class GpuKernel(Printer):
    """Prints a program for the threads of a block."""

    tables = " addrspace(1)"
    tile = threads = 128
    resident = 0

    def __init__(self, program: Program, number: Number, device: Device, large: bool):
        super().__init__(program, number, layout(program, number, 0, 1), {}, True)
        self.device, self.large = device, large
        turns = any(isinstance(s, Expr) and s.op in TURNS for s in walk(program.body))
        self.rough = device.reciprocal.get(number.dtype, "") if turns and not large else ""
        self.root = device.root.get(number.dtype, "") if turns and not large else ""
        self.divides = self.roots = False
        self.exact = True

    def approximate(self) -> None:
        """Use approximate float32 division and square root."""
        if self.number.dtype == "float32" and self.device.roughly:
            self.exact, self.rough, self.root = False, "", ""

    # -- the kernel

    def parameters(self) -> str:
        p = self.program
        found = []
        for k in range(len(p.inputs)):
            found.append(f"ptr addrspace(1) noalias readonly %in{k}, i64 %in{k}.s, i64 %in{k}.e")
        for k in range(len(p.outputs)):
            found.append(f"ptr addrspace(1) %out{k}, i64 %out{k}.s, i64 %out{k}.e")
        found += ["ptr addrspace(1) noalias readonly %tables", "ptr addrspace(1) %work"]
        found += ["ptr addrspace(1) %notes", "i64 %n", "i64 %blocks", "i64 %epoch"]
        return ", ".join(found)

    def only_if_asked(self) -> None:
        """The kernel for large angles returns at once unless the other one met such an angle."""
        self._lines += [
            "  %far = getelementptr i32, ptr addrspace(1) %notes, i64 2",
            "  %epoch32 = trunc i64 %epoch to i32",
        ]
        if self.large:
            self._lines += [
                "  %asked = load i32, ptr addrspace(1) %far",
                "  %wanted = icmp eq i32 %asked, %epoch32",
                "  br i1 %wanted, label %wanted.go, label %finish",
                "wanted.go:",
            ]
            self._label = "wanted.go"

    def enter(self) -> None:
        """What is done once, before the loop."""

    def head(self) -> None:
        """Up to the loop over states: thread and block indices, and whether there is any work."""
        self._lines += [
            f"  %tid32 = {self.device.thread}",
            f"  %ctaid32 = {self.device.block}",
            "  %tid = zext i32 %tid32 to i64",
            "  %ctaid = zext i32 %ctaid32 to i64",
            *self.width(),
            "  %first = mul i64 %ctaid, %width",
            "  %step = mul i64 %blocks, %width",
            "  %any = icmp slt i64 %first, %n",
            "  br i1 %any, label %enter, label %finish",
            "enter:",
        ]
        self._label = "enter"
        self.enter()
        before = self._label
        self._lines += [
            "  br label %states",
            "states:",
            f"  %base = phi i64 [ %first, %{before} ], [ %base.next, %again ]",
            f"  %count = phi i32 [ 0, %{before} ], [ %count.next, %again ]",
        ]
        self._label = "states"

    def width(self) -> list[str]:
        """The number of states that a block computes at a time."""
        return [f"  %width = add i64 0, {self.tile}"]

    def foot(self) -> None:
        self._lines += [
            "  br label %latch",
            "latch:",
            "  %base.next = add i64 %base, %step",
            "  %more = icmp slt i64 %base.next, %n",
            "  br i1 %more, label %again, label %finish",
            "again:",
            "  %count.next = add i32 %count, 1",
        ]
        self.between()
        self._lines += ["  br label %states", "finish:", "  ret void"]

    def between(self) -> None:
        """What is done between two tiles."""

    def text(self, memory: list[str]) -> str:
        """The module; `memory` declares the shared memory of the kernel."""
        number, device = self.number, self.device
        body = "\n".join(["entry:", *self._lines])
        functions = list(memory)
        if self.needs_sincos:
            functions.append(sincos.define(number, True, "alwaysinline nounwind", near=not self.large))
            functions += [sincos.define_large("addrspace(4)")] if self.large else []
        if self.divides:
            functions.append(reciprocal.define(number, self.rough))
        functions += [reciprocal.define_root(self.root)] if self.roots else []
        functions += [elementary.define(op, number, "alwaysinline nounwind") for op in sorted(self.library)]
        functions.append(f"define {device.kernel} void @states({self.parameters()}) #0 {{\n{body}\n}}")
        functions += [device.whole] if "@gates" in "".join(memory) else []
        functions += [device.declarations, declarations()]
        functions.append(attributes(device, self.threads, self.resident))
        return "\n\n".join(functions)

    def reserve(self, name: str, kind: str) -> None:
        """Reserve thread-local memory."""
        own = self.device.own
        if not own:
            self._lines.append(f"  %{name} = alloca {kind}")
            return
        self._lines += [
            f"  %{name}.own = alloca {kind}, {own}",
            f"  %{name} = addrspacecast ptr {own} %{name}.own to ptr",
        ]

    # -- the printer's own loops and branches

    @contextmanager
    def turns(
        self, first: str, stop: str, step: Any = 1, some: str = "true", often: bool = False
    ) -> Iterator[Counter]:
        """A loop over the integers from `first` to below `stop`, if there are `some`.

        `often`: optimise for speed; otherwise for code size.
        """
        head, done = self._labels("turn", "turned")
        before = self._label
        self._lines.append(f"  br i1 {some}, label %{head}, label %{done}")
        self._start(head)
        place = len(self._lines)
        k = Counter(self._fresh("phi"))
        self._scopes.append({})  # what is computed here is not known behind the loop
        yield k
        self._scopes.pop()
        self._lines.append(f"  %{head}.i = add i64 {k}, {step}")
        more = self._fresh(f"icmp slt i64 %{head}.i, {stop}")
        self._lines[place] = f"  {k} = phi i64 [ {first}, %{before} ], [ %{head}.i, %{self._label} ]"
        short = "" if often else ", !llvm.loop !2"
        self._lines.append(f"  br i1 {more}, label %{head}, label %{done}{short}")
        self._start(done)

    @contextmanager
    def rarely(self, condition: str) -> Iterator[None]:
        """Code for a condition that hardly ever holds."""
        some, none = self._labels("rare", "usual")
        self._lines.append(f"  br i1 {condition}, label %{some}, label %{none}, !prof !0")
        self._start(some)
        yield
        self._lines.append(f"  br label %{none}")
        self._start(none)

    def _integer(self, value: Any) -> str:
        return str(value) if isinstance(value, Counter) else super()._integer(value)

    # -- memory

    def table(self, value: Expr) -> str:
        """An element of a constant table."""
        array, index = value.args
        kind = self.number.scalar if value.op == "load" else "i64"
        return self._constant(array, self._integer(index), kind)

    def row(self, name: str, state: str) -> str:
        """The address of the numbers of a state."""
        offset = self._fresh(f"mul i64 {state}, %{name}.s")
        return self._fresh(f"getelementptr {self.number.scalar}, ptr addrspace(1) %{name}, i64 {offset}")

    def nothing(self, total: str, value: str) -> str:
        """A sum that stays 0 as long as all numbers are finite."""
        scalar, zero = self.number.scalar, self.number.constant(0.0)
        suffix = self.number.suffix
        return self._fresh(
            f"call {scalar} @llvm.fma.{suffix}({scalar} {value}, {scalar} {zero}, {scalar} {total})"
        )

    def summed(self, addresses: list[tuple[str, str, Array]]) -> str:
        """Such a sum over whole rows: (address space, address of the row, array) of each."""
        scalar, zero = self.number.scalar, self.number.constant(0.0)
        self._lines.append(f"  store {scalar} {zero}, ptr %poison")
        for space, address, array in addresses:
            if array.size:
                with self.turns("0", str(array.size)) as k:
                    place = self._fresh(f"getelementptr {scalar}, ptr {space} {address}, i64 {k}")
                    value = self._fresh(f"load {scalar}, ptr {space} {place}")
                    before = self._fresh(f"load {scalar}, ptr %poison")
                    self._lines.append(f"  store {scalar} {self.nothing(before, value)}, ptr %poison")
        total = self._fresh(f"load {scalar}, ptr %poison")
        return self._fresh(f"fcmp une {scalar} {total}, {zero}")

    # -- statements

    def part(self, part: Part) -> None:
        self.statements(part.body.statements)

    def _pair(self, angle: str, pair_type: str) -> str:
        if not self.large:
            self._beyond(self.is_far(angle, sincos.FAR[self.number.dtype]))
        return super()._pair(angle, pair_type)

    def is_far(self, angle: str, most: float) -> str:
        """Whether an angle is too large for this kernel."""
        scalar = self.number.scalar
        size = self._fresh(f"call {scalar} @llvm.fabs.{self.number.suffix}({scalar} {angle})")
        return self._fresh(f"fcmp ogt {scalar} {size}, {self.number.constant(most)}")

    def _beyond(self, condition: str) -> None:
        """Leave this state to the other kernel if a condition holds."""
        self.gather("beyond", condition)

    def gather(self, name: str, condition: str) -> None:
        """Collect a condition that should never hold."""
        known = self._fresh(f"load i1, ptr %{name}")
        self._lines.append(f"  store i1 {self._fresh(f'or i1 {condition}, {known}')}, ptr %{name}")

    def expression(self, e: Expr) -> None:
        if e.op in ("div", "sqrt") and not self.exact:
            self._bind(e, self._roughly(e))
        elif e.op == "div" and self.rough and not isinstance(e.args[0], Expr) and e.args[0] in EXACT:
            self._bind(e, self._reciprocal(float(e.args[0]), self._operand(e.args[1])))
        else:
            super().expression(e)

    def _roughly(self, e: Expr) -> str:
        """An approximate quotient or square root."""
        *above, below = (self._operand(x) for x in e.args)
        if e.op == "sqrt":
            return self._fresh(self.device.roughly.format(below))
        inverse = self._fresh(self.device.reciprocal["float32"].format(below))
        is_one = not isinstance(e.args[0], Expr) and e.args[0] == 1.0
        return inverse if is_one else self._fresh(f"fmul float {above[0]}, {inverse}")

    def not_ordinary(self, odd: str, below: str) -> str:
        """Whether a division is left to the other kernel."""
        return odd

    def _reciprocal(self, above: float, below: str) -> str:
        """A power of two divided by a number."""
        self.divides = True
        scalar = self.number.scalar
        pair = self._fresh(f"call {{ {scalar}, i1 }} @reciprocal({scalar} {below})")
        self._beyond(self.not_ordinary(self._fresh(f"extractvalue {{ {scalar}, i1 }} {pair}, 1"), below))
        value = self._fresh(f"extractvalue {{ {scalar}, i1 }} {pair}, 0")
        if above == 1.0:
            return value
        return self._fresh(f"fmul {scalar} {value}, {self.number.constant(above)}")

    # -- notes

    def ask(self) -> None:
        """Request the kernel for large angles, if an angle was too large."""
        if not self.large:
            with self.rarely(self._fresh("load i1, ptr %beyond")):
                self._lines.append("  store i32 %epoch32, ptr addrspace(1) %far")

    def refuse(self, state: str) -> None:
        """Note the first state that the guard refuses."""
        self._fresh(f"atomicrmw umin ptr addrspace(1) %notes, i64 {state} monotonic")
