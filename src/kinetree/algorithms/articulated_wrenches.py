"""Joint wrenches from articulated inertias."""

from __future__ import annotations

from typing import Any

from kinetree.algorithms.articulation import freed
from kinetree.spatial import Coordinates, Factored, Force, ForceSet, Motion, Subspace, Transform
from kinetree.spatial.articulated import ArticulatedInertia
from kinetree.sweep import Sweep, algorithm, choice


@algorithm("q, v, tau, f_ext? -> inertial(nb, 6), rest(nb, 6)")
def articulated_wrenches(tree: Sweep, q: Any, v: Any, tau: Any, f_ext: Any, *, side: str = "outboard") -> Any:
    """The wrench through each joint under the forces `tau`, as an articulated inertia and a remainder.

        side="outboard":   f = P (alpha - c) + z                    z = psi (K tau + P c + b)
        side="inboard":    f = P+ alpha+ + z+        P+ = P - U D^-1 U^T        z+ = z + U D^-1 (tau - S^T z)

    alpha is the body's acceleration, alpha+ that of its predecessor seen at the body (both include gravity
    as -g), and c the velocity-dependent part. The remainder depends on no acceleration. Cost O(N).

    Reference: Jain (2024) part 4 (decompositions of interbody forces).
    """
    outboard = choice("side", side, "outboard", "inboard") == "outboard"
    X, S, V, c, alpha = tree.fields(Transform, Subspace, Motion, Motion, Motion)
    U, D, z, u = tree.fields(ForceSet, Factored, Force, Coordinates)
    P, bias = tree.sums(ArticulatedInertia, Force)
    for i in tree.outward():
        X[i], S[i], ring = tree.joint(i, q[i], v[i])
        moving = S[i] @ v[i]
        V[i] = X[i] @ V[tree.parent(i)] + moving
        c[i] = ring @ v[i] + V[i].cross(moving)
        P[i] = I = tree.inertia(i)
        bias[i] = V[i].cross_star(I @ V[i]) - f_ext[i]
    for i in tree.inward():
        p = tree.parent(i)
        P.add(p, X[i].T @ freed(tree, i, P, S, U, D) @ X[i])
        z[i] = bias[i] + P[i] @ c[i]
        u[i] = tau[i] - S[i].T @ z[i]
        bias.add(p, X[i].T @ (z[i] + U[i] @ D[i].solve(u[i])))
    inertial, rest = tree.array("nb", 6), tree.array("nb", 6)
    alpha[tree.world] = -tree.gravity
    for i in tree.outward():
        before = X[i] @ alpha[tree.parent(i)]
        without_coriolis = before + S[i] @ D[i].solve(u[i] - U[i].T @ before)
        alpha[i] = without_coriolis + c[i]
        if outboard:
            part, other = P[i] @ without_coriolis, z[i]
        else:
            part = P[i] @ before - U[i] @ D[i].solve(U[i].T @ before)
            other = z[i] + U[i] @ D[i].solve(u[i])
        inertial[i], rest[i] = tree.gathered(i, X[i], part), tree.gathered(i, X[i], other)
    return inertial, rest
