"""The rows of closures, with derivatives.

They are products of points and directions fixed in the members of a node (`carried.py`), or polynomials of
coordinates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from kinetree.model.carried import Carried, Columns, Jet, Motions, masks_within
from kinetree.model.coupling import Coupling
from kinetree.spatial import vector as vec
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import Matrix, Number, Vector


def _dot(a: Jet, b: Jet, s: int) -> Number:
    return sum((vec.dot(a[t], b[s ^ t]) for t in masks_within(s)), 0)


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
    numbers: its other numbers.
    unit: the unit of phi: 1 for angles, a length of the loop for lengths.
    """

    carried: tuple[Carried, ...]
    numbers: tuple[Number, ...]
    unit: float

    is_length: ClassVar[bool] = False  # whether phi is a length, or an angle

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

    @property
    def base(self) -> Matrix | None:
        """The axes in which it is written, in the body that carries the node; None for those of that body."""
        return None

    def changed(self, member: int, C: Transform) -> Tie:
        """The same row after the frame of a member was changed by C."""
        return replace(self, carried=tuple(c.changed(member, C) for c in self.carried))

    @property
    def structure(self) -> tuple:
        """The structure of the row, without its numbers."""
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


@dataclass(frozen=True, slots=True)
class Offset(Tie):
    """c . (b - a): two points stay together along a direction. Carried: c, a, b.

    Or x, y, z, a, b, where c is one (`axis`) of three perpendicular directions in which the row is written.
    """

    axis: int = 0
    is_length = True

    def row(self, motions: Motions) -> tuple[Jet, Columns]:
        c, a, b = map(motions.carried, self._parts)
        return _product(c, _between(a, b))

    def pull(self, motions: Motions) -> tuple[Vector, Vector]:
        c, _, b = (motions.carried(one)[0][0] for one in self._parts)
        return vec.cross(b, c), c

    @property
    def _parts(self) -> tuple[Carried, Carried, Carried]:
        *axes, a, b = self.carried
        return axes[self.axis], a, b

    @property
    def base(self) -> Matrix | None:
        return tuple(c.vector for c in self.carried[:3]) if len(self.carried) == 5 else None  # type: ignore

    @property
    def structure(self) -> tuple:
        return (*Tie.structure.fget(self), self.axis)  # type: ignore[attr-defined]


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
        factor: Jet = {0: values[1]}  # dphi/dy, with opposite sign
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
