"""The functions around the core: load W states, take sines and cosines, run, watch for NaN, store."""

from __future__ import annotations

from kinetree.compiler.emit.llvm import sincos
from kinetree.compiler.emit.llvm.function import Function
from kinetree.compiler.emit.llvm.layout import Layout
from kinetree.compiler.emit.llvm.results import Results
from kinetree.compiler.emit.llvm.stream import is_streamed
from kinetree.compiler.emit.llvm.transpose import load_name, store_name
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Array, Clear, Spoil
from kinetree.compiler.ir.program import Program

RUN = "(ptr %args, ptr %strides, ptr %tables, i64 %n, ptr %ws, ptr %progress, i64 %block)"
ONE = "(ptr %args, ptr %tables, ptr %ws)"


def define_chunk(
    program: Program,
    layout: Layout,
    number: Number,
    angles: int,
    width: int,
    results: Results | None,
    direct: dict[Array, int],
) -> str:
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
        if program.spoil is None:
            continue
        if not total:
            total = f"%sum{j}"
        else:
            lines.append(f"  %total{j} = fadd {wide.vector} {total}, %sum{j}")
            total = f"%total{j}"
    lines += _cleared(program, layout, number, results, direct)
    if angles:
        lines.append("  call void @angles(ptr %ws, ptr %tables, ptr %args)")
    lines.append("  call void @core(ptr %ws, ptr %tables, ptr %args)")
    lines += _finite(program, layout, number, wide, total)
    if program.guard is not None and lanes == 1:  # a singular state leaves the caller's arrays alone
        lines += ["  br i1 %hit, label %refuse, label %store", "refuse:", "  ret i64 0", "store:"]
    for j, array in enumerate(program.outputs):
        if not array.size:
            continue
        row, arguments = _row(lines, len(program.inputs) + j, lanes)
        name = store_name(array.size) if results is None else f"store_result{j}"
        if array in direct:
            continue
        more = ""
        if is_streamed(array, number):
            lines.append(f"  %stage{j} = getelementptr {number.vector}, ptr %ws, i64 {layout.stage}")
            name, more = f"deliver{j}", f", i64 %n, ptr %stage{j}"
        lines += [
            f"  %from{j} = getelementptr {number.vector}, ptr %ws, i64 {layout.start[array]}",
            f"  call void @{name}(ptr {row}, {arguments}ptr %from{j}{more})",
        ]
    if program.spoil is not None:
        lines += _spoil(program.spoil, len(program.inputs), number, wide)
    parameters = "ptr %args, ptr %strides, ptr %tables, i64 %s, i64 %n, ptr %ws" if lanes > 1 else ONE[1:-1]
    kind = "define internal i64 @chunk" if lanes > 1 else "define i64 @one"
    return "\n".join([f"{kind}({parameters}) #0 {{", "entry:", *lines, "  ret i64 %singular", "}"])


def _cleared(
    program: Program, layout: Layout, number: Number, results: Results | None, direct: dict[Array, int]
) -> list[str]:
    """Zero the arrays that start at zero, unless the copy to the caller's rows writes their zeros."""
    lines = []
    for k, statement in enumerate(program.body.statements):
        if not isinstance(statement, Clear):
            break
        array = statement.array
        if results is not None and array in results.elements:
            continue
        if array in direct:
            where = f"load ptr, ptr %zeroed{k}"
            lines.append(f"  %zeroed{k} = getelementptr ptr, ptr %args, i64 {direct[array]}")
        else:
            where = f"getelementptr {number.vector}, ptr %ws, i64 {layout.start[array]}"
        lines += [
            f"  %zero{k} = {where}",
            f"  call void @llvm.memset.p0.i64(ptr %zero{k}, i8 0, i64 {array.size * number.size}, i1 false)",
        ]
    return lines


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
    """Find the states with a NaN or an infinity among their inputs, and the first singular one."""
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
    return lines + _singular(program, layout, number)


def _spoil(spoil: Spoil, inputs: int, number: Number, wide: Number) -> list[str]:
    """Overwrite the results of the states that are not finite."""
    lines = ["  br i1 %any, label %spoiled, label %sound, !prof !0", "spoiled:"]
    if number.lanes > 1:
        lines.append(f"  %which = zext i{wide.lanes} %bits to i64")
    for k, array in enumerate(spoil.outputs, inputs):
        if array.size and number.lanes > 1:
            lines.append(
                f"  call void @spoil(ptr %row{k}, i64 %stride{k}, i64 %last, i64 %which, i64 {array.size})"
            )
        elif array.size:
            lines.append(f"  call void @spoil(ptr %base{k}, i64 0, i64 0, i64 1, i64 {array.size})")
    return [*lines, "  br label %sound", "sound:"]


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


def define_spoil(number: Number) -> str:
    """`@spoil`: NaN into the rows, of 0 ... last, whose bit is set in `which`."""
    scalar, nan = number.scalar, Number(number.dtype, 1).constant(float("nan"))
    head = "internal void @spoil(ptr %row, i64 %stride, i64 %last, i64 %which, i64 %size)"
    f = Function(head, "noinline nounwind")
    with f.each(0, f.add("%last", 1), some=True) as k:
        bit = f.let(f"and i64 {f.let(f'lshr i64 %which, {k}')}, 1")
        with f.given(f.is_("ne", bit, 0)):
            row = f.at("%row", f.mul(k, "%stride"), "i8")
            with f.each(0, "%size", some=True) as e:
                f.do(f"store {scalar} {nan}, ptr {f.at(row, e, scalar)}")
    f.give("void")
    return f.text


def define_angles(layout: Layout, number: Number, angles: int, width: int) -> str:
    """`@angles`: the arguments of the hoisted sines and cosines, and then these themselves."""
    wide = Number(number.dtype, number.lanes if number.lanes > 1 else width)
    step = wide.lanes if number.lanes == 1 else 1
    count = -(-angles // step) * step
    pair = f"{{ {wide.vector}, {wide.vector} }}"

    return f"""\
define internal void @angles(ptr noalias %ws, ptr noalias readonly %tables, ptr noalias readonly %args) #0 {{
entry:
  call void @arguments(ptr %ws, ptr %tables, ptr %args)
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


def define_run(lanes: int, streams: bool, yielding: str) -> str:
    """`@run`: a whole batch, which other threads join by `@help`; returns the first singular state, or -1.

    `progress` is shared by the threads: the next state that nobody has taken, how many are done, and the
    first singular one. A batch is open to others while `@run` works on it, until all states are done.
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
  %index = call i64 @chunk(ptr %args, ptr %strides, ptr %tables, i64 %s, i64 %n, ptr %ws)
  %after = call i64 @llvm.umin.i64(i64 %found, i64 %index)
  %s_next = add i64 %s, {lanes}
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
