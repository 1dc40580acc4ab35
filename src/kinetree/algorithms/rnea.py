"""Inverse dynamics by the recursive Newton-Euler algorithm."""

from __future__ import annotations

from typing import Any

from kinetree.spatial import Force, Jet, Subspace, Transform
from kinetree.sweep import Sweep, algorithm


@algorithm("q, v, a, f_ext? -> tau")
def inverse_dynamics(tree: Sweep, q: Any, v: Any, a: Any, f_ext: Any) -> Any:
    """Generalised forces that produce the acceleration `a` in the state (`q`, `v`).

        J_i = X_i J_p moved by (S_i v_i, S_i a_i + S-ring_i v_i)        base to tips, J_0 = -gravity
        F_i = I_i force(J_i) - f_ext,i                                  [I w' + w x I w + m c x a; ...]
        tau_i = S_i^T F_i        F_p += X_i^T F_i                       tips to base

    A jet J holds the angular velocity w and the classical acceleration [w'; a] of a body's origin, which give
    the same forces as spatial ones and need no linear velocity. tau is the total force of the joints: the
    motors provide tau minus `passive_force`. Cost O(N).

    Reference: Featherstone (2008) table 5.1; Echeandia (2020) Alg. 1, with apparent derivatives and external
    forces.
    """
    X, S, J = tree.fields(Transform, Subspace, Jet)
    F = tree.sums(Force)
    J[tree.world] = Jet(acceleration=-tree.gravity)
    for i in tree.outward():
        X[i], S[i], ring = tree.joint(i, q[i], v[i])
        J[i] = (X[i] @ J[tree.parent(i)]).moved(S[i] @ v[i], S[i] @ a[i] + ring @ v[i])
        F[i] = tree.inertia(i).force(J[i]) - f_ext[i]
    tau = tree.coordinates()
    for i in tree.inward():
        tau[i] = S[i].T @ F[i]
        F.add(tree.parent(i), X[i].T @ F[i])
    return tau
