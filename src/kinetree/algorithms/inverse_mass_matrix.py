"""The inverse of the mass matrix, without a dense factorisation."""

from __future__ import annotations

from typing import Any

from kinetree.algorithms.articulation import articulated, responses
from kinetree.algorithms.crba import write_mass_matrix
from kinetree.algorithms.factors import factored, inverted
from kinetree.sweep import Sweep, algorithm


def by_columns(tree: Sweep, q: Any) -> Any:
    """M^-1 column by column: the accelerations produced by a unit force along each velocity.

        M^-1 = (1 - H psi K)* D^-1 (1 - H psi K)

    The articulated inertias are computed once; each column takes one pass along the path to the root, where
    the force is felt, and one outward. Cost O(N^2), less than that of factors in deep trees.

    Reference: Jain (2024) part 4; the column recursion of Carpentier (2018).
    """
    fields = articulated(tree, q)
    inverse = tree.array("nv", "nv")
    for e in tree.units():
        for i, acceleration in responses(tree, fields, e):
            inverse.mirror(i, e, acceleration)
    return inverse


@algorithm("q -> inverse(nv, nv)", pairs=True, deep=by_columns)
def inverse_mass_matrix(tree: Sweep, q: Any) -> Any:
    """M(q)^-1, by factors of the mass matrix that keep its sparsity.

        M = L^T D L        M^-1 = L^-1 D^-1 L^-T

    L and its inverse only have entries for pairs of velocities on one path. Cost O(N d^2 + N^2 d); in deep
    trees the columns are computed one by one from articulated inertias, O(N^2).

    Reference: Featherstone (2005), Efficient factorization of the joint-space inertia matrix; for deep trees
    Jain (2024) part 4.
    """
    M, inverse = tree.velocities.table("nv", "nv"), tree.array("nv", "nv")
    write_mass_matrix(tree, q, M)
    N, r = factored(tree, M)
    inverted(tree, N, r, inverse)
    return inverse
