"""Terms of a minimum that mostly feel nothing: stops of joints, points of bodies that carry others.

A group of them is calm from the beginning of a time step until a Newton step leads to where one of them may
feel something. As long as it is calm in all states that run side by side, it costs little more than a look at
each velocity; where it is not left out because of other states, it gives the zeros that it is taken for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kinetree.algorithms.contact_terms import Terms


class Calm:
    """Terms that are left alone while they are calm. Only the last number of each velocity is looked at."""

    def __init__(self, terms: Terms):
        self.terms = terms
        self.flag = terms.tree.rows(1, 1)  # 1: calm
        self.widths = {"loads": terms.load_width, "moved": 2, "felt": 1, "advance": 2}
        self.given = {name: terms.tree.rows(1, width) for name, width in self.widths.items()}
        self.steps: list[tuple[Any, Any]] = []

    def begin(self) -> None:
        self.terms.begin()
        start = self._calm((self.terms.start[k][-1] for k in range(self.terms.count)), 1.0)
        self.flag[0] = [self._calm([0.0] * self.terms.count, start)]
        for name, width in self.widths.items():
            self.given[name][0] = [0.0] * width

    def load(self, sweep: Any) -> None:
        self.terms.lay(sweep, self._unless_calm("loads", self.terms.loads))

    def moved(self, sweep: Any) -> Any:
        terms, (calm,) = self.terms, self.flag[0]
        self.steps = [(terms.u[k][-1], terms.along(sweep, k)[-1]) for k in range(terms.count)]
        self.flag[0] = [self._calm((u + du for u, du in self.steps), calm)]
        return self._unless_calm("moved", lambda: terms.moved(sweep))

    def felt(self, a: Any) -> Any:
        return self._unless_calm("felt", lambda: [self.terms.felt(a)])[0]

    def advance(self, a: Any) -> Any:
        sums = self._unless_calm("advance", lambda: self.terms.advance(a))
        for k, (u, du) in enumerate(self.steps):
            self.terms.u[k] = [*self.terms.u[k][:-1], u + a * du]
        return sums

    def _calm(self, velocities: Iterable[Any], calm: Any) -> Any:
        """The flag, or 0 if something may be felt at these velocities."""
        for k, u in enumerate(velocities):
            calm = self.terms.calm(k, u, calm)
        return calm

    def _unless_calm(self, name: str, body: Callable[[], Sequence[Any]]) -> Any:
        """What a method gives, or zeros."""
        return self.terms.tree.unless(self.flag, self.given[name], body)
