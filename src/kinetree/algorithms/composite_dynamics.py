"""Inverse dynamics by composite bodies, and the joint wrenches it gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kinetree.spatial import Force, Inertia, Motion, Subspace, Transform
from kinetree.sweep import Sweep, algorithm


def _composite(tree: Sweep, q: Any, v: Any, a: Any, f_ext: Any) -> Iterator[tuple[Any, ...]]:
    """(i, X_i, S_i, R_i alpha_i, y_i) from tips to base; the last two add up to the joint wrench."""
    X, S, V, A, step = tree.fields(Transform, Subspace, Motion, Motion, Motion)
    R, y = tree.sums(Inertia, Force)
    A[tree.world] = -tree.gravity
    for i in tree.outward():
        p = tree.parent(i)
        X[i], S[i], ring = tree.joint(i, q[i], v[i])
        moving = S[i] @ v[i]
        V[i] = X[i] @ V[p] + moving
        step[i] = S[i] @ a[i] + ring @ v[i] + V[i].cross(moving)
        A[i] = X[i] @ A[p] + step[i]
        R[i] = I = tree.inertia(i)
        y[i] = V[i].cross_star(I @ V[i]) - f_ext[i]
    for i in tree.inward():
        p = tree.parent(i)
        yield i, X[i], S[i], R[i] @ A[i], y[i]
        R.add(p, X[i].T @ R[i] @ X[i])
        y.add(p, X[i].T @ (y[i] + R[i] @ step[i]))


@algorithm("q, v, a, f_ext? -> tau")
def inverse_dynamics_composite(tree: Sweep, q: Any, v: Any, a: Any, f_ext: Any) -> Any:
    """Inverse dynamics by composite bodies: the same result as `inverse_dynamics`, by another route.

        f = R alpha + y        y_p = b_p + sum X^T (y + R (S a + c))        tau = S^T f

    with R the composite inertias and b = V x* I V - f_ext. Cost O(N), more than that of `inverse_dynamics`.

    Reference: Jain (2024) part 4 (inverse dynamics by composite bodies).
    """
    tau = tree.coordinates()
    for i, _, S, inertial, y in _composite(tree, q, v, a, f_ext):
        tau[i] = S.T @ (inertial + y)
    return tau


@algorithm("q, v, a, f_ext? -> inertial(nb, 6), rest(nb, 6)")
def composite_wrenches(tree: Sweep, q: Any, v: Any, a: Any, f_ext: Any) -> Any:
    """The wrench through each joint as R alpha + y: the part due to the body's acceleration, and the rest.

        f_i = R_i alpha_i + y_i        R_i = I^C_i

    R alpha is the force that moves everything outboard as one rigid body; y depends on the accelerations
    outboard and on velocities. Accelerations include gravity as -g. Cost O(N).

    Reference: Jain (2024) part 4 (decompositions of interbody forces).
    """
    inertial, rest = tree.array("nb", 6), tree.array("nb", 6)
    for i, X, _, force, y in _composite(tree, q, v, a, f_ext):
        inertial[i], rest[i] = tree.gathered(i, X, force), tree.gathered(i, X, y)
    return inertial, rest
