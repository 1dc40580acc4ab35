"""Large results: every distinct value stands once in the workspace, however many elements have it.

A mass matrix is symmetric, and much of it is zero for a branched robot. For a program without loops, whose
every store is known, the workspace therefore holds values instead of elements; the copy to the caller's rows
looks up in a constant table which value an element has, and writes zeros without looking.
"""

from __future__ import annotations

from dataclasses import dataclass

from kinetree.compiler.emit.llvm.transpose import Text, rows_of, scatter, store_few, within
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
    text = Text()
    rows = rows_of(text, number.lanes)
    before = "entry"
    if empty:
        before = _zeros(text, number, name, rows, step, len(empty), before)
    if full:
        _values(text, number, name, rows, step, len(full), before)
    tables = [
        _table(f"{name}_slots", slots),
        _table(f"{name}_empty", empty),
        _table(f"{name}_full", [n for e in full for n in (e, *slots[e : e + step])]),
    ]
    return f"""\
{chr(10).join(tables)}
define internal void @{name}(ptr %row, i64 %stride, i64 %last, ptr %slots) #0 {{
start:
  %full = icmp eq i64 %last, {number.lanes - 1}
  br i1 %full, label %entry, label %few
{store_few(number, size, f"{name}_slots")}
entry:
{chr(10).join(text.lines)}
  ret void
}}"""


def _table(name: str, numbers: list[int]) -> str:
    items = ", ".join(f"i32 {n}" for n in numbers)
    return f"@{name} = internal constant [{len(numbers)} x i32] [{items}]"


def _loop(text: Text, label: str, before: str, count: int) -> str:
    text.lines += [
        f"  br label %{label}",
        f"{label}:",
        f"  %{label}.k = phi i64 [ 0, %{before} ], [ %{label}.next, %{label} ]",
    ]
    return f"%{label}.k"


def _latch(text: Text, label: str, count: int) -> str:
    text.lines += [
        f"  %{label}.next = add nuw nsw i64 %{label}.k, 1",
        f"  %{label}.more = icmp ult i64 %{label}.next, {count}",
        f"  br i1 %{label}.more, label %{label}, label %{label}.done",
        f"{label}.done:",
    ]
    return f"{label}.done"


def _entry(text: Text, table: str, index: str) -> str:
    """An entry of a table as an index."""
    value = text.fresh(f"load i32, ptr {text.element('i32', f'@{table}', index)}")
    return text.fresh(f"zext i32 {value} to i64")


def _zeros(text: Text, number: Number, name: str, rows: list[str], step: int, count: int, before: str) -> str:
    k = _loop(text, "zeros", before, count)
    first = _entry(text, f"{name}_empty", k)
    part = Number(number.dtype, step)
    for row in rows:
        address = text.element(number.scalar, row, first)
        text.lines.append(f"  store {part.vector} {part.constant(0.0)}, ptr {address}, align {number.bytes}")
    return _latch(text, "zeros", count)


def _values(
    text: Text, number: Number, name: str, rows: list[str], step: int, count: int, before: str
) -> str:
    k = _loop(text, "tiles", before, count)
    base = text.fresh(f"mul nuw nsw i64 {k}, {step + 1}")
    first = _entry(text, f"{name}_full", base)
    values = []
    for j in range(step):
        place = text.fresh(f"add nuw nsw i64 {base}, {j + 1}")
        slot = text.element(number.vector, "%slots", _entry(text, f"{name}_full", place))
        values.append(text.fresh(f"load {number.vector}, ptr {slot}, align {number.size}"))
    for j, column in enumerate(within(text, number, values)):
        scatter(text, number, column, rows[j::step], first, step)
    return _latch(text, "tiles", count)
