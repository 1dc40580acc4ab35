"""A whole LLVM module for a program: the core and everything around it."""

from __future__ import annotations

from dataclasses import dataclass

from kinetree.compiler.emit.llvm import copy, sincos
from kinetree.compiler.emit.llvm.body import Printer
from kinetree.compiler.emit.llvm.driver import define_angles, define_chunk, define_run, define_spoil
from kinetree.compiler.emit.llvm.hoist import hoist
from kinetree.compiler.emit.llvm.instructions import each
from kinetree.compiler.emit.llvm.layout import layout
from kinetree.compiler.emit.llvm.results import Results, define_gathered_store, gather
from kinetree.compiler.emit.llvm.stream import define_delivery, define_stream, is_streamed
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

LARGE = 128  # elements of a result that is not worth copying


@dataclass(frozen=True)
class Module:
    """LLVM text, the function to call in it, and the size of the workspace that one thread needs."""

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
    results = gather(program) if lanes > 1 else None
    values = len(results.values) if results else 0
    places = layout(program, number, len(angles), width if lanes == 1 else 1, values)
    # one state's inputs are all copied before anything is stored, so results go straight to the caller's
    # arrays; small ones only if no guard can refuse the state, which leaves them alone
    direct = {
        array: len(program.inputs) + k
        for k, array in enumerate(program.outputs)
        if lanes == 1 and (program.guard is None or array.size >= LARGE)
    }
    printer = Printer(program, number, places, hoisted, target.has_fma, results, direct)
    functions = printer.core()
    if angles:
        count = len(angles)
        step = width if lanes == 1 else 1
        padding = [places.angles + k for k in range(count, -(-count // step) * step)]
        functions.append(printer.values("arguments", angles, places.angles, padding))
        functions.append(define_angles(places, number, count, width))
    needed = {number} if printer.needs_sincos else set()
    needed |= {wide} if angles else set()
    functions += [sincos.define(kind, target.has_fma) for kind in sorted(needed, key=lambda k: k.lanes)]
    functions += [sincos.define_large()] if needed and target.has_fma else []
    functions += [each(op, number) for op in sorted(printer.library)]
    functions += _copies(program, number, wide, results, target.has_fma)
    streamed = [(k, a) for k, a in enumerate(program.outputs) if is_streamed(a, number)]
    for k, array in streamed:
        store = store_name(array.size) if results is None else f"store_result{k}"
        functions.append(define_delivery(f"deliver{k}", store, array, number))
    functions += [define_stream(number)] if streamed else []
    functions += [
        define_spoil(number),
        define_chunk(program, places, number, len(angles), width, results, direct),
    ]
    if lanes > 1:
        functions.append(define_run(lanes, bool(streamed), target.yielding))
    text = "\n\n".join([*functions, *_declarations(number, wide, printer.library), _attributes(target)])
    return Module(text, "run" if lanes > 1 else "one", lanes, places.workspace_bytes)


def _copies(
    program: Program, number: Number, wide: Number, results: Results | None, fused: bool
) -> list[str]:
    """The functions that bring states into the workspace and results out of it, one for each size."""
    sizes = [sorted({a.size for a in arrays} - {0}) for arrays in (program.inputs, program.outputs)]
    if results is not None:
        arrays = [(k, a) for k, a in enumerate(program.outputs) if a.size]
        stores = [define_gathered_store(f"store_result{k}", number, results.elements[a]) for k, a in arrays]
    elif number.lanes > 1:
        stores = [define_store(number, s) for s in sizes[1]]
    if number.lanes > 1:
        few = [define_load_few(number), define_store_few(number, results is not None)]
        return [*few, *(define_load(number, s, fused) for s in sizes[0]), *stores]
    return [
        *(copy.define_load_one(wide, s, fused) for s in sizes[0]),
        *(copy.define_store_one(wide, s) for s in sizes[1]),
    ]


def _declarations(number: Number, wide: Number, library: set[str]) -> list[str]:
    lines = []
    double = Number("float64", 1)  # for large angles
    for kind in sorted({number, wide, Number(number.dtype, 1), double}, key=lambda k: (k.lanes, k.dtype)):
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
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
        f"declare {mask} @llvm.cttz.{mask}({mask}, i1)",
    ]
    return ["\n".join(lines)]


def _attributes(target: Target) -> str:
    bits = 8 * target.vector_bytes
    width = f'"prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"'
    return f"""attributes #0 = {{ noinline nounwind {width} }}
!0 = !{{!"branch_weights", i32 1, i32 100000}}
!1 = !{{}}
!2 = !{{i32 1}}"""
