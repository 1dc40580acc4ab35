"""The mass matrix by four other routes than composite bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree.alternatives.system import System
from kinetree.model import Model

Array = np.ndarray


def mass_matrix_newton_euler(system: System) -> Array:
    """M = H phi M phi* H*, the Newton-Euler factorisation, multiplied out. Cost O(N^3)."""
    return system.S.T @ system.phi @ system.M @ system.phi.T @ system.S


def mass_matrix_by_inverse_dynamics(model: Model, q: Any, *, target: str | None = None) -> Array:
    """Column k is the inverse dynamics of the unit acceleration e_k at rest, without gravity. Cost O(N^2)."""
    weightless = model.replace(gravity=(0.0, 0.0, 0.0))
    q = np.asarray(q, float)[..., None, :]
    return of.inverse_dynamics(weightless, q, np.zeros(model.nv), np.eye(model.nv), target=target)


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

    The innovations factorisation: what a Kalman filter does to a covariance, articulated bodies do to the
    mass matrix. L^-1 = 1 - H psi K. Dense, O(N^3).
    """
    _, D, G = articulated(system)
    return np.eye(len(D)) + system.S.T @ system.phi @ system.E @ G, D


def articulated(system: System) -> tuple[Array, Array, Array]:
    """P (block diagonal by part), D = H P H* and G = P H* D^-1 (block diagonal by node)."""
    op = system.operators
    return op.P.dense(), op.D.dense(), op.G.dense()
