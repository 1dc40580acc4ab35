"""Copies between the caller's rows and the interleaved workspace, by transposing small tiles in registers.

A row is the contiguous core of one state, for example its 7 coordinates. A tile is T elements of all W lanes, where T
numbers fill 128 bits: the rows j, j + T, j + 2T ... are loaded side by side into one vector, for j = 0 ... T-1, and
a T x T transposition within each 128-bit part gives T vectors of W lanes. The last tile overlaps the one before it,
and lanes beyond the last state repeat it: they load and store the same numbers twice.

Loading also answers whether a state is finite: the sum of 0 x over its numbers is 0, or else NaN.
"""

from __future__ import annotations

from collections.abc import Callable

from kinetree.compiler.emit.llvm.types import Number

UNROLL = 64  # elements; longer rows are copied by a loop


class _Text:
    """Lines of one function with numbered names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def fresh(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"


def load_name(size: int) -> str:
    return f"load_{size}"


def store_name(size: int) -> str:
    return f"store_{size}"


def _parameters(number: Number) -> str:
    return "ptr %row, i64 %stride, i64 %last, ptr %slots" if number.lanes > 1 else "ptr %row, ptr %slots"


def define_load(number: Number, size: int, width: int) -> str:
    """`@load_<size>`: rows into workspace slots; returns 0 in the lanes that are finite, else NaN."""
    text = _Text()
    wide = Number(number.dtype, number.lanes if number.lanes > 1 else width)
    if number.lanes > 1:
        rows = _rows(text, number.lanes)
        step = 16 // number.bytes

        def tile(first: str, sums: list[str]) -> list[str]:
            values = _gather(text, number, rows, first, step)
            return _keep(text, number, values, first, sums)

        def single(first: str, sums: list[str]) -> list[str]:
            return _keep(text, number, [_gather_one(text, number, rows, first)], first, sums)
    else:
        step = wide.lanes

        def tile(first: str, sums: list[str]) -> list[str]:
            return _copy(text, wide, first, sums)

        def single(first: str, sums: list[str]) -> list[str]:
            value = text.fresh(f"load {number.scalar}, ptr {_element(text, number.scalar, '%row', first)}")
            address = _element(text, number.scalar, "%slots", first)
            text.lines.append(f"  store {number.scalar} {value}, ptr {address}")
            padded = text.fresh(f"insertelement {wide.vector} zeroinitializer, {wide.scalar} {value}, i32 0")
            return [_check(text, wide, padded, sums[0]), *sums[1:]]

    sums = _tiles(text, wide, size, step, tile, single)
    total = text.fresh(f"fadd {wide.vector} {sums[0]}, {sums[1]}")
    head = f"define internal {wide.vector} @{load_name(size)}({_parameters(number)}) #0 {{"
    return "\n".join([head, "entry:", *text.lines, f"  ret {wide.vector} {total}", "}"])


def define_store(number: Number, size: int, width: int) -> str:
    """`@store_<size>`: workspace slots into rows."""
    text = _Text()
    wide = Number(number.dtype, number.lanes if number.lanes > 1 else width)
    if number.lanes > 1:
        rows = _rows(text, number.lanes)
        step = 16 // number.bytes

        def tile(first: str, sums: list[str]) -> list[str]:
            values = [_slot(text, number, first, k) for k in range(step)]
            for j, column in enumerate(_within(text, number, values)):
                _scatter(text, number, column, rows[j::step], first, step)
            return sums

        def single(first: str, sums: list[str]) -> list[str]:
            value = _slot(text, number, first, 0)
            for lane, row in enumerate(rows):
                one = text.fresh(f"extractelement {number.vector} {value}, i32 {lane}")
                text.lines.append(
                    f"  store {number.scalar} {one}, ptr {_element(text, number.scalar, row, first)}"
                )
            return sums
    else:
        step = wide.lanes

        def tile(first: str, sums: list[str]) -> list[str]:
            value = text.fresh(
                f"load {wide.vector}, ptr {_element(text, wide.scalar, '%slots', first)}, align {wide.bytes}"
            )
            address = _element(text, wide.scalar, "%row", first)
            text.lines.append(f"  store {wide.vector} {value}, ptr {address}, align {wide.bytes}")
            return sums

        def single(first: str, sums: list[str]) -> list[str]:
            value = text.fresh(f"load {wide.scalar}, ptr {_element(text, wide.scalar, '%slots', first)}")
            address = _element(text, wide.scalar, "%row", first)
            text.lines.append(f"  store {wide.scalar} {value}, ptr {address}")
            return sums

    _tiles(text, wide, size, step, tile, single)
    head = f"define internal void @{store_name(size)}({_parameters(number)}) #0 {{"
    return "\n".join([head, "entry:", *text.lines, "  ret void", "}"])


def _tiles(text: _Text, wide: Number, size: int, step: int, tile: Callable, single: Callable) -> list[str]:
    """Run over the elements of a row: unrolled or looped tiles, the last one overlapping."""
    sums = [wide.constant(0.0), wide.constant(0.0)]
    if size < step:
        for first in range(size):
            sums = single(str(first), sums)
        return sums
    whole = size // step * step
    if size <= UNROLL:
        for first in range(0, whole, step):
            sums = tile(str(first), sums)[::-1]
    else:
        vector = wide.vector
        text.lines += ["  br label %tile", "tile:"]
        head = len(text.lines)
        inner = tile("%first", ["%s0", "%s1"])
        text.lines[head:head] = [
            "  %first = phi i64 [ 0, %entry ], [ %next, %tile ]",
            f"  %s0 = phi {vector} [ {sums[0]}, %entry ], [ {inner[0]}, %tile ]",
            f"  %s1 = phi {vector} [ {sums[1]}, %entry ], [ {inner[1]}, %tile ]",
        ]
        sums = inner
        text.lines += [
            f"  %next = add nuw nsw i64 %first, {step}",
            f"  %more = icmp ult i64 %next, {whole}",
            "  br i1 %more, label %tile, label %rest",
            "rest:",
        ]
    return tile(str(size - step), sums) if whole < size else sums


def _rows(text: _Text, lanes: int) -> list[str]:
    """The address of every lane's row; lanes after %last repeat it."""
    rows = ["%row"]
    for lane in range(1, lanes):
        inside = text.fresh(f"icmp sge i64 %last, {lane}")
        step = text.fresh(f"select i1 {inside}, i64 %stride, i64 0")
        rows.append(text.fresh(f"getelementptr i8, ptr {rows[-1]}, i64 {step}"))
    return rows


def _element(text: _Text, kind: str, base: str, index: str) -> str:
    return text.fresh(f"getelementptr {kind}, ptr {base}, i64 {index}")


def _slot_address(text: _Text, number: Number, first: str, k: int) -> str:
    index = str(int(first) + k) if not first.startswith("%") else text.fresh(f"add i64 {first}, {k}")
    return _element(text, number.vector, "%slots", index)


def _slot(text: _Text, number: Number, first: str, k: int) -> str:
    return text.fresh(
        f"load {number.vector}, ptr {_slot_address(text, number, first, k)}, align {number.size}"
    )


def _check(text: _Text, number: Number, value: str, total: str) -> str:
    vector = number.vector
    zero = number.constant(0.0)
    product = text.fresh(f"fmul {vector} {value}, {zero}")
    return text.fresh(f"fadd {vector} {product}, {total}")


def _keep(text: _Text, number: Number, values: list[str], first: str, sums: list[str]) -> list[str]:
    """Store vectors into consecutive slots, and check them."""
    for k, value in enumerate(values):
        address = _slot_address(text, number, first, k)
        text.lines.append(f"  store {number.vector} {value}, ptr {address}, align {number.size}")
        sums = [sums[1], _check(text, number, value, sums[0])]
    return sums


def _copy(text: _Text, wide: Number, first: str, sums: list[str]) -> list[str]:
    """One state: consecutive elements as one vector."""
    source = _element(text, wide.scalar, "%row", first)
    value = text.fresh(f"load {wide.vector}, ptr {source}, align {wide.bytes}")
    address = _element(text, wide.scalar, "%slots", first)
    text.lines.append(f"  store {wide.vector} {value}, ptr {address}, align {wide.bytes}")
    return [sums[1], _check(text, wide, value, sums[0])]


def _gather(text: _Text, number: Number, rows: list[str], first: str, step: int) -> list[str]:
    """`step` vectors of all lanes: the elements first, first + 1 ... of every row."""
    part = f"<{step} x {number.scalar}>"
    columns = []
    for j in range(step):
        parts = []
        for row in rows[j::step]:
            address = _element(text, number.scalar, row, first)
            parts.append(text.fresh(f"load {part}, ptr {address}, align {number.bytes}"))
        columns.append(_join(text, number.scalar, parts, step))
    return _within(text, number, columns)


def _gather_one(text: _Text, number: Number, rows: list[str], first: str) -> str:
    value = "poison"
    for lane, row in enumerate(rows):
        one = text.fresh(f"load {number.scalar}, ptr {_element(text, number.scalar, row, first)}")
        value = text.fresh(f"insertelement {number.vector} {value}, {number.scalar} {one}, i32 {lane}")
    return value


def _scatter(text: _Text, number: Number, column: str, rows: list[str], first: str, step: int) -> None:
    part = f"<{step} x {number.scalar}>"
    for k, row in enumerate(rows):
        mask = ", ".join(f"i32 {k * step + e}" for e in range(step))
        value = column
        if step < number.lanes:
            value = text.fresh(
                f"shufflevector {number.vector} {column}, {number.vector} poison, <{step} x i32> <{mask}>"
            )
        address = _element(text, number.scalar, row, first)
        text.lines.append(f"  store {part} {value}, ptr {address}, align {number.bytes}")


def _join(text: _Text, scalar: str, parts: list[str], width: int) -> str:
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


def _within(text: _Text, number: Number, columns: list[str]) -> list[str]:
    """Transpose the 2 x 2 or 4 x 4 numbers of each 128-bit part."""

    def mix(a: str, b: str, pattern: tuple[int, ...]) -> str:
        step = len(pattern)
        mask = ", ".join(
            f"i32 {k + p if p < step else number.lanes + k + p - step}"
            for k in range(0, number.lanes, step)
            for p in pattern
        )
        kind = number.vector
        return text.fresh(f"shufflevector {kind} {a}, {kind} {b}, <{number.lanes} x i32> <{mask}>")

    if len(columns) == 2:
        a, b = columns
        return [mix(a, b, (0, 2)), mix(a, b, (1, 3))]
    a, b, c, d = columns
    ab, cd = mix(a, b, (0, 4, 1, 5)), mix(c, d, (0, 4, 1, 5))
    AB, CD = mix(a, b, (2, 6, 3, 7)), mix(c, d, (2, 6, 3, 7))
    low, high = (0, 1, 4, 5), (2, 3, 6, 7)
    return [mix(ab, cd, low), mix(ab, cd, high), mix(AB, CD, low), mix(AB, CD, high)]
