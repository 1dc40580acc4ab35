"""Products and solutions with the mass matrix, without the matrix; its determinant and trace."""

from __future__ import annotations

from typing import Any

from kinetree.algorithms.articulation import articulated, responses
from kinetree.algorithms.composite import composite
from kinetree.algorithms.forces import along_joints
from kinetree.spatial import Force, Motion, Subspace, Transform
from kinetree.sweep import Sweep, algorithm


@algorithm("q, x -> tau")
def mass_matrix_product(tree: Sweep, q: Any, x: Any) -> Any:
    """M(q) x: propagate outward, multiply by the inertias, gather inward.

        A_i = X A_p + S x_i        f_i = I A_i        (M x)_i = S^T f_i        f_p += X^T f_i

    Cost O(N).

    Reference: Jain (2024) part 4 (M = H phi M phi* H*, read from right to left).
    """
    X, S, A = tree.fields(Transform, Subspace, Motion)
    F = tree.sums(Force)
    for i in tree.outward():
        X[i], S[i] = tree.joint(i, q[i])
        A[i] = X[i] @ A[tree.parent(i)] + S[i] @ x[i]
        F[i] = tree.inertia(i) @ A[i]
    return along_joints(tree, X, S, F)


@algorithm("q, x -> a")
def mass_matrix_solve(tree: Sweep, q: Any, x: Any) -> Any:
    """M(q)^-1 x: the accelerations that the generalised forces `x` produce from rest, without gravity.

        u_i = x_i - S^T p_i        p_p += X^T (p_i + U D^-1 u_i)        a_i = D^-1 (u_i - U^T X A_p)

    with the articulated inertias of forward dynamics. Cost O(N).

    Reference: Jain (2024) part 4 (M^-1 = (1 - H psi K)* D^-1 (1 - H psi K)).
    """
    a = tree.coordinates()
    for i, a_i in responses(tree, articulated(tree, q), x):
        a[i] = a_i
    return a


@algorithm("q -> value()", invariant=True)
def mass_matrix_logdet(tree: Sweep, q: Any) -> Any:
    """The logarithm of det M(q), from the articulated inertias along the joints. Cost O(N).

        log det M = sum_i log det D_i

    Reference: Jain (2024) part 4 (innovations factorisation: det M = prod det D).
    """
    _, _, _, D, _ = articulated(tree, q)
    total = tree.array()
    for i in tree.outward():
        total.add(D[i].log_determinant)
    return total


@algorithm("q -> value()", invariant=True)
def mass_matrix_trace(tree: Sweep, q: Any) -> Any:
    """The trace of M(q), without the matrix. Cost O(N).

        tr M = sum_i tr(S_i^T I^C_i S_i)

    Reference: Jain (2024) part 4 (trace of the mass matrix).
    """
    _, S, I = composite(tree, q)
    total = tree.array()
    for i in tree.inward():
        total.add((S[i].T @ (I[i] @ S[i])).trace)
    return total
