"""The operators of spatial algebra as plain matrices: tuples of row tuples of numbers of any kind.

Algorithms use the value types, which know their zeros. These matrices are for study, for comparison with the
literature and for other libraries: `numpy.array(crm(V))`.
"""

from __future__ import annotations

from typing import Any

from kinetree.spatial.motion import Force, Motion
from kinetree.spatial.vector import Matrix, Vector, skew

Rows = tuple[tuple[Any, ...], ...]

ZERO3: Matrix = ((0, 0, 0), (0, 0, 0), (0, 0, 0))


def unskew(A: Any) -> Vector:
    """The vector a of the skew part a~ of a 3x3 matrix: the inverse of `skew`."""
    return ((A[2][1] - A[1][2]) / 2, (A[0][2] - A[2][0]) / 2, (A[1][0] - A[0][1]) / 2)


def blocks(a: Any, b: Any, c: Any, d: Any) -> Rows:
    """The matrix [a b; c d] of four 3x3 matrices."""
    upper = tuple(tuple(x) + tuple(y) for x, y in zip(a, b, strict=True))
    return upper + tuple(tuple(x) + tuple(y) for x, y in zip(c, d, strict=True))


def negated(A: Any) -> Rows:
    """-A."""
    return tuple(tuple(-x for x in row) for row in A)


def transposed(A: Any) -> Rows:
    """A^T."""
    return tuple(zip(*A, strict=True))


def product(A: Any, B: Any) -> Rows:
    """A B."""
    columns = tuple(zip(*B, strict=True))
    return tuple(tuple(inner(row, column) for column in columns) for row in A)


def times(A: Any, x: Any) -> tuple:
    """A x, for a vector x."""
    return tuple(inner(row, x) for row in A)


def inner(a: Any, b: Any) -> Any:
    """The sum of products of two rows of numbers."""
    total: Any = 0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def crm(V: Motion) -> Rows:
    """V x = [omega~ 0; v~ omega~]: crm(V) W = V x W for a motion W."""
    w, v = skew(V.angular), skew(V.linear)
    return blocks(w, ZERO3, v, w)


def crf(V: Motion) -> Rows:
    """V x* = [omega~ v~; 0 omega~] = -crm(V)^T: crf(V) F = V x* F for a force F."""
    w, v = skew(V.angular), skew(V.linear)
    return blocks(w, v, ZERO3, w)


def fbar(F: Force) -> Rows:
    """F x-bar* = [-n~ -f~; -f~ 0]: fbar(F) V = V x* F for a motion V."""
    n, f = negated(skew(F.angular)), negated(skew(F.linear))
    return blocks(n, f, f, ZERO3)
