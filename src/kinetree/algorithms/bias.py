"""Forces that act at zero acceleration: bias and gravity."""

from __future__ import annotations

from typing import Any

from kinetree.algorithms.forces import along_joints
from kinetree.algorithms.rnea import inverse_dynamics
from kinetree.spatial import Force, Motion, Subspace, Transform
from kinetree.sweep import Sweep, algorithm


@algorithm("q, v, f_ext? -> tau")
def bias_force(tree: Sweep, q: Any, v: Any, f_ext: Any) -> Any:
    """The generalised force C v + g (less that of `f_ext`) that keeps the velocity `v` constant: a = 0.

        b = C(q, v) v + g(q) - sum_i J_i^T f_ext,i

    Inverse dynamics at zero acceleration; terms that do not depend on the state fold away. Cost O(N).

    Reference: Jain (2024) part 4 (H phi (M phi* a + b)); Featherstone (2008) table 5.1.
    """
    return inverse_dynamics.body(tree, q, v, tree.absent("nv"), f_ext)


@algorithm("q -> tau")
def gravity_force(tree: Sweep, q: Any) -> Any:
    """The generalised force g that holds the mechanism at rest against gravity.

        A_i = X_i A_p        f_i = I_i A_i        g_i = S_i^T f_i        f_p += X_i^T f_i

    with A_0 = -gravity: gravity as an acceleration of the world. Cost O(N).

    Reference: Jain (2024) part 4 (gravity), with the sign of free fall.
    """
    X, S, A = tree.fields(Transform, Subspace, Motion)
    F = tree.sums(Force)
    A[tree.world] = -tree.gravity
    for i in tree.outward():
        X[i], S[i] = tree.joint(i, q[i])
        A[i] = X[i] @ A[tree.parent(i)]
        F[i] = tree.inertia(i) @ A[i]
    return along_joints(tree, X, S, F)
