"""The rows of closures, with derivatives: products of points and directions that the members of a node carry.

All is said in the axes of the body that carries the node. A column J_j is the motion of a member by the
velocity j of its spanning coordinates, at the origin of that body; while the members move with W,

    d_W J_j = V x J_j + X^-1 d_W S_j        V = sum_k W_k J_k over the joints down to that of the column

so a point r and a direction c that a member carries change by dr = w x r + v and dc = w x c. Rows are products
of these, and so are their derivatives: an array by mask, with bit k set for a derivative along direction k.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from kinetree.joints.base import Joint
from kinetree.model.coupling import Coupling
from kinetree.spatial import vector as vec
from kinetree.spatial.motion import Motion
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import Number, Vector

PREDECESSOR = -1
Jet = dict[int, Any]  # mask -> derivative
Columns = dict[int, Jet]  # spanning velocity -> its column


class Carried(NamedTuple):
    """A point, or a direction, that a member carries; in that member's frame."""

    member: int
    vector: Vector
    is_point: bool = False

    def changed(self, member: int, C: Transform) -> Carried:
        """The same after the frame of a member was changed by C."""
        if self.member != member:
            return self
        base = vec.sub(self.vector, C.translation) if self.is_point else self.vector
        return self._replace(vector=C.turned(base))


class Motions:
    """How the members of a spanning node move at q, with derivatives along up to two velocities.

    Args:
        node: the spanning node.
        members: those that are asked for.
    """

    def __init__(self, node: Any, members: frozenset[int], q: Sequence[Number], *along: Sequence[Number]):
        self.node, self.q, self.along = node, q, along
        self.masks = range(1 << len(along))
        self.X: dict[int, Transform] = {}
        self.J: dict[int, Columns] = {PREDECESSOR: {}}
        self.V: dict[int, list[Jet]] = {PREDECESSOR: [{0: Motion(), 1: Motion()} for _ in along]}
        self._carried: dict[Carried, tuple[Jet, Columns]] = {}
        for k, m in enumerate(node.members):
            if k in members:
                self._visit(k, m)

    def _visit(self, k: int, m: Any) -> None:
        own = m.coupling.positions(self.q)
        step = m.joint.placement(own).following(m.placement)
        X = self.X[k] = step if m.carrier == PREDECESSOR else step @ self.X[m.carrier]
        back = X.inverse()
        places = {place for row in m.coupling.G(self.q) for place, _ in row}
        columns: Columns = {j: {0: back @ S} for j, S in enumerate(self.node.motion(m, self.q).columns) if j in places}
        V = [dict(jet) for jet in self.V[m.carrier]]
        self._along(m, V, columns, back)
        self.J[k], self.V[k] = self.J[m.carrier] | columns, V

    def _along(self, m: Any, V: list[Jet], columns: Columns, back: Transform) -> None:
        """Derivatives of the columns of one member's own joint, and the velocities that it moves with."""
        turning = type(m.joint).subspace_partials is not Joint.subspace_partials
        own: list[Any] = []
        for d, w in enumerate(self.along):
            for j, jet in columns.items():
                V[d][0] = V[d][0] + jet[0] * w[j]
            own.append(self.node._own_derivative(m, self.q, w).columns if turning else ())
            for j, jet in columns.items():
                jet[1 << d] = V[d][0].cross(jet[0])
                if turning:
                    jet[1 << d] = jet[1 << d] + back @ own[d][j]
        if len(self.along) < 2:
            return
        u, w = self.along
        for j, jet in columns.items():
            V[1][1] = V[1][1] + jet[1] * w[j]
        second = self.node._own_second_derivative(m, self.q, u, w).columns if turning else ()
        for j, jet in columns.items():
            jet[3] = V[1][1].cross(jet[0]) + V[1][0].cross(jet[1])
            if turning:
                jet[3] = jet[3] + V[0][0].cross(back @ own[1][j]) + back @ second[j]

    def carried(self, what: Carried) -> tuple[Jet, Columns]:
        """A point or direction, and its columns."""
        if what not in self._carried:
            self._carried[what] = self._carry(what)
        return self._carried[what]

    def _carry(self, what: Carried) -> tuple[Jet, Columns]:
        if what.member == PREDECESSOR:
            return {mask: what.vector if mask == 0 else vec.ZERO for mask in self.masks}, {}
        X, V = self.X[what.member], self.V[what.member]
        r = X.turned_back(what.vector)
        jet: Jet = {0: vec.add(r, X.translation) if what.is_point else r}
        for d in range(len(self.along)):
            jet[1 << d] = _moved(V[d][0], jet[0], what.is_point)
        if len(self.along) == 2:
            jet[3] = vec.add(_moved(V[1][1], jet[0], what.is_point), vec.cross(V[1][0].angular, jet[1]))
        columns: Columns = {}
        for j, J in self.J[what.member].items():
            columns[j] = {}
            for s in self.masks:
                total = J[s].linear if what.is_point else vec.ZERO
                for t in _parts(s):
                    total = vec.add(total, vec.cross(J[t].angular, jet[s ^ t]))
                columns[j][s] = total
        return jet, columns


def _moved(V: Motion, r: Vector, is_point: bool) -> Vector:
    turned = vec.cross(V.angular, r)
    return vec.add(turned, V.linear) if is_point else turned


def _parts(s: int) -> list[int]:
    """All masks within a mask."""
    return [t for t in range(s + 1) if t & s == t]


def _dot(a: Jet, b: Jet, s: int) -> Number:
    return sum((vec.dot(a[t], b[s ^ t]) for t in _parts(s)), 0)


def _between(a: tuple[Jet, Columns], b: tuple[Jet, Columns]) -> tuple[Jet, Columns]:
    """b - a."""
    jet = {s: vec.sub(b[0][s], a[0][s]) for s in a[0]}
    columns: Columns = {}
    for j in sorted(a[1].keys() | b[1].keys()):
        if j not in a[1]:
            columns[j] = b[1][j]
        elif j not in b[1]:
            columns[j] = {s: vec.neg(x) for s, x in a[1][j].items()}
        else:
            columns[j] = {s: vec.sub(b[1][j][s], x) for s, x in a[1][j].items()}
    return jet, columns


def _product(a: tuple[Jet, Columns], b: tuple[Jet, Columns]) -> tuple[Jet, Columns]:
    """a . b."""
    jet = {s: _dot(a[0], b[0], s) for s in a[0]}
    columns: Columns = {}
    for j in sorted(a[1].keys() | b[1].keys()):
        columns[j] = {
            s: (_dot(a[1][j], b[0], s) if j in a[1] else 0) + (_dot(a[0], b[1][j], s) if j in b[1] else 0)
            for s in a[0]
        }
    return jet, columns


@dataclass(frozen=True, slots=True)
class Tie(ABC):
    """One row of a closure: phi = 0.

    carried: the points and directions in it.
    numbers: the others.
    unit: what phi is measured with: 1 for angles, a length of the loop for lengths.
    """

    carried: tuple[Carried, ...]
    numbers: tuple[Number, ...]
    unit: float

    is_length: ClassVar[bool] = False  # what phi is: a length, or an angle

    @abstractmethod
    def row(self, motions: Motions) -> tuple[Jet, Columns]:
        """phi and its columns, with derivatives."""

    def changed(self, member: int, C: Transform) -> Tie:
        """The same row after the frame of a member was changed by C."""
        return replace(self, carried=tuple(c.changed(member, C) for c in self.carried))

    @property
    def structure(self) -> tuple:
        """What is left without the numbers."""
        return (type(self), tuple((c.member, c.is_point) for c in self.carried), len(self.numbers))

    @property
    def parameters(self) -> tuple[Number, ...]:
        """All numbers, in the order in which `with_parameters` takes them."""
        return (*(x for c in self.carried for x in c.vector), *self.numbers)

    def with_parameters(self, numbers: Sequence[Number]) -> Tie:
        """A row of the same structure with other numbers, which may be expressions."""
        rest = iter(numbers)
        carried = tuple(c._replace(vector=(next(rest), next(rest), next(rest))) for c in self.carried)
        return replace(self, carried=carried, numbers=tuple(rest))


class Offset(Tie):
    """c . (b - a): two points do not leave each other along a direction. Carried: c, a, b."""

    __slots__ = ()
    is_length = True

    def row(self, motions: Motions) -> tuple[Jet, Columns]:
        c, a, b = map(motions.carried, self.carried)
        return _product(c, _between(a, b))


class Angle(Tie):
    """c . d - cosine: two directions keep their angle. Carried: c, d."""

    __slots__ = ()

    def row(self, motions: Motions) -> tuple[Jet, Columns]:
        jet, columns = _product(*map(motions.carried, self.carried))
        return jet | {0: jet[0] - self.numbers[0]}, columns


class Rod(Tie):
    """(|b - a|^2 - l^2) / 2 l: two points keep their distance. Carried: a, b."""

    __slots__ = ()
    is_length = True

    def row(self, motions: Motions) -> tuple[Jet, Columns]:
        a, b = map(motions.carried, self.carried)
        (length,), between = self.numbers, _between(a, b)
        jet, columns = _product(between, between)
        half = 0.5 / length
        return (
            {s: x * half for s, x in (jet | {0: jet[0] - length * length}).items()},
            {j: {s: x * half for s, x in column.items()} for j, column in columns.items()},
        )


@dataclass(frozen=True, slots=True)
class Polynomial(Tie):
    """x - (c_0 + c_1 y + c_2 y^2 + ...) of two coordinates. Numbers: the coefficients."""

    x: Coupling
    y: Coupling

    def row(self, motions: Motions) -> tuple[Jet, Columns]:
        (x,), (y,) = self.x.positions(motions.q), self.y.positions(motions.q)
        slope = self.numbers
        values = [_polynomial(slope, y)]
        for _ in range(len(motions.along) + 1):
            slope = tuple(k * c for k, c in enumerate(slope))[1:]
            values.append(_polynomial(slope, y))
        dx, dy = dict(self.x.G(motions.q)[0]), dict(self.y.G(motions.q)[0])
        rates = [sum((f * w[j] for j, f in dy.items()), 0) for w in motions.along]
        drives = [sum((f * w[j] for j, f in dx.items()), 0) for w in motions.along]
        jet: Jet = {0: x - values[0]}
        factor: Jet = {0: values[1]}  # dphi/dy, less its sign
        for d, (rate, drive) in enumerate(zip(rates, drives, strict=True)):
            jet[1 << d] = drive - values[1] * rate
            factor[1 << d] = values[2] * rate
        if len(rates) == 2:
            jet[3] = -(values[2] * rates[0] * rates[1])
            factor[3] = values[3] * rates[0] * rates[1]
        columns: Columns = {}
        for j in sorted(dx.keys() | dy.keys()):
            columns[j] = {s: -(factor[s] * dy[j]) if j in dy else 0 for s in motions.masks}
            columns[j][0] = columns[j][0] + dx.get(j, 0)
        return jet, columns

    @property
    def structure(self) -> tuple:
        return (type(self), self.x.structure, self.y.structure, len(self.numbers))

    @property
    def parameters(self) -> tuple[Number, ...]:
        return (*self.x.parameters, *self.y.parameters, *self.numbers)

    def with_parameters(self, numbers: Sequence[Number]) -> Tie:
        rest = list(numbers)
        couplings = []
        for coupling in (self.x, self.y):
            count = len(coupling.parameters)
            couplings.append(coupling.with_parameters(rest[:count]))
            del rest[:count]
        return replace(self, x=couplings[0], y=couplings[1], numbers=tuple(rest))


def _polynomial(coefficients: Sequence[Number], y: Number) -> Number:
    total: Number = 0
    for c in reversed(coefficients):
        total = total * y + c
    return total
