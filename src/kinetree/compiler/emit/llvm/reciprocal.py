"""1 / b on processors that give a rough reciprocal: correctly rounded, without a branch.

The division of such a processor looks whether its operands are ordinary, and has code of its own for those
that are not: a branch that nothing can be scheduled across. Here the looking is all that is left: what is
not ordinary is noted, and computed by another kernel. The steps of Newton's iteration are those of the
division itself, so the bits are the same.
"""

from __future__ import annotations

from kinetree.compiler.emit.llvm.types import Number

ORDINARY = {"float64": (2.0**-1022, 2.0**1020), "float32": (2.0**-126, 2.0**126)}
BIAS = 0x300402  # what the division adds to the upper half of b: the lower half of its first guess


def define(number: Number, rough: str) -> str:
    """The text of `{1 / b, whether b is not ordinary} @reciprocal(b)`; `rough` spells a rough reciprocal."""
    scalar = number.scalar
    least, most = (number.constant(x) for x in ORDINARY[number.dtype])
    lines = _wide(number, rough) if number.dtype == "float64" else _narrow(number, rough)
    return "\n".join([
        f"define internal {{ {scalar}, i1 }} @reciprocal({scalar} %b) alwaysinline nounwind {{",
        *lines,
        f"  %size = call {scalar} @llvm.fabs.{number.suffix}({scalar} %b)",
        f"  %small = fcmp olt {scalar} %size, {least}",
        f"  %big = fcmp ogt {scalar} %size, {most}",
        "  %odd = or i1 %small, %big",
        f"  %some = insertvalue {{ {scalar}, i1 }} poison, {scalar} %y, 0",
        f"  %both = insertvalue {{ {scalar}, i1 }} %some, i1 %odd, 1",
        f"  ret {{ {scalar}, i1 }} %both",
        "}",
    ])  # fmt: skip


def _narrow(number: Number, rough: str) -> list[str]:
    return [
        f"  %y0 = {rough.format('%b')}",
        f"  %e = call float @llvm.fma.f32(float %b, float %y0, float {number.constant(-1.0)})",
        "  %f = fneg float %e",
        "  %y = call float @llvm.fma.f32(float %y0, float %f, float %y0)",
    ]


def _wide(number: Number, rough: str) -> list[str]:
    one = number.constant(1.0)
    return [
        "  %bits = bitcast double %b to i64",
        "  %shifted = lshr i64 %bits, 32",
        "  %upper = trunc i64 %shifted to i32",
        f"  %lower = add i32 %upper, {BIAS}",
        f"  %rough = {rough.format('%b')}",
        "  %rough.bits = bitcast double %rough to i64",
        "  %lower.bits = zext i32 %lower to i64",
        "  %y0.bits = or i64 %rough.bits, %lower.bits",
        "  %y0 = bitcast i64 %y0.bits to double",
        "  %c = fneg double %b",
        f"  %e0 = call double @llvm.fma.f64(double %c, double %y0, double {one})",
        "  %e1 = call double @llvm.fma.f64(double %e0, double %e0, double %e0)",
        "  %y1 = call double @llvm.fma.f64(double %y0, double %e1, double %y0)",
        f"  %e2 = call double @llvm.fma.f64(double %c, double %y1, double {one})",
        "  %y = call double @llvm.fma.f64(double %y1, double %e2, double %y1)",
    ]
