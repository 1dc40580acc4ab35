"""Small square systems of equations, solved in the order in which they are given."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kinetree import ops
from kinetree.spatial.vector import Number


class Factors:
    """A square matrix as L U, in the order that it is given: no pivoting, so that it can be traced."""

    def __init__(self, rows: Sequence[Sequence[Number]], near: Factors | None = None):
        """With the factors of a matrix `near` it, nothing is divided: what is left is of the second order."""
        self.rows = [list(row) for row in rows]
        self.pivots: list[Number] = []
        self.reciprocals: list[Number] = []
        for k, upper in enumerate(self.rows):
            self.pivots.append(upper[k])
            self.reciprocals.append(_reciprocal(upper[k], near.reciprocals[k] if near else None))
            for row in self.rows[k + 1 :]:
                if not is_zero(row[k]):
                    row[k] = row[k] * self.reciprocals[k]
                    for j in range(k + 1, len(row)):
                        row[j] = _less(row[j], row[k], upper[j])

    def solved(self, b: Sequence[Number]) -> list[Number]:
        """The x of A x = b."""
        x = list(b)
        for i, row in enumerate(self.rows):
            for j in range(i):
                x[i] = _less(x[i], row[j], x[j])
        for i in reversed(range(len(x))):
            for j in range(i + 1, len(x)):
                x[i] = _less(x[i], self.rows[i][j], x[j])
            if not is_zero(x[i]):
                x[i] = x[i] * self.reciprocals[i]
        return x

    def transposed_solved(self, b: Sequence[Number]) -> list[Number]:
        """The x of A^T x = b."""
        x = list(b)
        for i in range(len(x)):
            for j in range(i):
                x[i] = _less(x[i], self.rows[j][i], x[j])
            if not is_zero(x[i]):
                x[i] = x[i] * self.reciprocals[i]
        for i in reversed(range(len(x))):
            for j in range(i + 1, len(x)):
                x[i] = _less(x[i], self.rows[j][i], x[j])
        return x


def _reciprocal(x: Number, near: Number | None) -> Number:
    """1 / x, by a Newton step from one near it; infinite at a dead point, which its pivot tells."""
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            return 1 / x if near is None else near * (2 - x * near)
    except ZeroDivisionError:
        return math.inf


def _less(x: Number, a: Number, b: Number) -> Number:
    """x - a b."""
    return x if is_zero(a) or is_zero(b) else x - a * b


def is_zero(x: Number) -> bool:
    return ops.is_literal(x) and x == 0
