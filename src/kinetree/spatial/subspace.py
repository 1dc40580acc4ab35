"""Motion subspaces: the columns of S, along which a joint moves."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from kinetree.ops import is_literal
from kinetree.spatial.matrix import Coordinates, Matrix, Transposed
from kinetree.spatial.motion import Columns, Force, ForceSet, Motion
from kinetree.spatial.transform import Transform
from kinetree.spatial.value import Tuple
from kinetree.spatial.vector import Number


class Subspace(Columns):
    """A 6 x k matrix of motions, S. `S @ v` is a joint velocity, `S.T @ F` a generalised force."""

    of = Motion

    def __len__(self) -> int:
        return len(self.columns)

    def multiplied(self, inertia: Any) -> ForceSet:
        """I @ S."""
        return ForceSet(inertia @ column for column in self.columns)

    def transformed(self, X: Transform) -> Subspace:
        """X @ S."""
        return Subspace(X @ column for column in self.columns)

    def cross_from(self, velocity: Motion) -> Subspace:
        """V x S, column by column."""
        return Subspace(velocity.cross(column) for column in self.columns)

    def cross_onto(self, force: Force) -> ForceSet:
        """S x* F, column by column: the change of a force that moves along with each column."""
        return ForceSet(column.cross_star(force) for column in self.columns)

    def bracket(self, v: Iterable[Number]) -> Subspace:
        """(S v) x S, column by column; zero for a single column."""
        return self.detached() if len(self.columns) == 1 else self.cross_from(self @ v)

    def along(self, force: Force) -> Coordinates:
        """S^T F of one body: the components of a force; not summed over a group."""
        return self.apply_transposed(force)

    def detached(self) -> Subspace:
        """The subspace of a part that is detached from this motion: zero."""
        return Subspace(Motion() for _ in self.columns)

    def padded(self, width: int) -> Subspace:
        """The subspace, padded with zero columns to `width`."""
        return Subspace(self.columns + (Motion(),) * (width - len(self.columns)))

    @cached_property
    def directions(self) -> tuple[tuple[int | None, Number], ...]:
        """(place, factor) for each column that is a literal times a coordinate direction, else (None, 1)."""
        found: list[tuple[int | None, Number]] = []
        for column in self.columns:
            places = [i for i, x in enumerate(column.components) if not (is_literal(x) and x == 0)]
            single = len(places) == 1 and is_literal(column.components[places[0]])
            found.append((places[0], column.components[places[0]]) if single else (None, 1))
        return tuple(found)

    @property
    def spanned_directions(self) -> frozenset[int]:
        """Which of the six coordinate directions are columns of S, up to a literal factor."""
        return frozenset(place for place, _ in self.directions if place is not None)


class Partials(Tuple):
    """The derivatives of S along each velocity of its node, one subspace each; empty if S is constant.

    `columns[k]` holds the derivatives of column S_k; its column j is the derivative along velocity j.
    """

    __slots__ = ()

    @classmethod
    def along(cls, derivatives: Iterable[Subspace], width: int) -> Partials:
        """From the derivatives along each velocity; an empty sequence means zero."""
        found = tuple(derivatives)
        zero = Subspace(Motion() for _ in range(width))
        return cls(found if found else (zero,) * width)

    @property
    def columns(self) -> tuple[Subspace, ...]:
        return tuple(Subspace(d.columns[k] for d in self) for k in range(len(self)))

    def times(self, x: Iterable[Number]) -> Subspace:
        """The derivatives of S x, one column along each velocity."""
        x = tuple(x)
        return Subspace(derivative @ x for derivative in self)

    @property
    def T(self) -> Transposed:
        return Transposed(self)

    def apply_transposed(self, force: Force) -> Matrix:
        """The derivatives of S^T F for a constant F: rows as of S^T F, columns along each velocity."""
        return self.against(force).T

    def against(self, force: Force) -> Matrix:
        """The block of F . d_i S_j, rows i."""
        return Matrix([column.dot(force) for column in derivative.columns] for derivative in self)

    def tagged(self, frame: Any) -> Partials:
        return Partials(derivative.tagged(frame) for derivative in self)
