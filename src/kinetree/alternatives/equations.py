"""Equations (1) to (18) of Concurrent Dynamics as in the document, with both sides in numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinetree.spatial.vector import sym_matrix

if TYPE_CHECKING:
    from kinetree.alternatives.concurrent import ConcurrentEquations

Array = np.ndarray


class Equation(NamedTuple):
    """A numbered equation at one state and one choice of accelerations: its text and its two sides."""

    number: str
    text: str
    left: Array
    right: Array

    @property
    def residual(self) -> float:
        """The largest difference between the sides, relative to their size."""
        size = max(float(np.abs(self.left).max(initial=0)), float(np.abs(self.right).max(initial=0)), 1e-300)
        return float(np.abs(self.left - self.right).max(initial=0)) / size

    def __repr__(self) -> str:
        return f"({self.number})  {self.text}    residual {self.residual:.1e}"


def equations(e: ConcurrentEquations, a: Array) -> list[Equation]:
    """All equations at the joint accelerations `a`; those of single bodies are stacked."""
    S, G, M, M_bar, Phi, Psi, Y_F = e.S, e.G, e.M, e.M_bar, e.Phi_D, e.Psi_D, e.loads
    dv, dv_bar, F = e.accelerations(a), e.accelerations_of_com(a), e.forces(a)
    turning = G @ a + e.A
    rows: dict[str, tuple[str, Array, Array]] = {
        "1": ("v-bar = S v", e.v_bar, S @ e.v),
        "2": ("v-bar_i' = S_i v_i' + A-bar_i", dv_bar, _each(e, lambda i: S[i, i] @ dv[i] + e.A_bar[i])),
        "3": ("v-bar' = S v' + A-bar", dv_bar, S @ dv + e.A_bar),
        "4": ("v_i = D_i v_p + G_i q_i'", e.v, _each(e, lambda i: _inboard(e, i, e.v) + G[i] @ e.rates)),
        "5": ("v_i' = D_i v_p' + G_i q_i'' + A_i", dv, _each(e, lambda i: _inboard(e, i, dv) + turning[i])),
        "6": ("v' = Phi_D v' + G q'' + A", dv, Phi @ dv + turning),
        "7": ("v' = Psi_D (G q'' + A)", dv, Psi @ turning),
        "8": ("v-bar' = S Psi_D (G q'' + A) + A-bar", dv_bar, S @ (Psi @ turning) + e.A_bar),
        "9": ("moments of each body about its centre of mass", *_moments(e, dv_bar, F)),
        "10": ("forces on each body", *_forces(e, dv_bar, F)),
        "11": ("F_i - sum D_c^T F_c = S_i^T M-bar_i v-bar_i' + B-bar_i - Y_i^T F-bar_i",
               _each(e, lambda i: F[i] - _outboard(e, i, F)),
               _each(e, lambda i: S[i, i].T @ M_bar[i, i] @ dv_bar[i] + e.B_bar[i] - Y_F[i])),
        "12": ("F - Phi_D^T F = S^T M-bar v-bar' + B-bar - Y^T F-bar",
               F - Phi.T @ F, S.T @ M_bar @ dv_bar + e.B_bar - Y_F),
        "13": ("F = Psi_D^T (S^T M-bar v-bar' + B-bar - Y^T F-bar)", F, e.forces_about_com(a)),
        "14": ("F = Psi_D^T (S^T M-bar (S Psi_D (G q'' + A) + A-bar) + B-bar - Y^T F-bar)",
               F, Psi.T @ (S.T @ M_bar @ (S @ (Psi @ turning) + e.A_bar) + e.B_bar - Y_F)),
        "15": ("F = Psi_D^T M Psi_D G q'' + Psi_D^T (M Psi_D A + B - Y^T F-bar)",
               F, Psi.T @ (M @ (Psi @ (G @ a))) + Psi.T @ (M @ (Psi @ e.A) + e.B - Y_F)),
        "16": ("M = S^T M-bar S", M, S.T @ M_bar @ S),
        "17": ("B = S^T M-bar A-bar + B-bar", e.B, S.T @ M_bar @ e.A_bar + e.B_bar),
        "18": ("mass matrix q'' = f - C", e.mass_matrix @ a, G.T @ F - e.C),
    }  # fmt: skip
    return [Equation(number, *row) for number, row in rows.items()]


def _each(e: ConcurrentEquations, part: Any) -> Array:
    """A column assembled body by body."""
    return np.concatenate([np.zeros(0), *(part(place) for place in e.parts)])


def _inboard(e: ConcurrentEquations, i: slice, motion: Array) -> Array:
    """D_i times the motion of the parent; zero for a root."""
    k = e.parts.index(i)
    p = e.model.nodes[k].predecessor[0]
    return e.D[k] @ motion[e.parts[p]] if p >= 0 else np.zeros(i.stop - i.start)


def _outboard(e: ConcurrentEquations, i: slice, F: Array) -> Array:
    """The sum of D_c^T F_c over the children c."""
    k = e.parts.index(i)
    found = np.zeros(i.stop - i.start)
    for c, node in enumerate(e.model.nodes):
        if node.predecessor[0] == k:
            found += e.D[c].T @ F[e.parts[c]]
    return found


def _bodies(e: ConcurrentEquations, *columns: Array) -> Iterator[tuple[Any, ...]]:
    """The inertia of each moving part, and the two halves of its part of each column."""
    for k, I in enumerate(e.inertias):
        yield (I, *(x for column in columns for x in column[6 * k : 6 * k + 6].reshape(2, 3)))


def _moments(e: ConcurrentEquations, dv_bar: Array, F: Array) -> tuple[Array, Array]:
    """Euler's equation: tau_i - s_i x f_i = J w' + w x J w - external torques + reactions of the children."""
    left, right = [np.zeros(0)], [np.zeros(0)]
    outer, handed = e.Y.T @ e.F_bar, e.Phi_D.T @ F
    for I, t, f, t_e, f_e, t_c, f_c, spin, _, w, _ in _bodies(e, F, outer, handed, dv_bar, e.v):
        s, J = np.array(I.com, float), np.array(sym_matrix(I.about_com), float)
        left.append(t - np.cross(s, f))
        pulled = t_c - np.cross(s, f_c) - (t_e - np.cross(s, f_e))
        right.append(J @ spin + np.cross(w, J @ w) + pulled)
    return np.concatenate(left), np.concatenate(right)


def _forces(e: ConcurrentEquations, dv_bar: Array, F: Array) -> tuple[Array, Array]:
    """Newton's equation: f_i = m r'' - external forces + forces of the children."""
    left, right = [np.zeros(0)], [np.zeros(0)]
    outer, handed = e.Y.T @ e.F_bar + e.weight, e.Phi_D.T @ F
    for I, _, f, _, f_e, _, f_c, _, push in _bodies(e, F, outer, handed, dv_bar):
        left.append(f)
        right.append(I.mass * push - f_e + f_c)
    return np.concatenate(left), np.concatenate(right)
