"""Small square systems of equations, solved in the given order."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kinetree import ops
from kinetree.spatial.vector import Number


class Factors:
    """A square matrix as L U, in the given order: without pivoting, so it can be traced.

    The last two rows form one block, which is inverted by its determinant: this takes one division, and the
    first of its two pivots may vanish.
    """

    def __init__(self, rows: Sequence[Sequence[Number]], near: Factors | None = None):
        """With the factors of a nearby matrix, `near`, no divisions are needed; the error is second-order."""
        self.rows = [list(row) for row in rows]
        self.first = len(rows) - 2 if len(rows) > 1 else len(rows)  # rows that are eliminated one by one
        self.pivots: list[Number] = []  # and, at the end, the determinant of the block
        self.reciprocals: list[Number] = []
        for k, upper in enumerate(self.rows[: self.first]):
            self._divide(upper[k], near)
            for row in self.rows[k + 1 :]:
                if not is_zero(row[k]):
                    row[k] = row[k] * self.reciprocals[k]
                    for j in range(k + 1, len(row)):
                        row[j] = _less(row[j], row[k], upper[j])
        self.block: list[list[Number]] = []
        if self.first < len(rows):
            (a, b), (c, d) = (row[-2:] for row in self.rows[-2:])
            self._divide(_less(a * d, b, c), near)
            r = self.reciprocals[-1]
            self.block = [[d * r, -(b * r)], [-(c * r), a * r]]

    def _divide(self, pivot: Number, near: Factors | None) -> None:
        self.pivots.append(pivot)
        known = near.reciprocals[len(self.reciprocals)] if near else None
        self.reciprocals.append(_reciprocal(pivot, known))

    def lively(self, usual: Sequence[Number]) -> list[Number]:
        """The pivots, and the determinant, relative to the usual size of the pivots."""
        units = [*usual[: self.first], math.prod(usual[self.first :])]
        return [pivot * (1.0 / unit) for pivot, unit in zip(self.pivots, units, strict=False)]

    def solved(self, b: Sequence[Number]) -> list[Number]:
        """The x of A x = b."""
        x = list(b)
        for i, row in enumerate(self.rows):
            for j in range(min(i, self.first)):
                x[i] = _less(x[i], row[j], x[j])
        x[self.first :] = [_dot(row, x[self.first :]) for row in self.block]
        for i in reversed(range(self.first)):
            for j in range(i + 1, len(x)):
                x[i] = _less(x[i], self.rows[i][j], x[j])
            if not is_zero(x[i]):
                x[i] = x[i] * self.reciprocals[i]
        return x

    def transposed_solved(self, b: Sequence[Number]) -> list[Number]:
        """The x of A^T x = b."""
        x = list(b)
        for i in range(len(x)):
            for j in range(min(i, self.first)):
                x[i] = _less(x[i], self.rows[j][i], x[j])
            if i < self.first and not is_zero(x[i]):
                x[i] = x[i] * self.reciprocals[i]
        x[self.first :] = [_dot(row, x[self.first :]) for row in zip(*self.block, strict=True)]
        for i in reversed(range(self.first)):
            for j in range(i + 1, len(x)):
                x[i] = _less(x[i], self.rows[j][i], x[j])
        return x


def _reciprocal(x: Number, near: Number | None) -> Number:
    """1 / x, or a Newton step from a nearby reciprocal; infinite at a dead point, which the pivots show."""
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            return 1 / x if near is None else near * (2 - x * near)
    except ZeroDivisionError:
        return math.inf


def _less(x: Number, a: Number, b: Number) -> Number:
    """x - a b."""
    return x if is_zero(a) or is_zero(b) else x - a * b


def _dot(a: Sequence[Number], b: Sequence[Number]) -> Number:
    return sum((x * y for x, y in zip(a, b, strict=True) if not (is_zero(x) or is_zero(y))), 0)


def is_zero(x: Number) -> bool:
    return ops.is_literal(x) and x == 0
