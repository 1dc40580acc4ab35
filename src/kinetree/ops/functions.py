"""Functions on numbers, dispatched on the kind of number.

Kinds: Python and NumPy scalars, complex numbers, NumPy arrays (elementwise), `Expr` (recorded), numbers of
mpmath, SymPy, CasADi (SX, MX) and JAX. These libraries are imported only when one of their numbers appears.
"""

from __future__ import annotations

import builtins
import cmath
import importlib
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.errors import TraceError
from kinetree.ops import expr as ex
from kinetree.ops.expr import Expr

_REAL = (float, int, np.floating, np.integer)


def is_literal(x: Any) -> bool:
    """True if `x` is a plain real number: a value that is known while tracing."""
    return isinstance(x, _REAL)


# package that the type of a number belongs to -> the module of its functions
_MODULES = {
    "mpmath": "mpmath", "sympy": "sympy", "casadi": "casadi", "jax": "jax.numpy", "jaxlib": "jax.numpy",
}  # fmt: skip


def _foreign(x: Any) -> Any:
    """The module of functions for a number of another library; None for other numbers."""
    name = _MODULES.get(type(x).__module__.partition(".")[0])
    return None if name is None else importlib.import_module(name)


def _unknown(name: str, x: Any) -> TraceError:
    return TraceError(
        f"{name} of a {type(x).__name__}: expected a float, a complex number, a NumPy array, an Expr, "
        "or a number of mpmath, SymPy, CasADi or JAX"
    )


def _outside(name: str, x: Any) -> float:
    """The value of a real function outside its domain or range: NaN or infinity."""
    if name == "log" and x == 0.0:
        return -math.inf
    if name == "exp":
        return math.inf
    return math.nan


def _unary(name: str, numpy_function: Callable, real: Any = None, doc: str = "") -> Callable[[Any], Any]:
    real, other = (real, real) if real else (getattr(math, name), getattr(cmath, name))
    recorded = ex.turned if name in ("sin", "cos") else ex.record

    def function(x: Any) -> Any:
        if isinstance(x, Expr):
            return recorded(name, x)
        if isinstance(x, _REAL):
            try:
                return real(x)
            except (ValueError, OverflowError):
                return _outside(name, x)
        if isinstance(x, np.ndarray):
            if x.dtype == object:
                return np.frompyfunc(function, 1, 1)(x)
            return numpy_function(x)
        if isinstance(x, (complex, np.complexfloating)):
            return other(x)
        module = _foreign(x)
        if module is None:
            raise _unknown(name, x)
        return getattr(module, name)(x)

    function.__name__, function.__doc__ = name, doc or f"The {name} of a number of any kind."
    return function


sin = _unary("sin", np.sin)
cos = _unary("cos", np.cos)
tan = _unary("tan", np.tan)
asin = _unary("asin", np.arcsin)
acos = _unary("acos", np.arccos)
atan = _unary("atan", np.arctan)
sqrt = _unary("sqrt", np.sqrt)
exp = _unary("exp", np.exp)
log = _unary("log", np.log)
tanh = _unary("tanh", np.tanh)


def _stepped(name: str, numpy_function: Callable, doc: str) -> Callable[[Any], Any]:
    """A function of the real part that is constant between its steps."""
    return _unary(name, lambda x: numpy_function(x.real), lambda x: float(numpy_function(x.real)), doc)


sign = _stepped("sign", np.sign, "-1, 0 or 1 with the sign of a number of any kind (of its real part).")
floor = _stepped("floor", np.floor, "The largest whole number that is not above a number (its real part).")


def nearby(x: Any, step: Any) -> Any:
    """x + step, for a step whose square is negligible.

    Programs compute its sine and cosine to first order in the step, from those of x.
    """
    return ex.nearby(x, step) if isinstance(x, Expr) else x + step


def abs(x: Any) -> Any:
    """The absolute value of a number of any kind."""
    return builtins.abs(x)


def atan2(y: Any, x: Any) -> Any:
    """The angle of the point (x, y), in (-pi, pi]; for complex numbers, continued from the real point."""
    if isinstance(y, Expr) or isinstance(x, Expr):
        return ex.record("atan2", y, x)
    if isinstance(y, _REAL) and isinstance(x, _REAL):
        return math.atan2(y, x)
    module = _foreign(y) or _foreign(x)
    if module is not None:
        return module.atan2(y, x)
    if np.iscomplexobj(y) or np.iscomplexobj(x):
        # real angle plus the first-order (complex-step) change; exact to rounding for tiny imaginary parts
        y, x = np.asarray(y), np.asarray(x)
        squared = x.real**2 + y.real**2
        angle = np.arctan2(y.real, x.real) + 1j * (x.real * y.imag - y.real * x.imag) / squared
        return angle if angle.ndim else complex(angle)
    if object in (np.asarray(y).dtype, np.asarray(x).dtype):
        return np.frompyfunc(atan2, 2, 1)(y, x)
    return np.arctan2(y, x)


def _compare(op: str, numpy_function: Callable, python: Callable, doc: str) -> Callable[[Any, Any], Any]:
    def function(a: Any, b: Any) -> Any:
        if isinstance(a, Expr) or isinstance(b, Expr):
            return ex.record(op, a, b)
        if np.iscomplexobj(a) or np.iscomplexobj(b):
            a, b = np.real(a), np.real(b)  # a complex step away from the real axis does not change the branch
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return numpy_function(a, b)
        return python(a, b)

    function.__doc__ = f"The truth of {doc} (of the real parts, for complex numbers)."
    return function


less = _compare("lt", np.less, operator.lt, "a < b")
less_equal = _compare("le", np.less_equal, operator.le, "a <= b")


def _equal(a: Any, b: Any) -> Any:
    module = _foreign(a) or _foreign(b)
    return module.Eq(a, b) if module is not None and module.__name__ == "sympy" else a == b


equal = _compare("eq", np.equal, _equal, "a == b")


def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`. Both are computed: keep both finite."""
    if isinstance(condition, Expr):
        return ex.select(condition, a, b)
    if isinstance(condition, (bool, np.bool_)):
        return a if condition else b
    if isinstance(condition, np.ndarray):
        return np.where(condition, a, b)
    module = _foreign(condition)
    name = "" if module is None else module.__name__
    if name in ("casadi", "jax.numpy"):
        return module.if_else(condition, a, b) if name == "casadi" else module.where(condition, a, b)
    if name != "sympy":
        raise _unknown("where", condition)
    if condition == module.true or condition == module.false:
        return a if condition == module.true else b
    return module.Piecewise((a, condition), (b, True))


def implied(value: Any, rule: Any) -> Any:
    """`value`, with the derivatives of `rule`: for a result of iteration whose derivative an equation gives.

    implied(x, 0.0) is x as a constant. If nothing is differentiated, the rule costs nothing.
    """
    return ex.record("implied", value, rule) if isinstance(value, Expr) or isinstance(rule, Expr) else value


def _extreme(op: str, numpy_function: Callable, names: dict, first: Callable, doc: str) -> Callable:
    def function(a: Any, b: Any) -> Any:
        if isinstance(a, Expr) or isinstance(b, Expr):
            return ex.record(op, a, b)
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            is_complex = np.iscomplexobj(a) or np.iscomplexobj(b)
            return where(first(a, b), a, b) if is_complex else numpy_function(a, b)
        module = _foreign(a) or _foreign(b)
        if module is not None and module.__name__ in names:
            return getattr(module, names[module.__name__])(a, b)
        if isinstance(a, _REAL) and isinstance(b, _REAL):
            return float(numpy_function(a, b))  # NaN in, NaN out
        return a if first(a, b) else b

    function.__doc__ = f"The {doc} of two numbers of any kind; NaN if one of them is NaN."
    return function


_MIN = {"sympy": "Min", "casadi": "fmin", "jax.numpy": "minimum"}
_MAX = {"sympy": "Max", "casadi": "fmax", "jax.numpy": "maximum"}
min = _extreme("min", np.minimum, _MIN, less_equal, "smaller")
max = _extreme("max", np.maximum, _MAX, lambda a, b: less_equal(b, a), "larger")


def lookup(array: Any, i: Any, j: Any) -> Any:
    """array[i, j] of a matrix, for a whole-numbered row and column, which are clamped to its edges.

    The derivatives along i and j are zero. A NaN index gives NaN. In a trace the matrix becomes a constant of
    the program.
    """
    if isinstance(i, Expr) or isinstance(j, Expr):
        return ex.lookup(array, i, j)
    if not isinstance(array, np.ndarray):  # an array of a program that is being folded, or a list
        array = getattr(array, "data", array)
    places = [np.real(_numbers(x)) for x in (i, j)]
    unknown = np.isnan(places[0]) | np.isnan(places[1])
    limits = zip(places, np.shape(array), strict=True)
    whole = (np.clip(np.where(unknown, 0.0, x), 0, n - 1).astype(np.intp) for x, n in limits)
    found = np.where(unknown, np.nan, np.asarray(array)[tuple(whole)])
    return found if found.ndim else found[()]


def _numbers(x: Any) -> np.ndarray:
    """A number or an array of any kind as NumPy's real or complex numbers."""
    array = np.asarray(x)
    return array.astype(float) if array.dtype == object else array
