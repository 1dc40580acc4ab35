"""Innovations: what joints feel of forces while all that is outboard of them is free, half of M^-1."""

from __future__ import annotations

from typing import Any

from kinetree.algorithms.articulation import answered, articulated, innovated
from kinetree.sweep import Sweep, algorithm


@algorithm("q, x -> e(nv), answer(nv)")
def innovations(tree: Sweep, q: Any, x: Any) -> Any:
    """What each joint feels of the forces `x` while the joints outboard of it are free, and its answer.

        e = (1 - H psi K) x        answer = D^-1 e        x^T M^-1 y = e(x)^T answer(y)

    One pass inward: half of M^-1 x, and all that products of the inverse mass matrix need. Cost O(N).

    Reference: Jain (2024) part 4 (innovations factorisation).
    """
    return _innovations(tree, articulated(tree, q), x)


@algorithm("q, x, added -> e(nv), answer(nv)")
def augmented_innovations(tree: Sweep, q: Any, x: Any, added: Any) -> Any:
    """Innovations with inertia added along each velocity, felt by that velocity alone.

        x^T (M + diag(added))^-1 y = e(x)^T answer(y)

    Cost O(N).
    """
    return _innovations(tree, articulated(tree, q, added), x)


@algorithm("q, x -> a")
def innovations_response(tree: Sweep, q: Any, x: Any) -> Any:
    """The accelerations that go with innovations `x`: the outward half of M^-1.

        a = (1 - H psi K)* D^-1 x

    Cost O(N).

    Reference: Jain (2024) part 4 (innovations factorisation).
    """
    return _response(tree, articulated(tree, q), x)


@algorithm("q, x, added -> a")
def augmented_innovations_response(tree: Sweep, q: Any, x: Any, added: Any) -> Any:
    """The accelerations that go with innovations `x`, with inertia added along each velocity.

        x = augmented_innovations(b)        a = (M + diag(added))^-1 b

    Cost O(N).
    """
    return _response(tree, articulated(tree, q, added), x)


def _response(tree: Sweep, fields: tuple[Any, ...], x: Any) -> Any:
    a = tree.coordinates()
    for i, a_i in answered(tree, fields, x):
        a[i] = a_i
    return a


def _innovations(tree: Sweep, fields: tuple[Any, ...], x: Any) -> tuple[Any, Any]:
    e, answer = tree.coordinates(), tree.coordinates()
    for i, felt, given in innovated(tree, fields, x):
        e[i], answer[i] = felt, given
    return e, answer
