"""1 / b and sqrt(b) from approximate hardware instructions: correctly rounded, without a branch.

The division of such a processor tests whether its operands are ordinary, and has separate code for those that
are not: a branch that blocks scheduling. Here only the test remains: operands that are not ordinary are
noted, and computed by another kernel. The Newton steps are those of the division itself, so the bits are the
same.
"""

from __future__ import annotations

from kinetree.compiler.emit.llvm.types import Number

# above every correction of a guess, if b is ordinary: 2^-18, and the upper half of 2^-30 as a float32
SMALL = {"float32": 2.0**-18, "float64": 0.140625}
LEAST, SPAN = 0x0D000000, 0x727FFFFF  # the bits of the least ordinary operand of a root; how many there are
BIAS = 0x300402  # the division adds this to the upper half of b, to get the lower half of its first guess


def define(number: Number, rough: str) -> str:
    """The text of `{1 / b, whether b is not ordinary} @reciprocal(b)`; `rough` spells an approximate
    reciprocal.

    The correction of the last guess is small, unless b is 0, too small, too large, or not a number.
    """
    scalar = number.scalar
    lines = _wide(number, rough) if number.dtype == "float64" else _narrow(number, rough)
    return "\n".join([
        f"define internal {{ {scalar}, i1 }} @reciprocal({scalar} %b) alwaysinline nounwind {{",
        *lines,
        "  %size = call float @llvm.fabs.f32(float %correction)",
        f"  %odd = fcmp uge float %size, {Number('float32', 1).constant(SMALL[number.dtype])}",
        f"  %some = insertvalue {{ {scalar}, i1 }} poison, {scalar} %y, 0",
        f"  %both = insertvalue {{ {scalar}, i1 }} %some, i1 %odd, 1",
        f"  ret {{ {scalar}, i1 }} %both",
        "}",
    ])  # fmt: skip


def _narrow(number: Number, rough: str) -> list[str]:
    return [
        f"  %y0 = {rough.format('%b')}",
        f"  %correction = call float @llvm.fma.f32(float %b, float %y0, float {number.constant(-1.0)})",
        "  %f = fneg float %correction",
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
        "  %e2.bits = bitcast double %e2 to i64",
        "  %e2.shifted = lshr i64 %e2.bits, 32",
        "  %e2.upper = trunc i64 %e2.shifted to i32",  # as a float32 it grows with %e2, and is NaN with it
        "  %correction = bitcast i32 %e2.upper to float",
    ]


def define_root(rough: str) -> str:
    """The text of `{sqrt(b), whether b is not ordinary} @root(b)` of float32; `rough` spells 1 / sqrt(b).

    b is ordinary if it is not negative, subnormal or nearly so, or not finite; 0 is its own root.
    """
    half = Number("float32", 1).constant(0.5)
    return f"""define internal {{ float, i1 }} @root(float %b) alwaysinline nounwind {{
  %r = {rough.format("%b")}
  %y0 = fmul float %b, %r
  %h = fmul float %r, {half}
  %c = fneg float %y0
  %e = call float @llvm.fma.f32(float %c, float %y0, float %b)
  %y1 = call float @llvm.fma.f32(float %e, float %h, float %y0)
  %none = fcmp oeq float %b, 0.0
  %y = select i1 %none, float %b, float %y1
  %bits = bitcast float %b to i32
  %place = sub i32 %bits, {LEAST}
  %outside = icmp ugt i32 %place, {SPAN}
  %some = xor i1 %none, true
  %odd = and i1 %outside, %some
  %first = insertvalue {{ float, i1 }} poison, float %y, 0
  %both = insertvalue {{ float, i1 }} %first, i1 %odd, 1
  ret {{ float, i1 }} %both
}}"""
