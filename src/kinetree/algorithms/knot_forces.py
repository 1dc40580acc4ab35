"""Knots whose forces are solved for: the nodes are freed one by one, and a correction of few rows is added.

The sweep that frees the nodes carries a unit of each force along. A body feels the forces -f of another, and
moves relative to it with w along them. If the body below the knot moves with A,

    w = b - K f + F^T A        f = p + G w

with b the velocities without these forces, K = K^T those that units of them cause, and F what units of them
do to the body below. So f follows from

    (K + 1/G) f = b + p / G + F^T A

No large numbers are subtracted, however stiff the contact. A force that yields more than the nodes is found
as f - p, with b - K p on the right, so it may vanish. The forces found move the nodes exactly; G w is off by
G times the rounding error of w. So the next Newton step continues from them (`PairPatch.moved`), and forces
and motion agree in single precision too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kinetree import ops
from kinetree.algorithms.freed import Freed
from kinetree.algorithms.knots import Knot
from kinetree.spatial import Coordinates, Factored, Force, ForceSet, Matrix
from kinetree.spatial import vector as vec
from kinetree.spatial.articulated import ArticulatedInertia

SOFT = 1e-15  # kg: the least G, which is a stiffness times the square of a step


class Unit(NamedTuple):
    """A unit of a force between two bodies."""

    bodies: Any
    point: int
    direction: vec.Vector
    stiff: Any  # G
    part: Any  # p
    on: Any  # what it does to the nodes of a knot, and to the body below


class ByForces:
    """The nodes of a knot, freed by a sweep."""

    f: Coordinates  # the forces, while the body below does not move
    factor: Factored  # of K + 1/G = L D L^T
    half: ForceSet  # F L^-T D^-1

    def __init__(self, sweep: Any, knot: Knot):
        self.sweep, self.knot = sweep, knot
        self.units: list[Unit] = []
        self.felt: dict[Any, tuple[Matrix, Matrix]] = {}  # of each node: S^T of all units, D^-1 of that

    def free(self, i: Any) -> Any:
        """Free a node; the last one returns r . H^-1 r for the knot, all others 0."""
        sweep, nodes = self.sweep, self.knot.nodes
        if i == nodes[-1]:
            self.begin()
        Freed.free(sweep, i)
        X, S, U, D, below = sweep.X[i], sweep.S[i], sweep.U[i], sweep.D[i], sweep.tree.parent(i)
        felt = Matrix(S.T @ unit.on[i] for unit in self.units)
        moved = Matrix(D.solve(x) for x in felt.rows)
        self.felt[i] = felt, moved
        for unit, y in zip(self.units, moved.rows, strict=True):
            F = unit.on[i] - U @ y
            unit.on.add(below, X.T @ (F if i in sweep.inertia else F.known_along(S, [0] * len(y))))
        return self.close(below) if i == nodes[0] else 0

    def begin(self) -> None:
        """Put units of all forces on the bodies."""
        tree = self.sweep.tree
        for pair in self.knot.pairs:
            a, b = pair.bodies
            for k, grip in enumerate(self.sweep.grips[pair.bodies]):
                for direction, stiff, part in _separate(grip):
                    F = (grip.way.T @ Force(vec.ZERO, direction)).tagged(pair.across.target)
                    on = tree.sums(Force)
                    for i in self.knot.nodes:
                        on[i] = tree.zero(i, Force)
                    on.add(a, F)
                    on.add(b, -(pair.across.T @ F))
                    self.units.append(Unit(pair.bodies, k, direction, stiff, part, on))

    def close(self, below: Any) -> Any:
        """Find the forces while the body below does not move, and pass on to it what it feels."""
        sweep, each = self.sweep, range(len(self.units))
        b, lower = Coordinates(0 for _ in each), Matrix([0] * (j + 1) for j in each)
        for i, (felt, moved) in self.felt.items():
            b = b + felt @ sweep.y[i]
            rows = [Coordinates(row) for row in felt.rows]
            lower = lower + Matrix([rows[j].dot(moved.rows[k]) for k in range(j + 1)] for j in each)
        K = Matrix([lower.rows[max(j, k)][min(j, k)] for k in each] for j in each)
        G, p = Matrix.diagonal([unit.stiff for unit in self.units]), Coordinates(u.part for u in self.units)
        slack = Matrix.diagonal([1.0 / unit.stiff for unit in self.units])
        is_soft = [ops.less(K.rows[j][j] * G.rows[j][j], 1.0) for j in each]
        known = Coordinates(ops.where(soft, x, 0.0) for soft, x in zip(is_soft, p, strict=True))
        self.factor = Factored(K + slack)
        self.f = f = known + self.factor.solve(b + slack @ (p - known) - K @ known)
        F = ForceSet(unit.on[below] for unit in self.units)
        self.half = ForceSet(self.factor.halves(F.columns)[1])
        sweep.I.add(below, -ArticulatedInertia(frame=F.columns[0].frame).lowered(F, self.factor))
        sweep.p.add(below, F @ f)
        w = b - K @ f
        total = w.dot(G @ w)
        for i, (felt, moved) in self.felt.items():
            r = sweep.push[i] - sweep.S[i].T @ sweep.p[i]
            total = total + (r - felt.T @ f).dot(sweep.y[i] - moved.T @ f)
        return total

    def answer(self, i: Any) -> Any:
        """The velocities of a node."""
        sweep = self.sweep
        if i == self.knot.nodes[0]:
            self.f = self.f + self.factor.backward(self.half.T @ sweep.A[sweep.tree.parent(i)])
            for unit, x in zip(self.units, self.f, strict=True):
                found = sweep.forces.setdefault(unit.bodies, {})
                found[unit.point] = vec.add(found.get(unit.point, vec.ZERO), vec.scale(unit.direction, x))
        return sweep.reply(i, sweep.y[i] - self.felt[i][1].T @ self.f)


def _separate(grip: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Directions l, stiffnesses g and numbers p with G = sum of g l l^T, pull = sum of p l.

    Those along the ground follow from an elimination that begins with the larger diagonal entry.
    """
    xx, yy, zz, xy, *_ = grip.stiff.M
    x, y, z = grip.pull.linear
    is_x = ops.less(yy, xx)
    more, less, first, second = (ops.where(is_x, a, b) for a, b in ((xx, yy), (yy, xx), (x, y), (y, x)))
    more = ops.max(more, SOFT)
    share = xy / more
    yield (ops.where(is_x, 1.0, share), ops.where(is_x, share, 1.0), 0), more, first
    rest = ops.max(less - share * xy, SOFT)
    yield (ops.where(is_x, 0.0, 1.0), ops.where(is_x, 1.0, 0.0), 0), rest, second - share * first
    yield (0, 0, 1), ops.max(zz, SOFT), z
