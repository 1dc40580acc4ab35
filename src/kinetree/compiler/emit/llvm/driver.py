"""The functions around the core: load W states, take sines and cosines, run, watch for NaN, store."""

from __future__ import annotations

from kinetree.compiler.emit.llvm import sincos
from kinetree.compiler.emit.llvm.layout import Layout
from kinetree.compiler.emit.llvm.transpose import load_name, store_name
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.program import Program

RUN = "(ptr %args, ptr %strides, ptr %tables, i64 %n, ptr %ws, ptr %counter, i64 %block)"
ONE = "(ptr %args, ptr %tables, ptr %ws)"


def define_chunk(program: Program, layout: Layout, number: Number, angles: int, width: int) -> str:
    """`@chunk`: the states s ... s + W - 1 (at most n - 1); returns the first singular one, or -1."""
    lanes = number.lanes
    wide = Number(number.dtype, lanes if lanes > 1 else width)
    lines: list[str] = []
    if lanes > 1:
        lines += [
            "  %left = sub i64 %n, %s",
            "  %end = sub i64 %left, 1",
            f"  %last = call i64 @llvm.smin.i64(i64 %end, i64 {lanes - 1})",
        ]
    total = ""
    for j, array in enumerate(program.inputs):
        if not array.size:
            continue
        row, arguments = _row(lines, j, lanes)
        lines += [
            f"  %to{j} = getelementptr {number.vector}, ptr %ws, i64 {layout.start[array]}",
            f"  %sum{j} = call {wide.vector} @{load_name(array.size)}(ptr {row}, {arguments}ptr %to{j})",
        ]
        if not total:
            total = f"%sum{j}"
        else:
            lines.append(f"  %total{j} = fadd {wide.vector} {total}, %sum{j}")
            total = f"%total{j}"
    for k, array in enumerate(program.zeroed):
        lines += [
            f"  %zero{k} = getelementptr {number.vector}, ptr %ws, i64 {layout.start[array]}",
            f"  call void @llvm.memset.p0.i64(ptr %zero{k}, i8 0, i64 {array.size * number.size}, i1 false)",
        ]
    if angles:
        lines.append("  call void @angles(ptr %ws, ptr %tables)")
    lines.append("  call void @core(ptr %ws, ptr %tables)")
    lines += _finite(program, layout, number, wide, total)
    if program.guard is not None and lanes == 1:  # a singular state leaves the caller's arrays alone
        lines += ["  br i1 %hit, label %refuse, label %store", "refuse:", "  ret i64 0", "store:"]
    for j, array in enumerate(program.outputs):
        if not array.size:
            continue
        row, arguments = _row(lines, len(program.inputs) + j, lanes)
        lines += [
            f"  %from{j} = getelementptr {number.vector}, ptr %ws, i64 {layout.start[array]}",
            f"  call void @{store_name(array.size)}(ptr {row}, {arguments}ptr %from{j})",
        ]
    parameters = "ptr %args, ptr %strides, ptr %tables, i64 %s, i64 %n, ptr %ws" if lanes > 1 else ONE[1:-1]
    kind = "define internal i64 @chunk" if lanes > 1 else "define i64 @one"
    return "\n".join([f"{kind}({parameters}) #0 {{", "entry:", *lines, "  ret i64 %singular", "}"])


def _row(lines: list[str], j: int, lanes: int) -> tuple[str, str]:
    """The address of array j's row for the first lane, and what else a copy needs."""
    lines += [f"  %arg{j} = getelementptr ptr, ptr %args, i64 {j}", f"  %base{j} = load ptr, ptr %arg{j}"]
    if lanes == 1:
        return f"%base{j}", ""
    lines += [
        f"  %str{j} = getelementptr i64, ptr %strides, i64 {j}",
        f"  %stride{j} = load i64, ptr %str{j}",
        f"  %offset{j} = mul i64 %s, %stride{j}",
        f"  %row{j} = getelementptr i8, ptr %base{j}, i64 %offset{j}",
    ]
    return f"%row{j}", f"i64 %stride{j}, i64 %last, "


def _finite(program: Program, layout: Layout, number: Number, wide: Number, total: str) -> list[str]:
    """Fill the outputs of states with a NaN or infinite input by NaN, and find the first singular state."""
    lines = []
    mask = f"i{wide.lanes}"
    zero = wide.constant(0.0)
    if total:
        lines += [f"  %bad = fcmp une {wide.vector} {total}, {zero}"]
    else:
        lines += [f"  %bad = fcmp une {wide.vector} {zero}, {zero}"]
    if wide.lanes > 1:
        lines += [f"  %bits = bitcast {wide.boolean} %bad to {mask}", f"  %any = icmp ne {mask} %bits, 0"]
    else:
        lines += ["  %any = or i1 %bad, %bad"]
    if number.lanes == 1:
        lines += ["  %lanes = or i1 %any, %any"]
    else:
        lines += [f"  %lanes = or {number.boolean} %bad, %bad"]
    lines += _singular(program, layout, number)
    lines += ["  br i1 %any, label %spoiled, label %sound, !prof !0", "spoiled:"]
    lines += [f"  call void @spoil({number.boolean} %lanes, ptr %ws)", "  br label %sound", "sound:"]
    return lines


def _singular(program: Program, layout: Layout, number: Number) -> list[str]:
    if program.guard is None:
        return ["  %singular = add i64 0, -1"]
    lines = [
        f"  %guard = getelementptr {number.vector}, ptr %ws, i64 {layout.start[program.guard]}",
        f"  %trust = load {number.vector}, ptr %guard, align {number.size}",
        f"  %low = fcmp ult {number.vector} %trust, {number.constant(1.0)}",
    ]
    if number.lanes == 1:
        return [
            *lines,
            "  %sane = xor i1 %lanes, true",
            "  %hit = and i1 %low, %sane",
            "  %singular = select i1 %hit, i64 0, i64 -1",
        ]
    mask = f"i{number.lanes}"
    return [
        *lines,
        f"  %sane = xor {number.boolean} %lanes, splat (i1 true)",
        f"  %hit = and {number.boolean} %low, %sane",
        f"  %hits = bitcast {number.boolean} %hit to {mask}",
        f"  %where = call {mask} @llvm.cttz.{mask}({mask} %hits, i1 false)",
        f"  %lane = zext {mask} %where to i64",
        "  %state = add i64 %s, %lane",
        f"  %some = icmp ne {mask} %hits, 0",
        "  %singular = select i1 %some, i64 %state, i64 -1",
    ]


def define_spoil(program: Program, layout: Layout, number: Number) -> str:
    """`@spoil`: NaN into all outputs of the lanes given."""
    count = sum(array.size for array in program.outputs)
    vector = number.vector
    head = f"define internal void @spoil({number.boolean} %lanes, ptr %ws) noinline nounwind {{"
    if not count:
        return f"{head}\n  ret void\n}}"
    first = layout.start[program.outputs[0]]
    return f"""\
{head}
entry:
  br label %loop
loop:
  %k = phi i64 [ {first}, %entry ], [ %next, %loop ]
  %address = getelementptr {vector}, ptr %ws, i64 %k
  %old = load {vector}, ptr %address, align {number.size}
  %new = select {number.boolean} %lanes, {vector} {number.constant(float("nan"))}, {vector} %old
  store {vector} %new, ptr %address, align {number.size}
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, {first + count}
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""


def define_angles(layout: Layout, number: Number, angles: int, width: int) -> str:
    """`@angles`: the arguments of the hoisted sines and cosines, and then these themselves."""
    wide = Number(number.dtype, number.lanes if number.lanes > 1 else width)
    step = wide.lanes if number.lanes == 1 else 1
    count = -(-angles // step) * step
    pair = f"{{ {wide.vector}, {wide.vector} }}"

    return f"""\
define internal void @angles(ptr noalias %ws, ptr noalias readonly %tables) #0 {{
entry:
  call void @arguments(ptr %ws, ptr %tables)
  %x = getelementptr {number.vector}, ptr %ws, i64 {layout.angles}
  %s = getelementptr {number.vector}, ptr %ws, i64 {layout.sines}
  %c = getelementptr {number.vector}, ptr %ws, i64 {layout.cosines}
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %px = getelementptr {number.vector}, ptr %x, i64 %k
  %ps = getelementptr {number.vector}, ptr %s, i64 %k
  %pc = getelementptr {number.vector}, ptr %c, i64 %k
  %angle = load {wide.vector}, ptr %px, align {number.size}
  %pair = call {pair} @{sincos.name(wide)}({wide.vector} %angle)
  %sine = extractvalue {pair} %pair, 0
  %cosine = extractvalue {pair} %pair, 1
  store {wide.vector} %sine, ptr %ps, align {number.size}
  store {wide.vector} %cosine, ptr %pc, align {number.size}
  %next = add nuw nsw i64 %k, {step}
  %more = icmp ult i64 %next, {count}
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""


def define_run(lanes: int) -> str:
    """`@run`: blocks of states, taken from a counter that threads share, until there are none left."""
    return f"""\
define i64 @run{RUN} #0 {{
entry:
  br label %take
take:
  %worst = phi i64 [ -1, %entry ], [ %after, %next ]
  %start = atomicrmw add ptr %counter, i64 %block monotonic
  %some = icmp slt i64 %start, %n
  br i1 %some, label %begin, label %finish
begin:
  %full = add i64 %start, %block
  %end = call i64 @llvm.smin.i64(i64 %full, i64 %n)
  br label %states
states:
  %s = phi i64 [ %start, %begin ], [ %s_next, %states ]
  %found = phi i64 [ %worst, %begin ], [ %after, %states ]
  %index = call i64 @chunk(ptr %args, ptr %strides, ptr %tables, i64 %s, i64 %n, ptr %ws)
  %first = icmp slt i64 %found, 0
  %after = select i1 %first, i64 %index, i64 %found
  %s_next = add i64 %s, {lanes}
  %more = icmp slt i64 %s_next, %end
  br i1 %more, label %states, label %next
next:
  br label %take
finish:
  ret i64 %worst
}}"""
