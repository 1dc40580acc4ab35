"""The derivatives of inverse and of forward dynamics."""

from __future__ import annotations

from typing import Any, NamedTuple

from kinetree.algorithms.factors import factored, inverted, solve, solved
from kinetree.algorithms.slopes import Slopes
from kinetree.spatial import Force, Motion
from kinetree.sweep import Sweep, algorithm


class InverseDynamicsDerivatives(NamedTuple):
    """The derivatives of generalised forces, each (..., nv, nv)."""

    dtau_dq: Any  # along increments of q
    dtau_dv: Any
    dtau_da: Any  # the mass matrix


class ForwardDynamicsDerivatives(NamedTuple):
    """The derivatives of accelerations, each (..., nv, nv)."""

    da_dq: Any  # along increments of q
    da_dv: Any
    da_dtau: Any  # the inverse of the mass matrix


@algorithm(
    "q, v, a, f_ext? -> dq(nv, nv), dv(nv, nv), M(nv, nv)",
    pairs=True, invariant=True, result=InverseDynamicsDerivatives,
)  # fmt: skip
def inverse_dynamics_derivatives(
    tree: Sweep, q: Any, v: Any, a: Any, f_ext: Any, *, hold: str = "body"
) -> Any:
    """The derivatives of inverse dynamics along increments of q, along v and along a: (dtau/dq, dtau/dv, M).

    A unit of velocity k of node j moves everything outboard like a rigid body, and changes the rest by

        d_k V_i = S_k x V_i + dV_k                    dV = V_p x S + dS v
        d_k A_i = S_k x A_i + dV_k x V_i + dA_k       dA = A_p x S + V_p x dV + V_j x dS v + d(S a + S-ring v)
        d_k f_i = S_k x* f_i + I_i dA_k + 2 B_i dV_k

    Summed over all bodies outboard (I^C, B^C, F^C) and carried along the path to the root, for i inboard of j

        dtau_i/dq_j = S_i^T (I dA_j + 2 B dV_j + S_j x* F)      dtau_i/dv_j = S_i^T (I W_j + 2 B S_j)
        dtau_j/dq_i = S_j^T (I dA_i + 2 B dV_i)                 dtau_j/dv_i = S_j^T (I W_i + 2 B S_i)

    with W = dV + V x S + S-ring; for i = j the term S x* F becomes dS^T F. External forces stay constant in
    the axes of their bodies as q changes (`hold="body"`), or in those of the world, about the bodies' origins
    (`hold="world"`). Cost O(N d).

    Reference: Singh, Russell and Wensing (2022), extended to joints whose S depends on q, and to groups.
    """
    slopes = Slopes(tree, hold)
    for i in tree.outward():
        slopes.move(i, q, v)
        slopes.accelerate(i, q, v, a, f_ext)
    dq, dv, M = tree.array("nv", "nv"), tree.array("nv", "nv"), tree.array("nv", "nv")
    for j in tree.inward():
        slopes.write(j, dq, dv, M)
        slopes.pass_on(j)
    return dq, dv, M


@algorithm(
    "q, v, tau, f_ext? -> dq(nv, nv), dv(nv, nv), inverse(nv, nv)",
    pairs=True, invariant=True, result=ForwardDynamicsDerivatives, columns=2,
)  # fmt: skip
def forward_dynamics_derivatives(
    tree: Sweep, q: Any, v: Any, tau: Any, f_ext: Any, *, hold: str = "body"
) -> Any:
    """The derivatives of forward dynamics along increments of q, along v and along tau: (da/dq, da/dv, M^-1).

        da/dq = -M^-1 dtau/dq        da/dv = -M^-1 dtau/dv        at a = M^-1 (tau - bias)

    with the derivatives of inverse dynamics, `hold` as there, and M = L^T D L on the paths. Cost O(N^2 d).

    Reference: Carpentier and Mansard (2018); the factors of Featherstone (2005).
    """
    slopes = Slopes(tree, hold)
    (A,) = tree.fields(Motion)
    F = tree.sums(Force)
    A[tree.world] = -tree.gravity
    for i in tree.outward():
        slopes.move(i, q, v)
        A[i] = slopes.X[i] @ A[tree.parent(i)] + slopes.drift(i, v)
        F[i] = slopes.inertia[i] @ A[i] + slopes.gyration[i] - f_ext[i]
    table = tree.velocities.table
    left, a, M, along_q, along_v = table("nv"), table("nv"), *(table("nv", "nv") for _ in range(3))
    for i in tree.inward():
        left[i] = tau[i] - slopes.S[i].T @ F[i]
        F.add(tree.parent(i), slopes.X[i].T @ F[i])
    for j in tree.inward():
        slopes.write(j, dv=along_v, M=M)
        slopes.pass_on(j)
    N, r = factored(tree, M)
    solve(tree, N, r, a, lambda k: left[k])
    for i in tree.outward():
        slopes.accelerate(i, q, v, a, f_ext)
    for j in tree.inward():
        slopes.write(j, along_q)
    dq, dv, inverse = tree.array("nv", "nv"), tree.array("nv", "nv"), tree.array("nv", "nv")
    solved(tree, N, r, along_q, dq, -1)
    solved(tree, N, r, along_v, dv, -1)
    inverted(tree, N, r, inverse)
    return dq, dv, inverse
