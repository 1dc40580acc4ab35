"""Shared by C-like languages: how statements, numbers, tables and parts are written.

C99 (`c_function.py`) and its dialects differ in a few words, and in where an element of an array is
(`place`): subclasses define these. Numbers are printed as hexadecimal floats, so no digit is lost.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kinetree.compiler.emit.printer import Printer
from kinetree.compiler.ir.graph import Array, Clear, Part, Spoil, Store, Switch
from kinetree.compiler.ir.program import Program, captured, walk
from kinetree.ops import PRIMITIVES, Expr, Primitive
from kinetree.ops.primitives import INTEGER, NUMBER, TRUTH


class Dtype(NamedTuple):
    """How C writes one type of float."""

    name: str
    suffix: str
    numpy: type

    def number(self, value: float) -> str:
        """A literal of exactly this value (rounded to the type)."""
        with np.errstate(over="ignore"):
            value = float(self.numpy(value))
        if math.isnan(value):
            return f"({self.name})NAN"
        if math.isinf(value):
            return f"({self.name})INFINITY" if value > 0 else f"-({self.name})INFINITY"
        mantissa, _, exponent = value.hex().partition("p")
        if "." in mantissa:
            mantissa = mantissa.rstrip("0") + ("0" if mantissa.rstrip("0").endswith(".") else "")
        return f"{mantissa}p{exponent}{self.suffix}"


class CLike(Printer):
    """Statements of one program. `symbol` is the prefix of its parts, `macros` that of macros."""

    end = ";"
    close = "}"
    integer: ClassVar[str] = "int32_t"
    constant: ClassVar[str] = "static const"  # qualifier of tables
    local: ClassVar[str] = "static"  # qualifier of functions used only in this text
    restrict: ClassVar[str] = "restrict"
    handed: ClassVar[tuple[str, ...]] = ()  # declarations passed to every part besides its arrays

    def __init__(self, program: Program, dtype: Dtype, symbol: str, macros: str, names: dict[Array, str]):
        super().__init__(names)
        self.program, self.dtype, self.symbol, self.macros = program, dtype, symbol, macros
        self.parts: list[str] = []  # texts of the parts, printed before the function that calls them

    def uses(self, *ops: str) -> bool:
        """True if any of these operations occurs."""
        return any(isinstance(s, Expr) and s.op in ops for s in walk(self.program.body))

    def table(self, array: Array) -> str:
        """The text of a constant table."""
        assert array.data is not None
        if array.kind == "itable":
            kind, items = self.integer, [str(int(x)) for x in array.data]
        else:
            kind, items = self.dtype.name, [self.dtype.number(float(x)) for x in array.data.flat]
        rows = [", ".join(items[k : k + 8]) for k in range(0, len(items), 8)]
        inner = ",\n    ".join(rows or ["0"])
        return f"{self.constant} {kind} {self.names[array]}[{max(array.size, 1)}] = {{\n    {inner}\n}};\n"

    # -- spelling

    def pattern(self, row: Primitive) -> str:
        return row.c.replace("{f}", self.dtype.suffix).replace("{p}", self.macros)

    def number(self, value: float) -> str:
        return self.dtype.number(value)

    def declaration(self, e: Expr) -> str:
        kinds = {INTEGER: self.integer, TRUTH: "int", NUMBER: self.dtype.name}
        return f"const {kinds[PRIMITIVES[e.op].gives]} "

    def loop_head(self, t: str, start: int, stop: int, step: int) -> str:
        test, move = ("<", f"{t} += {step}") if step > 0 else (">", f"{t} -= {-step}")
        return f"for ({self.integer} {t} = {start}; {t} {test} {stop}; {move}) {{"

    def while_head(self, t: str, initial: str) -> str:
        return f"for ({self.integer} {t} = {initial}; {t} > 0;) {{"

    def leaving(self, flag: str) -> str:
        return f"if ({flag} >= {self.number(1.0)}) break;"

    def switch(self, s: Switch) -> None:
        self.line(f"switch ({self.operand(s.selector)}) {{")
        for number, case in enumerate(s.cases):
            self.line(f"case {number}: {{")
            self.body(case, "break;")
        self.line("default:\n    break;\n}")

    def clear(self, s: Clear) -> None:
        self.line(self._each(s.array, f"{self.place(s.array, 'i')} = {self.number(0.0)};"))

    def spoil(self, s: Spoil) -> None:
        """The sum of 0 x over all inputs: 0 if all are finite, else NaN."""
        zero = self.number(0.0)
        self.line(f"{self.dtype.name} poison = {zero};")
        for a in s.inputs:
            self.line(self._each(a, f"poison += {zero} * {self.place(a, 'i')};"))
        self.line(f"if (!(poison == {zero})) {{")
        self.depth += 1
        for a in s.outputs:
            self.line(self._each(a, f"{self.place(a, 'i')} = ({self.dtype.name})NAN;"))
        if s.guard is not None:
            self.line(f"{self.place(s.guard, '0')} = {self.number(1.0)};")
        self.depth -= 1
        self.line("}")

    def _each(self, array: Array, text: str) -> str:
        """A statement for every element i of an array."""
        head = f"for ({self.integer} i = 0; i < {array.size}; ++i) {{"
        return f"{head}\n    {text}\n}}" if array.size else ""

    def looked_up(self, matrix: Array, row: Any, column: Any) -> str:
        assert matrix.data is not None
        rows, columns = matrix.data.shape
        i, j = self.operand(row), self.operand(column)
        place = f"{self._whole(i, rows)} * {columns} + {self._whole(j, columns)}"
        return f"({i} != {i} || {j} != {j}) ? ({self.dtype.name})NAN : {self.names[matrix]}[{place}]"

    def _whole(self, x: str, count: int) -> str:
        """A number as an integer, from 0 to below a count; 0 for NaN."""
        last = self.number(count - 1.0)
        return f"(int64_t)({x} > 0 ? ({x} < {last} ? {x} : {last}) : 0)"

    def part(self, s: Part) -> None:
        """A part becomes a function."""
        outer, self.lines, depth, self.depth = self.lines, [], self.depth, 1
        self.statements(s.body.statements)
        body, self.lines, self.depth = self.lines, outer, depth
        parameters = [
            f"{'const ' if a.kind == 'input' else ''}{self.dtype.name} *{self.restrict} {self.names[a]}"
            for a in self._touched(s)
        ]
        parameters += [f"const {self.integer} t{e.number}" for e in captured(s)]
        parameters += self.handed
        symbol = f"{self.symbol}_part{len(self.parts)}"
        head = f"{self.local} void {symbol}({', '.join(parameters) or 'void'})"
        self.parts.append("\n".join([head, "{", *body, "}", ""]))
        arguments = [parameter.rpartition(" ")[2] for parameter in parameters]
        self.line(f"{symbol}({', '.join(arguments)});")

    def _touched(self, part: Part) -> list[Array]:
        """The arrays that a part reads or writes (tables are global), in a fixed order."""
        touched = set()
        for s in walk(part.body):
            if isinstance(s, Store):
                touched.add(s.array)
            elif isinstance(s, Expr) and s.op == "load":
                touched.add(s.args[0])
        return [a for a in self.names if a in touched and a.kind in ("input", "output", "work")]
