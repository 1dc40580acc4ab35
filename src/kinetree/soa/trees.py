"""Expressions over a tree of blocks: the common part of states of a model and influence matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.errors import ShapeError
from kinetree.model.topology import Topology
from kinetree.soa.alphabet import Space
from kinetree.soa.blocks import WORLD, Blocks, BlockTree
from kinetree.soa.home import Home, width
from kinetree.soa.lowering import Few, Lowering, Stacked, Term
from kinetree.soa.operator import Letter, Operator, coefficients
from kinetree.soa.structure import is_local

Array = np.ndarray


class TreeHome(Home):
    """A home whose letters have numbers: expressions are applied by sweeps over blocks."""

    topology: Topology
    blocks: Blocks
    _parts: tuple[slice, ...]  # places of the bodies of each node
    _carriers: tuple[slice, ...]  # place of the body that carries each node

    def apply(self, A: Operator, x: Any) -> Array:
        array = np.asarray(x)
        if array.ndim not in (1, 2) or array.shape[0] != self.size(A.columns):
            raise ShapeError(
                f"{A} @ x: x has shape {array.shape}, but {self.size(A.columns)} numbers, {A.columns}, or a "
                "matrix of such columns, are needed"
            )
        kinds = [np.asarray(c).dtype for c in coefficients(A)]
        array = array.astype(np.result_type(array, float, *kinds), copy=False)
        tree = BlockTree(self._parts, self._carriers, array)
        lowering = Lowering(tree, self.blocks)
        result = np.zeros((self.size(A.rows), *tree.tail), tree.dtype)
        if not A.columns.is_stacked:
            y = lowering.apply(A, lowering.few(A.columns, array))
        else:
            y = lowering.apply(A, Stacked(A.columns, (Term(1, (), _Parts(array, self.places(A.columns))),)))
        if isinstance(y, Few):
            return np.concatenate([np.asarray(value) for value in y.values]) if y.values else result
        value = lowering.values(y)
        for i, place in enumerate(self.places(A.rows)):
            result[place] = value(i)
        return result

    def block(self, A: Operator, i: int, j: int) -> Array:
        rows, columns = self._node(A.rows, i), self._node(A.columns, j)
        if is_local(A):
            if i != j:
                return np.zeros((width(rows), width(columns)))
            unit = _Parts(np.eye(width(columns)), {i - 1: slice(None)})
            tree = BlockTree(self._parts, self._carriers, np.zeros((1, width(columns))))
            lowering = Lowering(tree, self.blocks)
            y = lowering.apply(A, Stacked(A.columns, (Term(1, (), unit),)))
            found = np.zeros((width(rows), width(columns)))
            found[...] = lowering.values(y)(i - 1)  # type: ignore[arg-type]
            return found
        if isinstance(A, Letter) and A.spec.kind == "resolvent" and not A.inverted:
            inner, outer = (j, i) if A.transposed else (i, j)
            if not self.topology.is_ancestor(inner, outer):
                return np.zeros((width(rows), width(columns)))
            found = self.carried(A, outer, inner, np.eye(width(self._parts[outer - 1])))
            return found.T if A.transposed else found
        return super().block(A, i, j)

    def carried(self, A: Letter, i: int, a: int, x: Array) -> Array:
        """Forces x at node i, carried to the node `a` on its path by phi or psi. Cost O(d)."""
        X = self.blocks.step(A.spec.family)
        while i != a:
            k = i - 1
            if A.name == "psi":
                x = x - self.blocks.U[k] @ self.blocks.D[k].solve(self.blocks.S[k].T @ x)
            x = X[k].T @ x
            i = self.topology.parent(i)
            part, place = self._parts[i - 1], self._carriers[k]
            if place != part:
                whole = np.zeros((width(part), x.shape[1]))
                whole[place.start - part.start : place.stop - part.start] = x
                x = whole
        return x

    def _node(self, space: Space, i: int) -> Any:
        places = self.places(space)
        if not 1 <= i <= len(places):
            raise ShapeError(f"block {i}: the parts of {space} are numbered 1 ... {len(places)}")
        return places[i - 1]


class _Parts:
    """An input: the part of a stacked array that belongs to each node."""

    def __init__(self, data: Array, places: Any):
        self.data, self.places = data, places

    def __getitem__(self, i: int) -> Array:
        return self.data[self.places[i]]


def stacked_slices(sizes: Sequence[int]) -> tuple[slice, ...]:
    """Consecutive slices of these sizes."""
    ends = np.cumsum([0, *sizes]).tolist()
    return tuple(map(slice, ends[:-1], ends[1:]))


__all__ = ["WORLD", "TreeHome", "stacked_slices"]
