"""The rows of closures, with derivatives: products of points and directions that the members of a node carry.

All is said in the axes of the body that carries the node. A velocity j of the joint of member m turns all
that this one carries by w_j and moves its origin r_m by l_j, so that a point p and a direction c beyond it
change by

    d_j p = l_j + w_j x (p - r_m)        d_j c = w_j x c

w_j and l_j are directions that m carries itself, and so derivatives of any order follow by the product rule.
A jet is a dictionary from masks to derivatives, with bit k set for a derivative along direction k.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from kinetree.joints.base import Joint
from kinetree.model.coupling import Coupling
from kinetree.spatial import vector as vec
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


class Joined(NamedTuple):
    """One velocity of the joint of a member: the jets of w_j and l_j.

    Joints that follow one another, as mimic joints do, share a velocity.
    """

    velocity: int
    member: int
    turn: Jet
    shift: Jet


class Motions:
    """How the members of a spanning node move at q, with derivatives along up to two velocities.

    Args:
        node: the spanning node.
        members: those that are asked for, and all that carry them.
        along: velocities of all joints.
    """

    def __init__(self, node: Any, members: frozenset[int], q: Sequence[Number], *along: Sequence[Number]):
        self.node, self.q, self.along = node, q, along
        self.masks = range(1 << len(along))
        still = dict.fromkeys(self.masks, vec.ZERO)
        self.X: dict[int, Transform] = {}
        self.origin: dict[int, Jet] = {PREDECESSOR: still}
        self.turning: dict[int, list[Jet]] = {PREDECESSOR: [{0: vec.ZERO, 1: vec.ZERO} for _ in along]}
        self.joints: dict[int, list[Joined]] = {PREDECESSOR: []}
        self._carried: dict[Carried, tuple[Jet, Columns]] = {}
        for k, m in enumerate(node.members):
            if k in members:
                self._visit(k, m)

    def _visit(self, k: int, m: Any) -> None:
        step = m.joint.placement(m.coupling.positions(self.q)).following(m.placement)
        X = self.X[k] = step if m.carrier == PREDECESSOR else step @ self.X[m.carrier]
        S = self.node.motion(m, self.q)
        is_turning = type(m.joint).subspace_partials is not Joint.subspace_partials
        rates = [self.node._own_derivative(m, self.q, w) for w in self.along] if is_turning else []
        second = self.node._own_second_derivative(m, self.q, *self.along) if len(rates) == 2 else None
        self._move(k, m, S, rates)
        self.joints[k] = list(self.joints[m.carrier])
        for j in sorted({place for row in m.coupling.G(self.q) for place, _ in row}):
            parts = [
                S.columns[j],
                *(rate.columns[j] for rate in rates),
                *([second.columns[j]] if second else []),
            ]
            turn = self._direction(k, [X.turned_back(part.angular) for part in parts])
            shift = self._direction(k, [X.turned_back(part.linear) for part in parts])
            self.joints[k].append(Joined(j, k, turn, shift))

    def _move(self, k: int, m: Any, S: Any, rates: list[Any]) -> None:
        """The velocities of a member along each direction, and how its origin moves."""
        X, c = self.X[k], m.carrier
        arm = vec.sub(X.translation, self.origin[c][0])
        turning = self.turning[k] = [dict(jet) for jet in self.turning[c]]
        origin, shifts = {0: X.translation}, []
        for d, w in enumerate(self.along):
            own = S @ w
            turn, shift = X.turned_back(own.angular), X.turned_back(own.linear)
            carried = vec.add(self.origin[c][1 << d], vec.cross(self.turning[c][d][0], arm))
            origin[1 << d] = vec.add(carried, shift)
            turning[d][0] = vec.add(turning[d][0], turn)
            shifts.append((turn, shift))
        if len(self.along) == 2:
            turn, shift = (vec.cross(turning[0][0], part) for part in shifts[1])
            if rates:
                own = rates[0] @ self.along[1]
                turn = vec.add(turn, X.turned_back(own.angular))
                shift = vec.add(shift, X.turned_back(own.linear))
            moved = vec.add(
                vec.cross(self.turning[c][1][1], arm),
                vec.cross(self.turning[c][1][0], vec.sub(origin[1], self.origin[c][1])),
            )
            origin[3] = vec.add(vec.add(self.origin[c][3], moved), shift)
            turning[1][1] = vec.add(turning[1][1], turn)
        self.origin[k] = origin

    def _direction(self, k: int, parts: Sequence[Vector]) -> Jet:
        """The jet of a direction in the axes of a member; its own derivatives in these axes may follow it."""
        first, *rest = parts
        turning = self.turning[k]
        jet: Jet = {0: first}
        for d in range(len(self.along)):
            jet[1 << d] = vec.cross(turning[d][0], first)
            if rest:
                jet[1 << d] = vec.add(jet[1 << d], rest[d])
        if len(self.along) == 2:
            jet[3] = vec.add(vec.cross(turning[1][1], first), vec.cross(turning[1][0], jet[1]))
            if rest:
                jet[3] = vec.add(jet[3], vec.add(vec.cross(turning[0][0], rest[1]), rest[2]))
        return jet

    def carried(self, what: Carried) -> tuple[Jet, Columns]:
        """A point or direction, and its columns."""
        if what not in self._carried:
            self._carried[what] = self._carry(what)
        return self._carried[what]

    def _carry(self, what: Carried) -> tuple[Jet, Columns]:
        k = what.member
        if k == PREDECESSOR:
            return {mask: what.vector if mask == 0 else vec.ZERO for mask in self.masks}, {}
        arm = self._direction(k, [self.X[k].turned_back(what.vector)])
        jet = {s: vec.add(self.origin[k][s], x) for s, x in arm.items()} if what.is_point else arm
        columns: Columns = {}
        for own in self.joints[k]:
            j, column = own.velocity, self._column(own, arm, jet, what)
            columns[j] = {s: vec.add(columns[j][s], x) for s, x in column.items()} if j in columns else column
        return jet, columns

    def _column(self, own: Joined, arm: Jet, jet: Jet, what: Carried) -> Jet:
        """What one velocity of one joint does to a point, w_j x lever + l_j, or to a direction, w_j x arm."""
        if not what.is_point:
            return {s: _turned(own.turn, arm, s) for s in self.masks}
        at_joint = own.member == what.member
        lever = arm if at_joint else {s: vec.sub(x, self.origin[own.member][s]) for s, x in jet.items()}
        return {s: vec.add(own.shift[s], _turned(own.turn, lever, s)) for s in self.masks}


def _turned(turn: Jet, arm: Jet, s: int) -> Vector:
    """A derivative of w x arm."""
    total = vec.ZERO
    for t in _parts(s):
        total = vec.add(total, vec.cross(turn[t], arm[s ^ t]))
    return total


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

    def pull(self, motions: Motions) -> tuple[Vector, Vector] | None:
        """The moment and force dphi on the second end, about the origin of the body that carries the node.

        None for a row that does not act on bodies.
        """
        return None

    @property
    def ends(self) -> tuple[int, int]:
        """The members that the row connects."""
        return self.carried[-2].member, self.carried[-1].member

    def changed(self, member: int, C: Transform) -> Tie:
        """The same row after the frame of a member was changed by C."""
        return replace(self, carried=tuple(c.changed(member, C) for c in self.carried))

    @property
    def structure(self) -> tuple:
        """What is left without the numbers."""
        return (type(self), tuple((c.member, c.is_point) for c in self.carried), len(self.numbers), self.unit)

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

    def pull(self, motions: Motions) -> tuple[Vector, Vector]:
        c, _, b = (motions.carried(one)[0][0] for one in self.carried)
        return vec.cross(b, c), c


class Angle(Tie):
    """c . d - cosine: two directions keep their angle. Carried: c, d."""

    __slots__ = ()

    def row(self, motions: Motions) -> tuple[Jet, Columns]:
        jet, columns = _product(*map(motions.carried, self.carried))
        return jet | {0: jet[0] - self.numbers[0]}, columns

    def pull(self, motions: Motions) -> tuple[Vector, Vector]:
        c, d = (motions.carried(one)[0][0] for one in self.carried)
        return vec.cross(d, c), vec.ZERO


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

    def pull(self, motions: Motions) -> tuple[Vector, Vector]:
        a, b = (motions.carried(one)[0][0] for one in self.carried)
        along = vec.scale(vec.sub(b, a), 1 / self.numbers[0])
        return vec.cross(b, along), along


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
        return (type(self), self.x.structure, self.y.structure, len(self.numbers), self.unit)

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
