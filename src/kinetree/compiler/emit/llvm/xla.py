"""How XLA calls a kernel: a handler of its foreign function interface, in LLVM text.

XLA passes a call frame: buffers with their shapes, and a table of its own functions. The handler counts the
states, locates them, and runs the kernel; threads of XLA join in a long batch. What is specific to the kernel
is in a block of words (`Facts`) to which `@facts` points. A buffer holds a row for each state, or one row
shared by all. Offsets are those of the structures in XLA's `c_api.h`.
"""

from __future__ import annotations

from kinetree.compiler.emit.llvm import xla_parts as parts
from kinetree.compiler.emit.llvm.xla_parts import CLOSED, SHARED, Api, Facts


def define_handler(api: Api) -> str:
    """The module: `@handler`, called by XLA."""
    fixed = parts.HEAD, HANDLER, parts.READERS, parts.STATES, parts.WORK
    made = parts.define_metadata(api), parts.define_errors(api), parts.define_threads(api)
    return "\n\n".join((*fixed, *made))


HANDLER = f"""\
define ptr @handler(ptr %frame) {{
  %described = call i1 @described(ptr %frame)
  br i1 %described, label %done, label %call
call:
  %inputs = call i64 @fact(i64 {Facts.INPUTS:d})
  %outputs = call i64 @fact(i64 {Facts.OUTPUTS:d})
  %total = add i64 %inputs, %outputs
  %given.at = getelementptr i8, ptr %frame, i64 56
  %given = load i64, ptr %given.at
  %wanted.at = getelementptr i8, ptr %frame, i64 96
  %wanted = load i64, ptr %wanted.at
  %all.given = icmp eq i64 %given, %inputs
  %all.wanted = icmp eq i64 %wanted, %outputs
  %right = and i1 %all.given, %all.wanted
  br i1 %right, label %count, label %misfit
count:
  %args.at = getelementptr i8, ptr %frame, i64 72
  %args = load ptr, ptr %args.at
  %rets.at = getelementptr i8, ptr %frame, i64 112
  %rets = load ptr, ptr %rets.at
  %first = load ptr, ptr %rets
  %n = call i64 @states(ptr %first, i64 %inputs)
  %empty = icmp eq i64 %n, 0
  br i1 %empty, label %done, label %reserve
reserve:
  %numbers = mul i64 %total, 2
  %words = add i64 %numbers, {SHARED}
  %bytes = mul i64 %words, 8
  %shared = call ptr @malloc(i64 %bytes)
  %none = icmp eq ptr %shared, null
  br i1 %none, label %memory, label %fill
fill:
  %addresses = getelementptr i64, ptr %shared, i64 {SHARED}
  %strides = getelementptr i64, ptr %addresses, i64 %total
  br label %array
array:
  %k = phi i64 [ 0, %fill ], [ %k.next, %set ]
  %is.input = icmp slt i64 %k, %inputs
  %place = sub i64 %k, %inputs
  %arg = getelementptr ptr, ptr %args, i64 %k
  %ret = getelementptr ptr, ptr %rets, i64 %place
  %from = select i1 %is.input, ptr %arg, ptr %ret
  %buffer = load ptr, ptr %from
  %own = call i64 @states(ptr %buffer, i64 %k)
  %common = icmp eq i64 %own, 1
  %each = icmp eq i64 %own, %n
  %fits = or i1 %common, %each
  br i1 %fits, label %set, label %unshare
set:
  %data.at = getelementptr i8, ptr %buffer, i64 24
  %data = load ptr, ptr %data.at
  %address = getelementptr ptr, ptr %addresses, i64 %k
  store ptr %data, ptr %address
  %size = call i64 @spec(i64 %k, i64 1)
  %stride = select i1 %each, i64 %size, i64 0
  %stride.at = getelementptr i64, ptr %strides, i64 %k
  store i64 %stride, ptr %stride.at
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %total
  br i1 %more, label %array, label %share
share:
  %threads = call i64 @threads(ptr %frame, i64 %n)
  %alone = icmp eq i64 %threads, 1
  %usual = call i64 @fact(i64 {Facts.BLOCK:d})
  %block = select i1 %alone, i64 %n, i64 %usual
  %progress = getelementptr i64, ptr %shared, i64 1
  %n.at = getelementptr i64, ptr %shared, i64 4
  %block.at = getelementptr i64, ptr %shared, i64 5
  store i64 %threads, ptr %shared
  store i64 {CLOSED}, ptr %progress
  store i64 %n, ptr %n.at
  store i64 %block, ptr %block.at
  call void @invite(ptr %frame, ptr %shared, i64 %threads)
  %found = call i64 @work(ptr %shared, i64 {Facts.FUNCTION:d})
  call void @leave(ptr %shared)
  %short = icmp eq i64 %found, -2
  br i1 %short, label %memory, label %judge
judge:
  %refused = icmp sge i64 %found, 0
  br i1 %refused, label %refuse, label %done
unshare:
  call void @free(ptr %shared)
  br label %misfit
done:
  ret ptr null
refuse:
  %e1 = call ptr @error(ptr %frame, i64 {Facts.REFUSED:d}, i32 3)
  ret ptr %e1
misfit:
  %e2 = call ptr @error(ptr %frame, i64 {Facts.MISFIT:d}, i32 13)
  ret ptr %e2
memory:
  %e3 = call ptr @error(ptr %frame, i64 {Facts.MEMORY:d}, i32 8)
  ret ptr %e3
}}"""


__all__ = ["Api", "Facts", "define_handler"]
