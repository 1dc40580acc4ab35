"""Which rows of a loop and which velocities are eliminated, and in what order: decided once, in numbers.

Programs are straight lines, so pivots cannot be chosen while they run. They are chosen here over sampled
positions: good ones first of all, then such that elimination costs least.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.model.elimination import Factors

Array = np.ndarray

RANK_TOLERANCE = 1e-4  # singular values below this part of the largest one are taken for zero
GOOD_ENOUGH = 0.2  # pivots above this part of the largest one are as good
FIRM = 0.1  # pivots above this part of all that is left in their rows and columns are as good
SELDOM = 0.1  # of the samples, in how many a pivot may be worse
TRIALS = 6  # orders that are compared


class Choice:
    """Which rows and which velocities are eliminated, by complete pivoting over samples of K."""

    def __init__(self, K: Array, weights: Array):
        singular = np.linalg.svd(K, compute_uv=False)
        largest = np.maximum(singular[:, :1], 1.0)  # rows are in units of the loop: less of them all is noise
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
        self._reorder(K, least)

    is_complete = False

    def _reorder(self, K: Array, least: float) -> None:
        """The same rows and velocities in the cheapest order that is known and as good."""
        A = K[:, self.rows]
        others = [j for j in range(K.shape[2]) if j not in self.columns]
        pattern, given = np.abs(A).max(axis=0) > 1e-12 * least, np.abs(A[:, :, others]).max(axis=0) > 0
        A, pattern = A[:, :, self.columns], pattern[:, self.columns]
        count = len(self.rows)
        best = [(k, k, pivot) for k, pivot in enumerate(self.pivots)]
        cost = _cost(pattern, given, best)
        for seed in range(TRIALS if count > 2 else 0):
            trial = _firm_order(A, pattern, np.random.default_rng(seed))
            paid = _cost(pattern, given, trial)
            if paid < cost:
                best, cost = trial, paid
        self.rows = [self.rows[r] for r, _, _ in best]
        self.columns = [self.columns[c] for _, c, _ in best]
        self.pivots = [pivot for *_, pivot in best]


Order = list[tuple[int, int, float]]  # row, column, and how large the pivot usually is


def _eliminated(A: Array, r: int, c: int) -> Array:
    """What is left of samples after a pivot; those in which it is next to nothing are left out."""
    size = np.abs(A[:, r, c])
    A = A[size > 1e-3 * np.median(size)]  # the others stand near dead points
    A = A - A[:, :, c, None] * A[:, r, None, :] / A[:, r, c, None, None]
    A[:, r, :] = 0.0
    A[:, :, c] = 0.0
    return A


def _touched(pattern: Array) -> Array:
    """How many numbers the elimination of each pivot changes (Markowitz)."""
    return (pattern.sum(axis=1)[:, None] - 1) * (pattern.sum(axis=0)[None] - 1)


def _sparsest(pattern: Array, score: Array) -> tuple[int, int]:
    """Of the pivots that are good enough, the one whose elimination touches least."""
    best = np.where(score >= GOOD_ENOUGH * score.max(), -_touched(pattern), -np.inf)
    best = best + score / (2 * score.max())
    r, c = np.unravel_index(int(np.argmax(best)), best.shape)
    return int(r), int(c)


def _firm_order(A: Array, pattern: Array, rng: np.random.Generator) -> Order:
    """An order of pivots that are firm, each one that touches least; chance decides between equal ones."""
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
    """The operations of closing, and of solving for all independent velocities, in an order."""
    rows, columns = [r for r, *_ in order], [c for _, c, _ in order]
    Unknown.operations = 0
    one = Unknown()
    factors = Factors([[one if pattern[r, c] else 0 for c in columns] for r in rows])
    Unknown.operations *= 2  # for a Newton step, and for what is found by it
    for b in (np.ones(len(rows)), np.ones(len(rows)), *given[rows].T):
        factors.solved([one if x else 0 for x in b])
    return Unknown.operations


class Unknown:
    """A number of which nothing is known: it counts what is done to it."""

    operations = 0

    def _used(self, other: Any = None) -> Unknown:
        Unknown.operations += 1
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __rtruediv__ = _used

    def __neg__(self) -> Unknown:
        return self


__all__ = ["RANK_TOLERANCE", "Choice"]
