"""Numbers, whatever they are: floats, arrays, expressions, 50 digits, symbols."""

from kinetree.ops.dense import cross, dot, largest, norm, pseudo_inverse, require, solve
from kinetree.ops.expr import Expr
from kinetree.ops.functions import (
    abs,
    acos,
    asin,
    atan,
    atan2,
    cos,
    equal,
    exp,
    is_literal,
    less,
    less_equal,
    log,
    max,
    min,
    sin,
    sqrt,
    tan,
    where,
)
from kinetree.ops.primitives import PRIMITIVES, Primitive

__all__ = [
    "Expr", "PRIMITIVES", "Primitive", "abs", "acos", "asin", "atan", "atan2", "cos", "cross", "dot",
    "equal", "exp", "is_literal", "largest", "less", "less_equal", "log", "max", "min", "norm",
    "pseudo_inverse", "require", "sin", "solve", "sqrt", "tan", "where",
]  # fmt: skip
