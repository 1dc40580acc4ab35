"""Large results: every distinct value stands once in the workspace, however many elements have it.

A mass matrix is symmetric, and much of it is zero for a branched robot. For a program without loops, whose
every store is known, the workspace therefore holds values instead of elements; the copy to the caller's rows
looks up in a constant table which value an element has, and writes zeros without looking.
"""

from __future__ import annotations

from dataclasses import dataclass

from kinetree.compiler.emit.llvm.function import Function
from kinetree.compiler.emit.llvm.transpose import scatter, storing, within
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Array, Store
from kinetree.compiler.ir.program import Program, walk
from kinetree.ops import Expr

FEWEST = 24  # elements of all results, below which there is nothing to gain
TILE = 4


@dataclass(frozen=True)
class Results:
    """The number of each distinct value (0 is the value zero), and for each array those of its elements."""

    values: dict[Expr | str, int]
    elements: dict[Array, list[int]]

    @staticmethod
    def key(value: Expr | float) -> Expr | str:
        """What tells values apart: for literals their exact digits, since 0 and -0 are equal."""
        return value if isinstance(value, Expr) else float(value).hex()


def gather(program: Program) -> Results | None:
    """What the elements of all outputs are; None if that is not known, or not worth it."""
    if not program.is_straight or sum(a.size for a in program.outputs) < FEWEST:
        return None
    values: dict[Expr | str, int] = {Results.key(0.0): 0}
    elements = {array: [0] * array.size for array in program.outputs}
    seen: set[tuple[Array, int]] = set()
    for statement in walk(program.body):
        if isinstance(statement, Store) and statement.array in elements:
            place = (statement.array, statement.index)
            if statement.accumulate or place in seen:
                return None
            seen.add(place)
            key = Results.key(statement.value)
            elements[statement.array][statement.index] = values.setdefault(key, len(values))
    return Results(values, elements)


def define_gathered_store(name: str, number: Number, slots: list[int]) -> str:
    """`@<name>`: rows whose element k is the value in slot `slots[k]`, slot 0 being zero."""
    size = len(slots)
    step = max(s for s in (TILE, 2, 1) if s <= min(size, number.lanes))
    starts = sorted({*range(0, size - step + 1, step), size - step})
    empty = [e for e in starts if not any(slots[e : e + step])]
    full = [e for e in starts if any(slots[e : e + step])]
    f, rows = storing(name, number, size, f"@{name}_slots")
    part = Number(number.dtype, step)
    if empty:
        with f.each(0, len(empty), some=True) as k:
            first = _entry(f, f"{name}_empty", k)
            for row in rows:
                address = f.at(row, first, number.scalar)
                f.do(f"store {part.vector} {part.constant(0.0)}, ptr {address}, align {number.bytes}")
    if full:
        with f.each(0, len(full), some=True) as k:
            base = f.mul(k, step + 1)
            first = _entry(f, f"{name}_full", base)
            values = []
            for j in range(step):
                slot = f.at("%slots", _entry(f, f"{name}_full", f.add(base, j + 1)), number.vector)
                values.append(f.let(f"load {number.vector}, ptr {slot}, align {number.size}"))
            for j, column in enumerate(within(f, number, values)):
                scatter(f, number, column, rows[j::step], first, step)
    f.give("void")
    tables = [
        _table(f"{name}_slots", slots),
        _table(f"{name}_empty", empty),
        _table(f"{name}_full", [n for e in full for n in (e, *slots[e : e + step])]),
    ]
    return "\n".join([*tables, f.text])


def _table(name: str, numbers: list[int]) -> str:
    items = ", ".join(f"i32 {n}" for n in numbers)
    return f"@{name} = internal constant [{len(numbers)} x i32] [{items}]"


def _entry(f: Function, table: str, index: str) -> str:
    """An entry of a table as an index."""
    value = f.let(f"load i32, ptr {f.at(f'@{table}', index, 'i32')}")
    return f.let(f"zext i32 {value} to i64")
