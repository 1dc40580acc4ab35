"""Motion subspaces: the columns of S, along which a joint moves."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from kinetree.spatial.block import Block, Coordinates, Transposed
from kinetree.spatial.motion import Force, ForceSet, Motion
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import Number


class Subspace:
    """A 6 x k matrix of motions, S. `S @ v` is a joint velocity, `S.T @ F` a generalised force."""

    def __init__(self, columns: Iterable[Motion]):
        self.columns = tuple(columns)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def T(self) -> Transposed:
        return Transposed(self)

    def __matmul__(self, x: Iterable[Number]) -> Motion:
        x = tuple(x)
        if not self.columns:
            return Motion()
        total = self.columns[0] * x[0]
        for column, value in zip(self.columns[1:], x[1:], strict=True):
            total = total + column * value
        return total

    def apply_transposed(self, other: Any) -> Any:
        """S^T F as coordinates, or S^T U as a block with a column for each column of U."""
        if isinstance(other, Force):
            return Coordinates(column.dot(other) for column in self.columns)
        return Block([column.dot(force) for force in other.columns] for column in self.columns)

    def multiplied(self, inertia: Any) -> ForceSet:
        """I @ S."""
        return ForceSet(inertia @ column for column in self.columns)

    def transformed(self, X: Transform) -> Subspace:
        """X @ S."""
        return Subspace(X @ column for column in self.columns)

    def __add__(self, other: Subspace) -> Subspace:
        return Subspace(a + b for a, b in zip(self.columns, other.columns, strict=True))

    def cross_from(self, velocity: Motion) -> Subspace:
        """V x S, column by column."""
        return Subspace(velocity.cross(column) for column in self.columns)

    def tagged(self, frame: Any) -> Subspace:
        return Subspace(column.tagged(frame) for column in self.columns)

    def combined(self, coefficients: Iterable[Iterable[Number]]) -> Subspace:
        """S @ G for a matrix given by its columns: the subspace seen by other coordinates."""
        return Subspace(self @ column for column in coefficients)

    @cached_property
    def spanned_directions(self) -> frozenset[int]:
        """Which of the six coordinate directions are columns of S, up to a literal factor."""
        found = set()
        for column in self.columns:
            places = [i for i, x in enumerate(column.components) if not (isinstance(x, (int, float)) and x == 0)]
            if len(places) == 1 and isinstance(column.components[places[0]], (int, float)):
                found.add(places[0])
        return frozenset(found)
