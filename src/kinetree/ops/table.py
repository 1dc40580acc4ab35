"""The table of operations. A new one needs a row here and a line in `compiler/emit/llvm/instructions.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.ops import expr as ex
from kinetree.ops import functions as fn
from kinetree.ops.primitives import ARRAY, INTEGER, NUMBER, PRIMITIVES, TRUTH, Primitive


def _arithmetic(
    name: str,
    fold: Callable | None,
    numpy: Callable,
    derivative: Callable,
    cost: dict[str, int],
    python: str,
    c: str | None = None,
    commutative: bool = False,
) -> Primitive:
    """Sums and products, written alike in Python and C."""
    takes = (NUMBER,) * len(derivative((1.0, 1.0, 1.0), 1.0))
    return Primitive(
        name, takes, NUMBER, fold, numpy, derivative, cost=cost, commutative=commutative, python=python,
        c=c or python,
    )  # fmt: skip


def _function(
    name: str, numpy: Callable, derivative: Callable, cost: str = "other", parity: int = 0,
    weight: float = 1.0, c: str = "", arity: int = 1,
) -> Primitive:  # fmt: skip
    """A function of `kinetree.ops`; the C library uses the same name unless `c` is given."""
    slots = ", ".join(["{}"] * arity)
    return Primitive(
        name, (NUMBER,) * arity, NUMBER, getattr(fn, name), numpy, derivative, cost={cost: 1}, weight=weight,
        parity=parity, python=f"ops.{name}({slots})", c=c or f"{name}{{f}}({slots})",
    )  # fmt: skip


def _selection(
    name: str, numpy: Callable, choice: Callable, c: str, takes: tuple[str, ...], commutative: bool = False
) -> Primitive:
    """An operation that gives one of its last two operands."""

    def derivative(x: tuple, y: Any) -> tuple:
        first = choice(x)
        slopes = (fn.where(first, 1.0, 0.0), fn.where(first, 0.0, 1.0))
        return (*(None,) * (len(takes) - 2), *slopes)

    slots = ", ".join(["{}"] * len(takes))
    return Primitive(
        name, takes, NUMBER, getattr(fn, name), numpy, derivative, choice, {"other": 1},
        commutative=commutative, python=f"ops.{name}({slots})", c=c,
    )  # fmt: skip


def _flat(x: tuple, y: Any) -> tuple:
    return (None,) * len(x)


def _test(name: str, fold: Callable, numpy: Callable, python: str, c: str, takes: str = NUMBER) -> Primitive:
    """An operation that gives a truth."""
    return Primitive(
        name, (takes,) * (1 if name == "not" else 2), TRUTH, fold, numpy, _flat, cost={"other": 1},
        commutative=name in ("eq", "and", "or"), python=python, c=c,
    )  # fmt: skip


def _logic(name: str) -> Callable[..., Any]:
    return lambda *args: ex.logic(name, *args)


def _atan2_slopes(x: tuple, y: Any) -> tuple:
    squared = x[0] * x[0] + x[1] * x[1]
    return (x[1] / squared, -x[0] / squared)


_TWICE = {"mul": 1, "add": 1}
_ROWS = (
    _arithmetic("add", ex.add, np.add, lambda x, y: (1.0, 1.0), {"add": 1}, "{} + {}", commutative=True),
    _arithmetic("sub", ex.sub, np.subtract, lambda x, y: (1.0, -1.0), {"add": 1}, "{} - {}"),
    _arithmetic("mul", ex.mul, np.multiply, lambda x, y: (x[1], x[0]), {"mul": 1}, "{} * {}",
                commutative=True),
    _arithmetic("div", ex.div, np.divide, lambda x, y: (1.0 / x[1], -y / x[1]), {"div": 1}, "{} / {}"),
    _arithmetic("neg", ex.neg, np.negative, lambda x, y: (-1.0,), {"neg": 1}, "-{}"),
    # fused operations round once in hardware; NumPy and Python, as reference, may round twice
    _arithmetic("fma", None, lambda a, b, c: a * b + c, lambda x, y: (x[1], x[0], 1.0), _TWICE,
                "{} * {} + {}", "{p}_FMA({}, {}, {})"),
    _arithmetic("fms", None, lambda a, b, c: a * b - c, lambda x, y: (x[1], x[0], -1.0), _TWICE,
                "{} * {} - {}", "{p}_FMA({}, {}, -({}))"),
    _arithmetic("fnma", None, lambda a, b, c: c - a * b, lambda x, y: (-x[1], -x[0], 1.0), _TWICE,
                "{2} - {0} * {1}", "{p}_FMA(-({}), {}, {})"),
    _arithmetic("fnms", None, lambda a, b, c: -(a * b) - c, lambda x, y: (-x[1], -x[0], -1.0), _TWICE,
                "-({} * {}) - {}", "{p}_FMA(-({}), {}, -({}))"),
    _function("sqrt", np.sqrt, lambda x, y: (0.5 / y,), "sqrt"),
    _function("sin", np.sin, lambda x, y: (fn.cos(x[0]),), "sincos", -1, weight=20.0),
    _function("cos", np.cos, lambda x, y: (-fn.sin(x[0]),), "sincos", 1, weight=20.0),
    _function("tan", np.tan, lambda x, y: (1.0 + y * y,), parity=-1),
    _function("asin", np.arcsin, lambda x, y: (1.0 / fn.sqrt(1.0 - x[0] * x[0]),), parity=-1),
    _function("acos", np.arccos, lambda x, y: (-1.0 / fn.sqrt(1.0 - x[0] * x[0]),)),
    _function("atan", np.arctan, lambda x, y: (1.0 / (1.0 + x[0] * x[0]),), parity=-1),
    _function("atan2", np.arctan2, _atan2_slopes, arity=2),
    _function("exp", np.exp, lambda x, y: (y,)),
    _function("log", np.log, lambda x, y: (1.0 / x[0],)),
    _function("tanh", np.tanh, lambda x, y: (1.0 - y * y,), parity=-1),
    _function("abs", np.abs, lambda x, y: (fn.where(fn.less(x[0], 0.0), -1.0, 1.0),), parity=1,
              c="fabs{f}({})"),
    _function("sign", np.sign, lambda x, y: (0.0,), parity=-1,
              c="{0} > 0 ? 1 : {0} < 0 ? -1 : {0} == 0 ? 0 : {0}"),
    _function("floor", np.floor, lambda x, y: (0.0,)),
    # NaN if one of the two is NaN
    _selection("min", np.minimum, lambda x: fn.less_equal(x[0], x[1]),
               "({0} <= {1} || {0} != {0}) ? {0} : {1}", (NUMBER, NUMBER), True),
    _selection("max", np.maximum, lambda x: fn.less_equal(x[1], x[0]),
               "({0} >= {1} || {0} != {0}) ? {0} : {1}", (NUMBER, NUMBER), True),
    _selection("where", np.where, lambda x: x[0], "{} ? {} : {}", (TRUTH, NUMBER, NUMBER)),
    _test("lt", fn.less, np.less, "ops.less({}, {})", "{} < {}"),
    _test("le", fn.less_equal, np.less_equal, "ops.less_equal({}, {})", "{} <= {}"),
    _test("eq", fn.equal, np.equal, "ops.equal({}, {})", "{} == {}"),
    _test("and", _logic("and"), np.logical_and, "np.logical_and({}, {})", "{} && {}", TRUTH),
    _test("or", _logic("or"), np.logical_or, "np.logical_or({}, {})", "{} || {}", TRUTH),
    _test("not", _logic("not"), np.logical_not, "np.logical_not({})", "!{}", TRUTH),
    Primitive("implied", (NUMBER, NUMBER), NUMBER, fn.implied, lambda a, b: a, lambda x, y: (None, 1.0),
              python="{0}", c="{0}"),
    Primitive("lookup", (ARRAY, NUMBER, NUMBER), NUMBER, fn.lookup, derivative=lambda x, y: (None, 0.0, 0.0),
              cost={"other": 1}, weight=10.0),
    Primitive("iadd", (INTEGER, INTEGER), INTEGER, ex.iadd, np.add, python="{} + {}", c="{} + {}"),
    Primitive("imul", (INTEGER, INTEGER), INTEGER, ex.imul, np.multiply, python="{} * {}", c="{} * {}"),
    Primitive("load", (ARRAY, INTEGER)),
    Primitive("iload", (ARRAY, INTEGER), INTEGER),
    Primitive("counter", (), INTEGER),
    Primitive("variable", (), INTEGER),
)  # fmt: skip

PRIMITIVES.update({row.name: row for row in _ROWS})
