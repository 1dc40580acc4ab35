"""One program as a C99 function: declarations, tables, parts and body.

Names of a program never reach the text unless they are plain identifiers: values are numbered, and arrays
are called by their place. Numbers are printed as hexadecimal floats, so that no digit is lost.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from kinetree.compiler.emit.printer import Printer
from kinetree.compiler.ir.graph import Array, Clear, Part, Spoil, Store, Switch
from kinetree.compiler.ir.program import Program, captured, walk
from kinetree.ops import PRIMITIVES, Expr, Primitive
from kinetree.ops.primitives import INTEGER, NUMBER, TRUTH

STACK_NUMBERS = 4096  # work arrays up to this many numbers lie on the stack; longer ones are handed in

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{,30}\Z")
_OWN = re.compile(r"(t|input|output|work)[0-9]*\Z")  # what the text itself uses
_RESERVED = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if inline int
    long register restrict return short signed sizeof static struct switch typedef union unsigned void
    volatile while asm typeof bool true false work guard poison i main errno and or not xor class new delete
    this template private public protected friend operator namespace using try catch throw virtual
    y0 y1 yn j0 j1 jn""".split()
)


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


DTYPES = {"float64": Dtype("double", "", np.float64), "float32": Dtype("float", "f", np.float32)}


class Function(Printer):
    """The C text of one program."""

    end = ";"
    close = "}"

    def __init__(self, prefix: str, name: str, program: Program, dtype: Dtype):
        self.prefix, self.name, self.program, self.dtype = prefix, name, program, dtype
        self.symbol = f"{prefix}_{name}"
        self.work_length = sum(a.size for a in program.work)
        self.needs_work = self.work_length > STACK_NUMBERS
        self._part_texts: list[str] = []
        super().__init__(self._array_names())

    def _array_names(self) -> dict[Array, str]:
        p, names = self.program, {}
        taken: set[str] = set()
        for word, arrays in (("input", p.inputs), ("output", p.outputs)):
            for k, array in enumerate(arrays):
                name = array.name
                usable = _IDENTIFIER.match(name) and not _OWN.match(name) and name not in _RESERVED | taken
                names[array] = name if usable else f"{word}{k}"
                taken.add(names[array])
        names.update({a: f"work{k}" for k, a in enumerate(p.work)})
        names.update({a: f"{self.symbol}_table{k}" for k, a in enumerate(p.tables)})
        if p.guard is not None:
            names[p.guard] = "guard"
        return names

    @property
    def prototype(self) -> str:
        """The declaration, without a semicolon."""
        real, p = self.dtype.name, self.program
        restrict = f"{self.prefix.upper()}_RESTRICT"
        parameters = [f"const {real} *{restrict} {self.names[a]}" for a in p.inputs]
        parameters += [f"{real} *{restrict} {self.names[a]}" for a in p.outputs]
        parameters += [f"{real} *{restrict} work"] if self.needs_work else []
        return f"int {self.symbol}({', '.join(parameters) or 'void'})"

    def uses(self, *ops: str) -> bool:
        """True if one of some operations occurs."""
        return any(isinstance(s, Expr) and s.op in ops for s in walk(self.program.body))

    def text(self) -> str:
        """Tables, parts and the function itself."""
        self.lines, self.depth, self._part_texts = [], 1, []
        self._declarations()
        self.statements(self.program.body.statements)  # fills the list of parts
        trusted = f"guard[0] >= {self.number(1.0)} ? 0 : 1" if self.program.guard is not None else "0"
        self.line(f"return {trusted};")
        before = [*map(self._table, self.program.tables), *self._part_texts]
        return "\n".join([*before, self.prototype, "{", *self.lines, "}", ""])

    def _table(self, array: Array) -> str:
        assert array.data is not None
        if array.kind == "itable":
            kind, items = "int32_t", [str(int(x)) for x in array.data]
        else:
            kind, items = self.dtype.name, [self.dtype.number(float(x)) for x in array.data]
        rows = [", ".join(items[k : k + 8]) for k in range(0, len(items), 8)]
        inner = ",\n    ".join(rows or ["0"])
        return f"static const {kind} {self.names[array]}[{max(array.size, 1)}] = {{\n    {inner}\n}};\n"

    def _declarations(self) -> None:
        """Name what is not used, and reserve memory."""
        p, real = self.program, self.dtype.name
        for a in (*p.inputs, *p.outputs):
            if not a.size:
                self.line(f"(void){self.names[a]};")
        if p.guard is not None:
            self.line(f"{real} guard[1];")
        start = 0
        # compilers cannot see that loops write all that later ones read, and would warn
        cleared = "" if p.is_straight else " = {0}"
        for a in p.work:
            name = self.names[a]
            own = f"{name}[{max(a.size, 1)}]{cleared}"
            self.line(f"{real} {f'*const {name} = work + {start}' if self.needs_work else own};")
            start += a.size

    # -- how C spells things

    def pattern(self, row: Primitive) -> str:
        return row.c.replace("{f}", self.dtype.suffix).replace("{p}", self.prefix.upper())

    def number(self, value: float) -> str:
        return self.dtype.number(value)

    def declaration(self, e: Expr) -> str:
        kinds = {INTEGER: "int32_t", TRUTH: "int", NUMBER: self.dtype.name}
        return f"const {kinds[PRIMITIVES[e.op].gives]} "

    def loop_head(self, t: str, start: int, stop: int, step: int) -> str:
        test, move = ("<", f"{t} += {step}") if step > 0 else (">", f"{t} -= {-step}")
        return f"for (int32_t {t} = {start}; {t} {test} {stop}; {move}) {{"

    def while_head(self, t: str, initial: str) -> str:
        return f"for (int32_t {t} = {initial}; {t} != 0;) {{"

    def switch(self, s: Switch) -> None:
        self.line(f"switch ({self.operand(s.selector)}) {{")
        for number, case in enumerate(s.cases):
            self.line(f"case {number}: {{")
            self.body(case, "break;")
        self.line("default:\n    break;\n}")

    def clear(self, s: Clear) -> None:
        self.line(self._each(s.array, f"{self.names[s.array]}[i] = {self.number(0.0)};"))

    def spoil(self, s: Spoil) -> None:
        """The sum of 0 x over all inputs is 0, or else NaN."""
        zero = self.number(0.0)
        self.line(f"{self.dtype.name} poison = {zero};")
        for a in s.inputs:
            self.line(self._each(a, f"poison += {zero} * {self.names[a]}[i];"))
        self.line(f"if (!(poison == {zero})) {{")
        self.depth += 1
        for a in s.outputs:
            self.line(self._each(a, f"{self.names[a]}[i] = ({self.dtype.name})NAN;"))
        if s.guard is not None:
            self.line(f"{self.names[s.guard]}[0] = {self.number(1.0)};")
        self.depth -= 1
        self.line("}")

    def _each(self, array: Array, text: str) -> str:
        """A statement for every element i of an array."""
        return f"for (int32_t i = 0; i < {array.size}; ++i) {text}" if array.size else ""

    def part(self, s: Part) -> None:
        """A part is a function of its own."""
        outer, self.lines, depth, self.depth = self.lines, [], self.depth, 1
        self.statements(s.body.statements)
        body, self.lines, self.depth = self.lines, outer, depth
        arrays, integers = self._touched(s), captured(s)
        real = self.dtype.name
        parameters = [
            f"{'const ' if a.kind == 'input' else ''}{real} *restrict {self.names[a]}" for a in arrays
        ] + [f"const int32_t t{e.number}" for e in integers]
        symbol = f"{self.symbol}_part{len(self._part_texts)}"
        head = f"static void {symbol}({', '.join(parameters) or 'void'})"
        self._part_texts.append("\n".join([head, "{", *body, "}", ""]))
        arguments = [self.names[a] for a in arrays] + [f"t{e.number}" for e in integers]
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


def helpers(prefix: str, dtype: Dtype, functions: Iterable[Function]) -> list[str]:
    """The macro that the text needs: a multiply-add, fused where the processor does that fast."""
    if not any(f.uses("fma", "fms", "fnma") for f in functions):
        return []
    upper = prefix.upper()
    return [
        f"#ifdef {'FP_FAST_FMAF' if dtype.suffix else 'FP_FAST_FMA'}",
        f"#define {upper}_FMA(a, b, c) fma{dtype.suffix}((a), (b), (c))",
        "#else",
        f"#define {upper}_FMA(a, b, c) ((a) * (b) + (c))",
        "#endif",
        "",
    ]


__all__ = ["DTYPES", "Dtype", "Function", "helpers"]
