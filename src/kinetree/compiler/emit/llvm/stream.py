"""Results too large for the caches: written past them, in whole cache lines.

An ordinary store first reads the line that it changes. When a batch of large results exceeds the caches, that
doubles the memory traffic, which is the bottleneck. So the rows of W states are first assembled in the
workspace, and then written in whole lines by non-temporal stores.
"""

from __future__ import annotations

from collections.abc import Sequence

from kinetree.compiler.emit.llvm.function import Function
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Array

LINE = 64  # bytes
SMALLEST = 1024  # bytes per row, below which it has too few whole lines
STAGE = 1 << 19  # bytes of W rows, above which the workspace itself would leave the cache
BATCH = 10 << 20  # bytes of all results of a batch, up to which the caches may hold them


def is_streamed(array: Array, number: Number) -> bool:
    """True if the results in an array may be written this way."""
    size = array.size * number.bytes
    return number.lanes > 1 and size >= SMALLEST and number.lanes * stage_stride(array, number) <= STAGE


def stage_stride(array: Array, number: Number) -> int:
    """The stride between rows in the workspace, in bytes."""
    return -(-array.size * number.bytes // LINE) * LINE


def most_states(outputs: Sequence[Array], number: Number) -> int:
    """The largest batch, in states, whose results the caches may hold."""
    return BATCH // max(1, sum(array.size for array in outputs) * number.bytes)


def define_delivery(name: str, store: str, array: Array, number: Number, most: int) -> str:
    """`@<name>`: the same as `@<store>`, through the rows at `stage` if there are more than `most` states."""
    size, step = array.size * number.bytes, stage_stride(array, number)
    f = Function(
        f"internal void @{name}(ptr %row, i64 %stride, i64 %last, ptr %slots, i64 %n, ptr %stage)", "#0"
    )
    is_full = f.is_("eq", "%last", number.lanes - 1)
    f.when(f.all_of(f.is_("ugt", "%n", most), is_full), "staged")
    f.call("void", f"@{store}", "ptr %row", "i64 %stride", "i64 %last", "ptr %slots")
    f.give("void")
    f.block("staged")
    f.call("void", f"@{store}", "ptr %stage", f"i64 {step}", "i64 %last", "ptr %slots")
    with f.each(0, number.lanes, some=True) as k:
        there, here = f.at("%row", f.mul(k, "%stride"), "i8"), f.at("%stage", f.mul(k, step), "i8")
        f.call("void", "@stream", f"ptr {there}", f"ptr {here}", f"i64 {size}")
    f.give("void")
    return f.text


def define_stream(number: Number) -> str:
    """`@stream`: copy bytes, in whole lines of the destination by non-temporal stores."""
    f = Function("internal void @stream(ptr noalias %to, ptr noalias %from, i64 %bytes)", "#0")
    before = f.let(f"and i64 {f.sub(0, f.let('ptrtoint ptr %to to i64'))}, {LINE - 1}")
    head = f.call("i64", "@llvm.umin.i64", f"i64 {before}", "i64 %bytes")
    tail = f.add(head, f.let(f"and i64 {f.sub('%bytes', head)}, {-LINE}"))
    one, line = (number.scalar, number.bytes, ""), (number.vector, number.size, ", !nontemporal !2")
    for first, end, (kind, step, how) in ((0, head, one), (head, tail, line), (tail, "%bytes", one)):
        with f.each(first, end, step) as k:
            value = f.let(f"load {kind}, ptr {f.at('%from', k, 'i8')}, align {number.bytes}")
            f.do(f"store {kind} {value}, ptr {f.at('%to', k, 'i8')}, align {step}{how}")
    f.give("void")
    return f.text
