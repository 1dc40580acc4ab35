"""A direct evaluation of programs, one state at a time, by the NumPy rules of the table of primitives.

It shares no code with the printers. Fused operations are rounded once (by exact rational arithmetic).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from kinetree.compiler.ir.graph import Block, Clear, Loop, Part, Spoil, Store, Switch, While
from kinetree.compiler.ir.program import Program
from kinetree.ops import PRIMITIVES, Expr


def _fused(a: float, b: float, c: float, sign_product: int, sign_sum: int) -> float:
    if not np.isfinite([a, b, c]).all():
        return sign_product * a * b + sign_sum * c
    exact = sign_product * Fraction(a) * Fraction(b) + sign_sum * Fraction(c)
    return float(exact) if exact else sign_product * a * b + sign_sum * c


def _element(matrix: np.ndarray, *places: float) -> np.float64:
    """An element of a matrix; beyond its edges, that of the edge."""
    if any(x != x for x in places):
        return np.float64("nan")
    return matrix[tuple(int(max(0.0, min(x, n - 1.0))) for x, n in zip(places, matrix.shape))]


FUSED = {"fma": (1, 1), "fms": (1, -1), "fnma": (-1, 1), "fnms": (-1, -1)}


def interpret(program: Program, *inputs: np.ndarray) -> tuple[list[np.ndarray], bool]:
    """The outputs for one state, and True if the guard says that they are not to be trusted."""
    memory: dict[Any, Any] = {a: np.full(a.size, np.nan) for a in (*program.results, *program.work)}
    memory.update({a: a.data for a in program.tables})
    memory.update(zip(program.inputs, inputs))
    values: dict[Expr, Any] = {}

    def get(x: Any) -> Any:
        return values[x] if isinstance(x, Expr) else x

    def execute(block: Block) -> None:
        for s in block.statements:
            if isinstance(s, Expr):
                if s.op in ("load", "iload"):
                    index = get(s.args[1])
                    assert 0 <= index < s.args[0].size
                    number = memory[s.args[0]][index]
                    values[s] = int(number) if s.op == "iload" else np.float64(number)
                elif s.op == "lookup":
                    values[s] = _element(memory[s.args[0]], *map(get, s.args[1:]))
                elif s.op in FUSED:
                    values[s] = np.float64(_fused(*map(float, map(get, s.args)), *FUSED[s.op]))
                elif s.op == "iadd":
                    values[s] = get(s.args[0]) + get(s.args[1])
                elif s.op == "imul":
                    values[s] = get(s.args[0]) * get(s.args[1])
                elif s.op not in ("counter", "variable"):
                    values[s] = PRIMITIVES[s.op].numpy(*map(get, s.args))
            elif isinstance(s, Store):
                index = get(s.index)
                assert 0 <= index < s.array.size
                memory[s.array][index] = get(s.value) + (memory[s.array][index] if s.accumulate else 0.0)
            elif isinstance(s, Clear):
                memory[s.array][:] = 0.0
            elif isinstance(s, Spoil):
                if not all(np.isfinite(memory[a]).all() for a in s.inputs):
                    for a in s.outputs:
                        memory[a][:] = np.nan
                    if s.guard is not None:
                        memory[s.guard][:] = 1.0
            elif isinstance(s, Loop):
                for k in range(s.count):
                    values[s.counter] = s.start + k * s.step
                    execute(s.body)
            elif isinstance(s, Switch):
                execute(s.cases[get(s.selector)])
            elif isinstance(s, While):
                values[s.variable] = get(s.initial)
                while values[s.variable] != 0:
                    execute(s.body)
                    values[s.variable] = get(s.successor)
            elif isinstance(s, Part):
                execute(s.body)

    with np.errstate(all="ignore"):
        execute(program.body)
    untrusted = program.guard is not None and not memory[program.guard][0] >= 1.0
    return [memory[a] for a in program.outputs], untrusted
