"""The topology of a tree: which body carries which, in constant time where possible.

Bodies are numbered 1 ... n with every parent before its children; the world is 0. Numbering the tree by an
Euler tour makes each subtree an interval, so "j carries i" is a comparison.

Reference: Echeandia (2020) section 2.2 (relations); Concurrent Dynamics (2017) figure 2 (body sets).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property


class Topology:
    """The tree given by `parents[i - 1]`, the parent of body i. There is no recursion."""

    def __init__(self, parents: Sequence[int]):
        self.parents = tuple(parents)

    @cached_property
    def _tour(self) -> tuple[list[int], list[int]]:
        """For each body (and the world): its number on the tour, and the size of its subtree."""
        count = len(self.parents)
        size = [1] * (count + 1)
        for i in range(count, 0, -1):
            size[self.parents[i - 1]] += size[i]
        enter = [0] * (count + 1)
        free = [1] * (count + 1)
        for i in range(1, count + 1):
            p = self.parents[i - 1]
            enter[i] = free[p]
            free[p] += size[i]
            free[i] = enter[i] + 1
        return enter, size

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """The number of bodies from the world to each body, itself included; 0 for the world."""
        depths = [0]
        for p in self.parents:
            depths.append(depths[p] + 1)
        return tuple(depths)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The bodies that each body (and the world) carries directly, in increasing order."""
        children: list[list[int]] = [[] for _ in range(len(self.parents) + 1)]
        for i, p in enumerate(self.parents, 1):
            children[p].append(i)
        return tuple(map(tuple, children))

    def parent(self, i: int) -> int:
        return self.parents[i - 1]

    def is_ancestor(self, j: int, i: int) -> bool:
        """True if `j` is `i` or carries it."""
        enter, size = self._tour
        return enter[j] <= enter[i] < enter[j] + size[j]

    def related(self, i: int, j: int) -> bool:
        """True if one of the two carries the other."""
        return self.is_ancestor(i, j) or self.is_ancestor(j, i)

    def outermost(self, *bodies: int) -> int | None:
        """The body that all the others carry, or None if they do not lie on one path from the world."""
        candidate = max(bodies, key=self.depths.__getitem__)
        return candidate if all(self.is_ancestor(j, candidate) for j in bodies) else None

    def path(self, i: int) -> tuple[int, ...]:
        """The body `i`, its parent, and so on to the body next to the world."""
        path = []
        while i > 0:
            path.append(i)
            i = self.parents[i - 1]
        return tuple(path)

    def branch(self, i: int) -> tuple[int, ...]:
        """The body `i` and everything that it carries, in increasing order."""
        stack, found = [i], []
        while stack:
            j = stack.pop()
            found.append(j)
            stack.extend(self.children[j])
        return tuple(sorted(found))

    def common_ancestor(self, i: int, j: int) -> int:
        """The outermost body (or the world) that carries both or is one of them."""
        while not self.is_ancestor(i, j):
            i = self.parents[i - 1]
        return i
