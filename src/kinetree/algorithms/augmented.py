"""Forward dynamics with inertia added along the velocities: what one implicit time step solves."""

from __future__ import annotations

from typing import Any

from kinetree.spatial import (
    ArticulatedInertia,
    Coordinates,
    Factored,
    Force,
    ForceSet,
    Jet,
    Matrix,
    Motion,
    Subspace,
    Transform,
)
from kinetree.sweep import Sweep, algorithm


@algorithm("q, v, tau, added(nv), f_ext? -> a")
def augmented_dynamics(tree: Sweep, q: Any, v: Any, tau: Any, added: Any, f_ext: Any) -> Any:
    """Accelerations when the inertia `added` is added along each velocity, felt by that velocity alone.

        (M + diag(added)) a + C v + g = tau

    A force that falls with the velocity at the end of a step, tau - d (v + h a), is such an inertia h d: so
    one step that is implicit in damping, springs and gains costs one articulated-body solution. As forward
    dynamics, with D = S^T U + diag(added). Cost O(N).

    Reference: Featherstone (2008) table 7.1; Castro and others (2023), convex implicit steps.
    """
    X, S, J, c, A = tree.fields(Transform, Subspace, Jet, Motion, Motion)
    U, D, u = tree.fields(ForceSet, Factored, Coordinates)
    IA, pA = tree.sums(ArticulatedInertia, Force)
    for i in tree.outward():
        X[i], S[i], ring = tree.joint(i, q[i], v[i])
        moved = (X[i] @ J[tree.parent(i)]).moved(S[i] @ v[i], ring @ v[i])
        J[i], c[i] = moved.unaccelerated, moved.acceleration
        IA[i] = I = tree.inertia(i)
        pA[i] = I.force(J[i]) - f_ext[i]
    for i in tree.inward():
        p = tree.parent(i)
        U[i] = IA[i] @ S[i]
        D[i] = tree.factored(i, S[i].T @ U[i] + Matrix.diagonal(added[i]))
        u[i] = tau[i] - S[i].T @ pA[i]
        Ia = IA[i].lowered(U[i], D[i])
        IA.add(p, X[i].T @ Ia @ X[i])
        pA.add(p, X[i].T @ (pA[i] + Ia @ c[i] + U[i] @ D[i].solve(u[i])))
    a = tree.coordinates()
    A[tree.world] = -tree.gravity
    for i in tree.outward():
        pulled = X[i] @ A[tree.parent(i)] + c[i]
        a[i] = acceleration = D[i].solve(u[i] - U[i].T @ pulled)
        A[i] = pulled + S[i] @ acceleration
    return a
