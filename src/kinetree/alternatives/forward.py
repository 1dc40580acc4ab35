"""Forward dynamics by three other routes than articulated bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.alternatives.mass_matrix import articulated, mass_matrix_newton_euler
from kinetree.alternatives.system import System

Array = np.ndarray


def forward_dynamics_dense(system: System, tau: Any) -> Array:
    """a = M^-1 (tau - C), with the mass matrix solved as a dense one: (19a) of concurrent dynamics. Cost
    O(N^3).
    """
    return np.linalg.solve(mass_matrix_newton_euler(system), np.asarray(tau, float) - system.bias)


def forward_dynamics_gauss(system: System, tau: Any) -> tuple[Array, Array]:
    """(a, f) by Gauss' principle of least constraint: the accelerations, and the forces through the joints.

        minimise  (alpha - alpha_free)^T M (alpha - alpha_free)        subject to  alpha = E^T alpha + S a + c

    where no inertia needs to be inverted: the conditions M alpha + b = (1 - E) f, S^T f = tau and the
    constraint are solved together. The multipliers of the constraints are the forces through the joints; they
    contain the reaction of each motor on the body that carries it. Cost O(N^3).

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
    """a = (1 - H psi K)* D^-1 [T - H psi (K T + P c + b)] - K* psi* c, the operator expression. Dense,
    O(N^3).

    P solves the Riccati equation M = P - E_psi P E_psi*; D = H P H*, G = P H* D^-1, K = E G, psi = (1 - E (1
    - G H))^-1.

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
