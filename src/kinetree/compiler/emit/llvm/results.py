"""Large results of programs without loops: they go from registers to the caller's rows, tile by tile.

A tile is a few neighbouring elements of one result, of all lanes. As soon as the last of them is known, the
core transposes the tile and stores it: there is no copy from the workspace afterwards, and what is written
drains to memory while the core goes on. Rows must follow one another without gaps for that; if they do not,
or if fewer states are left than lanes, or if the batch is so large that it is written past the caches, the
core writes to a stage in the workspace, and the rows are copied from there. Tiles without any value are
zero: the stage has these zeros from the beginning, the caller's rows get them by a loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kinetree.compiler.emit.llvm.layout import Layout
from kinetree.compiler.emit.llvm.stream import is_streamed
from kinetree.compiler.emit.llvm.transpose import Text
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Array, Block, Part, Statement, Store
from kinetree.compiler.ir.program import Program

FEWEST = 24  # elements of all results, below which there is nothing to gain
TILE = 4
Place = tuple[Array, int]


@dataclass
class Results:
    """What the elements of all outputs are, and where tiles of them are complete.

    values: the value of every element that is stored.
    completes: for a store, the first elements of the tiles that have all their values then.
    slots: for elements that another part completes the tile of, where in the workspace they wait.
    empty: the first elements of the tiles that are zero.
    """

    values: dict[Place, Any] = field(default_factory=dict)
    completes: dict[Place, list[int]] = field(default_factory=lambda: defaultdict(list))
    slots: dict[Place, int] = field(default_factory=dict)
    empty: dict[Array, list[int]] = field(default_factory=dict)


def step_of(array: Array, number: Number) -> int:
    """The elements of a tile."""
    return max(s for s in (TILE, 2, 1) if s <= min(array.size, number.lanes))


def gather(program: Program, number: Number) -> Results | None:
    """What is known of the results; None if that is not all, or not worth it."""
    if not program.is_straight or sum(a.size for a in program.outputs) < FEWEST:
        return None
    results = Results()
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
        step = step_of(array, number)
        for first in sorted({*range(0, array.size - step + 1, step), array.size - step}):
            known = [(array, e) for e in range(first, first + step) if (array, e) in order]
            if not known:
                results.empty[array].append(first)
                continue
            last = max(known, key=lambda place: order[place])
            results.completes[last].append(first)
            for place in known:
                if order[place][0] != order[last][0]:
                    results.slots.setdefault(place, len(results.slots))
    return results


def _statements(block: Block, part: int) -> Iterator[tuple[int, Statement]]:
    """Every statement with a number that tells functions apart."""
    for number, statement in enumerate(block.statements, 1):
        if isinstance(statement, Part):
            yield from _statements(statement.body, number)
        else:
            yield part, statement


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
    """`@<name>`: what is left to do for the rows of a result after the core has stored its tiles.

    Zeros, if it stored them in place; else the rows come from the stage: past the caches if it could have
    stored them in place, and did not because they are many.
    """
    size, lanes = array.size * number.bytes, number.lanes
    part = Number(number.dtype, step_of(array, number))
    text = Text()
    for lane in range(lanes):
        row = text.element("i8", "%row", str(lane * size))
        address = text.element(number.scalar, row, "%first")
        text.lines.append(f"  store {part.vector} {part.constant(0.0)}, ptr {address}, align {number.bytes}")
    zeros = f"""\
  br label %zeros
zeros:
  %k = phi i64 [ 0, %plain ], [ %k.next, %zeros ]
  %entry.k = getelementptr i32, ptr @{name}_empty, i64 %k
  %first.i = load i32, ptr %entry.k
  %first = zext i32 %first.i to i64
{chr(10).join(text.lines)}
  %k.next = add nuw nsw i64 %k, 1
  %k.more = icmp ult i64 %k.next, {len(empty)}
  br i1 %k.more, label %zeros, label %done"""
    staged = "  br label %lane"
    before = "staged"
    if is_streamed(array, number):
        before = "near"
        staged = f"""\
  %dense = icmp eq i64 %stride, {size}
  %full = icmp eq i64 %last, {lanes - 1}
  %block = and i1 %dense, %full
  br i1 %block, label %far, label %near
far:
  call void @stream(ptr %row, ptr %target, i64 {lanes * size})
  br label %done
near:
  br label %lane"""
    return f"""\
@{name}_empty = internal constant [{len(empty)} x i32] [{", ".join(f"i32 {n}" for n in empty)}]
define internal void @{name}(ptr %row, i64 %stride, i64 %last, ptr %target) #0 {{
entry:
  %stored = icmp eq ptr %target, %row
  br i1 %stored, label %plain, label %staged
plain:
{zeros if empty else "  ret void"}
staged:
{staged}
lane:
  %lane.k = phi i64 [ 0, %{before} ], [ %lane.next, %lane ]
  %there = mul i64 %lane.k, {size}
  %here = mul i64 %lane.k, %stride
  %from = getelementptr i8, ptr %target, i64 %there
  %to = getelementptr i8, ptr %row, i64 %here
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 {size}, i1 false)
  %lane.next = add nuw nsw i64 %lane.k, 1
  %lane.more = icmp sle i64 %lane.next, %last
  br i1 %lane.more, label %lane, label %done
done:
  ret void
}}"""
