"""Generalised coordinates of one node, and the small dense matrices between two nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kinetree import ops
from kinetree.spatial.value import Tuple, Value
from kinetree.spatial.vector import Number


class Transposed:
    """`x.T` of a transform, a subspace, a set of forces or a stack of them, for products `x.T @ y`."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __matmul__(self, other: Any) -> Any:
        return self.value.apply_transposed(other)


class Coordinates(Tuple):
    """The numbers that belong to the coordinates of one node: a column with + and -."""

    __slots__ = ()

    def numbers(self) -> Coordinates:
        return self

    def __add__(self, other: Iterable[Number]) -> Coordinates:  # type: ignore[override]
        return Coordinates(a + b for a, b in zip(self, other, strict=True))

    def __sub__(self, other: Iterable[Number]) -> Coordinates:
        return Coordinates(a - b for a, b in zip(self, other, strict=True))

    def __neg__(self) -> Coordinates:
        return Coordinates(-a for a in self)

    def __mul__(self, s: Number) -> Coordinates:  # type: ignore[override]
        return Coordinates(a * s for a in self)

    def dot(self, other: Iterable[Number]) -> Number:
        total: Any = 0
        for a, b in zip(self, other, strict=True):
            total = total + a * b
        return total


class Matrix(Value):
    """A dense matrix of numbers: the entries that belong to the coordinates of two nodes."""

    __slots__ = ("rows",)

    def __init__(self, rows: Iterable[Iterable[Number]] = ()):
        self.rows = tuple(tuple(row) for row in rows)

    @property
    def parts(self) -> tuple[tuple[Number, ...], ...]:
        return self.rows

    def with_parts(self, parts: Sequence[Any]) -> Matrix:
        return Matrix(parts)

    @classmethod
    def diagonal(cls, numbers: Sequence[Number]) -> Matrix:
        """The square matrix with these numbers on its diagonal."""
        return cls([x if i == j else 0 for j in range(len(numbers))] for i, x in enumerate(numbers))

    def numbers(self) -> tuple[tuple[Number, ...], ...]:
        return self.rows

    @property
    def T(self) -> Matrix:
        return Matrix(zip(*self.rows, strict=True))

    def __add__(self, other: Matrix) -> Matrix:
        return Matrix(
            [a + b for a, b in zip(r, s, strict=True)] for r, s in zip(self.rows, other.rows, strict=True)
        )

    def __sub__(self, other: Matrix) -> Matrix:
        return Matrix(
            [a - b for a, b in zip(r, s, strict=True)] for r, s in zip(self.rows, other.rows, strict=True)
        )

    def __neg__(self) -> Matrix:
        return Matrix([-a for a in row] for row in self.rows)

    def __matmul__(self, x: Iterable[Number]) -> Coordinates:
        x = tuple(x)
        return Coordinates(Coordinates(row).dot(x) for row in self.rows)

    @property
    def trace(self) -> Number:
        total: Any = 0
        for k, row in enumerate(self.rows):
            total = total + row[k]
        return total


def reciprocal(pivot: Number) -> Number:
    """1 / pivot. For an exact zero, NaN: it triggers the guard of the sweep, which names the joint."""
    try:
        return 1 / pivot
    except ZeroDivisionError:
        return float("nan")


class Factored(Value):
    """A symmetric positive definite k x k matrix A = L D L^T, ready to solve with.

    `pivots` are the diagonal of D. There is one division per pivot.
    """

    __slots__ = ("lower", "pivots", "reciprocals")

    def __init__(self, matrix: Matrix):
        a = [list(row) for row in matrix.rows]
        k = len(a)
        lower: list[list[Number]] = [[0] * k for _ in range(k)]
        pivots: list[Number] = []
        reciprocals: list[Number] = []
        for j in range(k):
            for m in range(j):  # a becomes L D
                a[j][j] = a[j][j] - lower[j][m] * a[j][m]
            pivots.append(a[j][j])
            reciprocals.append(reciprocal(a[j][j]))
            for i in range(j + 1, k):
                for m in range(j):
                    a[i][j] = a[i][j] - lower[i][m] * a[j][m]
                lower[i][j] = a[i][j] * reciprocals[j]
        self.lower = lower
        self.pivots = tuple(pivots)
        self.reciprocals = tuple(reciprocals)

    @property
    def parts(self) -> tuple[Any, ...]:
        return (*(tuple(row[:i]) for i, row in enumerate(self.lower)), self.pivots, self.reciprocals)

    def with_parts(self, parts: Sequence[Any]) -> Factored:
        *rows, pivots, reciprocals = parts
        result = Factored.__new__(Factored)
        result.lower = [[*row, *(0,) * (len(rows) - i)] for i, row in enumerate(rows)]
        result.pivots, result.reciprocals = pivots, reciprocals
        return result

    def solve(self, b: Iterable[Number]) -> Coordinates:
        """A^-1 b."""
        return self.backward(self.divided(self.forward(b)))

    def forward(self, b: Iterable[Number]) -> Coordinates:
        """L^-1 b."""
        x = list(b)
        for i in range(len(x)):
            for m in range(i):
                x[i] = x[i] - self.lower[i][m] * x[m]
        return Coordinates(x)

    def divided(self, b: Iterable[Number]) -> Coordinates:
        """D^-1 b."""
        return Coordinates(value * r for value, r in zip(b, self.reciprocals, strict=True))

    def backward(self, b: Iterable[Number]) -> Coordinates:
        """L^-T b."""
        x = list(b)
        for i in reversed(range(len(x))):
            for m in range(i + 1, len(x)):
                x[i] = x[i] - self.lower[m][i] * x[m]
        return Coordinates(x)

    def halves(self, columns: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The columns of C L^-T and of C L^-T D^-1, whose product is C A^-1 C^T, for a matrix C given by its
        k columns (values with +, - and `* number`)."""
        y = list(columns)
        for i in range(len(y)):
            for m in range(i):
                y[i] = y[i] - y[m] * self.lower[i][m]
        return y, [value * r for value, r in zip(y, self.reciprocals, strict=True)]

    @property
    def log_determinant(self) -> Number:
        """log det A, the sum over the pivots."""
        total: Any = 0
        for pivot in self.pivots:
            total = total + ops.log(pivot)
        return total

    def inverse(self) -> Matrix:
        """A^-1 as a matrix."""
        k = range(len(self.pivots))
        return Matrix(self.solve([int(i == j) for i in k]) for j in k)
