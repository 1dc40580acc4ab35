"""Groups of points that touch and joints that rub, as terms of a minimum: what they do in a Newton step.

What belongs to a point (its velocity u, what is known of its force z, its dual w) is kept in rows of memory,
so that many points on a body are a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from kinetree import ops
from kinetree.algorithms.contact_law import Law, Numbers, dot
from kinetree.sweep import Sweep


class Terms:
    """Terms that are alike. `width` numbers make the velocity of one, `duals` its dual, and `kept` are kept
    of its law: it is known when a Newton step begins, and looked at once for each step that is tried."""

    width, duals, kept = 1, 1, 5

    body: Any = None  # the one that all of them act on, if there is one
    mostly_calm = False  # whether they mostly feel nothing: stops, points of bodies that carry others
    start: Any  # rows: the velocities at the beginning

    def __init__(self, tree: Sweep, count: int, h: Any, loops: bool):
        self.tree, self.count, self.h, self.loops = tree, count, h, loops
        self.remember()

    def remember(self) -> None:
        """Take memory for what changes."""
        widths = (self.width, self.width, self.width, self.width, self.duals, self.kept)
        rows = (self.tree.rows(self.count, n) for n in widths)
        self.u, self.z, self.du, self.left, self.w, self.known = rows

    def apart(self) -> Terms:
        """The same terms, with memory of their own."""
        other = copy(self)
        other.remember()
        return other

    def each(self) -> Any:
        """All of them, one after the other or in a loop."""
        return self.tree.each(self.count, self.loops)

    def law(self, k: Any, u: Numbers) -> Law:
        """What one feels at a velocity."""
        raise NotImplementedError

    def load(self, sweep: Any) -> None:
        """Add h G to inertias, and h (f - z) to what pulls."""
        raise NotImplementedError

    @property
    def acts_on(self) -> list[Any]:
        """Bodies, or nodes."""
        return [self.body]

    def calm(self, velocities: Sequence[Any], flag: Any) -> Any:
        """The flag, or 0 if one may feel something: the last number of the velocity of each."""
        raise NotImplementedError

    def along(self, sweep: Any, k: Any) -> Numbers:
        """How its velocity changes in a step."""
        raise NotImplementedError

    def pack(self, law: Law) -> list[Any]:
        """What is kept of a law."""
        return [*law.force, *law.t, law.grip, law.inverse, law.slope]

    def unpack(self, k: Any, u: Numbers, row: Numbers) -> Law:
        """The law at a velocity from what was kept."""
        n = self.width
        return Law(row[:n], row[n : n + self.duals], *row[n + self.duals :])

    def begin(self) -> None:
        """Nothing is known yet."""
        for k in self.each():
            self.stand(k, self.start[k], [0.0] * self.duals)

    def stand(self, k: Any, u: Numbers, w: Numbers) -> None:
        """Be at a velocity, with a dual, without a step before."""
        self.u[k], self.z[k], self.w[k] = u, [0.0] * self.width, w
        self.known[k] = self.pack(self.law(k, u))

    def now(self, k: Any) -> Law:
        """What it feels at the beginning of the Newton step."""
        return self.unpack(k, self.u[k], self.known[k])

    def moved(self, sweep: Any) -> tuple[Any, Any]:
        """Note the steps of all, and what they lead to; the sums of f . du and du . G du."""
        total = self.tree.totals(2, self.loops)
        for k in self.each():
            law, w, du = self.now(k), self.w[k], self.along(sweep, k)
            fall = law.fall(w, du)
            self.du[k], self.w[k] = du, law.dual(w, du)
            self.left[k] = [f - g for f, g in zip(law.force, fall)]
            total.add(dot(law.force, du), dot(fall, du))
        return total.values()

    def felt(self, a: Any) -> tuple[Any, Any]:
        """Try a part of the step: the sums of f . du there, and of how that falls."""
        total = self.tree.totals(2, self.loops)
        for k in self.each():
            u, du = self.u[k], self.du[k]
            law = self.law(k, [x + a * y for x, y in zip(u, du)])
            self.known[k] = self.pack(law)
            total.add(dot(law.force, du), dot(law.fall(law.t, du), du))
        return total.values()

    def advance(self, a: Any) -> tuple[Any, Any]:
        """Go the part of the step that was tried last; the squares of what is missing in the forces, and of
        the forces."""
        total = self.tree.totals(2, self.loops)
        for k in self.each():
            u = [x + a * y for x, y in zip(self.u[k], self.du[k])]
            z = [x + a * (y - x) for x, y in zip(self.z[k], self.left[k])]
            self.u[k], self.z[k] = u, z
            force = self.now(k).force
            missing = [f - x for f, x in zip(force, z)]
            total.add(dot(missing, missing), dot(force, force))
        return total.values()

    def moved_from_start(self, sweep: Any, k: Any) -> Numbers:
        """Its velocity at the end of a step from the beginning."""
        return [x + y for x, y in zip(self.start[k], self.along(sweep, k))]

    def end(self, sweep: Any, k: Any) -> Numbers:
        """The velocity that was found."""
        return self.moved_from_start(sweep, k) if self.mostly_calm else self.u[k]

    def renew(self, is_kept: Any) -> None:
        """Put duals that are not to be kept to where they are right: what is felt besides has changed."""
        for k in self.each():
            self.w[k] = [ops.where(is_kept, w, t) for w, t in zip(self.w[k], self.now(k).t)]

    def settle(self, sweep: Any, fresh: bool = False) -> None:
        """Stand at the end of a step from the beginning, with duals that are right there, or zero."""
        for k in self.each():
            u = self.moved_from_start(sweep, k)
            self.stand(k, u, [0.0] * self.duals if fresh else list(self.law(k, u).t))
