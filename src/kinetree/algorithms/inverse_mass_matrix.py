"""The inverse of the mass matrix, without a dense factorisation."""

from __future__ import annotations

from typing import Any

from kinetree.algorithms.articulation import articulated
from kinetree.spatial import Coordinates, Force, Motion
from kinetree.sweep import Sweep, algorithm


@algorithm("q -> inverse(nv, nv)", pairs=True)
def inverse_mass_matrix(tree: Sweep, q: Any) -> Any:
    """M(q)^-1, column by column: the accelerations that a unit force at each velocity produces.

        M^-1 = (1 - H psi K)* D^-1 (1 - H psi K)

    The articulated inertias are found once; each column is one pass along the path to the root, where the
    force is felt, and one outward. Zeros fold away. Cost O(N^2).

    Reference: Jain, spatial operator algebra part 4; the column recursion of Carpentier (2018).
    """
    X, S, U, D = articulated(tree, q)
    inverse = tree.array("nv", "nv")
    for e in tree.units():
        A, u = tree.fields(Motion, Coordinates)
        p = tree.sums(Force)
        for i in tree.outward():
            p[i] = tree.zero(i, Force)
        for i in tree.inward():
            u[i] = e[i] - S[i].T @ p[i]
            p.add(tree.parent(i), X[i].T @ (p[i] + U[i] @ D[i].solve(u[i])))
        for i in tree.outward():
            pulled = X[i] @ A[tree.parent(i)]
            acceleration = D[i].solve(u[i] - U[i].T @ pulled)
            A[i] = pulled + S[i] @ acceleration
            inverse.mirror(i, e, acceleration)
    return inverse
