"""The inertially referenced formulation: everything in world axes, about the world origin.

All transforms are then the identity, so forces and inertias simply add along the tree.
"""

from __future__ import annotations

from typing import Any

from kinetree.algorithms.forces import along_joints
from kinetree.spatial import Force, Inertia, Motion, Subspace, Transform
from kinetree.sweep import Sweep, algorithm


def referenced(tree: Sweep, q: Any) -> tuple[Any, Any, Any, Any]:
    """Poses P, identity transforms N, subspaces S_I = P^-1 S, and sums that start at I_I = P^T I P."""
    P, N, S = tree.fields(Transform, Transform, Subspace)
    I = tree.sums(Inertia)
    for i in tree.outward():
        X, own = tree.joint(i, q[i])
        P[i] = X @ P[tree.parent(i)]
        N[i] = X.held()
        S[i] = P[i].inverse() @ own
        I[i] = tree.inertia(i).congruence(P[i])
    return P, N, S, I


@algorithm("q -> M(nv, nv)")
def mass_matrix_inertial(tree: Sweep, q: Any) -> Any:
    """The mass matrix in the inertially referenced formulation. Cost O(N d).

        M = H_I phi_I M_I phi_I* H_I*

    Reference: Jain (2024) part 4 (inertially referenced velocities).
    """
    _, N, S, I = referenced(tree, q)
    M = tree.array("nv", "nv")
    for j in tree.inward():
        for i, F in tree.path(N, j, I[j] @ S[j]):
            M.mirror(i, j, S[i].T @ F)
        I.add(tree.parent(j), N[j].T @ I[j] @ N[j])
    return M


@algorithm("q, v, a, f_ext? -> tau")
def inverse_dynamics_inertial(tree: Sweep, q: Any, v: Any, a: Any, f_ext: Any) -> Any:
    """Inverse dynamics in the inertially referenced formulation.

        V = V_p + S_I v        alpha = alpha_p + S_I a + S_I' v        f = I_I alpha + V x* I_I V - f_ext

    with S_I' v = V x S_I v plus the apparent part. Cost O(N), more than in body frames.

    Reference: Jain (2024) part 4 (inertially referenced equations of motion).
    """
    N, S, V, A, P = tree.fields(Transform, Subspace, Motion, Motion, Transform)
    F = tree.sums(Force)
    A[tree.world] = -tree.gravity.tagged(None)
    for i in tree.outward():
        p = tree.parent(i)
        X, own, ring = tree.joint(i, q[i], v[i])
        P[i] = X @ P[p]
        N[i] = X.held()
        back = P[i].inverse()
        S[i] = back @ own
        moving = S[i] @ v[i]
        V[i] = N[i] @ V[p].tagged(None) + moving
        A[i] = N[i] @ A[p].tagged(None) + S[i] @ a[i] + back @ (ring @ v[i]) + V[i].cross(moving)
        I = tree.inertia(i).congruence(P[i])
        F[i] = I @ A[i] + V[i].cross_star(I @ V[i]) - f_ext[i].behind(P[i])
    return along_joints(tree, N, S, F)


@algorithm("q -> tau")
def gravity_force_composite(tree: Sweep, q: Any) -> Any:
    """The force g that holds the mechanism at rest, from the weights.

        g_i = -S_i^T [h^C x g; m^C g]        g on the right the acceleration of free fall

    Gravity acts as an external force at the centre of mass of everything outboard, in world axes. Cost O(N).

    Reference: gravity as forces at centres of mass, Jain (2024) part 4.
    """
    _, N, S, I = referenced(tree, q)
    out = tree.coordinates()
    for i in tree.inward():
        out[i] = -(S[i].T @ (I[i] @ (N[i] @ tree.gravity.tagged(None))))
        I.add(tree.parent(i), N[i].T @ I[i] @ N[i])
    return out
