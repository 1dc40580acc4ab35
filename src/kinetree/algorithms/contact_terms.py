"""Contact points and joint friction as terms of the minimisation: their part in a Newton step.

The data of a point (its velocity u, the known part z of its force, its dual w) is kept in rows of memory, so
many points on a body can be handled in a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from kinetree import ops
from kinetree.algorithms.contact_law import Law, Numbers, dot
from kinetree.sweep import Sweep


class Terms:
    """Terms of one kind. One has `width` velocities, `duals` dual variables, and `kept` stored numbers of its
    law, which is known when a Newton step begins and evaluated once for each trial step. Forces are impulses.
    """

    width, duals, kept = 1, 1, 5

    body: Any = None  # the body that all of them act on, if there is one
    mostly_calm = False  # whether they are mostly inactive: stops, points of bodies that carry others
    start: Any  # rows: the initial velocities

    def __init__(self, tree: Sweep, count: int, loops: bool):
        self.tree, self.count, self.loops = tree, count, loops
        self.remember()

    def remember(self) -> None:
        """Allocate memory for what changes."""
        widths = (self.width, self.width, self.width, self.width, self.duals, self.kept)
        rows = (self.tree.rows(self.count, n) for n in widths)
        self.u, self.z, self.du, self.left, self.w, self.known = rows

    def apart(self) -> Terms:
        """A copy with its own memory."""
        other = copy(self)
        other.remember()
        return other

    def each(self) -> Any:
        """The indices of all terms, unrolled or as a loop."""
        return self.tree.each(self.count, self.loops)

    def law(self, k: Any, u: Numbers) -> Law:
        """The law of one term at a velocity."""
        raise NotImplementedError

    def load(self, sweep: Any) -> None:
        """Add G to the inertias, and f - z to the forces."""
        raise NotImplementedError

    @property
    def acts_on(self) -> list[Any]:
        """The bodies or nodes that the terms act on."""
        return [self.body]

    def calm(self, velocities: Sequence[Any], flag: Any) -> Any:
        """The flag, or 0 if a term may be active, given the last component of the velocity of each."""
        raise NotImplementedError

    def along(self, sweep: Any, k: Any) -> Numbers:
        """The change of its velocity in a step."""
        raise NotImplementedError

    def pack(self, law: Law) -> list[Any]:
        """The stored numbers of a law."""
        return [*law.force, *law.t, law.grip, law.inverse, law.slope]

    def unpack(self, k: Any, u: Numbers, row: Numbers) -> Law:
        """The law at a velocity, from its stored numbers."""
        n = self.width
        return Law(row[:n], row[n : n + self.duals], *row[n + self.duals :])

    def begin(self) -> None:
        """Start from the initial velocities, with zero forces and duals."""
        for k in self.each():
            self.stand(k, self.start[k], [0.0] * self.duals)

    def stand(self, k: Any, u: Numbers, w: Numbers) -> None:
        """Set one term to a velocity and a dual, with no known force."""
        self.u[k], self.z[k], self.w[k] = u, [0.0] * self.width, w
        self.known[k] = self.pack(self.law(k, u))

    def now(self, k: Any) -> Law:
        """The law of one term at the beginning of the Newton step."""
        return self.unpack(k, self.u[k], self.known[k])

    def moved(self, sweep: Any) -> tuple[Any, Any]:
        """Record the steps of all terms and update their duals; the sums of f . du and du . G du."""
        total = self.tree.totals(2, self.loops)
        for k in self.each():
            law, w, du = self.now(k), self.w[k], self.along(sweep, k)
            fall = law.fall(w, du)
            self.du[k], self.w[k] = du, law.dual(w, du)
            self.left[k] = [f - g for f, g in zip(law.force, fall)]
            total.add(dot(law.force, du), dot(fall, du))
        return total.values()

    def felt(self, a: Any) -> tuple[Any, Any]:
        """Try a part of the step: the sums of f . du there, and of their rates of decrease."""
        total = self.tree.totals(2, self.loops)
        for k in self.each():
            u, du = self.u[k], self.du[k]
            u = [x + a * y for x, y in zip(u, du)]
            law = self.law(k, u)
            self.known[k] = self.pack(law)
            total.add(*law.felt(u, du))
        return total.values()

    def advance(self, a: Any) -> tuple[Any, Any]:
        """Take the part of the step tried last; the squares of the missing forces, and of all forces."""
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
        """The initial velocity of one term plus its change in a step."""
        return [x + y for x, y in zip(self.start[k], self.along(sweep, k))]

    def end(self, sweep: Any, k: Any) -> Numbers:
        """The velocity of one term in the solution."""
        return self.moved_from_start(sweep, k) if self.mostly_calm else self.u[k]

    def renew(self, is_kept: Any, moved: Any) -> None:
        """Reset duals, unless they are kept, to fit the present velocities; to zero if `moved` is 0.

        Laws are evaluated again: a state that waited for others may have evaluated its own once more, where
        they are rounded differently.
        """
        for k in self.each():
            law = self.law(k, self.u[k])
            self.known[k] = self.pack(law)
            self.w[k] = [ops.where(is_kept, w, moved * t) for w, t in zip(self.w[k], law.t)]

    def settle(self, sweep: Any, fresh: bool = False) -> None:
        """Put all terms at the end of a step from the start, with duals that fit there; zero if `fresh`."""
        for k in self.each():
            u = self.moved_from_start(sweep, k)
            self.stand(k, u, [0.0] * self.duals if fresh else list(self.law(k, u).t))
