"""One program as a C99 function: declarations, tables, parts and body.

Names of a program never reach the text unless they are plain identifiers: values are numbered, and arrays
are called by their place. Numbers are printed as hexadecimal floats, so that no digit is lost.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinetree.compiler.ir.graph import Array, Block, Loop, Part, Statement, Store, Switch, While
from kinetree.compiler.ir.program import Program, captured, walk
from kinetree.ops import Expr
from kinetree.ops.expr import BOOLEAN_OPS, INTEGER_OPS

STACK_NUMBERS = 4096  # work arrays up to this many numbers lie on the stack; longer ones are handed in

_PATTERNS = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}", "neg": "-{}",
    "iadd": "{} + {}", "imul": "{} * {}", "lt": "{} < {}", "le": "{} <= {}", "eq": "{} == {}",
    "and": "{} && {}", "or": "{} || {}", "not": "!{}", "where": "{} ? {} : {}",
    "fma": "FMA({}, {}, {})", "fms": "FMA({}, {}, -({}))", "fnma": "FMA(-({}), {}, {})",
    "sign": "{0} > 0 ? 1 : {0} < 0 ? -1 : {0} == 0 ? 0 : {0}",
    "min": "MIN({}, {})", "max": "MAX({}, {})",
}  # fmt: skip
_LIBRARY = {
    **{op: op for op in ("sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "atan2",
                        "tanh", "floor")},
    "abs": "fabs",
}  # fmt: skip
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


class Function:
    """The C text of one program."""

    def __init__(self, prefix: str, name: str, program: Program, dtype: Dtype):
        self.prefix, self.name, self.program, self.dtype = prefix, name, program, dtype
        self.symbol = f"{prefix}_{name}"
        self.work_length = sum(a.size for a in program.work)
        self.needs_work = self.work_length > STACK_NUMBERS
        self.names = self._array_names()
        self._parts: list[str] = []
        self._part_texts: list[str] = []

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
        body = self._lines(self.program.body, 1)  # fills the list of parts
        lines = [*map(self._table, self.program.tables), *self._part_texts, self.prototype, "{"]
        lines += [*self._beginning(), *body, *self._end(), "}", ""]
        return "\n".join(lines)

    def _table(self, array: Array) -> str:
        assert array.data is not None
        if array.kind == "itable":
            kind, items = "int32_t", [str(int(x)) for x in array.data]
        else:
            kind, items = self.dtype.name, [self.dtype.number(float(x)) for x in array.data]
        rows = [", ".join(items[k : k + 8]) for k in range(0, len(items), 8)]
        inner = ",\n    ".join(rows or ["0"])
        return f"static const {kind} {self.names[array]}[{max(array.size, 1)}] = {{\n    {inner}\n}};\n"

    def _beginning(self) -> list[str]:
        """Reject what is not finite; reserve and clear memory."""
        p, real = self.program, self.dtype.name
        lines = []
        inputs = [a for a in p.inputs if a.size]
        if inputs:
            zero = self.dtype.number(0.0)
            lines.append(f"    {real} poison = {zero};")
            for a in inputs:
                each = f"for (int32_t i = 0; i < {a.size}; ++i)"
                lines.append(f"    {each} poison += {zero} * {self.names[a]}[i];")
            lines.append(f"    if (!(poison == {zero})) {{")
            lines += [f"    {line}" for a in p.outputs for line in self._fill(a, f"({real})NAN")]
            lines += ["        return 0;", "    }"]
        lines += [f"    (void){self.names[a]};" for a in (*p.inputs, *p.outputs) if not a.size]
        if p.guard is not None:
            lines.append(f"    {real} guard[1];")
        start = 0
        # compilers cannot see that loops write all that later ones read, and would warn
        cleared = "" if p.is_straight else " = {0}"
        for a in p.work:
            name = self.names[a]
            own = f"{name}[{max(a.size, 1)}]{cleared}"
            place = f"*const {name} = work + {start}" if self.needs_work else own
            lines.append(f"    {real} {place};")
            start += a.size
        for a in p.zeroed:
            lines += self._fill(a, self.dtype.number(0.0))
        return lines

    def _fill(self, array: Array, value: str) -> list[str]:
        if not array.size:
            return []
        return [f"    for (int32_t i = 0; i < {array.size}; ++i) {self.names[array]}[i] = {value};"]

    def _end(self) -> list[str]:
        if self.program.guard is None:
            return ["    return 0;"]
        return [f"    return guard[0] >= {self.dtype.number(1.0)} ? 0 : 1;"]

    def _lines(self, block: Block, depth: int) -> list[str]:
        lines: list[str] = []
        for statement in block.statements:
            lines += self._statement(statement, "    " * depth, depth)
        return lines

    def _statement(self, s: Statement, pad: str, depth: int) -> list[str]:
        if isinstance(s, Expr):
            if s.op in ("counter", "variable"):
                return []
            kind = "int32_t" if s.op in INTEGER_OPS else "int" if s.op in BOOLEAN_OPS else self.dtype.name
            return [f"{pad}const {kind} t{s.number} = {self._expression(s)};"]
        if isinstance(s, Store):
            sign = "+=" if s.accumulate else "="
            return [f"{pad}{self._element(s.array, s.index)} {sign} {self._operand(s.value)};"]
        if isinstance(s, Loop):
            t, stop = f"t{s.counter.number}", s.start + s.count * s.step
            test, step = ("<", f"{t} += {s.step}") if s.step > 0 else (">", f"{t} -= {-s.step}")
            head = f"{pad}for (int32_t {t} = {s.start}; {t} {test} {stop}; {step}) {{"
            return [head, *self._lines(s.body, depth + 1), f"{pad}}}"]
        if isinstance(s, Switch):
            lines = [f"{pad}switch ({self._operand(s.selector)}) {{"]
            for number, case in enumerate(s.cases):
                lines += [f"{pad}case {number}: {{", *self._lines(case, depth + 1)]
                lines += [f"{pad}    break;", f"{pad}}}"]
            return [*lines, f"{pad}default:", f"{pad}    break;", f"{pad}}}"]
        if isinstance(s, While):
            t = f"t{s.variable.number}"
            return [
                f"{pad}for (int32_t {t} = {self._operand(s.initial)}; {t} != 0;) {{",
                *self._lines(s.body, depth + 1),
                f"{pad}    {t} = {self._operand(s.successor)};",
                f"{pad}}}",
            ]
        assert isinstance(s, Part)
        return [f"{pad}{self._part(s)};"]

    def _part(self, part: Part) -> str:
        """Prints a part as a function of its own; gives the call."""
        body = self._lines(part.body, 1)
        arrays, integers = self._touched(part), captured(part)
        real = self.dtype.name
        parameters = [
            f"{'const ' if a.kind == 'input' else ''}{real} *restrict {self.names[a]}" for a in arrays
        ] + [f"const int32_t t{e.number}" for e in integers]
        symbol = f"{self.symbol}_part{len(self._part_texts)}"
        head = f"static void {symbol}({', '.join(parameters) or 'void'})"
        self._part_texts.append("\n".join([head, "{", *body, "}", ""]))
        arguments = [self.names[a] for a in arrays] + [f"t{e.number}" for e in integers]
        return f"{symbol}({', '.join(arguments)})"

    def _touched(self, part: Part) -> list[Array]:
        """The arrays that a part reads or writes (tables are global), in a fixed order."""
        touched = set()
        for s in walk(part.body):
            if isinstance(s, Store):
                touched.add(s.array)
            elif isinstance(s, Expr) and s.op == "load":
                touched.add(s.args[0])
        return [a for a in self.names if a in touched and a.kind in ("input", "output", "work")]

    def _expression(self, e: Expr) -> str:
        if e.op == "load" or e.op == "iload":
            return self._element(*e.args)
        operands: Sequence[str] = [self._operand(a) for a in e.args]
        if e.op in _LIBRARY:
            return f"{_LIBRARY[e.op]}{self.dtype.suffix}({', '.join(operands)})"
        pattern = _PATTERNS[e.op]
        if pattern[:3] in ("FMA", "MIN", "MAX"):
            pattern = f"{self.prefix.upper()}_{pattern}"
        return pattern.format(*operands)

    def _element(self, array: Array, index: Any) -> str:
        return f"{self.names[array]}[{self._operand(index)}]"

    def _operand(self, value: Any) -> str:
        if type(value) is Expr:
            return f"t{value.number}"
        if isinstance(value, int):  # an index, or a truth that has become known
            return str(int(value))
        text = self.dtype.number(value)
        return f"({text})" if text.startswith("-") else text


def helpers(prefix: str, dtype: Dtype, functions: Iterable[Function]) -> list[str]:
    """The macros and functions that the text needs: fused multiply-add, min and max that keep NaN."""
    functions = list(functions)
    upper, real = prefix.upper(), dtype.name
    lines = []
    if any(f.uses("fma", "fms", "fnma") for f in functions):
        fast = "FP_FAST_FMAF" if dtype.suffix else "FP_FAST_FMA"
        lines += [
            f"#ifdef {fast}",
            f"#define {upper}_FMA(a, b, c) fma{dtype.suffix}((a), (b), (c))",
            "#else",
            f"#define {upper}_FMA(a, b, c) ((a) * (b) + (c))",
            "#endif",
            "",
        ]
    for op, sign in (("min", "<="), ("max", ">=")):
        if any(f.uses(op) for f in functions):
            lines += [
                f"static {real} {prefix}_{op}_of({real} a, {real} b)",
                "{",
                f"    return (a {sign} b || a != a) ? a : b;",
                "}",
                f"#define {upper}_{op.upper()}(a, b) {prefix}_{op}_of((a), (b))",
                "",
            ]
    return lines


__all__ = ["DTYPES", "Dtype", "Function", "helpers"]
