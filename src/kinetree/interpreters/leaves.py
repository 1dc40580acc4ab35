"""Values taken apart into their numbers, and put together again.

`take_apart(value)` gives the numbers of a value in a fixed order and a function that makes an equal value
from other numbers. A looped trace keeps the numbers of a field in memory this way and knows nothing else of
the types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kinetree.spatial import (
    ArticulatedInertia,
    Coordinates,
    CoriolisInertia,
    Detached,
    Factored,
    Force,
    ForceSet,
    Inertia,
    Jet,
    Lump,
    Matrix,
    Motion,
    Partials,
    Stack,
    Subspace,
    Transform,
)
from kinetree.spatial.factors import Dense, Turn

Builder = Callable[[Iterator[Any]], Any]


def take_apart(value: Any) -> tuple[list[Any], Builder]:
    """The numbers of a value, and how to build a value of the same form from an iterator of numbers."""
    numbers: list[Any] = []
    return numbers, _visit(value, numbers)


def _visit(value: Any, out: list[Any]) -> Builder:
    kind = type(value)
    if kind in (Motion, Force):
        out.extend(value.components)
        return lambda it: kind.from_components(next(it) for _ in range(6))
    if kind in (Inertia, ArticulatedInertia, CoriolisInertia, Lump):
        count = len(value.parameters)
        out.extend(value.parameters)
        return lambda it: kind.from_parameters([next(it) for _ in range(count)])
    if kind is Jet:
        out.extend((*value.velocity, *value.acceleration.components))
        return lambda it: Jet(_three(it), Motion.from_components(next(it) for _ in range(6)))
    if kind in (Subspace, ForceSet):
        parts = [_visit(column, out) for column in value.columns]
        return lambda it: kind([part(it) for part in parts])
    if kind is Transform:
        return _visit_transform(value, out)
    if kind is Detached:
        return lambda it: value
    if kind is Factored:
        return _visit_factored(value, out)
    if kind is Matrix:
        rows = [_visit(row, out) for row in value.rows]
        return lambda it: Matrix([row(it) for row in rows])
    if kind is Stack:
        parts = [_visit(part, out) for part in value.values]
        return lambda it: Stack([part(it) for part in parts])
    if kind in (tuple, list, Coordinates, Partials):
        parts = [_visit(part, out) for part in value]
        return lambda it: kind([part(it) for part in parts])
    out.append(value)
    return next


def _three(it: Iterator[Any]) -> tuple[Any, Any, Any]:
    return (next(it), next(it), next(it))


def _visit_transform(value: Transform, out: list[Any]) -> Builder:
    out.extend(value.translation)
    axes: list[int | None] = []
    for factor in value.factors:
        if isinstance(factor, Turn):
            axes.append(factor.axis)
            out.extend((factor.cos, factor.sin))
        else:
            axes.append(None)
            out.extend(sum(factor.E, ()))

    def build(it: Iterator[Any]) -> Transform:
        translation = _three(it)
        parts = [
            Dense((_three(it), _three(it), _three(it))) if axis is None else Turn(axis, next(it), next(it))
            for axis in axes
        ]
        return Transform.from_factors(translation, tuple(parts))

    return build


def _visit_factored(value: Factored, out: list[Any]) -> Builder:
    size = len(value.pivots)
    for i in range(size):
        out.extend(value.lower[i][:i])
    out.extend(value.pivots)
    out.extend(value.reciprocals)

    def build(it: Iterator[Any]) -> Factored:
        result = Factored.__new__(Factored)
        result.lower = [[next(it) for _ in range(i)] + [0] * (size - i) for i in range(size)]
        result.pivots = tuple([next(it) for _ in range(size)])
        result.reciprocals = tuple([next(it) for _ in range(size)])
        return result

    return build


def tagged(value: Any, frame: Any, source: Any) -> Any:
    """A value of one body, said to be in its frame; transforms lead there from the frame `source`."""
    if isinstance(value, Transform):
        return value.between(source, frame)
    if isinstance(value, ForceSet):
        return ForceSet(column.tagged(frame) for column in value.columns)
    return value.tagged(frame) if hasattr(value, "tagged") else value
