"""Homes of letters (a state, no state, or a tree of blocks) and the interface that expressions use."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.errors import KinetreeError, ShapeError
from kinetree.soa.alphabet import Space
from kinetree.soa.operator import Letter, Operator

Array = np.ndarray


class Home:
    """The owner of letters, and what it must provide."""

    is_abstract = False

    def letter(self, name: str, *args: str) -> Letter:
        """The letter of that name."""
        raise NotImplementedError

    def read(self, text: str) -> Operator:
        """An expression in letters of this home, from its Python text."""
        return eval(text, {"__builtins__": {}}, _Names(self))

    def rules(self, use: str) -> tuple[Any, ...]:
        """The rules that rewrite expressions of this home; `use` as in `rules.py`."""
        return ()

    def places(self, space: Space) -> tuple[Any, ...]:
        """The places of the part of each node in vectors of a space: slices or lists of indices."""
        raise KinetreeError(f"{self!r} have no numbers: bring the expression to a state by A.at(op)")

    def size(self, space: Space) -> int:
        """The length of a vector of a space."""
        return sum(map(width, self.places(space)))

    def apply(self, A: Operator, x: Any) -> Array:
        """An expression applied to a vector, or to each column of a matrix."""
        self.places(A.columns)
        raise NotImplementedError

    def block(self, A: Operator, i: int, j: int) -> Array:
        """One block of an expression."""
        rows, columns = self.places(A.rows), self.places(A.columns)
        for k, places, space in ((i, rows, A.rows), (j, columns, A.columns)):
            if not 1 <= k <= len(places):
                raise ShapeError(f"block {k}: the parts of {space} are numbered 1 ... {len(places)}")
        place = columns[j - 1]
        unit = np.zeros((self.size(A.columns), width(place)))
        unit[place] = np.eye(width(place))
        return self.apply(A, unit)[rows[i - 1]]

    def between(self, A: Letter, B: Letter) -> Array:
        """B^T A B as a matrix."""
        return (B.T @ A @ B).dense()


def width(place: Any) -> int:
    """The number of entries at a place."""
    return place.stop - place.start if isinstance(place, slice) else len(place)


class _Names(dict):
    """The letters of a home by name, for `read`."""

    def __init__(self, home: Home):
        self.home = home

    def __missing__(self, name: str) -> Any:
        return self.home.letter(name)
