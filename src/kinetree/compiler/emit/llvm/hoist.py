"""Sines and cosines of angles that follow from the inputs alone: all are computed first.

A loop over all angles needs no code per angle, and the angles of a single state fill a vector.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from kinetree.compiler.ir.graph import Block, Part, Statement
from kinetree.compiler.ir.program import Program
from kinetree.ops import PRIMITIVES, Expr

CHEAP = frozenset(("add", "mul", "div", "neg"))  # operations that may be repeated for an angle
LARGEST = 8  # operations on the path from inputs to an angle


def is_free(value: Expr, hoisted: dict[Expr, int]) -> bool:
    """True if a value is read from memory at each use, rather than once at its definition."""
    if value in hoisted:
        return True
    return value.op == "load" and value.args[0].kind in ("input", "table") and type(value.args[1]) is int


def hoist(program: Program) -> tuple[list[Expr], dict[Expr, int]]:
    """The angles, and for every hoisted sine and cosine the index of its angle."""
    angles: dict[Hashable, Expr] = {}
    position: dict[Hashable, int] = {}
    hoisted: dict[Expr, int] = {}
    for statement in _straight(program.body):
        if isinstance(statement, Expr) and statement.op in ("sin", "cos"):
            angle = statement.args[0]
            if _cost(angle, LARGEST) <= LARGEST:
                key = _key(angle)
                angles.setdefault(key, angle)
                hoisted[statement] = position.setdefault(key, len(position))
    return list(angles.values()), hoisted


def _straight(block: Block) -> Iterator[Statement]:
    """The statements outside loops and switches."""
    for statement in block.statements:
        yield statement
        if isinstance(statement, Part):
            yield from _straight(statement.body)


def _key(value: object) -> Hashable:
    """Equal for values that are computed in the same way, in any part."""
    return (value.op, *map(_key, value.args)) if isinstance(value, Expr) else value  # type: ignore[return-value]


def _cost(value: object, left: int) -> int:
    """The operations from the inputs to a value; more than `left` if there are too many or of other kinds."""
    if type(value) is not Expr:
        return 0
    if value.op == "load":
        array, index = value.args
        return 0 if array.kind in ("input", "table") and type(index) is int else left + 1
    if left <= 0 or not CHEAP.issuperset(PRIMITIVES[value.op].cost):
        return left + 1
    total = 1
    for argument in value.args:
        total += _cost(argument, left - total)
        if total > left:
            break
    return total
