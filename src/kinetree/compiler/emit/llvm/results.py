"""Large results of programs without loops: stored from registers to the caller's rows, tile by tile.

A tile is a few adjacent elements of one result, in all lanes. As soon as its last element is known, the core
transposes the tile and stores it. There is no copy from the workspace afterwards, and the stores drain to
memory while the core continues. This needs contiguous rows. If they are not contiguous, or fewer states than
lanes are left, or the batch is so large that it is written past the caches, the core writes to a stage in the
workspace, and the rows are copied from there. Tiles without any value are zero: in the stage from the
beginning, in the caller's rows by a loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kinetree.compiler.emit.llvm.function import Function
from kinetree.compiler.emit.llvm.layout import Layout
from kinetree.compiler.emit.llvm.stream import LINE, is_streamed
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Array, Block, Part, Statement, Store
from kinetree.compiler.ir.program import Program
from kinetree.ops import Expr

FEWEST = 24  # elements of all results below which there is nothing to gain
TILE = 4
Place = tuple[Array, int]


@dataclass
class Results:
    """The values of all output elements, and where tiles of them are complete.

    values: the value of every element that is stored.
    completes: for a store, the tiles that it completes: first element, and number of elements.
    slots: for elements whose tile another part completes, where they wait in the workspace.
    empty: the first elements of the tiles that are zero.
    asks_ahead: whether storing a tile prefetches the memory of the one W states later.
    """

    values: dict[Place, Any] = field(default_factory=dict)
    completes: dict[Place, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    slots: dict[Place, int] = field(default_factory=dict)
    empty: dict[Array, list[int]] = field(default_factory=dict)
    asks_ahead: bool = False


def step_of(array: Array, number: Number) -> int:
    """The number of elements in a tile."""
    return max(s for s in (TILE, 2, 1) if s <= min(array.size, number.lanes))


def _tiles(array: Array, number: Number, known: set[int]) -> list[tuple[int, int]]:
    """The first element and the number of elements of all tiles.

    The remainder at the end is a small tile or, if three elements are left or all are zero, one that overlaps
    the previous tile.
    """
    step = step_of(array, number)
    whole, left = array.size // step * step, array.size % step
    tiles = [(first, step) for first in range(0, whole, step)]
    if left in (1, 2) and not known.isdisjoint(range(whole, array.size)):
        return [*tiles, (whole, left)]
    return [*tiles, (array.size - step, step)] if left else tiles


def gather(program: Program, number: Number, asks_ahead: bool = False) -> Results | None:
    """What is known about the results; None if that is incomplete, or not worth it."""
    if not program.is_straight or sum(a.size for a in program.outputs) < FEWEST:
        return None
    results = Results(asks_ahead=asks_ahead)
    order: dict[Place, tuple[int, int]] = {}  # the part that stores an element, and when
    for when, (part, statement) in enumerate(_statements(program.body, 0)):
        if isinstance(statement, Store) and statement.array in program.outputs:
            place = (statement.array, statement.index)
            if statement.accumulate or place in order:
                return None
            order[place], results.values[place] = (part, when), statement.value
    for array in program.outputs:
        results.empty[array] = []
        if not array.size:
            continue
        for first, step in _tiles(array, number, {e for a, e in order if a is array}):
            known = [(array, e) for e in range(first, first + step) if (array, e) in order]
            if not known:
                results.empty[array].append(first)
                continue
            computed = [place for place in known if type(results.values[place]) is Expr]
            last = max(computed or known, key=lambda place: order[place])  # literals are known beforehand
            results.completes[last].append((first, step))
            for place in computed:
                if order[place][0] != order[last][0]:
                    results.slots.setdefault(place, len(results.slots))
    return results


def _statements(block: Block, part: int) -> Iterator[tuple[int, Statement]]:
    """Every statement, with a number that identifies its function."""
    for number, statement in enumerate(block.statements, 1):
        if isinstance(statement, Part):
            yield from _statements(statement.body, number)
        else:
            yield part, statement


def lines_ahead(array: Array, number: Number, first: int, step: int) -> Iterator[int]:
    """The byte offsets from the first row at which cache lines of the next W rows begin within a tile.

    Empty for rows that may be written past the caches.
    """
    size, here = array.size * number.bytes, first * number.bytes
    begins = first < step or here // LINE != (first - step) * number.bytes // LINE
    for k in range(number.lanes if begins and not is_streamed(array, number) else 0):
        yield (number.lanes + k) * size + here


def choose_target(row: str, j: int, array: Array, number: Number, layout: Layout, most: int) -> list[str]:
    """Choose where the core stores the rows of a result, argument j, and note it in the workspace."""
    size = array.size * number.bytes
    lines = [
        f"  %dense{j} = icmp eq i64 %stride{j}, {size}",
        f"  %whole{j} = icmp eq i64 %last, {number.lanes - 1}",
        f"  %plain{j} = and i1 %dense{j}, %whole{j}",
    ]
    near = f"%plain{j}"
    if is_streamed(array, number):
        near = f"%near{j}"
        lines += [
            f"  %cached{j} = icmp ule i64 %n, {most}",
            f"  %near{j} = and i1 %plain{j}, %cached{j}",
        ]
    return [
        *lines,
        f"  %stage{j} = getelementptr {number.vector}, ptr %ws, i64 {layout.stages[array]}",
        f"  %target{j} = select i1 {near}, ptr {row}, ptr %stage{j}",
        f"  %told{j} = getelementptr i8, ptr %ws, i64 {layout.target(array)}",
        f"  store ptr %target{j}, ptr %told{j}",
    ]


def define_finish(name: str, array: Array, number: Number, empty: list[int]) -> str:
    """`@<name>`: finish the rows of a result after the core has stored its tiles.

    Zeros, if the core stored them in place; else the rows are copied from the stage, past the caches if they
    could have been stored in place but were too many.
    """
    size, lanes = array.size * number.bytes, number.lanes
    part = Number(number.dtype, step_of(array, number))
    f = Function(f"internal void @{name}(ptr %row, i64 %stride, i64 %last, ptr %target)", "#0")
    f.unless(f.same("%target", "%row"), "staged")
    if empty:
        with f.each(0, len(empty), some=True) as k:
            entry = f.let(f"load i32, ptr {f.at(f'@{name}_empty', k, 'i32')}")
            first = f.let(f"zext i32 {entry} to i64")
            for lane in range(lanes):
                address = f.at(f.at("%row", lane * size, "i8"), first, number.scalar)
                f.do(f"store {part.vector} {part.constant(0.0)}, ptr {address}, align {number.bytes}")
    f.give("void")
    f.block("staged")
    if is_streamed(array, number):
        in_place = f.all_of(f.is_("eq", "%stride", size), f.is_("eq", "%last", lanes - 1))
        f.unless(in_place, "rows")
        f.call("void", "@stream", "ptr %row", "ptr %target", f"i64 {lanes * size}")
        f.give("void")
        f.block("rows")
    with f.each(0, f.add("%last", 1), some=True) as k:
        there, here = f.at("%row", f.mul(k, "%stride"), "i8"), f.at("%target", f.mul(k, size), "i8")
        f.call("void", "@llvm.memcpy.p0.p0.i64", f"ptr {there}", f"ptr {here}", f"i64 {size}", "i1 false")
    f.give("void")
    table = ", ".join(f"i32 {n}" for n in empty)
    return f"@{name}_empty = internal constant [{len(empty)} x i32] [{table}]\n{f.text}"
