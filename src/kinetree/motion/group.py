"""Velocities and momenta on the group of positions.

Positions of joints that turn freely form a group. With z = ad_u = [u, .] from the brackets of the joint
(`Joint.brackets`), a curve q exp(u(t)) through q has the velocity v if

    u' = dexp^-1(v) = z / (1 - e^-z) v = v + z v / 2 + z^2 v / 12 - z^4 v / 720 + z^6 v / 30240 - ...

Where velocities are the rates of coordinates, u' = v. The series are truncated; `terms` sets the length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kinetree import spanning
from kinetree.model import Model
from kinetree.model.closed_positions import loop_nodes
from kinetree.model.configuration import snapped
from kinetree.spanning import Span
from kinetree.stages.own import function

Array = np.ndarray
Brackets = tuple[tuple[tuple[Any, ...], ...], ...]


HALF = 1 / 2
EVEN = (1 / 12, -1 / 720, 1 / 30240)  # coefficients of z^2, z^4, z^6 in z / (1 - e^-z); that of z is 1/2
TANH = (1 / 4, -1 / 192, 1 / 7680)  # coefficients of z, z^3, z^5 in tanh(z / 4)


def rates(model: Model, u: Array, v: Array, terms: int) -> Array:
    """u' of the increments u from a position to one that moves with the velocity v."""
    return _by_joint(model, u, v, lambda c, u, v: _inverse(c, u, v, _bracket, terms))


def momenta(model: Model, u: Array, p: Array) -> Array:
    """The momentum conjugate to increments, given the momentum p: p . rates(u, x) = momenta(u, p) . x."""
    return _by_joint(model, u, p, lambda c, u, p: _inverse(c, u, p, _cobracket, 3))


def shares(model: Model, u: Array, f: Array) -> Array:
    """Twice the force at the end of an increment u that does the same work as f at its middle.

    (1 + tanh(z / 4))^T f: while the end moves by x, the middle moves by half of (1 + tanh(z / 4)) x.
    """

    def apply(c: Brackets, u: list, f: list) -> list:
        power, total = f, f
        for k, weight in enumerate(TANH):
            power = _cobracket(c, u, power if k == 0 else _cobracket(c, u, power))
            total = [a + weight * b for a, b in zip(total, power, strict=True)]
        return total

    return _by_joint(model, u, f, apply)


def coadjoint(model: Model, v: Array, p: Array) -> Array:
    """ad_v^T p, the rate of the momentum p in axes that turn with the velocity v: p . [v, x] for every x."""
    zero = np.zeros(model.nv)
    return _by_joint(model, v, p, _cobracket, zero)


class Exponential(NamedTuple):
    """Positions around q as increments u (nv,): q (+) u."""

    model: Model
    q: Array
    terms: int

    @property
    def width(self) -> int:
        return self.model.nv

    def position(self, u: Array) -> Array:
        return _called(moved, self.model.integrate, self.model, self.q, u)

    def rates(self, u: Any, at: Array, v: Array) -> Array:
        """u' at the position `at` with velocity v; u is None at q itself."""
        return v if u is None else rates(self.model, u, v, self.terms)


class Ambient(NamedTuple):
    """Positions around q as differences of the numbers in q (nq,), projected back to unit quaternions and
    closed loops: for joints of which a loop leaves some quasi-velocities free and fixes others.
    """

    model: Model
    q: Array
    terms: int

    @property
    def width(self) -> int:
        return self.model.nq

    def position(self, u: Array) -> Array:
        return _called(put_back, partial(snapped, self.model), self.model, self.q + u)

    def rates(self, u: Any, at: Array, v: Array) -> Array:
        return _called(changing, self.model.rate, self.model, at, v)


@function("q, increment(nv) -> q")
def moved(model: Model, q: Array, increment: Array) -> Array:
    """`model.integrate`, compiled."""
    return model.integrate(q, increment)


@function("q -> q")
def put_back(model: Model, q: Array) -> Array:
    """`snapped`, compiled."""
    return snapped(model, q)


@function("q, v -> rate(nq)")
def changing(model: Model, q: Array, v: Array) -> Array:
    """`model.rate`, compiled."""
    return model.rate(q, v)


def _called(compiled: Any, plain: Callable[..., Array], model: Model, *arrays: Array) -> Array:
    """The compiled version if loops make plain Python slow and inputs are numbers; else the plain one."""
    known = all(x.dtype.kind == "f" for x in arrays)
    return compiled(model, *arrays) if model.loops and known else plain(*arrays)


def chart(model: Model, q: Array, terms: int) -> Exponential | Ambient:
    """Coordinates around a position in which a Runge-Kutta method keeps its order."""
    if _is_whole(model):
        return Exponential(model, q, terms)
    return Ambient(model, spanning.spanned(model, q).q, terms)  # closed: a gap of q must not travel


def spanned(model: Model, q: Array) -> Span:
    """A model whose velocities form a group: the model, or its open tree if a loop splits a joint's."""
    return Span(model, q, None) if _is_whole(model) else spanning.spanned(model, q)


def _is_whole(model: Model) -> bool:
    return all(node.has_whole_joints for node in loop_nodes(model))


def _by_joint(
    model: Model, u: Array, x: Array, rule: Callable[..., list], rest: Array | None = None
) -> Array:
    """Apply a rule to the joints with brackets; the others keep their part of `x`, or take that of `rest`."""
    result = np.array(x if rest is None else rest, dtype=np.result_type(u, x))
    for constants, place in _turning(model):
        found = rule(constants, [u[k] for k in place], [x[k] for k in place])
        for k, value in zip(place, found, strict=True):
            result[k] = value
    return result


def _turning(model: Model) -> Iterator[tuple[Brackets, range]]:
    for body, place in model.coordinate_places[1]:
        constants = body.joint.brackets()
        if constants:
            yield constants, place["v"]


def _inverse(c: Brackets, u: list, v: list, bracket: Callable[..., list], terms: int) -> list:
    """v + z v / 2 + z^2 v / 12 - ..., with `terms` even powers."""
    power = bracket(c, u, v)
    total = [a + HALF * b for a, b in zip(v, power, strict=True)]
    for k, weight in enumerate(EVEN[:terms]):
        power = bracket(c, u, power if k == 0 else bracket(c, u, power))
        total = [a + weight * b for a, b in zip(total, power, strict=True)]
    return total


def _bracket(c: Brackets, u: list, v: list) -> list:
    """[u, v], from the structure constants of the joint."""
    n = len(u)
    result: list[Any] = [0] * n
    for j in range(n):
        for k in range(n):
            for l in range(n):
                if c[j][k][l]:
                    result[l] = result[l] + c[j][k][l] * (u[j] * v[k])
    return result


def _cobracket(c: Brackets, u: list, p: list) -> list:
    """The transpose of the bracket with u: p . [u, x] for every x."""
    n = len(u)
    result: list[Any] = [0] * n
    for j in range(n):
        for k in range(n):
            for l in range(n):
                if c[j][k][l]:
                    result[k] = result[k] + c[j][k][l] * (u[j] * p[l])
    return result
