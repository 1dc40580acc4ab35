"""Line search along a Newton step of a convex function, the stopping rule, and helpers for lists and sums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

from kinetree import ops
from kinetree.errors import SimulationError
from kinetree.spatial.vector import Number

SHORT, SEARCH = 6, 10  # most steps of the line search, in early Newton steps and later
LEAST = 0.25  # each length is at least this far into the interval that holds the minimum
COARSE = 3e-6  # fraction of all forces that may be missing in single precision
ROUGH = 1e-3  # fraction that may be missing when the iteration ends


def least(
    tree: Any, terms: list[Any], sums: tuple[Any, Any], decrement: Any, rising: Any, limits: Any
) -> Number:
    """The length of a step: 1, or about where the function along it is smallest, if that comes first.

    The slope at 0 is -d^T H d; that of the quadratic part follows from `sums` of the terms there, f . du and
    du . G du. On [0, 1], Newton's method starts from the far end, where the slope is steep if contact begins
    there; where it overshoots, regula falsi (Illinois) takes over. Past a minimum where the slope rises
    suddenly, either of them would creep: each length is at least a quarter of the interval above its lower
    end. The search ends when the slope has fallen to a tenth, or is below `rising` past the minimum, or is so
    small that the function is surely below its value at 0. The result is the last length tried. `limits`: the
    largest length, and the most steps.
    """
    work, rest = sums[0], decrement - sums[1]
    full, patience = limits

    def slope(a: Number) -> tuple[Number, Number]:
        felt, fallen = total(term.felt(a) for term in terms)
        return work - decrement + a * rest - felt, rest + fallen

    def narrowed(
        low: Number, at_low: Number, high: Number, at_high: Number, steep: Number, a: Number, at: Number,
        turn: Number,
    ) -> tuple:  # fmt: skip
        newton, new = high - at_high / steep, low + (high - low) * at_low / (at_low - at_high)
        new = ops.where(ops.less(low, newton), newton, new)
        new = ops.max(new, low + (high - low) * LEAST)
        new = ops.where(ops.less(low * (SEARCH - 1.5), low * turn), low, new)  # finally, where it still falls
        new = ops.where(is_fine(low, at_low, high, at_high, steep, a, at, turn), a, new)
        there, bend = slope(new)
        before, again = ops.less(there, 0.0), ops.where(ops.less(0.0, there * at), 0.5, 1.0)
        return (
            ops.where(before, new, low), ops.where(before, there, at_low * again),
            ops.where(before, high, new), ops.where(before, at_high * again, there),
            ops.where(before, steep, bend), new, there, turn + 1,
        )  # fmt: skip

    def is_fine(*state: Number) -> Any:
        low, at_low, *_, a, at, turn = state
        has_fallen = ops.less_equal(at * (a - low), -0.5 * low * at_low)  # rises by at most half the fall
        rise = ops.where(ops.less(at, 0.0), -10.0 * rising * at, ops.where(has_fallen, 0.0, at))
        return ops.less_equal(ops.where(ops.less(turn, patience), rise, 0.0), rising * decrement)

    end, steep = slope(full)
    end = ops.max(end, 0.0)
    return tree.repeat(SEARCH, narrowed, 0.0, -decrement, full, end, steep, full, end, 0.0, until=is_fine)[5]


def permitted(fine: Number, some: Number) -> Number:
    """The fraction of all forces that may be missing, squared; the number `some` shows the precision."""
    size = 1.0 + some * some
    is_double = ops.less(0.0, (size + size * 1e-9) - size)
    return ops.max(fine * fine, ops.where(is_double, 0.0, COARSE * COARSE))


def is_over(lack: Number, allowed: Number) -> Number:
    """True if `lack` is not above what is allowed, or is NaN."""
    return ops.less(ops.where(ops.less(allowed, lack), 1.0, 0.0), 0.5)


def require_end(lack: Number, allowed: Number, model: Any) -> None:
    """SimulationError if too much of the forces is missing."""
    ops.require(
        ops.where(is_over(lack, ops.max(allowed, ROUGH * ROUGH)), 2.0, 0.0),
        f"the contact forces of model {model.name!r} were not found: the ground is too stiff, or the motion "
        "too fast, for a step of this length; shorten dt, or lower contact_stiffness",
        SimulationError,
    )


def cut(numbers: Sequence[Any], widths: Sequence[int]) -> list[Sequence[Any]]:
    """A list in pieces of these widths."""
    return [numbers[a:b] for a, b in pairwise(accumulate(widths, initial=0))]


def total(pairs: Iterable[tuple[Any, Any]]) -> tuple[Any, Any]:
    """The sums of the first and of the second entries of pairs."""
    a: Any = 0.0
    b: Any = 0.0
    for x, y in pairs:
        a, b = a + x, b + y
    return a, b
