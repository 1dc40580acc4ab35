"""The operations of programs as LLVM instructions.

Each is one or more instructions; {0}, {1} ... are the operands, followed by the results of the preceding
instructions; {v} is the type of numbers, {b} that of booleans, {s} the suffix of overloaded intrinsics;
{zero}, {one}, {minus} and {true} are constants.
"""

from __future__ import annotations

from kinetree.compiler.emit.llvm.function import Lines
from kinetree.compiler.emit.llvm.types import Number
from kinetree.ops import PRIMITIVES

INSTRUCTIONS: dict[str, tuple[str, ...]] = {
    "add": ("fadd {v} {0}, {1}",),
    "sub": ("fsub {v} {0}, {1}",),
    "mul": ("fmul {v} {0}, {1}",),
    "div": ("fdiv {v} {0}, {1}",),
    "neg": ("fneg {v} {0}",),
    "fma": ("call {v} @llvm.fma.{s}({v} {0}, {v} {1}, {v} {2})",),
    "fms": ("fneg {v} {2}", "call {v} @llvm.fma.{s}({v} {0}, {v} {1}, {v} {3})"),
    "fnma": ("fneg {v} {0}", "call {v} @llvm.fma.{s}({v} {3}, {v} {1}, {v} {2})"),
    "fnms": (
        "fneg {v} {0}",
        "fneg {v} {2}",
        "call {v} @llvm.fma.{s}({v} {3}, {v} {1}, {v} {4})",
    ),
    "sqrt": ("call {v} @llvm.sqrt.{s}({v} {0})",),
    "abs": ("call {v} @llvm.fabs.{s}({v} {0})",),
    "floor": ("call {v} @llvm.floor.{s}({v} {0})",),
    "sign": (
        "fcmp uno {v} {0}, {0}",
        "select {b} {1}, {v} {0}, {v} {zero}",
        "fcmp ogt {v} {0}, {zero}",
        "select {b} {3}, {v} {one}, {v} {2}",
        "fcmp olt {v} {0}, {zero}",
        "select {b} {5}, {v} {minus}, {v} {4}",
    ),
    "min": (  # NaN if either is NaN
        "fcmp olt {v} {1}, {0}",
        "select {b} {2}, {v} {1}, {v} {0}",
        "fcmp uno {v} {1}, {1}",
        "select {b} {4}, {v} {1}, {v} {3}",
    ),
    "max": (
        "fcmp ogt {v} {1}, {0}",
        "select {b} {2}, {v} {1}, {v} {0}",
        "fcmp uno {v} {1}, {1}",
        "select {b} {4}, {v} {1}, {v} {3}",
    ),
    "implied": ("select {b} {true}, {v} {0}, {v} {1}",),
    "where": ("select {b} {0}, {v} {1}, {v} {2}",),
    "lt": ("fcmp olt {v} {0}, {1}",),
    "le": ("fcmp ole {v} {0}, {1}",),
    "eq": ("fcmp oeq {v} {0}, {1}",),
    "and": ("and {b} {0}, {1}",),
    "or": ("or {b} {0}, {1}",),
    "not": ("xor {b} {0}, {true}",),
    "iadd": ("add nsw i64 {0}, {1}",),
    "imul": ("mul nsw i64 {0}, {1}",),
    **{op: (f"call {{v}} @each_{op}({{v}} {{0}})",) for op in ("tan", "asin", "acos", "atan", "exp", "log")},
    "tanh": ("call {v} @each_tanh({v} {0})",),
    "atan2": ("call {v} @each_atan2({v} {0}, {v} {1})",),
}
UNFUSED = {  # without hardware support: two roundings
    "fma": ("fmul {v} {0}, {1}", "fadd {v} {3}, {2}"),
    "fms": ("fmul {v} {0}, {1}", "fsub {v} {3}, {2}"),
    "fnma": ("fmul {v} {0}, {1}", "fsub {v} {2}, {3}"),
    "fnms": ("fmul {v} {0}, {1}", "fneg {v} {3}", "fsub {v} {4}, {2}"),
}
# C library functions, called lane by lane
LIBRARY = frozenset(op for op, lines in INSTRUCTIONS.items() if f"@each_{op}(" in lines[-1])


def words(number: Number) -> dict[str, str]:
    """The substitutions in the texts."""
    return {
        "v": number.vector, "b": number.boolean, "s": number.suffix,
        "zero": number.constant(0.0), "one": number.constant(1.0), "minus": number.constant(-1.0),
        "true": "true" if number.lanes == 1 else "splat (i1 true)",
    }  # fmt: skip


def in_all_lanes(lines: Lines, number: Number, value: str) -> str:
    """Whether a number is at least 1 in all lanes."""
    over = lines.let(f"fcmp oge {number.vector} {value}, {number.constant(1.0)}")
    if number.lanes == 1:
        return over
    bits = lines.let(f"bitcast {number.boolean} {over} to i{number.lanes}")
    return lines.let(f"icmp eq i{number.lanes} {bits}, -1")


def each(op: str, number: Number) -> str:
    """A C library function applied to every lane."""
    vector, scalar = number.vector, number.scalar
    symbol = op if number.dtype == "float64" else f"{op}f"
    names = ("a", "b")[: PRIMITIVES[op].arity]
    parameters = ", ".join(f"{vector} %{n}" for n in names)
    head = f"define internal {vector} @each_{op}({parameters}) noinline nounwind {{"
    if number.lanes == 1:
        typed = ", ".join(f"{scalar} %{n}" for n in names)
        return f"{head}\n  %r = call {scalar} @{symbol}({typed}) nobuiltin\n  ret {scalar} %r\n}}"
    lines, result = [head], "poison"
    for k in range(number.lanes):
        for n in names:
            lines.append(f"  %{n}{k} = extractelement {vector} %{n}, i32 {k}")
        typed = ", ".join(f"{scalar} %{n}{k}" for n in names)
        lines.append(f"  %y{k} = call {scalar} @{symbol}({typed}) nobuiltin")
        lines.append(f"  %r{k} = insertelement {vector} {result}, {scalar} %y{k}, i32 {k}")
        result = f"%r{k}"
    return "\n".join([*lines, f"  ret {vector} {result}", "}"])
