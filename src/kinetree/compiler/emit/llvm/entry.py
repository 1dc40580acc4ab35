"""The text of the function behind fast calls (see `kinetree.compiler.runtime.fastcall`).

It reads one context per kernel, an array of 64-bit words:
    0-2  code for one state, its tables, its workspace     3-5  the same for a batch     6  the longest batch
    7  inputs     8  outputs     9  the type's descriptor     10  the type's number     11  the general method
    12  a counter     13  1 while a batch runs: it lets go of the interpreter's lock
and from word `HEADER` on, for each argument and result, its number of axes, their lengths, its bytes
(`SPEC` words); then the addresses for one state, the strides of a batch, and the addresses for a batch.
"""

from __future__ import annotations

from kinetree.compiler.emit.llvm.entry_parts import (
    AXES,
    HEADER,
    RESULTS,
    SPEC,
    Addresses,
    Offsets,
    define_apart,
    define_check,
    define_drop,
    pointer,
)

CONTIGUOUS_ALIGNED = 0x0101
WRITEABLE = 0x0400


def define_entry(at: Addresses, offset: Offsets) -> str:
    """The module with `@entry(self, args, nargs, kwnames)`."""
    parts = (define_check(at, offset), define_apart(offset), define_drop(at), _entry(at, offset))
    return "\n\n".join(parts) + "\n"


def _entry(at: Addresses, offset: Offsets) -> str:
    return f"""\
define ptr @entry(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind {{
entry:
  %objects = alloca [{RESULTS} x ptr]
  %dims = alloca [{AXES + 1} x i64]
  %p.context = getelementptr i8, ptr %self, i64 {offset.data}
  %context = load ptr, ptr %p.context
  %p.inputs = getelementptr i64, ptr %context, i64 7
  %inputs = load i64, ptr %p.inputs
  %p.outputs = getelementptr i64, ptr %context, i64 8
  %outputs = load i64, ptr %p.outputs
  %arrays = add i64 %inputs, %outputs
  %specs = getelementptr i64, ptr %context, i64 {HEADER}
  %spec.words = mul i64 %arrays, {SPEC}
  %places.one = getelementptr i64, ptr %specs, i64 %spec.words
  %strides = getelementptr i64, ptr %places.one, i64 %arrays
  %places.many = getelementptr i64, ptr %strides, i64 %arrays
  %out.words = mul i64 %inputs, {SPEC}
  %out.specs = getelementptr i64, ptr %specs, i64 %out.words
  %complete = icmp eq i64 %nargs, %inputs
  br i1 %complete, label %keywords, label %slow
keywords:
  %bare = icmp eq ptr %kwnames, null
  br i1 %bare, label %arguments, label %keyword
keyword:
  %p.count = getelementptr i8, ptr %kwnames, i64 16
  %count = load i64, ptr %p.count
  %p.name = getelementptr i8, ptr %kwnames, i64 24
  %name = load ptr, ptr %p.name
  %is.one = icmp eq i64 %count, 1
  %is.out = icmp eq ptr %name, {pointer(at.out)}
  %is.only = icmp eq i64 %outputs, 1
  %good1 = and i1 %is.one, %is.out
  %good2 = and i1 %good1, %is.only
  br i1 %good2, label %given, label %slow
given:
  %p.out = getelementptr ptr, ptr %args, i64 %inputs
  %out.object = load ptr, ptr %p.out
  br label %arguments

arguments:
  %out = phi ptr [ null, %keywords ], [ %out.object, %given ]
  %first = load ptr, ptr %args
  %batch = call i64 @check(ptr %first, ptr %context, ptr %specs, i32 {CONTIGUOUS_ALIGNED})
  br label %argument
argument:
  %k = phi i64 [ 1, %arguments ], [ %k.next, %fine ]
  %k.more = icmp slt i64 %k, %inputs
  br i1 %k.more, label %inspect, label %inspected
inspect:
  %p.object = getelementptr ptr, ptr %args, i64 %k
  %object = load ptr, ptr %p.object
  %k.words = mul i64 %k, {SPEC}
  %k.spec = getelementptr i64, ptr %specs, i64 %k.words
  %k.batch = call i64 @check(ptr %object, ptr %context, ptr %k.spec, i32 {CONTIGUOUS_ALIGNED})
  %k.same = icmp eq i64 %k.batch, %batch
  br i1 %k.same, label %fine, label %slow
fine:
  %k.next = add i64 %k, 1
  br label %argument
inspected:
  %single = icmp eq i64 %batch, -1
  %code.word = select i1 %single, i64 0, i64 3
  %p.code = getelementptr i64, ptr %context, i64 %code.word
  %code = load ptr, ptr %p.code
  %missing = icmp eq ptr %code, null
  %p.longest = getelementptr i64, ptr %context, i64 6
  %longest = load i64, ptr %p.longest
  %at.least = icmp sge i64 %batch, 2
  %at.most = icmp sle i64 %batch, %longest
  %modest = and i1 %at.least, %at.most
  %sized = or i1 %single, %modest
  %there = xor i1 %missing, true
  %ready = and i1 %there, %sized
  br i1 %ready, label %results, label %slow

results:
  %new = icmp eq ptr %out, null
  br i1 %new, label %make, label %reuse
reuse:
  %out.batch = call i64 @check(ptr %out, ptr %context, ptr %out.specs, i32 {CONTIGUOUS_ALIGNED | WRITEABLE})
  %out.same = icmp eq i64 %out.batch, %batch
  br i1 %out.same, label %overlap, label %slow
overlap:
  store ptr %out, ptr %objects
  %p.out.size = getelementptr i64, ptr %out.specs, i64 {SPEC - 1}
  %out.size = load i64, ptr %p.out.size
  br i1 %single, label %places.inputs, label %overlap.next
overlap.next:
  %o = phi i64 [ 0, %overlap ], [ %o.next, %overlap.fine ]
  %o.more = icmp slt i64 %o, %inputs
  br i1 %o.more, label %overlap.check, label %places.inputs
overlap.check:
  %p.o = getelementptr ptr, ptr %args, i64 %o
  %o.object = load ptr, ptr %p.o
  %o.words = mul i64 %o, {SPEC}
  %o.last = add i64 %o.words, {SPEC - 1}
  %p.o.size = getelementptr i64, ptr %specs, i64 %o.last
  %o.size = load i64, ptr %p.o.size
  %o.apart = call i1 @apart(ptr %o.object, i64 %o.size, ptr %out, i64 %out.size, i64 %batch)
  br i1 %o.apart, label %overlap.fine, label %slow
overlap.fine:
  %o.next = add i64 %o, 1
  br label %overlap.next

make:
  %p.number = getelementptr i64, ptr %context, i64 10
  %number64 = load i64, ptr %p.number
  %number = trunc i64 %number64 to i32
  br label %make.next
make.next:
  %m = phi i64 [ 0, %make ], [ %m.next, %made ]
  %m.more = icmp slt i64 %m, %outputs
  br i1 %m.more, label %make.one, label %places.inputs
make.one:
  %m.words = mul i64 %m, {SPEC}
  %m.spec = getelementptr i64, ptr %out.specs, i64 %m.words
  %m.axes = load i64, ptr %m.spec
  store i64 %batch, ptr %dims
  %m.first = select i1 %single, i64 0, i64 1
  br label %dim.next
dim.next:
  %d = phi i64 [ 0, %make.one ], [ %d.next, %dim.one ]
  %d.more = icmp slt i64 %d, %m.axes
  br i1 %d.more, label %dim.one, label %dims.done
dim.one:
  %d.next = add i64 %d, 1
  %p.length = getelementptr i64, ptr %m.spec, i64 %d.next
  %length = load i64, ptr %p.length
  %d.to = add i64 %d, %m.first
  %p.dim = getelementptr i64, ptr %dims, i64 %d.to
  store i64 %length, ptr %p.dim
  br label %dim.next
dims.done:
  %m.nd64 = add i64 %m.axes, %m.first
  %m.nd = trunc i64 %m.nd64 to i32
  %fresh = call ptr {pointer(at.array_new)}(ptr {pointer(at.array_type)}, i32 %m.nd, ptr %dims, \
i32 %number, ptr null, ptr null, i32 0, i32 0, ptr null)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %drop.error, label %made
made:
  %p.made = getelementptr ptr, ptr %objects, i64 %m
  store ptr %fresh, ptr %p.made
  %m.next = add i64 %m, 1
  br label %make.next
drop.error:
  call void @drop(ptr %objects, i64 %m)
  ret ptr null

places.inputs:
  %places = select i1 %single, ptr %places.one, ptr %places.many
  %p.busy = getelementptr i64, ptr %context, i64 13
  %busy.word = load i64, ptr %p.busy
  %is.busy = icmp ne i64 %busy.word, 0
  %is.batch = xor i1 %single, true
  %occupied = and i1 %is.busy, %is.batch
  br i1 %occupied, label %again, label %place.first
place.first:
  br label %place.input
place.input:
  %i = phi i64 [ 0, %place.first ], [ %i.next, %place.one ]
  %i.more = icmp slt i64 %i, %inputs
  br i1 %i.more, label %place.one, label %place.output
place.one:
  %p.i = getelementptr ptr, ptr %args, i64 %i
  %i.object = load ptr, ptr %p.i
  %p.i.data = getelementptr i8, ptr %i.object, i64 {offset.data}
  %i.data = load i64, ptr %p.i.data
  %p.i.place = getelementptr i64, ptr %places, i64 %i
  store i64 %i.data, ptr %p.i.place
  %i.next = add i64 %i, 1
  br label %place.input
place.output:
  %j = phi i64 [ 0, %place.input ], [ %j.next, %place.two ]
  %j.more = icmp slt i64 %j, %outputs
  br i1 %j.more, label %place.two, label %go
place.two:
  %p.j = getelementptr ptr, ptr %objects, i64 %j
  %j.object = load ptr, ptr %p.j
  %p.j.data = getelementptr i8, ptr %j.object, i64 {offset.data}
  %j.data = load i64, ptr %p.j.data
  %j.at = add i64 %inputs, %j
  %p.j.place = getelementptr i64, ptr %places, i64 %j.at
  store i64 %j.data, ptr %p.j.place
  %j.next = add i64 %j, 1
  br label %place.output

go:
  %tables.word = add i64 %code.word, 1
  %p.tables = getelementptr i64, ptr %context, i64 %tables.word
  %tables = load ptr, ptr %p.tables
  %workspace.word = add i64 %code.word, 2
  %p.workspace = getelementptr i64, ptr %context, i64 %workspace.word
  %workspace = load ptr, ptr %p.workspace
  br i1 %single, label %go.one, label %go.many
go.one:
  %bad.one = call i64 %code(ptr %places, ptr %tables, ptr %workspace)
  br label %ran
go.many:
  %counter = getelementptr i64, ptr %context, i64 12
  store i64 0, ptr %counter
  %block = add i64 %batch, 64
  store i64 1, ptr %p.busy
  %thread = call ptr {pointer(at.release)}()
  %bad.many = call i64 %code(ptr %places, ptr %strides, ptr %tables, i64 %batch, ptr %workspace, \
ptr %counter, i64 %block)
  call void {pointer(at.acquire)}(ptr %thread)
  store i64 0, ptr %p.busy
  br label %ran
ran:
  %bad = phi i64 [ %bad.one, %go.one ], [ %bad.many, %go.many ]
  %singular = icmp sge i64 %bad, 0
  br i1 %singular, label %again, label %give
again:
  br i1 %new, label %drop.all, label %slow
drop.all:
  call void @drop(ptr %objects, i64 %outputs)
  br label %slow
give:
  br i1 %new, label %give.new, label %give.out
give.out:
  call void {pointer(at.increment)}(ptr %out)
  ret ptr %out
give.new:
  %only = icmp eq i64 %outputs, 1
  br i1 %only, label %give.one, label %give.tuple
give.one:
  %result = load ptr, ptr %objects
  %plain = call ptr {pointer(at.array_return)}(ptr %result)
  ret ptr %plain
give.tuple:
  %tuple = call ptr {pointer(at.tuple_new)}(i64 %outputs)
  %no.tuple = icmp eq ptr %tuple, null
  br i1 %no.tuple, label %drop.tuple, label %fill
drop.tuple:
  call void @drop(ptr %objects, i64 %outputs)
  ret ptr null
fill:
  %t = phi i64 [ 0, %give.tuple ], [ %t.next, %fill.one ]
  %t.more = icmp slt i64 %t, %outputs
  br i1 %t.more, label %fill.one, label %filled
fill.one:
  %p.t = getelementptr ptr, ptr %objects, i64 %t
  %t.object = load ptr, ptr %p.t
  %t.plain = call ptr {pointer(at.array_return)}(ptr %t.object)
  %t.status = call i32 {pointer(at.tuple_set)}(ptr %tuple, i64 %t, ptr %t.plain)
  %t.next = add i64 %t, 1
  br label %fill
filled:
  ret ptr %tuple

slow:
  %p.general = getelementptr i64, ptr %context, i64 11
  %general = load ptr, ptr %p.general
  %answer = call ptr {pointer(at.vectorcall)}(ptr %general, ptr %args, i64 %nargs, ptr %kwnames)
  ret ptr %answer
}}"""
