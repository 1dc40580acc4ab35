"""The parts of a fast call: looking at an argument, and giving up results again."""

from __future__ import annotations

from typing import NamedTuple

AXES = 4  # the most core axes of an argument
RESULTS = 8  # the most results
SPEC = AXES + 2
HEADER = 16


class Offsets(NamedTuple):
    """Where the members of an array object are."""

    type: int
    data: int
    nd: int
    dimensions: int
    descr: int
    flags: int


class Addresses(NamedTuple):
    """C functions and objects of this process."""

    array_type: int
    out: int
    array_new: int
    array_return: int
    increment: int
    decrement: int
    vectorcall: int
    tuple_new: int
    tuple_set: int
    release: int
    acquire: int


def pointer(value: int) -> str:
    return f"inttoptr (i64 {value} to ptr)"


def define_check(at: Addresses, offset: Offsets) -> str:
    """-1 if an object is a suitable array for one state, its length for a batch, -2 otherwise."""
    return f"""\
define internal i64 @check(ptr %object, ptr %context, ptr %spec, i32 %needed) nounwind {{
entry:
  %p.type = getelementptr i8, ptr %object, i64 {offset.type}
  %type = load ptr, ptr %p.type
  %is.array = icmp eq ptr %type, {pointer(at.array_type)}
  br i1 %is.array, label %typed, label %no
typed:
  %p.descr = getelementptr i8, ptr %object, i64 {offset.descr}
  %descr = load i64, ptr %p.descr
  %p.wanted = getelementptr i64, ptr %context, i64 9
  %wanted = load i64, ptr %p.wanted
  %is.float = icmp eq i64 %descr, %wanted
  %p.flags = getelementptr i8, ptr %object, i64 {offset.flags}
  %flags = load i32, ptr %p.flags
  %set = and i32 %flags, %needed
  %is.plain = icmp eq i32 %set, %needed
  %suits = and i1 %is.float, %is.plain
  br i1 %suits, label %shaped, label %no
shaped:
  %p.nd = getelementptr i8, ptr %object, i64 {offset.nd}
  %nd32 = load i32, ptr %p.nd
  %nd = sext i32 %nd32 to i64
  %axes = load i64, ptr %spec
  %extra = sub i64 %nd, %axes
  %few = icmp ult i64 %extra, 2
  br i1 %few, label %begin, label %no
begin:
  %p.dims = getelementptr i8, ptr %object, i64 {offset.dimensions}
  %dims = load ptr, ptr %p.dims
  %core = getelementptr i64, ptr %dims, i64 %extra
  %lengths = getelementptr i64, ptr %spec, i64 1
  br label %axis
axis:
  %k = phi i64 [ 0, %begin ], [ %k.next, %same ]
  %more = icmp slt i64 %k, %axes
  br i1 %more, label %compare, label %yes
compare:
  %p.have = getelementptr i64, ptr %core, i64 %k
  %have = load i64, ptr %p.have
  %p.need = getelementptr i64, ptr %lengths, i64 %k
  %need = load i64, ptr %p.need
  %equal = icmp eq i64 %have, %need
  br i1 %equal, label %same, label %no
same:
  %k.next = add i64 %k, 1
  br label %axis
yes:
  %single = icmp eq i64 %extra, 0
  br i1 %single, label %one, label %many
one:
  ret i64 -1
many:
  %n = load i64, ptr %dims
  ret i64 %n
no:
  ret i64 -2
}}"""


def define_apart(offset: Offsets) -> str:
    """True if results and an argument do not overlap."""
    return f"""\
define internal i1 @apart(ptr %in, i64 %in.size, ptr %out, i64 %out.size, i64 %n) nounwind {{
  %p.in = getelementptr i8, ptr %in, i64 {offset.data}
  %p.out = getelementptr i8, ptr %out, i64 {offset.data}
  %a = load i64, ptr %p.in
  %b = load i64, ptr %p.out
  %a.bytes = mul i64 %in.size, %n
  %b.bytes = mul i64 %out.size, %n
  %a.end = add i64 %a, %a.bytes
  %b.end = add i64 %b, %b.bytes
  %before = icmp ule i64 %a.end, %b
  %after = icmp ule i64 %b.end, %a
  %disjoint = or i1 %before, %after
  ret i1 %disjoint
}}"""


def define_drop(at: Addresses) -> str:
    """`@drop`: release the first results."""
    return f"""\
define internal void @drop(ptr %objects, i64 %count) nounwind {{
entry:
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k.next, %one ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %one, label %done
one:
  %p = getelementptr ptr, ptr %objects, i64 %k
  %object = load ptr, ptr %p
  call void {pointer(at.decrement)}(ptr %object)
  %k.next = add i64 %k, 1
  br label %next
done:
  ret void
}}"""
