"""Increments of positions: coordinates of the tangent space, nv of them even where q has more numbers.

    dq = A(q) e        e = A(q)^+ dq

For a joint whose velocities are the rates of its coordinates both matrices are the identity; for a
quaternion, e turns the body about its own axes. The matrices are sparse: a dictionary of entries for each
row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kinetree.compiler.passes.differentiate import Increments
from kinetree.model import Model
from kinetree.model.coupling import Coupling, InLoop, Own

Rows = list[dict[int, Any]]


def rate_rows(model: Model, q: Sequence[Any]) -> Rows:
    """The rows of A(q), one for each number of q."""
    return _rows(model, q, model.nq, lambda joint, own, unit: joint.rate(own, unit), positions=True)


def velocity_rows(model: Model, q: Sequence[Any]) -> Rows:
    """The rows of A(q)^+, one for each velocity."""
    return _rows(model, q, model.nv, lambda joint, own, unit: joint.velocity(own, unit), positions=False)


def _rows(model: Model, q: Sequence[Any], count: int, map_: Callable[..., Any], positions: bool) -> Rows:
    rows: Rows = [{} for _ in range(count)]
    for body, coupling in zip(model.bodies, model.layout.couplings[1:], strict=True):
        if body.mimic is not None:
            continue
        q_places, v_places = _places(coupling)
        left, right = (q_places, v_places) if positions else (v_places, q_places)
        own = tuple(q[k] for k in q_places)
        for n, column in enumerate(right):
            if column is None:
                continue
            values = map_(body.joint, own, tuple(int(k == n) for k in range(len(right))))
            for row, value in zip(left, values, strict=True):
                if row is not None and not (type(value) in (int, float) and value == 0):
                    rows[row][column] = value
    return rows


def _places(coupling: Coupling) -> tuple[range, Sequence[int | None]]:
    """Where the coordinates of a joint are in q, and its velocities in v: None for dependent ones.

    Coordinates that depend on others through a loop do not affect results: functions close the loop
    themselves.
    """
    own = coupling.inner if isinstance(coupling, InLoop) else coupling
    assert isinstance(own, Own)
    places = coupling.places if isinstance(coupling, InLoop) else range(own.v_start, own.v_start + own.nv)
    return range(own.q_start, own.q_start + own.nq), places


def of_positions(model: Model) -> Increments:
    """How the numbers of q change with increments, for the differentiation of programs."""
    return Increments(model.nv, lambda q: rate_rows(model, q))


def product(rows: Sequence[Mapping[int, Any]], x: Sequence[Any]) -> list[Any]:
    """A x."""
    return [sum((value * x[k] for k, value in row.items()), 0.0) for row in rows]


def transposed_product(rows: Sequence[Mapping[int, Any]], x: Sequence[Any], width: int) -> list[Any]:
    """A^T x, for a matrix with `width` columns."""
    found: list[Any] = [0.0] * width
    for row, factor in zip(rows, x, strict=True):
        for k, value in row.items():
            found[k] = found[k] + value * factor
    return found
