"""Conversion between what users pass and get (sequences, arrays) and tuples of numbers.

A number may itself be an array, so a batch of vectors is a tuple of three arrays. If an array is given for
the vector itself, its last axis holds the components (the last two, rows and columns) and the axes before it
are the batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.errors import ModelError, ShapeError


def read_vector(x: Any, n: int, what: str) -> tuple:
    """`x` as a tuple of `n` numbers."""
    if isinstance(x, np.ndarray):
        if x.ndim == 0 or x.shape[-1] != n:
            raise ShapeError(f"{what} has shape {x.shape}, expected (..., {n})")
        return tuple(x[..., i] for i in range(n)) if x.ndim > 1 else tuple(x.tolist())
    if not isinstance(x, Sequence) or isinstance(x, (str, bytes)):
        try:
            x = tuple(x)  # such as a SymPy matrix
        except TypeError:
            raise ShapeError(f"{what} is {x!r}, expected a sequence of {n} numbers") from None
    if len(x) != n:
        raise ShapeError(f"{what} has {len(x)} components, expected {n}")
    return tuple(x)


def read_matrix(x: Any, rows: int, columns: int, what: str) -> tuple:
    """`x` as a tuple of row tuples of numbers."""
    if isinstance(x, np.ndarray):
        if x.ndim < 2 or x.shape[-2:] != (rows, columns):
            raise ShapeError(f"{what} has shape {x.shape}, expected (..., {rows}, {columns})")
        return tuple(read_vector(x[..., i, :], columns, what) for i in range(rows))
    if hasattr(x, "tolist") and hasattr(x, "shape"):  # a SymPy or mpmath-like matrix
        x = x.tolist()
    try:
        given = tuple(x)
    except TypeError:
        raise ShapeError(f"{what} is {x!r}, expected {rows} rows of {columns} numbers") from None
    if len(given) != rows:
        raise ShapeError(f"{what} has {len(given)} rows, expected {rows}")
    return tuple(read_vector(row, columns, f"{what}, row {i},") for i, row in enumerate(given))


def is_square(x: Any, n: int) -> bool:
    """Whether `x` is a matrix of n rows, or a batch of them: an array, a SymPy matrix, or rows of numbers."""
    shape = getattr(x, "shape", None)
    if shape is None:
        return isinstance(x, Sequence) and len(x) == n
    return len(shape) >= 2 and tuple(shape[-2:]) == (n, n)


def stacked(x: Any) -> np.ndarray:
    """A tuple (of tuples) of numbers as one array, with the batch axes of the numbers in front."""
    parts = np.broadcast_arrays(*_flat(x))
    shape: list[int] = []
    while isinstance(x, tuple):
        shape.append(len(x))
        x = x[0]
    result = np.stack(parts, axis=-1).reshape(parts[0].shape + tuple(shape))
    return result.astype(float) if result.dtype.kind in "biu" else result  # exact zeros and ones are ints


def _flat(x: Any) -> list:
    return [leaf for part in x for leaf in _flat(part)] if isinstance(x, tuple) else [x]


def is_real(x: Any) -> bool:
    """True if `x` is a plain real number or an array of them: only these can be validated."""
    return ops.is_literal(x) or (isinstance(x, np.ndarray) and x.dtype.kind in "fiu")


def shown(x: tuple) -> str:
    """`x` for an error message: its numbers, or the shape of a batch of them."""
    parts = _flat(x)
    if all(ops.is_literal(part) for part in parts):
        return str(x)
    return f"(a batch of shape {np.broadcast_shapes(*(np.shape(part) for part in parts))})"


def worst(values: Iterable[Any]) -> float:
    """The largest absolute value of real numbers and arrays; NaN if one of them is NaN."""
    result = 0.0
    for x in values:
        size = abs(x) if ops.is_literal(x) else np.max(np.abs(x), initial=0.0)
        result = size if not size <= result else result
        if result != result:
            break
    return float(result)


def in_body_axes(frame: str) -> bool:
    """True for "body", False for "world", an error for anything else."""
    if frame not in ("body", "world"):
        raise ModelError(f"frame {frame!r}: expected 'body' or 'world'")
    return frame == "body"
