"""The parts shared by the derivatives of inverse and forward dynamics."""

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
        """Compute what does not depend on accelerations, for node i."""
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
        """The acceleration of node i relative to its predecessor that is due to velocities alone."""
        Vp = self.X[i] @ self.V[self.tree.parent(i)]
        return self.ring[i] @ v[i] + Vp.cross(self.S[i] @ v[i])

    def accelerate(self, i: Any, q: Any, v: Any, a: Any, f_ext: Any) -> None:
        """Compute what depends on accelerations, for node i."""
        tree, S, V, dS, dV, p = self.tree, self.S, self.V, self.dS, self.dV, self.tree.parent(i)
        Vp, Ap = self.X[i] @ V[p], self.X[i] @ self.A[p]
        self.A[i] = Ap + S[i] @ a[i] + self.drift(i, v)
        turned = S[i].cross_from(Ap) + dV[i].cross_from(Vp) + dS[i].times(v[i]).cross_from(V[i])
        self.dA[i] = turned + dS[i].times(a[i]) + tree.slopes(i, q[i], v[i]).times(v[i])
        self.F[i] = self.inertia[i] @ self.A[i] + self.gyration[i] - f_ext[i]
        if self.hold == "world":
            self.E[i] = tree.turning(i, f_ext[i])

    def write(self, j: Any, dq: Any = None, dv: Any = None, M: Any = None) -> None:
        """Write the entries of the given matrices for node j and the nodes inboard of it.

        I and B, and for dtau/dq also F, must be those of everything outboard. What is carried along the path
        is split into pieces that fit into registers.
        """
        tree, X, S, I, B, E, F = self.tree, self.X, self.S, self.I, self.B, self.E, self.F
        is_turned = dq is not None and self.hold == "world"
        forces = [I[j] @ S[j], B[j].adjoint @ S[j], *([E[j].adjoint @ S[j]] if is_turned else [])]
        for i, P, R, *turned in tree.path(X, j, *forces):
            if M is not None:
                M.mirror(i, j, S[i].T @ P)
            if dv is not None and i != j:
                dv[j, i] = (self.W[i].T @ P + S[i].T @ R).T
            if dq is not None and i != j:
                dq[j, i] = sum((S[i].T @ Q for Q in turned), self.dA[i].T @ P + self.dV[i].T @ R).T
        moved = [] if dv is None else [I[j] @ self.W[j] + B[j] @ S[j]]
        if dq is not None:
            Z = I[j] @ self.dA[j] + B[j] @ self.dV[j]
            if is_turned:
                Z = Z + E[j] @ S[j]
                E.add(tree.parent(j), X[j].T @ E[j] @ X[j])
            dq[j, j] = S[j].T @ Z + self.dS[j].T @ F[j]
            moved.append(Z + S[j].cross_onto(F[j]))
        for i, *forces in tree.path(X, j, *moved):
            if dv is not None:
                dv[i, j] = S[i].T @ forces[0]
            if dq is not None and i != j:
                dq[i, j] = S[i].T @ forces[-1]
        if dq is not None:
            F.add(tree.parent(j), X[j].T @ F[j])

    def pass_on(self, j: Any) -> None:
        """Add I and B of node j and everything outboard to those of its predecessor."""
        p = self.tree.parent(j)
        self.I.add(p, self.X[j].T @ self.I[j] @ self.X[j])
        self.B.add(p, self.X[j].T @ self.B[j] @ self.X[j])
