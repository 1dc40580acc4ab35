"""Trees of numerical blocks: the same sweeps as over spatial values, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from kinetree.errors import SingularError
from kinetree.soa.alphabet import Space
from kinetree.spatial import Detached, Factored, Stack

Array = np.ndarray
WORLD = slice(0, 0)


class BlockTree:
    """A sweep over nodes 0 ... n - 1 whose values are parts of stacked arrays; `like` has their columns.

    `places` are the places of the part of each node, `carriers` those of the body that carries it.
    """

    world = WORLD

    def __init__(self, places: Sequence[slice], carriers: Sequence[slice], like: Array):
        self.places, self.carriers = places, carriers
        self.tail = like.shape[1:]
        self.dtype = like.dtype

    def outward(self) -> Iterator[int]:
        return iter(range(len(self.places)))

    def inward(self) -> Iterator[int]:
        return iter(range(len(self.places) - 1, -1, -1))

    def parent(self, i: int) -> slice:
        return self.carriers[i]

    def fields(self, *types: type) -> tuple[Rows, ...]:
        return tuple(Rows(self) for _ in types)

    def sums(self, kind: type) -> Rows:
        return Rows(self)

    def zero(self, i: int, kind: type) -> float:
        return 0.0


class Rows:
    """A stacked array, indexed by node or by place; the value at the world is kept separately."""

    def __init__(self, tree: BlockTree):
        self.places = tree.places
        size = tree.places[-1].stop if tree.places else 0
        self.data = np.zeros((size, *tree.tail), tree.dtype)
        self.at_world: Any = np.zeros((6, *tree.tail), tree.dtype)

    def __getitem__(self, i: Any) -> Any:
        if type(i) is int:
            return self.data[self.places[i]]
        return self.at_world if i is WORLD else self.data[i]

    def __setitem__(self, i: Any, value: Any) -> None:
        if i is WORLD:
            self.at_world = value
        else:
            self.data[self.places[i]] = value

    def add(self, place: slice, value: Any) -> None:
        if place is WORLD:
            self.at_world = self.at_world + value
        else:
            self.data[place] += value


class Blocks:
    """The fields of a tree of blocks: a matrix for each node, computed on first use.

    `find(name)` gives the matrices of a field; `frame(name)` the place of a frame and its transform.
    """

    def __init__(self, find: Callable[[str], list[Any]], frame: Callable[[str], Any]):
        self._find, self.frame = find, frame

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = self.__dict__[name] = self._find(name)
        return found

    def step(self, family: str) -> Any:
        return getattr(self, family)

    def loose(self, family: str) -> Any:
        return lambda motion: motion

    def compliance(self, i: int, f: Array) -> Array:
        return self.Y[i] @ f

    def to_world(self, i: int, f: Array) -> Array:
        return self.pose[i].T @ f

    def from_world(self, i: int, m: Array) -> Array:
        return self.pose[i] @ m

    def force_back(self, i: int, f: Array) -> Array:
        return np.linalg.solve(self.pose[i].T, f)

    def motion_back(self, i: int, m: Array) -> Array:
        return np.linalg.solve(self.pose[i], m)

    def solved(self, i: int, inertia: Array, f: Array) -> Array:
        try:
            return np.linalg.solve(inertia, f)
        except np.linalg.LinAlgError:
            raise SingularError(f"the inertia at node {i + 1} is singular: it has no inverse") from None

    def dual(self, i: int, x: Array) -> Array:
        return x

    def nothing(self, i: int, space: Space) -> float:
        return 0.0

    def still(self, tree: BlockTree, kind: Any) -> Array:
        return np.zeros((6, *tree.tail), tree.dtype)

    def factored(self, lowering: Any, A: Any) -> _Matrix:
        return _Matrix(A)

    def single(self, kind: Any, numbers: Any) -> Array:
        return np.asarray(numbers)

    def numbers(self, value: Array) -> Any:
        return list(value)


class Solver:
    """A matrix that is only used for solving."""

    __slots__ = ("inverse",)

    def __init__(self, factored: Factored):
        k = len(factored.pivots)
        self.inverse = np.array(factored.inverse().rows, float).reshape(k, k)

    def solve(self, x: Array) -> Array:
        return self.inverse @ x


class _Matrix:
    """A small dense matrix."""

    def __init__(self, A: Any):
        self.name, self.matrix = str(A), A.dense()

    def solve(self, x: Sequence[Any]) -> Array:
        try:
            return np.linalg.solve(self.matrix, np.array(x))
        except np.linalg.LinAlgError:
            raise SingularError(f"{self.name} is singular: it has no inverse") from None


def as_rows(value: Any, width: int = 6) -> Array:
    """Transforms, subspaces or sets of forces of the bodies of a node, stacked."""
    parts = value.values if isinstance(value, Stack) else (value,)
    return np.concatenate(
        [np.zeros((6, 6)) if isinstance(p, Detached) else np.array(p.numbers(), float).reshape(6, width)
         for p in parts]
    )  # fmt: skip


def as_diagonal(value: Any) -> Array:
    """Inertias or transforms of the bodies of a node, along the diagonal."""
    parts = value.values if isinstance(value, Stack) else (value,)
    found = np.zeros((6 * len(parts),) * 2)
    for k, part in enumerate(parts):
        found[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = np.array(part.matrix(), float)
    return found
