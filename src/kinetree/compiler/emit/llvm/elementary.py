"""Vector logarithm, exponential and inverse trigonometric functions: our own code, for equal bits everywhere.

All are computed in double precision and without branches; single precision is widened before and rounded
after. For small arguments each is a leading term plus a polynomial that interpolates the rest at Chebyshev
nodes:

    exp(x) = 2^k (1 + r + r^2/2 + r^3 P(r))          k = round(x / ln 2), r = x - k ln 2
    log(x) = k ln 2 + f - f^2/2 + s (f^2/2 + s^2 P(s^2))    x = 2^k (1 + f), s = f / (2 + f)
    atan(u) = u + u^3 P(u^2)       u = a/b, or (a - b)/(a + b), by which an angle is pi/4 + atan(u)

exp, log and atan stay below 1 ulp, functions built on them (asin, acos, atan2, tanh) below 2. They need fused
multiply-add; without it the C library is called (`instructions.each`).
"""

from __future__ import annotations

from collections.abc import Callable

from kinetree.compiler.emit.llvm.types import Number
from kinetree.ops import PRIMITIVES

EXP = (0.16666666666666669, 0.041666666666666664, 0.008333333333330039, 0.0013888888888886537,
       0.00019841269863171557, 2.4801587317228724e-05, 2.7557268276905696e-06, 2.7557282838800484e-07,
       2.5100472505694996e-08, 2.09112987659402e-09)  # fmt: skip
LOG = (0.666666666666667, 0.39999999999899444, 0.2857142862600327, 0.22222211130259878, 0.18182889455674947,
       0.15331710618210773, 0.14616585424888623)  # fmt: skip
ATAN = (-0.3333333333333333, 0.19999999999999804, -0.14285714285659779, 0.11111111105150588,
        -0.09090908753259112, 0.07692296368042296, -0.0666642476020052, 0.05878927554473807,
        -0.05230443640686948, 0.045515447340221615, -0.03456931506332609, 0.016284375050043393)  # fmt: skip
LOG2_E = float.fromhex("0x1.71547652b82fep+0")
LN2 = float.fromhex("0x1.62e42fefa39efp-1"), float.fromhex("0x1.abc9e3b39803fp-56")
LN2_SHORT = float.fromhex("0x1.62e42fefa3800p-1"), float.fromhex("0x1.ef35793c76730p-45")
PI = float.fromhex("0x1.921fb54442d18p+1"), float.fromhex("0x1.1a62633145c07p-53")
ROUND, ROUND_BITS = 1.5 * 2.0**52, 0x4338000000000000  # adding it leaves the nearest integer in the low bits
ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
TAN_PI_8 = 0.41421356237309503
INFINITY, NAN = float("inf"), float("nan")


class Lines:
    """Lines of LLVM text on vectors of doubles."""

    def __init__(self, lanes: int):
        self.number = Number("float64", lanes)
        self.lines: list[str] = []

    def let(self, text: str) -> str:
        self.lines.append(f"  %e{len(self.lines)} = {text}")
        return f"%e{len(self.lines) - 1}"

    def _(self, x: str | float) -> str:
        return x if isinstance(x, str) else self.number.constant(x)

    def op(self, name: str, a: str | float, b: str | float) -> str:
        return self.let(f"{name} {self.number.vector} {self._(a)}, {self._(b)}")

    def add(self, a: str | float, b: str | float) -> str:
        return self.op("fadd", a, b)

    def sub(self, a: str | float, b: str | float) -> str:
        return self.op("fsub", a, b)

    def mul(self, a: str | float, b: str | float) -> str:
        return self.op("fmul", a, b)

    def div(self, a: str | float, b: str | float) -> str:
        return self.op("fdiv", a, b)

    def fma(self, a: str | float, b: str | float, c: str | float) -> str:
        v = self.number.vector
        return self.let(
            f"call {v} @llvm.fma.{self.number.suffix}({v} {self._(a)}, {v} {self._(b)}, {v} {self._(c)})"
        )

    def call(self, name: str, a: str) -> str:
        v = self.number.vector
        return self.let(f"call {v} @llvm.{name}.{self.number.suffix}({v} {a})")

    def neg(self, a: str) -> str:
        return self.let(f"fneg {self.number.vector} {a}")

    def when(
        self, relation: str, a: str | float, b: str | float, then: str | float, other: str | float
    ) -> str:
        """One of two numbers, depending on a comparison of two others."""
        v = self.number.vector
        truth = self.op(f"fcmp {relation}", a, b)
        return self.let(f"select {self.number.boolean} {truth}, {v} {self._(then)}, {v} {self._(other)}")

    def polynomial(self, coefficients: tuple[float, ...], x: str) -> str:
        value: str | float = coefficients[-1]
        for c in reversed(coefficients[:-1]):
            value = self.fma(value, x, c)
        return str(value)

    # -- bits

    def bits(self, a: str) -> str:
        return self.let(f"bitcast {self.number.vector} {a} to {self.number.integer}")

    def number_of(self, bits: str) -> str:
        return self.let(f"bitcast {self.number.integer} {bits} to {self.number.vector}")

    def whole(self, name: str, a: str, b: str | int) -> str:
        """An integer operation."""
        other = b if isinstance(b, str) else self.number.integer_constant(b)
        return self.let(f"{name} {self.number.integer} {a}, {other}")

    def power_of_two(self, k: str) -> str:
        return self.number_of(self.whole("shl", self.whole("add", k, 1023), 52))

    def signed(self, size: str, like: str) -> str:
        """A non-negative number with the sign of another."""
        sign = self.whole("and", self.bits(like), -(2**63))
        return self.number_of(self.whole("or", self.bits(size), sign))


def _reduced(f: Lines, x: str) -> tuple[str, str]:
    """k as an integer, and e^r - 1, of x = k ln 2 + r."""
    t = f.fma(x, LOG2_E, ROUND)
    k = f.sub(t, ROUND)
    r = f.fma(k, -LN2[1], f.fma(k, -LN2[0], x))
    rest = f.fma(f.mul(r, r), f.fma(r, f.polynomial(EXP, r), 0.5), r)
    return f.whole("sub", f.bits(t), ROUND_BITS), rest


def _exp(f: Lines, x: str) -> str:
    x = f.when("olt", x, -750.0, -750.0, f.when("ogt", x, 710.0, 710.0, x))
    k, rest = _reduced(f, x)
    half = f.whole("ashr", k, 1)
    y = f.mul(f.add(rest, 1.0), f.power_of_two(half))
    return f.mul(y, f.power_of_two(f.whole("sub", k, half)))


def _log(f: Lines, x: str) -> str:
    small = 2.0**-1022
    scaled = f.when("olt", x, small, f.mul(x, 2.0**54), x)
    less = f.when("olt", x, small, -54.0, 0.0)
    i = f.whole("add", f.bits(scaled), 0x3FF0000000000000 - ROOT_HALF)
    power = f.whole("sub", f.whole("lshr", i, 52), 1023)
    k = f.add(f.sub(f.number_of(f.whole("add", power, ROUND_BITS)), ROUND), less)
    m = f.number_of(f.whole("add", f.whole("and", i, 2**52 - 1), ROOT_HALF))
    d = f.sub(m, 1.0)
    s = f.div(d, f.add(d, 2.0))
    z = f.mul(s, s)
    half = f.mul(f.mul(d, d), 0.5)
    rest = f.fma(s, f.fma(z, f.polynomial(LOG, z), half), f.mul(k, LN2_SHORT[1]))
    y = f.fma(k, LN2_SHORT[0], f.neg(f.sub(f.sub(half, rest), d)))
    y = f.when("oeq", x, 0.0, -INFINITY, f.when("olt", x, 0.0, NAN, y))
    return f.when("ueq", x, INFINITY, x, y)  # infinity and NaN unchanged


def _atan2(f: Lines, y: str, x: str) -> str:
    a, b = f.call("fabs", y), f.call("fabs", x)
    low, high = f.when("ole", a, b, a, b), f.when("ole", a, b, b, a)
    low, high = (
        f.when("oeq", low, INFINITY, 1.0, low),
        f.when("oeq", low, INFINITY, f.when("oeq", high, INFINITY, 1.0, high), high),
    )
    scale = f.when("ogt", high, 2.0**1000, 2.0**-200, f.when("olt", high, 2.0**-800, 2.0**200, 1.0))
    low, high = f.mul(low, scale), f.mul(high, scale)
    limit = f.mul(high, TAN_PI_8)
    total, back = f.add(high, low), f.sub(low, high)
    above, below = f.when("ogt", low, limit, back, low), f.when("ogt", low, limit, total, high)
    below = f.when("oeq", below, 0.0, 1.0, below)
    u = f.div(above, below)
    # rounding errors of the sum, the difference and the quotient
    lost_total, lost_back = f.sub(low, f.sub(total, high)), f.sub(low, f.add(back, high))
    lost = f.when("ogt", low, limit, f.fma(f.neg(u), lost_total, lost_back), 0.0)
    lost = f.div(f.add(f.fma(f.neg(u), below, above), lost), below)
    lost = f.when("oeq", below, INFINITY, 0.0, lost)
    z = f.mul(u, u)
    rest = f.fma(f.mul(z, u), f.polynomial(ATAN, z), lost)
    eighth, eighth_rest = (f.when("ogt", low, limit, part / 4, 0.0) for part in PI)
    angle, rest = _turned(f, eighth, eighth_rest, u, rest)
    turned, turned_rest = _turned(f, PI[0] / 2, PI[1] / 2, f.neg(angle), f.neg(rest))
    angle, rest = f.when("ole", a, b, angle, turned), f.when("ole", a, b, rest, turned_rest)
    behind = f.whole("icmp slt", f.bits(x), 0)
    turned, turned_rest = _turned(f, PI[0], PI[1], f.neg(angle), f.neg(rest))
    v, boolean = f.number.vector, f.number.boolean
    angle = f.let(f"select {boolean} {behind}, {v} {turned}, {v} {angle}")
    rest = f.let(f"select {boolean} {behind}, {v} {turned_rest}, {v} {rest}")
    return f.signed(f.add(angle, rest), y)


def _turned(f: Lines, high: str | float, low: str | float, angle: str, rest: str) -> tuple[str, str]:
    """The sum of two numbers of two parts each; the first is the larger one, or 0."""
    total = f.add(high, angle)
    lost = f.sub(angle, f.sub(total, high))
    return total, f.add(f.add(lost, low), rest)


def _atan(f: Lines, x: str) -> str:
    return _atan2(f, x, f._(1.0))


def _beside(f: Lines, x: str) -> str:
    """sqrt(1 - x^2)."""
    return f.call("sqrt", f.mul(f.sub(1.0, x), f.add(1.0, x)))


def _asin(f: Lines, x: str) -> str:
    return _atan2(f, x, _beside(f, x))


def _acos(f: Lines, x: str) -> str:
    return _atan2(f, _beside(f, x), x)


def _tanh(f: Lines, x: str) -> str:
    size = f.call("fabs", x)
    k, rest = _reduced(f, f.mul(f.when("ogt", size, 22.0, 22.0, size), 2.0))
    scale = f.power_of_two(k)
    t = f.fma(scale, rest, f.sub(scale, 1.0))  # e^(2x) - 1
    return f.signed(f.div(t, f.add(t, 2.0)), x)


RECIPES: dict[str, Callable[..., str]] = {
    "exp": _exp, "log": _log, "atan": _atan, "atan2": _atan2, "asin": _asin, "acos": _acos, "tanh": _tanh
}  # fmt: skip


def define(op: str, number: Number, attributes: str = "noinline nounwind") -> str:
    """The text of the function `@each_<op>` for numbers of one kind."""
    f = Lines(number.lanes)
    wide, narrow = f.number.vector, number.vector
    names = ("a", "b")[: PRIMITIVES[op].arity]
    arguments = [f"%{name}" for name in names]
    if number.dtype == "float32":
        arguments = [f.let(f"fpext {narrow} {a} to {wide}") for a in arguments]
    result = RECIPES[op](f, *arguments)
    if number.dtype == "float32":
        result = f.let(f"fptrunc {wide} {result} to {narrow}")
    parameters = ", ".join(f"{narrow} %{name}" for name in names)
    head = f"define internal {narrow} @each_{op}({parameters}) {attributes} {{"
    return "\n".join([head, *f.lines, f"  ret {narrow} {result}", "}"])
