"""How XLA launches a kernel on an NVIDIA GPU: a handler of its foreign function interface, in LLVM text.

The handler finds XLA's stream, its device, and the arrays; it launches the kernel on that stream and returns.
It does not wait for the device and allocates nothing there: the kernel's notes and work arrays are two
further results that XLA allocates and drops. So calls can be part of a graph that is recorded once and
replayed.
"""

from __future__ import annotations

from enum import IntEnum, auto

from kinetree.compiler.emit.llvm import xla_parts as parts
from kinetree.compiler.emit.llvm.xla_parts import Api, Facts

EXTRA = 2  # results besides those of the function: notes (16 bytes) and work arrays
REPLAYED = 1  # XLA may record the handler's launches


class Place(IntEnum):
    """The words about a kernel on one device."""

    CONTEXT = 0
    FUNCTION = auto()
    LARGE = auto()  # the kernel for large angles, or 0
    TABLES = auto()
    BLOCKS = auto()  # the most
    TILE = auto()  # states per block
    THREADS = auto()  # per block
    SHARED = auto()  # bytes of shared memory per block
    SIZE = auto()


def define_device_handler(api: Api) -> str:
    """The module: `@handler`, called by XLA."""
    made = parts.define_metadata(api, REPLAYED), parts.define_errors(api), _define_stream(api)
    return "\n\n".join((parts.HEAD, DRIVER, HANDLER, LAUNCH, FIND, parts.READERS, parts.STATES, *made))


DRIVER = """\
declare i32 @cuStreamGetCtx(ptr, ptr)
declare i32 @cuCtxPushCurrent_v2(ptr)
declare i32 @cuCtxPopCurrent_v2(ptr)
declare i32 @cuMemsetD32Async(i64, i32, i64, ptr)
declare i32 @cuLaunchKernel(ptr, i32, i32, i32, i32, i32, i32, i32, ptr, ptr, ptr)"""
SYMBOLS = tuple(line.partition("@")[2].partition("(")[0] for line in DRIVER.splitlines())

HANDLER = f"""\
define ptr @handler(ptr %frame) {{
  %described = call i1 @described(ptr %frame)
  br i1 %described, label %done, label %call
call:
  %inputs = call i64 @fact(i64 {Facts.INPUTS:d})
  %outputs = call i64 @fact(i64 {Facts.OUTPUTS:d})
  %total = add i64 %inputs, %outputs
  %places = add i64 %outputs, {EXTRA}
  %given.at = getelementptr i8, ptr %frame, i64 56
  %given = load i64, ptr %given.at
  %wanted.at = getelementptr i8, ptr %frame, i64 96
  %wanted = load i64, ptr %wanted.at
  %all.given = icmp eq i64 %given, %inputs
  %all.wanted = icmp eq i64 %wanted, %places
  %right = and i1 %all.given, %all.wanted
  br i1 %right, label %count, label %misfit
count:
  %args.at = getelementptr i8, ptr %frame, i64 72
  %args = load ptr, ptr %args.at
  %rets.at = getelementptr i8, ptr %frame, i64 112
  %rets = load ptr, ptr %rets.at
  %result = load ptr, ptr %rets
  %n = call i64 @states(ptr %result, i64 %inputs)
  %empty = icmp eq i64 %n, 0
  br i1 %empty, label %done, label %find
find:
  %stream = call ptr @stream(ptr %frame)
  %context.at = alloca ptr
  store ptr null, ptr %context.at
  %unknown = call i32 @cuStreamGetCtx(ptr %stream, ptr %context.at)
  %context = load ptr, ptr %context.at
  %place = call ptr @find(ptr %context)
  %nowhere = icmp eq ptr %place, null
  br i1 %nowhere, label %misfit, label %fill
fill:
  %thrice = mul i64 %total, 3
  %count.words = add i64 %thrice, 6
  %words = alloca i64, i64 %count.words
  %pointers = alloca ptr, i64 %count.words
  br label %array
array:
  %k = phi i64 [ 0, %fill ], [ %k.next, %set ]
  %is.input = icmp slt i64 %k, %inputs
  %position = sub i64 %k, %inputs
  %arg = getelementptr ptr, ptr %args, i64 %k
  %ret = getelementptr ptr, ptr %rets, i64 %position
  %from = select i1 %is.input, ptr %arg, ptr %ret
  %buffer = load ptr, ptr %from
  %own = call i64 @states(ptr %buffer, i64 %k)
  %common = icmp eq i64 %own, 1
  %each = icmp eq i64 %own, %n
  %fits = or i1 %common, %each
  br i1 %fits, label %set, label %misfit
set:
  %data.at = getelementptr i8, ptr %buffer, i64 24
  %data = load i64, ptr %data.at
  %size = call i64 @spec(i64 %k, i64 1)
  %stride = select i1 %each, i64 %size, i64 0
  %first = mul i64 %k, 3
  %word = getelementptr i64, ptr %words, i64 %first
  %word.1 = getelementptr i64, ptr %word, i64 1
  %word.2 = getelementptr i64, ptr %word, i64 2
  store i64 %data, ptr %word
  store i64 %stride, ptr %word.1
  store i64 1, ptr %word.2
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %total
  br i1 %more, label %array, label %rest
rest:
  %notes.ret = getelementptr ptr, ptr %rets, i64 %outputs
  %notes.buffer = load ptr, ptr %notes.ret
  %notes.at = getelementptr i8, ptr %notes.buffer, i64 24
  %notes = load i64, ptr %notes.at
  %work.ret = getelementptr ptr, ptr %notes.ret, i64 1
  %work.buffer = load ptr, ptr %work.ret
  %work.at = getelementptr i8, ptr %work.buffer, i64 24
  %work = load i64, ptr %work.at
  %tables.at = getelementptr i64, ptr %place, i64 {Place.TABLES:d}
  %tables = load i64, ptr %tables.at
  %most.at = getelementptr i64, ptr %place, i64 {Place.BLOCKS:d}
  %most = load i64, ptr %most.at
  %tile.at = getelementptr i64, ptr %place, i64 {Place.TILE:d}
  %tile = load i64, ptr %tile.at
  %low = sub i64 %tile, 1
  %up = add i64 %n, %low
  %needed = udiv i64 %up, %tile
  %blocks = call i64 @llvm.smin.i64(i64 %needed, i64 %most)
  %tail = getelementptr i64, ptr %words, i64 %thrice
  %tail.1 = getelementptr i64, ptr %tail, i64 1
  %tail.2 = getelementptr i64, ptr %tail, i64 2
  %tail.3 = getelementptr i64, ptr %tail, i64 3
  %tail.4 = getelementptr i64, ptr %tail, i64 4
  store i64 %tables, ptr %tail
  store i64 %work, ptr %tail.1
  store i64 %notes, ptr %tail.2
  store i64 %n, ptr %tail.3
  store i64 %blocks, ptr %tail.4
  %tail.5 = getelementptr i64, ptr %tail, i64 5
  store i64 1, ptr %tail.5
  br label %point
point:
  %j = phi i64 [ 0, %rest ], [ %j.next, %point ]
  %to = getelementptr i64, ptr %words, i64 %j
  %pointer = getelementptr ptr, ptr %pointers, i64 %j
  store ptr %to, ptr %pointer
  %j.next = add i64 %j, 1
  %further = icmp slt i64 %j.next, %count.words
  br i1 %further, label %point, label %start
start:
  %status = call i32 @launch(ptr %place, ptr %context, ptr %stream, i64 %notes, i64 %blocks, ptr %pointers)
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %done, label %failed
done:
  ret ptr null
misfit:
  %e1 = call ptr @error(ptr %frame, i64 {Facts.MISFIT:d}, i32 13)
  ret ptr %e1
failed:
  %e2 = call ptr @error(ptr %frame, i64 {Facts.FAILED:d}, i32 13)
  ret ptr %e2
}}"""

# `@launch`: clear the notes, then launch the kernels; returns 0, or an error code.
LAUNCH = f"""\
define internal i32 @launch(ptr %place, ptr %context, ptr %stream, i64 %notes, i64 %blocks, ptr %pointers) {{
  %old = alloca ptr
  %s1 = call i32 @cuCtxPushCurrent_v2(ptr %context)
  %far = add i64 %notes, 8
  %s2 = call i32 @cuMemsetD32Async(i64 %notes, i32 -1, i64 2, ptr %stream)
  %s3 = call i32 @cuMemsetD32Async(i64 %far, i32 0, i64 1, ptr %stream)
  %function.at = getelementptr i64, ptr %place, i64 {Place.FUNCTION:d}
  %function = load ptr, ptr %function.at
  %grid = trunc i64 %blocks to i32
  %threads.at = getelementptr i64, ptr %place, i64 {Place.THREADS:d}
  %threads.word = load i64, ptr %threads.at
  %threads = trunc i64 %threads.word to i32
  %shared.at = getelementptr i64, ptr %place, i64 {Place.SHARED:d}
  %shared.word = load i64, ptr %shared.at
  %shared = trunc i64 %shared.word to i32
  %s4 = call i32 @cuLaunchKernel(ptr %function, i32 %grid, i32 1, i32 1, i32 %threads, i32 1, i32 1,
    i32 %shared, ptr %stream, ptr %pointers, ptr null)
  %first = or i32 %s2, %s3
  %begun = or i32 %first, %s4
  %large.at = getelementptr i64, ptr %place, i64 {Place.LARGE:d}
  %large = load ptr, ptr %large.at
  %none = icmp eq ptr %large, null
  br i1 %none, label %done, label %again
again:
  %s5 = call i32 @cuLaunchKernel(ptr %large, i32 %grid, i32 1, i32 1, i32 %threads, i32 1, i32 1,
    i32 %shared, ptr %stream, ptr %pointers, ptr null)
  br label %done
done:
  %last = phi i32 [ 0, %0 ], [ %s5, %again ]
  %s6 = call i32 @cuCtxPopCurrent_v2(ptr %old)
  %status = or i32 %begun, %last
  %whole = or i32 %status, %s1
  ret i32 %whole
}}"""

# `@find`: the words about the kernel on the device of a context; null if there are none.
FIND = f"""\
define internal ptr @find(ptr %context) {{
entry:
  %count = call i64 @fact(i64 {Facts.DEVICES:d})
  %table.word = call i64 @fact(i64 {Facts.PLACES:d})
  %table = inttoptr i64 %table.word to ptr
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k.next, %look ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %look, label %none
look:
  %start = mul i64 %k, {Place.SIZE:d}
  %place = getelementptr i64, ptr %table, i64 %start
  %its = load ptr, ptr %place
  %same = icmp eq ptr %its, %context
  %k.next = add i64 %k, 1
  br i1 %same, label %found, label %next
found:
  ret ptr %place
none:
  ret ptr null
}}"""


def _define_stream(api: Api) -> str:
    """`@stream`: the stream of a call; null, the device's default, if XLA does not say."""
    return f"""\
define internal ptr @stream(ptr %frame) {{
  %ctx.at = getelementptr i8, ptr %frame, i64 24
  %ctx = load ptr, ptr %ctx.at
  %a = alloca {{ i64, ptr, ptr, ptr }}
  %whole = insertvalue {{ i64, ptr, ptr, ptr }} {{ i64 32, ptr null, ptr null, ptr null }}, ptr %ctx, 2
  store {{ i64, ptr, ptr, ptr }} %whole, ptr %a
{parts.function_of("ask", api.stream)}
  %problem = call ptr %ask(ptr %a)
  %known = call i1 @settled(ptr %frame, ptr %problem)
  %answer.at = getelementptr i8, ptr %a, i64 24
  %answer = load ptr, ptr %answer.at
  %found = select i1 %known, ptr %answer, ptr null
  ret ptr %found
}}"""


__all__ = ["EXTRA", "SYMBOLS", "Place", "define_device_handler"]
