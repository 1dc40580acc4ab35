"""A node with loops: its coordinates are those of all its joints, its velocities the independent ones.

    K(q) = d phi / d u,   K u = 0        u = G v,   G = [1; -K_d^-1 K_i]

with u the velocities of all joints, in any order: the independent ones and the dependent ones, of which there
are as many as rows are kept. Then the motion subspaces are S G, and everything else of the dynamics follows
(`Through`). The rates of G come from K G = 0:

    G_w = -K_d^-1 (K_w G)               G_uw = -K_d^-1 (K_uw G + K_w G_u + K_u G_w)

q need not be closed to the last digit: Newton steps q_d -= K_d^-1 phi are part of the kinematics, so that
every result is a function of the independent coordinates alone, with exact derivatives (`steps` Newton steps
for derivatives up to the order 2^steps - 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from kinetree import ops
from kinetree.joints.base import CoordinateJoint
from kinetree.model.coupling import Coupling, Own, Row, Rows, times
from kinetree.model.elimination import Factors, is_zero
from kinetree.model.node import Member, Node
from kinetree.model.ties import PREDECESSOR, Jet, Motions, Tie
from kinetree.spatial import Matrix
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import Number

# A loop that is open by more than this, in units of its size, is not taken for a rounded closed one.
OPEN_TOLERANCE = 1e-6
# A pivot of K_d below this, in units of what it usually is, stands at a dead point.
DEAD_TOLERANCE = 1e-7
# Newton steps that close a position after a step in time.
INTEGRATION_STEPS = 3


@dataclass(frozen=True)
class Closing:
    """What is closed in a node, and how it is solved for.

    name: for messages.
    rows: those that are kept, in the order of elimination.
    independent, dependent: places among the velocities of all joints, the latter in the order of elimination.
    pivots: how large the pivots usually are.
    reference: a position of all joints of the node in which it is closed.
    size: a length of it, m.
    steps: how many Newton steps close a position.
    """

    name: str
    rows: tuple[Tie, ...]
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    pivots: tuple[float, ...]
    reference: tuple[float, ...]
    size: float = 1.0
    steps: int = 1

    def changed(self, member: int, C: Transform) -> Closing:
        """The same after the frame of a member was changed by C."""
        return replace(self, rows=tuple(tie.changed(member, C) for tie in self.rows))

    def recent(self, members: tuple[Member, ...], q: Sequence[Number]) -> dict[int | None, Closed]:
        """What is known of the last position, by Newton steps: functions ask for it several times.

        Arrays and tensors can be written to, so nothing is known of them.
        """
        key, known = self.__dict__.get("_recent", ((), {}))
        asked = (members, *q)
        if len(key) != len(asked) or any(a is not b for a, b in zip(key, asked, strict=True)):
            known = {}
            if not any(hasattr(x, "shape") for x in q):
                self.__dict__["_recent"] = asked, known
        return known

    @property
    def width(self) -> int:
        """The number of velocities of all joints."""
        return len(self.independent) + len(self.dependent)


class LoopNode(Node):
    """A node whose `closing` is not None; its members are coupled to the velocities of all joints."""

    __slots__ = ()

    @property
    def solution(self) -> Closing:
        """Its `closing`."""
        assert self.closing is not None
        return self.closing

    @property
    def spanning(self) -> Node:
        """The same node with its loops cut: its velocities are those of all joints."""
        width = tuple(range(self.solution.width))
        return Node(*self[:4], width, self.u_index)

    @property
    def reference(self) -> tuple[Number, ...]:
        return self.solution.reference

    def at(self, q: Sequence[Number]) -> Node:
        """The node as it is at q: an ordinary one whose couplings go through the loops."""
        closed = self.closed(q)
        members = tuple(m._replace(coupling=Through(m.coupling, closed)) for m in self.members)
        return Node(self.number, self.predecessor, members, self.q_index, self.v_index, self.u_index)

    def closed(self, q: Sequence[Number], steps: int | None = None) -> Closed:
        """The position that Newton steps make of q, and what belongs to it.

        steps: how many; None for those that are part of every function, the last of them a small one.
        """
        known = self.solution.recent(self.members, q)
        if steps not in known:
            count = self.solution.steps if steps is None else steps
            before = self.closed(q, count - 1) if count else None
            start = before.stepped(is_small=steps is None) if before else q
            known[steps] = Closed(self.spanning, self.solution, start, before if steps is None else None)
        return known[steps]

    @property
    def structure(self) -> tuple:
        ties = tuple(tie.structure for tie in self.solution.rows)
        chosen = self.solution.independent, self.solution.dependent, self.solution.steps, self.solution.pivots
        return (*super().structure, ties, chosen)

    @property
    def parameters(self) -> tuple[Number, ...]:
        return (*super().parameters, *(x for tie in self.solution.rows for x in tie.parameters))

    def with_parameters(self, numbers: Sequence[Number]) -> Node:
        rest = list(numbers)
        count = len(super().parameters)
        node, rows = super().with_parameters(rest[:count]), []
        for tie in self.solution.rows:
            width = len(tie.parameters)
            rows.append(tie.with_parameters(rest[count : count + width]))
            count += width
        return node._replace(closing=replace(self.solution, rows=tuple(rows)))

    def kinematics(self, q: Sequence[Number]) -> tuple[Any, Any]:
        return self.at(q).kinematics(q)

    def motion(self, m: Member, q: Sequence[Number]) -> Any:
        node = self.at(q)
        return node.motion(node.members[self.members.index(m)], q)

    def partials(self, q: Sequence[Number]) -> tuple[Any, ...]:
        return self.at(q).partials(q)

    def ring(self, q: Sequence[Number], v: Sequence[Number]) -> Any:
        return self.at(q).ring(q, v)

    def slopes(self, q: Sequence[Number], v: Sequence[Number]) -> tuple[Any, ...]:
        return self.at(q).slopes(q, v)

    def soundness(self, q: Sequence[Number]) -> list[Number]:
        return [*super().soundness(q), *self.openness(q), *self.deadness(q)]

    def openness(self, q: Sequence[Number]) -> list[Number]:
        """A number that is at least 1 if the loops are closed at q."""
        by_unit: dict[float, Number] = {}
        for tie, value in zip(self.solution.rows, self.closed(q, 0).phi, strict=True):
            by_unit[tie.unit] = by_unit.get(tie.unit, 0) + value * value
        total: Number = 0
        for unit, square in by_unit.items():
            total = total + square * (1.0 / (OPEN_TOLERANCE * unit) ** 2)
        return [2 - total]

    def deadness(self, q: Sequence[Number]) -> list[Number]:
        """Numbers that are at least 1 if the dependent velocities follow from the independent ones at q."""
        pivots = zip(self.closed(q, 0).factors.pivots, self.solution.pivots, strict=True)
        return [ops.abs(pivot * (1.0 / (DEAD_TOLERANCE * usual))) for pivot, usual in pivots]

    def reflected(self, q: Sequence[Number], x: Sequence[Number]) -> Matrix:
        rows, width = self.closed(q).G, len(self.v_index)
        total: list[list[Number]] = [[0] * width for _ in range(width)]
        for row, weight in zip(rows, x, strict=True):
            for i, a in row:
                for k, b in row:
                    total[i][k] = total[i][k] + a * b * weight
        return Matrix(total)

    @property
    def has_whole_joints(self) -> bool:
        """True if of no joint with quasi-velocities some are independent and others not."""
        for m, own in own_joints(self):
            free = sum(j in self.solution.independent for j in own.places)
            if 0 < free < own.nv and not isinstance(m.joint, CoordinateJoint):
                return False
        return True

    def integrate(self, q: Sequence[Number], dv: Sequence[Number]) -> Sequence[Number]:
        """The closed position reached from q by moving with the velocity dv for a unit of time."""
        start = self.closed(q)
        return self.closed(start.moved(start.velocities(dv)), INTEGRATION_STEPS).q

    def difference(self, q0: Sequence[Number], q1: Sequence[Number]) -> Sequence[Number]:
        """The velocity that leads from q0 to q1: what the independent joints move by."""
        found: dict[int, Number] = {}
        for m, own in own_joints(self):
            found |= enumerate(m.joint.difference(own.positions(q0), own.positions(q1)), own.v_start)
        return [found[j] for j in self.solution.independent]

    def rate(self, q: Sequence[Number], v: Sequence[Number]) -> Sequence[Number]:
        """The rates of the coordinates of all joints."""
        closed, found = self.closed(q), list(q)
        u = closed.velocities(v)
        for m, own in own_joints(self):
            rates = m.joint.rate(own.positions(closed.q), tuple(u[own.v_start : own.v_start + own.nv]))
            found[own.q_start : own.q_start + own.nq] = rates
        return found


def own_joints(node: Node) -> Iterator[tuple[Member, Own]]:
    """The members whose joints have coordinates of their own, and where these stand."""
    for m in node.members:
        if m.body and isinstance(m.coupling, Own) and m.coupling.nv:
            yield m, m.coupling


class Closed:
    """One position of a node with loops: q closed, G and its rates.

    near: a position that a small step led from.
    """

    def __init__(self, node: Node, closing: Closing, q: Sequence[Number], near: Closed | None = None):
        self.node, self.closing, self.q, self.near = node, closing, q, near
        self.members = reached(node, closing.rows)
        self._last: tuple[Any, ...] = (None, None, None)

    def stepped(self, is_small: bool = False) -> list[Number]:
        """The position after a Newton step: nearer to a closed one.

        The step leaves an error of its second order. So where it is small, it is taken along a tangent, which
        needs no sines and cosines of new angles.
        """
        u: list[Number] = [0] * self.closing.width
        for j, x in zip(self.closing.dependent, self.factors.solved(self.phi), strict=True):
            u[j] = -x
        return self.nudged(u) if is_small else self.moved(u)

    def rows(self, *along: Sequence[Number]) -> tuple[list[Number], list[dict[int, Jet]]]:
        """phi and the rows of K, with derivatives along velocities of all joints."""
        motions = Motions(self.node, self.members, self.q, *along)
        found = [tie.row(motions) for tie in self.closing.rows]
        return [jet[0] for jet, _ in found], [columns for _, columns in found]

    @cached_property
    def _here(self) -> tuple[list[Number], list[dict[int, Jet]]]:
        return self.rows()

    @property
    def phi(self) -> list[Number]:
        """By how much each row is open."""
        return self._here[0]

    @cached_property
    def factors(self) -> Factors:
        """K_d, ready to solve with."""
        rows = [self._entries(self.closing.dependent, row) for row in self._here[1]]
        return Factors(rows, self.near.factors if self.near else None)

    def _entries(self, places: Sequence[int], row: dict[int, Jet]) -> list[Number]:
        return [row[j][0] if j in row else 0 for j in places]

    def moved(self, u: Sequence[Number]) -> list[Number]:
        """q after all joints moved with the velocities u for a unit of time."""
        q = list(self.q)
        for m, own in own_joints(self.node):
            step = tuple(u[own.v_start : own.v_start + own.nv])
            if not all(map(is_zero, step)):
                q[own.q_start : own.q_start + own.nq] = m.joint.integrate(own.positions(self.q), step)
        return q

    def nudged(self, u: Sequence[Number]) -> list[Number]:
        """The same to the first order."""
        q = list(self.q)
        for m, own in own_joints(self.node):
            step = tuple(u[own.v_start : own.v_start + own.nv])
            if not all(map(is_zero, step)):
                places = range(own.q_start, own.q_start + own.nq)
                for k, rate in zip(places, m.joint.rate(own.positions(self.q), step), strict=True):
                    q[k] = ops.nearby(q[k], rate)
        return q

    @cached_property
    def G(self) -> Rows:
        """u = G v, a row for each velocity of all joints."""
        rows = [self._entries(self.closing.independent, row) for row in self._here[1]]
        return self._spread([self.factors.solved(column) for column in zip(*rows, strict=True)], 1)

    def _spread(self, columns: Sequence[Sequence[Number]], unit: int) -> Rows:
        """Rows for all joints from columns of what stands at the dependent ones, with its sign changed."""
        found: list[Row] = [()] * self.closing.width
        if unit:
            for k, j in enumerate(self.closing.independent):
                found[j] = ((k, unit),)
        for place, j in enumerate(self.closing.dependent):
            entries = ((k, -column[place]) for k, column in enumerate(columns))
            found[j] = tuple((k, x) for k, x in entries if not (ops.is_literal(x) and x == 0))
        return tuple(found)

    def velocities(self, v: Sequence[Number]) -> list[Number]:
        """G v."""
        return [sum((f * v[k] for k, f in row), 0) for row in self.G]

    def rate(self, w: Sequence[Number]) -> Rows:
        """The rate of G while the node moves with w."""
        if self._last[0] is not w or self._last[1] is not None:
            self._last = w, None, self._rate(w)
        return self._last[2]

    def _rate(self, w: Sequence[Number]) -> Rows:
        _, K = self.rows(self.velocities(w))
        return self._spread(
            [self.factors.solved(_times(K, 1, column)) for column in self._columns(self.G)], 0
        )

    def drift(self, w: Sequence[Number], x: Sequence[Number]) -> list[Number]:
        """The rate of G while the node moves with w, times x."""
        if self._last[0] is not w or self._last[1] is not x:
            self._last = w, x, self._drift(w, x)
        return self._last[2]

    def _drift(self, w: Sequence[Number], x: Sequence[Number]) -> list[Number]:
        motions = Motions(self.node, self.members, self.q, self.velocities(w), self.velocities(x))
        found = self.factors.solved([tie.row(motions)[0][3] for tie in self.closing.rows])
        rates: list[Number] = [0] * self.closing.width
        for j, value in zip(self.closing.dependent, found, strict=True):
            rates[j] = -value
        return rates

    def second(self, u: Sequence[Number], w: Sequence[Number]) -> Rows:
        """The derivative along u of the rate of G along w, both constant."""
        U, W = self.velocities(u), self.velocities(w)
        G_u, G_w = self.rate(u), self.rate(w)
        turned = [sum((f * w[k] for k, f in row), 0) for row in G_u]
        _, K = self.rows(U, W)
        _, T = self.rows(turned)
        found = []
        for g, g_u, g_w in zip(*map(self._columns, (self.G, G_u, G_w)), strict=True):
            parts = _times(K, 3, g), _times(T, 1, g), _times(K, 2, g_u), _times(K, 1, g_w)
            found.append(self.factors.solved([a + b + c + d for a, b, c, d in zip(*parts, strict=True)]))
        return self._spread(found, 0)

    def _columns(self, rows: Rows) -> list[dict[int, Number]]:
        """The columns of a matrix that is given by rows."""
        columns: list[dict[int, Number]] = [{} for _ in self.closing.independent]
        for j, row in enumerate(rows):
            for k, x in row:
                columns[k][j] = x
        return columns


class Through(Coupling):
    """A coupling to the velocities of all joints, in terms of the independent ones of a node with loops."""

    __slots__ = ("closed", "inner")

    def __init__(self, inner: Coupling, closed: Closed):
        self.inner, self.closed = inner, closed

    def positions(self, q: Any) -> tuple[Number, ...]:
        return self.inner.positions(self.closed.q)

    def G(self, q: Any) -> Rows:
        return self._through(self.closed.G)

    def G_partials(self, q: Any) -> tuple[Rows, ...]:
        width = range(len(self.closed.closing.independent))
        return tuple(self.G_rate(q, [int(j == k) for j in width]) for k in width)

    def G_rate(self, q: Any, v: Any) -> Rows:
        return self._through(self.closed.rate(v))

    def G_drift(self, q: Any, v: Any, x: Any) -> tuple[Number, ...]:
        rates = self.closed.drift(v, x)
        return tuple(sum((times(rates[j], f) for j, f in row), 0) for row in self.inner.G(self.closed.q))

    def G_second(self, q: Any, u: Any, v: Any) -> Rows:
        return self._through(self.closed.second(u, v))

    def _through(self, rows: Rows) -> Rows:
        found = []
        for row in self.inner.G(self.closed.q):
            total: dict[int, Number] = {}
            for j, factor in row:
                for k, x in rows[j]:
                    part = times(x, factor)
                    total[k] = total[k] + part if k in total else part
            found.append(tuple(total.items()))
        return tuple(found)

    @property
    def structure(self) -> tuple:
        return ("through", self.inner.structure)

    def among(self, q_place: Any, v_place: Any) -> Coupling:
        raise TypeError("a coupling through loops belongs to its node")


def _times(rows: Sequence[dict[int, Jet]], mask: int, x: dict[int, Number]) -> list[Number]:
    """A derivative of K times a column."""
    return [sum((column[mask] * x[j] for j, column in row.items() if j in x), 0) for row in rows]


def reached(node: Node, ties: Sequence[Tie]) -> frozenset[int]:
    """The members that carry something of the rows, and those that carry these."""
    found: set[int] = set()
    for tie in ties:
        for carried in tie.carried:
            k = carried.member
            while k != PREDECESSOR and k not in found:
                found.add(k)
                k = node.members[k].carrier
    return frozenset(found)
