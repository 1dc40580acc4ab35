"""The operational space operator, block by block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.soa.influence import InfluenceMatrix
from kinetree.soa.operator import Diagonal, Product, Sparse

Array = np.ndarray


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
