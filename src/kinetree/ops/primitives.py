"""The closed table of what a program can compute: for each primitive its NumPy rule, derivative and cost.

Nothing outside this table can appear in a program, so a printer that covers it covers everything, and a
differentiation pass needs no other rule. `derivative(args, y)` gives dy/d(arg) for each argument, written
with ordinary operators, so that it works on floats, arrays and expressions alike; None marks an argument
without one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kinetree.ops import functions as fn


class Primitive(NamedTuple):
    """One row of the table. `cost` counts in units of `Program.ops`: add, mul, div, sqrt, sincos, other."""

    name: str
    arity: int
    numpy: Callable[..., Any]
    derivative: Callable[[tuple, Any], tuple] | None
    cost: dict[str, int]


def _flat(args: tuple, y: Any) -> tuple:
    return (None,) * len(args)


def _one_of(first: Any) -> tuple:
    return (fn.where(first, 1.0, 0.0), fn.where(first, 0.0, 1.0))


# The fused operations round once on machines; here they round twice, which an oracle may.
def _fma(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


def _fms(a: Any, b: Any, c: Any) -> Any:
    return a * b - c


def _fnma(a: Any, b: Any, c: Any) -> Any:
    return c - a * b


_ROWS = (
    Primitive("add", 2, np.add, lambda x, y: (1.0, 1.0), {"add": 1}),
    Primitive("sub", 2, np.subtract, lambda x, y: (1.0, -1.0), {"add": 1}),
    Primitive("mul", 2, np.multiply, lambda x, y: (x[1], x[0]), {"mul": 1}),
    Primitive("div", 2, np.divide, lambda x, y: (1.0 / x[1], -y / x[1]), {"div": 1}),
    Primitive("neg", 1, np.negative, lambda x, y: (-1.0,), {"neg": 1}),
    Primitive("fma", 3, _fma, lambda x, y: (x[1], x[0], 1.0), {"mul": 1, "add": 1}),
    Primitive("fms", 3, _fms, lambda x, y: (x[1], x[0], -1.0), {"mul": 1, "add": 1}),
    Primitive("fnma", 3, _fnma, lambda x, y: (-x[1], -x[0], 1.0), {"mul": 1, "add": 1}),
    Primitive("sqrt", 1, np.sqrt, lambda x, y: (0.5 / y,), {"sqrt": 1}),
    Primitive("sin", 1, np.sin, lambda x, y: (fn.cos(x[0]),), {"sincos": 1}),
    Primitive("cos", 1, np.cos, lambda x, y: (-fn.sin(x[0]),), {"sincos": 1}),
    Primitive("tan", 1, np.tan, lambda x, y: (1.0 + y * y,), {"other": 1}),
    Primitive("asin", 1, np.arcsin, lambda x, y: (1.0 / fn.sqrt(1.0 - x[0] * x[0]),), {"other": 1}),
    Primitive("acos", 1, np.arccos, lambda x, y: (-1.0 / fn.sqrt(1.0 - x[0] * x[0]),), {"other": 1}),
    Primitive("atan", 1, np.arctan, lambda x, y: (1.0 / (1.0 + x[0] * x[0]),), {"other": 1}),
    Primitive(
        "atan2", 2, np.arctan2,
        lambda x, y: (x[1] / (x[0] * x[0] + x[1] * x[1]), -x[0] / (x[0] * x[0] + x[1] * x[1])), {"other": 1},
    ),
    Primitive("exp", 1, np.exp, lambda x, y: (y,), {"other": 1}),
    Primitive("log", 1, np.log, lambda x, y: (1.0 / x[0],), {"other": 1}),
    Primitive("tanh", 1, np.tanh, lambda x, y: (1.0 - y * y,), {"other": 1}),
    Primitive("sign", 1, np.sign, lambda x, y: (0.0,), {"other": 1}),
    Primitive("floor", 1, np.floor, lambda x, y: (0.0,), {"other": 1}),
    Primitive("abs", 1, np.abs, lambda x, y: (fn.where(fn.less(x[0], 0.0), -1.0, 1.0),), {"other": 1}),
    Primitive(
        "min", 2, np.minimum,
        lambda x, y: _one_of(fn.less_equal(x[0], x[1])), {"other": 1},
    ),
    Primitive(
        "max", 2, np.maximum,
        lambda x, y: _one_of(fn.less_equal(x[1], x[0])), {"other": 1},
    ),
    Primitive("lt", 2, np.less, _flat, {"other": 1}),
    Primitive("le", 2, np.less_equal, _flat, {"other": 1}),
    Primitive("eq", 2, np.equal, _flat, {"other": 1}),
    Primitive("and", 2, np.logical_and, _flat, {"other": 1}),
    Primitive("or", 2, np.logical_or, _flat, {"other": 1}),
    Primitive("not", 1, np.logical_not, _flat, {"other": 1}),
    Primitive(
        "where", 3, np.where,
        lambda x, y: (None, *_one_of(x[0])), {"other": 1},
    ),
)  # fmt: skip

PRIMITIVES: dict[str, Primitive] = {row.name: row for row in _ROWS}
