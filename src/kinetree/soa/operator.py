"""Linear operators that are applied without being written out as matrices.

    A @ x        the operator on a stacked vector, or on each column of a matrix
    A @ B        their product, applied from the right to the left
    A.T          the transpose
    2 * A - B    sums and multiples; a number alone stands for that multiple of the identity: 1 + A
    A(i, j)      one block, nodes numbered from 1
    A.dense()    the numbers
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Number
from typing import Any

import numpy as np

from kinetree.errors import ShapeError, SingularError

Array = np.ndarray


class Space:
    """Stacked vectors: the entries that belong to each node.

    Two spaces are the same if they are stacked over the same things (`over`) in the same way.
    """

    __slots__ = ("index", "key", "over", "size", "sizes")

    def __init__(self, over: str, places: Iterable[Sequence[int]]):
        taken = tuple(tuple(place) for place in places)
        self.over = over
        self.sizes = tuple(map(len, taken))
        self.size = sum(self.sizes)
        self.index = tuple(map(_index, taken))
        self.key = (over, taken)

    @classmethod
    def stacked(cls, over: str, sizes: Iterable[int]) -> Space:
        """Vectors with one part after the other."""
        places, start = [], 0
        for size in sizes:
            places.append(range(start, start + size))
            start += size
        return cls(over, places)

    def node(self, i: int) -> int:
        """The place in `sizes` and `index` of node i, numbered from 1."""
        if not 1 <= i <= len(self.sizes):
            raise ShapeError(f"node {i}: nodes over {self.over} are numbered 1 ... {len(self.sizes)}")
        return i - 1

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Space) and self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"{self.size} over {self.over}"


def _index(place: tuple[int, ...]) -> slice | list[int]:
    """A slice if the entries stand side by side."""
    start = place[0] if place else 0
    return slice(start, start + len(place)) if place == tuple(range(start, start + len(place))) else [*place]


@dataclass(frozen=True, eq=False, repr=False)
class Operator(ABC):
    """A linear map from stacked vectors to stacked vectors. Immutable."""

    rows: Space
    columns: Space
    name: str = field(default="", kw_only=True)

    __array_ufunc__ = None  # so that array @ operator comes here

    @abstractmethod
    def _apply(self, x: Array) -> Array:
        """The operator on each column of x."""

    @abstractmethod
    def _transposed(self) -> Operator:
        """The transposed operator, without a name."""

    @abstractmethod
    def _text(self) -> str:
        """How the operator is made of others."""

    @property
    def shape(self) -> tuple[int, int]:
        return (self.rows.size, self.columns.size)

    @property
    def T(self) -> Operator:
        """The transposed operator."""
        found = self._transposed()
        if not self.name:
            return found
        return found.named(self.name[:-2] if self.name.endswith(".T") else f"{self.name}.T")

    def named(self, name: str) -> Any:
        """The same operator, printed by a name."""
        return replace(self, name=name)

    def dense(self) -> Array:
        """The matrix of the operator."""
        return self._apply(np.eye(self.columns.size))

    def __call__(self, i: int, j: int) -> Array:
        """The block of row node i and column node j, both numbered from 1. Cost of one application."""
        return self._apply(_units(self.columns, j))[self.rows.index[self.rows.node(i)]]

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Operator):
            if self.columns != other.rows:
                raise ShapeError(
                    f"{self} @ {other}: the left one takes vectors of {self.columns}, the right one gives "
                    f"{other.rows}; is a .T missing?"
                )
            return Product(self.rows, other.columns, _flat(self) + _flat(other))
        x = np.asarray(other)
        if x.ndim not in (1, 2) or x.shape[0] != self.columns.size:
            raise ShapeError(
                f"{self} @ x: x has shape {x.shape}, but a vector of {self.columns}, or a matrix of such "
                "columns, is needed"
            )
        return self._apply(x)

    def __rmatmul__(self, other: Any) -> Any:
        return (self.T @ np.asarray(other).T).T

    def __add__(self, other: Any) -> Any:
        other = self._beside(other)
        if other is NotImplemented:
            return other
        if (self.rows, self.columns) != (other.rows, other.columns):
            raise ShapeError(
                f"{self} + {other}: the first maps {self.columns} to {self.rows}, the second {other.columns} "
                f"to {other.rows}; a sum needs the same on both sides"
            )
        return Sum(self.rows, self.columns, _terms(self) + _terms(other))

    def __radd__(self, other: Any) -> Any:
        left = self._beside(other)
        return left if left is NotImplemented else left + self

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return other + -self

    def __neg__(self) -> Operator:
        return -1 * self

    def __mul__(self, factor: Any) -> Any:
        if not isinstance(factor, Number):
            return NotImplemented
        return Sum(self.rows, self.columns, tuple((factor * c, A) for c, A in _terms(self)))

    __rmul__ = __mul__

    def _beside(self, other: Any) -> Any:
        """What is added to this operator, as an operator."""
        if isinstance(other, Operator):
            return other
        if not isinstance(other, Number):
            return NotImplemented
        if self.rows != self.columns:
            raise ShapeError(
                f"a number plus {self} needs a square operator, but it maps {self.columns} to {self.rows}"
            )
        return Sum(self.rows, self.rows, ((other, Identity(self.rows, self.rows)),))

    def __str__(self) -> str:
        return self.name or self._text()

    def __repr__(self) -> str:
        return f"<operator {self}: {self.rows} x {self.columns}>"


class Identity(Operator):
    """The vector itself."""

    def _apply(self, x: Array) -> Array:
        return x.copy()

    def _transposed(self) -> Operator:
        return self

    def _text(self) -> str:
        return "1"


@dataclass(frozen=True, eq=False, repr=False)
class Sparse(Operator):
    """Some blocks, each (row node, column node, matrix); zero elsewhere. Nodes count from 0 here."""

    entries: tuple[tuple[int, int, Array], ...]

    def __post_init__(self) -> None:
        _freeze(block for _, _, block in self.entries)

    def _apply(self, x: Array) -> Array:
        y = _zeros(self.rows.size, x)
        for i, j, block in self.entries:
            y[self.rows.index[i]] += block @ x[self.columns.index[j]]
        return y

    def _transposed(self) -> Operator:
        return Sparse(self.columns, self.rows, tuple((j, i, block.T) for i, j, block in self.entries))

    def _text(self) -> str:
        return f"({len(self.entries)} blocks)"


@dataclass(frozen=True, eq=False, repr=False)
class Diagonal(Operator):
    """A block for each node, from its part of one space to its part of the other."""

    blocks: tuple[Array, ...]

    def __post_init__(self) -> None:
        _freeze(self.blocks)

    def _apply(self, x: Array) -> Array:
        y = _zeros(self.rows.size, x)
        for i, j, block in zip(self.rows.index, self.columns.index, self.blocks):
            y[i] = block @ x[j]
        return y

    def _transposed(self) -> Operator:
        return Diagonal(self.columns, self.rows, tuple(block.T for block in self.blocks))

    @property
    def inverse(self) -> Diagonal:
        """The operator that undoes this one, block by block."""
        try:
            blocks = tuple(np.linalg.inv(block) for block in self.blocks)
        except np.linalg.LinAlgError:
            raise SingularError(f"a block of {self} is singular or not square: it has no inverse") from None
        return Diagonal(self.columns, self.rows, blocks, name=f"{self}.inverse")

    def __call__(self, i: int, j: int) -> Array:
        return self.blocks[self.rows.node(i)] if i == j else zero_block(self, i, j)

    def _text(self) -> str:
        return f"(diagonal of {len(self.blocks)} blocks)"


@dataclass(frozen=True, eq=False, repr=False)
class Product(Operator):
    """Operators one after the other, the last one first."""

    factors: tuple[Operator, ...]

    def _apply(self, x: Array) -> Array:
        for factor in reversed(self.factors):
            x = factor._apply(x)
        return x

    def _transposed(self) -> Operator:
        return Product(self.columns, self.rows, tuple(factor.T for factor in reversed(self.factors)))

    def _text(self) -> str:
        return " @ ".join(map(str, self.factors))


@dataclass(frozen=True, eq=False, repr=False)
class Sum(Operator):
    """Multiples of operators, added."""

    terms: tuple[tuple[Any, Operator], ...]

    def _apply(self, x: Array) -> Array:
        return sum((c * A._apply(x) for c, A in self.terms), _zeros(self.rows.size, x))

    def _transposed(self) -> Operator:
        return Sum(self.columns, self.rows, tuple((c, A.T) for c, A in self.terms))

    def _text(self) -> str:
        text = ""
        for c, A in self.terms:
            negative = bool(np.isreal(c) and np.real(c) < 0)
            size = -c if negative else c
            word = str(A) if size == 1 else f"{size:g} * {A}" if not isinstance(A, Identity) else f"{size:g}"
            text += (" - " if negative else " + ") + word if text else "-" * negative + word
        return f"({text})"


def _units(space: Space, j: int) -> Array:
    """The columns of the identity that belong to node j, numbered from 1."""
    size = space.sizes[space.node(j)]
    x = np.zeros((space.size, size))
    x[space.index[j - 1]] = np.eye(size)
    return x


def zero_block(A: Operator, i: int, j: int) -> Array:
    """The block (i, j) of an operator that has nothing there."""
    return np.zeros((A.rows.sizes[A.rows.node(i)], A.columns.sizes[A.columns.node(j)]))


def _freeze(blocks: Iterable[Array]) -> None:
    for block in blocks:
        block.flags.writeable = False


def _zeros(size: int, x: Array) -> Array:
    """Zeros for `size` rows and the columns of x, in a type that holds what comes of x."""
    return np.zeros((size, *x.shape[1:]), np.result_type(x, float))


def _flat(A: Operator) -> tuple[Operator, ...]:
    return A.factors if isinstance(A, Product) and not A.name else (A,)


def _terms(A: Operator) -> tuple[tuple[Any, Operator], ...]:
    return A.terms if isinstance(A, Sum) and not A.name else ((1, A),)
