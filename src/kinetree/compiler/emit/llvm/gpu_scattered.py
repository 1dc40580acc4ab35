"""Kernels with direct access to global memory, one thread per state: for any strides, and for loops.

Work arrays whose indices are all constant are thread-local, in registers as far as possible; so are others if
they are small. Larger ones are in `work`, interleaved by thread.
"""

from __future__ import annotations

from typing import Any

from kinetree.compiler.emit.llvm.device import Device
from kinetree.compiler.emit.llvm.gpu_kernel import ANY, GpuModule
from kinetree.compiler.emit.llvm.gpu_plan import WARP
from kinetree.compiler.emit.llvm.gpu_together import Together
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Array, Clear, Spoil, Store
from kinetree.compiler.ir.program import Program, wandering
from kinetree.compiler.passes.spoil import telling
from kinetree.ops import Expr

DEEP = 2  # scopes beyond which inputs are read again at each use: loops within loops
FRESH = 256  # addresses in work arrays after which the pitch is read anew
OWN_BYTES = 2048  # work arrays with computed indices are thread-local up to this size


class Scattered(Together):
    """Prints a program for one thread."""

    threads_per_state = 1

    def __init__(
        self, program: Program, number: Number, dense: bool, device: Device, large: bool, together: int
    ):
        super().__init__(program, number, device, large, together)
        self.tile = self.threads // self.threads_per_state
        self.dense = dense  # the numbers of a state are contiguous
        self.names = {a: f"in{k}" for k, a in enumerate(program.inputs)}
        self.names |= {a: f"out{k}" for k, a in enumerate(program.outputs)}
        places = wandering(program)
        size = sum(a.size for a in program.work if a in places)
        self.work_numbers = size if size * number.bytes > OWN_BYTES else 0
        self.own = {a: k for k, a in enumerate(program.work) if not self.work_numbers or a not in places}
        self.work_start: dict[Array, int] = {}
        self._addresses = 0
        start = 0
        for array in program.work:
            if array not in self.own:
                self.work_start[array] = start
                start += array.size

    def module(self) -> GpuModule:
        p, scalar = self.program, self.number.scalar
        for array, k in self.own.items():
            self.reserve(f"own{k}", f"[{max(array.size, 1)} x {scalar}]")
        if p.guard is not None:
            self.reserve("guard", scalar)
        self.reserve("beyond", "i1")
        self.reserve("poison", scalar)
        self.only_if_asked()
        self.head()
        self._lines += [
            *self._member(),
            f"  %ours = mul i64 %first, {self.threads_per_state}",
            "  %thread = add i64 %ours, %tid",
            f"  %pitch = mul i64 %step, {self.threads_per_state}",
            f"  %place = {self.device.opaque.format('%base')}",  # so that no addresses are kept
            *self._state(),
            "mine:",
            "  store i1 false, ptr %beyond",
        ]
        self._label = "mine"
        self.rows = {array: self.row(name, "%state") for array, name in self.names.items()}
        self.statements(p.body.statements)
        self._judge()
        self.ask()
        self.foot()
        least = WARP if self.is_flexible else 0
        return GpuModule(self.text([]), self.tile, self.threads, 0, self.work_numbers, ANY, least)

    def _member(self) -> list[str]:
        """The state of a thread among those of its block."""
        return ["  %member = add i64 %tid, 0"]

    def _state(self) -> list[str]:
        """The state of a thread. In lockstep, surplus threads repeat the last state."""
        if self.meetings or self.threads_per_state > 1:
            return [
                "  %own = add i64 %place, %member",
                "  %inside = icmp slt i64 %own, %n",
                "  %last = sub i64 %n, 1",
                "  %state = select i1 %inside, i64 %own, i64 %last",
                "  br label %mine",
            ]
        return [
            "  %state = add i64 %place, %member",
            "  %inside = icmp slt i64 %state, %n",
            "  br i1 %inside, label %mine, label %latch",  # sums in memory have one thread each
        ]

    def expression(self, e: Expr) -> None:
        if e.op == "sqrt" and self.root:
            self.roots = True
            b = self._operand(e.args[0])
            pair = self._fresh(f"call {{ float, i1 }} @root(float {b})")
            self._beyond(self.not_ordinary(self._fresh(f"extractvalue {{ float, i1 }} {pair}, 1"), b))
            self._bind(e, self._fresh(f"extractvalue {{ float, i1 }} {pair}, 0"))
        else:
            super().expression(e)

    def not_ordinary(self, odd: str, below: str) -> str:
        """A state that has become NaN in a time loop stays NaN: the other kernel cannot do better."""
        number = self._fresh(f"fcmp ord {self.number.scalar} {below}, {below}")
        return self._fresh(f"and i1 {odd}, {number}")

    # -- memory

    def _element(self, array: Array, index: Any) -> str:
        place = self._integer(index)
        if not self.dense:
            place = self._fresh(f"mul i64 {place}, %{self.names[array]}.e")
        return self._fresh(
            f"getelementptr {self.number.scalar}, ptr addrspace(1) {self.rows[array]}, i64 {place}"
        )

    def _load(self, value: Expr) -> str:
        array, index = value.args
        scalar = self.number.scalar
        if array in self.layout.table:
            return self.table(value)
        if array.kind == "input":
            address = self._element(array, index)
            if len(self._scopes) > DEEP:  # kept over a loop, it would only be spilled
                return self._fresh(f"load volatile {scalar}, ptr addrspace(1) {address}")
            return self._fresh(f"load {scalar}, ptr addrspace(1) {address}, !invariant.load !1")
        address, space = self._address(array, index)
        return self._fresh(f"load {scalar}, ptr{space} {address}")

    def _address(self, array: Array, index: Any) -> tuple[str, str]:
        """The address and address space of an element of a work array, an output or the guard."""
        scalar = self.number.scalar
        if array is self.program.guard:
            return "%guard", ""
        if array.kind == "output":
            return self._element(array, index), " addrspace(1)"
        place = self._integer(index)
        if array in self.own:
            return self._fresh(f"getelementptr {scalar}, ptr %own{self.own[array]}, i64 {place}"), ""
        slot = self._fresh(f"add i64 {place}, {self.work_start[array]}")
        pitch, base = self._work()
        row = self._fresh(f"mul i64 {slot}, {pitch}")
        return self._fresh(f"getelementptr {scalar}, ptr addrspace(1) {base}, i64 {row}"), " addrspace(1)"

    def _work(self) -> tuple[str, str]:
        """The distance of the numbers of a thread's work arrays, and where they begin, unknown to LLVM.

        Otherwise it would compute all addresses at once and keep them, and take minutes to relate them.
        """
        known, self._addresses = self._find("work"), self._addresses + 1
        if known is None or self._addresses % FRESH == 0:
            pitch, place = (self._fresh(self.device.opaque.format(x)) for x in ("%pitch", "%thread"))
            scalar = self.number.scalar
            base = self._fresh(f"getelementptr {scalar}, ptr addrspace(1) %work, i64 {place}")
            known = self._scopes[-1]["work"] = f"{pitch} {base}"
        pitch, base = known.split()
        return pitch, base

    def store(self, s: Store) -> None:
        self._put(s.array, s.index, self._operand(s.value), s.accumulate)

    def _put(self, array: Array, index: Any, value: str, accumulate: bool = False) -> None:
        address, space = self._address(array, index)
        scalar = self.number.scalar
        if accumulate:
            before = self._fresh(f"load {scalar}, ptr{space} {address}")
            value = self._fresh(f"fadd {scalar} {before}, {value}")
        self._lines.append(f"  store {scalar} {value}, ptr{space} {address}")

    def clear(self, s: Clear) -> None:
        self._fill(s.array, self.number.constant(0.0))

    def _fill(self, array: Array, value: str) -> None:
        """Fill an array with one value."""
        if array.size:
            with self.turns("0", str(array.size)) as k:
                self._put(array, k, value)

    # -- rules of a result

    def spoil(self, s: Spoil) -> None:
        """NaN in all results of a state with an input that is not finite."""
        if self.program.is_straight:
            with self.rarely(self._perhaps(s)):
                self._spoil(s)
        else:
            self._spoil(s)

    def _perhaps(self, s: Spoil) -> str:
        """Whether an input may not be finite, or the state be refused: by the results, and what they hide."""
        program, scalar, zero = self.program, self.number.scalar, self.number.constant(0.0)
        stores = [x for x in program.body.statements if isinstance(x, Store) and x.array in program.outputs]
        values: list[Any] = [x.value for x in stores if type(x.value) is Expr]
        told, total = telling(program), zero
        if len(set(values)) >= len(told):
            values, told = [], set()
        values = [self._operand(v) for v in dict.fromkeys(values)]
        loads = {e.args: e for e in program.body.statements if isinstance(e, Expr) and e.op == "load"}
        for place in ((a, k) for a in s.inputs for k in range(a.size)):
            if place not in told:
                address = self._element(*place)
                again = f"load {scalar}, ptr addrspace(1) {address}, !invariant.load !1"
                values.append(self._operand(loads[place]) if place in loads else self._fresh(again))
        for value in values:
            total = self.nothing(total, value)
        bad = self._fresh(f"fcmp une {scalar} {total}, {zero}")
        return self._fresh(f"or i1 {bad}, {self._refused()}") if s.silent else bad

    def _refused(self) -> str:
        """Whether the guard refuses this state."""
        trust = self._fresh(f"load {self.number.scalar}, ptr %guard")
        return self._fresh(f"fcmp ult {self.number.scalar} {trust}, {self.number.constant(1.0)}")

    def _spoil(self, s: Spoil) -> None:
        scalar, zero = self.number.scalar, self.number.constant(0.0)
        self._lines.append(f"  store {scalar} {zero}, ptr %poison")
        for array in s.inputs:
            if not array.size:
                continue
            with self.turns("0", str(array.size)) as k:
                address = self._element(array, k)
                value = self._fresh(f"load {scalar}, ptr addrspace(1) {address}, !invariant.load !1")
                before = self._fresh(f"load {scalar}, ptr %poison")
                self._lines.append(f"  store {scalar} {self.nothing(before, value)}, ptr %poison")
        total = self._fresh(f"load {scalar}, ptr %poison")
        bad = self._fresh(f"fcmp une {scalar} {total}, {zero}")
        if s.silent:
            bad = self._fresh(f"or i1 {bad}, {self._refused()}")
        with self.rarely(bad):
            for array in s.outputs:
                self._fill(array, self.number.constant(float("nan")))
            if s.guard is not None:
                self._lines.append(f"  store {scalar} {self.number.constant(1.0)}, ptr %guard")

    def _judge(self) -> None:
        """Note a state that the guard refuses; with large angles that is left to the other kernel."""
        if self.program.guard is None:
            return
        low = self._refused()
        if not self.large:
            low = self._fresh(f"and i1 {low}, {self._fresh(f'xor i1 {self._met()}, true')}")
        with self.rarely(low):
            self.refuse("%state")

    def _met(self) -> str:
        """Whether an angle was too large."""
        return self._fresh("load i1, ptr %beyond")
