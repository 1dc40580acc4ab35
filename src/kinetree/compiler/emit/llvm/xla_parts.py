"""The parts of a handler for XLA: the facts about a kernel, and the functions that handlers share."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import NamedTuple


class Facts(IntEnum):
    """The words about a kernel; for each array, its axes and the size of one state follow.

    A size is in bytes; on GPUs it counts numbers.
    """

    FUNCTION = 0  # for one state, or for a batch
    HELP = auto()  # called by threads that join; 0: the function is for one state
    TABLES = auto()
    WORKSPACE = auto()  # bytes per thread
    INPUTS = auto()
    OUTPUTS = auto()
    ALONE = auto()  # the longest batch for one thread
    WORTH = auto()  # states that justify a thread
    MOST = auto()  # threads
    BLOCK = auto()  # states that a thread takes at a time
    REFUSED = auto()  # error messages
    MISFIT = auto()
    MEMORY = auto()
    FAILED = auto()
    DEVICES = auto()  # GPUs that have the kernel, and a table of words about it on each
    PLACES = auto()
    SPECS = auto()


class Api(NamedTuple):
    """The version of XLA's interface, and the offsets of the functions in its table."""

    major: int
    minor: int
    error: int
    destroy: int
    schedule: int
    threads: int
    stream: int


# Shared by threads: how many still need it, progress (3), the number of states, the block size, then the
# addresses and strides of all arrays.
SHARED = 6
CLOSED = 1 << 62  # the next state of a batch that has not begun


HEAD = """\
@facts = global ptr null
declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
declare void @free(ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)"""


def define_metadata(api: Api, traits: int = 0) -> str:
    """`@described`: answer XLA's query when a handler is registered; false in a call."""
    return f"""\
define internal i1 @described(ptr %frame) {{
  %at = getelementptr i8, ptr %frame, i64 8
  %extension = load ptr, ptr %at
  %none = icmp eq ptr %extension, null
  br i1 %none, label %no, label %some
some:
  %kind.at = getelementptr i8, ptr %extension, i64 8
  %kind = load i32, ptr %kind.at
  %asked = icmp eq i32 %kind, 1
  br i1 %asked, label %yes, label %no
yes:
  %metadata.at = getelementptr i8, ptr %extension, i64 24
  %metadata = load ptr, ptr %metadata.at
  %major = getelementptr i8, ptr %metadata, i64 24
  %minor = getelementptr i8, ptr %metadata, i64 28
  %traits = getelementptr i8, ptr %metadata, i64 32
  store i32 {api.major}, ptr %major
  store i32 {api.minor}, ptr %minor
  store i32 {traits}, ptr %traits
  ret i1 true
no:
  ret i1 false
}}"""


# `@fact`: a word about the kernel; `@spec`: the axes (0) or size (1) of array k.
READERS = f"""\
define internal i64 @fact(i64 %word) {{
  %facts = load ptr, ptr @facts
  %at = getelementptr i64, ptr %facts, i64 %word
  %value = load i64, ptr %at
  ret i64 %value
}}

define internal i64 @spec(i64 %k, i64 %part) {{
  %twice = mul i64 %k, 2
  %place = add i64 %twice, %part
  %word = add i64 %place, {Facts.SPECS:d}
  %value = call i64 @fact(i64 %word)
  ret i64 %value
}}"""


# `@states`: how many states the buffer of array k holds.
STATES = """\
define internal i64 @states(ptr %buffer, i64 %k) {
entry:
  %rank.at = getelementptr i8, ptr %buffer, i64 32
  %rank = load i64, ptr %rank.at
  %dims.at = getelementptr i8, ptr %buffer, i64 40
  %dims = load ptr, ptr %dims.at
  %core = call i64 @spec(i64 %k, i64 0)
  %axes = sub i64 %rank, %core
  br label %axis
axis:
  %i = phi i64 [ 0, %entry ], [ %i.next, %multiply ]
  %product = phi i64 [ 1, %entry ], [ %larger, %multiply ]
  %more = icmp slt i64 %i, %axes
  br i1 %more, label %multiply, label %done
multiply:
  %dim.at = getelementptr i64, ptr %dims, i64 %i
  %dim = load i64, ptr %dim.at
  %larger = mul i64 %product, %dim
  %i.next = add i64 %i, 1
  br label %axis
done:
  ret i64 %product
}"""


# `@work`: one thread's share, in zeroed memory of its own: the first refused state, -1, or -2 if there is no
# memory. `@leave`: a thread no longer needs the shared data. `@join`: called by threads of XLA.
WORK = f"""\
define internal i64 @work(ptr %shared, i64 %which) {{
  %size = call i64 @fact(i64 {Facts.WORKSPACE:d})
  %room = add i64 %size, 64
  %raw = call ptr @calloc(i64 %room, i64 1)
  %none = icmp eq ptr %raw, null
  br i1 %none, label %short, label %run
run:
  %start = ptrtoint ptr %raw to i64
  %past = add i64 %start, 63
  %aligned = and i64 %past, -64
  %ws = inttoptr i64 %aligned to ptr
  %inputs = call i64 @fact(i64 {Facts.INPUTS:d})
  %outputs = call i64 @fact(i64 {Facts.OUTPUTS:d})
  %total = add i64 %inputs, %outputs
  %address = call i64 @fact(i64 %which)
  %function = inttoptr i64 %address to ptr
  %tables.word = call i64 @fact(i64 {Facts.TABLES:d})
  %tables = inttoptr i64 %tables.word to ptr
  %progress = getelementptr i64, ptr %shared, i64 1
  %n.at = getelementptr i64, ptr %shared, i64 4
  %n = load i64, ptr %n.at
  %block.at = getelementptr i64, ptr %shared, i64 5
  %block = load i64, ptr %block.at
  %args = getelementptr i64, ptr %shared, i64 {SHARED}
  %strides = getelementptr i64, ptr %args, i64 %total
  %help = call i64 @fact(i64 {Facts.HELP:d})
  %single = icmp eq i64 %help, 0
  br i1 %single, label %one, label %batch
one:
  %one.found = call i64 %function(ptr %args, ptr %tables, ptr %ws)
  br label %end
batch:
  %run.found = call i64 %function(ptr %args, ptr %strides, ptr %tables, i64 %n, ptr %ws, ptr %progress,
    i64 %block)
  br label %end
end:
  %found = phi i64 [ %one.found, %one ], [ %run.found, %batch ]
  call void @free(ptr %raw)
  ret i64 %found
short:
  ret i64 -2
}}

define internal void @leave(ptr %shared) {{
  %before = atomicrmw sub ptr %shared, i64 1 acq_rel
  %last = icmp eq i64 %before, 1
  br i1 %last, label %give, label %done
give:
  call void @free(ptr %shared)
  br label %done
done:
  ret void
}}

define internal void @join(ptr %shared) {{
  %found = call i64 @work(ptr %shared, i64 {Facts.HELP:d})
  call void @leave(ptr %shared)
  ret void
}}"""


def function_of(name: str, offset: int) -> str:
    """Lines that find a function in XLA's table."""
    return f"""\
  %api.at = getelementptr i8, ptr %frame, i64 16
  %api = load ptr, ptr %api.at
  %{name}.at = getelementptr i8, ptr %api, i64 {offset}
  %{name} = load ptr, ptr %{name}.at"""


def define_errors(api: Api) -> str:
    """`@error`: an error with a message of the kernel. `@settled`: true if there is none; else frees it."""
    return f"""\
define internal ptr @error(ptr %frame, i64 %message, i32 %code) {{
  %a = alloca {{ i64, ptr, i64, i32 }}
  %text = call i64 @fact(i64 %message)
  %head = insertvalue {{ i64, ptr, i64, i32 }} {{ i64 28, ptr null, i64 0, i32 0 }}, i64 %text, 2
  %whole = insertvalue {{ i64, ptr, i64, i32 }} %head, i32 %code, 3
  store {{ i64, ptr, i64, i32 }} %whole, ptr %a
{function_of("create", api.error)}
  %made = call ptr %create(ptr %a)
  ret ptr %made
}}

define internal i1 @settled(ptr %frame, ptr %problem) {{
  %none = icmp eq ptr %problem, null
  br i1 %none, label %done, label %drop
drop:
  %a = alloca {{ i64, ptr, ptr }}
  %whole = insertvalue {{ i64, ptr, ptr }} {{ i64 24, ptr null, ptr null }}, ptr %problem, 2
  store {{ i64, ptr, ptr }} %whole, ptr %a
{function_of("destroy", api.destroy)}
  call void %destroy(ptr %a)
  br label %done
done:
  ret i1 %none
}}"""


def define_threads(api: Api) -> str:
    """`@threads`: how many threads share n states. `@invite`: ask XLA for all of them but this one."""
    return f"""\
define internal i64 @threads(ptr %frame, i64 %n) {{
  %alone = call i64 @fact(i64 {Facts.ALONE:d})
  %help = call i64 @fact(i64 {Facts.HELP:d})
  %single = icmp eq i64 %help, 0
  %few = icmp sle i64 %n, %alone
  %stay = or i1 %single, %few
  br i1 %stay, label %one, label %several
several:
  %count = alloca i64
  store i64 1, ptr %count
  %ctx.at = getelementptr i8, ptr %frame, i64 24
  %ctx = load ptr, ptr %ctx.at
  %a = alloca {{ i64, ptr, ptr, ptr }}
  %half = insertvalue {{ i64, ptr, ptr, ptr }} {{ i64 32, ptr null, ptr null, ptr null }}, ptr %ctx, 2
  %whole = insertvalue {{ i64, ptr, ptr, ptr }} %half, ptr %count, 3
  store {{ i64, ptr, ptr, ptr }} %whole, ptr %a
{function_of("ask", api.threads)}
  %problem = call ptr %ask(ptr %a)
  %known = call i1 @settled(ptr %frame, ptr %problem)
  %answer = load i64, ptr %count
  %there = select i1 %known, i64 %answer, i64 1
  %worth = call i64 @fact(i64 {Facts.WORTH:d})
  %useful = sdiv i64 %n, %worth
  %most = call i64 @fact(i64 {Facts.MOST:d})
  %x = call i64 @llvm.smin.i64(i64 %there, i64 %useful)
  %y = call i64 @llvm.smin.i64(i64 %x, i64 %most)
  %z = call i64 @llvm.smax.i64(i64 %y, i64 1)
  ret i64 %z
one:
  ret i64 1
}}

define internal void @invite(ptr %frame, ptr %shared, i64 %threads) {{
entry:
  %a = alloca {{ i64, ptr, ptr, ptr, ptr }}
  %ctx.at = getelementptr i8, ptr %frame, i64 24
  %ctx = load ptr, ptr %ctx.at
{function_of("schedule", api.schedule)}
  br label %next
next:
  %k = phi i64 [ 1, %entry ], [ %k.next, %asked ]
  %more = icmp slt i64 %k, %threads
  br i1 %more, label %ask, label %done
ask:
  %task = insertvalue {{ i64, ptr, ptr, ptr, ptr }} {{ i64 40, ptr null, ptr null, ptr @join, ptr null }},
    ptr %ctx, 2
  %whole = insertvalue {{ i64, ptr, ptr, ptr, ptr }} %task, ptr %shared, 4
  store {{ i64, ptr, ptr, ptr, ptr }} %whole, ptr %a
  %problem = call ptr %schedule(ptr %a)
  %joins = call i1 @settled(ptr %frame, ptr %problem)
  br i1 %joins, label %asked, label %alone
alone:
  call void @leave(ptr %shared)
  br label %asked
asked:
  %k.next = add i64 %k, 1
  br label %next
done:
  ret void
}}"""
