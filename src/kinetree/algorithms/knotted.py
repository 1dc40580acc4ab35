"""Articulated-body sweeps in which knots of nodes are freed as one joint with many velocities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from kinetree.algorithms.freed import NOTHING, Freed
from kinetree.algorithms.knots import Knot, knots_of
from kinetree.spatial import Coordinates, Factored, ForceSet, Matrix
from kinetree.spatial.articulated import ArticulatedInertia
from kinetree.sweep import Sweep


class Tied(NamedTuple):
    """The velocities of a knot: H = L D L^T, the forces r on them, and those F passed on to the body below."""

    factor: Factored
    y: Coordinates  # D^-1 L^-1 r
    below: Any  # the body that carries the knot; None for the world
    half: ForceSet  # F L^-T D^-1


def freeing(tree: Sweep, nodes: Sequence[Any], pairs: Sequence[Any]) -> Callable[..., Freed]:
    """The class of sweeps for these pairs of bodies that can touch."""
    return partial(Knotted, knots_of(tree, nodes, pairs)) if pairs else Freed


class Knotted(Freed):
    """Articulated-body sweeps with knots."""

    def __init__(self, knots: Sequence[Knot], *given: Any):
        super().__init__(*given)
        self.knots = {i: knot for knot in knots for i in knot.nodes}
        self.tied: dict[Any, Tied] = {}
        self.found: dict[Any, Any] = {}
        self.between: dict[Any, tuple[Any, Any]] = {}  # of a pair: h G, and minus the force

    def inward(self, nodes: Iterable[Any], loads: Mapping[Any, Sequence[Any]] = NOTHING) -> Any:
        total: Any = 0
        for i in nodes:
            knot = self.knots.get(i)
            if knot is None:
                total = total + super().inward([i], loads)
                continue
            for load in loads.get(i, ()):
                load.load(self)
            if i == knot.nodes[0]:  # everything that the others carry has been freed
                total = total + self.tie(knot)
        return total

    def tie(self, knot: Knot) -> Any:
        """Free the nodes of a knot; returns r . H^-1 r."""
        blocks, pulls, forces, below = self._gathered(knot)
        for pair in knot.pairs:
            _add(blocks, pulls, pair.columns, *self.between[pair.bodies])
        H = _assembled(knot.order, {i: len(pulls[i]) for i in knot.nodes}, blocks)
        factor = Factored(H)
        pivots = iter(factor.pivots)
        for i in knot.order:
            self.tree.guard(i, tuple(next(pivots) for _ in pulls[i]))
        r = factor.forward(x for i in knot.order for x in pulls[i])
        y = factor.divided(r)
        half = ForceSet()
        if below is not None:
            F = ForceSet(column for i in knot.order for column in forces[i].columns)
            half = ForceSet(factor.halves(F.columns)[1])
            self.I.add(below, ArticulatedInertia(frame=F.columns[0].frame).lowered(F, factor))
            self.p.add(below, half @ r)
        self.tied[knot.nodes[0]] = Tied(factor, y, below, half)
        return r.dot(y)

    def _gathered(self, knot: Knot) -> tuple[dict, dict, dict, Any]:
        """The blocks of the mass matrix, the forces, and the forces below the knot, without the pairs."""
        tree, X, S = self.tree, self.X, self.S
        blocks, pulls, forces = dict[Any, Any](), dict[Any, Any](), dict[Any, Any]()
        own, below = {i._replace(member=None) for i in knot.nodes}, None
        for j in reversed(knot.nodes):
            for i, F in tree.path(X, j, self.I[j] @ S[j]):
                k = i._replace(member=None)
                if k not in own:
                    forces[j], below = F, i
                    break
                blocks[k, j] = S[i].T @ F
            if j in self.inertia:
                blocks[j, j] = blocks[j, j] + self.inertia[j]
            pulls[j] = self.push[j] - S[j].T @ self.p[j]
            self.I.add(tree.parent(j), X[j].T @ self.I[j] @ X[j])
            self.p.add(tree.parent(j), X[j].T @ self.p[j])
        return blocks, pulls, forces, below

    def answer(self, i: Any, share: Any = 1) -> Any:
        knot = self.knots.get(i)
        if knot is None:
            return super().answer(i, share)
        if i == knot.nodes[0]:
            factor, y, below, half = self.tied[i]
            if below is not None:
                y = y - half.T @ self.A[below]
            d = iter(factor.backward(y))
            widths = {k: len(self.tree.node(k).v_index) for k in knot.order}
            self.found |= {k: Coordinates(next(d) for _ in range(widths[k])) for k in knot.order}
        return self.move(i, self.found[i])


def _add(blocks: dict, pulls: dict, columns: Mapping[Any, Any], stiff: Any, pull: Any) -> None:
    """Add a pair: J^T K J to the matrix, -J^T p to the forces."""
    for j, J in columns.items():
        F = stiff @ J
        pulls[j] = pulls[j] - J.T @ pull
        for i, other in columns.items():
            if (i, j) in blocks:
                blocks[i, j] = blocks[i, j] + other.T @ F
            elif (j, i) not in blocks:
                blocks[i, j] = other.T @ F


def _assembled(order: Sequence[Any], widths: Mapping[Any, int], blocks: Mapping[Any, Matrix]) -> Matrix:
    """The lower triangle of a symmetric matrix, from blocks; the upper triangle stays zero."""
    starts, size = {}, 0
    for i in order:
        starts[i], size = size, size + widths[i]
    rows: list[list[Any]] = [[0] * size for _ in range(size)]
    for (i, j), block in blocks.items():
        for a, row in enumerate(block.rows, starts[i]):
            for b, x in enumerate(row, starts[j]):
                rows[max(a, b)][min(a, b)] = x
    return Matrix(rows)
