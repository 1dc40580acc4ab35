"""Christoffel symbols of the mass matrix."""

from __future__ import annotations

from typing import Any

from kinetree.spatial import CoriolisInertia, Inertia, Partials, Subspace, Transform
from kinetree.sweep import Sweep, algorithm


@algorithm("q -> Gamma(nv, nv, nv)", pairs=True)
def christoffel_symbols(tree: Sweep, q: Any) -> Any:
    """Christoffel symbols of the first kind: C_ij = sum_k Gamma_ijk v_k, zero unless i, j, k lie on one path.

    For velocities i, j, k of nodes a, b, c with c outermost and a innermost, B = B(S_k, I^C_c) and
    D = (I^C_c S_k) x-bar* - B,

        Gamma_ijk = Gamma_ikj = S_i^T B S_j
        Gamma_jik = Gamma_jki = S_j^T B S_i
        Gamma_kij = Gamma_kji = S_i^T D S_j

    plus, where velocities share a node, derivatives of its S: Gamma_ikj += S_i^T I^C d_j S_k for b = c, and
    Gamma_kji += S_k^T I^C d_i S_j for a = b. For quasi-velocities these are the connection coefficients
    of the Levi-Civita connection: Gamma_ijk - Gamma_ikj = sum_l M_il c^l_kj with the structure constants c.
    Cost O(N d^2).

    Reference: Echeandia (2020) Alg. 5, corrected and for joints with any number of degrees of freedom.
    """
    return _filled(tree, q, tree.array("nv", "nv", "nv"))


@algorithm("q -> values(triples)", pairs=True)
def christoffel_values(tree: Sweep, q: Any) -> Any:
    """Christoffel symbols of the first kind without structural zeros: one number for each triple.

        Gamma_ijk = values[n]        for the triple (i, j, k) = model.christoffel_sparsity()[n]

    In a branching robot few of the nv^3 triples lie on one path: 23 % for a humanoid, 2 % for a binary tree
    of 60 bodies. Cost O(N d^2), and no more numbers than that.

    Reference: Echeandia (2020) Alg. 5: zero unless i, j, k lie on one path.
    """
    return _filled(tree, q, tree.triples())


def _filled(tree: Sweep, q: Any, G: Any) -> Any:
    """The symbols, written to G by velocities."""
    X, S, dS = tree.fields(Transform, Subspace, Partials)
    I = tree.sums(Inertia)
    for i in tree.outward():
        X[i], S[i] = tree.joint(i, q[i])
        dS[i] = tree.partials(i, q[i])
        I[i] = tree.inertia(i)
    for c in tree.inward():
        for k, S_k, dS_k in tree.columns(c, S[c], dS[c]):
            for b, B, h in tree.path(X, c, CoriolisInertia.of(S_k, I[c]), I[c] @ S_k):
                if b == c:
                    for a, F, R in tree.path(X, b, B @ S[b] + I[c] @ dS_k, B.adjoint @ S[b]):
                        G[a, k, b] = S[a].T @ F
                        if a != b:
                            G[b, k, a] = G[b, a, k] = (S[a].T @ R).T
                else:
                    for a, F, R, Q in tree.path(X, b, B @ S[b], B.adjoint @ S[b], B.reaction(h, S[b])):
                        G[a, k, b] = G[a, b, k] = S[a].T @ F
                        D = S[a].T @ Q
                        if a == b:
                            G[k, b, a] = (D + dS[b].against(h)).T
                        else:
                            G[k, a, b], G[k, b, a] = D, D.T
                            G[b, k, a] = G[b, a, k] = (S[a].T @ R).T
        I.add(tree.parent(c), X[c].T @ I[c] @ X[c])
    return G
