"""What the derivatives of inverse and of forward dynamics share."""

from __future__ import annotations

from typing import Any

from kinetree.spatial import CoriolisInertia, Force, Inertia, Motion, Partials, Subspace, Transform
from kinetree.sweep import Sweep, choice


class Slopes:
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
