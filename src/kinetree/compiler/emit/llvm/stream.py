"""Results too large for the caches: written line by line, past them.

An ordinary store first reads the line that it changes. When a batch of large results exceeds the caches,
that doubles the traffic, and the memory is what limits the speed. So the rows of W states are first put
together in the workspace, and then written in whole lines by non-temporal stores.
"""

from __future__ import annotations

from collections.abc import Sequence

from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Array

LINE = 64  # bytes
SMALLEST = 1024  # bytes of a row, below which it has too few whole lines
STAGE = 1 << 19  # bytes of W rows, above which the workspace itself would leave the cache
BATCH = 1 << 24  # bytes of all results of a batch, up to which the caches may hold them


def is_streamed(array: Array, number: Number) -> bool:
    """True if the results in an array may be written this way."""
    size = array.size * number.bytes
    return number.lanes > 1 and size >= SMALLEST and number.lanes * stage_stride(array, number) <= STAGE


def stage_stride(array: Array, number: Number) -> int:
    """The distance of two rows in the workspace, in bytes."""
    return -(-array.size * number.bytes // LINE) * LINE


def most_states(outputs: Sequence[Array], number: Number) -> int:
    """The states of a batch up to which the caches may hold all its results."""
    return BATCH // max(1, sum(array.size for array in outputs) * number.bytes)


def define_delivery(name: str, store: str, array: Array, number: Number, most: int) -> str:
    """`@<name>`: what `@<store>` does, by way of the rows at `stage` if there are more than `most` states."""
    size, step = array.size * number.bytes, stage_stride(array, number)
    return f"""\
define internal void @{name}(ptr %row, i64 %stride, i64 %last, ptr %slots, i64 %n, ptr %stage) #0 {{
entry:
  %much = icmp ugt i64 %n, {most}
  %full = icmp eq i64 %last, {number.lanes - 1}
  %far = and i1 %much, %full
  br i1 %far, label %staged, label %plain
plain:
  call void @{store}(ptr %row, i64 %stride, i64 %last, ptr %slots)
  ret void
staged:
  call void @{store}(ptr %stage, i64 {step}, i64 %last, ptr %slots)
  br label %lane
lane:
  %k = phi i64 [ 0, %staged ], [ %next, %lane ]
  %there = mul i64 %k, {step}
  %here = mul i64 %k, %stride
  %from = getelementptr i8, ptr %stage, i64 %there
  %to = getelementptr i8, ptr %row, i64 %here
  call void @stream(ptr %to, ptr %from, i64 {size})
  %next = add nuw nsw i64 %k, 1
  %more = icmp ult i64 %next, {number.lanes}
  br i1 %more, label %lane, label %done
done:
  ret void
}}"""


def define_stream(number: Number) -> str:
    """`@stream`: a number of bytes, whole lines of the target by non-temporal stores."""
    vector, scalar, width = number.vector, number.scalar, number.size
    return f"""\
define internal void @stream(ptr noalias %to, ptr noalias %from, i64 %bytes) #0 {{
entry:
  %address = ptrtoint ptr %to to i64
  %negative = sub i64 0, %address
  %skew = and i64 %negative, {LINE - 1}
  %head = call i64 @llvm.umin.i64(i64 %skew, i64 %bytes)
  %left = sub i64 %bytes, %head
  %whole = and i64 %left, {-LINE}
  %tail = add i64 %head, %whole
  br label %first
first:
  %a = phi i64 [ 0, %entry ], [ %a.next, %first.copy ]
  %a.more = icmp ult i64 %a, %head
  br i1 %a.more, label %first.copy, label %lines
first.copy:
  %a.from = getelementptr i8, ptr %from, i64 %a
  %a.to = getelementptr i8, ptr %to, i64 %a
  %a.x = load {scalar}, ptr %a.from
  store {scalar} %a.x, ptr %a.to
  %a.next = add i64 %a, {number.bytes}
  br label %first
lines:
  %b = phi i64 [ %head, %first ], [ %b.next, %lines.copy ]
  %b.more = icmp ult i64 %b, %tail
  br i1 %b.more, label %lines.copy, label %last
lines.copy:
  %b.from = getelementptr i8, ptr %from, i64 %b
  %b.to = getelementptr i8, ptr %to, i64 %b
  %b.x = load {vector}, ptr %b.from, align {number.bytes}
  store {vector} %b.x, ptr %b.to, align {width}, !nontemporal !2
  %b.next = add i64 %b, {width}
  br label %lines
last:
  %c = phi i64 [ %tail, %lines ], [ %c.next, %last.copy ]
  %c.more = icmp ult i64 %c, %bytes
  br i1 %c.more, label %last.copy, label %done
last.copy:
  %c.from = getelementptr i8, ptr %from, i64 %c
  %c.to = getelementptr i8, ptr %to, i64 %c
  %c.x = load {scalar}, ptr %c.from
  store {scalar} %c.x, ptr %c.to
  %c.next = add i64 %c, {number.bytes}
  br label %last
done:
  ret void
}}"""
