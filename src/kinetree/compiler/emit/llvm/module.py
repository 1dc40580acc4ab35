"""A whole LLVM module for a program: the core and everything around it."""

from __future__ import annotations

from dataclasses import dataclass

from kinetree.compiler.emit.llvm import copy, elementary, sincos
from kinetree.compiler.emit.llvm.batch import define_group, define_run
from kinetree.compiler.emit.llvm.driver import (
    angles_at_once,
    define_angles,
    define_begin,
    define_end,
    define_one,
    define_spoil,
)
from kinetree.compiler.emit.llvm.hoist import hoist
from kinetree.compiler.emit.llvm.instructions import each
from kinetree.compiler.emit.llvm.layout import layout
from kinetree.compiler.emit.llvm.literals import Literals
from kinetree.compiler.emit.llvm.registers import Frugal
from kinetree.compiler.emit.llvm.results import Results, define_finish, gather
from kinetree.compiler.emit.llvm.stream import define_delivery, define_stream, is_streamed, most_states
from kinetree.compiler.emit.llvm.transpose import (
    define_load,
    define_load_few,
    define_store,
    define_store_few,
    store_name,
)
from kinetree.compiler.emit.llvm.types import Number
from kinetree.compiler.ir.program import Program
from kinetree.compiler.runtime.machine import Target
from kinetree.ops import PRIMITIVES

LARGE = 128  # elements of a result that is too large to copy
MOST = 2  # times W states for which the parts of a program run together
TOGETHER = 40 << 10  # bytes of their workspaces, which stay in the L1 cache


@dataclass(frozen=True)
class Module:
    """LLVM text, its entry function, and the size of a thread's workspace."""

    text: str
    entry: str
    lanes: int
    workspace_bytes: int


def emit(program: Program, dtype: str, lanes: int, target: Target) -> Module:
    """The module of `program`: `@run` over a batch, `lanes` states side by side, or `@one` for one state."""
    number = Number(dtype, lanes)
    width = target.lanes(dtype)
    wide = Number(dtype, lanes if lanes > 1 else width)
    angles, hoisted = hoist(program)
    results = gather(program, number, target.asks_ahead) if lanes > 1 else None
    waiting = None if results is None else len(results.slots)
    step = width if lanes == 1 else angles_at_once(number, len(angles))
    places = layout(program, number, len(angles), step, waiting)
    # all inputs of a single state are copied before anything is stored, so results go straight to the
    # caller's arrays; small ones only if no guard can refuse the state, which must leave them unchanged
    direct = {
        array: f"getelementptr ptr, ptr %args, i64 {k}"
        for k, array in enumerate(program.outputs, len(program.inputs))
        if lanes == 1 and (program.guard is None or array.size >= LARGE)
    }
    direct |= {array: f"getelementptr i8, ptr %ws, i64 {places.target(array)}" for array in places.stages}
    literals = {kind: Literals(kind) for kind in (number, wide)}
    printer = Frugal(
        target, literals[number], program, number, places, hoisted, target.has_fma, results, direct
    )
    functions = printer.core()
    if angles:
        count = len(angles)
        padding = [places.angles + k for k in range(count, -(-count // step) * step)]
        functions.append(printer.values("arguments", angles, places.angles, padding))
        functions.append(define_angles(places, number, count, target.has_fma, literals[wide]))
    if printer.needs_sincos:
        functions.append(sincos.define(number, target.has_fma, literals=literals[number]))
    needed = {number} if printer.needs_sincos else set()
    needed |= {wide} if angles else set()
    functions += [
        sincos.define_far(kind, every=not target.has_fma)
        for kind in sorted(needed, key=lambda k: k.lanes)
        if kind.lanes > 1 or not target.has_fma
    ]
    functions += [sincos.define_large()] if needed and target.has_fma else []
    ours = elementary.define if target.has_fma else each
    functions += [ours(op, number) for op in sorted(printer.library)]
    functions += _copies(program, number, wide, results, target.has_fma)
    streamed = [(k, a) for k, a in enumerate(program.outputs) if is_streamed(a, number)]
    for k, array in streamed if results is None else ():
        most = most_states(program.outputs, number)
        functions.append(define_delivery(f"deliver{k}", store_name(array.size), array, number, most))
    functions += [define_stream(number)] if streamed else []
    functions.append(define_spoil(number))
    size = places.workspace_bytes
    if lanes == 1:
        functions.append(define_one(program, places, number, width, len(angles), direct))
    else:
        parts = printer.parts()
        count = max(1, min(MOST, TOGETHER // size)) if len(parts) > 1 else 1
        functions += [
            define_begin(program, places, number, len(angles), results),
            define_end(program, places, number, results),
            define_group(lanes, count, size, parts),
            define_run(lanes * count, bool(streamed), target.yielding),
        ]
        size *= count
    functions += [table.text for table in literals.values()]
    functions += [*_declarations(number, wide, printer.library), _attributes(target, lanes)]
    return Module("\n\n".join(functions), "run" if lanes > 1 else "one", lanes, size)


def _copies(
    program: Program, number: Number, wide: Number, results: Results | None, fused: bool
) -> list[str]:
    """The functions that load states into the workspace and store results, one for each size."""
    sizes = [sorted({a.size for a in arrays} - {0}) for arrays in (program.inputs, program.outputs)]
    if number.lanes > 1:
        stores = [define_store_few(number), *(define_store(number, s) for s in sizes[1])]
        if results is not None:
            arrays = [(k, a) for k, a in enumerate(program.outputs) if a.size]
            stores = [define_finish(f"finish{k}", a, number, results.empty[a]) for k, a in arrays]
        return [define_load_few(number), *(define_load(number, s, fused) for s in sizes[0]), *stores]
    return [
        *(copy.define_load_one(wide, s, fused) for s in sizes[0]),
        *(copy.define_store_one(wide, s) for s in sizes[1]),
    ]


def _declarations(number: Number, wide: Number, library: set[str]) -> list[str]:
    lines = []
    doubles = {Number("float64", 1), Number("float64", number.lanes)}  # large angles, logarithms
    for kind in sorted({number, wide, Number(number.dtype, 1)} | doubles, key=lambda k: (k.lanes, k.dtype)):
        v, suffix = kind.vector, kind.suffix
        lines.append(f"declare {v} @llvm.fma.{suffix}({v}, {v}, {v})")
        lines += [f"declare {v} @llvm.{name}.{suffix}({v})" for name in ("sqrt", "fabs", "floor")]
    scalar, letter = number.scalar, "" if number.dtype == "float64" else "f"
    for name in sorted({"sin", "cos"} | library):
        arguments = ", ".join([scalar] * PRIMITIVES[name].arity)
        lines.append(f"declare {scalar} @{name}{letter}({arguments})")
    mask = f"i{number.lanes}"
    lines += [
        "declare i64 @llvm.smin.i64(i64, i64)",
        "declare i64 @llvm.umin.i64(i64, i64)",
        "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
        f"declare {mask} @llvm.cttz.{mask}({mask}, i1)",
    ]
    return ["\n".join(lines)]


def _attributes(target: Target, lanes: int) -> str:
    # LLVM aligns the vectors that the core spills only if it must align the stack anyway
    aligned = '"stackrealign" ' if lanes > 1 else ""
    bits = 8 * target.vector_bytes
    width = f'"prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"'
    return f"""attributes #0 = {{ noinline nounwind {width} }}
attributes #1 = {{ noinline nounwind {aligned}{width} }}
!0 = !{{!"branch_weights", i32 1, i32 100000}}
!1 = !{{}}
!2 = !{{i32 1}}"""


__all__ = ["Module", "emit"]
