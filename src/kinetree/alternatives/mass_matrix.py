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
    R = composite(system)
    strict = system.phi - np.eye(system.size)
    own = system.S.T @ R @ system.S
    upper = system.S.T @ strict @ R @ system.S
    return own + upper + upper.T


def composite(system: System) -> Array:
    """The composite inertias R, block diagonal: what E R E* adds to each part alone, tips to base."""
    R = system.M.copy()
    for rows, _ in reversed(system.nodes):
        step = system.E[:, rows]
        R += step @ R[rows, rows] @ step.T
    return R


def innovations_factors(system: System) -> tuple[Array, Array]:
    """(L, D) with M = L D L^T: L = 1 + H phi K has unit diagonal blocks, D = H P H* is block diagonal.

    The innovations factorisation: what a Kalman filter does to a covariance, articulated bodies do to the
    mass matrix. L^-1 = 1 - H psi K. Dense, O(N^3).
    """
    _, D, G = articulated(system)
    return np.eye(len(D)) + system.S.T @ system.phi @ system.E @ G, D


def articulated(system: System) -> tuple[Array, Array, Array]:
    """P (block diagonal by part), D = H P H* and G = P H* D^-1 (block diagonal by node), tips to base."""
    P = system.M.copy()
    nv = system.S.shape[1]
    D, G = np.zeros((nv, nv)), np.zeros((system.size, nv))
    for rows, columns in reversed(system.nodes):
        own = P[rows, rows]
        S = system.S[rows][:, columns]
        U = own @ S
        block = S.T @ U
        gain = np.linalg.solve(block, U.T).T
        D[np.ix_(columns, columns)] = block
        G[rows, columns] = gain
        step = system.E[:, rows]
        P += step @ (own - gain @ U.T) @ step.T
    return P, D, G
