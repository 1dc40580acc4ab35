"""Reductions over many runs: means, covariances, quantiles, histograms, the best runs.

A reduction folds blocks of `BLOCK` runs, always the same blocks in the same order. So its result does not
depend on how runs are spread over chunks, workers and machines.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinetree.errors import ArgumentError
from kinetree.model import Model
from kinetree.model.validate import shown
from kinetree.stages import Function

Array = np.ndarray
Rows = dict[str, Array]
BLOCK = 1024


class Reduction(ABC):
    """Folds rows of results; see the module.

    Args:
        of: the name of a result; or a function of a model (`kt.function`) whose inputs are results, by name;
            or a Python function of all results of some runs, {name: (runs, ...)} -> (runs, ...).
    """

    def __init__(self, of: str | Callable[[Rows], Any]):
        if not (isinstance(of, str) or callable(of)):
            raise ArgumentError(
                f"{type(self).__name__}: give the name of a result, or a function, not {shown(of)}"
            )
        self.of = of

    @property
    def name(self) -> str:
        """Its name among other reductions."""
        what = self.of if isinstance(self.of, str) else getattr(self.of, "__name__", "value")
        return f"{type(self).__name__.lower()}_{what}"

    def column(self, rows: Rows, model: Model) -> Array:
        """The values that it reduces, (runs, ...)."""
        if isinstance(self.of, Function):
            names = [a.name for a in self.of.own_inputs if a.name in rows]
            return np.asarray(self.of(model, **{name: rows[name] for name in names}))
        if callable(self.of):
            return np.asarray(self.of(rows))
        if self.of not in rows:
            raise ArgumentError(f"{self.name}: the runs give {', '.join(rows)}, and no '{self.of}'")
        return rows[self.of]

    @abstractmethod
    def start(self) -> Any:
        """The state before the first block."""

    @abstractmethod
    def fold(self, state: Any, values: Array, runs: Array) -> Any:
        """The state after one more block; failed runs are left out."""

    @abstractmethod
    def finish(self, state: Any) -> Any:
        """The result."""


class Moments(NamedTuple):
    """Of the runs that did not fail: their number, mean, and variance or covariance."""

    runs: int
    mean: Any
    variance: Any


class Mean(Reduction):
    """The mean and variance of a result, element by element."""

    def start(self) -> Any:
        return 0, 0.0, 0.0

    def fold(self, state: Any, values: Array, runs: Array) -> Any:
        return _merged(state, values, lambda x: x * x)

    def finish(self, state: Any) -> Moments:
        count, mean, square = state
        return Moments(count, mean, square / (count - 1) if count > 1 else np.full_like(mean, math.nan))


class Covariance(Mean):
    """The mean and covariance matrix of a result, flattened to a vector."""

    def fold(self, state: Any, values: Array, runs: Array) -> Any:
        flat = values.reshape(len(values), -1)
        return _merged(state, flat, lambda x: x[..., :, None] * x[..., None, :])


def _merged(state: Any, values: Array, square: Callable[[Array], Array]) -> Any:
    """Count, mean and sum of squared deviations of two sets combined (Chan and others, 1979)."""
    count, mean, spread = state
    if not len(values):
        return state
    own = values.mean(0)
    own_spread = square(values - own).sum(0)
    if not count:
        return len(values), own, own_spread
    total, difference = count + len(values), own - mean
    share = len(values) / total
    return total, mean + difference * share, spread + own_spread + square(difference) * (count * share)


class Quantiles(NamedTuple):
    """Values below which given shares of the runs lie."""

    shares: Any
    values: Any  # (len(shares), ...)
    error: float  # bound on the error of a share


class Quantile(Reduction):
    """Quantiles of a result, element by element, in bounded memory.

    Args:
        of: as for every reduction.
        shares: such as (0.05, 0.5, 0.95).
        kept: how many numbers are kept; the more, the smaller the error, which the result states. Up to
            this many runs the result is exact.
    """

    def __init__(self, of: Any, shares: Sequence[float] = (0.05, 0.5, 0.95), kept: int = 1 << 14):
        super().__init__(of)
        self.shares = tuple(float(x) for x in shares)
        if not all(0 <= x <= 1 for x in self.shares):
            raise ArgumentError(f"quantiles: shares lie between 0 and 1, got {self.shares}")
        self.kept = max(2 * BLOCK, int(kept) // (2 * BLOCK) * 2 * BLOCK)

    def start(self) -> Any:
        return {}, 0, 0.0  # level -> sorted values of weight 2^level; count; error in ranks

    def fold(self, state: Any, values: Array, runs: Array) -> Any:
        levels, count, error = state
        levels = {**levels, 0: [*levels.get(0, []), values]}
        count += len(values)
        level = 0
        while sum(map(len, levels.get(level, []))) >= self.kept:
            whole = np.sort(np.concatenate(levels.pop(level)), 0)
            even = len(whole) // 2 * 2
            rest = [whole[even:]] if even < len(whole) else []
            # every second value, starting alternately at the first or second, stands for two
            levels[level + 1] = [*levels.get(level + 1, []), whole[:even][level % 2 :: 2]]
            if rest:
                levels[level] = rest
            error += 2**level
            level += 1
        return levels, count, error

    def finish(self, state: Any) -> Quantiles:
        levels, count, error = state
        if not count:
            return Quantiles(self.shares, np.full(len(self.shares), math.nan), 0.0)
        parts = [(np.concatenate(values), 2.0**level) for level, values in sorted(levels.items()) if values]
        values = np.concatenate([part for part, _ in parts])
        weights = np.concatenate([np.full(len(part), weight) for part, weight in parts])
        flat = values.reshape(len(values), -1)
        order = np.argsort(flat, 0, kind="stable")
        ranks = np.cumsum(weights[order], 0) - weights[order] / 2
        found = np.stack([
            [np.interp(share * count, ranks[:, k], flat[order[:, k], k]) for k in range(flat.shape[1])]
            for share in self.shares
        ])  # fmt: skip
        return Quantiles(self.shares, found.reshape(len(self.shares), *values.shape[1:]), error / count)


class Counts(NamedTuple):
    """How many values are in each bin; `outside` counts those below, above, or NaN."""

    edges: Any
    counts: Any  # (bins, ...)
    outside: Any


class Histogram(Reduction):
    """How often a result falls into each bin, element by element.

    Args:
        of: as for every reduction.
        bins: how many.
        low, high: the lower end of the first bin and the upper end of the last.
    """

    def __init__(self, of: Any, bins: int, low: float, high: float):
        super().__init__(of)
        self.edges = np.linspace(low, high, int(bins) + 1)
        if not (int(bins) > 0 and low < high):
            raise ArgumentError(f"histogram: give at least one bin and low < high, got {bins}, {low}, {high}")

    def start(self) -> Any:
        return None

    def fold(self, state: Any, values: Array, runs: Array) -> Any:
        flat = values.reshape(len(values), -1)
        place = np.searchsorted(self.edges, flat, side="right") - 1
        place[flat == self.edges[-1]] -= 1
        n = len(self.edges) - 1
        inside = (place >= 0) & (place < n)
        counts = np.stack(
            [np.bincount(place[inside[:, k], k], minlength=n) for k in range(flat.shape[1])], -1
        )
        found = counts.reshape(n, *values.shape[1:]), (~inside).sum(0).reshape(values.shape[1:])
        return found if state is None else (state[0] + found[0], state[1] + found[1])

    def finish(self, state: Any) -> Counts:
        empty = np.zeros(len(self.edges) - 1, int), np.zeros((), int)
        return Counts(self.edges, *(empty if state is None else state))


class Chosen(NamedTuple):
    """The best runs, in order."""

    runs: Any
    values: Any


class Best(Reduction):
    """The runs in which a result, one number per run, is smallest or largest.

    Args:
        of: as for every reduction.
        k: how many runs.
        largest: the largest instead of the smallest.
    """

    def __init__(self, of: Any, k: int = 10, largest: bool = False):
        super().__init__(of)
        self.k, self.largest = int(k), bool(largest)

    def start(self) -> Any:
        return np.zeros(0, int), np.zeros(0)

    def fold(self, state: Any, values: Array, runs: Array) -> Any:
        if values.ndim != 1:
            raise ArgumentError(
                f"{self.name}: runs are compared by one number, and this has shape {values.shape[1:]}"
            )
        runs, values = np.concatenate([state[0], runs]), np.concatenate([state[1], values])
        order = np.lexsort((runs, -values if self.largest else values))[: self.k]
        return runs[order], values[order]

    def finish(self, state: Any) -> Chosen:
        return Chosen(*state)


mean, covariance, quantiles, histogram, best = Mean, Covariance, Quantile, Histogram, Best


class Fold:
    """Several reductions at once, over blocks that come in order."""

    def __init__(self, reductions: Any, model: Model):
        self.model = model
        if reductions is None:
            reductions = {}
        elif isinstance(reductions, Reduction):
            reductions = {reductions.name: reductions}
        elif not isinstance(reductions, dict):
            reductions = {r.name if isinstance(r, Reduction) else str(r): r for r in reductions}
        for reduction in reductions.values():
            if not isinstance(reduction, Reduction):
                raise ArgumentError(
                    f"reduce: give reductions, as in kt.scale.mean('q'), not {shown(reduction)}"
                )
        self.reductions: dict[str, Reduction] = reductions
        self.states = {name: reduction.start() for name, reduction in reductions.items()}

    def add(self, start: int, rows: Rows, failed: Array) -> None:
        """Add the rows of the runs from `start` on: whole blocks, except at the end."""
        for name, reduction in self.reductions.items():
            column = reduction.column(rows, self.model)
            for first in range(0, len(failed), BLOCK):
                block = slice(first, first + BLOCK)
                good = ~failed[block]
                runs = np.arange(start + first, start + first + len(good))[good]
                self.states[name] = reduction.fold(self.states[name], column[block][good], runs)

    def results(self) -> dict[str, Any]:
        """The results of the reductions over everything added."""
        return {name: r.finish(self.states[name]) for name, r in self.reductions.items()}
