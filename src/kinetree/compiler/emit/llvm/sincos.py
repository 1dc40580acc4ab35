"""Sine and cosine of a vector: reduction by multiples of pi/2, then two polynomials.

With k = round(2 x / pi), r + e = x - k pi/2 and |r| <= pi/4. Up to `FAR`, pi/2 = A + B + C, where A is pi/2
rounded, so that r1 = x - k A is exact with a fused multiply-add, and B has so few bits that r1 - r is exact
whether or not r1 and k B cancel; so r + e carries far more bits than one number. Beyond `FAR`, the affected
lanes multiply by 2/pi in integers (Payne and Hanek): of its 1,280 bits, only those that contribute to x 2/pi
modulo 4 are used.

The polynomials interpolate (sin r - r) / r^3 and (cos r - 1 + r^2/2) / r^4 at Chebyshev nodes in r^2. Where r
is not small, its error e matters little: it is added to the sine as it is, and omitted from the cosine. Sines
stay below 1 ulp, cosines below 1.5. No library is called, so every processor with fused multiply-add gives
the same bits; without it the C library is called.
"""

from __future__ import annotations

import re

from kinetree.compiler.emit.llvm.literals import Literals
from kinetree.compiler.emit.llvm.sincos_numbers import (
    COSINE,
    FAR,
    PI_2,
    ROUND,
    SINE,
    TWO_OVER_PI,
    WORDS,
    ZEROS,
    two_over_pi,
)
from kinetree.compiler.emit.llvm.types import Number


def name(number: Number) -> str:
    """The function that `define` defines: `{sin, cos} @name(x)`."""
    return f"sincos_{number.suffix}"


def define(
    number: Number,
    fused: bool,
    attributes: str = "noinline nounwind",
    near: bool = False,
    literals: Literals | None = None,
) -> str:
    """The text of the function `{sin, cos} @sincos(x)`; it may call `define_far` and `define_large`.

    `near`: for arguments up to `FAR` only, which the caller must ensure.
    """
    vector, pair = number.vector, f"{{ {number.vector}, {number.vector} }}"
    if near:
        body = [*_near(number).lines, *_renamed(vector)]
    elif not fused:
        body = [
            *_far_call(number, []),
            f"  %sine = load {vector}, ptr %ps",
            f"  %cosine = load {vector}, ptr %pc",
        ]
    else:
        body = _everywhere(number, literals)
    by_memory = not near and (not fused or number.lanes > 1)
    memory = (
        [f"  %{p} = alloca {vector}, align {number.size}" for p in ("px", "ps", "pc")] if by_memory else []
    )
    body = [
        *memory,
        *body,
        f"  %pair = insertvalue {pair} poison, {vector} %sine, 0",
        f"  %both = insertvalue {pair} %pair, {vector} %cosine, 1",
        f"  ret {pair} %both",
    ]
    head = f"define internal {pair} @{name(number)}({vector} %x) {attributes} {{"
    return "\n".join([head, "entry:", *body, "}"])


def in_place(number: Number, fused: bool, literals: Literals, count: int) -> list[str]:
    """Lines that write sines and cosines of the vectors at %px.0, %px.1 ... to %ps.0 ... and %pc.0 ...

    They end at the label `latch`. Several vectors are interleaved: each alone is one long dependency chain.
    """
    vector, numbers = number.vector, range(count)
    calls = [f"  call void @{name(number)}_far(ptr %px.{k}, ptr %ps.{k}, ptr %pc.{k})" for k in numbers]
    end = [*calls, "  br label %latch", "latch:"]
    if not fused:
        return end
    lines = [
        f"  %x = load {vector}, ptr %px, align {number.size}",
        *_near_and_far(number, literals).lines,
        f"  store {vector} %sin_near, ptr %ps, align {number.size}",
        f"  store {vector} %cos_near, ptr %pc, align {number.size}",
    ]
    return [
        f"  %literals = {literals.address}",
        *(re.sub(r"%(?!literals)(\w+)", rf"%\1.{k}", line) for line in lines for k in numbers),
        f"  %all.0 = or {number.boolean} %far.0, %far.0",
        *(f"  %all.{k} = or {number.boolean} %all.{k - 1}, %far.{k}" for k in numbers[1:]),
        *_any(number, f"%all.{count - 1}"),
        "  br i1 %any, label %ask, label %latch, !prof !0",
        "ask:",
        *end,
    ]


class _Lines:
    """Lines of LLVM text on numbers of one kind."""

    def __init__(self, number: Number, literals: Literals | None = None):
        self.number = number
        self.lines: list[str] = []
        self.literals = literals

    def constant(self, value: float) -> str:
        """A constant as an operand: its text, or a table entry."""
        if self.literals is None:
            return self.number.constant(value)
        place, n, vector = self.literals.place(value), len(self.lines), self.number.vector
        entry = self.let(f"place{n}", f"getelementptr {vector}, ptr %literals, i64 {place}")
        return self.let(f"literal{n}", f"load volatile {vector}, ptr {entry}, align {self.number.size}")

    def let(self, result: str, text: str) -> str:
        self.lines.append(f"  %{result} = {text}")
        return f"%{result}"

    def op(self, result: str, operation: str, a: str, b: str) -> str:
        return self.let(result, f"{operation} {self.number.vector} {a}, {b}")

    def fma(self, result: str, a: str, b: str, c: str) -> str:
        vector = self.number.vector
        return self.let(
            result, f"call {vector} @llvm.fma.{self.number.suffix}({vector} {a}, {vector} {b}, {vector} {c})"
        )

    def horner(self, prefix: str, coefficients: tuple[float, ...]) -> str:
        value = self.constant(coefficients[-1])
        for k, c in enumerate(reversed(coefficients[:-1])):
            value = self.fma(f"{prefix}{k}", value, "%z", self.constant(c))
        return value

    def polynomials(self, r: str, e: str, i: str) -> None:
        """%sin_near and %cos_near of r + e in the quadrant given by the two lowest bits of i."""
        number, constant = self.number, self.constant
        vector, dtype, integer, boolean = number.vector, number.dtype, number.integer, number.boolean
        one = number.integer_constant(1)
        z = self.op("z", "fmul", r, r)
        v = self.op("v", "fmul", z, r)
        sine = self.op("s", "fadd", r, self.fma("s_low", v, self.horner("p", SINE[dtype]), e))
        half = self.fma("half", z, self.horner("q", COSINE[dtype]), constant(-0.5))
        cosine = self.fma("c", z, half, constant(1.0))
        low = self.let("low", f"and {integer} {i}, {one}")
        odd = self.let("odd", f"icmp ne {integer} {low}, {number.integer_constant(0)}")
        bits = number.bytes * 8
        upper = self.let("sin_b", f"and {integer} {i}, {number.integer_constant(2)}")
        minus = self.let("sin_s", f"shl {integer} {upper}, {number.integer_constant(bits - 2)}")
        lowest = self.let("lowest", f"shl {integer} {i}, {number.integer_constant(bits - 1)}")
        other = self.let("cos_s", f"xor {integer} {minus}, {lowest}")  # the cosine is negative in 1 and 2
        for value, sign, first, second in (("sin", minus, cosine, sine), ("cos", other, sine, cosine)):
            chosen = self.let(f"{value}_r", f"select {boolean} {odd}, {vector} {first}, {vector} {second}")
            raw = self.let(f"{value}_i", f"bitcast {vector} {chosen} to {integer}")
            signed = self.let(f"{value}_x", f"xor {integer} {raw}, {sign}")
            self.let(f"{value}_near", f"bitcast {integer} {signed} to {vector}")


def _renamed(vector: str) -> list[str]:
    zero = "0x0000000000000000"
    lanes = [f"  %{full} = select i1 true, {vector} %{short}_near, {vector} {zero}" for full, short in NAMES]
    return lanes


NAMES = (("sine", "sin"), ("cosine", "cos"))


def _near(number: Number, literals: Literals | None = None) -> _Lines:
    """The reduction and the polynomials: %sin_near and %cos_near of %x."""
    vector, dtype = number.vector, number.dtype
    text = _Lines(number, literals)
    A, B, C = (-float.fromhex(part) for part in PI_2[dtype])
    half = text.constant(ROUND[dtype])
    t = text.fma("t", "%x", text.constant(TWO_OVER_PI), half)
    k = text.op("k", "fsub", t, half)
    r1 = text.fma("r1", k, text.constant(A), "%x")
    b = text.constant(B)
    r = text.fma("r", k, b, r1)
    e1 = text.fma("e1", k, b, text.op("d", "fsub", r1, r))
    e = text.fma("e", k, text.constant(C), e1)
    text.polynomials(r, e, text.let("i", f"bitcast {vector} {t} to {number.integer}"))
    return text


def _near_and_far(number: Number, literals: Literals | None) -> _Lines:
    """The same, and %far: which lanes are beyond `FAR`, or not numbers."""
    text, vector = _near(number, literals), number.vector
    size = text.let("size", f"call {vector} @llvm.fabs.{number.suffix}({vector} %x)")
    text.op("far", "fcmp ugt", size, text.constant(FAR[number.dtype]))
    return text


def _any(number: Number, lanes: str) -> list[str]:
    """%any: whether there is such a lane."""
    if number.lanes == 1:
        return [f"  %any = or i1 {lanes}, {lanes}"]
    mask = f"i{number.lanes}"
    return [f"  %mask = bitcast {number.boolean} {lanes} to {mask}", f"  %any = icmp ne {mask} %mask, 0"]


def _everywhere(number: Number, literals: Literals | None) -> list[str]:
    """%sine and %cosine of %x: the polynomials, and a branch for lanes beyond `FAR`."""
    vector = number.vector
    table = [] if literals is None else [f"  %literals = {literals.address}"]
    lines = [*table, *_near_and_far(number, literals).lines, *_any(number, "%far")]
    lines += ["  br i1 %any, label %ask, label %done, !prof !0", "ask:"]
    if number.lanes == 1:
        lines += _large(number, "%x")
    else:
        lines += [
            *_far_call(number, ["sin_near", "cos_near"]),
            f"  %sin_far = load {vector}, ptr %ps",
            f"  %cos_far = load {vector}, ptr %pc",
        ]
    return [
        *lines,
        "  br label %done",
        "done:",
        f"  %sine = phi {vector} [ %sin_near, %entry ], [ %sin_far, %ask ]",
        f"  %cosine = phi {vector} [ %cos_near, %entry ], [ %cos_far, %ask ]",
    ]


def _large(number: Number, x: str) -> list[str]:
    """%sin_far and %cos_far of one number, in double precision."""
    pair = "{ double, double }"
    narrow = number.dtype == "float32"
    lines = [f"  %wide = fpext float {x} to double"] if narrow else []
    lines.append(f"  %large = call {pair} @sincos_of_large(double {'%wide' if narrow else x})")
    for k, value in enumerate(("sin_far", "cos_far")):
        lines.append(f"  %{'wide_' * narrow}{value} = extractvalue {pair} %large, {k}")
        lines += [f"  %{value} = fptrunc double %wide_{value} to float"] if narrow else []
    return lines


def _far_call(number: Number, known: list[str]) -> list[str]:
    return [
        *(
            f"  store {number.vector} %{value}, ptr %{p}"
            for value, p in zip(["x", *known], ("px", "ps", "pc"))
        ),
        f"  call void @{name(number)}_far(ptr %px, ptr %ps, ptr %pc)",
    ]


def define_far(number: Number, every: bool) -> str:
    """`@<name>_far`: overwrite sines and cosines of the far lanes (every lane: by the C library)."""
    scalar, letter = number.scalar, "" if number.dtype == "float64" else "f"
    one = Number(number.dtype, 1)
    far = "true" if every else "%far"
    found = _large(one, "%v")
    if every:
        found = [
            f"  %sin_far = call {scalar} @sin{letter}({scalar} %v) nobuiltin",
            f"  %cos_far = call {scalar} @cos{letter}({scalar} %v) nobuiltin",
        ]
    ask = "\n".join(found)
    return f"""\
define internal void @{name(number)}_far(ptr %x, ptr %s, ptr %c) noinline nounwind {{
entry:
  br label %lane
lane:
  %k = phi i64 [ 0, %entry ], [ %next, %latch ]
  %px = getelementptr {scalar}, ptr %x, i64 %k
  %v = load {scalar}, ptr %px
  %size = call {scalar} @llvm.fabs.{one.suffix}({scalar} %v)
  %far = fcmp ugt {scalar} %size, {one.constant(FAR[number.dtype])}
  br i1 {far}, label %ask, label %latch
ask:
{ask}
  %ps = getelementptr {scalar}, ptr %s, i64 %k
  store {scalar} %sin_far, ptr %ps
  %pc = getelementptr {scalar}, ptr %c, i64 %k
  store {scalar} %cos_far, ptr %pc
  br label %latch
latch:
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, {number.lanes}
  br i1 %more, label %lane, label %done
done:
  ret void
}}"""


def define_large(space: str = "") -> str:
    """`{sin, cos} @sincos_of_large(x)` of one number beyond `FAR`, and the table it needs.

    With |x| = m 2^E, m an integer, the bits of 2/pi up to position E - 2 give multiples of 4, and the 192
    bits from there on suffice: their product with m, modulo 4, as a fixed-point number. `space` is the
    address space of the table.
    """
    text = _Lines(Number("float64", 1))
    words = ", ".join(f"i64 {w - 2**64 if w >= 2**63 else w}" for w in two_over_pi())
    lines = [
        f"@two_over_pi = internal {space} constant [{WORDS} x i64] [{words}]",
        "define internal { double, double } @sincos_of_large(double %x) noinline nounwind {",
        "entry:",
        "  %raw = bitcast double %x to i64",
        "  %up = lshr i64 %raw, 52",
        "  %exponent = and i64 %up, 2047",
        "  %endless = icmp eq i64 %exponent, 2047",
        "  br i1 %endless, label %none, label %some",
        "none:",
        "  %nan = fsub double %x, %x",
        "  %nans = insertvalue { double, double } poison, double %nan, 0",
        "  %nothing = insertvalue { double, double } %nans, double %nan, 1",
        "  ret { double, double } %nothing",
        "some:",
        f"  %mantissa = and i64 %raw, {2**52 - 1}",
        f"  %m = or i64 %mantissa, {2**52}",
        f"  %first = add i64 %exponent, {ZEROS - 1075 - 2}",  # the bit at which the window begins
        "  %word = lshr i64 %first, 6",
        "  %shift = and i64 %first, 63",
    ]
    pointer = f"ptr {space}".strip()
    for k in range(4):
        lines += [
            f"  %at{k} = add i64 %word, {k}",
            f"  %place{k} = getelementptr i64, {pointer} @two_over_pi, i64 %at{k}",
            f"  %T{k} = load i64, {pointer} %place{k}",
        ]
    for k in range(3):
        lines += [
            f"  %W{k} = call i64 @llvm.fshl.i64(i64 %T{k}, i64 %T{k + 1}, i64 %shift)",
            f"  %wide{k} = zext i64 %W{k} to i128",
        ]
    lines += [
        "  %wm = zext i64 %m to i128",
        "  %product = mul i128 %wm, %wide2",
        "  %low_up = lshr i128 %product, 64",
        "  %middle0 = mul i128 %wm, %wide1",
        "  %middle = add i128 %middle0, %low_up",
        "  %high0 = mul i128 %wm, %wide0",
        "  %high = shl i128 %high0, 64",
        "  %top = add i128 %high, %middle",  # the upper 128 of 192 bits
        "  %fraction0 = shl i128 %top, 2",
        "  %low64 = trunc i128 %product to i64",
        "  %tail64 = lshr i64 %low64, 62",
        "  %tail = zext i64 %tail64 to i128",
        "  %fraction = or i128 %fraction0, %tail",  # signed fraction of a turn by pi/2, in [-1/2, 1/2)
        "  %quadrant0 = lshr i128 %top, 126",
        "  %quadrant1 = trunc i128 %quadrant0 to i64",
        "  %round0 = lshr i128 %fraction, 127",
        "  %round = trunc i128 %round0 to i64",
        "  %quadrant = add i64 %quadrant1, %round",
        "  %below = icmp slt i128 %fraction, 0",
        "  %opposite = sub i128 0, %fraction",
        "  %size = select i1 %below, i128 %opposite, i128 %fraction",
        "  %zeros128 = call i128 @llvm.ctlz.i128(i128 %size, i1 false)",
        "  %zeros = trunc i128 %zeros128 to i64",
        "  %normal = shl i128 %size, %zeros128",
        "  %upper0 = lshr i128 %normal, 75",
        "  %upper1 = trunc i128 %upper0 to i64",
        "  %upper = uitofp i64 %upper1 to double",
        "  %lower0 = lshr i128 %normal, 22",
        "  %lower1 = trunc i128 %lower0 to i64",
        f"  %lower2 = and i64 %lower1, {2**53 - 1}",
        "  %lower = uitofp i64 %lower2 to double",
        "  %scale0 = sub i64 970, %zeros",  # 2^(-53 - zeros)
        "  %scale1 = shl i64 %scale0, 52",
        "  %scale = bitcast i64 %scale1 to double",
        f"  %small = fmul double %scale, {text.number.constant(2.0**-53)}",
        "  %f0 = fmul double %upper, %scale",
        "  %g0 = fmul double %lower, %small",
        "  %negative = icmp slt i64 %raw, 0",
        "  %turned = xor i1 %negative, %below",
        "  %f1 = fneg double %f0",
        "  %g1 = fneg double %g0",
        "  %f = select i1 %turned, double %f1, double %f0",
        "  %g = select i1 %turned, double %g1, double %g0",
        "  %backwards = sub i64 0, %quadrant",
        "  %i = select i1 %negative, i64 %backwards, i64 %quadrant",
    ]
    high, low = (
        text.number.constant(float.fromhex(h)) for h in ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54")
    )
    r0 = text.op("r0", "fmul", "%f", high)
    error = text.fma("r_error", "%f", high, text.let("r_back", "fneg double %r0"))
    e0 = text.fma("e0", "%f", low, text.fma("e1", "%g", high, error))
    r = text.op("r", "fadd", r0, e0)
    e = text.op("e", "fsub", e0, text.op("moved", "fsub", r, r0))
    text.polynomials(r, e, "%i")
    return "\n".join([
        *lines,
        *text.lines,
        "  %pair = insertvalue { double, double } poison, double %sin_near, 0",
        "  %both = insertvalue { double, double } %pair, double %cos_near, 1",
        "  ret { double, double } %both",
        "}",
        "declare i64 @llvm.fshl.i64(i64, i64, i64)",
        "declare i128 @llvm.ctlz.i128(i128, i1)",
    ])  # fmt: skip
