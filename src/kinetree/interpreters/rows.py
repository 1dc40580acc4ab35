"""Indexed rows of numbers: lists, or memory of a program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.compiler.ir.graph import Array, Graph
from kinetree.ops import Expr


class Rows:
    """An array of a program, read and written row by row."""

    def __init__(self, graph: Graph, array: Array, width: int):
        self.graph, self.array, self.width = graph, array, width

    def __getitem__(self, k: Any) -> list[Any]:
        start = self.graph.imul(k, self.width)
        return [self.graph.load(self.array, self.graph.iadd(start, n)) for n in range(self.width)]

    def __setitem__(self, k: Any, numbers: Sequence[Any]) -> None:
        start = self.graph.imul(k, self.width)
        for n, x in enumerate(numbers):
            self.graph.store(self.array, self.graph.iadd(start, n), x if type(x) is Expr else float(x))


class Totals:
    """Sums of numbers."""

    def __init__(self, width: int):
        self.sums: list[Any] = [0] * width

    def add(self, *numbers: Any) -> None:
        self.sums = [a + b for a, b in zip(self.sums, numbers, strict=True)]

    def values(self) -> list[Any]:
        return self.sums


class LoopedTotals:
    """Sums of numbers, accumulated by a loop of a program."""

    def __init__(self, graph: Graph, width: int):
        self.graph, self.array = graph, graph.array(f"totals_{len(graph.arrays)}", "work", width)
        for n in range(width):
            graph.store(self.array, n, 0.0)

    def add(self, *numbers: Any) -> None:
        for n, x in enumerate(numbers):
            if type(x) is Expr or x != 0:
                self.graph.store(self.array, n, x if type(x) is Expr else float(x), accumulate=True)

    def values(self) -> list[Any]:
        return [self.graph.load(self.array, n) for n in range(self.array.size)]


def rows(graph: Graph | None, count: int, width: int) -> Any:
    """Rows to be written."""
    if graph is None:
        return [[0.0] * width for _ in range(count)]
    return Rows(graph, graph.array(f"rows_{len(graph.arrays)}", "work", count * width), width)


def constants(graph: Graph | None, given: list[Sequence[Any]], loops: bool) -> Any:
    """Constant rows."""
    if graph is None or not loops:
        return given
    width = len(given[0])
    if all(ops.is_literal(x) for row in given for x in row):
        data = np.array(given, float).ravel()
        return Rows(graph, graph.array(f"facts_{len(graph.arrays)}", "table", data.size, data), width)
    made = rows(graph, len(given), width)
    for k, row in enumerate(given):
        made[k] = row
    return made


def each(graph: Graph | None, count: int, loops: bool) -> Iterator[Any]:
    """The indices of rows."""
    if graph is None or not loops:
        yield from range(count)
        return
    with graph.loop(count) as k:
        yield k


def totals(graph: Graph | None, width: int, loops: bool) -> Any:
    """Sums, initially zero."""
    return Totals(width) if graph is None or not loops else LoopedTotals(graph, width)
