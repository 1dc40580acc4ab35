"""Kinetic and potential energy."""

from __future__ import annotations

from typing import Any

from kinetree.algorithms.composite import composite
from kinetree.spatial import Motion
from kinetree.spatial import vector as vec
from kinetree.sweep import Sweep, algorithm


@algorithm("q, v -> T()", invariant=True)
def kinetic_energy(tree: Sweep, q: Any, v: Any) -> Any:
    """The kinetic energy of all bodies, rotors and armatures. Cost O(N).

        T = sum_i V_i^T I_i V_i / 2 = v^T M v / 2

    Reference: Jain (2024) part 4 (kinetic energy).
    """
    (V,) = tree.fields(Motion)
    T = tree.array()
    for i in tree.outward():
        X, S = tree.joint(i, q[i])
        V[i] = X @ V[tree.parent(i)] + S @ v[i]
        T.add((V[i].T @ (tree.inertia(i) @ V[i])) * 0.5)
    return T


@algorithm("q -> U()")
def potential_energy(tree: Sweep, q: Any) -> Any:
    """The potential energy of gravity, zero if all mass is at the world origin.

        U = -sum_i m_i g^T c_i

    Cost O(N).

    Reference: Jain (2024) part 4 (gravity).
    """
    *_, I = composite(tree, q)
    U = tree.array()
    U.add(-vec.dot(tree.gravity.linear, I[tree.world].first_moment))
    return U
