"""What is known about an integer of a program before it runs: its range and its remainder.

Indices consist of literals, loop counters and tables of integers, so for every access `array[index]` a range
and a congruence `index = residue (mod modulus)` follow. The range detects accesses that must be wrong, and
the congruence distinguishes the components of a field (index = stride * node + component).
"""

from __future__ import annotations

from functools import cached_property
from math import gcd, inf
from typing import Any, NamedTuple

import numpy as np

from kinetree.compiler.ir.graph import Array, Loop, While
from kinetree.compiler.ir.program import Program, walk
from kinetree.ops import Expr


class Facts(NamedTuple):
    """lowest <= value <= highest, and value = residue (mod modulus); modulus 0: the value is the residue."""

    lowest: float
    highest: float
    modulus: int
    residue: int

    def may_equal(self, other: Facts) -> bool:
        """False if no integer can satisfy both."""
        common = gcd(self.modulus, other.modulus)
        apart = self.residue - other.residue
        return (apart % common == 0 if common else apart == 0) and (
            self.lowest <= other.highest and other.lowest <= self.highest
        )


ANYTHING = Facts(-inf, inf, 1, 0)


def exactly(value: int) -> Facts:
    return Facts(value, value, 0, value)


def _facts(lowest: float, highest: float, modulus: int, residue: int) -> Facts:
    return Facts(lowest, highest, modulus, residue % modulus if modulus else residue)


def _either(a: Facts, b: Facts) -> Facts:
    modulus = gcd(gcd(a.modulus, b.modulus), a.residue - b.residue)
    return _facts(min(a.lowest, b.lowest), max(a.highest, b.highest), modulus, a.residue)


def _sum(a: Facts, b: Facts) -> Facts:
    modulus = gcd(a.modulus, b.modulus)
    return _facts(a.lowest + b.lowest, a.highest + b.highest, modulus, a.residue + b.residue)


def _product(a: Facts, b: Facts) -> Facts:
    ends = [0.0 if 0 in (x, y) else x * y for x in (a.lowest, a.highest) for y in (b.lowest, b.highest)]
    modulus = gcd(gcd(a.modulus * b.modulus, a.modulus * b.residue), b.modulus * a.residue)
    return _facts(min(ends), max(ends), modulus, a.residue * b.residue)


class Indices:
    """The facts of every integer of a program, computed on demand."""

    def __init__(self, program: Program):
        self._program = program
        self._known: dict[Any, Facts] = {}

    @cached_property
    def _origin(self) -> dict[Expr, Loop | While]:
        """The loop of every counter and variable."""
        found: dict[Expr, Loop | While] = {}
        for statement in walk(self._program.body):
            if isinstance(statement, Loop):
                found[statement.counter] = statement
            elif isinstance(statement, While):
                found[statement.variable] = statement
        return found

    def facts(self, index: Any) -> Facts:
        """What is known about a literal or an integer expression."""
        if type(index) is not Expr:
            return exactly(int(index))
        known = self._known.get(index)
        if known is None:
            known = self._known[index] = self._derive(index)
        return known

    def _derive(self, e: Expr) -> Facts:
        if e.op == "iadd":
            return _sum(self.facts(e.args[0]), self.facts(e.args[1]))
        if e.op == "imul":
            return _product(self.facts(e.args[0]), self.facts(e.args[1]))
        if e.op == "iload":
            return self._table(e.args[0])
        origin = self._origin.get(e)
        if isinstance(origin, Loop):
            last = origin.start + origin.step * (origin.count - 1)
            modulus = abs(origin.step) if origin.count > 1 else 0
            return _facts(min(origin.start, last), max(origin.start, last), modulus, origin.start)
        if isinstance(origin, While):
            self._known[e] = ANYTHING  # while its successor is examined
            result = _either(self.facts(origin.initial), self.facts(origin.successor))
            if result.highest == 0:
                return exactly(1)  # it never runs, so any statement about it holds
            return result._replace(lowest=1) if result.lowest == 0 else result
        return ANYTHING

    def _table(self, table: Array) -> Facts:
        known = self._known.get(table)
        if known is None:
            if table.data is None or table.data.size == 0:
                known = ANYTHING
            else:
                values = table.data.astype(np.int64, copy=False)
                first = int(values[0])
                modulus = int(np.gcd.reduce(np.abs(values - first)))
                known = _facts(int(values.min()), int(values.max()), modulus, first)
            self._known[table] = known
        return known
