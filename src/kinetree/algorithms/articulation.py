"""Articulated inertias: the apparent inertia of a body while the joints outboard of it are free to move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kinetree.spatial import Coordinates, Factored, Force, ForceSet, Motion, Subspace, Transform
from kinetree.spatial.articulated import ArticulatedInertia
from kinetree.sweep import Sweep, algorithm


def freed(tree: Sweep, i: Any, I: Any, S: Any, U: Any, D: Any, added: Any = None) -> Any:
    """Free the joint of node i, whose I^A is known: U = I^A S and D = S^T U (factored).

    Returns the part felt by the predecessor, I^A - U D^-1 U^T. `added` is inertia (a matrix) felt by the
    joint alone: it enters only D.
    """
    U[i] = I[i] @ S[i]
    along = S[i].T @ U[i]
    if added is None:
        D[i] = tree.factored(i, along)
        return I[i].deflated(S[i], U[i], D[i])
    D[i] = tree.factored(i, along + added)
    return I[i].lowered(U[i], D[i])


def articulated(tree: Sweep, q: Any, added: Any = None) -> tuple[Any, ...]:
    """The fields X, S, U = I^A S, D = S^T U (factored), and the articulated inertias I^A.

    I^A_p += X^T (I^A - U D^-1 U^T) X
    """
    X, S, U, D = tree.fields(Transform, Subspace, ForceSet, Factored)
    IA = tree.sums(ArticulatedInertia)
    for i in tree.outward():
        X[i], S[i] = tree.joint(i, q[i])
        IA[i] = tree.inertia(i)
    for i in tree.inward():
        more = None if added is None else tree.reflected(i, q[i], added[i])
        IA.add(tree.parent(i), X[i].T @ freed(tree, i, IA, S, U, D, more) @ X[i])
    return X, S, U, D, IA


def responses(tree: Sweep, fields: tuple[Any, ...], x: Any) -> Iterator[tuple[Any, Any]]:
    """(i, a_i) from base to tips: the accelerations that forces x produce from rest, without gravity.

    u_i = x_i - S^T p_i        p_p += X^T (p_i + U D^-1 u_i)        a_i = D^-1 (u_i - U^T X A_p)
    """
    (u,) = tree.fields(Coordinates)
    for i, felt in innovated(tree, fields, x):
        u[i] = felt
    yield from answered(tree, fields, u)


def answered(tree: Sweep, fields: tuple[Any, ...], u: Any) -> Iterator[tuple[Any, Any]]:
    """(i, a_i) from base to tips: the accelerations for the innovations u."""
    X, S, U, D, _ = fields
    (A,) = tree.fields(Motion)
    for i in tree.outward():
        pulled = X[i] @ A[tree.parent(i)]
        a = D[i].backward(D[i].divided(u[i] - D[i].forward(U[i].T @ pulled)))
        A[i] = pulled + S[i] @ a
        yield i, a


def innovated(tree: Sweep, fields: tuple[Any, ...], x: Any) -> Iterator[tuple[Any, Any]]:
    """(i, L^-1 u_i) from tips to base: the part of the forces x felt by each velocity, with D_i = L d L^T."""
    X, S, U, D, _ = fields
    p = tree.sums(Force)
    for i in tree.outward():
        p[i] = tree.zero(i, Force)
    for i in tree.inward():
        u = D[i].forward(x[i] - S[i].T @ p[i])
        p.add(tree.parent(i), X[i].T @ (p[i] + U[i] @ D[i].backward(D[i].divided(u))))
        yield i, u


@algorithm("q -> I(nb, 6, 6)")
def articulated_inertias(tree: Sweep, q: Any) -> Any:
    """The articulated inertia I^A of every body, 6 x 6 in body axes, with everything outboard free to move.

        I^A_p = I_p + sum X^T (I^A - U D^-1 U^T) X        U = I^A S        D = S^T U

    It depends on q alone, and lies between the body's own inertia and the composite one. Bodies coupled to
    one set of coordinates are treated as cut from each other. Cost O(N).

    Reference: Featherstone (2008) eq. 7.21; Boyden (1997); the branch inertia of Concurrent Dynamics (2017).
    """
    *_, IA = articulated(tree, q)
    out = tree.array("nb", 6, 6)
    for i in tree.outward():
        out[i] = IA[i].matrix()
    return out
