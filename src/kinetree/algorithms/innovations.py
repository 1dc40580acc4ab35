"""Innovations: the forces felt by each joint while everything outboard of it is free; half of M^-1."""

from __future__ import annotations

from typing import Any

from kinetree.algorithms.articulation import answered, articulated, innovated
from kinetree.sweep import Sweep, algorithm


@algorithm("q, x -> e(nv), answer(nv)")
def innovations(tree: Sweep, q: Any, x: Any) -> Any:
    """The part of the forces `x` felt by each velocity with everything outboard free, and the response to it.

        e = L^-1 (1 - H psi K) x        answer = d^-1 e        x^T M^-1 y = e(x)^T answer(y)

    with D = L d L^T the inertia along each joint, d diagonal; L = 1 for joints with one velocity. This is one
    inward pass: half of M^-1 x, and all that products with the inverse mass matrix need. Cost O(N).

    Reference: Jain (2024) part 4 (innovations factorisation).
    """
    return _innovations(tree, articulated(tree, q), x)


@algorithm("q, x, added -> e(nv), answer(nv)")
def augmented_innovations(tree: Sweep, q: Any, x: Any, added: Any) -> Any:
    """Innovations with inertia `added` along the velocity of each joint, felt by that joint alone.

        x^T (M + G^T diag(added) G)^-1 y = e(x)^T answer(y)

    with u = G v the velocities of all joints: G = 1 without loops. Cost O(N).
    """
    return _innovations(tree, articulated(tree, q, added), x)


@algorithm("q, x -> a")
def innovations_response(tree: Sweep, q: Any, x: Any) -> Any:
    """The accelerations for the innovations `x`: the outward half of M^-1.

        a = (1 - H psi K)* L^-T d^-1 x

    Cost O(N).

    Reference: Jain (2024) part 4 (innovations factorisation).
    """
    return _response(tree, articulated(tree, q), x)


@algorithm("q, x, added -> a")
def augmented_innovations_response(tree: Sweep, q: Any, x: Any, added: Any) -> Any:
    """The accelerations for the innovations `x`, with inertia `added` along the velocity of each joint.

        x = augmented_innovations(b)        a = (M + G^T diag(added) G)^-1 b

    with u = G v the velocities of all joints: G = 1 without loops. Cost O(N).
    """
    return _response(tree, articulated(tree, q, added), x)


def _response(tree: Sweep, fields: tuple[Any, ...], x: Any) -> Any:
    a = tree.coordinates()
    for i, a_i in answered(tree, fields, x):
        a[i] = a_i
    return a


def _innovations(tree: Sweep, fields: tuple[Any, ...], x: Any) -> tuple[Any, Any]:
    D = fields[3]
    e, answer = tree.coordinates(), tree.coordinates()
    for i, felt in innovated(tree, fields, x):
        e[i], answer[i] = felt, D[i].divided(felt)
    return e, answer
