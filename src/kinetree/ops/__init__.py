"""Functions on numbers of any kind: floats, arrays, expressions, 50 digits, symbols."""

from kinetree.ops.control import repeat
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
    floor,
    implied,
    is_literal,
    less,
    less_equal,
    log,
    lookup,
    max,
    min,
    nearby,
    sign,
    sin,
    sqrt,
    tan,
    tanh,
    where,
)
from kinetree.ops.primitives import Primitive
from kinetree.ops.table import PRIMITIVES

__all__ = [
    "PRIMITIVES", "Expr", "Primitive", "abs", "acos", "asin", "atan", "atan2", "cos", "cross", "dot", "equal",
    "exp", "floor", "implied", "is_literal", "largest", "less", "less_equal", "log", "lookup", "max", "min",
    "nearby", "norm", "pseudo_inverse", "repeat", "require", "sign", "sin", "solve", "sqrt", "tan", "tanh",
    "where",
]  # fmt: skip
