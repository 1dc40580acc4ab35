"""Kernels for contiguous rows (batch, n): straight-line programs whose blocks move whole tiles of states.

A block copies the rows of `tile` states into shared memory, line by line, computes, and writes the rows of
the results line by line; where the device can, the rows of its next tile arrive meanwhile. Each state has one
thread; or, for robots with limbs, a thread in each of several warps, which run the strands of the program
(`passes/strands.py`) and exchange numbers through shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from kinetree.compiler.emit.llvm.gpu_arrivals import Arrivals
from kinetree.compiler.emit.llvm.gpu_kernel import GpuModule
from kinetree.compiler.ir.graph import Array, Clear, Spoil, Statement, Store
from kinetree.compiler.passes.park import Fetch, Place, Put
from kinetree.compiler.passes.recompute import is_input
from kinetree.errors import CompileError
from kinetree.ops import PRIMITIVES, Expr
from kinetree.ops.primitives import TRUTH

PINNED = 4  # conditions between writes where registers are scarce


class Tiled(Arrivals):
    """Prints a straight-line program for the threads of a block."""

    def module(self) -> GpuModule:
        plan, scalar, space = self.plan, self.number.scalar, self.device.shared
        self.reserve("low", "i1")
        self.reserve("beyond", "i1")
        self.reserve("poison", scalar)
        self.reserve("sum", "float")
        self.overlap()
        self.only_if_asked()
        self._prepare()
        self.head()
        self._tile()
        self._compute()
        self._judge()
        self._give()
        self.foot()
        memory = [
            f"@shared = external {space} global [0 x {scalar}], align 16",
            f"@marks = internal {space} global [2 x i64] poison, align 8",
            *self.gates,
            *(self._places(k, a) for k, a in enumerate(self.program.outputs) if a in plan.packed),
        ]
        size = plan.numbers * self.number.bytes
        return GpuModule(self.text(memory), self.tile, self.threads, size, 0, self.waves)

    # -- before the first tile

    def _prepare(self) -> None:
        """Clear marks, zero results that are never stored, and check if rows are contiguous and aligned."""
        self._lines.append(f"  %tid0 = zext i32 {self._fresh(self.device.thread)} to i64")
        self._lines.append("  %first.thread = icmp eq i64 %tid0, 0")
        with self.rarely("%first.thread"):
            for k in range(2):
                self._lines.append(f"  store i64 -1, ptr {self.device.shared} {self._mark(k)}")
            self.set_gates()
        for start, size in self.plan.zeros:
            some = self._fresh(f"icmp slt i64 %tid0, {size}")
            with self.turns("%tid0", str(size), self.threads, some) as place:
                self._set(self._at(place, start), self.number.constant(0.0))
        self._lines.append(f"  {self.device.barrier}")
        dense = "true"
        for k, array in self.staged:
            same = self._fresh(f"icmp eq i64 %in{k}.s, {array.size}")
            dense = self._fresh(f"and i1 {dense}, {same}")
            dense = self._fresh(f"and i1 {dense}, {self._is_even(f'in{k}')}")
        self._lines += [f"  %dense = and i1 {dense}, true", "  br label %begin", "begin:"]
        self._label = "begin"

    def _tile(self) -> None:
        """At the beginning of a tile: wait for its rows, and find the state of each thread."""
        turn = self.arrive()
        self._lines += [
            f"  %lane32 = and i32 %tid32, {self.tile - 1}",
            f"  %strand32 = lshr i32 %tid32, {self.tile.bit_length() - 1}",
            "  %left32 = trunc i64 %left to i32",
            f"  %rows32 = select i1 %full, i32 {self.tile}, i32 %left32",
            "  %inside = icmp slt i32 %lane32, %rows32",
            "  %short = sub i32 %rows32, 1",
            "  %place32 = select i1 %inside, i32 %lane32, i32 %short",
            *(f"  %{name} = zext i32 %{name}32 to i64" for name in ("lane", "strand", "rows", "place")),
            "  %state = add i64 %base, %place",
            f"  %offset = mul i64 {turn}, {self.plan.buffer}",
            "  store i1 false, ptr %beyond",
            "  store i1 false, ptr %low",
        ]
        self._lines.append("  store float 0.0, ptr %sum")
        if self.early:
            self._inspect()
            if self.plan.within or self.strands.aside:  # all threads must check rows before an overwrite
                self._barrier()
        for k, array in enumerate(self.program.inputs):
            if array not in self.plan.start and array.size:
                self._look(k, array)

    # -- the program

    def _compute(self) -> None:
        """Every strand runs its statements, phase by phase."""
        self.rows: dict[Array, str] = {}
        for k, array in enumerate(self.program.inputs):
            if array in self.plan.start:
                place = self._fresh(f"mul i64 %lane, {self.plan.pitch(array)}")  # also without a state
                self.rows[array] = self._at(self._fresh(f"add i64 %offset, {place}"), self.plan.start[array])
            else:
                self.rows[array] = self.row(f"in{k}", "%state")
        labels = self._labels(*(f"strand{w}." for w in range(self.strands.count)))
        (done,) = self._labels("computed")
        cases = " ".join(f"i64 {w}, label %{label}" for w, label in enumerate(labels) if w)
        self._lines.append(f"  switch i64 %strand, label %{labels[0]} [ {cases} ]")
        for w, label in reversed(list(enumerate(labels))):
            self._start(label)
            self._scopes, self._strand, self.looked, self._other = [{}], w, set(), ""
            if w == 0 and not self.early:
                self._look_at_unread()
            for phase in self.strands.phases:
                self.statements(phase[w])
                if phase is self.strands.phases[-1]:
                    if self._other:  # waiting for a partner
                        self._look_at(self._other)
                    self._conclude()
                self._meet()
            self._lines.append(f"  br label %{done}")
        self._start(done)
        self._scopes = [{}]

    def statements(self, statements: Sequence[Statement | Put | Fetch]) -> None:
        """Statements in order, with values put aside and fetched again in between."""
        for s in statements:
            if isinstance(s, Put):
                self._set(self._aside(s.slot), self._operand(s.value))
            elif isinstance(s, Fetch):
                self._again(s)
            else:
                super().statements([s])

    def _aside(self, slot: Place) -> str:
        """The address of a value that was put aside."""
        if isinstance(slot, tuple):
            array, index = slot
            row = self._fresh(f"mul i64 %lane, {self.plan.pitch(array)}")
            return self._at(self._fresh(f"add i64 %offset, {row}"), self.plan.start[array] + index)
        return self._at("%lane", self.plan.aside[self._strand] + self.tile * slot)

    def _again(self, s: Fetch) -> None:
        """Fetch a value that was put aside, by a volatile load so that it does not stay in a register."""
        scalar, e = self.number.scalar, s.value
        if is_input(e):
            array, index = e.args
            if array in self.plan.start:
                self._bind(e, self._read(array, int(index), again=True))
            return
        address = self._slot_of(e) if s.slot is None else self._aside(s.slot)
        found = self._fresh(f"load volatile {scalar}, ptr {self.device.shared} {address}")
        if PRIMITIVES[e.op].gives == TRUTH:
            found = self._fresh(f"fcmp une {scalar} {found}, {self.number.constant(0.0)}")
        self._bind(e, found)

    def _conclude(self) -> None:
        """After the last statement: note exceptional conditions.

        There is one test for all of them: separate later tests would keep their operands alive until then.
        """
        total = self._fresh(f"fmul float {self._fresh('load float, ptr %sum')}, 0.0")
        bad = self._fresh(f"fcmp une float {total}, 0.0")
        low, beyond = (self._fresh(f"load i1, ptr %{name}") for name in ("low", "beyond"))
        odd = self._fresh(f"or i1 {self._fresh(f'or i1 {bad}, {low}')}, {beyond}")
        with self.rarely(self._fresh(f"and i1 %inside, {odd}")):
            if self.silent:
                bad = self._fresh(f"or i1 {bad}, {low}")
            with self.rarely(bad):
                self._note(0)
            if not self.large:
                fine = self._fresh(f"xor i1 {self._is_spoiled()}, true")
                with self.rarely(self._fresh(f"and i1 {beyond}, {fine}")):
                    self._lines.append("  store i32 %epoch32, ptr addrspace(1) %far")
                    self._note(1)

    def expression(self, e: Expr) -> None:
        if e in self.gathered:
            for a in e.args:
                if a not in self.gathered:
                    self._gather(a)
            return
        if self._find(e) is not None and not is_input(e) and not self.strands.aside:
            self._forget(e)
        super().expression(e)
        if e in self.exchange:
            value = self._operand(e)
            if PRIMITIVES[e.op].gives == TRUTH:
                one, zero = self.number.constant(1.0), self.number.constant(0.0)
                scalar = self.number.scalar
                value = self._fresh(f"select i1 {value}, {scalar} {one}, {scalar} {zero}")
            self._set(self._slot_of(e), value)

    def _forget(self, e: Expr) -> None:
        """Before a value is recomputed: its inputs are read again, not kept."""
        for a in e.args:
            if type(a) is Expr and is_input(a) and a.args[0] in self.plan.start:
                self._bind(a, self._read(a.args[0], int(a.args[1]), again=True))

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
        return self._read(array, int(index))

    def _read(self, array: Array, index: int, again: bool = False) -> str:
        """An element of an input; `again`: it was read before, and not kept."""
        scalar = self.number.scalar
        space = self.device.shared if array in self.plan.start else "addrspace(1)"
        address = self._fresh(f"getelementptr {scalar}, ptr {space} {self.rows[array]}, i64 {index}")
        value = self._fresh(f"load {'volatile ' if again else ''}{scalar}, ptr {space} {address}")
        place = array, index
        if array in self.plan.start and not self.early and place not in self.looked | self.tells:
            self.looked.add(place)
            self._look_at(value)
        return value

    def _look_at_unread(self) -> None:
        """Check inputs that nothing reads, before they may be overwritten."""
        loads = (s for s in self.program.body.statements if isinstance(s, Expr) and is_input(s))
        read = {(e.args[0], int(e.args[1])) for e in loads}
        for _, array in self.staged:
            for index in range(array.size):
                if (array, index) not in read | self.tells:
                    self._read(array, index)

    def store(self, s: Store) -> None:
        if s.array is self.program.guard:
            if s.value not in self.gathered:
                self._gather(s.value)
            return
        plan, value = self.plan, self._operand(s.value)
        if self.tells and type(s.value) is Expr:
            self._other = value if self.tight else self._other  # or it would be kept until the next
            self._look_at(value)
        if s.array in plan.packed:
            slot = plan.packed[s.array][s.index]
            if (s.array, slot) in self.stored:
                return
            self.stored.add((s.array, slot))
            address = self._at("%lane", plan.start[s.array] + slot * (self.tile + 1))
        else:
            place = self._fresh(f"mul i64 %lane, {plan.pitch(s.array)}")
            address = self._at(self._place(s.array, place), plan.start[s.array] + int(s.index))
        self._set(address, value)

    def _gather(self, value: object) -> None:
        """Part of the guard: a state is refused if any value is below 1."""
        self.gather("low", self.is_below_one(self._operand(value)))

    def gather(self, name: str, condition: str) -> None:
        """Where registers are scarce, write the conditions to memory from time to time.

        Otherwise the assembler would defer all of them to the end, and keep their operands until then.
        """
        super().gather(name, condition)
        self._conditions += 1
        if self.strands.aside and self._conditions % PINNED == 0:
            low, beyond = (self._fresh(f"load i1, ptr %{kind}") for kind in ("low", "beyond"))
            any_ = self._fresh(f"uitofp i1 {self._fresh(f'or i1 {low}, {beyond}')} to {self.number.scalar}")
            address = self._at("%lane", self.plan.pin)
            self._lines.append(
                f"  store volatile {self.number.scalar} {any_}, ptr {self.device.shared} {address}"
            )

    def clear(self, s: Clear) -> None:
        """Done once, before the first tile."""

    def spoil(self, s: Spoil) -> None:
        """Done when inputs are read and results are written."""

    # -- the guard

    def _judge(self) -> None:
        """Note states that the guard refuses; with large angles that is left to the other kernel."""
        if self.program.guard is None or self.silent:
            return
        with self.rarely(self._fresh(f"and i1 %inside, {self._fresh('load i1, ptr %low')}")):
            fine = self._fresh(f"xor i1 {self._is_spoiled()}, true")
            if not self.large:
                fine = self._fresh(f"and i1 {fine}, {self._fresh(f'xor i1 {self._marked(1)}, true')}")
            with self.rarely(fine):
                self.refuse("%state")

    def _is_spoiled(self) -> str:
        """Whether an input of this thread's state is not finite."""
        rows = [(self.row(f"in{k}", "%state"), a) for k, a in enumerate(self.program.inputs)]
        return self.summed([("addrspace(1)", address, a) for address, a in rows])

    # -- rows out

    def _give(self) -> None:
        """Copy the rows of the results to their arrays; NaN where an input was not finite."""
        for k, array in enumerate(self.program.outputs):
            if array.size:
                line = self._fresh(f"mul i64 %base, {array.size}")
                scalar = self.number.scalar
                target = self._fresh(f"getelementptr {scalar}, ptr addrspace(1) %out{k}, i64 {line}")
                if array in self.plan.packed:
                    self._unpack(k, array, target)
                else:
                    self._give_rows(k, array, target)
        with self.rarely(self._marked(0)):
            self._barrier()
            spoiled = self._is_spoiled()
            if self.silent:
                spoiled = self._fresh(f"or i1 {spoiled}, {self._fresh('load i1, ptr %low')}")
            with self.rarely(self._fresh(f"and i1 %inside, {spoiled}")):
                for k, array in enumerate(self.program.outputs):
                    target = self.row(f"out{k}", "%state")
                    if array.size:
                        with self.turns("0", str(array.size)) as place:
                            self._write(target, place, self.number.constant(float("nan")))
