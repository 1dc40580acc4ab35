"""Newton's method for a time step with contact, with all of its terms or only some.

A Newton step sweeps over the nodes that terms act on; all others are swept once. If minus the gradient is
s x + J^T (f - z), a step of length a changes s to s (1 - a) and z to z + a (f - G du - z): after one full
step only the remainder f - z of the forces counts. Forces are impulses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kinetree import ops
from kinetree.algorithms import contact_search as search
from kinetree.algorithms.contact_terms import Terms
from kinetree.spatial import Coordinates, Force
from kinetree.sweep import Sweep

NEAR = 1e-4  # fraction of all forces that may be missing for a full step without line search
FEW, STEADY = 1.5, 1e4  # below FEW steps the residual counts STEADY times: in steady motion it accumulates
EARLY = 6  # steps in which the function may rise a little; later this could go on forever


class Given(NamedTuple):
    """The data of a minimisation, besides its terms."""

    tree: Sweep
    nodes: Sequence[Any]
    x: Any
    allowed: Any  # fraction of all forces that may be missing, squared
    free: Callable[..., Any]  # from the generalised forces on nodes to a `Freed`


class Minimum:
    """A minimisation with some terms; one with fewer terms can be derived from it."""

    def __init__(self, given: Given, terms: Sequence[Terms], larger: Minimum | None = None):
        self.given, self.terms = given, list(terms)
        tree = given.tree
        nodes: Sequence[Any] = larger.loaded if larger else given.nodes
        on_paths = tree.paths([i for term in terms for i in term.acts_on])
        self.nodes = nodes
        self.loaded: list[Any] = [i for i in nodes if i in on_paths]
        self.rest = given.free({i: given.x[i] for i in nodes})
        for i in nodes:
            if larger:
                self.rest.I[i], self.rest.p[i] = larger.rest.I[i], larger.rest.p[i]
            else:
                self.rest.I[i], self.rest.p[i] = tree.inertia(i), tree.zero(i, Force)
        slack = self.rest.inward(i for i in reversed(nodes) if i not in on_paths)
        self.slack: Any = slack + larger.slack if larger else slack
        self.carried = self._carried()

    def _carried(self) -> dict[Any, list[Terms]]:
        """The terms that are added to each node when the sweep reaches it."""
        tree, found = self.given.tree, dict[Any, Any]((i, []) for i in self.loaded)
        for term in self.terms:
            if term.body is not None:
                path = tree.paths([term.body])
                found[next(i for i in reversed(self.loaded) if i in path)].append(term)
        return found

    def newton(self, d: Any, s: Any, turn: Any, lack: Any) -> tuple:
        """One step: the change of velocity, s, the number of steps, and the squared residual."""
        tree, terms, x, rest = self.given.tree, self.terms, self.given.x, self.rest
        now = self.given.free({i: x[i] * s for i in self.loaded})
        for i in self.loaded:
            now.I[i], now.p[i] = rest.I[i], rest.p[i] * s
        for term in terms:
            if term.body is None:
                term.load(now)
        decrement = now.inward(reversed(self.loaded), self.carried) + s * s * self.slack
        step = now.outward(self.loaded)
        sums = search.total(term.moved(now) for term in terms)
        is_early = ops.less(turn, EARLY)
        rising = ops.where(ops.less(lack, NEAR * NEAR), 1.0, ops.where(is_early, 0.1, 1e-3))
        full = ops.where(self.is_done(lack), 0.0, 1.0)  # done: only other states of a batch go on
        limits = full, ops.where(is_early, float(search.SHORT), float(search.SEARCH))
        a = search.least(tree, terms, sums, decrement, rising, limits)
        missing, size = search.total(term.advance(a) for term in terms)
        s = s - a * s
        weight = tree.model.total_mass * 1e-3
        lack = missing / (size + weight * weight) + s * s
        lack = ops.where(ops.less(turn, FEW), STEADY * lack, lack)
        was_least = ops.less(decrement, 1e-3 * weight * self.given.allowed)
        return [x + a * y for x, y in zip(d, step)], s, turn + 1, ops.where(was_least, 0.0, lack)

    def is_done(self, *state: Any) -> Any:
        return search.is_over(state[-1], self.given.allowed)

    def found(self, most: int, *state: Any) -> Any:
        """The state after iterating `newton`, at most `most` times."""
        return self.given.tree.repeat(most, self.newton, *state, until=self.is_done)

    def all_moved(self, d: Sequence[Any], s: Any) -> list[Any]:
        """The velocities of all nodes, from those of the loaded ones; `rest` then holds the motion."""
        parts = iter(search.cut(d, [len(self.given.x[i]) for i in self.loaded]))
        loaded = set(self.loaded)
        for i in self.nodes:
            self.rest.move(i, Coordinates(next(parts))) if i in loaded else self.rest.answer(i, 1 - s)
        return [x for i in self.nodes for x in self.rest.a[i]]


def least(whole: Minimum, most: int) -> Any:
    """The minimum, after at most `most` Newton steps.

    It is first sought without the terms that are mostly inactive. If these are inactive there, it is also the
    minimum with them. Otherwise, or if that takes long, the search continues from there with all terms. If
    one of them is active from the start, all terms are used at once.
    """
    tree, x, terms = whole.given.tree, whole.given.x, whole.terms
    seldom = [term for term in terms if term.mostly_calm]
    often = [term for term in terms if not term.mostly_calm]
    for term in often:
        term.begin()
    if not seldom:
        return whole.found(most, [0.0] * sum(len(x[i]) for i in whole.loaded), 1.0, 0.0, 2.0)
    fewer = Minimum(whole.given, often, whole)
    calm: Any = 1.0
    for term in seldom:
        calm = term.calm([term.start[k][-1] for k in range(term.count)], term.calm([0.0] * term.count, calm))
    begin = ops.where(ops.less(0.5, calm), 2.0, 0.0)
    d, s, turn, lack = [0.0] * sum(len(x[i]) for i in fewer.loaded), 1.0 - calm, 0.0, 0.0
    if often:
        d, s, turn, lack = fewer.found(min(most, EARLY), d, 1.0, 0.0, begin)
    d = fewer.all_moved(d, s)
    for term in seldom:
        calm = term.calm([term.moved_from_start(fewer.rest, k)[-1] for k in range(term.count)], calm)
    is_long = ops.less(0.5, ops.where(fewer.is_done(lack), 0.0, float(most > EARLY)))
    is_calm = ops.less(0.5, ops.where(is_long, 0.0, calm))

    def go_on(d: Any, s: Any, turn: Any, lack: Any) -> tuple:
        for term in often:
            term.renew(is_long, ops.min(turn, 1.0))
        for term in seldom:
            term.settle(fewer.rest, fresh=True)
        return whole.found(most, d, s, turn, ops.where(is_calm, 0.0, 2.0))

    return tree.repeat(1, go_on, d, s, turn, lack, until=lambda *_: is_calm)
