"""Riccati equations of small systems, by doubling: quadratic convergence without eigenvectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.errors import SingularError

Array = np.ndarray

DOUBLINGS = 60
CONVERGED = 1e-14  # relative change of the solution
TRUSTED = 1e-6  # relative residual of the equation
UNSOLVABLE = (
    "the Riccati equation has no stabilising solution: some unstable motion, or one that Q weighs, cannot be "
    "controlled by the actuated joints, or Q does not see it"
)


def discrete_riccati(A: Any, B: Any, Q: Any, R: Any) -> Array:
    """The stabilising P = A^T P A - A^T P B (R + B^T P B)^-1 B^T P A + Q.

    Reference: Chu, Fan, Lin and Wang (2004), structure-preserving doubling.
    """
    A, B, Q, R = (np.asarray(x, float) for x in (A, B, Q, R))
    G = B @ np.linalg.solve(R, B.T)
    P = _finite(_doubled(A, G, Q))
    gain = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
    residual = A.T @ P @ A - A.T @ P @ B @ gain + Q - P
    poles = np.abs(np.linalg.eigvals(A - B @ gain))
    return _checked(P, residual, bool((poles < 1).all()))


def continuous_riccati(A: Any, B: Any, Q: Any, R: Any) -> Array:
    """The stabilising solution of A^T P + P A - P B R^-1 B^T P + Q = 0.

    A Cayley transform gives a discrete equation, which is solved by doubling; a Newton step recovers the last
    digits.

    Reference: Chu, Fan and Lin (2005), a structure-preserving doubling algorithm for continuous-time
    algebraic Riccati equations.
    """
    A, B, Q, R = (np.asarray(x, float) for x in (A, B, Q, R))
    n = len(A)
    G = B @ np.linalg.solve(R, B.T)
    shift = 2 * max(np.linalg.norm(A, 2), np.sqrt(np.linalg.norm(G, 2) * np.linalg.norm(Q, 2)), 1e-300)
    inverse = np.linalg.inv(A - shift * np.eye(n))
    W = np.linalg.inv((A - shift * np.eye(n)).T + Q @ inverse @ G)
    P = _doubled(np.eye(n) + 2 * shift * W.T, 2 * shift * inverse @ G @ W, 2 * shift * W @ Q @ inverse)
    P = _finite(P)
    closed = A - G @ P
    stable = bool((np.linalg.eigvals(closed).real < 0).all())
    if stable:
        P = _lyapunov(closed, Q + P @ G @ P)
    return _checked(P, A.T @ P + P @ A - P @ G @ P + Q, stable)


def _doubled(A: Array, G: Array, H: Array) -> Array:
    """The limit of H under A <- A W A, G <- G + A W G A^T, H <- H + A^T H W A, W = (1 + G H)^-1."""
    one = np.eye(len(A))
    with np.errstate(all="ignore"):
        for _ in range(DOUBLINGS):
            try:
                WA, WG = np.hsplit(np.linalg.solve(one + G @ H, np.hstack([A, G])), 2)
            except np.linalg.LinAlgError:
                break
            change = A.T @ H @ WA
            A, G, H = A @ WA, G + A @ WG @ A.T, H + (change + change.T) / 2
            if not np.isfinite(H).all() or np.abs(change).max() <= CONVERGED * np.abs(H).max():
                break
    return (H + H.T) / 2


def _lyapunov(A: Array, Q: Array) -> Array:
    """The solution of A^T X + X A + Q = 0, by Kronecker products."""
    one = np.eye(len(A))
    X = np.linalg.solve(np.kron(A.T, one) + np.kron(one, A.T), -Q.ravel()).reshape(A.shape)
    return (X + X.T) / 2


def _checked(P: Array, residual: Array, stable: bool) -> Array:
    if not (stable and np.abs(residual).max(initial=0.0) <= TRUSTED * np.abs(P).max(initial=0.0)):
        raise SingularError(UNSOLVABLE)
    return P


def _finite(P: Array) -> Array:
    if not np.isfinite(P).all():
        raise SingularError(UNSOLVABLE)
    return P


__all__ = ["continuous_riccati", "discrete_riccati"]
