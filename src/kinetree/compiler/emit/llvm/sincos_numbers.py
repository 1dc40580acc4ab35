"""The constants of sine and cosine: parts of pi/2, polynomials, and 1,280 bits of 2/pi."""

from __future__ import annotations

from functools import cache

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
ZEROS = 64  # bits before those of 2/pi, for arguments whose window begins before the binary point
WORDS = 21


@cache
def two_over_pi() -> tuple[int, ...]:
    """The bits of 2/pi after the binary point, preceded by `ZEROS` zeros, in 64-bit words."""
    bits = 64 * WORDS
    a, scale = 0, 1 << (bits + 64)
    # pi / 4 = 4 atan(1/5) - atan(1/239), in integers
    for factor, x in ((4, 5), (-1, 239)):
        power = term = scale // x
        k, total = 1, 0
        while term:
            total += term if k % 4 == 1 else -term
            power //= x * x
            k += 2
            term = power // k
        a += factor * total
    b = (scale * scale // (2 * a)) >> 64  # 2 / pi = 1 / (2 (pi / 4))
    return tuple((b >> (bits + ZEROS - 64 * (k + 1))) & (2**64 - 1) for k in range(WORDS))
