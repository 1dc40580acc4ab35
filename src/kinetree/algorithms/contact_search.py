"""How far to go along a Newton step of a convex function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinetree import ops
from kinetree.algorithms.contact_law import Law, dot
from kinetree.spatial.vector import Number

SEARCH = 10  # steps at most


def least(
    tree: Any, terms: Sequence[Any], u: Any, du: Any, laws: Sequence[Law], decrement: Number, rising: Number
) -> Number:
    """How far to go along a step: 1, or about to where the function along it is least, if that is before.

    Its slope is -d^T H d at 0, and that of the quadratic part is known from the curvature of the terms there:
    regula falsi (Illinois) on [0, 1], until it has fallen to a tenth, or is less than `rising` beyond.
    """
    h = terms[0].h if terms else 0.0
    work = h * sum(dot(law.force, x) for law, x in zip(laws, du))
    rest = decrement - h * sum(dot(law.fall(x), x) for law, x in zip(laws, du))

    def slope(a: Number) -> Number:
        moved = ([x + a * dx for x, dx in zip(*both)] for both in zip(u, du))
        felt = sum(dot(term.law(x).force, dx) for term, x, dx in zip(terms, moved, du))
        return work - decrement + a * rest - h * felt

    def narrowed(low: Number, at_low: Number, high: Number, at_high: Number, a: Number, at: Number) -> tuple:
        new = low + (high - low) * at_low / (at_low - at_high)
        there = slope(new)
        before, again = ops.less(there, 0.0), ops.where(ops.less(0.0, there * at), 0.5, 1.0)
        return (
            ops.where(before, new, low), ops.where(before, there, at_low * again),
            ops.where(before, high, new), ops.where(before, at_high * again, there), new, there,
        )  # fmt: skip

    def is_fine(*state: Number) -> Any:
        at = state[-1]
        return ops.less_equal(ops.where(ops.less(at, 0.0), -10.0 * rising * at, at), rising * decrement)

    end = slope(1.0)
    end = ops.max(end, 0.0)
    state = tree.repeat(SEARCH, narrowed, 0.0, -decrement, 1.0, end, 1.0, end, until=is_fine)
    return ops.where(is_fine(*state), state[4], ops.where(ops.less(0.0, state[0]), state[0], state[4]))
