"""Statements of a program as LLVM text: one function for the program, and one for each of its parts."""

from __future__ import annotations

from typing import Any

from kinetree.compiler.emit.llvm import sincos
from kinetree.compiler.emit.llvm.function import Value
from kinetree.compiler.emit.llvm.hoist import is_free
from kinetree.compiler.emit.llvm.instructions import INSTRUCTIONS, LIBRARY, UNFUSED, in_all_lanes, words
from kinetree.compiler.emit.llvm.layout import Layout
from kinetree.compiler.emit.llvm.lookup import looked_up
from kinetree.compiler.emit.llvm.results import Results, lines_ahead
from kinetree.compiler.emit.llvm.transpose import scatter, within
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.emit.printer import Walk
from kinetree.compiler.ir.graph import Array, Block, Clear, Loop, Part, Spoil, Store, Switch, While
from kinetree.compiler.ir.program import Program, captured
from kinetree.errors import CompileError
from kinetree.ops import PRIMITIVES, Expr
from kinetree.ops.primitives import INTEGER

SIGNATURE = "ptr noalias %ws, ptr noalias readonly %tables, ptr noalias readonly %args"
ARGUMENTS = "ptr %ws, ptr %tables, ptr %args"


class Printer(Walk):
    """Prints the blocks of one program for one kind of number."""

    tables = ""  # the address space of the constant tables

    def __init__(
        self,
        program: Program,
        number: Number,
        layout: Layout,
        hoisted: dict[Expr, int],
        fused: bool,
        results: Results | None = None,
        direct: dict[Array, str] | None = None,
    ):
        self.program = program
        self.number = number
        self.layout = layout
        self.hoisted = hoisted
        self.fused = fused
        self.results = results
        self.direct = direct or {}  # outputs stored through an address, and where that address is
        self.functions: list[str] = []
        self.library: set[str] = set()
        self.needs_sincos = False
        self._count = 0
        self._names: dict[Part, str] = {}
        self._lines: list[str] = []
        self._words = words(number)
        self._scopes: list[dict[Any, str]] = [{}]
        self._label = "entry"

    # -- functions

    def core(self) -> list[str]:
        """All functions of the program; the entry is `@core`."""
        outer = self._open({})
        self.statements(self.program.body.statements)
        text = self._close("core", SIGNATURE, outer)
        return [*self.functions, text]

    def parts(self) -> list[str]:
        """The functions that do the work of `@core` when called in this order."""
        rest = [s for s in self.program.body.statements if not isinstance(s, (Clear, Spoil))]
        names = [self._names[s] for s in rest if isinstance(s, Part)]
        return names if names and len(names) == len(rest) else ["core"]

    def values(self, name: str, values: list[Expr], first_slot: int, padding: list[int]) -> str:
        """A function that computes `values` into the slots from `first_slot` on; zeros into `padding`."""
        outer = self._open({})
        for k, value in enumerate(values):
            self._store_slot(first_slot + k, self._afresh(value))
        for slot in padding:
            self._store_slot(slot, self.number.constant(0.0))
        return self._close(name, SIGNATURE, outer)

    def part(self, part: Part) -> None:
        """A part becomes a function, which receives the integers of the loops around it."""
        integers = captured(part)
        arguments = "".join(f", i64 {self._operand(value)}" for value in integers)
        self._names[part] = name = f"part{len(self._names) + 1}"
        outer = self._open({value: f"%n{k}" for k, value in enumerate(integers)})
        self.statements(part.body.statements)
        parameters = "".join(f", i64 %n{k}" for k in range(len(integers)))
        self.functions.append(self._close(name, SIGNATURE + parameters, outer))
        self._lines.append(f"  call void @{name}({ARGUMENTS}{arguments})")

    def _open(self, known: dict[Any, str]) -> tuple:
        outer = self._lines, self._scopes, self._label
        self._lines, self._scopes, self._label = [], [known], "entry"
        for array, place in self.direct.items():
            self._scopes[0][array] = self._fresh(f"load ptr, ptr {self._fresh(place)}")
        return outer

    def _close(self, name: str, parameters: str, outer: tuple) -> str:
        lines = self._lines
        self._lines, self._scopes, self._label = outer
        return "\n".join(
            [f"define internal void @{name}({parameters}) #1 {{", "entry:", *lines, "  ret void", "}"]
        )

    def _afresh(self, value: Any) -> str:
        if type(value) is not Expr or is_free(value, self.hoisted):
            return self._operand(value)
        known = self._find(value)
        if known is None:
            for argument in value.args:
                if type(argument) is Expr:
                    self._afresh(argument)
            self.expression(value)
            known = self._find(value)
        assert known is not None
        return known

    # -- lines

    def do(self, statement: str) -> None:
        self._lines.append(f"  {statement}")

    def let(self, value: str) -> str:
        return self._fresh(value)

    def at(self, base: str, index: Value, unit: str = "i64") -> str:
        return self._fresh(f"getelementptr {unit}, ptr {base}, i64 {index}")

    # -- operands

    def _fresh(self, text: str) -> str:
        self._count += 1
        name = f"%v{self._count}"
        self._lines.append(f"  {name} = {text}")
        return name

    def _find(self, value: Any) -> str | None:
        for scope in reversed(self._scopes):
            if value in scope:
                return scope[value]
        return None

    def _operand(self, value: Any) -> str:
        """The name of a number, boolean or integer expression, or the text of a literal."""
        if type(value) is not Expr:
            return self.number.constant(float(value))
        known = self._find(value)
        if known is not None:
            return known
        if value in self.hoisted:
            first = self.layout.sines if value.op == "sin" else self.layout.cosines
            name = self._load_slot(first + self.hoisted[value])
        elif is_free(value, self.hoisted):
            name = self._load(value)
        else:
            raise CompileError(f"{value!r} is used before it is computed")
        self._scopes[-1][value] = name
        return name

    def _integer(self, value: Any) -> str:
        return self._operand(value) if type(value) is Expr else str(int(value))

    # -- memory

    def _slot_address(self, slot: Any, base: str = "%ws") -> str:
        return self._fresh(f"getelementptr {self.number.vector}, ptr {base}, i64 {slot}")

    def _load_slot(self, slot: Any, base: str = "%ws") -> str:
        address = self._slot_address(slot, base)
        return self._fresh(f"load {self.number.vector}, ptr {address}, align {self.number.size}")

    def _store_slot(self, slot: Any, value: str, base: str = "%ws") -> None:
        address = self._slot_address(slot, base)
        self._lines.append(f"  store {self.number.vector} {value}, ptr {address}, align {self.number.size}")

    def _slot(self, array: Array, index: Any) -> str:
        start = 0 if array in self.direct else self.layout.start[array]
        if type(index) is not Expr:
            return str(start + int(index))
        return self._fresh(f"add nsw i64 {self._operand(index)}, {start}")

    def _load(self, value: Expr) -> str:
        array, index = value.args
        if array not in self.layout.table:
            return self._load_slot(self._slot(array, index))
        scalar = self.number.scalar if value.op == "load" else "i64"
        loaded = self._constant(array, self._integer(index), scalar)
        if value.op == "iload" or self.number.lanes == 1:
            return loaded
        vector = self.number.vector
        one = self._fresh(f"insertelement {vector} poison, {scalar} {loaded}, i32 0")
        return self._fresh(
            f"shufflevector {vector} {one}, {vector} poison, {self.number.of('i32')} zeroinitializer"
        )

    def _constant(self, array: Array, index: str, kind: str) -> str:
        """An element of a constant table."""
        base = self._fresh(f"getelementptr i8, ptr{self.tables} %tables, i64 {self.layout.table[array]}")
        address = self._fresh(f"getelementptr {kind}, ptr{self.tables} {base}, i64 {index}")
        return self._fresh(f"load {kind}, ptr{self.tables} {address}, !invariant.load !1")

    def _lookup(self, matrix: Array, *places: Any) -> str:
        """An element of a matrix, lane by lane; NaN if an index is NaN."""
        assert matrix.data is not None
        given = [self._operand(x) for x in places]
        kind = self.number.scalar
        return looked_up(
            self, self.number, matrix.data.shape, given, lambda k: self._constant(matrix, k, kind)
        )

    # -- statements

    def _bind(self, value: Expr, name: str) -> None:
        self._scopes[-1][value] = name

    def expression(self, e: Expr) -> None:
        if is_free(e, self.hoisted):
            return
        if e.op in ("sin", "cos"):
            self._sincos(e)
        elif e.op == "tan" and self.fused:
            sine, cosine = (self._extracted(e.args[0], k) for k in range(2))
            self._bind(e, self._fresh(f"fdiv {self.number.vector} {sine}, {cosine}"))
        elif e.op in ("load", "iload"):
            self._bind(e, self._load(e))
        elif e.op == "lookup":
            self._bind(e, self._lookup(*e.args))
        else:
            row = PRIMITIVES[e.op]
            args = [
                self._integer(x) if kind == INTEGER else self._operand(x)
                for x, kind in zip(e.args, row.takes)
            ]
            self._bind(e, self._instructions(e.op, args))

    def _instructions(self, op: str, args: list[str]) -> str:
        """The result of an operation, from the table of instructions."""
        lines = INSTRUCTIONS[op] if self.fused or op not in UNFUSED else UNFUSED[op]
        if op in LIBRARY:
            self.library.add(op)
        for line in lines:
            args.append(self._fresh(line.format(*args, **self._words)))
        return args[-1]

    def _sincos(self, e: Expr) -> None:
        self._bind(e, self._extracted(e.args[0], 0 if e.op == "sin" else 1))

    def _extracted(self, angle: Any, which: int) -> str:
        """The sine (0) or cosine (1) of a number: both come from one call."""
        vector = self.number.vector
        pair_type = f"{{ {vector}, {vector} }}"
        pair = self._find(("sincos", angle))
        if pair is None:
            pair = self._scopes[-1]["sincos", angle] = self._pair(self._operand(angle), pair_type)
        return self._fresh(f"extractvalue {pair_type} {pair}, {which}")

    def _pair(self, angle: str, pair_type: str) -> str:
        self.needs_sincos = True
        return self._fresh(f"call {pair_type} @{sincos.name(self.number)}({self.number.vector} {angle})")

    def store(self, s: Store) -> None:
        if self.results is not None and (s.array, s.index) in self.results.values:
            self._result(s.array, s.index)
            return
        value = self._operand(s.value)
        slot = self._slot(s.array, s.index)
        base = self._scopes[0].get(s.array, "%ws")
        if s.accumulate:
            value = self._fresh(f"fadd {self.number.vector} {self._load_slot(slot, base)}, {value}")
        self._store_slot(slot, value, base)

    def _result(self, array: Array, index: int) -> None:
        """Hold an element of a result for its tile, and store the tiles that are now complete."""
        assert self.results is not None
        slot = self.results.slots.get((array, index))
        if slot is not None:
            value = self._operand(self.results.values[array, index])
            self._store_slot(self.layout.values + slot, value)
        for first, step in self.results.completes.get((array, index), ()):
            values = [self._waiting(array, e) for e in range(first, first + step)]
            size = array.size * self.number.bytes
            rows = [self.at(self._scopes[0][array], k * size, "i8") for k in range(self.number.lanes)]
            for k, column in enumerate(within(self, self.number, values)):
                scatter(self, self.number, column, rows[k::step], str(first), step)
            if self.results.asks_ahead:
                for offset in lines_ahead(array, self.number, first, step):
                    ahead = self.at(self._scopes[0][array], offset, "i8")
                    self.do(f"call void @llvm.prefetch.p0(ptr {ahead}, i32 1, i32 3, i32 1)")

    def _waiting(self, array: Array, index: int) -> str:
        """An element of a result, from wherever it is held."""
        assert self.results is not None
        value = self.results.values.get((array, index), 0.0)
        slot = self.results.slots.get((array, index))
        if slot is not None and self._find(value) is None:
            return self._load_slot(self.layout.values + slot)
        return self._operand(value)

    def clear(self, s: Clear) -> None:
        """Done before the core runs: see `driver.py`."""

    def spoil(self, s: Spoil) -> None:
        """Done where states are loaded and results are stored: see `driver.py`."""

    # -- control flow

    def _labels(self, *stems: str) -> list[str]:
        self._count += 1
        return [f"{stem}{self._count}" for stem in stems]

    def _start(self, label: str) -> None:
        self._lines.append(f"{label}:")
        self._label = label

    def _nested(self, block: Block) -> None:
        self._scopes.append({})
        self.statements(block.statements)
        self._scopes.pop()

    def loop(self, loop: Loop) -> None:
        if loop.count <= 0:
            return
        head, latch, done = self._labels("loop", "latch", "done")
        before = self._label
        stop = loop.start + loop.count * loop.step
        self._lines.append(f"  br label %{head}")
        self._start(head)
        counter = self._fresh(f"phi i64 [ {loop.start}, %{before} ], [ %{latch}.i, %{latch} ]")
        self.before_turn(loop, latch, done)
        self._scopes.append({})
        self._bind(loop.counter, counter)
        self.statements(loop.body.statements)
        self._scopes.pop()
        self._lines += [f"  br label %{latch}", f"{latch}:"]
        self._lines.append(f"  %{latch}.i = add nsw i64 {counter}, {loop.step}")
        more = self._fresh(f"icmp ne i64 %{latch}.i, {stop}")
        self._lines.append(f"  br i1 {more}, label %{head}, label %{done}")
        self._start(done)

    def before_turn(self, loop: Loop, latch: str, done: str) -> None:
        """Early exit before an iteration: where the loop continues, and where it is done."""
        if loop.until is not None:
            over = in_all_lanes(self, self.number, self._load(loop.flag))
            self._leave_if(over, done)

    def _leave_if(self, condition: str, label: str) -> None:
        (following,) = self._labels("go")
        self.do(f"br i1 {condition}, label %{label}, label %{following}")
        self._start(following)

    def repeat(self, loop: While) -> None:
        head, body, latch, done = self._labels("while", "body", "again", "done")
        initial, before = self._integer(loop.initial), self._label
        self._lines.append(f"  br label %{head}")
        self._start(head)
        variable = self._fresh(f"phi i64 [ {initial}, %{before} ], [ %{latch}.i, %{latch} ]")
        running = self._fresh(f"icmp ne i64 {variable}, 0")
        self._lines.append(f"  br i1 {running}, label %{body}, label %{done}")
        self._start(body)
        self._scopes.append({})
        self._bind(loop.variable, variable)
        self.statements(loop.body.statements)
        successor = self._integer(loop.successor)
        self._scopes.pop()
        self._lines.append(f"  br label %{latch}")
        self._start(latch)
        self._lines.append(f"  %{latch}.i = add nsw i64 {successor}, 0")
        self._lines.append(f"  br label %{head}")
        self._start(done)

    def switch(self, switch: Switch) -> None:
        selector = self._operand(switch.selector)
        self._count += 1
        number = self._count
        labels = [f"case{number}.{k}" for k in range(len(switch.cases))]
        cases = " ".join(f"i64 {k}, label %{label}" for k, label in enumerate(labels))
        self._lines.append(f"  switch i64 {selector}, label %none{number} [ {cases} ]")
        for label, case in zip(labels, switch.cases):
            self._start(label)
            self._nested(case)
            self._lines.append(f"  br label %join{number}")
        self._start(f"none{number}")
        self._lines.append("  unreachable")
        self._start(f"join{number}")
