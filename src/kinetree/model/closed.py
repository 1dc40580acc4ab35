"""A closed position of a node with loops, and how all its velocities follow from the independent ones.

`Closed` has the rows of the closures, G and its rates (equations in `loop.py`); `Through` is a coupling that
goes through it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kinetree import ops
from kinetree.model.carried import PREDECESSOR, Jet, Motions
from kinetree.model.coupling import Coupling, Own, Row, Rows, times
from kinetree.model.elimination import Factors, is_zero
from kinetree.model.node import Member, Node
from kinetree.model.ties import Tie
from kinetree.spatial import vector as vec
from kinetree.spatial.motion import Motion
from kinetree.spatial.spread import Spread
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import Matrix, Number

if TYPE_CHECKING:
    from kinetree.model.loop import Closing


def own_joints(node: Node) -> Iterator[tuple[Member, Own]]:
    """The members whose joints have coordinates of their own, and the places of these."""
    for m in node.members:
        if m.body and isinstance(m.coupling, Own) and m.coupling.nv:
            yield m, m.coupling


class Closed:
    """One position of a node with loops: q closed, G and its rates.

    near: the position from which a small step led here.
    """

    def __init__(self, node: Node, closing: Closing, q: Sequence[Number], near: Closed | None = None):
        self.node, self.closing, self.q, self.near = node, closing, q, near
        self._last: tuple[Any, ...] = (None, None, None)

    def stepped(self, is_small: bool = False) -> list[Number]:
        """The position after a Newton step towards a closed one.

        The step leaves a second-order error. A small step is therefore taken along the tangent, which needs
        no sines and cosines of new angles.
        """
        u = self._still(self._solved(self.phi))
        return self.nudged(u) if is_small else self.moved(u)

    def rows(self, *along: Sequence[Number]) -> list[dict[int, Jet]]:
        """The rows of K, with derivatives along velocities of all joints."""
        return [columns for _, columns in self._rows(*along)]

    def _rows(self, *along: Sequence[Number]) -> list[tuple[Jet, dict[int, Jet]]]:
        """phi and the row of K of each tie, in the axes in which most of it is zero.

        Without derivatives K is the one that is solved: that of velocities along steady axes.
        """
        rows, steady = self.closing.rows, () if along else self.closing.steady
        found: dict[int, tuple[Jet, dict[int, Jet]]] = {}
        for axes, places in _by_axes(rows).items():
            members = reached(self.node, [rows[k] for k in places])
            turn = None if axes is None else Transform(axes)
            motions = Motions(self.node, members, self.q, *along, base=turn, steady=steady)
            found |= {k: rows[k].row(motions) for k in places}
        return [found[k] for k in range(len(rows))]

    @cached_property
    def _here(self) -> tuple[list[Number], list[dict[int, Jet]]]:
        found = self._rows()
        return [jet[0] for jet, _ in found], [columns for _, columns in found]

    @property
    def phi(self) -> list[Number]:
        """The gap of each row."""
        return self._here[0]

    @cached_property
    def factors(self) -> Factors:
        """K_d, factored for solving."""
        rows = [self._entries(self.closing.dependent, row) for row in self._here[1]]
        return Factors(rows, self.near.factors if self.near else None)

    @cached_property
    def _turns(self) -> list[tuple[list[int], Transform]]:
        """Places, in threes, of dependent velocities along steady axes, and the turn to their own axes."""
        found = []
        for k, axes in self.closing.steady:
            own, turn = self.node.members[k].coupling, self._way(k) @ Transform(vec.transpose(axes))
            assert isinstance(own, Own)
            places = [self.closing.dependent.index(j) for j in own.places]
            found += [(places[n : n + 3], turn) for n in range(0, len(places), 3)]
        return found

    def _way(self, k: int) -> Transform:
        """The transform to a member from the body that carries the node."""
        m = self.node.members[k]
        step = m.joint.placement(m.coupling.positions(self.q)).following(m.placement)
        return step if m.carrier == PREDECESSOR else step @ self._way(m.carrier)

    def _solved(self, b: Sequence[Number]) -> list[Number]:
        """The dependent velocities x of K_d x = b, along their own axes."""
        x = self.factors.solved(b)
        for places, turn in self._turns:
            for k, part in zip(places, turn.turned(tuple(x[k] for k in places)), strict=True):
                x[k] = part
        return x

    def held(self, f: Sequence[Number]) -> list[Number]:
        """The forces in the rows that hold forces f at all joints: the x of K_d^T x = f_d."""
        b = [f[j] for j in self.closing.dependent]
        for places, turn in self._turns:
            for k, part in zip(places, turn.turned_back(tuple(b[k] for k in places)), strict=True):
                b[k] = part
        return self.factors.transposed_solved(b)

    def _entries(self, places: Sequence[int], row: dict[int, Jet]) -> list[Number]:
        return [row[j][0] if j in row else 0 for j in places]

    def moved(self, u: Sequence[Number]) -> list[Number]:
        """q after all joints have moved with the velocities u for a unit of time."""
        q = list(self.q)
        for m, own in own_joints(self.node):
            step = tuple(u[own.v_start : own.v_start + own.nv])
            if not all(map(is_zero, step)):
                q[own.q_start : own.q_start + own.nq] = m.joint.integrate(own.positions(self.q), step)
        return q

    def nudged(self, u: Sequence[Number]) -> list[Number]:
        """`moved`, to first order."""
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
        """G of u = G v, with one row for each velocity of all joints."""
        rows = [self._entries(self.closing.independent, row) for row in self._here[1]]
        return self._spread([self._solved(column) for column in zip(*rows, strict=True)], 1)

    def _spread(self, columns: Sequence[Sequence[Number]], unit: int) -> Rows:
        """Rows for all joints, from negated columns for the dependent ones."""
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
        if self.closing.has_matrix:
            return [sum((f * v[k] for k, f in row), 0) for row in self.G]
        driven = dict(zip(self.closing.independent, v, strict=True))
        u = self._still(self._solved([_dot(row, driven) for row in self._here[1]]))
        for j, x in driven.items():
            u[j] = x
        return u

    def forces(self, f: Sequence[Number]) -> list[Number]:
        """G^T f."""
        if self.closing.has_matrix:
            total: list[Number] = [0] * len(self.closing.independent)
            for row, x in zip(self.G, f, strict=True):
                for k, factor in row:
                    total[k] = total[k] + factor * x
            return total
        held, found = self.held(f), []
        for j in self.closing.independent:
            pull = [times(x, K[j][0]) for K, x in zip(self._here[1], held, strict=True) if j in K]
            found.append(f[j] - sum(pull, 0))
        return found

    def _still(self, found: Sequence[Number]) -> list[Number]:
        """Numbers for all joints: the negated ones given for the dependent joints, zero for the others."""
        u: list[Number] = [0] * self.closing.width
        for j, x in zip(self.closing.dependent, found, strict=True):
            u[j] = -x
        return u

    def rate(self, w: Sequence[Number]) -> Rows:
        """The rate of G while the node moves with velocity w."""
        if self._last[0] is not w or self._last[1] is not None:
            self._last = w, None, self._rate(w)
        return self._last[2]

    def _rate(self, w: Sequence[Number]) -> Rows:
        K = self.rows(self.velocities(w))
        return self._spread([self._solved(_times(K, 1, column)) for column in self._columns(self.G)], 0)

    def drift(self, w: Sequence[Number], x: Sequence[Number]) -> list[Number]:
        """The rate of G while the node moves with velocity w, times x."""
        if self._last[0] is not w or self._last[1] is not x:
            self._last = w, x, self._drift(w, x)
        return self._last[2]

    def _drift(self, w: Sequence[Number], x: Sequence[Number]) -> list[Number]:
        rows = self._rows(self.velocities(w), self.velocities(x))
        return self._still(self._solved([jet[3] for jet, _ in rows]))

    def second(self, u: Sequence[Number], w: Sequence[Number]) -> Rows:
        """The derivative along u of the rate of G along w, both constant."""
        U, W = self.velocities(u), self.velocities(w)
        G_u, G_w = self.rate(u), self.rate(w)
        turned = [sum((f * w[k] for k, f in row), 0) for row in G_u]
        K, T = self.rows(U, W), self.rows(turned)
        found = []
        for g, g_u, g_w in zip(*map(self._columns, (self.G, G_u, G_w)), strict=True):
            parts = _times(K, 3, g), _times(T, 1, g), _times(K, 2, g_u), _times(K, 1, g_w)
            found.append(self._solved([a + b + c + d for a, b, c, d in zip(*parts, strict=True)]))
        return self._spread(found, 0)

    def _columns(self, rows: Rows) -> list[dict[int, Number]]:
        """The columns of a matrix that is given by rows."""
        columns: list[dict[int, Number]] = [{} for _ in self.closing.independent]
        for j, row in enumerate(rows):
            for k, x in row:
                columns[k][j] = x
        return columns


class Wide(Node):
    """A node at a position, with couplings through loops; it has so many velocities that S = S_span G is kept
    as factors (`spatial/spread.py`)."""

    __slots__ = ()

    @property
    def closed(self) -> Closed:
        coupling = self.members[0].coupling
        assert isinstance(coupling, Through)
        return coupling.closed

    def kinematics(self, q: Sequence[Number]) -> tuple[Any, Any]:
        closed = self.closed
        X, S = closed.node.kinematics(closed.q)
        _ = closed.G  # evaluated here: inside a loop of a trace it would not be valid after it
        return X, Spread(S, closed, len(self.v_index))

    def _drift(self, q: Sequence[Number], w: Sequence[Number], x: Sequence[Number]) -> list[Motion]:
        """d_w (S_span G) x = (d S_span) G x + S_span (dG x)."""
        closed = self.closed
        _, S = closed.node.kinematics(closed.q)
        found = closed.node._drift(closed.q, closed.velocities(w), closed.velocities(x))
        more = S @ closed.drift(w, x)
        return [a + b for a, b in zip(found, more.values, strict=True)]


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


def _by_axes(ties: Sequence[Tie]) -> dict[Matrix | None, list[int]]:
    """Rows by the axes in which they are written; the rows of one closure share theirs. None stands for the
    axes of the body that carries the node, also where axes are not known while a program is made."""
    by_ends = {tie.ends: tie.base for tie in ties if tie.base is not None}
    found: dict[Matrix | None, list[int]] = {}
    for k, tie in enumerate(ties):
        axes = by_ends.get(tie.ends) if tie.carried else None
        if axes is not None and not all(ops.is_literal(x) for row in axes for x in row):
            axes = None
        found.setdefault(None if axes == vec.IDENTITY else axes, []).append(k)
    return found


def _dot(row: dict[int, Jet], x: dict[int, Number]) -> Number:
    return sum((times(x[j], row[j][0]) for j in x if j in row), 0)


def _times(rows: Sequence[dict[int, Jet]], mask: int, x: dict[int, Number]) -> list[Number]:
    """A derivative of K times a column."""
    return [sum((column[mask] * x[j] for j, column in row.items() if j in x), 0) for row in rows]


def reached(node: Node, ties: Sequence[Tie]) -> frozenset[int]:
    """The members with points or directions of the rows, and those that carry them."""
    found: set[int] = set()
    for tie in ties:
        for carried in tie.carried:
            k = carried.member
            while k != PREDECESSOR and k not in found:
                found.add(k)
                k = node.members[k].carrier
    return frozenset(found)
