"""How the rows of a tile get into shared memory.

Threads copy them, sixteen bytes at a time; or the device copies such chunks asynchronously ("chunks"); or one
thread requests the rows of the whole tile, and all wait at a gate until the last byte has arrived ("whole").
The rows of a block's next tile can arrive while it computes (`ahead`): there are then two buffers, each with
its own gate.
"""

from __future__ import annotations

from kinetree.compiler.emit.llvm.gpu_kernel import ANY
from kinetree.compiler.emit.llvm.gpu_rows import TileOfRows
from kinetree.compiler.ir.graph import Array

AT_ONCE = 16  # loads in flight together
GATES = 2  # one for each buffer
MANY = 16  # waves, so that multiprocessors finish at nearly the same time


class Arrivals(TileOfRows):
    """Copies rows into shared memory, up to where all threads can read them."""

    @property
    def waves(self) -> int:
        """How often multiprocessors are filled with blocks."""
        if self.ahead:
            return 1
        return MANY if self.arriving == "whole" else ANY  # gates are set once per block

    @property
    def gates(self) -> list[str]:
        """The declarations of a block's gates."""
        if self.arriving != "whole":
            return []
        return [f"@gates = internal {self.device.shared} global [{GATES} x i64] poison, align 8"]

    def overlap(self) -> None:
        """The kernel for large angles is launched while this one ends, and waits for it."""
        if self.arriving == "whole":
            self._lines.append(f"  call void @grid.{'before' if self.large else 'next'}()")

    def set_gates(self) -> None:
        """Initialise the gates: once, by one thread, before the first tile."""
        if self.arriving == "whole":
            for k in range(GATES):
                self._lines.append(f"  call void @gate.set({self._gate(str(k))})")
            self._lines.append("  call void @rows.fence()")

    def _gate(self, buffer: str) -> str:
        address = self._fresh(f"getelementptr i64, ptr {self.device.shared} @gates, i64 {buffer}")
        return f"ptr {self.device.shared} {address}"

    def enter(self) -> None:
        """Before the loop over tiles: start copying the rows of the first one."""
        if self.ahead:
            self._take("%first", "0")
            self._commit()

    def arrive(self) -> str:
        """At the beginning of a tile: wait for its rows; returns the index of their buffer."""
        self._lines += ["  %left = sub i64 %n, %base", f"  %full = icmp sge i64 %left, {self.tile}"]
        if self.ahead:
            self._next_ones()
        else:
            self._take("%base", "0")
            self._commit()
            self._await(0)
        if self.arriving == "whole":
            self._pass_gate()
        else:
            self._barrier()
        return "%turn" if self.ahead else "0"

    def _next_ones(self) -> None:
        """Start copying the rows of the next tile, and wait for those of this one."""
        self._lines += [
            "  %odd = and i32 %count, 1",
            "  %turn = zext i32 %odd to i64",
            "  %other = xor i64 %turn, 1",
            "  %following = add i64 %base, %step",
            "  %goes.on = icmp slt i64 %following, %n",
        ]
        more, last, there = self._labels("more", "last", "there")
        self._lines.append(f"  br i1 %goes.on, label %{more}, label %{last}")
        self._start(more)
        self._take("%following", "%other")
        self._commit()
        self._await(1)
        self._lines.append(f"  br label %{there}")
        self._start(last)
        self._await(0)
        self._lines.append(f"  br label %{there}")
        self._start(there)

    def _commit(self) -> None:
        if self.arriving == "chunks":
            self._lines.append(f"  {self.device.commit}")

    def _await(self, groups: int) -> None:
        if self.arriving == "chunks":
            self._lines.append(f"  {self.device.wait.format(groups)}")

    def _pass_gate(self) -> None:
        """Wait for a whole tile; a partial one was copied by threads."""
        good = self._fresh("and i1 %full, %dense")
        whole, ragged, there = self._labels("gate", "carried", "open")
        self._lines.append(f"  br i1 {good}, label %{whole}, label %{ragged}")
        self._start(whole)
        times = self._fresh("lshr i32 %count, 1") if self.ahead else "%count"
        parity = self._fresh(f"and i32 {times}, 1")
        gate = self._gate("%turn" if self.ahead else "0")
        self._lines += [f"  call void @gate.wait({gate}, i32 {parity})", f"  br label %{there}"]
        self._start(ragged)
        self._barrier()
        self._lines.append(f"  br label %{there}")
        self._start(there)

    def between(self) -> None:
        """Before the next tile: wait until all threads are done with the rows."""
        whole = self.arriving == "whole"
        if whole:
            self._lines.append("  call void @rows.fence()")
        if whole or self.plan.within or self.strands.aside:
            self._barrier()

    # -- one tile

    def _take(self, base: str, buffer: str) -> None:
        """Copy the rows of a tile to shared memory."""
        left = self._fresh(f"sub i64 %n, {base}")
        full = self._fresh(f"icmp sge i64 {left}, {self.tile}")
        rows = self._fresh(f"select i1 {full}, i64 {self.tile}, i64 {left}")
        offset = self._fresh(f"mul i64 {buffer}, {self.plan.buffer}")
        good = self._fresh(f"and i1 {full}, %dense")
        whole, ragged, done = self._labels("whole", "ragged", "taken")
        self._lines.append(f"  br i1 {good}, label %{whole}, label %{ragged}")
        self._start(whole)
        if self.arriving == "whole":
            self._ask(base, buffer, offset)
        else:
            self._take_whole(base, offset)
        self._lines.append(f"  br label %{done}")
        self._start(ragged)
        for k, array in self.staged:
            self._take_ragged(k, array, base, rows, offset)
        self._lines.append(f"  br label %{done}")
        self._start(done)

    def _ask(self, base: str, buffer: str, offset: str) -> None:
        """One thread requests all rows."""
        sizes = [self.tile * array.size * self.number.bytes for _, array in self.staged]
        with self.first_thread():
            gate = self._gate(buffer)
            self._lines.append(f"  call void @gate.expect({gate}, i32 {sum(sizes)})")
            for (number, array), size in zip(self.staged, sizes, strict=True):
                source = self._line(f"in{number}", base, array)
                target = self._at(offset, self.plan.start[array])
                self._lines.append(
                    f"  call void @rows.in(ptr {self.device.shared} {target}, ptr addrspace(1) {source}, "
                    f"i32 {size}, {gate})"
                )

    def _line(self, name: str, base: str, array: Array) -> str:
        """The address of the first row of a tile."""
        line = self._fresh(f"mul i64 {base}, {array.size}")
        return self._fresh(f"getelementptr {self.number.scalar}, ptr addrspace(1) %{name}, i64 {line}")

    def _take_whole(self, base: str, offset: str) -> None:
        """A full tile: its rows are contiguous, so whole lines are copied."""
        scalar, (vector, many) = self.number.scalar, self._vector
        moves = []
        for number, array in self.staged:
            source = self._line(f"in{number}", base, array)
            target = self._at(offset, self.plan.start[array])
            each = many if self.plan.pitch(array) == array.size else 1
            total = self.tile * array.size // each
            moves += [(array, source, target, each, j, total) for j in range(0, total, self.threads)]
        for first in range(0, len(moves), AT_ONCE):
            held = []
            for array, source, target, each, j, total in moves[first : first + AT_ONCE]:
                kind, size = vector if each > 1 else scalar, each * self.number.bytes
                with self._among(j, total) as k:
                    there = self._fresh(f"getelementptr {kind}, ptr addrspace(1) {source}, i64 {k}")
                    place = k if each > 1 else self._skewed(array, k)
                    here = self._fresh(
                        f"getelementptr {kind}, ptr {self.device.shared} {target}, i64 {place}"
                    )
                    if self.arriving:
                        self._lines.append(f"  {self.device.arrive[size].format(here, there)}")
                        continue
                    value = self._fresh(
                        f"load {kind}, ptr addrspace(1) {there}, align {size}, !invariant.load !1"
                    )
                    text = f"  store {kind} {value}, ptr {self.device.shared} {here}, align {size}"
                    if j + self.threads > total:
                        self._lines.append(text)
                    else:
                        held.append(text)
            self._lines += held

    def _take_ragged(self, number: int, array: Array, base: str, rows: str, offset: str) -> None:
        """The last tile, or rows that are not contiguous."""
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

