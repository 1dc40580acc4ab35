"""Expressions: numbers that record how they were computed.

An `Expr` behaves like a number. Every operation on it adds a node to its `Graph`, unless an equal node exists
already (hash-consing) or the result is known (0 x = 0, 1 x = x, -(-x) = x ...). So common subexpressions are
shared by construction, and the zeros and ones of a model fold away while an algorithm is traced.

The graph keeps its nodes in blocks. A straight-line trace has one block; loops, switches and their cases
are nested blocks (see `graph.py`), and a value may only be used where its block is open.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.errors import TraceError
from kinetree.ops.primitives import INTEGER, PRIMITIVES

if TYPE_CHECKING:
    from kinetree.compiler.ir.graph import Block, Graph

ndarray = np.ndarray


class Expr:
    """A number (float, integer index or truth value) that is known only when the program runs."""

    __slots__ = ("args", "block", "graph", "number", "op")
    __array_ufunc__ = None  # NumPy scalars on the left defer to the reflected methods below

    def __init__(self, op: str, args: tuple, graph: Graph, block: Block, number: int):
        self.op = op
        self.args = args
        self.graph = graph
        self.block = block
        self.number = number

    @property
    def is_integer(self) -> bool:
        return PRIMITIVES[self.op].gives == INTEGER

    def __repr__(self) -> str:
        args = ", ".join(f"%{a.number}" if isinstance(a, Expr) else str(a) for a in self.args)
        return f"%{self.number} = {self.op}({args})"

    def __bool__(self) -> bool:
        raise TraceError(
            "the truth of an expression is not known while a program is traced: "
            "use kinetree.ops.where(condition, a, b), kinetree.ops.min or kinetree.ops.max "
            "instead of `if`, & and | instead of `and` and `or`, or test a static fact of the model"
        )

    def __float__(self) -> float:
        raise TraceError(
            "an expression has no value while a program is traced: use the functions of kinetree.ops "
            "instead of `math`, `float()` or NumPy"
        )

    def __add__(self, other: Any) -> Any:
        return add(self, other) if type(other) is not ndarray else _each(add, self, other)

    def __radd__(self, other: Any) -> Any:
        return add(other, self) if type(other) is not ndarray else _each(add, other, self)

    def __sub__(self, other: Any) -> Any:
        return sub(self, other) if type(other) is not ndarray else _each(sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return sub(other, self) if type(other) is not ndarray else _each(sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return mul(self, other) if type(other) is not ndarray else _each(mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return mul(other, self) if type(other) is not ndarray else _each(mul, other, self)

    def __truediv__(self, other: Any) -> Any:
        return div(self, other) if type(other) is not ndarray else _each(div, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return div(other, self) if type(other) is not ndarray else _each(div, other, self)

    def __neg__(self) -> Any:
        return neg(self)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Any:
        return record("abs", self)

    def __pow__(self, exponent: int) -> Any:
        if not isinstance(exponent, int):
            raise TraceError(f"an expression can only be raised to a fixed integer power, not {exponent!r}")
        if exponent < 0:
            return 1.0 / self**-exponent
        result: Any = 1.0
        square: Any = self
        while exponent:
            if exponent & 1:
                result = result * square
            exponent >>= 1
            square = square * square if exponent else square
        return result

    def __lt__(self, other: Any) -> Any:
        return record("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return record("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return record("lt", other, self)

    def __ge__(self, other: Any) -> Any:
        return record("le", other, self)

    def __and__(self, other: Any) -> Any:
        return logic("and", self, other if type(other) is Expr else bool(other))

    def __or__(self, other: Any) -> Any:
        return logic("or", self, other if type(other) is Expr else bool(other))

    __rand__, __ror__ = __and__, __or__


def _each(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> np.ndarray:
    """An operation between an expression and each entry of an array."""
    array = a if type(a) is ndarray else b
    result = np.empty(array.shape, object)
    for index in np.ndindex(array.shape):
        x = array[index]
        result[index] = operation(x, b) if array is a else operation(a, x)
    return result


def literal(value: Any) -> Any:
    """`value` as an operand of an expression: an `Expr` as it is, a plain real number as a float."""
    kind = type(value)
    if kind is Expr or kind is float:
        return value
    if kind is int or kind is bool or isinstance(value, (np.floating, np.integer, np.bool_)):
        return float(value)
    raise TraceError(
        f"{kind.__name__} {value!r} cannot be combined with an expression: "
        "only real numbers and other expressions can be traced"
    )


def _node(op: str, *args: Any) -> Expr:
    """The node `op(args)`; an equal node in an open block is reused."""
    for a in args:
        if type(a) is Expr:
            return a.graph.node(op, args)
    raise TraceError(f"{op} of literals {args} needs no node")


def add(a: Any, b: Any) -> Any:
    a, b = literal(a), literal(b)
    if type(a) is not Expr:
        if type(b) is not Expr:
            return a + b
        a, b = b, a
    if type(b) is not Expr:
        if b == 0.0:
            return a
        return _node("sub", b, a.args[0]) if a.op == "neg" else _node("add", a, b)
    if b.op == "neg":
        return sub(a, b.args[0])
    if a.op == "neg":
        return sub(b, a.args[0])
    if b.number < a.number:
        a, b = b, a
    return _node("add", a, b)


def sub(a: Any, b: Any) -> Any:
    a, b = literal(a), literal(b)
    if type(b) is not Expr:
        if type(a) is not Expr:
            return a - b
        return a if b == 0.0 else _node("add", a, -b)
    if b.op == "neg":
        return add(a, b.args[0])
    if type(a) is not Expr:
        return neg(b) if a == 0.0 else _node("sub", a, b)
    if a is b:
        return 0.0
    if a.op == "neg":
        return neg(add(a.args[0], b))
    reverse = a.graph.find("sub", (b, a))
    return neg(reverse) if reverse is not None else _node("sub", a, b)


def neg(a: Any) -> Any:
    if type(a) is not Expr:
        return -a
    return a.args[0] if a.op == "neg" else _node("neg", a)


def mul(a: Any, b: Any) -> Any:
    a, b = literal(a), literal(b)
    if type(a) is not Expr:
        if type(b) is not Expr:
            return a * b
        a, b = b, a
    if type(b) is not Expr:
        # signs move outwards, where additions absorb them; constants are kept positive and together
        if b == 0.0:
            return 0.0
        if b == 1.0:
            return a
        if b < 0.0:
            return neg(mul(a, -b))
        if a.op == "neg":
            return neg(mul(a.args[0], b))
        if a.op == "mul" and type(a.args[1]) is not Expr:
            return mul(a.args[0], a.args[1] * b)
        return _node("mul", a, b)
    if a.op == "neg":
        return mul(a.args[0], b.args[0]) if b.op == "neg" else neg(mul(a.args[0], b))
    if b.op == "neg":
        return neg(mul(a, b.args[0]))
    if b.number < a.number:
        a, b = b, a
    return _node("mul", a, b)


def div(a: Any, b: Any) -> Any:
    a, b = literal(a), literal(b)
    if type(b) is not Expr:
        if type(a) is not Expr:
            return a / b
        return mul(a, 1.0 / b) if b != 0.0 and math.isfinite(1.0 / b) else _node("div", a, b)
    if type(a) is not Expr:
        if a == 0.0:
            return 0.0
        if a < 0.0:
            return neg(div(-a, b))
    elif a.op == "neg":
        return neg(div(a.args[0], b))
    if b.op == "neg":
        return neg(div(a, b.args[0]))
    return _node("div", a, b)


def record(op: str, *args: Any) -> Any:
    """An operation on numbers, at least one of them an expression; signs move outwards."""
    args = tuple(map(literal, args))
    parity = PRIMITIVES[op].parity
    if parity and args[0].op == "neg":
        inner = record(op, args[0].args[0])
        return neg(inner) if parity < 0 else inner
    return _node(op, *args)


def nearby(x: Any, step: Any) -> Any:
    """x + step, for a small step: its sine and cosine are computed from those of x."""
    total = add(x, step)
    if type(total) is Expr and total is not x:
        total.graph.nearby[total] = x, step
    return total


def turned(op: str, x: Expr) -> Any:
    """sin or cos of an angle; to first order in the step if the angle comes from `nearby`."""
    if x not in x.graph.nearby:
        return record(op, x)
    near, step = x.graph.nearby[x]
    sine, cosine = turned("sin", near), turned("cos", near)
    return sine + cosine * step if op == "sin" else cosine - sine * step


def select(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`."""
    if type(condition) is not Expr:
        return a if condition else b
    a, b = literal(a), literal(b)
    if a is b or (type(a) is float and a == b):
        return a
    return _node("where", condition, a, b)


def logic(op: str, *args: Any) -> Any:
    """and, or, not of truths, some of which may be known."""
    unknown = [a for a in args if type(a) is Expr]
    if op == "not":
        return _node(op, *args) if unknown else not args[0]
    decided = op == "or"  # the truth that settles it
    if any(a is decided for a in args):
        return decided
    if len(unknown) == 2:
        return _node(op, *args)
    return unknown[0] if unknown else not decided


def lookup(array: Any, i: Any, j: Any) -> Any:
    """The element of a matrix at a whole-numbered row and column, at least one of them an expression."""
    i, j = literal(i), literal(j)
    graph = (i if type(i) is Expr else j).graph
    return graph.node("lookup", (graph.matrix(array), i, j))


def iadd(a: Any, b: Any) -> Any:
    """The integer a + b."""
    if type(a) is not Expr:
        if type(b) is not Expr:
            return a + b
        a, b = b, a
    return a if type(b) is int and b == 0 else _node("iadd", a, b)


def imul(a: Any, b: Any) -> Any:
    """The integer a * b."""
    if type(a) is not Expr:
        if type(b) is not Expr:
            return a * b
        a, b = b, a
    return a if type(b) is int and b == 1 else _node("imul", a, b)
