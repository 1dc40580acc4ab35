"""Groups of states that run each part of a program in turn, and whole batches."""

from __future__ import annotations

from collections.abc import Sequence

from kinetree.compiler.emit.llvm.function import Function

RUN = "(ptr %args, ptr %strides, ptr %tables, i64 %n, ptr %ws, ptr %progress, i64 %block)"
GROUP = "(ptr %args, ptr %strides, ptr %tables, i64 %s, i64 %end, i64 %n, ptr %ws)"


def define_group(lanes: int, count: int, bytes_each: int, functions: Sequence[str]) -> str:
    """`@group`: up to `count` times W states from s on, before `end`; returns the first singular one, or -1.

    The parts of a long program run one after another, each for all of these states, so that the processor
    decodes a part once and then reuses it.
    """
    f = Function(f"internal i64 @group{GROUP}", "#0")
    if count == 1:
        f.give(f"i64 {_run(f, ['begin', *functions, 'end'], '%s', '%ws')}")
        return f.text
    chunks = f.let(f"udiv i64 {f.add(f.sub('%end', '%s'), lanes - 1)}, {lanes}")
    number = f.call("i64", "@llvm.smin.i64", f"i64 {chunks}", f"i64 {count}")
    for names in (["begin", functions[0]], *([name] for name in functions[1:-1]), [functions[-1], "end"]):
        with f.each(0, number, some=True) as k:
            found = _run(f, names, f.add("%s", f.mul(k, lanes)), f.at("%ws", f.mul(k, bytes_each), "i8"))
            if names[-1] == "end":
                first = f.call("i64", "@llvm.umin.i64", "i64 %found", f"i64 {found}")
                f.carry("%found", "i64", -1, first)
    f.give(f"i64 {first}")
    return f.text


def _run(f: Function, names: Sequence[str], s: str, ws: str) -> str:
    """Call functions for W states, one after another; returns the value of the last one."""
    states = ("ptr %args", "ptr %strides", "ptr %tables", f"i64 {s}", "i64 %n", f"ptr {ws}")
    result = ""
    for name in names:
        own = states if name in ("begin", "end") else (f"ptr {ws}", "ptr %tables", "ptr %args")
        result = f.call("i64" if name == "end" else "void", f"@{name}", *own)
    return result


def define_run(states: int, streams: bool, yielding: str) -> str:
    """`@run`: a whole batch, which other threads join through `@help`; returns the first singular state, or
    -1.

    A group has `states` states. The threads share `progress`: the next free state, how many are done, and the
    first singular one. Threads can join while `@run` works on the batch, until all states are done.
    """
    fence = "  fence seq_cst\n" if streams else ""  # make non-temporal stores visible to the next reader
    return f"""\
define i64 @run{RUN} #0 {{
entry:
  %finished = getelementptr i64, ptr %progress, i64 1
  %singular = getelementptr i64, ptr %progress, i64 2
  store i64 0, ptr %finished
  store i64 -1, ptr %singular
  store atomic i64 0, ptr %progress release, align 8
  %mine = call i64 @help{RUN}
  br label %wait
wait:
  %done = load atomic i64, ptr %finished acquire, align 8
  %all = icmp sge i64 %done, %n
  br i1 %all, label %end, label %others
others:
  %yielded = call i32 @{yielding}()
  br label %wait
end:
  %first = load i64, ptr %singular
  ret i64 %first
}}

define i64 @help{RUN} #0 {{
entry:
  %finished = getelementptr i64, ptr %progress, i64 1
  %singular = getelementptr i64, ptr %progress, i64 2
  br label %take
take:
  %start = atomicrmw add ptr %progress, i64 %block acquire
  %some = icmp slt i64 %start, %n
  br i1 %some, label %begin, label %finish
begin:
  %full = add i64 %start, %block
  %end = call i64 @llvm.smin.i64(i64 %full, i64 %n)
  br label %states
states:
  %s = phi i64 [ %start, %begin ], [ %s_next, %states ]
  %found = phi i64 [ -1, %begin ], [ %after, %states ]
  %index = call i64 @group(ptr %args, ptr %strides, ptr %tables, i64 %s, i64 %end, i64 %n, ptr %ws)
  %after = call i64 @llvm.umin.i64(i64 %found, i64 %index)
  %s_next = add i64 %s, {states}
  %more = icmp slt i64 %s_next, %end
  br i1 %more, label %states, label %next
next:
{fence}  %before = atomicrmw umin ptr %singular, i64 %after monotonic
  %length = sub i64 %end, %start
  %total = atomicrmw add ptr %finished, i64 %length release
  br label %take
finish:
  ret i64 -1
}}

declare i32 @{yielding}()"""
