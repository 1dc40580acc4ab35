"""Influence matrices: how something at one body of a tree reaches the others.

Any blocks A_i, one for each body, make a nilpotent matrix and its resolvent,

    [Phi]_{i, p(i)} = A_i        Psi = (1 - Phi)^-1 = 1 + Phi + ... + Phi^(d-1)

whose products with vectors are the two recursions of every algorithm over trees: Psi from the root to the
tips, Psi^T from the tips to the root.

Reference: Concurrent Dynamics (2017), definitions 1 and 2; Jain (2011), spatial kernel and propagation
operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.errors import ModelError, ShapeError
from kinetree.model.topology import Topology
from kinetree.soa.operator import Diagonal, Operator, Product, Space, Sparse, zero_block

Array = np.ndarray


class InfluenceMatrix:
    """The operators `Phi` and `Psi` of a tree with a block on each of its edges.

    Args:
        tree: a model, or the parent of each body: bodies count from 1, parents come first, 0 is the ground.
        blocks: A_i for each body, as many rows as the part of body i and as many columns as that of its
            parent. The columns of a root's block lead to the ground and play no role in Phi.
        names: how Phi and Psi are printed.
    """

    def __init__(self, tree: Any, blocks: Sequence[Any], *, over: str = "bodies", names: str = "Phi Psi"):
        parents = tuple(getattr(tree, "parents", tree))
        self.blocks = tuple(np.array(block, float) for block in blocks)
        if len(self.blocks) != len(parents):
            raise ShapeError(
                f"InfluenceMatrix: {len(self.blocks)} blocks were given for {len(parents)} bodies"
            )
        for i, (p, block) in enumerate(zip(parents, self.blocks), 1):
            if not 0 <= p < i:
                raise ModelError(
                    f"InfluenceMatrix: the parent of body {i} is {p}, but parents come first: number the "
                    "bodies from the root to the tips"
                )
            if block.ndim != 2 or (p and block.shape[1] != self.blocks[p - 1].shape[0]):
                need = f"{self.blocks[p - 1].shape[0]} columns, for body {p}" if p else "two axes"
                raise ShapeError(f"InfluenceMatrix: block {i} has shape {block.shape}, but needs {need}")
        self.topology = Topology(parents)
        self.space = Space.stacked(over, (block.shape[0] for block in self.blocks))
        self.edges = tuple((i, p - 1) for i, p in enumerate(parents) if p)  # from 0
        self._names = names.split()

    @property
    def Phi(self) -> Sparse:
        """The influence of each body on its children: [Phi]_{i, p(i)} = A_i, and no others."""
        entries = tuple((i, p, self.blocks[i]) for i, p in self.edges)
        return Sparse(self.space, self.space, entries, name=self._names[0])

    @property
    def Psi(self) -> Resolvent:
        """The influence of each body on all that it carries: (1 - Phi)^-1."""
        return Resolvent(self.space, self.space, self, name=self._names[1])

    @property
    def nilpotency(self) -> int:
        """The smallest m for which Phi^m vanishes whatever the blocks: the depth of the tree."""
        return max(self.topology.depths)

    def gathered(self, blocks: Diagonal) -> Diagonal:
        """The diagonal R with R - Phi^T R Phi = the given one (forward Lyapunov equation), tips to root."""
        R = list(blocks.blocks)
        for i, p in reversed(self.edges):
            R[p] = R[p] + self.blocks[i].T @ R[i] @ self.blocks[i]
        return Diagonal(self.space, self.space, tuple(R))

    def scattered(self, blocks: Diagonal) -> Diagonal:
        """The diagonal Y with Y_i = A_i Y_p A_i^T + the given block (backward Lyapunov), root to tips."""
        Y = list(blocks.blocks)
        for i, p in self.edges:
            Y[i] = Y[i] + self.blocks[i] @ Y[p] @ self.blocks[i].T
        return Diagonal(self.space, self.space, tuple(Y))

    def carried(self, i: int, a: int, x: Array) -> Array:
        """Psi^T(a, i) x: what stands at body i, carried to the body `a` on its path. Cost O(d)."""
        while i != a:
            x = self.blocks[i - 1].T @ x
            i = self.topology.parent(i)
        return x

    def __repr__(self) -> str:
        return f"<influence matrix of {len(self.blocks)} bodies, nilpotent of index {self.nilpotency}>"


@dataclass(frozen=True, eq=False, repr=False)
class Resolvent(Operator):
    """Psi = (1 - Phi)^-1, or its transpose: one pass over the tree for each vector."""

    influence: InfluenceMatrix
    inward: bool = False

    def _apply(self, x: Array) -> Array:
        y, at, blocks = x.astype(np.result_type(x, float)), self.rows.index, self.influence.blocks
        if self.inward:  # gather
            for i, p in reversed(self.influence.edges):
                y[at[p]] += blocks[i].T @ y[at[i]]
        else:  # scatter
            for i, p in self.influence.edges:
                y[at[i]] += blocks[i] @ y[at[p]]
        return y

    def _transposed(self) -> Operator:
        return Resolvent(self.columns, self.rows, self.influence, not self.inward)

    @property
    def inverse(self) -> Operator:
        """1 - Phi, or 1 - Phi^T."""
        return 1 - (self.influence.Phi.T if self.inward else self.influence.Phi)

    def __call__(self, i: int, j: int) -> Array:
        """The product of the blocks on the path between two bodies, zero if neither carries the other."""
        inner, outer = (i, j) if self.inward else (j, i)
        size = self.rows.sizes[self.rows.node(outer)]
        if not self.influence.topology.is_ancestor(self.rows.node(inner) + 1, outer):
            return zero_block(self, i, j)
        gathered = self.influence.carried(outer, inner, np.eye(size))
        return gathered if self.inward else gathered.T

    def _text(self) -> str:
        return f"(resolvent of {self.influence._names[0]})"


@dataclass(frozen=True, eq=False, repr=False)
class OperationalSpace(Product):
    """Omega = psi^T H^T D^-1 H psi; on a tree, with a the nearest node that carries both i and j,

        Omega(i, j) = psi^T(i, a) Upsilon(a) psi(a, j)        zero if only the world carries both.

    Omega = Upsilon + psi_tilde^T Upsilon + Upsilon psi_tilde holds for serial chains alone.
    """

    tree: InfluenceMatrix
    diagonal: Diagonal

    def __call__(self, i: int, j: int) -> Array:
        """The block of nodes i and j, numbered from 1. Cost O(d)."""
        left, right = (np.eye(self.rows.sizes[self.rows.node(k)]) for k in (i, j))
        return self._block(i, left, j, right)

    def between(self, B: Sparse) -> Array:
        """B^T Omega B with one block for each pair of columns of B. Cost O(m^2 d)."""
        result = np.zeros((B.columns.size, B.columns.size))
        for n, (i, k, left) in enumerate(B.entries):
            for j, l, right in B.entries[: n + 1]:
                block = self._block(i + 1, left, j + 1, right)
                result[B.columns.index[k], B.columns.index[l]] = block
                result[B.columns.index[l], B.columns.index[k]] = block.T
        return result

    def _block(self, i: int, left: Array, j: int, right: Array) -> Array:
        """left^T Omega(i, j) right."""
        a = self.tree.topology.common_ancestor(i, j)
        if a == 0:
            return np.zeros((left.shape[1], right.shape[1]))
        left, right = self.tree.carried(i, a, left), self.tree.carried(j, a, right)
        return left.T @ self.diagonal.blocks[a - 1] @ right
