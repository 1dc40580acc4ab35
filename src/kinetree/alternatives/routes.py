"""The mass matrix, the Coriolis matrix and forward dynamics by other routes, from stacked matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree.alternatives.system import System
from kinetree.model import Model
from kinetree.spatial import Force, Motion
from kinetree.sweep import choice
from kinetree.textbook import crf, crm, fbar

Array = np.ndarray


def mass_matrix_newton_euler(system: System) -> Array:
    """M = H phi M phi* H*, the Newton-Euler factorisation, multiplied out. Cost O(N^3)."""
    return system.S.T @ system.phi @ system.M @ system.phi.T @ system.S


def mass_matrix_by_inverse_dynamics(model: Model, q: Any, *, target: str | None = None) -> Array:
    """Column k is the inverse dynamics of the unit acceleration e_k at rest, without gravity. Cost O(N^2)."""
    weightless = model.replace(gravity=(0.0, 0.0, 0.0))
    q = np.asarray(q, float)[..., None, :]
    return of.inverse_dynamics(weightless, q, np.zeros(model.nv), np.eye(model.nv), target=target)


def coriolis_matrix_by_newton_euler(model: Model, q: Any, v: Any, *, target: str | None = None) -> Array:
    """Column k is C(q, v) e_k, by one Newton-Euler recursion each, with a second velocity. Cost O(N^2).

    Reference: De Luca and Ferrajoli (2009), the baseline of Echeandia (2020); one sweep costs less.
    """
    q, v = np.asarray(q, float)[..., None, :], np.asarray(v, float)[..., None, :]
    return np.swapaxes(of.coriolis_product(model, q, v, np.eye(model.nv), target=target), -1, -2)


def mass_matrix_from_jacobians(system: System) -> Array:
    """J = Psi_D G, Q = M J, then J^T Q: the procedure of concurrent dynamics. Cost O(N^3) on a chain."""
    J = np.linalg.solve(np.eye(system.size) - system.E.T, system.S)
    Q = system.M @ J
    return J.T @ Q


def mass_matrix_decomposed(system: System) -> Array:
    """H R H* + H phi~ R H* + (its transpose), with the composite inertias R and phi~ = phi - 1. Cost O(N^3).

    R solves the Lyapunov equation M = R - E R E*, and phi M phi* = R + phi~ R + R phi~*.
    """
    R = system.operators.R.dense()
    strict = system.phi - np.eye(system.size)
    own = system.S.T @ R @ system.S
    upper = system.S.T @ strict @ R @ system.S
    return own + upper + upper.T


def innovations_factors(system: System) -> tuple[Array, Array]:
    """(L, D) with M = L D L^T: L = 1 + H phi K has unit diagonal blocks, D = H P H* is block diagonal.

    The innovations factorisation: articulated bodies factor the mass matrix as a Kalman filter factors a
    covariance. L^-1 = 1 - H psi K. Dense, O(N^3).
    """
    _, D, G = articulated(system)
    return np.eye(len(D)) + system.S.T @ system.phi @ system.E @ G, D


def articulated(system: System) -> tuple[Array, Array, Array]:
    """P (block diagonal by part), D = H P H* and G = P H* D^-1 (block diagonal by node)."""
    op = system.operators
    return op.P.dense(), op.D.dense(), op.G.dense()


def coriolis_matrix_dense(system: System, factor: str = "christoffel") -> Array:
    """C = J^T (M J' + B J) with J = phi* H*, and J' its absolute derivative. Cost O(N^3).

        factor="christoffel":   B = (V x* I + (I V) x-bar* - I V x) / 2, of the Christoffel symbols
        factor="natural":       B = V x* I

    Both give the same C v, and both make M' - 2 C skew; the matrices differ.

    Reference: Echeandia (2020) eq. 3.1, and the correction that admissible matrices are not unique.
    """
    natural = choice("factor", factor, "christoffel", "natural") == "natural"
    J = system.phi.T @ system.S
    B, turning = np.zeros_like(system.M), np.zeros_like(system.M)
    for k, V in enumerate(system.V.reshape(-1, 6)):
        rows = slice(6 * k, 6 * k + 6)
        motion, inertia = Motion.from_components(V.tolist()), system.M[rows, rows]
        star, cross = np.array(crf(motion), float), np.array(crm(motion), float)
        momentum = np.array(fbar(Force.from_components((inertia @ V).tolist())), float)
        B[rows, rows] = star @ inertia if natural else (star @ inertia + momentum - inertia @ cross) / 2
        turning[rows, rows] = cross
    rate = system.phi.T @ (turning @ system.S + system.ring)
    return J.T @ (system.M @ rate + B @ J)


def forward_dynamics_dense(system: System, tau: Any) -> Array:
    """a = M^-1 (tau - C) with a dense mass matrix: (19a) of concurrent dynamics. Cost O(N^3)."""
    return np.linalg.solve(mass_matrix_newton_euler(system), np.asarray(tau, float) - system.bias)


def forward_dynamics_gauss(system: System, tau: Any) -> tuple[Array, Array]:
    """(a, f) by Gauss' principle of least constraint: the accelerations, and the forces through the joints.

        minimise  (alpha - alpha_free)^T M (alpha - alpha_free)        subject to  alpha = E^T alpha + S a + c

    No inertia needs to be inverted: the conditions M alpha + b = (1 - E) f, S^T f = tau and the constraint
    are solved together. The multipliers of the constraints are the joint wrenches; they include the reaction
    of each motor on the body that carries it. Cost O(N^3).

    Reference: Echeandia (2020) section 4.1, with the torque counted once and its reaction on the predecessor.
    """
    n, nv = system.size, system.S.shape[1]
    shift = np.eye(n) - system.E
    zero = np.zeros((n, n))
    matrix = np.block(
        [
            [system.M, np.zeros((n, nv)), -shift],
            [np.zeros((nv, n)), np.zeros((nv, nv)), system.S.T],
            [shift.T, -system.S, zero],
        ]
    )
    found = np.linalg.solve(matrix, np.concatenate([-system.b, np.asarray(tau, float), system.c]))
    return found[n : n + nv], found[n + nv :]


def forward_dynamics_operators(system: System, tau: Any) -> Array:
    """a = (1 - H psi K)* D^-1 [T - H psi (K T + P c + b)] - K* psi* c, the operator expression.

    P solves the Riccati equation M = P - E_psi P E_psi*; D = H P H*, G = P H* D^-1, K = E G, and
    psi = (1 - E (1 - G H))^-1. Dense, O(N^3).

    Reference: Jain (2024) part 4, topics 5 to 7.
    """
    P, D, G = articulated(system)
    one, H = np.eye(system.size), system.S.T
    K = system.E @ G
    psi = np.linalg.inv(one - system.E @ (one - G @ H))
    T = np.asarray(tau, float)
    factor = np.eye(len(D)) - H @ psi @ K
    innovation = T - H @ psi @ (K @ T + P @ system.c + system.b)
    return factor.T @ np.linalg.solve(D, innovation) - K.T @ psi.T @ system.c
