"""The rows and velocities of a loop that are eliminated, and their order: decided once, numerically.

Programs are straight-line code, so pivots cannot be chosen at run time. They are chosen here over sampled
positions: first for their size, then for the cost of elimination.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from kinetree.model.elimination import Factors

Array = np.ndarray

RANK_TOLERANCE = 1e-4  # singular values below this fraction of the largest count as zero
GOOD_ENOUGH = 0.2  # pivots above this fraction of the largest are as good
FIRM = 0.1  # pivots above this fraction of the largest entry left in their row and column are as good
SELDOM = 0.1  # fraction of the samples in which a pivot may be worse
TRIALS = 6  # number of orders that are compared

Order = list[tuple[int, int, float]]  # row, column, and usual size of the pivot


class Choice:
    """The rows and velocities that are eliminated, by complete pivoting over samples of K.

    solved: K in the form in which it is factored for given dependent velocities, if that is another one.
    """

    def __init__(self, K: Array, weights: Array, solved: Callable[[Collection[int]], Array] | None = None):
        singular = np.linalg.svd(K, compute_uv=False)
        largest = np.maximum(singular[:, :1], 1.0)  # rows are in units of the loop: far below 1 is noise
        self.rank = int(np.median((singular > RANK_TOLERANCE * largest).sum(axis=1)))
        self.rows: list[int] = []
        self.columns: list[int] = []
        self.pivots: list[float] = []
        A = K.copy()
        least = RANK_TOLERANCE * float(np.median(largest))
        for _ in range(self.rank):
            typical = np.quantile(np.abs(A), 0.25, axis=0)
            score = np.where(typical > least, typical * weights, 0.0)
            if score.size == 0 or score.max() <= 0.0:
                return
            r, c = _sparsest(np.abs(A).max(axis=0) > 1e-12 * least, score)
            self.rows.append(r)
            self.columns.append(c)
            self.pivots.append(float(np.median(np.abs(A[:, r, c]))))
            A = _eliminated(A, r, c)
        self.is_complete = True
        other = None if solved is None else solved(self.columns)
        if other is None or np.array_equal(other, K):
            self._reorder(K, least, [[(k, k, pivot) for k, pivot in enumerate(self.pivots)]])
        else:
            self._reorder(other, least, [])

    is_complete = False

    def _reorder(self, K: Array, least: float, orders: list[Order]) -> None:
        """Put the same rows and velocities in the cheapest order found with equally good pivots.

        orders: some that are known.
        """
        A = K[:, self.rows]
        others = [j for j in range(K.shape[2]) if j not in self.columns]
        pattern, given = np.abs(A).max(axis=0) > 1e-12 * least, np.abs(A[:, :, others]).max(axis=0) > 0
        A, pattern = A[:, :, self.columns], pattern[:, self.columns]
        for seed in range(TRIALS if len(self.rows) > 2 else 0):
            orders.append(_firm_order(A, pattern, np.random.default_rng(seed)))
        best = min(orders, key=lambda order: _cost(pattern, given, order))
        self.rows = [self.rows[r] for r, _, _ in best]
        self.columns = [self.columns[c] for _, c, _ in best]
        self.pivots = [pivot for *_, pivot in best]


def _eliminated(A: Array, r: int, c: int) -> Array:
    """The samples after eliminating one pivot; samples in which it is nearly zero are dropped."""
    size = np.abs(A[:, r, c])
    A = A[size > 1e-3 * np.median(size)]  # the others are near dead points
    A = A - A[:, :, c, None] * A[:, r, None, :] / A[:, r, c, None, None]
    A[:, r, :] = 0.0
    A[:, :, c] = 0.0
    return A


def _touched(pattern: Array) -> Array:
    """The number of entries that the elimination of each pivot changes (Markowitz)."""
    return (pattern.sum(axis=1)[:, None] - 1) * (pattern.sum(axis=0)[None] - 1)


def _sparsest(pattern: Array, score: Array) -> tuple[int, int]:
    """Of the pivots that are good enough, the one whose elimination changes the fewest entries."""
    best = np.where(score >= GOOD_ENOUGH * score.max(), -_touched(pattern), -np.inf)
    best = best + score / (2 * score.max())
    r, c = np.unravel_index(int(np.argmax(best)), best.shape)
    return int(r), int(c)


def _firm_order(A: Array, pattern: Array, rng: np.random.Generator) -> Order:
    """An order of firm pivots, each changing the fewest entries; ties are broken at random."""
    found: Order = []
    pattern, taste = pattern.copy(), rng.random(pattern.shape)
    for _ in range(len(pattern)):
        size = np.abs(A)
        most = np.maximum(size.max(axis=1, keepdims=True), size.max(axis=2, keepdims=True))
        share = np.quantile(size / np.where(most > 0.0, most, 1.0), SELDOM, axis=0)
        firm = (share >= min(FIRM, 0.5 * share.max())) & pattern
        score = np.where(firm, taste - _touched(pattern), -np.inf)
        r, c = map(int, np.unravel_index(int(np.argmax(score)), score.shape))
        found.append((r, c, float(np.median(size[:, r, c]))))
        A = _eliminated(A, r, c)
        pattern |= np.outer(pattern[:, c], pattern[r])
        pattern[r] = pattern[:, c] = False
    return found


def _cost(pattern: Array, given: Array, order: Order) -> int:
    """The number of operations for closing, and for solving for all independent velocities, in an order."""
    rows, columns = [r for r, *_ in order], [c for _, c, _ in order]
    Unknown.operations = 0
    one = Unknown()
    factors = Factors([[one if pattern[r, c] else 0 for c in columns] for r in rows])
    Unknown.operations *= 2  # once for the Newton step, once at the position that it finds
    for b in (np.ones(len(rows)), np.ones(len(rows)), *given[rows].T):
        factors.solved([one if x else 0 for x in b])
    return Unknown.operations


class Unknown:
    """An unknown number that counts the operations on it."""

    operations = 0

    def _used(self, other: Any = None) -> Unknown:
        Unknown.operations += 1
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __rtruediv__ = _used

    def __neg__(self) -> Unknown:
        return self


__all__ = ["RANK_TOLERANCE", "Choice"]
