"""Statements of a program as LLVM text: one function for the program, and one for each of its parts."""

from __future__ import annotations

from typing import Any

from kinetree.compiler.emit.llvm import sincos
from kinetree.compiler.emit.llvm.hoist import is_free
from kinetree.compiler.emit.llvm.layout import Layout
from kinetree.compiler.emit.llvm.results import Results
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Array, Block, Loop, Part, Statement, Store, Switch, While
from kinetree.compiler.ir.program import Program, captured
from kinetree.errors import CompileError
from kinetree.ops import Expr

ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
COMPARISON = {"lt": "olt", "le": "ole", "eq": "oeq"}
LOGIC = {"and": "and", "or": "or"}
INTRINSIC = {"sqrt": "sqrt", "abs": "fabs", "floor": "floor"}
FUSED = {"fma": -1, "fms": 2, "fnma": 0}  # which argument changes its sign
LIBRARY = {"tan": 1, "asin": 1, "acos": 1, "atan": 1, "exp": 1, "log": 1, "tanh": 1, "atan2": 2}
SIGNATURE = "ptr noalias %ws, ptr noalias readonly %tables, ptr noalias readonly %args"
ARGUMENTS = "ptr %ws, ptr %tables, ptr %args"


class Printer:
    """Prints the blocks of one program for one kind of number."""

    def __init__(
        self,
        program: Program,
        number: Number,
        layout: Layout,
        hoisted: dict[Expr, int],
        fused: bool,
        results: Results | None = None,
        direct: dict[Array, int] | None = None,
    ):
        self.program = program
        self.number = number
        self.layout = layout
        self.hoisted = hoisted
        self.fused = fused
        self.results = results
        self.direct = direct or {}  # outputs that are stored to where the caller's arguments point
        self.functions: list[str] = []
        self.library: set[str] = set()
        self.needs_sincos = False
        self._count = 0
        self._parts = 0
        self._stored: set[int] = set()
        self._lines: list[str] = []
        self._scopes: list[dict[Any, str]] = [{}]
        self._label = "entry"

    # -- functions

    def core(self) -> list[str]:
        """All functions of the program; the one to call is `@core`."""
        outer = self._open({})
        self._statements(self.program.body.statements)
        text = self._close("core", SIGNATURE, outer)
        return [*self.functions, text]

    def values(self, name: str, values: list[Expr], first_slot: int, padding: list[int]) -> str:
        """A function that computes `values` into the slots from `first_slot` on; zeros into `padding`."""
        outer = self._open({})
        for k, value in enumerate(values):
            self._store_slot(first_slot + k, self._afresh(value))
        for slot in padding:
            self._store_slot(slot, self.number.constant(0.0))
        return self._close(name, SIGNATURE, outer)

    def _part(self, part: Part) -> None:
        """A part is a function of its own; it is handed the integers of the loops around it."""
        integers = captured(part)
        arguments = "".join(f", i64 {self._operand(value)}" for value in integers)
        self._parts += 1
        name = f"part{self._parts}"
        outer = self._open({value: f"%n{k}" for k, value in enumerate(integers)})
        self._statements(part.body.statements)
        parameters = "".join(f", i64 %n{k}" for k in range(len(integers)))
        self.functions.append(self._close(name, SIGNATURE + parameters, outer))
        self._lines.append(f"  call void @{name}({ARGUMENTS}{arguments})")

    def _open(self, known: dict[Any, str]) -> tuple:
        outer = self._lines, self._scopes, self._label
        self._lines, self._scopes, self._label = [], [known], "entry"
        for array, position in self.direct.items():
            place = self._fresh(f"getelementptr ptr, ptr %args, i64 {position}")
            self._scopes[0][array] = self._fresh(f"load ptr, ptr {place}")
        return outer

    def _close(self, name: str, parameters: str, outer: tuple) -> str:
        lines = self._lines
        self._lines, self._scopes, self._label = outer
        return "\n".join(
            [f"define internal void @{name}({parameters}) #0 {{", "entry:", *lines, "  ret void", "}"]
        )

    def _afresh(self, value: Any) -> str:
        if type(value) is not Expr or is_free(value, self.hoisted):
            return self._operand(value)
        known = self._find(value)
        if known is None:
            for argument in value.args:
                if type(argument) is Expr:
                    self._afresh(argument)
            self._expression(value)
            known = self._find(value)
        assert known is not None
        return known

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
        """The name of a number, truth value or integer expression, or the text of a literal number."""
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
        base = self._fresh(f"getelementptr i8, ptr %tables, i64 {self.layout.table[array]}")
        address = self._fresh(f"getelementptr {scalar}, ptr {base}, i64 {self._integer(index)}")
        loaded = self._fresh(f"load {scalar}, ptr {address}, !invariant.load !1")
        if value.op == "iload" or self.number.lanes == 1:
            return loaded
        vector = self.number.vector
        one = self._fresh(f"insertelement {vector} poison, {scalar} {loaded}, i32 0")
        return self._fresh(
            f"shufflevector {vector} {one}, {vector} poison, {self.number.of('i32')} zeroinitializer"
        )

    # -- statements

    def _statements(self, statements: list[Statement]) -> None:
        for statement in statements:
            if isinstance(statement, Expr):
                if statement.op not in ("counter", "variable") and not is_free(statement, self.hoisted):
                    self._expression(statement)
            elif isinstance(statement, Store):
                self._store(statement)
            elif isinstance(statement, Loop):
                self._loop(statement)
            elif isinstance(statement, While):
                self._while(statement)
            elif isinstance(statement, Part):
                self._part(statement)
            else:
                self._switch(statement)

    def _bind(self, value: Expr, name: str) -> None:
        self._scopes[-1][value] = name

    def _expression(self, e: Expr) -> None:
        op, vector, boolean = e.op, self.number.vector, self.number.boolean
        if op in ("load", "iload"):
            name = self._load(e)
        elif op in ("iadd", "imul"):
            a, b = (self._integer(x) for x in e.args)
            name = self._fresh(f"{'add' if op == 'iadd' else 'mul'} nsw i64 {a}, {b}")
        elif op in ("sin", "cos"):
            self._sincos(e)
            return
        else:
            args = [self._operand(x) for x in e.args]
            if op in ARITHMETIC:
                name = self._fresh(f"{ARITHMETIC[op]} {vector} {args[0]}, {args[1]}")
            elif op == "neg":
                name = self._fresh(f"fneg {vector} {args[0]}")
            elif op in FUSED:
                name = self._fused(op, args)
            elif op in INTRINSIC:
                name = self._intrinsic(INTRINSIC[op], args)
            elif op in COMPARISON:
                name = self._fresh(f"fcmp {COMPARISON[op]} {vector} {args[0]}, {args[1]}")
            elif op in LOGIC:
                name = self._fresh(f"{LOGIC[op]} {boolean} {args[0]}, {args[1]}")
            elif op == "not":
                true = "true" if self.number.lanes == 1 else "splat (i1 true)"
                name = self._fresh(f"xor {boolean} {args[0]}, {true}")
            elif op == "where":
                name = self._fresh(f"select {boolean} {args[0]}, {vector} {args[1]}, {vector} {args[2]}")
            elif op in ("min", "max"):
                name = self._extreme(op, args[0], args[1])
            elif op == "sign":
                name = self._sign(args[0])
            elif op in LIBRARY:
                self.library.add(op)
                name = self._fresh(f"call {vector} @each_{op}({', '.join(f'{vector} {a}' for a in args)})")
            else:
                raise CompileError(f"{e!r}: the operation {op!r} is not in the table of primitives")
        self._bind(e, name)

    def _intrinsic(self, name: str, args: list[str]) -> str:
        vector = self.number.vector
        typed = ", ".join(f"{vector} {a}" for a in args)
        return self._fresh(f"call {vector} @llvm.{name}.{self.number.suffix}({typed})")

    def _fused(self, op: str, args: list[str]) -> str:
        """a b + c, a b - c or c - a b in one rounding, or in two on a machine without such an operation."""
        if not self.fused:
            vector = self.number.vector
            product = self._fresh(f"fmul {vector} {args[0]}, {args[1]}")
            first, operation, second = {
                "fma": (product, "fadd", args[2]),
                "fms": (product, "fsub", args[2]),
                "fnma": (args[2], "fsub", product),
            }[op]
            return self._fresh(f"{operation} {vector} {first}, {second}")
        if op != "fma":
            k = FUSED[op]
            args[k] = self._fresh(f"fneg {self.number.vector} {args[k]}")
        return self._intrinsic("fma", args)

    def _extreme(self, op: str, a: str, b: str) -> str:
        """min or max; NaN if one of them is NaN."""
        vector, boolean = self.number.vector, self.number.boolean
        first = self._fresh(f"fcmp {'ole' if op == 'min' else 'oge'} {vector} {a}, {b}")
        undefined = self._fresh(f"fcmp uno {vector} {a}, {a}")
        take = self._fresh(f"or {boolean} {first}, {undefined}")
        return self._fresh(f"select {boolean} {take}, {vector} {a}, {vector} {b}")

    def _sign(self, a: str) -> str:
        """-1, 0 or 1; NaN if it is NaN."""
        vector, boolean, zero = self.number.vector, self.number.boolean, self.number.constant(0.0)
        undefined = self._fresh(f"fcmp uno {vector} {a}, {a}")
        result = self._fresh(f"select {boolean} {undefined}, {vector} {a}, {vector} {zero}")
        for test, value in (("ogt", 1.0), ("olt", -1.0)):
            take = self._fresh(f"fcmp {test} {vector} {a}, {zero}")
            one = self.number.constant(value)
            result = self._fresh(f"select {boolean} {take}, {vector} {one}, {vector} {result}")
        return result

    def _sincos(self, e: Expr) -> None:
        """Sine and cosine of one argument come from one call."""
        key = ("sincos", e.args[0])
        vector = self.number.vector
        pair_type = f"{{ {vector}, {vector} }}"
        pair = self._find(key)
        if pair is None:
            self.needs_sincos = True
            argument = self._operand(e.args[0])
            pair = self._fresh(f"call {pair_type} @{sincos.name(self.number)}({vector} {argument})")
            self._scopes[-1][key] = pair
        self._bind(e, self._fresh(f"extractvalue {pair_type} {pair}, {0 if e.op == 'sin' else 1}"))

    def _store(self, s: Store) -> None:
        if self.results is not None and s.array in self.results.elements:
            number = self.results.values[self.results.key(s.value)]
            if number and number not in self._stored:
                self._stored.add(number)
                self._store_slot(self.layout.values + number, self._operand(s.value))
            return
        value = self._operand(s.value)
        slot = self._slot(s.array, s.index)
        base = self._scopes[0].get(s.array, "%ws")
        if s.accumulate:
            value = self._fresh(f"fadd {self.number.vector} {self._load_slot(slot, base)}, {value}")
        self._store_slot(slot, value, base)

    # -- control flow

    def _labels(self, *stems: str) -> list[str]:
        self._count += 1
        return [f"{stem}{self._count}" for stem in stems]

    def _start(self, label: str) -> None:
        self._lines.append(f"{label}:")
        self._label = label

    def _nested(self, block: Block) -> None:
        self._scopes.append({})
        self._statements(block.statements)
        self._scopes.pop()

    def _loop(self, loop: Loop) -> None:
        if loop.count <= 0:
            return
        head, latch, done = self._labels("loop", "latch", "done")
        before = self._label
        stop = loop.start + loop.count * loop.step
        self._lines.append(f"  br label %{head}")
        self._start(head)
        counter = self._fresh(f"phi i64 [ {loop.start}, %{before} ], [ %{latch}.i, %{latch} ]")
        self._scopes.append({})
        self._bind(loop.counter, counter)
        self._statements(loop.body.statements)
        self._scopes.pop()
        self._lines.append(f"  br label %{latch}")
        self._start(latch)
        self._lines.append(f"  %{latch}.i = add nsw i64 {counter}, {loop.step}")
        more = self._fresh(f"icmp ne i64 %{latch}.i, {stop}")
        self._lines.append(f"  br i1 {more}, label %{head}, label %{done}")
        self._start(done)

    def _while(self, loop: While) -> None:
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
        self._statements(loop.body.statements)
        successor = self._integer(loop.successor)
        self._scopes.pop()
        self._lines.append(f"  br label %{latch}")
        self._start(latch)
        self._lines.append(f"  %{latch}.i = add nsw i64 {successor}, 0")
        self._lines.append(f"  br label %{head}")
        self._start(done)

    def _switch(self, switch: Switch) -> None:
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


def each(op: str, number: Number) -> str:
    """A function of the C library applied to every lane."""
    vector, scalar = number.vector, number.scalar
    symbol = op if number.dtype == "float64" else f"{op}f"
    names = ("a", "b")[: LIBRARY[op]]
    parameters = ", ".join(f"{vector} %{n}" for n in names)
    head = f"define internal {vector} @each_{op}({parameters}) noinline nounwind {{"
    if number.lanes == 1:
        typed = ", ".join(f"{scalar} %{n}" for n in names)
        return f"{head}\n  %r = call {scalar} @{symbol}({typed}) nobuiltin\n  ret {scalar} %r\n}}"
    lines, result = [head], "poison"
    for k in range(number.lanes):
        for n in names:
            lines.append(f"  %{n}{k} = extractelement {vector} %{n}, i32 {k}")
        typed = ", ".join(f"{scalar} %{n}{k}" for n in names)
        lines.append(f"  %y{k} = call {scalar} @{symbol}({typed}) nobuiltin")
        lines.append(f"  %r{k} = insertelement {vector} {result}, {scalar} %y{k}, i32 {k}")
        result = f"%r{k}"
    return "\n".join([*lines, f"  ret {vector} {result}", "}"])


__all__ = ["LIBRARY", "Printer", "each"]
