"""Groups of states, for all of which each part of a program runs in turn, and whole batches."""

from __future__ import annotations

from collections.abc import Sequence

RUN = "(ptr %args, ptr %strides, ptr %tables, i64 %n, ptr %ws, ptr %progress, i64 %block)"
GROUP = "(ptr %args, ptr %strides, ptr %tables, i64 %s, i64 %end, i64 %n, ptr %ws)"


def define_group(lanes: int, count: int, bytes_each: int, functions: Sequence[str]) -> str:
    """`@group`: up to `count` times W states from s on, before `end`; returns the first singular one, or -1.

    The parts of a long program run one after the other, each for all these states: the processor decodes a
    part once and then has it at hand.
    """
    head = f"define internal i64 @group{GROUP} #0 {{\nentry:"
    if count == 1:
        return "\n".join([head, *_steps(["begin", *functions, "end"], "%s", "%ws"), "  ret i64 %index\n}"])
    lines = [
        head,
        "  %left = sub i64 %end, %s",
        f"  %padded = add i64 %left, {lanes - 1}",
        f"  %chunks = udiv i64 %padded, {lanes}",
        f"  %count = call i64 @llvm.smin.i64(i64 %chunks, i64 {count})",
        "  br label %loop0",
    ]
    loops = [["begin", functions[0]], *([name] for name in functions[1:-1]), [functions[-1], "end"]]
    for n, names in enumerate(loops):
        before = f"loop{n - 1}" if n else "entry"
        is_last = n == len(loops) - 1
        lines += [
            f"loop{n}:",
            f"  %k{n} = phi i64 [ 0, %{before} ], [ %next{n}, %loop{n} ]",
            *([f"  %found = phi i64 [ -1, %{before} ], [ %first, %loop{n} ]"] if is_last else []),
            f"  %states{n} = mul nuw nsw i64 %k{n}, {lanes}",
            f"  %s{n} = add i64 %s, %states{n}",
            f"  %there{n} = mul nuw nsw i64 %k{n}, {bytes_each}",
            f"  %ws{n} = getelementptr i8, ptr %ws, i64 %there{n}",
            *_steps(names, f"%s{n}", f"%ws{n}"),
            *(["  %first = call i64 @llvm.umin.i64(i64 %found, i64 %index)"] if is_last else []),
            f"  %next{n} = add nuw nsw i64 %k{n}, 1",
            f"  %more{n} = icmp ult i64 %next{n}, %count",
            f"  br i1 %more{n}, label %loop{n}, label %{'done' if is_last else f'loop{n + 1}'}",
        ]
    return "\n".join([*lines, "done:", "  ret i64 %first", "}"])


def _steps(names: Sequence[str], s: str, ws: str) -> list[str]:
    """What is done for W states: these functions, one after the other."""
    states = f"(ptr %args, ptr %strides, ptr %tables, i64 {s}, i64 %n, ptr {ws})"
    own = {"begin": f"  call void @begin{states}", "end": f"  %index = call i64 @end{states}"}
    return [own.get(name, f"  call void @{name}(ptr {ws}, ptr %tables, ptr %args)") for name in names]


def define_run(states: int, streams: bool, yielding: str) -> str:
    """`@run`: a whole batch, which other threads join by `@help`; returns the first singular state, or -1.

    A group is of this many `states`. `progress` is shared by the threads: the next state that nobody has
    taken, how many are done, and the first singular one. A batch is open to others while `@run` works on it,
    until all states are done.
    """
    fence = "  fence seq_cst\n" if streams else ""  # non-temporal stores must be seen by whoever comes next
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
