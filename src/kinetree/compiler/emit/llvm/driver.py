"""The functions around the core: load W states, compute sines and cosines, run, check for NaN, store."""

from __future__ import annotations

from collections.abc import Collection

from kinetree.compiler.emit.llvm import sincos
from kinetree.compiler.emit.llvm.function import Function
from kinetree.compiler.emit.llvm.layout import Layout
from kinetree.compiler.emit.llvm.literals import Literals
from kinetree.compiler.emit.llvm.results import Results, choose_target
from kinetree.compiler.emit.llvm.stream import is_streamed, most_states
from kinetree.compiler.emit.llvm.transpose import load_name, store_name
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.graph import Array, Clear, Spoil
from kinetree.compiler.ir.program import Program

ONE = "(ptr %args, ptr %tables, ptr %ws)"
CHUNK = "(ptr %args, ptr %strides, ptr %tables, i64 %s, i64 %n, ptr %ws)"


def define_one(
    program: Program, layout: Layout, number: Number, width: int, angles: int, direct: Collection[Array]
) -> str:
    """`@one`: one state; returns 0 if it is singular, else -1."""
    wide = Number(number.dtype, width)
    lines, total = _load(program, layout, number, wide)
    lines += _cleared(program, layout, number, direct)
    if angles:
        lines.append("  call void @angles(ptr %ws, ptr %tables, ptr %args)")
    lines.append("  call void @core(ptr %ws, ptr %tables, ptr %args)")
    lines += _finite(program, layout, number, wide, total)
    if program.guard is not None:  # a singular state leaves the caller's arrays unchanged
        lines += ["  br i1 %hit, label %refuse, label %store", "refuse:", "  ret i64 0", "store:"]
    for j, array in enumerate(program.outputs, len(program.inputs)):
        row = _row(lines, j, 1) if array.size else ""
        if array.size and array not in direct:
            lines += _slots(j, array, layout, number)
            lines.append(f"  call void @{store_name(array.size)}(ptr {row}, ptr %from{j})")
    if program.spoil is not None:
        lines += _spoil(program.spoil, len(program.inputs), number, wide)
    return "\n".join([f"define i64 @one{ONE} #0 {{", "entry:", *lines, "  ret i64 %singular", "}"])


def define_begin(
    program: Program, layout: Layout, number: Number, angles: int, results: Results | None
) -> str:
    """`@begin`: load the states s ... s + W - 1 (at most n - 1) into a workspace."""
    lines = _last(number.lanes)
    loads, total = _load(program, layout, number, number)
    lines += loads
    if total:
        lines += [
            f"  %sums = getelementptr {number.vector}, ptr %ws, i64 {layout.sums}",
            f"  store {number.vector} {total}, ptr %sums, align {number.size}",
        ]
    lines += _cleared(program, layout, number, () if results is None else program.outputs)
    if angles:
        lines.append("  call void @angles(ptr %ws, ptr %tables, ptr %args)")
    for j, array in enumerate(program.outputs, len(program.inputs)):
        if array.size and results is not None:
            row = _row(lines, j, number.lanes)
            lines += choose_target(row, j, array, number, layout, most_states(program.outputs, number))
    return "\n".join([f"define internal void @begin{CHUNK} #0 {{", "entry:", *lines, "  ret void", "}"])


def define_end(program: Program, layout: Layout, number: Number, results: Results | None) -> str:
    """`@end`: store results to the caller's rows; returns the first singular state, or -1."""
    lines = _last(number.lanes)
    total = ""
    if program.spoil is not None:
        total = "%total"
        lines += [
            f"  %sums = getelementptr {number.vector}, ptr %ws, i64 {layout.sums}",
            f"  %total = load {number.vector}, ptr %sums, align {number.size}",
        ]
    lines += _finite(program, layout, number, number, total)
    for k, array in enumerate(program.outputs):
        if not array.size:
            continue
        j = len(program.inputs) + k
        row = _row(lines, j, number.lanes)
        place = f"ptr {row}, i64 %stride{j}, i64 %last"
        if results is not None:
            lines += [
                f"  %told{j} = getelementptr i8, ptr %ws, i64 {layout.target(array)}",
                f"  %target{j} = load ptr, ptr %told{j}",
            ]
            finish = [f"  call void @finish{k}({place}, ptr %target{j})"]
            if not results.empty[array]:  # then there is work only if the rows are elsewhere
                staged = f"  %staged{j} = icmp ne ptr %target{j}, {row}"
                branch = f"  br i1 %staged{j}, label %copy{j}, label %there{j}"
                finish = [staged, branch, f"copy{j}:", *finish, f"  br label %there{j}", f"there{j}:"]
            lines += finish
            continue
        lines += _slots(j, array, layout, number)
        name, more = store_name(array.size), ""
        if is_streamed(array, number):
            lines.append(f"  %stage{j} = getelementptr {number.vector}, ptr %ws, i64 {layout.stage}")
            name, more = f"deliver{k}", f", i64 %n, ptr %stage{j}"
        lines.append(f"  call void @{name}({place}, ptr %from{j}{more})")
    if program.spoil is not None:
        lines += _spoil(program.spoil, len(program.inputs), number, number)
    return "\n".join([f"define internal i64 @end{CHUNK} #0 {{", "entry:", *lines, "  ret i64 %singular", "}"])


def _last(lanes: int) -> list[str]:
    """`%last`: the index of the last state among W."""
    return [
        "  %left = sub i64 %n, %s",
        "  %most = sub i64 %left, 1",
        f"  %last = call i64 @llvm.smin.i64(i64 %most, i64 {lanes - 1})",
    ]


def _load(program: Program, layout: Layout, number: Number, wide: Number) -> tuple[list[str], str]:
    """Copy the inputs; the sum that is non-zero in lanes that are not finite, "" if it is not needed."""
    lines: list[str] = []
    total = ""
    for j, array in enumerate(program.inputs):
        if not array.size:
            continue
        row = _row(lines, j, number.lanes)
        place = f"ptr {row}" if number.lanes == 1 else f"ptr {row}, i64 %stride{j}, i64 %last"
        lines += [
            f"  %to{j} = getelementptr {number.vector}, ptr %ws, i64 {layout.start[array]}",
            f"  %sum{j} = call {wide.vector} @{load_name(array.size)}({place}, ptr %to{j})",
        ]
        if program.spoil is None:
            continue
        if not total:
            total = f"%sum{j}"
        else:
            lines.append(f"  %total{j} = fadd {wide.vector} {total}, %sum{j}")
            total = f"%total{j}"
    return lines, total


def _slots(j: int, array: Array, layout: Layout, number: Number) -> list[str]:
    return [f"  %from{j} = getelementptr {number.vector}, ptr %ws, i64 {layout.start[array]}"]


def _cleared(program: Program, layout: Layout, number: Number, elsewhere: Collection[Array]) -> list[str]:
    """Zero the arrays that start at zero; of those stored elsewhere, the caller's for one state."""
    lines = []
    for k, statement in enumerate(program.body.statements):
        if not isinstance(statement, Clear):
            break
        array = statement.array
        if array not in elsewhere:
            where = f"getelementptr {number.vector}, ptr %ws, i64 {layout.start[array]}"
        elif number.lanes == 1:
            position = len(program.inputs) + program.outputs.index(array)
            where = f"load ptr, ptr %zeroed{k}"
            lines.append(f"  %zeroed{k} = getelementptr ptr, ptr %args, i64 {position}")
        else:  # what `results.py` does not store is zero
            continue
        lines += [
            f"  %zero{k} = {where}",
            f"  call void @llvm.memset.p0.i64(ptr %zero{k}, i8 0, i64 {array.size * number.size}, i1 false)",
        ]
    return lines


def _row(lines: list[str], j: int, lanes: int) -> str:
    """The address of array j's row for the first lane."""
    lines += [f"  %arg{j} = getelementptr ptr, ptr %args, i64 {j}", f"  %base{j} = load ptr, ptr %arg{j}"]
    if lanes == 1:
        return f"%base{j}"
    lines += [
        f"  %str{j} = getelementptr i64, ptr %strides, i64 {j}",
        f"  %stride{j} = load i64, ptr %str{j}",
        f"  %offset{j} = mul i64 %s, %stride{j}",
        f"  %row{j} = getelementptr i8, ptr %base{j}, i64 %offset{j}",
    ]
    return f"%row{j}"


def _finite(program: Program, layout: Layout, number: Number, wide: Number, total: str) -> list[str]:
    """Find the states with NaN or infinity among their inputs, and the first singular one."""
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
    """`@spoil`: write NaN to those of the rows 0 ... last whose bit is set in `which`."""
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


def define_angles(
    layout: Layout, number: Number, angles: int, fused: bool, literals: Literals
) -> str:
    """`@angles`: the arguments of the hoisted sines and cosines, then the sines and cosines themselves."""
    wide = literals.number
    together = angles_at_once(number, angles)
    step = together * (wide.lanes if number.lanes == 1 else 1)
    count = -(-angles // step) * step
    places = "\n".join(
        f"  %{name}.{k} = getelementptr {wide.vector}, ptr %{name}, i64 {k}"
        for k in range(together)
        for name in ("px", "ps", "pc")
    )
    body = "\n".join(sincos.in_place(wide, fused, literals, together))
    return f"""\
define internal void @angles(ptr noalias %ws, ptr noalias readonly %tables, ptr noalias readonly %args) #0 {{
entry:
  call void @arguments(ptr %ws, ptr %tables, ptr %args)
  %xs = getelementptr {number.vector}, ptr %ws, i64 {layout.angles}
  %sines = getelementptr {number.vector}, ptr %ws, i64 {layout.sines}
  %cosines = getelementptr {number.vector}, ptr %ws, i64 {layout.cosines}
  br label %loop
loop:
  %n = phi i64 [ 0, %entry ], [ %after, %latch ]
  %px = getelementptr {number.vector}, ptr %xs, i64 %n
  %ps = getelementptr {number.vector}, ptr %sines, i64 %n
  %pc = getelementptr {number.vector}, ptr %cosines, i64 %n
{places}
{body}
  %after = add nuw nsw i64 %n, {step}
  %more = icmp ult i64 %after, {count}
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""


def angles_at_once(number: Number, angles: int) -> int:
    """How many vectors of angles are processed side by side."""
    return 2 if number.lanes > 1 and angles > 1 else 1
