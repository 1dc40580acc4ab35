"""Forward dynamics by the articulated-body algorithm."""

from __future__ import annotations

from typing import Any

from kinetree.algorithms.articulation import freed
from kinetree.spatial import Coordinates, Factored, Force, ForceSet, Jet, Motion, Subspace, Transform
from kinetree.spatial.articulated import ArticulatedInertia
from kinetree.sweep import Sweep, algorithm


@algorithm("q, v, tau, f_ext? -> a")
def forward_dynamics(tree: Sweep, q: Any, v: Any, tau: Any, f_ext: Any) -> Any:
    """Accelerations that the generalised forces `tau` produce in the state (`q`, `v`).

        U = I^A S       D = S^T U       u = tau - S^T p^A       I^a = I^A - U D^-1 U^T
        I^A_p += X^T I^a X              p^A_p += X^T p^a,  p^a = p^A + I^a c + U D^-1 u  (so S^T p^a = tau)
        a_i = D^-1 (u - U^T (X A_p + c))                        A_i = X A_p + c + S a_i

    with A_0 = -gravity. No inertia is inverted, only D, the inertia along the joint. Accelerations are
    classical (`Jet`), as in inverse dynamics. `tau` is the total force of the joints: damping, friction and
    springs of the model act through `passive_force`,

        a = forward_dynamics(model, q, v, tau + passive_force(model, q, v))

    Cost O(N).

    Reference: Featherstone (2008) table 7.1; Echeandia (2020) Alg. 3 and 6, corrected.
    """
    return _accelerations(tree, q, v, tau, f_ext)


@algorithm("q, v, tau, added, f_ext? -> a")
def augmented_dynamics(tree: Sweep, q: Any, v: Any, tau: Any, added: Any, f_ext: Any) -> Any:
    """Accelerations with inertia `added` along the velocity of each joint, felt by that joint alone.

        (M + G^T diag(added) G) a + C v + g = tau

    with u = G v the velocities of all joints: G = 1 without loops, otherwise `added` has more entries than v.
    A force that decreases with the velocity at the end of a step, tau - d (v + h a), acts as such an inertia
    h d, so a step that is implicit in damping, springs and gains costs one articulated-body solution. The
    algorithm is that of forward dynamics with D = S^T U + G^T diag(added) G. Cost O(N).

    Reference: Featherstone (2008) table 7.1; Castro and others, convex implicit steps (arXiv 2312.03908).
    """
    return _accelerations(tree, q, v, tau, f_ext, added)


def _accelerations(tree: Sweep, q: Any, v: Any, tau: Any, f_ext: Any, added: Any = None) -> Any:
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
        Ia = freed(tree, i, IA, S, U, D, None if added is None else tree.reflected(i, q[i], added[i]))
        u[i] = tau[i] - S[i].T @ pA[i]
        IA.add(p, X[i].T @ Ia @ X[i])
        pa = pA[i] + Ia @ c[i] + U[i] @ D[i].solve(u[i])
        pA.add(p, X[i].T @ (pa.known_along(S[i], tau[i]) if added is None else pa))
    a = tree.coordinates()
    A[tree.world] = -tree.gravity
    for i in tree.outward():
        pulled = X[i] @ A[tree.parent(i)] + c[i]
        a[i] = acceleration = D[i].solve(u[i] - U[i].T @ pulled)
        A[i] = pulled + S[i] @ acceleration
    return a
