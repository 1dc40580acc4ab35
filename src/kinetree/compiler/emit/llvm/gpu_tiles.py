"""Kernels for rows (batch, n) without gaps: straight programs, whose blocks move whole tiles of states.

A block takes the rows of `tile` states into shared memory, line by line, computes, and writes the rows of the
results line by line again; where the device can, the rows of its next tile arrive meanwhile. Each state has
one thread; or, for robots with limbs, a thread in each of several warps, which run the strands of the program
(`passes/strands.py`) and exchange numbers through shared memory.
"""

from __future__ import annotations

from kinetree.compiler.emit.llvm.device import Device
from kinetree.compiler.emit.llvm.gpu_kernel import GpuKernel, GpuModule
from kinetree.compiler.emit.llvm.gpu_plan import CHUNK, Plan
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Array, Clear, Spoil, Store
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.strands import Strands
from kinetree.errors import CompileError
from kinetree.ops import PRIMITIVES, Expr
from kinetree.ops.primitives import TRUTH

AT_ONCE = 16  # loads that wait together
LONGEST = 64  # copies of one thread that stand one after the other; more are a loop


class Tiled(GpuKernel):
    """Prints a straight program for the threads of a block."""

    def __init__(
        self,
        program: Program,
        number: Number,
        device: Device,
        large: bool,
        strands: Strands,
        plan: Plan,
        ahead: bool,
        resident: int = 0,
    ):
        super().__init__(program, number, device, large)
        self.strands, self.plan, self.ahead, self.resident = strands, plan, ahead, resident
        self.tile = self.plan.tile
        self.threads = self.tile * strands.count
        self.exchange = {e: k for k, e in enumerate(strands.sent)}
        self.stored: set[tuple[Array, int]] = set()
        self.staged = [(k, a) for k, a in enumerate(program.inputs) if a in plan.start and a.size]
        rule = program.spoil
        self.silent = rule is not None and rule.silent  # states that the guard refuses are NaN
        self.seen: set[tuple[Array, int]] = set()  # elements of inputs that some strand has read

    def module(self) -> GpuModule:
        plan, scalar, space = self.plan, self.number.scalar, self.device.shared
        self.reserve("low", "i1")
        self.reserve("beyond", "i1")
        self.reserve("poison", scalar)
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
            *(self._places(k, a) for k, a in enumerate(self.program.outputs) if a in plan.packed),
        ]
        size = plan.numbers * self.number.bytes
        return GpuModule(self.text(memory), self.tile, self.threads, size, 0, self.ahead)

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

    def _note(self, k: int) -> None:
        """Mark this tile: 0: a result is NaN, since an input is not finite; 1: an angle is too large."""
        self._lines.append(f"  store i64 %base, ptr {self.device.shared} {self._mark(k)}")

    def _marked(self, k: int) -> str:
        value = self._fresh(f"load i64, ptr {self.device.shared} {self._mark(k)}")
        return self._fresh(f"icmp eq i64 {value}, %base")

    def _barrier(self) -> None:
        self._lines.append(f"  {self.device.barrier}")

    def _skewed(self, array: Array, k: str) -> str:
        """Where number k of the rows of a tile stands in shared memory."""
        if self.plan.pitch(array) == array.size:
            return k
        return self._fresh(f"add i64 {k}, {self._fresh(f'udiv i64 {k}, {array.size}')}")

    @property
    def _vector(self) -> tuple[str, int]:
        """The type of what is copied at a time, and how many numbers it holds."""
        count = CHUNK // self.number.bytes
        return f"<{count} x {self.number.scalar}>", count

    # -- before the first tile

    def _prepare(self) -> None:
        """No mark is set; results that nothing is stored to are 0; whether rows begin at good addresses."""
        self._lines.append(f"  %tid0 = zext i32 {self._fresh(self.device.thread)} to i64")
        self._lines.append("  %first.thread = icmp eq i64 %tid0, 0")
        with self.rarely("%first.thread"):
            for k in range(2):
                self._lines.append(f"  store i64 -1, ptr {self.device.shared} {self._mark(k)}")
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

    def _is_even(self, name: str) -> str:
        """Whether an array begins at a multiple of what is copied at a time."""
        address = self._fresh(f"ptrtoint ptr addrspace(1) %{name} to i64")
        return self._fresh(f"icmp eq i64 {self._fresh(f'and i64 {address}, {CHUNK - 1}')}, 0")

    def enter(self) -> None:
        """Before the loop over tiles: the rows of the first one begin to arrive."""
        if self.ahead:
            self._take("%first", "0")
            self._lines.append(f"  {self.device.commit}")
            self.before = self._label

    def _tile(self) -> None:
        """At the beginning of a tile: its rows are there."""
        turn = "0"
        if self.ahead:
            where = next(k for k, line in enumerate(self._lines) if line.startswith("  %base = phi"))
            self._lines.insert(where + 1, f"  %turn = phi i64 [ 0, %{self.before} ], [ %other, %latch ]")
            self._lines += [
                "  %other = xor i64 %turn, 1",
                "  %following = add i64 %base, %step",
                "  %goes.on = icmp slt i64 %following, %n",
            ]
            more, last, there = self._labels("more", "last", "there")
            self._lines.append(f"  br i1 %goes.on, label %{more}, label %{last}")
            self._start(more)
            self._take("%following", "%other")
            self._lines += [f"  {self.device.commit}", f"  {self.device.wait.format(1)}"]
            self._lines.append(f"  br label %{there}")
            self._start(last)
            self._lines += [f"  {self.device.wait.format(0)}", f"  br label %{there}"]
            self._start(there)
            turn = "%turn"
        else:
            self._take("%base", "0")
        self._barrier()
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
            f"  %offset = mul i64 {turn}, {self.plan.buffer}",
            "  store i1 false, ptr %beyond",
            "  store i1 false, ptr %low",
        ]

    # -- rows in

    def _take(self, base: str, buffer: str) -> None:
        """The rows of a tile to shared memory."""
        left = self._fresh(f"sub i64 %n, {base}")
        full = self._fresh(f"icmp sge i64 {left}, {self.tile}")
        rows = self._fresh(f"select i1 {full}, i64 {self.tile}, i64 {left}")
        offset = self._fresh(f"mul i64 {buffer}, {self.plan.buffer}")
        good = self._fresh(f"and i1 {full}, %dense")
        whole, ragged, done = self._labels("whole", "ragged", "taken")
        self._lines.append(f"  br i1 {good}, label %{whole}, label %{ragged}")
        self._start(whole)
        self._take_whole(base, offset)
        self._lines.append(f"  br label %{done}")
        self._start(ragged)
        for k, array in self.staged:
            self._take_ragged(k, array, base, rows, offset)
        self._lines.append(f"  br label %{done}")
        self._start(done)

    def _take_whole(self, base: str, offset: str) -> None:
        """A full tile: rows stand one behind the other, so whole lines are copied."""
        scalar, (vector, many) = self.number.scalar, self._vector
        moves = []
        for number, array in self.staged:
            line = self._fresh(f"mul i64 {base}, {array.size}")
            source = self._fresh(f"getelementptr {scalar}, ptr addrspace(1) %in{number}, i64 {line}")
            target = self._at(offset, self.plan.start[array])
            each = many if self.plan.pitch(array) == array.size else 1
            total = self.tile * array.size // each
            moves += [(array, source, target, each, j, total) for j in range(0, total, self.threads)]
        for first in range(0, len(moves), AT_ONCE):
            held = []
            for array, source, target, each, j, total in moves[first : first + AT_ONCE]:
                kind = vector if each > 1 else scalar
                k = self._fresh(f"add i64 %tid, {j}")
                if j + self.threads > total:
                    inside = self._fresh(f"icmp slt i64 {k}, {total}")
                    k = self._fresh(f"select i1 {inside}, i64 {k}, i64 {total - 1}")
                there = self._fresh(f"getelementptr {kind}, ptr addrspace(1) {source}, i64 {k}")
                place = k if each > 1 else self._skewed(array, k)
                here = self._fresh(f"getelementptr {kind}, ptr {self.device.shared} {target}, i64 {place}")
                size = each * self.number.bytes
                if self.ahead:
                    self._lines.append(f"  {self.device.arrive.format(size, here, there)}")
                    continue
                value = self._fresh(
                    f"load {kind}, ptr addrspace(1) {there}, align {size}, !invariant.load !1"
                )
                held.append(f"store {kind} {value}, ptr {self.device.shared} {here}, align {size}")
            self._lines += [f"  {text}" for text in held]

    def _take_ragged(self, number: int, array: Array, base: str, rows: str, offset: str) -> None:
        """The last tile, or rows that do not follow one another."""
        scalar, size = self.number.scalar, array.size
        total = self._fresh(f"mul i64 {rows}, {size}")
        some = self._fresh(f"icmp slt i64 %tid, {total}")
        target = self._at(offset, self.plan.start[array])
        with self.turns("%tid", total, self.threads, some) as k:
            row = self._fresh(f"udiv i64 {k}, {size}")
            column = self._fresh(f"sub i64 {k}, {self._fresh(f'mul i64 {row}, {size}')}")
            source = self.row(f"in{number}", self._fresh(f"add i64 {base}, {row}"))
            place = self._fresh(f"getelementptr {scalar}, ptr addrspace(1) {source}, i64 {column}")
            value = self._fresh(f"load {scalar}, ptr addrspace(1) {place}, !invariant.load !1")
            here = self._skewed(array, k)
            self._set(
                self._fresh(f"getelementptr {scalar}, ptr {self.device.shared} {target}, i64 {here}"), value
            )

    # -- the program

    def _compute(self) -> None:
        """Every strand runs its statements, phase by phase; a mark if an input is not finite."""
        self.rows: dict[Array, str] = {}
        for k, array in enumerate(self.program.inputs):
            if array in self.plan.start:
                place = self._fresh(f"mul i64 %place, {self.plan.pitch(array)}")
                self.rows[array] = self._at(self._fresh(f"add i64 %offset, {place}"), self.plan.start[array])
            else:
                self.rows[array] = self.row(f"in{k}", "%state")
        labels = self._labels(*(f"strand{w}." for w in range(self.strands.count)))
        (done,) = self._labels("computed")
        cases = " ".join(f"i64 {w}, label %{label}" for w, label in enumerate(labels) if w)
        self._lines.append(f"  switch i64 %strand, label %{labels[0]} [ {cases} ]")
        for w, label in reversed(list(enumerate(labels))):
            self._start(label)
            self._scopes, self.total = [{}], self.number.constant(0.0)
            for phase in self.strands.phases:
                self.statements(phase[w])
                if phase is self.strands.phases[-1]:
                    self._close_strand(w)
                self._barrier()
            self._lines.append(f"  br label %{done}")
        self._start(done)
        self._scopes = [{}]

    def _close_strand(self, w: int) -> None:
        if w == 0:  # what no strand has read is looked at too
            for array in self.program.inputs:
                for k in range(array.size):
                    if (array, k) not in self.seen:
                        self._read(array, k)
        bad = self._fresh(f"fcmp une {self.number.scalar} {self.total}, {self.number.constant(0.0)}")
        with self.rarely(bad):
            self._note(0)
        if not self.large:
            with self.rarely(self._fresh("load i1, ptr %beyond")):
                self._lines.append("  store i32 %epoch32, ptr addrspace(1) %far")
                self._note(1)

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
        return self._read(array, int(index))

    def _read(self, array: Array, index: int) -> str:
        """An element of an input, noted if it is not finite."""
        scalar = self.number.scalar
        space = self.device.shared if array in self.plan.start else "addrspace(1)"
        place = self._fresh(f"getelementptr {scalar}, ptr {space} {self.rows[array]}, i64 {index}")
        value = self._fresh(f"load {scalar}, ptr {space} {place}")
        self.seen.add((array, index))
        self.total = self.nothing(self.total, value)
        return value

    def store(self, s: Store) -> None:
        value = self._operand(s.value)
        if s.array is self.program.guard:
            low = self._fresh(f"fcmp ult {self.number.scalar} {value}, {self.number.constant(1.0)}")
            self._lines.append(f"  store i1 {low}, ptr %low")
            if self.silent:
                with self.rarely(low):
                    self._note(0)
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
        """Done when inputs are read and results are given."""

    # -- what the states are worth

    def _judge(self) -> None:
        """Note states that the guard refuses; angles that are too large leave that to the other kernel."""
        if self.program.guard is None or self.silent:
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

    # -- rows out

    def _give(self) -> None:
        """The rows of the results to their arrays; NaN where an input was not finite."""
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
            with self.rarely(spoiled):
                for k, array in enumerate(self.program.outputs):
                    target = self.row(f"out{k}", "%state")
                    if array.size:
                        with self.turns("0", str(array.size)) as place:
                            self._write(target, place, self.number.constant(float("nan")))

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
        source = self._at(self.plan.start[array])
        if total <= LONGEST * self.threads:
            for j in range(0, total, self.threads):
                k = self._fresh(f"add i64 %tid, {j}")
                if j + self.threads > total:
                    inside = self._fresh(f"icmp slt i64 {k}, {total}")
                    k = self._fresh(f"select i1 {inside}, i64 {k}, i64 {total - 1}")
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
            self._write(target, one, self._fetch(self._at(self._skewed(array, one), self.plan.start[array])))
        self._lines.append(f"  br label %{done}")
        self._start(done)

    def _give_chunk(self, vector: str, source: str, target: str, k: str) -> None:
        here = self._fresh(f"getelementptr {vector}, ptr {self.device.shared} {source}, i64 {k}")
        value = self._fresh(f"load {vector}, ptr {self.device.shared} {here}, align {CHUNK}")
        there = self._fresh(f"getelementptr {vector}, ptr addrspace(1) {target}, i64 {k}")
        self._lines.append(f"  store {vector} {value}, ptr addrspace(1) {there}, align {CHUNK}")

    # -- packed results

    def _places(self, number: int, array: Array) -> str:
        """The table of where the elements of a packed result stand."""
        slots = self.plan.packed[array]
        numbers = ", ".join(f"i32 {slots.get(e, 0) * (self.tile + 1)}" for e in range(array.size))
        return f"@places{number} = internal addrspace(1) constant [{array.size} x i32] [{numbers}]"

    def _unpack(self, number: int, array: Array, target: str) -> None:
        """Each thread writes some columns: where their numbers stand is the same in all rows."""
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
