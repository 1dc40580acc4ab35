"""The even functions that rotations are made of: accurate to a few units in the last place everywhere."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy
from tests.spatial.kinds import evaluate

from kinetree.spatial import even

EPS = 2.0**-52

CLOSED = {
    "cosine": lambda t: mpmath.cos(t),
    "sine_ratio": lambda t: mpmath.sin(t) / t,
    "versine_ratio": lambda t: (1 - mpmath.cos(t)) / t**2,
    "sine_defect_ratio": lambda t: (t - mpmath.sin(t)) / t**3,
    "cotangent_defect_ratio": lambda t: (1 - t / 2 * mpmath.cot(t / 2)) / t**2,
    "arctangent_ratio": lambda t: mpmath.atan(t) / t,
}
LIMIT = {
    "cosine": (1, 1), "sine_ratio": (1, 1), "versine_ratio": (1, 2), "sine_defect_ratio": (1, 6),
    "cotangent_defect_ratio": (1, 12), "arctangent_ratio": (1, 1),
}  # fmt: skip
SQUARES = np.concatenate([np.logspace(-40, 0.9, 300), [1 - 1e-15, 1.0, 1 + 1e-15, 4 - 1e-15, 4.0, 1 / 16]])


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("kind", ("float", "array", "complex", "expr"))
def test_value_is_right_to_a_few_ulp_of_one(name, kind):
    values = evaluate(kind, lambda x: getattr(even, name)(x), SQUARES[:, None])[:, 0]
    with mpmath.workdps(120):
        exact = [CLOSED[name](mpmath.sqrt(mpmath.mpf(float(x)))) for x in SQUARES]
        errors = [abs(mpmath.mpf(float(y)) - z) for y, z in zip(values, exact, strict=True)]
    assert max(errors) <= 2 * EPS * float(max(abs(z) for z in exact))


@pytest.mark.parametrize("name", CLOSED)
def test_derivative_by_complex_step_is_right_to_a_few_ulp(name):
    function = getattr(even, name)
    worst = 0.0
    for x in SQUARES:
        step = function(complex(x, 1e-150)).imag / 1e-150
        with mpmath.workdps(200):
            h = mpmath.mpf(10) ** -40 * mpmath.mpf(float(x))
            ahead, behind = (CLOSED[name](mpmath.sqrt(mpmath.mpf(float(x)) + s * h)) for s in (1, -1))
            exact = (ahead - behind) / (2 * h)
            worst = max(worst, float(abs(step - exact) / abs(exact)) if x < 4 else 0.0)
    assert worst < 40 * EPS


@pytest.mark.parametrize("name", CLOSED)
def test_fifty_digits_give_fifty_digits(name):
    function = getattr(even, name)
    for x in SQUARES[::7]:
        with mpmath.workdps(120):
            exact = CLOSED[name](mpmath.sqrt(mpmath.mpf(float(x))))
        with mpmath.workdps(50):
            value = function(mpmath.mpf(float(x)))
        assert abs(value - exact) < 1e-48


@pytest.mark.parametrize("name", CLOSED)
def test_value_at_zero_is_exact_for_every_kind_of_number(name):
    function = getattr(even, name)
    p, q = LIMIT[name]
    assert function(0) == function(0.0) == p / q
    assert function(np.zeros(2)).tolist() == [p / q, p / q]
    assert function(sympy.Integer(0)) == sympy.Rational(p, q)
    with mpmath.workdps(50):
        assert abs(function(mpmath.mpf(0)) - mpmath.mpf(p) / q) < mpmath.mpf(10) ** -50


def test_sympy_keeps_closed_forms():
    x = sympy.Symbol("x", positive=True)
    assert even.sine_ratio(x) == sympy.sin(sympy.sqrt(x)) / sympy.sqrt(x)
    assert even.sine_ratio(sympy.pi**2 / 4) == 2 / sympy.pi
