"""The mass matrix by the composite-rigid-body algorithm."""

from __future__ import annotations

from typing import Any

from kinetree.spatial import Inertia, Subspace, Transform
from kinetree.sweep import Sweep, algorithm


@algorithm("q -> M(nv, nv)", pairs=True)
def mass_matrix(tree: Sweep, q: Any) -> Any:
    """The mass matrix M(q).

        M_ij = S_i^T I^C_j S_j   for i on the path from j to the root, 0 for unrelated bodies

    I^C_j, the inertia of everything outboard of joint j locked together, is summed from tips to base; the
    force I^C_j S_j is carried along the path. Cost O(N d) for depth d.

    Reference: Featherstone (2008) table 6.2; Echeandia (2020) Alg. 2; Jain (2024) part 4.
    """
    M = tree.array("nv", "nv")
    write_mass_matrix(tree, q, M)
    return M


def write_mass_matrix(tree: Sweep, q: Any, M: Any) -> None:
    """Write the entries of the mass matrix to an output or a table."""
    X, S = tree.fields(Transform, Subspace)
    I = tree.sums(Inertia)
    for i in tree.outward():
        X[i], S[i] = tree.joint(i, q[i])
        I[i] = tree.inertia(i)
    for j in tree.inward():
        for i, F in tree.path(X, j, I[j] @ S[j]):
            M.mirror(i, j, S[i].T @ F)
        I.add(tree.parent(j), X[j].T @ I[j] @ X[j])
