"""Inverse dynamics by the recursive Newton-Euler algorithm."""

from __future__ import annotations

from typing import Any

from kinetree.spatial import Force, Jet, Subspace, Transform
from kinetree.sweep import Sweep, algorithm


@algorithm("q, v, a, f_ext? -> tau")
def inverse_dynamics(tree: Sweep, q: Any, v: Any, a: Any, f_ext: Any) -> Any:
    """Generalised forces that produce the acceleration `a` in the state (`q`, `v`).

        f_i = I_i a_i + v_i x* I_i v_i - f_ext,i      tau_i = S_i^T f_i      f_p += X_i^T f_i

    with velocities and accelerations from base to tips and a_0 = -gravity. Written with classical
    accelerations (`Jet`), which give the same forces and need no linear velocities. Cost O(N).

    Reference: Featherstone (2008) table 5.1; thesis Alg. 1 with apparent derivatives and external forces.
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
