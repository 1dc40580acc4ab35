"""The Coriolis matrix and the rate of the mass matrix, from one sweep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kinetree.spatial import CoriolisInertia, Inertia, Motion, Subspace, Transform
from kinetree.sweep import Sweep, algorithm


def _related(tree: Sweep, q: Any, v: Any) -> Iterator[tuple[Any, ...]]:
    """(i, j, S_i, dS_i, F1, F2, F3) for every node j and every i on its path to the root, with

    F1 = I^C dS_j + B^C S_j        F2 = I^C S_j        F3 = B^C^T S_j        dS = V x S + apparent derivative
    """
    X, S, rate, V = tree.fields(Transform, Subspace, Subspace, Motion)
    I, B = tree.sums(Inertia, CoriolisInertia)
    for i in tree.outward():
        X[i], S[i], ring = tree.joint(i, q[i], v[i])
        V[i] = X[i] @ V[tree.parent(i)] + S[i] @ v[i]
        rate[i] = S[i].cross_from(V[i]) + ring
        I[i] = inertia = tree.inertia(i)
        B[i] = CoriolisInertia.of(V[i], inertia)
    for j in tree.inward():
        p = tree.parent(j)
        F1 = I[j] @ rate[j] + B[j] @ S[j]
        for i, *F in tree.path(X, j, F1, I[j] @ S[j], B[j].adjoint @ S[j]):
            yield (i, j, S[i], rate[i], *F)
        I.add(p, X[j].T @ I[j] @ X[j])
        B.add(p, X[j].T @ B[j] @ X[j])


@algorithm("q, v -> C(nv, nv)", pairs=True)
def coriolis_matrix(tree: Sweep, q: Any, v: Any) -> Any:
    """The Coriolis matrix C(q, v) of the Christoffel symbols: C v + g is the bias, M' - 2 C is skew.

        C_ij = S_i^T (I^C dS_j + B^C S_j)        I^C, B^C of the outer one of i and j

    with B(V, I) = (V x* I + (I V) x-bar* - I V x) / 2 summed over all bodies outboard, and dS = V x S plus
    the apparent derivative, which makes it correct for joints of every kind. Cost O(N d).

    Reference: Echeandia (2020) Alg. 4, corrected: use, then transform, then step.
    """
    C = tree.array("nv", "nv")
    for i, j, S, rate, F1, F2, F3 in _related(tree, q, v):
        C[i, j] = S.T @ F1
        if i != j:
            C[j, i] = (rate.T @ F2 + S.T @ F3).T
    return C


@algorithm("q, v -> rate(nv, nv)", pairs=True)
def mass_matrix_rate(tree: Sweep, q: Any, v: Any) -> Any:
    """The time derivative M' of the mass matrix, C + C^T.

        M'_ij = dS_i^T F2 + S_i^T (F1 + F3)

    with the forces of the Coriolis matrix. Cost O(N d).

    Reference: Echeandia (2020) eq. 3.22 and Alg. 4, corrected.
    """
    M = tree.array("nv", "nv")
    for i, j, S, rate, F1, F2, F3 in _related(tree, q, v):
        M.mirror(i, j, rate.T @ F2 + S.T @ (F1 + F3))
    return M


@algorithm("q, v -> M(nv, nv), rate(nv, nv), C(nv, nv)", pairs=True)
def coriolis_matrices(tree: Sweep, q: Any, v: Any) -> Any:
    """The mass matrix, its rate and the Coriolis matrix, from one sweep: (M, M', C). Cost O(N d).

        M' = C + C^T

    Reference: Echeandia (2020) Alg. 4, corrected.
    """
    M, D, C = tree.array("nv", "nv"), tree.array("nv", "nv"), tree.array("nv", "nv")
    for i, j, S, rate, F1, F2, F3 in _related(tree, q, v):
        C[i, j] = outer = S.T @ F1
        inner = rate.T @ F2 + S.T @ F3
        if i != j:
            C[j, i] = inner.T
        M.mirror(i, j, S.T @ F2)
        D.mirror(i, j, outer + inner)
    return M, D, C
