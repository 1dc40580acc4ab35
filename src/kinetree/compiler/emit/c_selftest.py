"""The self-test of exported C: a small main that compares with the results of the Python printer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.compiler.emit.c_function import Function
from kinetree.compiler.emit.python import run

_TOLERANCE = {"double": 1e-9, "float": 2e-3}


def selftest(prefix: str, functions: list[Function], samples: Mapping[str, Sequence[Sequence[Any]]]) -> str:
    """The text of a program whose exit status is the number of failing functions."""
    lines = [
        f'#include "{prefix}.h"', "", "#include <math.h>", "#include <stdint.h>", "#include <stdio.h>", "",
    ]  # fmt: skip
    cases = [line for f in functions for line in _case(f, samples.get(f.name))]
    for name, helper in _helpers(functions[0]).items() if functions else ():
        if any(name in line for line in cases):  # a model without coordinates has nothing to compare
            lines += helper
    lines += cases
    lines += ["int main(void)", "{", "    int failed = 0;"]
    for f in functions:
        lines.append(f"    failed += check_{f.name}();")
    lines += [
        f'    printf("{prefix}: %d of {len(functions)} functions failed\\n", failed);',
        "    return failed;", "}", "",
    ]  # fmt: skip
    return "\n".join(lines)


def _helpers(f: Function) -> dict[str, list[str]]:
    """Helper functions of the cases, by name."""
    real, tolerance = f.dtype.name, f.dtype.number(_TOLERANCE[f.dtype.name])
    return {
        "is_close": [
            f"static int is_close(const {real} *a, const {real} *b, int32_t n)",
            "{",
            f"    {real} scale = 1, worst = 0;",
            "    for (int32_t i = 0; i < n; ++i) {",
            f"        const {real} size = b[i] < 0 ? -b[i] : b[i];",
            f"        const {real} d = a[i] < b[i] ? b[i] - a[i] : a[i] - b[i];",
            "        if (!(a[i] == a[i])) return 0;",
            "        if (size > scale) scale = size;",
            "        if (d > worst) worst = d;",
            "    }",
            f"    return worst <= {tolerance} * scale;",
            "}",
            "",
        ],
        "is_nan": [
            f"static int is_nan(const {real} *a, int32_t n)",
            "{",
            "    for (int32_t i = 0; i < n; ++i)",
            "        if (a[i] == a[i]) return 0;",
            "    return 1;",
            "}",
            "",
        ],
    }


def _case(f: Function, samples: Sequence[Sequence[Any]] | None) -> list[str]:
    """A function that runs one exported function on its samples, and once on NaN."""
    p, real, number = f.program, f.dtype.name, f.dtype.number
    if samples is None:
        rng = np.random.default_rng(len(f.name))
        samples = [[rng.uniform(-1.0, 1.0, a.size) for a in p.inputs] for _ in range(2)]
    wanted = [run(p, *[np.asarray(x, float) for x in state])[0] for state in samples]
    trusted = [k for k, w in enumerate(wanted) if all(np.isfinite(x).all() for x in w)]

    def rows(name: str, states: list[Any], size: int) -> str:
        text = ",\n        ".join("{" + ", ".join(number(float(x)) for x in s) + "}" for s in states)
        return f"    static const {real} {name}[{len(states)}][{size}] = {{\n        {text}\n    }};"

    lines = [f"static int check_{f.name}(void)", "{", "    int ok = 1;"]
    inputs = [f"in{k}" if a.size else f"empty_in{k}" for k, a in enumerate(p.inputs)]
    outputs = [f"out{k}" if a.size else f"empty_out{k}" for k, a in enumerate(p.outputs)]
    lines += [f"    {real} {n}[1] = {{0}};" for n in (*inputs, *outputs) if n.startswith("empty")]
    lines += [f"    {real} out{k}[{a.size}];" for k, a in enumerate(p.outputs) if a.size]
    work = []
    if f.needs_work:
        lines.append(f"    static {real} work[{f.symbol.upper()}_WORK];")
        work = ["work"]
    states = [samples[k] for k in trusted]
    if states:
        lines += [rows(f"in{k}", [s[k] for s in states], a.size) for k, a in enumerate(p.inputs) if a.size]
        results = [wanted[k] for k in trusted]
        for k, a in enumerate(p.outputs):
            lines += [rows(f"want{k}", [w[k] for w in results], a.size)] if a.size else []
        lines.append(f"    for (int32_t s = 0; s < {len(states)}; ++s) {{")
        arguments = [n if n.startswith("empty") else f"{n}[s]" for n in inputs] + outputs + work
        lines.append(f"        (void){f.symbol}({', '.join(arguments)});")
        for k, a in enumerate(p.outputs):
            if a.size:
                lines.append(f"        ok = ok && is_close(out{k}, want{k}[s], {a.size});")
        lines.append("    }")
    filled = [k for k, a in enumerate(p.inputs) if a.size]
    if filled:
        lines += [f"    {real} bad{k}[{p.inputs[k].size}] = {{0}};" for k in filled]
        lines.append(f"    bad{filled[-1]}[{p.inputs[filled[-1]].size - 1}] = ({real})NAN;")
        arguments = [n if n.startswith("empty") else n.replace("in", "bad") for n in inputs] + outputs + work
        lines.append(f"    (void){f.symbol}({', '.join(arguments)});")
        lines += [f"    ok = ok && is_nan(out{k}, {a.size});" for k, a in enumerate(p.outputs) if a.size]
    lines += [f'    printf("%s {f.name}\\n", ok ? "ok    " : "FAILED");', "    return !ok;", "}", ""]
    return lines
