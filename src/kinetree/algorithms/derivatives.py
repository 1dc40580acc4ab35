"""The derivatives of inverse and of forward dynamics."""

from __future__ import annotations

from typing import Any, NamedTuple

from kinetree.algorithms.factors import factored, inverted, solve, solved
from kinetree.spatial import CoriolisInertia, Force, Inertia, Motion, Partials, Subspace, Transform
from kinetree.sweep import Sweep, algorithm, choice


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


class _Slopes:
    """The fields of both algorithms, in the notation of `inverse_dynamics_derivatives`."""

    def __init__(self, tree: Sweep, hold: str):
        self.tree, self.hold = tree, choice("hold", hold, "body", "world")
        self.X, self.S, self.ring, self.V, self.A = tree.fields(Transform, Subspace, Subspace, Motion, Motion)
        self.dS, self.dV, self.dA, self.W = tree.fields(Partials, Subspace, Subspace, Subspace)
        self.inertia, self.gyration = tree.fields(Inertia, Force)
        self.I, self.B, self.E, self.F = tree.sums(Inertia, CoriolisInertia, CoriolisInertia, Force)
        self.A[tree.world] = -tree.gravity

    def move(self, i: Any, q: Any, v: Any) -> None:
        """What does not depend on accelerations, for node i."""
        tree, S, V = self.tree, self.S, self.V
        self.X[i], S[i], self.ring[i] = tree.joint(i, q[i], v[i])
        self.dS[i] = tree.partials(i, q[i])
        Vp = self.X[i] @ V[tree.parent(i)]
        V[i] = Vp + S[i] @ v[i]
        across = S[i].cross_from(Vp)
        self.dV[i] = across + self.dS[i].times(v[i])
        self.W[i] = self.dV[i] + across + S[i].bracket(v[i]) + self.ring[i]
        self.I[i] = self.inertia[i] = tree.inertia(i)
        self.B[i] = B = CoriolisInertia.of(V[i] * 2, self.inertia[i])
        self.gyration[i] = B @ (V[i] * 0.5)

    def drift(self, i: Any, v: Any) -> Any:
        """The acceleration of node i relative to its predecessor that velocities alone give."""
        Vp = self.X[i] @ self.V[self.tree.parent(i)]
        return self.ring[i] @ v[i] + Vp.cross(self.S[i] @ v[i])

    def accelerate(self, i: Any, q: Any, v: Any, a: Any, f_ext: Any) -> None:
        """What depends on them, for node i."""
        tree, S, V, dS, dV, p = self.tree, self.S, self.V, self.dS, self.dV, self.tree.parent(i)
        Vp, Ap = self.X[i] @ V[p], self.X[i] @ self.A[p]
        self.A[i] = Ap + S[i] @ a[i] + self.drift(i, v)
        turned = S[i].cross_from(Ap) + dV[i].cross_from(Vp) + dS[i].times(v[i]).cross_from(V[i])
        self.dA[i] = turned + dS[i].times(a[i]) + tree.slopes(i, q[i], v[i]).times(v[i])
        self.F[i] = self.inertia[i] @ self.A[i] + self.gyration[i] - f_ext[i]
        if self.hold == "world":
            self.E[i] = tree.turning(i, f_ext[i])

    def write_rates(self, dv: Any, M: Any) -> None:
        """Write dtau/dv and M; I and B are those of everything outboard from then on."""
        tree, X, S, W, I, B = self.tree, self.X, self.S, self.W, self.I, self.B
        for j in tree.inward():
            p = tree.parent(j)
            forces = I[j] @ S[j], B[j].adjoint @ S[j], I[j] @ W[j] + B[j] @ S[j]
            for i, P, R, U in tree.path(X, j, *forces):
                M.mirror(i, j, S[i].T @ P)
                dv[i, j] = S[i].T @ U
                if i != j:
                    dv[j, i] = (W[i].T @ P + S[i].T @ R).T
            I.add(p, X[j].T @ I[j] @ X[j])
            B.add(p, X[j].T @ B[j] @ X[j])

    def write_slope(self, dq: Any) -> None:
        """Write dtau/dq, after the rates."""
        tree, X, S, dV, dA, I, B, E, F = (
            self.tree, self.X, self.S, self.dV, self.dA, self.I, self.B, self.E, self.F
        )  # fmt: skip
        for j in tree.inward():
            p = tree.parent(j)
            Z = I[j] @ dA[j] + B[j] @ dV[j]
            turned: list = []
            if self.hold == "world":
                Z, turned = Z + E[j] @ S[j], [E[j].adjoint @ S[j]]
                E.add(p, X[j].T @ E[j] @ X[j])
            dq[j, j] = S[j].T @ Z + self.dS[j].T @ F[j]
            forces = I[j] @ S[j], B[j].adjoint @ S[j], Z + S[j].cross_onto(F[j]), *turned
            for i, P, R, Z, *turned in tree.path(X, j, *forces):
                if i != j:
                    dq[i, j] = S[i].T @ Z
                    dq[j, i] = sum((S[i].T @ Q for Q in turned), dA[i].T @ P + dV[i].T @ R).T
            F.add(p, X[j].T @ F[j])


@algorithm(
    "q, v, a, f_ext? -> dq(nv, nv), dv(nv, nv), M(nv, nv)",
    pairs=True, invariant=True, order="q v a f_ext hold", result=InverseDynamicsDerivatives,
)  # fmt: skip
def inverse_dynamics_derivatives(
    tree: Sweep, q: Any, v: Any, a: Any, f_ext: Any, *, hold: str = "body"
) -> Any:
    """The derivatives of inverse dynamics along increments of q, along v and along a: (dtau/dq, dtau/dv, M).

    A unit of velocity k of node j moves all that is outboard of it like a rigid body, and changes what is
    left:

        d_k V_i = S_k x V_i + dV_k                    dV = V_p x S + dS v
        d_k A_i = S_k x A_i + dV_k x V_i + dA_k       dA = A_p x S + V_p x dV + V_j x dS v + d(S a + S-ring v)
        d_k f_i = S_k x* f_i + I_i dA_k + 2 B_i dV_k

    Summed outboard (I^C, B^C, F^C) and carried along the path to the root, for i inboard of j

        dtau_i/dq_j = S_i^T (I dA_j + 2 B dV_j + S_j x* F)      dtau_i/dv_j = S_i^T (I W_j + 2 B S_j)
        dtau_j/dq_i = S_j^T (I dA_i + 2 B dV_i)                 dtau_j/dv_i = S_j^T (I W_i + 2 B S_i)

    with W = dV + V x S + S-ring; for i = j the term S x* F becomes dS^T F. External forces stay constant in
    the axes of their bodies as q changes (`hold="body"`), or in those of the world, about the bodies' origins
    (`hold="world"`). Cost O(N d).

    Reference: Singh, Russell and Wensing (2022), extended to joints whose S depends on q, and to groups.
    """
    slopes = _Slopes(tree, hold)
    for i in tree.outward():
        slopes.move(i, q, v)
        slopes.accelerate(i, q, v, a, f_ext)
    dq, dv, M = tree.array("nv", "nv"), tree.array("nv", "nv"), tree.array("nv", "nv")
    slopes.write_rates(dv, M)
    slopes.write_slope(dq)
    return dq, dv, M


@algorithm(
    "q, v, tau, f_ext? -> dq(nv, nv), dv(nv, nv), inverse(nv, nv)",
    pairs=True, invariant=True, order="q v tau f_ext hold", result=ForwardDynamicsDerivatives, columns=2,
)  # fmt: skip
def forward_dynamics_derivatives(
    tree: Sweep, q: Any, v: Any, tau: Any, f_ext: Any, *, hold: str = "body"
) -> Any:
    """The derivatives of forward dynamics along increments of q, along v and along tau: (da/dq, da/dv, M^-1).

        da/dq = -M^-1 dtau/dq        da/dv = -M^-1 dtau/dv        at a = M^-1 (tau - bias)

    with the derivatives of inverse dynamics, and M = L^T D L on the paths of the tree. `hold` as there. Cost
    O(N^2 d).

    Reference: Carpentier and Mansard (2018); the factors of Featherstone (2005).
    """
    slopes = _Slopes(tree, hold)
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
    slopes.write_rates(along_v, M)
    N, r = factored(tree, M)
    solve(tree, N, r, a, lambda k: left[k])
    for i in tree.outward():
        slopes.accelerate(i, q, v, a, f_ext)
    slopes.write_slope(along_q)
    dq, dv, inverse = tree.array("nv", "nv"), tree.array("nv", "nv"), tree.array("nv", "nv")
    solved(tree, N, r, along_q, dq, -1)
    solved(tree, N, r, along_v, dv, -1)
    inverted(tree, N, r, inverse)
    return dq, dv, inverse
