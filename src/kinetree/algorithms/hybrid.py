"""Hybrid dynamics: the accelerations of some joints are prescribed, the forces of the others are given."""

from __future__ import annotations

from typing import Any

from kinetree.algorithms.articulation import freed
from kinetree.spatial import Coordinates, Factored, Force, ForceSet, Jet, Motion, Subspace, Transform
from kinetree.spatial.articulated import ArticulatedInertia
from kinetree.sweep import Sweep, algorithm


@algorithm("q, v, known(nv), f_ext? -> a, tau", order="q v known accelerate f_ext")
def hybrid_dynamics(
    tree: Sweep, q: Any, v: Any, known: Any, f_ext: Any, *, accelerate: tuple[str, ...] = ()
) -> Any:
    """All accelerations and generalised forces (a, tau), where one of the two is known for each joint.

    `known` holds the accelerations of the joints named in `accelerate`, and the generalised forces of all
    others. With no joint named, this is forward dynamics; with all named, inverse dynamics. The articulated
    inertia passes a joint of known acceleration as if it were locked:

        I^A_p += X^T I^A X        p^A_p += X^T (p^A + I^A (c + S a))        tau = S^T (I^A A + p^A)

    Cost O(N).

    Reference: Featherstone (2008) section 9.2; listed by Boyden (1997).
    """
    X, S, J, c, A = tree.fields(Transform, Subspace, Jet, Motion, Motion)
    U, D, u = tree.fields(ForceSet, Factored, Coordinates)
    IA, pA = tree.sums(ArticulatedInertia, Force)
    for i in tree.outward():
        X[i], S[i], ring = tree.joint(i, q[i], v[i])
        told = S[i] @ known[i] if tree.is_marked(i) else tree.zero(i, Motion)
        moved = (X[i] @ J[tree.parent(i)]).moved(S[i] @ v[i], ring @ v[i] + told)
        J[i], c[i] = moved.unaccelerated, moved.acceleration
        IA[i] = I = tree.inertia(i)
        pA[i] = I.force(J[i]) - f_ext[i]
    for i in tree.inward():
        p = tree.parent(i)
        if tree.is_marked(i):
            IA.add(p, X[i].T @ IA[i] @ X[i])
            pA.add(p, X[i].T @ (pA[i] + IA[i] @ c[i]))
        else:
            Ia = freed(tree, i, IA, S, U, D)
            u[i] = known[i] - S[i].T @ pA[i]
            IA.add(p, X[i].T @ Ia @ X[i])
            pA.add(p, X[i].T @ (pA[i] + Ia @ c[i] + U[i] @ D[i].solve(u[i])))
    a, tau = tree.coordinates(), tree.coordinates()
    A[tree.world] = -tree.gravity
    for i in tree.outward():
        pulled = X[i] @ A[tree.parent(i)] + c[i]
        if tree.is_marked(i):
            A[i] = pulled
            a[i] = known[i]
            tau[i] = S[i].T @ (IA[i] @ pulled + pA[i])
        else:
            a[i] = acceleration = D[i].solve(u[i] - U[i].T @ pulled)
            A[i] = pulled + S[i] @ acceleration
            tau[i] = known[i]
    return a, tau
