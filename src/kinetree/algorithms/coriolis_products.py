"""Products with the Coriolis matrix and its transpose, without the matrix."""

from __future__ import annotations

from typing import Any

from kinetree.algorithms.forces import along_joints
from kinetree.spatial import CoriolisInertia, Force, Motion, Subspace, Transform
from kinetree.sweep import Sweep, algorithm


@algorithm("q, v, x -> tau")
def coriolis_product(tree: Sweep, q: Any, v: Any, x: Any) -> Any:
    """C(q, v) x for any vector `x`, with the C of the Christoffel symbols.

        w_i = X w_p + S x_i        z_i = X z_p + dS x_i        f_i = I z_i + B w_i        (C x)_i = S^T f_i

    Passivity-based control needs C times a velocity that is not the robot's own. Cost O(N).

    Reference: the factors of Echeandia (2020) Alg. 4 applied to a vector.
    """
    X, S, V, w, z = tree.fields(Transform, Subspace, Motion, Motion, Motion)
    F = tree.sums(Force)
    for i in tree.outward():
        p = tree.parent(i)
        X[i], S[i], ring = tree.joint(i, q[i], v[i])
        V[i] = X[i] @ V[p] + S[i] @ v[i]
        moving = S[i] @ x[i]
        w[i] = X[i] @ w[p] + moving
        z[i] = X[i] @ z[p] + V[i].cross(moving) + ring @ x[i]
        inertia = tree.inertia(i)
        F[i] = inertia @ z[i] + CoriolisInertia.of(V[i], inertia) @ w[i]
    return along_joints(tree, X, S, F)


@algorithm("q, v, x -> tau")
def coriolis_transpose_product(tree: Sweep, q: Any, v: Any, x: Any) -> Any:
    """C(q, v)^T x for any vector `x`, with the C of the Christoffel symbols.

        w_i = X w_p + S x_i        h_i = I w_i        f_i = B^T w_i        (C^T x)_i = dS^T h_i + S^T f_i

    With x = v it serves momentum observers: (M v)' = tau - g + C^T v. Cost O(N).

    Reference: the factors of Echeandia (2020) Alg. 4 applied to a vector.
    """
    X, S, rate, V, w = tree.fields(Transform, Subspace, Subspace, Motion, Motion)
    h, F = tree.sums(Force, Force)
    for i in tree.outward():
        p = tree.parent(i)
        X[i], S[i], ring = tree.joint(i, q[i], v[i])
        V[i] = X[i] @ V[p] + S[i] @ v[i]
        rate[i] = S[i].cross_from(V[i]) + ring
        w[i] = X[i] @ w[p] + S[i] @ x[i]
        inertia = tree.inertia(i)
        h[i] = inertia @ w[i]
        F[i] = CoriolisInertia.of(V[i], inertia).adjoint @ w[i]
    out = tree.coordinates()
    for i in tree.inward():
        p = tree.parent(i)
        out[i] = rate[i].T @ h[i] + S[i].T @ F[i]
        h.add(p, X[i].T @ h[i])
        F.add(p, X[i].T @ F[i])
    return out
