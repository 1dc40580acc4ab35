"""Copies between the caller's rows and the interleaved workspace, by transposing small tiles in registers.

A row is the contiguous core of one state, for example its 7 coordinates. A tile is T = 2 or 4 elements of
all W lanes: the rows j, j + T, j + 2T ... are loaded side by side into one vector, for j = 0 ... T-1, and a
T x T transposition within each part of T lanes gives T vectors of W lanes. The last tile overlaps the one
before it. The last states of a batch, fewer than W, are copied one by one; the remaining lanes repeat the
last state, and are not stored.

Loading also tests whether a state is finite: the sum of 0 x over its numbers is 0, or else NaN.
"""

from __future__ import annotations

from collections.abc import Callable

from kinetree.compiler.emit.llvm.function import Function, Lines
from kinetree.compiler.emit.llvm.types import Number

FEW = "ptr %row, i64 %stride, i64 %last, ptr %slots"
UNROLL = 64  # elements; longer rows are copied by a loop


def load_name(size: int) -> str:
    return f"load_{size}"


def store_name(size: int) -> str:
    return f"store_{size}"


def define_load(number: Number, size: int, fused: bool) -> str:
    """`@load_<size>`: rows into workspace slots; returns 0 in the lanes that are finite, else NaN."""
    vector = number.vector
    f = Function(f"internal {vector} @{load_name(size)}({FEW})", "#0")
    f.when(f.is_("eq", "%last", number.lanes - 1), "full")
    f.give(f"{vector} {f.call(vector, '@load_few', FEW, f'i64 {size}')}")
    f.block("full")
    rows = rows_of(f, number.lanes)

    def tile(first: str, step: int, sums: list[str]) -> list[str]:
        for k, value in enumerate(_gather(f, number, rows, first, step)):
            f.do(f"store {vector} {value}, ptr {_slot(f, number, first, k)}, align {number.size}")
            sums = [sums[1], check(f, number, value, sums[0], fused)]
        return sums

    sums = over_row(f, number, size, tile)
    f.give(f"{vector} {f.let(f'fadd {vector} {sums[0]}, {sums[1]}')}")
    return f.text


def define_store(number: Number, size: int) -> str:
    """`@store_<size>`: workspace slots into rows."""
    f = Function(f"internal void @{store_name(size)}({FEW})", "#0")
    f.when(f.is_("eq", "%last", number.lanes - 1), "full")
    f.call("void", "@store_few", FEW, f"i64 {size}")
    f.give("void")
    f.block("full")
    rows = rows_of(f, number.lanes)

    def tile(first: str, step: int, sums: list[str]) -> list[str]:
        values = [
            f.let(f"load {number.vector}, ptr {_slot(f, number, first, k)}, align {number.size}")
            for k in range(step)
        ]
        for j, column in enumerate(within(f, number, values)):
            scatter(f, number, column, rows[j::step], first, step)
        return sums

    over_row(f, number, size, tile)
    f.give("void")
    return f.text


def over_row(f: Function, number: Number, size: int, tile: Callable, largest: int = 4) -> list[str]:
    """Cover the elements of a row with tiles, unrolled or in a loop; returns the tiles' running sums."""
    sums = [number.constant(0.0), number.constant(0.0)]
    steps = [s for s in (16, 8, 4, 2, 1) if s <= min(size, number.lanes, largest)]
    step = steps[0]
    whole = size // step * step
    if size <= UNROLL:
        for first in range(0, whole, step):
            sums = tile(str(first), step, sums)
    else:
        with f.each(0, whole, step, some=True) as place:
            inner = tile(place, step, ["%s0", "%s1"])
            for name, before, after in zip(("%s0", "%s1"), sums, inner):
                f.carry(name, number.vector, before, after)
        sums = inner
    left = size - whole
    if left:
        last = min(s for s in steps if s >= left)
        sums = tile(str(size - last), last, sums)
    return sums


def check(f: Function, number: Number, value: str, total: str, fused: bool) -> str:
    """`total` + 0 `value`: stays 0 as long as all values are finite."""
    v, zero = number.vector, number.constant(0.0)
    if fused:
        return f.call(v, f"@llvm.fma.{number.suffix}", f"{v} {value}", f"{v} {zero}", f"{v} {total}")
    return f.let(f"fadd {v} {f.let(f'fmul {v} {value}, {zero}')}, {total}")


def define_load_few(number: Number) -> str:
    """`@load_few`: the states 0 ... last one by one, with the last one repeated in the remaining lanes."""
    vector, scalar, zero = number.vector, number.scalar, number.constant(0.0)
    f = Function(f"internal {vector} @load_few({FEW}, i64 %size)", "#0")
    with f.each(0, number.lanes, some=True) as k:
        state = f.call("i64", "@llvm.smin.i64", f"i64 {k}", "i64 %last")
        row = f.at("%row", f.mul(state, "%stride"), "i8")
        with f.each(0, "%size", some=True) as e:
            x = f.let(f"load {scalar}, ptr {f.at(row, e, scalar)}")
            f.do(f"store {scalar} {x}, ptr {f.at(f.at('%slots', e, vector), k, scalar)}")
    with f.each(0, "%size", some=True) as e:
        x = f.let(f"load {vector}, ptr {f.at('%slots', e, vector)}, align {number.size}")
        total = f.let(f"fadd {vector} {f.let(f'fmul {vector} {x}, {zero}')}, %sum")
        f.carry("%sum", vector, zero, total)
    f.give(f"{vector} {total}")
    return f.text


def define_store_few(number: Number) -> str:
    """`@store_few`: the states 0 ... last one by one."""
    scalar = number.scalar
    f = Function(f"internal void @store_few({FEW}, i64 %size)", "#0")
    with f.each(0, f.add("%last", 1), some=True) as k:
        row = f.at("%row", f.mul(k, "%stride"), "i8")
        with f.each(0, "%size", some=True) as e:
            x = f.let(f"load {scalar}, ptr {f.at(f.at('%slots', e, number.vector), k, scalar)}")
            f.do(f"store {scalar} {x}, ptr {f.at(row, e, scalar)}")
    f.give("void")
    return f.text


def rows_of(f: Function, lanes: int) -> list[str]:
    """The address of every lane's row."""
    rows = ["%row"]
    for lane in range(1, lanes):
        offset = f.let(f"mul i64 %stride, {lane}")
        rows.append(f.let(f"getelementptr i8, ptr %row, i64 {offset}"))
    return rows


def _slot(f: Function, number: Number, first: str, k: int) -> str:
    index = str(int(first) + k) if not first.startswith("%") else f.let(f"add i64 {first}, {k}")
    return f.at("%slots", index, number.vector)


def _gather(f: Function, number: Number, rows: list[str], first: str, step: int) -> list[str]:
    """`step` vectors of all lanes: the elements first, first + 1 ... of every row."""
    part = number.scalar if step == 1 else f"<{step} x {number.scalar}>"
    loads = [
        f.let(f"load {part}, ptr {f.at(row, first, number.scalar)}, align {number.bytes}") for row in rows
    ]
    if step == 4 and number.lanes == 8 and number.bytes == 8:
        return _gather_eight(f, number, loads)
    if step > 1:
        columns = [_join(f, number.scalar, loads[j::step], step) for j in range(step)]
        return within(f, number, columns)
    value = "poison"
    for lane, one in enumerate(loads):
        value = f.let(f"insertelement {number.vector} {value}, {number.scalar} {one}, i32 {lane}")
    return [value]


def _gather_eight(f: Function, number: Number, loads: list[str]) -> list[str]:
    """Four elements of eight rows of 64-bit numbers; rows are paired: each step is one instruction."""
    vector = number.vector

    def mix(a: str, b: str, mask: tuple[int, ...]) -> str:
        places = ", ".join(f"i32 {m}" for m in mask)
        return f.let(f"shufflevector {vector} {a}, {vector} {b}, <8 x i32> <{places}>")

    pairs = ((0, 2), (1, 3), (4, 6), (5, 7))
    a, b, c, d = (_join(f, number.scalar, [loads[i], loads[j]], 4) for i, j in pairs)
    result = []
    for low in (0, 1):  # even elements, then odd ones
        unpack = tuple(n + low for k in (0, 2, 4, 6) for n in (k, 8 + k))
        ab, cd = mix(a, b, unpack), mix(c, d, unpack)
        result.append([mix(ab, cd, (0, 1, 4, 5, 8, 9, 12, 13)), mix(ab, cd, (2, 3, 6, 7, 10, 11, 14, 15))])
    (e0, e2), (e1, e3) = result
    return [e0, e1, e2, e3]


def scatter(f: Lines, number: Number, column: str, rows: list[str], first: str, step: int) -> None:
    """Store the parts of a column to their rows."""
    part = number.scalar if step == 1 else f"<{step} x {number.scalar}>"
    for k, row in enumerate(rows):
        if step == 1:
            value = f.let(f"extractelement {number.vector} {column}, i32 {k}")
        elif step == number.lanes:
            value = column
        else:
            mask = ", ".join(f"i32 {k * step + e}" for e in range(step))
            value = f.let(
                f"shufflevector {number.vector} {column}, {number.vector} poison, <{step} x i32> <{mask}>"
            )
        address = f.at(row, first, number.scalar)
        f.do(f"store {part} {value}, ptr {address}, align {number.bytes}")


def _join(f: Function, scalar: str, parts: list[str], width: int) -> str:
    """Concatenate vectors, in pairs."""
    while len(parts) > 1:
        mask = ", ".join(f"i32 {k}" for k in range(2 * width))
        kind = f"<{width} x {scalar}>"
        parts = [
            f.let(f"shufflevector {kind} {a}, {kind} {b}, <{2 * width} x i32> <{mask}>")
            for a, b in zip(parts[::2], parts[1::2])
        ]
        width *= 2
    return parts[0]


def within(f: Lines, number: Number, columns: list[str]) -> list[str]:
    """Transpose the 2 x 2 or 4 x 4 numbers of each part of 2 or 4 lanes."""

    def mix(a: str, b: str, pattern: tuple[int, ...]) -> str:
        step = len(pattern)
        mask = ", ".join(
            f"i32 {k + p if p < step else number.lanes + k + p - step}"
            for k in range(0, number.lanes, step)
            for p in pattern
        )
        kind = number.vector
        return f.let(f"shufflevector {kind} {a}, {kind} {b}, <{number.lanes} x i32> <{mask}>")

    if len(columns) == 1:
        return columns
    if len(columns) == 2:
        a, b = columns
        return [mix(a, b, (0, 2)), mix(a, b, (1, 3))]
    a, b, c, d = columns
    if number.bytes == 4:  # a part is 128 bits, for which there are the best instructions
        low, high = (0, 4, 1, 5), (2, 6, 3, 7)
        ab, cd, AB, CD = mix(a, b, low), mix(c, d, low), mix(a, b, high), mix(c, d, high)
        low, high = (0, 1, 4, 5), (2, 3, 6, 7)
        return [mix(ab, cd, low), mix(ab, cd, high), mix(AB, CD, low), mix(AB, CD, high)]
    even, odd = (0, 4, 2, 6), (1, 5, 3, 7)
    low, high = (0, 1, 4, 5), (2, 3, 6, 7)
    ab, cd, AB, CD = mix(a, b, even), mix(c, d, even), mix(a, b, odd), mix(c, d, odd)
    return [mix(ab, cd, low), mix(AB, CD, low), mix(ab, cd, high), mix(AB, CD, high)]
