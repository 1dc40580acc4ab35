"""Knots whose velocities are solved for: each is one joint with many velocities to the body that carries it.

The matrix H = L D L^T holds the inertias of everything the nodes carry. The zeros of L follow from the tree
and the pairs alone, and cost nothing in recorded programs; the order of elimination keeps L sparse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kinetree.algorithms.knots import Knot
from kinetree.spatial import Coordinates, Factored, ForceSet, Matrix
from kinetree.spatial.articulated import ArticulatedInertia


class ByVelocities:
    """The nodes of a knot, freed by a sweep as one joint."""

    factor: Factored  # of H
    y: Coordinates  # D^-1 L^-1 r, with the forces r on the velocities
    half: ForceSet  # F L^-T D^-1, with the forces F passed on to the body below

    def __init__(self, sweep: Any, knot: Knot):
        self.sweep, self.knot = sweep, knot
        self.below: Any = None  # the body that carries the knot; None for the world
        self.found: dict[Any, Any] = {}

    def free(self, i: Any) -> Any:
        """Free all nodes when the sweep reaches the last; returns r . H^-1 r then, 0 before."""
        return self.tie() if i == self.knot.nodes[0] else 0

    def tie(self) -> Any:
        """Free all nodes, after everything that they carry."""
        sweep, knot = self.sweep, self.knot
        blocks, pulls, forces = self._gathered()
        for pair in knot.pairs:
            for way, stiff, pull in sweep.grips[pair.bodies]:
                _add(blocks, pulls, {i: way @ J for i, J in pair.columns.items()}, stiff, pull)
        self.factor = Factored(_assembled(knot.order, {i: len(pulls[i]) for i in knot.nodes}, blocks))
        pivots = iter(self.factor.pivots)
        for i in knot.order:
            sweep.tree.guard(i, tuple(next(pivots) for _ in pulls[i]))
        r = self.factor.forward(x for i in knot.order for x in pulls[i])
        self.y = self.factor.divided(r)
        if self.below is not None:
            F = ForceSet(column for i in knot.order for column in forces[i].columns)
            self.half = ForceSet(self.factor.halves(F.columns)[1])
            frame = F.columns[0].frame
            sweep.I.add(self.below, ArticulatedInertia(frame=frame).lowered(F, self.factor))
            sweep.p.add(self.below, self.half @ r)
        return r.dot(self.y)

    def _gathered(self) -> tuple[dict, dict, dict]:
        """The blocks of the mass matrix, the forces, and the forces below the knot, without the pairs."""
        sweep, nodes = self.sweep, self.knot.nodes
        tree, X, S, I, p = sweep.tree, sweep.X, sweep.S, sweep.I, sweep.p
        blocks, pulls, forces = dict[Any, Any](), dict[Any, Any](), dict[Any, Any]()
        own = {i._replace(member=None) for i in nodes}
        for j in reversed(nodes):
            for i, F in tree.path(X, j, I[j] @ S[j]):
                k = i._replace(member=None)
                if k not in own:
                    forces[j], self.below = F, i
                    break
                blocks[k, j] = S[i].T @ F
            if j in sweep.inertia:
                blocks[j, j] = blocks[j, j] + sweep.inertia[j]
            pulls[j] = sweep.push[j] - S[j].T @ p[j]
            I.add(tree.parent(j), X[j].T @ I[j] @ X[j])
            p.add(tree.parent(j), X[j].T @ p[j])
        return blocks, pulls, forces

    def answer(self, i: Any) -> Any:
        """The velocities of a node; all of them are found when the sweep reaches the first."""
        sweep, order = self.sweep, self.knot.order
        if i == self.knot.nodes[0]:
            y = self.y if self.below is None else self.y - self.half.T @ sweep.A[self.below]
            d = iter(self.factor.backward(y))
            widths = {k: len(sweep.tree.node(k).v_index) for k in order}
            self.found = {k: Coordinates(next(d) for _ in range(widths[k])) for k in order}
        return sweep.move(i, self.found[i])


def _add(blocks: dict, pulls: dict, columns: Mapping[Any, Any], stiff: Any, pull: Any) -> None:
    """Add a grip: J^T G J to the matrix, -J^T p to the forces."""
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
