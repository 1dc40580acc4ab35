"""Articulated inertias: what a body feels like while the joints outboard of it are free to move."""

from __future__ import annotations

from typing import Any

from kinetree.spatial import ArticulatedInertia, Factored, ForceSet, Subspace, Transform
from kinetree.sweep import Sweep, algorithm


def articulated(tree: Sweep, q: Any) -> tuple[Any, Any, Any, Any]:
    """The fields X, S, U = I^A S and D = S^T U (factored) of the articulated inertias.

    I^A_p += X^T (I^A - U D^-1 U^T) X
    """
    X, S, U, D = tree.fields(Transform, Subspace, ForceSet, Factored)
    IA = tree.sums(ArticulatedInertia)
    for i in tree.outward():
        X[i], S[i] = tree.joint(i, q[i])
        IA[i] = tree.inertia(i)
    for i in tree.inward():
        U[i] = IA[i] @ S[i]
        D[i] = tree.factored(i, S[i].T @ U[i])
        IA.add(tree.parent(i), X[i].T @ IA[i].deflated(S[i], U[i], D[i]) @ X[i])
    return X, S, U, D


@algorithm("q -> I(nb, 6, 6)")
def articulated_inertias(tree: Sweep, q: Any) -> Any:
    """The articulated inertia I^A of every body, 6 x 6 in body axes: everything outboard is free to move.

        I^A_p = I_p + sum X^T (I^A - U D^-1 U^T) X        U = I^A S        D = S^T U

    It depends on q alone, and lies between the body's own inertia and the composite one. Bodies that
    couplings tie to one set of coordinates count as cut from each other. Cost O(N).

    Reference: Featherstone (2008) eq. 7.21; Boyden (1997); the branch inertia of Concurrent Dynamics (2017).
    """
    X, S = tree.fields(Transform, Subspace)
    IA = tree.sums(ArticulatedInertia)
    out = tree.array("nb", 6, 6)
    for i in tree.outward():
        X[i], S[i] = tree.joint(i, q[i])
        IA[i] = tree.inertia(i)
    for i in tree.inward():
        out[i] = IA[i].matrix()
        U = IA[i] @ S[i]
        D = tree.factored(i, S[i].T @ U)
        IA.add(tree.parent(i), X[i].T @ IA[i].deflated(S[i], U, D) @ X[i])
    return out
