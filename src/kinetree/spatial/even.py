"""Even functions of an angle, given its square: exact at zero, smooth there, accurate everywhere.

The exponential of a rotation vector u needs sin|u| / |u| and related functions. They are analytic in
x = |u|^2, but their closed forms are 0/0 at x = 0 and cancel near it. Each is therefore evaluated by its
Taylor series for small x and by its closed form beyond, joined by `ops.where`; both branches are finite for
every x, so derivatives (complex step, differentiated traces) are right too. The number of terms follows the
precision of the number: 53 bits, or that of an mpmath number. SymPy numbers use the closed form alone, which
is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

from kinetree import ops

DOUBLE_BITS = 53


def is_symbolic(x: Any) -> bool:
    """True if `x` is a SymPy number: exact, so no series is needed."""
    return type(x).__module__.partition(".")[0] == "sympy"


def decided(condition: Any) -> Any:
    """`condition`, or False where SymPy cannot decide it: free symbols take the generic branch."""
    return False if is_symbolic(condition) and condition not in (True, False) else condition


def _coefficients(
    first: Fraction, ratio: Callable[[int], Fraction], radius: Fraction, bits: int
) -> list[Fraction]:
    """The Taylor coefficients that matter for |x| < radius, with two to spare for the derivatives."""
    result, term, spare = [first], first, 2
    while spare:
        result.append(result[-1] * ratio(len(result) - 1))
        term = abs(result[-1]) * radius ** (len(result) - 1)
        spare -= term * 2**bits < abs(first)
    return result


class EvenFunction:
    """A function of an angle t that is analytic in x = t^2: a series for x < radius, a closed form beyond.

    Args:
        first: the value at x = 0.
        ratio: ratio(k) = coefficient of x^(k+1) over the coefficient of x^k.
        radius: where the closed form takes over.
        closed: the closed form as a function of x, accurate for x >= radius.
    """

    def __init__(
        self, first: Fraction, ratio: Callable[[int], Fraction], radius: Fraction, closed: Callable
    ):
        self.first, self.radius, self.closed = first, radius, closed
        self._coefficients = cache(lambda bits: _coefficients(first, ratio, radius, bits))
        self._floats = [float(c) for c in self._coefficients(DOUBLE_BITS)]

    def series(self, x: Any) -> Any:
        """The Taylor polynomial at `x`, by Horner's rule, in the precision of `x`."""
        context: Any = getattr(x, "context", None)  # numbers of mpmath know their precision
        if hasattr(context, "prec"):
            constants = [context.mpf(c.numerator) / c.denominator for c in self._coefficients(context.prec)]
        else:
            constants = self._floats
        result = constants[-1]
        for c in reversed(constants[:-1]):
            result = c + x * result
        return result

    def __call__(self, x: Any) -> Any:
        if is_symbolic(x):
            at_zero = x * 0 + self.first.numerator
            return at_zero / self.first.denominator if x.is_zero else self.closed(x)
        small = ops.less(x, float(self.radius))
        near = ops.where(small, x, 0.0)
        far = ops.where(small, float(self.radius), x)
        return ops.where(small, self.series(near), self.closed(far))


def _sine_ratio(x: Any) -> Any:
    angle = ops.sqrt(x)
    return ops.sin(angle) / angle


def _versine_ratio(x: Any) -> Any:
    return _sine_ratio(x / 4) ** 2 / 2


def _arctangent_ratio(x: Any) -> Any:
    tangent = ops.sqrt(x)
    return ops.atan2(tangent, 1) / tangent


cosine = EvenFunction(
    Fraction(1), lambda k: Fraction(-1, (2 * k + 1) * (2 * k + 2)), Fraction(1),
    lambda x: ops.cos(ops.sqrt(x)),
)  # fmt: skip
"""cos t"""

sine_ratio = EvenFunction(
    Fraction(1), lambda k: Fraction(-1, (2 * k + 2) * (2 * k + 3)), Fraction(1), _sine_ratio
)
"""sin t / t"""

versine_ratio = EvenFunction(
    Fraction(1, 2), lambda k: Fraction(-1, (2 * k + 3) * (2 * k + 4)), Fraction(1), _versine_ratio
)
"""(1 - cos t) / t^2"""

sine_defect_ratio = EvenFunction(
    Fraction(1, 6), lambda k: Fraction(-1, (2 * k + 4) * (2 * k + 5)), Fraction(4),
    lambda x: (1 - _sine_ratio(x)) / x,
)  # fmt: skip
"""(t - sin t) / t^3"""

_chord_defect_ratio = EvenFunction(
    Fraction(1, 12), lambda k: Fraction(-(k + 2), (k + 1) * (2 * k + 5) * (2 * k + 6)), Fraction(4),
    lambda x: (2 * _versine_ratio(x) - _sine_ratio(x)) / x,
)  # fmt: skip
"""(2 (1 - cos t) / t^2 - sin t / t) / t^2"""

arctangent_ratio = EvenFunction(
    Fraction(1), lambda k: Fraction(-(2 * k + 1), 2 * k + 3), Fraction(1, 16), _arctangent_ratio
)
"""atan t / t"""


def cotangent_defect_ratio(x: Any) -> Any:
    """(1 - (t/2) cot(t/2)) / t^2: the last coefficient of the inverse of the exponential's derivative."""
    return _chord_defect_ratio(x) / (2 * versine_ratio(x))
