"""One program as a C99 function: declarations, tables, parts and body.

Names of a program reach the text only if they are plain identifiers: values are numbered, and arrays are
otherwise named by their position.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from kinetree.compiler.emit.c_like import CLike, Dtype
from kinetree.compiler.ir.graph import Array
from kinetree.compiler.ir.program import Program

STACK = 1 << 15  # bytes of work arrays on the stack; beyond that the caller provides them

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]{,30}\Z")
_MACRO = re.compile(r"(I|[A-Z][A-Z0-9_]+)\Z")  # may be macros of headers
_OWN = re.compile(r"(t|input|output|work)[0-9]+\Z")  # used by the generated text itself
_RESERVED = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if inline int
    long register restrict return short signed sizeof static struct switch typedef union unsigned void
    volatile while asm typeof bool true false work guard poison i main errno and or not xor class new delete
    this template private public protected friend operator namespace using try catch throw virtual
    y0 y1 yn j0 j1 jn""".split()
)


DTYPES = {"float64": Dtype("double", "", np.float64), "float32": Dtype("float", "f", np.float32)}


class Function(CLike):
    """The C text of one program."""

    def __init__(self, prefix: str, name: str, program: Program, dtype: Dtype, stack: int = STACK):
        symbol = f"{prefix}_{name}"
        super().__init__(program, dtype, symbol, prefix.upper(), _array_names(program, symbol))
        self.name = name
        self.work_length = sum(a.size for a in program.work)
        self.needs_work = self.work_length * np.dtype(dtype.numpy).itemsize > stack

    @property
    def prototype(self) -> str:
        """The declaration, without a semicolon."""
        real, p = self.dtype.name, self.program
        restrict = f"{self.macros}_RESTRICT"
        parameters = [f"const {real} *{restrict} {self.names[a]}" for a in p.inputs]
        parameters += [f"{real} *{restrict} {self.names[a]}" for a in p.outputs]
        parameters += [f"{real} *{restrict} work"] if self.needs_work else []
        return f"int {self.symbol}({', '.join(parameters) or 'void'})"

    def text(self) -> str:
        """Tables, parts and the function itself."""
        self.lines, self.depth, self.parts = [], 1, []
        self._declarations()
        self.statements(self.program.body.statements)  # fills the list of parts
        trusted = f"guard[0] >= {self.number(1.0)} ? 0 : 1" if self.program.guard is not None else "0"
        self.line(f"return {trusted};")
        before = [*map(self.table, self.program.tables), *self.parts]
        return "\n".join([*before, self.prototype, "{", *self.lines, "}", ""])

    def _declarations(self) -> None:
        """Mark unused arguments, and reserve memory."""
        p, real = self.program, self.dtype.name
        for a in (*p.inputs, *p.outputs):
            if not a.size:
                self.line(f"(void){self.names[a]};")
        if p.guard is not None:
            self.line(f"{real} guard[1];")
        start = 0
        # compilers cannot see that loops write everything that is read later, and would warn
        cleared = "" if p.is_straight else " = {0}"
        for a in p.work:
            name = self.names[a]
            own = f"{name}[{max(a.size, 1)}]{cleared}"
            self.line(f"{real} {f'*const {name} = work + {start}' if self.needs_work else own};")
            start += a.size


def _array_names(program: Program, symbol: str) -> dict[Array, str]:
    """The names of inputs and outputs where they are valid in C; otherwise by position."""
    names: dict[Array, str] = {}
    for word, arrays in (("input", program.inputs), ("output", program.outputs)):
        for k, array in enumerate(arrays):
            taken = _RESERVED.union(names.values())
            own = _OWN.match(array.name) or _MACRO.match(array.name) or array.name in taken
            usable = _IDENTIFIER.match(array.name) and not own
            names[array] = array.name if usable else f"{word}{k}"
    names.update({a: f"work{k}" for k, a in enumerate(program.work)})
    names.update({a: f"{symbol}_table{k}" for k, a in enumerate(program.tables)})
    if program.guard is not None:
        names[program.guard] = "guard"
    return names


def helpers(prefix: str, dtype: Dtype, functions: Iterable[Function]) -> list[str]:
    """The macro for multiply-adds, fused where the processor is fast at it."""
    if not any(f.uses("fma", "fms", "fnma", "fnms") for f in functions):
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
