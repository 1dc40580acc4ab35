"""C99 export: programs as one header, one source and a self-test.

The source uses no heap and no globals except constant tables, and compiles without a warning under `-Wall
-Wextra -Wconversion -pedantic`. Multiply-adds are fused where the compiler reports fast hardware support
(`-O2 -march=native`); otherwise they are two operations, never a call of `fma`. Do not build with
`-ffast-math`: it would break the rule that NaN in gives NaN out.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from kinetree.compiler.emit.c_function import DTYPES, STACK, Function, helpers
from kinetree.compiler.emit.c_selftest import selftest
from kinetree.compiler.ir.check import check
from kinetree.compiler.ir.program import Program
from kinetree.errors import CompileError

Entry = tuple[str, Program, Sequence[str], Sequence[str]]


def c_source(
    programs: Sequence[Entry],
    prefix: str = "kinetree",
    dtype: str = "float64",
    title: str = "",
    samples: Mapping[str, Sequence[Sequence[Any]]] | None = None,
    constants: Mapping[str, int] | None = None,
    notes: Sequence[str] = (),
    stack: int = STACK,
) -> dict[str, str]:
    """The C files of some programs: `{prefix}.h`, `{prefix}.c` and `{prefix}_selftest.c`, by name.

    Args:
        programs: (public name, program after all passes, a line about each input, one about each output).
        prefix: of every name and file; converted to an identifier if necessary.
        dtype: "float64" or "float32".
        title: first line of the header's comment, e.g. the model's name; escaped.
        samples: for the self-test, by public name, states (one array per input); otherwise random numbers.
        constants: macros of the header, `{PREFIX}_{NAME}`.
        notes: further lines of the header's comment; escaped.
        stack: bytes of local arrays in a function; if it needs more, the caller provides the memory.

    Raises:
        CompileError: unknown dtype, a name that is not an identifier, or two equal names.
    """
    prefix = identifier(prefix)
    functions = c_functions(programs, prefix, dtype, stack)
    comment = [title, "", *ABOUT.splitlines(), *notes]
    return {
        f"{prefix}.h": header(prefix, comment, functions, programs, constants),
        f"{prefix}.c": source(prefix, functions),
        f"{prefix}_selftest.c": selftest(prefix, functions, samples or {}),
    }


def c_functions(
    programs: Sequence[Entry], prefix: str, dtype: str = "float64", stack: int = STACK
) -> list[Function]:
    """The C functions of some programs; arguments and errors as for `c_source`."""
    if dtype not in DTYPES:
        raise CompileError(f"C export: dtype {dtype!r} is not one of {', '.join(DTYPES)}")
    functions: list[Function] = []
    for name, program, *_ in programs:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
            raise CompileError(f"C export: {name!r} is not a name for C: use letters, digits and _")
        if any(f.name == name for f in functions):
            raise CompileError(f"C export: two functions are called {name!r}")
        functions.append(Function(prefix, name, check(program), DTYPES[dtype], stack))
    return functions


def identifier(text: str) -> str:
    """A C identifier from a text: anything but letters and digits becomes _; never reserved or empty."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").lower()[:48]
    return plain if plain and plain[0].isalpha() else f"k{plain}"


def comment_text(text: str) -> str:
    """A text that stays within one line of an ASCII comment."""
    return "".join(c if c in _HARMLESS else f"<U+{ord(c):04X}>" for c in text)


_HARMLESS = frozenset(string.ascii_letters + string.digits + " _-.,:;()[]{}<>=+'|#@!$%&^~")


def header(
    prefix: str,
    comment: Sequence[str],
    functions: list[Function],
    programs: Sequence[Entry],
    constants: Mapping[str, int] | None = None,
) -> str:
    """The text of the header, with the lines of its comment (escaped) and macros `{PREFIX}_{NAME}`."""
    upper = prefix.upper()
    first, *rest = (comment_text(line) for line in comment)
    lines = [f"/* {first or prefix}", *(f" * {line}".rstrip() for line in rest), " */"]
    lines += [f"#ifndef {upper}_H", f"#define {upper}_H", ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', f"#define {upper}_RESTRICT", "#else"]
    lines += [f"#define {upper}_RESTRICT restrict", "#endif", ""]
    lines += [*(f"#define {upper}_{name} {value}" for name, value in (constants or {}).items()), ""]
    for f, (_, p, *about_all) in zip(functions, programs):
        lines.append(f"/* {f.symbol}")
        texts = [*_padded(about_all[0], p.inputs), *_padded(about_all[1], p.outputs)]
        for array, about in zip((*p.inputs, *p.outputs), texts):
            text = f": {comment_text(about)}" if about else ""
            lines.append(f" *   {array.kind:6} {f.names[array]}[{array.size}]{text}")
        if f.needs_work:
            lines.append(f" *   memory work[{f.symbol.upper()}_WORK]: overwritten")
        lines.append(" */")
        if f.needs_work:
            lines.append(f"#define {f.symbol.upper()}_WORK {f.work_length}")
        lines += [f"{f.prototype};", ""]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", f"#endif /* {upper}_H */", ""])


def _padded(about: Sequence[str], arrays: Sequence[Any]) -> list[str]:
    return [*about, *("" for _ in arrays)][: len(arrays)]


ABOUT = """\
Every function computes one state. Arrays must not overlap; matrices are stored by rows. No heap, no
globals but constants: all functions can run in many threads at once. They return 0, or 1 if the
result cannot be trusted (a division by nearly zero). An input that is not finite makes every output
NaN. Do not compile with -ffast-math."""


def source(prefix: str, functions: list[Function]) -> str:
    """The text of the source."""
    lines = [f'#include "{prefix}.h"', "", "#include <math.h>", "#include <stdint.h>", ""]
    if functions:
        lines += helpers(prefix, functions[0].dtype, functions)
    return "\n".join([*lines, *(f.text() for f in functions)])
