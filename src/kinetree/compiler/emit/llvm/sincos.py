"""Sine and cosine of a vector: reduction by multiples of pi/2 in three parts, then two polynomials.

With k = round(2 x / pi), r + e = x - k pi/2 and |r| <= pi/4. pi/2 = A + B + C, where A is pi/2 rounded, so
that r1 = x - k A is exact with a fused multiply-add, and B has so few bits that r1 - r is exact whether or
not r1 and k B cancel; so r + e carries far more bits than one number. The polynomials interpolate
(sin r - r) / r^3 and (cos r - 1 + r^2/2) / r^4 at Chebyshev nodes in r^2. Where r is not small, its error e
matters little: it is added to the sine as it is, and left out of the cosine. Both stay below 1 ulp.

Beyond `FAR`, at infinity and at NaN, the lanes concerned ask the C library; without fused multiply-add all.
"""

from __future__ import annotations

from kinetree.compiler.emit.llvm.types import Number

FAR = {"float64": 1.0e5, "float32": 8192.0}
TWO_OVER_PI = 0.6366197723675814
PI_2 = {
    "float64": ("0x1.921fb54442d18p+0", "0x1.1a62633140000p-54", "0x1.701b839a25205p-92"),
    "float32": ("0x1.921fb6p+0", "-0x1.778p-25", "0x1.68c234p-39"),
}
ROUND = {
    "float64": 1.5 * 2.0**52,
    "float32": 1.5 * 2.0**23,
}  # adding it leaves the nearest integer in the low bits
SINE = {
    "float64": (-0.16666666666666666, 0.008333333333330948, -0.00019841269836756774, 2.7557316101617874e-06,
                -2.505113165023518e-08, 1.5918115263265974e-10),
    "float32": (-0.1666666716337204, 0.008333331905305386, -0.00019840087043121457, 2.7249895993008977e-06),
}  # fmt: skip
COSINE = {
    "float64": (0.041666666666666664, -0.0013888888888887398, 2.480158729876456e-05, -2.7557317271145144e-07,
                2.087614614655861e-09, -1.1382623647474604e-11),
    "float32": (0.0416666679084301, -0.00138888880610466, 2.480059993104078e-05, -2.730093342506734e-07),
}  # fmt: skip


def name(number: Number) -> str:
    """The function that `define` defines: `{sin, cos} @name(x)`."""
    return f"sincos_{number.suffix}"


def define(number: Number, fused: bool) -> str:
    """The text of the function `{sin, cos} @sincos(x)` and of what it calls."""
    vector, pair = number.vector, f"{{ {number.vector}, {number.vector} }}"
    if not fused:
        body = [
            *_far_call(number, []),
            f"  %sine = load {vector}, ptr %ps",
            f"  %cosine = load {vector}, ptr %pc",
        ]
    else:
        body = _near(number)
    body = [
        *(f"  %{p} = alloca {vector}, align {number.size}" for p in ("px", "ps", "pc")),
        *body,
        f"  %pair = insertvalue {pair} poison, {vector} %sine, 0",
        f"  %both = insertvalue {pair} %pair, {vector} %cosine, 1",
        f"  ret {pair} %both",
    ]
    head = f"define internal {pair} @{name(number)}({vector} %x) noinline nounwind {{"
    return "\n".join([head, "entry:", *body, "}", _far(number, every=not fused)])


def _near(number: Number) -> list[str]:
    """The polynomials, and a branch to the C library for lanes beyond `FAR`."""
    vector, dtype = number.vector, number.dtype
    lines: list[str] = []

    def constant(value: float) -> str:
        return number.constant(value)

    def op(result: str, operation: str, a: str, b: str) -> str:
        lines.append(f"  %{result} = {operation} {vector} {a}, {b}")
        return f"%{result}"

    def fma(result: str, a: str, b: str, c: str) -> str:
        lines.append(
            f"  %{result} = call {vector} @llvm.fma.{number.suffix}({vector} {a}, {vector} {b}, {vector} {c})"
        )
        return f"%{result}"

    def horner(prefix: str, coefficients: tuple[float, ...]) -> str:
        value = constant(coefficients[-1])
        for k, c in enumerate(reversed(coefficients[:-1])):
            value = fma(f"{prefix}{k}", value, "%z", constant(c))
        return value

    A, B, C = (constant(-float.fromhex(part)) for part in PI_2[dtype])
    t = fma("t", "%x", constant(TWO_OVER_PI), constant(ROUND[dtype]))
    k = op("k", "fsub", t, constant(ROUND[dtype]))
    r1 = fma("r1", k, A, "%x")
    r = fma("r", k, B, r1)
    d = op("d", "fsub", r1, r)
    e = fma("e", k, C, fma("e1", k, B, d))
    z = op("z", "fmul", r, r)
    w = fma("w", z, constant(-0.5), constant(1.0))
    v = op("v", "fmul", z, r)
    near_sin = op("s", "fadd", r, fma("s_low", v, horner("p", SINE[dtype]), e))
    rest = fma("rest", z, constant(-0.5), op("d1", "fsub", constant(1.0), w))
    zz = op("zz", "fmul", z, z)
    near_cos = op("c", "fadd", w, fma("c_low", zz, horner("q", COSINE[dtype]), rest))

    integer, bits = number.integer, number.bytes * 8
    boolean = number.boolean

    def quadrant(result: str, text: str) -> str:
        lines.append(f"  %{result} = {text}")
        return f"%{result}"

    i = quadrant("i", f"bitcast {vector} {t} to {integer}")
    low_bit = quadrant("low", f"and {integer} {i}, {number.integer_constant(1)}")
    odd = quadrant("odd", f"icmp ne {integer} {low_bit}, {number.integer_constant(0)}")
    next_i = quadrant("next", f"add {integer} {i}, {number.integer_constant(1)}")
    for value, source, first, second in (("sin", i, near_cos, near_sin), ("cos", next_i, near_sin, near_cos)):
        chosen = quadrant(f"{value}_r", f"select {boolean} {odd}, {vector} {first}, {vector} {second}")
        second_bit = quadrant(f"{value}_b", f"and {integer} {source}, {number.integer_constant(2)}")
        sign = quadrant(f"{value}_s", f"shl {integer} {second_bit}, {number.integer_constant(bits - 2)}")
        raw = quadrant(f"{value}_i", f"bitcast {vector} {chosen} to {integer}")
        signed = quadrant(f"{value}_x", f"xor {integer} {raw}, {sign}")
        quadrant(f"{value}_near", f"bitcast {integer} {signed} to {vector}")
    quadrant("size", f"call {vector} @llvm.fabs.{number.suffix}({vector} %x)")
    quadrant("far", f"fcmp ugt {vector} %size, {constant(FAR[dtype])}")
    far = "%far"
    if number.lanes > 1:
        mask = quadrant("mask", f"bitcast {boolean} %far to i{number.lanes}")
        far = quadrant("any", f"icmp ne i{number.lanes} {mask}, 0")
    lines += [
        f"  br i1 {far}, label %ask, label %done, !prof !0",
        "ask:",
        *_far_call(number, ["sin_near", "cos_near"]),
        f"  %sin_far = load {vector}, ptr %ps",
        f"  %cos_far = load {vector}, ptr %pc",
        "  br label %done",
        "done:",
        f"  %sine = phi {vector} [ %sin_near, %entry ], [ %sin_far, %ask ]",
        f"  %cosine = phi {vector} [ %cos_near, %entry ], [ %cos_far, %ask ]",
    ]
    return lines


def _far_call(number: Number, known: list[str]) -> list[str]:
    return [
        *(
            f"  store {number.vector} %{value}, ptr %{p}"
            for value, p in zip(["x", *known], ("px", "ps", "pc"))
        ),
        f"  call void @{name(number)}_far(ptr %px, ptr %ps, ptr %pc)",
    ]


def _far(number: Number, every: bool) -> str:
    """Overwrite the sines and cosines of the lanes that are far (or of every lane) by the C library's."""
    scalar, letter = number.scalar, "" if number.dtype == "float64" else "f"
    one = Number(number.dtype, 1)
    far = "true" if every else "%far"
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
  %sine = call {scalar} @sin{letter}({scalar} %v) nobuiltin
  %ps = getelementptr {scalar}, ptr %s, i64 %k
  store {scalar} %sine, ptr %ps
  %cosine = call {scalar} @cos{letter}({scalar} %v) nobuiltin
  %pc = getelementptr {scalar}, ptr %c, i64 %k
  store {scalar} %cosine, ptr %pc
  br label %latch
latch:
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, {number.lanes}
  br i1 %more, label %lane, label %done
done:
  ret void
}}"""


__all__ = ["FAR", "define", "name"]
