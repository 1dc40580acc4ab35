"""Copies between one state's rows and the workspace: vectors of consecutive elements."""

from __future__ import annotations

from kinetree.compiler.emit.llvm.transpose import Text, check, load_name, over_row, store_name
from kinetree.compiler.emit.llvm.types import Number


def define_load_one(wide: Number, size: int, fused: bool) -> str:
    """`@load_<size>` for one state; returns 0 in all lanes if the elements are finite, else NaN somewhere."""
    text = Text(fused)

    def tile(first: str, step: int, sums: list[str]) -> list[str]:
        value = _move(text, wide, "%row", "%slots", first, step)
        if step < wide.lanes:
            value = _widen(text, wide, value, step)
        return [sums[1], check(text, wide, value, sums[0])]

    sums = over_row(text, wide, size, tile, wide.lanes)
    total = text.fresh(f"fadd {wide.vector} {sums[0]}, {sums[1]}")
    head = f"define internal {wide.vector} @{load_name(size)}(ptr %row, ptr %slots) #0 {{"
    return "\n".join([head, "entry:", *text.lines, f"  ret {wide.vector} {total}", "}"])


def define_store_one(wide: Number, size: int) -> str:
    """`@store_<size>` for one state."""
    text = Text()

    def tile(first: str, step: int, sums: list[str]) -> list[str]:
        _move(text, wide, "%slots", "%row", first, step)
        return sums

    over_row(text, wide, size, tile, wide.lanes)
    head = f"define internal void @{store_name(size)}(ptr %row, ptr %slots) #0 {{"
    return "\n".join([head, "entry:", *text.lines, "  ret void", "}"])


def _move(text: Text, wide: Number, source: str, target: str, first: str, step: int) -> str:
    kind = Number(wide.dtype, step).vector
    value = text.fresh(f"load {kind}, ptr {text.element(wide.scalar, source, first)}, align {wide.bytes}")
    address = text.element(wide.scalar, target, first)
    text.lines.append(f"  store {kind} {value}, ptr {address}, align {wide.bytes}")
    return value


def _widen(text: Text, wide: Number, value: str, step: int) -> str:
    """`value` followed by zeros."""
    if step == 1:
        return text.fresh(f"insertelement {wide.vector} zeroinitializer, {wide.scalar} {value}, i32 0")
    kind = f"<{step} x {wide.scalar}>"
    mask = ", ".join(f"i32 {k if k < step else step}" for k in range(wide.lanes))
    return text.fresh(f"shufflevector {kind} {value}, {kind} zeroinitializer, <{wide.lanes} x i32> <{mask}>")
