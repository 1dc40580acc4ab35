"""Linear algebra for functions of your own: small dense matrices of numbers of any kind.

Arguments and results are NumPy arrays, of floats or of objects (expressions, symbols, many digits). Nothing
here branches on values: pivots are chosen with `where`, so a trace computes the same as floats do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.errors import SingularError
from kinetree.ops import functions as fn
from kinetree.ops.expr import Expr

NEGLIGIBLE = 64 * 2.0**-52  # a pivot below this fraction of the largest entry is rounding noise


def require(value: Any, message: str, error: type[Exception] = SingularError) -> None:
    """Raise an error with this message unless `value` is at least 1; in a trace, record a guard."""
    if isinstance(value, Expr):
        value.graph.guards.append(value)
    elif np.any(np.less(np.real(value), 1)):
        raise error(message)


def largest(x: Any) -> Any:
    """The largest absolute value in an array; 0 if it is empty."""
    result: Any = 0.0
    for entry in np.asarray(x).flat:
        result = fn.max(result, fn.abs(entry))
    return result


def norm(x: Any) -> Any:
    """The Euclidean length of a vector."""
    return fn.sqrt(dot(x, x))


def dot(a: Any, b: Any) -> Any:
    """The sum of a_k b_k."""
    total: Any = 0
    for x, y in zip(np.asarray(a).flat, np.asarray(b).flat, strict=True):
        total = total + x * y
    return total


def cross(a: Any, b: Any) -> np.ndarray:
    """The vector product in three dimensions."""
    (ax, ay, az), (bx, by, bz) = a, b
    return _array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def solve(A: Any, b: Any) -> np.ndarray:
    """A^-1 b for a square matrix A and a vector or matrix b, by Gaussian elimination with row pivoting.

    A singular matrix raises a SingularError.
    """
    A, b = np.asarray(A), np.asarray(b)
    n = len(A)
    width = b.reshape(n, -1).shape[1]
    rows: list[list[Any]] = [[*a, *c] for a, c in zip(A, b.reshape(n, -1), strict=True)]
    scale = largest(A)
    for k in range(n):
        for i in range(k + 1, n):
            better = fn.less(fn.abs(rows[k][k]), fn.abs(rows[i][k]))
            for j in range(k, n + width):
                x, y = rows[k][j], rows[i][j]
                rows[k][j], rows[i][j] = fn.where(better, y, x), fn.where(better, x, y)
        pivot = rows[k][k]
        require(fn.abs(pivot) / (scale * NEGLIGIBLE), "solve: the matrix is singular")
        for i in range(k + 1, n):
            factor = rows[i][k] / pivot
            for j in range(k + 1, n + width):
                rows[i][j] = rows[i][j] - factor * rows[k][j]
    x = [[0.0] * width for _ in range(n)]
    for k in reversed(range(n)):
        for j in range(width):
            rest = rows[k][n + j]
            for i in range(k + 1, n):
                rest = rest - rows[k][i] * x[i][j]
            x[k][j] = rest / rows[k][k]
    return _array([entry for row in x for entry in row]).reshape(b.shape)


def pseudo_inverse(A: Any, tolerance: float) -> np.ndarray:
    """The pseudo-inverse of a symmetric positive semidefinite matrix.

    Directions in which A is below `tolerance` times its largest diagonal entry count as its null space.
    Computed by a Cholesky factorisation A = L L^T with diagonal pivoting, and L = Q R:
    A^+ = (R^-1 Q^T)^T (R^-1 Q^T).
    """
    n = len(A)
    rest = [list(row) for row in np.asarray(A)]
    least = largest([rest[k][k] for k in range(n)]) * tolerance
    Q: list[list[Any]] = []  # by column
    R: list[list[Any]] = [[0.0] * n for _ in range(n)]
    for k in range(n):
        column, pivot = _pivot_column(rest)
        alive = fn.less(least, pivot)
        scale = fn.where(alive, 1 / fn.sqrt(fn.where(alive, pivot, 1.0)), 0.0)
        column = [x * scale for x in column]
        for i in range(n):
            for j in range(n):
                rest[i][j] = rest[i][j] - column[i] * column[j]
        for j, q in enumerate(Q):
            R[j][k] = dot(q, column)
            column = [x - R[j][k] * y for x, y in zip(column, q, strict=True)]
        length = fn.sqrt(fn.where(alive, dot(column, column), 1.0))
        R[k][k] = length
        Q.append([x / length for x in column])
    Y = [list(q) for q in Q]  # by row: R Y = Q^T
    for k in reversed(range(n)):
        for j in range(n):
            for i in range(k + 1, n):
                Y[k][j] = Y[k][j] - R[k][i] * Y[i][j]
            Y[k][j] = Y[k][j] / R[k][k]
    columns = list(zip(*Y, strict=True))
    return _array([dot(a, b) for a in columns for b in columns]).reshape(n, n)


def _pivot_column(rest: list[list[Any]]) -> tuple[list[Any], Any]:
    """The column of the largest diagonal entry, and that entry."""
    n = len(rest)
    best, column = rest[0][0], [row[0] for row in rest]
    for k in range(1, n):
        better = fn.less(best, rest[k][k])
        best = fn.where(better, rest[k][k], best)
        column = [fn.where(better, row[k], x) for row, x in zip(rest, column, strict=True)]
    return column, best


def _array(numbers: list[Any]) -> np.ndarray:
    """An array of these numbers: of objects if one is an expression."""
    if any(isinstance(x, Expr) for x in numbers):
        result = np.empty(len(numbers), object)
        result[:] = numbers
        return result
    return np.array(numbers)


__all__ = ["cross", "dot", "largest", "norm", "pseudo_inverse", "require", "solve"]
