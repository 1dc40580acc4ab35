"""One identity, every kind of number: floats, complex numbers, arrays, 50 digits, SymPy, expressions.

An identity is a function of numbers that returns numbers. `evaluate` runs it on samples with one kind of
number and gives plain floats back, so that a test says once what must hold and pytest says for which
numbers it does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import sympy

from kinetree import ops
from kinetree.compiler.ir.graph import Graph
from kinetree.ops import PRIMITIVES, Expr

DIGITS = 50

KINDS = ("float", "complex", "array", "grid", "empty batch", "float32", "mpmath", "sympy", "expr")

TOLERANCE = {
    "float": 1e-14, "complex": 1e-14, "array": 1e-14, "grid": 1e-14, "empty batch": 0.0, "float32": 1e-5,
    "mpmath": 1e-47, "sympy": 1e-27, "expr": 1e-14,
}  # fmt: skip
"""How far from zero a residual of size-one numbers may be."""


def evaluate(kind: str, function: Callable, samples: Any) -> np.ndarray:
    """`function(*row)` for each row of `samples`, with numbers of one kind: an array (rows, results)."""
    rows = np.asarray(samples, dtype=float)
    if kind in ("array", "grid", "empty batch", "float32"):
        return _on_arrays(kind, function, rows)
    if kind == "expr":
        return _recorded(function, rows)
    lift: dict[str, Callable[[float], Any]] = {
        "float": float, "complex": complex, "mpmath": mpmath.mpf, "sympy": lambda x: sympy.Float(x, 30)
    }  # fmt: skip
    with mpmath.workdps(DIGITS):
        results = [
            [_plain(y) for y in leaves(function(*(lift[kind](float(x)) for x in row)))] for row in rows
        ]
    return np.array(results, dtype=float)


def residual(kind: str, function: Callable, samples: Any) -> float:
    """The largest absolute value of `function` over the samples; infinite if one is not a number."""
    values = evaluate(kind, function, samples)
    return float(np.max(np.where(np.isfinite(values), np.abs(values), math.inf), initial=0.0))


def derivative(function: Callable, row: Sequence[float], direction: Sequence[float]) -> np.ndarray:
    """The directional derivative by a complex step: exact to rounding if the function is analytic."""
    step = 1e-150
    return np.array([complex(y).imag / step for y in leaves(function(*_shifted(row, direction, step)))])


def _shifted(row: Sequence[float], direction: Sequence[float], step: float) -> list[complex]:
    return [complex(x, step * d) for x, d in zip(row, direction, strict=True)]


def exact_derivative(function: Callable, row: Sequence[float], direction: Sequence[float]) -> np.ndarray:
    """The same with 90 digits and central differences: independent of complex numbers, right to 1e-25."""
    with mpmath.workdps(90):
        h = mpmath.mpf(10) ** -30
        ahead, behind = (
            leaves(function(*(mpmath.mpf(x) + s * h * d for x, d in zip(row, direction, strict=True))))
            for s in (1, -1)
        )
        return np.array([float((a - b) / (2 * h)) for a, b in zip(ahead, behind, strict=True)])


def leaves(x: Any) -> list:
    """The numbers of a result, however it holds them."""
    if hasattr(x, "components"):
        x = x.components
    elif hasattr(x, "parameters"):
        x = x.parameters
    elif hasattr(x, "rows"):
        x = x.rows
    elif hasattr(x, "as_matrix"):
        x = x.as_matrix()
    if isinstance(x, (tuple, list)):
        return [leaf for part in x for leaf in leaves(part)]
    return [x]


def difference(x: Any, y: Any) -> list:
    """The differences of all numbers of two results."""
    return [a - b for a, b in zip(leaves(x), leaves(y), strict=True)]


def _plain(y: Any) -> float:
    return complex(y).real if isinstance(y, complex) else float(y)


def _on_arrays(kind: str, function: Callable, rows: np.ndarray) -> np.ndarray:
    if kind == "float32":
        rows = rows.astype(np.float32)
    shape = {"grid": (1, len(rows), 1), "empty batch": (0, 2)}.get(kind, (len(rows),))
    columns = [np.zeros(shape) if kind == "empty batch" else column.reshape(shape) for column in rows.T]
    results = leaves(function(*columns))
    for y in results:
        assert np.broadcast_shapes(np.shape(y), shape) == shape
        assert kind != "float32" or not isinstance(y, np.ndarray) or y.dtype == np.float32
    return np.array([np.broadcast_to(y, shape).reshape(-1) for y in results], dtype=float).T


def _recorded(function: Callable, rows: np.ndarray) -> np.ndarray:
    graph = Graph()
    inputs = graph.array("x", "input", rows.shape[1])
    results = leaves(function(*(graph.load(inputs, i) for i in range(rows.shape[1]))))
    known: dict[Expr, Any] = {}
    with np.errstate(all="ignore"):
        values = [_value(y, rows.T, known) for y in results]
    return np.array([np.broadcast_to(v, len(rows)) for v in values], dtype=float).T


def traced_derivative(function: Callable, row: Sequence[float], direction: Sequence[float]) -> np.ndarray:
    """The directional derivative of the recorded expressions, by the derivative rules of the primitives.

    A branch that is not taken still contributes zero times its derivative: not a number, unless it is finite.
    """
    graph = Graph()
    inputs = graph.array("x", "input", len(row))
    results = leaves(function(*(graph.load(inputs, i) for i in range(len(row)))))
    known: dict[Expr, tuple[Any, Any]] = {}

    def both(y: Any) -> tuple[Any, Any]:
        if not isinstance(y, Expr):
            return y, 0.0
        if y not in known:
            if y.op == "load":
                known[y] = np.float64(row[y.args[1]]), np.float64(direction[y.args[1]])
            else:
                values, rates = zip(*(both(a) for a in y.args), strict=True)
                rule = PRIMITIVES[y.op]
                value = rule.numpy(*values)
                assert rule.derivative is not None
                slopes = rule.derivative(values, value)
                known[y] = value, sum(s * r for s, r in zip(slopes, rates, strict=True) if s is not None)
        return known[y]

    with np.errstate(all="ignore"):
        return np.array([float(both(y)[1]) for y in results])


def flops(function: Callable, inputs: int) -> int:
    """How many additions, multiplications, divisions and roots a recorded function takes."""
    graph = Graph()
    array = graph.array("x", "input", inputs)
    pending, seen = leaves(function(*(graph.load(array, i) for i in range(inputs)))), set()
    while pending:
        y = pending.pop()
        if isinstance(y, Expr) and y not in seen and y.op != "load":
            seen.add(y)
            pending.extend(y.args)
    counted = ("add", "mul", "div", "sqrt")
    return sum(PRIMITIVES[y.op].cost.get(kind, 0) for y in seen for kind in counted)


def _value(y: Any, columns: np.ndarray, known: dict[Expr, Any]) -> Any:
    """What an expression is, by the NumPy rules of the table of primitives."""
    if not isinstance(y, Expr):
        return y
    if y not in known:
        if y.op == "load":
            known[y] = columns[y.args[1]]
        else:
            known[y] = PRIMITIVES[y.op].numpy(*(_value(a, columns, known) for a in y.args))
    return known[y]


def zero_if(condition: Any, like: Any) -> Any:
    """A truth value as a number of the kind of `like`: 0 where it holds, 1 where it does not."""
    return ops.where(condition, 0 * like, 0 * like + 1)
