"""The Coriolis matrix from stacked matrices, with either choice of the bodies' factors."""

from __future__ import annotations

import numpy as np

from kinetree.alternatives.system import System
from kinetree.spatial import Force, Motion
from kinetree.sweep import choice
from kinetree.textbook import crf, crm, fbar

Array = np.ndarray


def coriolis_matrix_dense(system: System, factor: str = "christoffel") -> Array:
    """C = J^T (M J' + B J) with J = phi* H*, and J' its absolute derivative. Cost O(N^3).

        factor="christoffel":   B = (V x* I + (I V) x-bar* - I V x) / 2        the matrix of the
        Christoffel symbols
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
