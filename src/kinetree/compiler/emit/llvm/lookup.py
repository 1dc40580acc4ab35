"""Elements of a constant matrix whose indices are floating-point numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kinetree.compiler.emit.llvm.function import Lines
from kinetree.compiler.emit.llvm.types import Number


def looked_up(
    lines: Lines, number: Number, shape: Sequence[int], places: Sequence[str], element: Callable[[str], str]
) -> str:
    """An element of a matrix, lane by lane; NaN if an index is NaN, the nearest element if it is outside.

    `element` loads the element of an index.
    """
    scalar, vector, boolean = number.scalar, number.vector, number.boolean
    zero, inside = number.constant(0.0), []
    for x, count in zip(places, shape, strict=True):
        some = lines.let(f"fcmp ogt {vector} {x}, {zero}")
        x = lines.let(f"select {boolean} {some}, {vector} {x}, {vector} {zero}")
        last = number.constant(count - 1.0)
        below = lines.let(f"fcmp olt {vector} {x}, {last}")
        inside.append(lines.let(f"select {boolean} {below}, {vector} {x}, {vector} {last}"))
    found = "poison"
    for lane in range(number.lanes):
        one = inside
        if number.lanes > 1:
            one = [lines.let(f"extractelement {vector} {x}, i32 {lane}") for x in inside]
        i, j = (lines.let(f"fptosi {scalar} {x} to i64") for x in one)
        row = lines.let(f"mul nsw i64 {i}, {shape[1]}")
        value = element(lines.let(f"add nsw i64 {row}, {j}"))
        if number.lanes > 1:
            value = lines.let(f"insertelement {vector} {found}, {scalar} {value}, i32 {lane}")
        found = value
    unknown = lines.let(f"fcmp uno {vector} {places[0]}, {places[1]}")
    nan = number.constant(float("nan"))
    return lines.let(f"select {boolean} {unknown}, {vector} {nan}, {vector} {found}")
