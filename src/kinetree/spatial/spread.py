"""S = S_span G of a group with loops, kept as factors: a body has few nonzero columns in S_span, many in S.

    S v = S_span (G v)        S^T F = G^T (S_span^T F)        S^T I S = G^T (S_span^T I S_span) G

The columns of the product are formed only on request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from kinetree.ops import is_literal
from kinetree.spatial.articulated import ArticulatedInertia
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.matrix import Coordinates, Matrix
from kinetree.spatial.motion import Motion
from kinetree.spatial.stack import Stack
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.vector import Number

Rows = Sequence[Sequence[tuple[int, Number]]]  # of a sparse matrix: (column, number)


class Loops(Protocol):
    """The closure of a group: u = G v."""

    @property
    def G(self) -> Rows: ...

    def velocities(self, v: Sequence[Number]) -> list[Number]:
        """G v."""
        ...

    def forces(self, f: Sequence[Number]) -> list[Number]:
        """G^T f."""
        ...


class Spread(Stack):
    """The motion subspaces of a group: those of its spanning tree, and u = G v."""

    __slots__ = ("loops", "spanning", "width")

    def __init__(self, spanning: Stack, loops: Loops, width: int):
        self.spanning, self.loops, self.width = spanning, loops, width

    @property
    def values(self) -> tuple[Subspace, ...]:  # type: ignore[override]
        """The columns; not cached, since those made in a loop of a trace are not valid after it."""
        return tuple(self._product(S) for S in self.spanning.values)

    def _product(self, S: Subspace) -> Subspace:
        columns = [Motion() for _ in range(self.width)]
        for column, row in zip(S.columns, self.loops.G, strict=True):
            for k, factor in row if _is_something(column) else ():
                columns[k] = columns[k] + column * factor
        return Subspace(columns)

    def each(self, function: Callable[[Any, Any], Any], others: Sequence[Any]) -> Spread:
        return Spread(self.spanning.each(function, others), self.loops, self.width)

    def __matmul__(self, x: Sequence[Number]) -> Stack:
        return self.spanning @ self.loops.velocities(x)

    def multiplied(self, left: Stack) -> Stack:
        """I S, as factors for symmetric inertias, by columns for anything else."""
        symmetric = all(isinstance(value, Inertia | ArticulatedInertia) for value in left.values)
        return Momenta(left, self) if symmetric else super().multiplied(left)

    def apply_transposed(self, other: Any) -> Any:
        if isinstance(other, Momenta) and other.S is self:
            return self._congruence(other.inertias)
        found = self.spanning.apply_transposed(other)
        if isinstance(found, Coordinates):
            return Gathered(self.loops, found)
        columns = [self.loops.forces(column) for column in zip(*found.rows, strict=True)]
        return Matrix(columns).T

    def _congruence(self, inertias: Stack) -> Matrix:
        """G^T (S_span^T I S_span) G; only one half is computed."""
        G, M = self.loops.G, dict[tuple[int, int], Number]()
        for I, S in zip(inertias.values, self.spanning.values, strict=True):
            moving = [(j, column) for j, column in enumerate(S.columns) if _is_something(column)]
            for n, (j, column) in enumerate(moving):
                momentum = I @ column
                for i, other in moving[: n + 1]:
                    M[j, i] = M[i, j] = M.get((i, j), 0) + other.dot(momentum)
        product: list[list[Number]] = [[0] * self.width for _ in G]
        for (i, j), x in M.items():
            for k, factor in G[j]:
                product[i][k] = product[i][k] + x * factor
        total: list[list[Number]] = [[0] * self.width for _ in range(self.width)]
        for row, line in zip(G, product, strict=True):
            for i, factor in row:
                for k in range(i + 1):
                    total[i][k] = total[i][k] + factor * line[k]
        return Matrix([total[max(i, k)][min(i, k)] for k in range(self.width)] for i in range(self.width))


class Momenta(Stack):
    """I S of a group, with S kept as factors."""

    __slots__ = ("S", "inertias")

    def __init__(self, inertias: Stack, S: Spread):
        self.inertias, self.S = inertias, S

    @property
    def values(self) -> tuple[Any, ...]:  # type: ignore[override]
        return tuple(I @ S for I, S in zip(self.inertias.values, self.S.values, strict=True))

    def __matmul__(self, x: Any) -> Any:
        return self.inertias @ (self.S @ x)

    def apply_transposed(self, other: Any) -> Any:
        """(I S)^T of motions of the bodies."""
        return self.S.apply_transposed(self.inertias @ other)


class Gathered(Coordinates):
    """G^T f + rest of a group; differences of these are taken in f, so G^T is applied once to the result.

    Intermediate products that are not used cost nothing in a program.
    """

    loops: Loops
    f: Coordinates
    rest: Coordinates | None

    def __new__(cls, loops: Loops, f: Coordinates, rest: Coordinates | None = None) -> Gathered:
        through = Coordinates(loops.forces(f))
        self = super().__new__(cls, through if rest is None else rest + through)
        self.loops, self.f, self.rest = loops, f, rest
        return self

    def with_parts(self, parts: Sequence[Any]) -> Any:
        return Coordinates(parts)

    def __sub__(self, other: Any) -> Coordinates:
        if not (isinstance(other, Gathered) and other.loops is self.loops and other.rest is None):
            return super().__sub__(other)
        return Gathered(self.loops, self.f - other.f, self.rest)

    def __rsub__(self, other: Any) -> Coordinates:
        if self.rest is not None or not isinstance(other, Coordinates):
            return Coordinates(other) - Coordinates(self)
        return Gathered(self.loops, -self.f, other)


def _is_something(column: Motion) -> bool:
    return not all(is_literal(x) and x == 0 for x in column.components)
