"""Copies between the caller's rows and the interleaved workspace, by transposing small tiles in registers.

A row is the contiguous core of one state, for example its 7 coordinates. A tile is T = 2 or 4 elements of
all W lanes: the rows j, j + T, j + 2T ... are loaded side by side into one vector, for j = 0 ... T-1, and a
T x T transposition within each part of T lanes gives T vectors of W lanes. The last tile overlaps the one
before it. The last states of a batch, fewer than W, are copied one by one; the lanes left over repeat the
last state, and are not stored.

Loading also answers whether a state is finite: the sum of 0 x over its numbers is 0, or else NaN.
"""

from __future__ import annotations

from collections.abc import Callable

from kinetree.compiler.emit.llvm.types import Number

UNROLL = 64  # elements; longer rows are copied by a loop


class Text:
    """Lines of one function with numbered names."""

    def __init__(self, fused: bool = False, stem: str = "v") -> None:
        self.fused = fused
        self.stem = stem
        self.lines: list[str] = []
        self.count = 0

    def fresh(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %{self.stem}{self.count} = {text}")
        return f"%{self.stem}{self.count}"

    def element(self, kind: str, base: str, index: str) -> str:
        """The address of element `index` of an array of `kind`."""
        return self.fresh(f"getelementptr {kind}, ptr {base}, i64 {index}")


def load_name(size: int) -> str:
    return f"load_{size}"


def store_name(size: int) -> str:
    return f"store_{size}"


def define_load(number: Number, size: int, fused: bool) -> str:
    """`@load_<size>`: rows into workspace slots; returns 0 in the lanes that are finite, else NaN."""
    text = Text(fused)
    rows = rows_of(text, number.lanes)

    def tile(first: str, step: int, sums: list[str]) -> list[str]:
        for k, value in enumerate(_gather(text, number, rows, first, step)):
            address = _slot(text, number, first, k)
            text.lines.append(f"  store {number.vector} {value}, ptr {address}, align {number.size}")
            sums = [sums[1], check(text, number, value, sums[0])]
        return sums

    sums = over_row(text, number, size, tile)
    total = text.fresh(f"fadd {number.vector} {sums[0]}, {sums[1]}")
    return f"""\
define internal {number.vector} @{load_name(size)}(ptr %row, i64 %stride, i64 %last, ptr %slots) #0 {{
start:
  %full = icmp eq i64 %last, {number.lanes - 1}
  br i1 %full, label %entry, label %few
{_load_few(number, size)}
entry:
{chr(10).join(text.lines)}
  ret {number.vector} {total}
}}"""


def define_store(number: Number, size: int) -> str:
    """`@store_<size>`: workspace slots into rows."""
    text = Text()
    rows = rows_of(text, number.lanes)

    def tile(first: str, step: int, sums: list[str]) -> list[str]:
        values = [
            text.fresh(f"load {number.vector}, ptr {_slot(text, number, first, k)}, align {number.size}")
            for k in range(step)
        ]
        for j, column in enumerate(within(text, number, values)):
            scatter(text, number, column, rows[j::step], first, step)
        return sums

    over_row(text, number, size, tile)
    return f"""\
define internal void @{store_name(size)}(ptr %row, i64 %stride, i64 %last, ptr %slots) #0 {{
start:
  %full = icmp eq i64 %last, {number.lanes - 1}
  br i1 %full, label %entry, label %few
{_store_few(number, size)}
entry:
{chr(10).join(text.lines)}
  ret void
}}"""


def over_row(text: Text, number: Number, size: int, tile: Callable, largest: int = 4) -> list[str]:
    """Cover the elements of a row with tiles, unrolled or by a loop; the running sums of the tiles."""
    sums = [number.constant(0.0), number.constant(0.0)]
    steps = [s for s in (16, 8, 4, 2, 1) if s <= min(size, number.lanes, largest)]
    step = steps[0]
    whole = size // step * step
    if size <= UNROLL:
        for first in range(0, whole, step):
            sums = tile(str(first), step, sums)
    else:
        text.lines += ["  br label %tile", "tile:"]
        head = len(text.lines)
        inner = tile("%first", step, ["%s0", "%s1"])
        text.lines[head:head] = [
            "  %first = phi i64 [ 0, %entry ], [ %next, %tile ]",
            f"  %s0 = phi {number.vector} [ {sums[0]}, %entry ], [ {inner[0]}, %tile ]",
            f"  %s1 = phi {number.vector} [ {sums[1]}, %entry ], [ {inner[1]}, %tile ]",
        ]
        sums = inner
        text.lines += [
            f"  %next = add nuw nsw i64 %first, {step}",
            f"  %more = icmp ult i64 %next, {whole}",
            "  br i1 %more, label %tile, label %rest",
            "rest:",
        ]
    left = size - whole
    if left:
        last = min(s for s in steps if s >= left)
        sums = tile(str(size - last), last, sums)
    return sums


def check(text: Text, number: Number, value: str, total: str) -> str:
    """`total` + 0 `value`: stays 0 as long as all values are finite."""
    if text.fused:
        v = number.vector
        arguments = f"{v} {value}, {v} {number.constant(0.0)}, {v} {total}"
        return text.fresh(f"call {v} @llvm.fma.{number.suffix}({arguments})")
    product = text.fresh(f"fmul {number.vector} {value}, {number.constant(0.0)}")
    return text.fresh(f"fadd {number.vector} {product}, {total}")


def _load_few(number: Number, size: int) -> str:
    """The states 0 ... last one by one, the last one again in the lanes left over."""
    vector, scalar = number.vector, number.scalar
    return f"""\
few:
  br label %lane
lane:
  %lane.k = phi i64 [ 0, %few ], [ %lane.next, %lane.done ]
  %lane.i = call i64 @llvm.smin.i64(i64 %lane.k, i64 %last)
  %lane.off = mul i64 %lane.i, %stride
  %lane.row = getelementptr i8, ptr %row, i64 %lane.off
  br label %copy
copy:
  %copy.e = phi i64 [ 0, %lane ], [ %copy.next, %copy ]
  %copy.from = getelementptr {scalar}, ptr %lane.row, i64 %copy.e
  %copy.x = load {scalar}, ptr %copy.from
  %copy.slot = getelementptr {vector}, ptr %slots, i64 %copy.e
  %copy.to = getelementptr {scalar}, ptr %copy.slot, i64 %lane.k
  store {scalar} %copy.x, ptr %copy.to
  %copy.next = add i64 %copy.e, 1
  %copy.more = icmp ult i64 %copy.next, {size}
  br i1 %copy.more, label %copy, label %lane.done
lane.done:
  %lane.next = add i64 %lane.k, 1
  %lane.more = icmp ult i64 %lane.next, {number.lanes}
  br i1 %lane.more, label %lane, label %sum
sum:
  %sum.e = phi i64 [ 0, %lane.done ], [ %sum.next, %sum ]
  %sum.old = phi {vector} [ {number.constant(0.0)}, %lane.done ], [ %sum.new, %sum ]
  %sum.slot = getelementptr {vector}, ptr %slots, i64 %sum.e
  %sum.x = load {vector}, ptr %sum.slot, align {number.size}
  %sum.p = fmul {vector} %sum.x, {number.constant(0.0)}
  %sum.new = fadd {vector} %sum.p, %sum.old
  %sum.next = add i64 %sum.e, 1
  %sum.more = icmp ult i64 %sum.next, {size}
  br i1 %sum.more, label %sum, label %few.done
few.done:
  ret {vector} %sum.new"""


def _store_few(number: Number, size: int) -> str:
    """The states 0 ... last one by one."""
    vector, scalar = number.vector, number.scalar
    return f"""\
few:
  br label %lane
lane:
  %lane.k = phi i64 [ 0, %few ], [ %lane.next, %lane.done ]
  %lane.off = mul i64 %lane.k, %stride
  %lane.row = getelementptr i8, ptr %row, i64 %lane.off
  br label %copy
copy:
  %copy.e = phi i64 [ 0, %lane ], [ %copy.next, %copy ]
  %copy.slot = getelementptr {vector}, ptr %slots, i64 %copy.e
  %copy.from = getelementptr {scalar}, ptr %copy.slot, i64 %lane.k
  %copy.x = load {scalar}, ptr %copy.from
  %copy.to = getelementptr {scalar}, ptr %lane.row, i64 %copy.e
  store {scalar} %copy.x, ptr %copy.to
  %copy.next = add i64 %copy.e, 1
  %copy.more = icmp ult i64 %copy.next, {size}
  br i1 %copy.more, label %copy, label %lane.done
lane.done:
  %lane.next = add i64 %lane.k, 1
  %lane.more = icmp sle i64 %lane.next, %last
  br i1 %lane.more, label %lane, label %few.done
few.done:
  ret void"""


def rows_of(text: Text, lanes: int) -> list[str]:
    """The address of every lane's row."""
    rows = ["%row"]
    for lane in range(1, lanes):
        offset = text.fresh(f"mul i64 %stride, {lane}")
        rows.append(text.fresh(f"getelementptr i8, ptr %row, i64 {offset}"))
    return rows


def _slot(text: Text, number: Number, first: str, k: int) -> str:
    index = str(int(first) + k) if not first.startswith("%") else text.fresh(f"add i64 {first}, {k}")
    return text.element(number.vector, "%slots", index)


def _gather(text: Text, number: Number, rows: list[str], first: str, step: int) -> list[str]:
    """`step` vectors of all lanes: the elements first, first + 1 ... of every row."""
    part = number.scalar if step == 1 else f"<{step} x {number.scalar}>"
    loads = [
        text.fresh(f"load {part}, ptr {text.element(number.scalar, row, first)}, align {number.bytes}")
        for row in rows
    ]
    if step == 4 and number.lanes == 8 and number.bytes == 8:
        return _gather_eight(text, number, loads)
    if step > 1:
        columns = [_join(text, number.scalar, loads[j::step], step) for j in range(step)]
        return within(text, number, columns)
    value = "poison"
    for lane, one in enumerate(loads):
        value = text.fresh(f"insertelement {number.vector} {value}, {number.scalar} {one}, i32 {lane}")
    return [value]


def _gather_eight(text: Text, number: Number, loads: list[str]) -> list[str]:
    """Four elements of eight rows of 64-bit numbers: rows paired so that each step is one instruction."""
    vector = number.vector

    def mix(a: str, b: str, mask: tuple[int, ...]) -> str:
        places = ", ".join(f"i32 {m}" for m in mask)
        return text.fresh(f"shufflevector {vector} {a}, {vector} {b}, <8 x i32> <{places}>")

    pairs = ((0, 2), (1, 3), (4, 6), (5, 7))
    a, b, c, d = (_join(text, number.scalar, [loads[i], loads[j]], 4) for i, j in pairs)
    result = []
    for low in (0, 1):  # even elements, then odd ones
        unpack = tuple(n + low for k in (0, 2, 4, 6) for n in (k, 8 + k))
        ab, cd = mix(a, b, unpack), mix(c, d, unpack)
        result.append([mix(ab, cd, (0, 1, 4, 5, 8, 9, 12, 13)), mix(ab, cd, (2, 3, 6, 7, 10, 11, 14, 15))])
    (e0, e2), (e1, e3) = result
    return [e0, e1, e2, e3]


def scatter(text: Text, number: Number, column: str, rows: list[str], first: str, step: int) -> None:
    """Store the parts of a column into the rows that they belong to."""
    part = number.scalar if step == 1 else f"<{step} x {number.scalar}>"
    for k, row in enumerate(rows):
        if step == 1:
            value = text.fresh(f"extractelement {number.vector} {column}, i32 {k}")
        elif step == number.lanes:
            value = column
        else:
            mask = ", ".join(f"i32 {k * step + e}" for e in range(step))
            value = text.fresh(
                f"shufflevector {number.vector} {column}, {number.vector} poison, <{step} x i32> <{mask}>"
            )
        address = text.element(number.scalar, row, first)
        text.lines.append(f"  store {part} {value}, ptr {address}, align {number.bytes}")


def _join(text: Text, scalar: str, parts: list[str], width: int) -> str:
    """Vectors side by side, two by two."""
    while len(parts) > 1:
        mask = ", ".join(f"i32 {k}" for k in range(2 * width))
        kind = f"<{width} x {scalar}>"
        parts = [
            text.fresh(f"shufflevector {kind} {a}, {kind} {b}, <{2 * width} x i32> <{mask}>")
            for a, b in zip(parts[::2], parts[1::2])
        ]
        width *= 2
    return parts[0]


def within(text: Text, number: Number, columns: list[str]) -> list[str]:
    """Transpose the 2 x 2 or 4 x 4 numbers of each part of 2 or 4 lanes."""

    def mix(a: str, b: str, pattern: tuple[int, ...]) -> str:
        step = len(pattern)
        mask = ", ".join(
            f"i32 {k + p if p < step else number.lanes + k + p - step}"
            for k in range(0, number.lanes, step)
            for p in pattern
        )
        kind = number.vector
        return text.fresh(f"shufflevector {kind} {a}, {kind} {b}, <{number.lanes} x i32> <{mask}>")

    if len(columns) == 1:
        return columns
    if len(columns) == 2:
        a, b = columns
        return [mix(a, b, (0, 2)), mix(a, b, (1, 3))]
    a, b, c, d = columns
    if number.bytes == 4:  # a part is 128 bits: what its instructions do best
        low, high = (0, 4, 1, 5), (2, 6, 3, 7)
        ab, cd, AB, CD = mix(a, b, low), mix(c, d, low), mix(a, b, high), mix(c, d, high)
        low, high = (0, 1, 4, 5), (2, 3, 6, 7)
        return [mix(ab, cd, low), mix(ab, cd, high), mix(AB, CD, low), mix(AB, CD, high)]
    even, odd = (0, 4, 2, 6), (1, 5, 3, 7)
    low, high = (0, 1, 4, 5), (2, 3, 6, 7)
    ab, cd, AB, CD = mix(a, b, even), mix(c, d, even), mix(a, b, odd), mix(c, d, odd)
    return [mix(ab, cd, low), mix(AB, CD, low), mix(ab, cd, high), mix(AB, CD, high)]
