"""Couplings: the coordinates of a joint as functions of the independent ones of a model or group.

    x = positions(q)        u = G(q) v        du/dt = G(q) dv/dt + G_rate(q, v) v

with x and u the coordinates and velocities of the joint, q and v the independent ones. G is sparse: for each
velocity of the joint, a row of pairs (index in v, factor). The dynamics of a group follows from this alone:
motion subspaces S G and their derivatives dS G + S dG (`node.py`), reflected damping and limits (`drive.py`).

`Own`: the joint has coordinates of its own. `Linear`: a mimic joint, a geared rotor or an armature follows
others in constant proportion. `InLoop`: the joint depends on others through a loop, which its node closes
(`loop.py`). A nonlinear coupling is another class with `G_partials`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.spatial.motion import Motion
from kinetree.spatial.subspace import Subspace

Number = Any
Row = tuple[tuple[int, Number], ...]
Rows = tuple[Row, ...]


class Coupling(ABC):
    """The coordinates of one joint in terms of independent ones; see the module docstring."""

    __slots__ = ()

    @abstractmethod
    def positions(self, q: Any) -> tuple[Number, ...]:
        """The coordinates of the joint."""

    @abstractmethod
    def G(self, q: Any) -> Rows:
        """The rates of the joint: u = G(q) v."""

    def G_partials(self, q: Any) -> tuple[Rows, ...]:
        """The derivative of G along each velocity in v; () if G is constant."""
        return ()

    def G_rate(self, q: Any, v: Any) -> Rows:
        """The rate of G: sum_k v_k dG_k, with empty rows if G is constant."""
        partials = self.G_partials(q)
        return tuple(
            _added([(i, f * v[k]) for k, rows in enumerate(partials) for i, f in rows[j]])
            for j in range(len(partials[0]) if partials else 0)
        )

    def G_drift(self, q: Any, v: Any, x: Any) -> tuple[Number, ...]:
        """The rate of G, times x; () if G is constant."""
        return tuple(sum((times(x[k], f) for k, f in row), 0) for row in self.G_rate(q, v))

    def G_second_partials(self, q: Any) -> tuple[tuple[Rows, ...], ...]:
        """The derivatives d_j d_k G as entries [j][k]; () if G is constant or changes at a constant rate."""
        if type(self).G_partials is not Coupling.G_partials:
            raise ModelError(
                f"a coupling of the type {type(self).__name__} has G_partials and no G_second_partials, "
                "which derivatives of the dynamics need: define them, too"
            )
        return ()

    def G_second(self, q: Any, u: Any, v: Any) -> Rows:
        """The derivative along u of the rate of G along v, both constant; empty if it is zero."""
        second = self.G_second_partials(q)
        return tuple(
            _added([
                (i, f * (u[j] * v[k]))
                for j, partials in enumerate(second) for k, rows in enumerate(partials) for i, f in rows[r]
            ])
            for r in range(len(second[0][0]) if second else 0)
        )  # fmt: skip

    def velocities(self, q: Any, v: Any) -> tuple[Number, ...]:
        """The velocities of the joint, u = G(q) v."""
        return tuple(sum((times(v[k], f) for k, f in row), 0) for row in self.G(q))

    def combined(self, ratios: Sequence[Number]) -> Linear:
        """One coordinate, the sum of the joint's coordinates times ratios: the angle of a geared rotor."""
        raise TypeError("only what follows in constant proportion can be geared")

    @property
    @abstractmethod
    def structure(self) -> tuple:
        """The structure of the coupling, without its numbers."""

    @property
    def parameters(self) -> tuple[Number, ...]:
        """All numbers, in the order in which `with_parameters` takes them."""
        return ()

    def with_parameters(self, numbers: Sequence[Number]) -> Coupling:
        """The same coupling with other numbers, which may be expressions."""
        return self

    @abstractmethod
    def among(self, q_place: Mapping[int, int], v_place: Mapping[int, int]) -> Coupling:
        """The same coupling in terms of chosen coordinates, by maps from index in q and v to place."""


@dataclass(frozen=True, slots=True)
class Own(Coupling):
    """The joint has coordinates of its own: nq of them from `q_start`, nv velocities from `v_start`."""

    q_start: int
    nq: int
    v_start: int
    nv: int

    @property
    def places(self) -> range:
        """The places of its velocities."""
        return range(self.v_start, self.v_start + self.nv)

    def positions(self, q: Any) -> tuple[Number, ...]:
        return tuple(q[self.q_start : self.q_start + self.nq])

    def G(self, q: Any) -> Rows:
        return tuple(((self.v_start + k, 1),) for k in range(self.nv))

    def combined(self, ratios: Sequence[Number]) -> Linear:
        terms = [(self.q_start + k, self.v_start + k, n) for k, n in enumerate(ratios)]
        kept = tuple(term for term in terms if not (ops.is_literal(term[2]) and term[2] == 0))
        return Linear(kept or ((self.q_start, self.v_start, 0),))

    @property
    def structure(self) -> tuple:
        return ("own", self.q_start, self.nq, self.v_start, self.nv)

    def among(self, q_place: Mapping[int, int], v_place: Mapping[int, int]) -> Own:
        q_start = q_place[self.q_start] if self.nq else 0
        return Own(q_start, self.nq, v_place[self.v_start] if self.nv else 0, self.nv)


@dataclass(frozen=True, slots=True)
class Linear(Coupling):
    """One coordinate that follows others: x = offset + sum multiplier * q.

    terms: (index in q, index in v, multiplier) of coordinates whose rates are velocities.
    """

    terms: tuple[tuple[int, int, Number], ...]
    offset: Number = 0

    def positions(self, q: Any) -> tuple[Number, ...]:
        total = self.offset
        for index, _, multiplier in self.terms:
            total = total + q[index] * multiplier
        return (total,)

    def G(self, q: Any) -> Rows:
        return (tuple((index, multiplier) for _, index, multiplier in self.terms),)

    def combined(self, ratios: Sequence[Number]) -> Linear:
        (n,) = ratios
        return Linear(tuple((i, k, n * multiplier) for i, k, multiplier in self.terms), n * self.offset)

    @property
    def structure(self) -> tuple:
        return ("linear", tuple((i, k) for i, k, _ in self.terms))

    @property
    def parameters(self) -> tuple[Number, ...]:
        return (*(multiplier for *_, multiplier in self.terms), self.offset)

    def with_parameters(self, numbers: Sequence[Number]) -> Linear:
        *multipliers, offset = numbers
        places = ((i, k) for i, k, _ in self.terms)
        return Linear(tuple((*at, n) for at, n in zip(places, multipliers, strict=True)), offset)

    def among(self, q_place: Mapping[int, int], v_place: Mapping[int, int]) -> Linear:
        return Linear(tuple((q_place[i], v_place[k], n) for i, k, n in self.terms), self.offset)


@dataclass(frozen=True, slots=True)
class InLoop(Coupling):
    """A joint that depends on others through a loop: its coordinates are in q, its velocities follow."""

    inner: Coupling  # in terms of the velocities of all joints
    places: tuple[int | None, ...] = ()  # places in v of its independent velocities, None for the others

    def positions(self, q: Any) -> tuple[Number, ...]:
        return self.inner.positions(q)

    def G(self, q: Any) -> Rows:
        raise TypeError("the velocities of a joint that depends on others in a loop follow by its node")

    def combined(self, ratios: Sequence[Number]) -> Any:
        return InLoop(self.inner.combined(ratios))

    @property
    def structure(self) -> tuple:
        return ("in a loop", self.inner.structure)

    def among(self, q_place: Mapping[int, int], v_place: Mapping[int, int]) -> InLoop:
        return InLoop(self.inner.among(q_place, v_place), self.places)


def spread(S: Subspace, G: Rows, width: int) -> Subspace:
    """S G: the columns of one joint as columns for all `width` velocities of its group."""
    columns: list[Motion | None] = [None] * width
    for column, row in zip(S.columns, G, strict=True):
        for index, factor in row:
            part = column if _is_one(factor) else column * factor
            known = columns[index]
            columns[index] = part if known is None else known + part
    return Subspace(Motion() if column is None else column for column in columns)


def _added(row: Iterable[tuple[int, Number]]) -> Row:
    """The row with the factors of equal indices added up."""
    found: dict[int, Number] = {}
    for index, factor in row:
        found[index] = found[index] + factor if index in found else factor
    return tuple(found.items())


def times(x: Number, factor: Number) -> Number:
    """x times a factor that is often 1."""
    return x if _is_one(factor) else x * factor


def _is_one(factor: Number) -> bool:
    return type(factor) is int and factor == 1
