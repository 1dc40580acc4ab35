"""The derivatives of inverse dynamics."""

from __future__ import annotations

from typing import Any

from kinetree.spatial import CoriolisInertia, Force, Inertia, Motion, Partials, Subspace, Transform
from kinetree.sweep import Sweep, algorithm, choice


@algorithm(
    "q, v, a, f_ext? -> dq(nv, nv), dv(nv, nv), M(nv, nv)",
    pairs=True,
    invariant=True,
    order="q v a f_ext hold",
)
def inverse_dynamics_derivatives(
    tree: Sweep, q: Any, v: Any, a: Any, f_ext: Any, *, hold: str = "body"
) -> Any:
    """The derivatives of inverse dynamics along increments of q, along v and along a: (dtau/dq, dtau/dv, M).

    A unit of velocity k of node j moves everything outboard of it like a rigid body, and changes what is left:

        d_k V_i = S_k x V_i + dV_k                    dV = V_p x S + dS v
        d_k A_i = S_k x A_i + dV_k x V_i + dA_k       dA = A_p x S + V_p x dV + V_j x dS v + d(S a + S-ring v)
        d_k f_i = S_k x* f_i + I_i dA_k + 2 B_i dV_k

    Summed outboard (I^C, B^C, F^C) and carried along the path to the root, for i inboard of j

        dtau_i/dq_j = S_i^T (I dA_j + 2 B dV_j + S_j x* F)      dtau_i/dv_j = S_i^T (I W_j + 2 B S_j)
        dtau_j/dq_i = S_j^T (I dA_i + 2 B dV_i)                 dtau_j/dv_i = S_j^T (I W_i + 2 B S_i)

    with W = dV + V x S + S-ring; for i = j the term S x* F becomes dS^T F. External forces stay constant in the
    axes of their bodies as q changes (`hold="body"`), or in those of the world, about the bodies' origins
    (`hold="world"`). Cost O(N d).

    Reference: Singh, Russell and Wensing (2022), extended to joints whose S depends on q, and to groups.
    """
    choice("hold", hold, "body", "world")
    X, S, V, A = tree.fields(Transform, Subspace, Motion, Motion)
    dS, dV, dA, W = tree.fields(Partials, Subspace, Subspace, Subspace)
    I, B, E, F = tree.sums(Inertia, CoriolisInertia, CoriolisInertia, Force)
    A[tree.world] = -tree.gravity
    for i in tree.outward():
        X[i], S[i], ring = tree.joint(i, q[i], v[i])
        dS[i], dvJ, daJ = tree.slopes(i, q[i], v[i], a[i])
        Vp, Ap, vJ = X[i] @ V[tree.parent(i)], X[i] @ A[tree.parent(i)], S[i] @ v[i]
        V[i] = Vp + vJ
        A[i] = Ap + S[i] @ a[i] + ring @ v[i] + Vp.cross(vJ)
        dV[i] = S[i].cross_from(Vp) + dvJ
        dA[i] = S[i].cross_from(Ap) + dV[i].cross_from(Vp) + dvJ.cross_from(V[i]) + daJ
        W[i] = dV[i] + S[i].cross_from(Vp) + S[i].bracket(v[i]) + ring
        I[i] = inertia = tree.inertia(i)
        B[i] = CoriolisInertia.of(V[i] * 2, inertia)
        F[i] = inertia @ A[i] + B[i] @ (V[i] * 0.5) - f_ext[i]
        if hold == "world":
            E[i] = tree.turning(i, f_ext[i])
    dq, dv, M = tree.array("nv", "nv"), tree.array("nv", "nv"), tree.array("nv", "nv")
    for j in tree.inward():
        p = tree.parent(j)
        P, R = I[j] @ S[j], B[j].adjoint @ S[j]
        U, Z = I[j] @ W[j] + B[j] @ S[j], I[j] @ dA[j] + B[j] @ dV[j]
        turned = ()
        if hold == "world":
            Z, turned = Z + E[j] @ S[j], (E[j].adjoint @ S[j],)
            E.add(p, X[j].T @ E[j] @ X[j])
        dq[j, j] = S[j].T @ Z + dS[j].T @ F[j]
        for i, P, R, U, Z, *turned in tree.path(X, j, P, R, U, Z + S[j].cross_onto(F[j]), *turned):
            M.mirror(i, j, S[i].T @ P)
            dv[i, j] = S[i].T @ U
            if i != j:
                dq[i, j] = S[i].T @ Z
                dq[j, i] = sum((S[i].T @ Q for Q in turned), dA[i].T @ P + dV[i].T @ R).T
                dv[j, i] = (W[i].T @ P + S[i].T @ R).T
        I.add(p, X[j].T @ I[j] @ X[j])
        B.add(p, X[j].T @ B[j] @ X[j])
        F.add(p, X[j].T @ F[j])
    return dq, dv, M
