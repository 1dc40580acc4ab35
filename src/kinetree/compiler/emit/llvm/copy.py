"""Copies between one state's rows and the workspace: vectors of consecutive elements."""

from __future__ import annotations

from kinetree.compiler.emit.llvm.function import Function
from kinetree.compiler.emit.llvm.transpose import check, load_name, over_row, store_name
from kinetree.compiler.emit.llvm.types import Number


def define_load_one(wide: Number, size: int, fused: bool) -> str:
    """`@load_<size>` for one state; returns 0 in all lanes if all elements are finite, else NaN in some."""
    f = Function(f"internal {wide.vector} @{load_name(size)}(ptr %row, ptr %slots)", "#0")

    def tile(first: str, step: int, sums: list[str]) -> list[str]:
        value = _move(f, wide, "%row", "%slots", first, step)
        if step < wide.lanes:
            value = _widen(f, wide, value, step)
        return [sums[1], check(f, wide, value, sums[0], fused)]

    sums = over_row(f, wide, size, tile, wide.lanes)
    f.give(f"{wide.vector} {f.let(f'fadd {wide.vector} {sums[0]}, {sums[1]}')}")
    return f.text


def define_store_one(wide: Number, size: int) -> str:
    """`@store_<size>` for one state."""
    f = Function(f"internal void @{store_name(size)}(ptr %row, ptr %slots)", "#0")

    def tile(first: str, step: int, sums: list[str]) -> list[str]:
        _move(f, wide, "%slots", "%row", first, step)
        return sums

    over_row(f, wide, size, tile, wide.lanes)
    f.give("void")
    return f.text


def _move(f: Function, wide: Number, source: str, target: str, first: str, step: int) -> str:
    kind = Number(wide.dtype, step).vector
    value = f.let(f"load {kind}, ptr {f.at(source, first, wide.scalar)}, align {wide.bytes}")
    address = f.at(target, first, wide.scalar)
    f.do(f"store {kind} {value}, ptr {address}, align {wide.bytes}")
    return value


def _widen(f: Function, wide: Number, value: str, step: int) -> str:
    """`value` followed by zeros."""
    if step == 1:
        return f.let(f"insertelement {wide.vector} zeroinitializer, {wide.scalar} {value}, i32 0")
    kind = f"<{step} x {wide.scalar}>"
    mask = ", ".join(f"i32 {k if k < step else step}" for k in range(wide.lanes))
    return f.let(f"shufflevector {kind} {value}, {kind} zeroinitializer, <{wide.lanes} x i32> <{mask}>")
