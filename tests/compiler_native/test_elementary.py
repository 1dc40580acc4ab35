"""Logarithm, exponential and arcs of machine code, against 60 digits; their limits; lanes alike."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from tests.compiler_native.programs import bare_kernel, program

from kinetree.ops import PRIMITIVES

RNG = np.random.default_rng(5)
WIDE = np.concatenate([RNG.normal(size=300) * 10.0 ** RNG.uniform(-12, 12, 300), RNG.normal(size=300)])
POSITIVE = np.abs(WIDE) + 1e-300
NEAR_ONE = 1 - 10.0 ** RNG.uniform(-15, -1, 100)
UNIT = np.concatenate([RNG.uniform(-1, 1, 400), NEAR_ONE, [1.0, -1.0, 0.0, -0.0]])
CASES = {
    "exp": (np.concatenate([RNG.uniform(-700, 700, 400), RNG.normal(size=300)]), 1.0),
    "log": (
        np.concatenate(
            [POSITIVE, 1 + 10.0 ** RNG.uniform(-15, 0, 200), 2.0 ** RNG.uniform(-1070, 1000, 99)]
        ),
        1.0,
    ),
    "atan": (WIDE, 1.0),
    "asin": (UNIT, 2.0),
    "acos": (UNIT, 2.0),
    "tanh": (np.concatenate([WIDE[np.abs(WIDE) < 1e6], RNG.uniform(-20, 20, 200)]), 2.0),
    "tan": (RNG.uniform(-100, 100, 500), 3.0),
}


def unary(name: str, *x: np.ndarray) -> np.ndarray:
    """An operation in machine code; nothing is said of numbers that are not finite."""
    count = PRIMITIVES[name].arity
    prog = program({"x": count}, {"y": lambda x: [x[0].graph.node(name, tuple(x))]})
    return bare_kernel(prog, None, [()], str(x[0].dtype))(np.stack(x, -1))


def ulps(found: np.ndarray, x: tuple[np.ndarray, ...], name: str, dtype: type) -> float:
    """The largest error, in units of the last place of the exact value rounded."""
    worst = 0.0
    with mpmath.workdps(60):
        for k, y in enumerate(found):
            exact = getattr(mpmath, name)(*(mpmath.mpf(float(a[k])) for a in x))
            unit = float(np.spacing(np.abs(dtype(float(exact))))) if exact else 5e-324
            worst = max(worst, abs(float((mpmath.mpf(float(y)) - exact) / unit)))
    return worst


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_accuracy(name, dtype):
    points, most = CASES[name]
    if dtype is np.float32:
        points = points[(np.abs(points) < 80) & ((points == 0) | (np.abs(points) > 1e-30))]
    x = points.astype(dtype)
    found = unary(name, x)
    assert found.dtype == dtype
    assert ulps(found, (x,), name, dtype) < most
    one = np.concatenate([unary(name, x[k : k + 1]) for k in range(0, len(x), 37)])
    np.testing.assert_array_equal(one, found[::37])  # a state alone, without lanes


def test_arc_of_two():
    y, x = WIDE, RNG.permutation(WIDE)
    assert ulps(unary("atan2", y, x), (y, x), "atan2", np.float64) < 1.0
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 1e308, 5e-324, -5e-324]
    y, x = (a.ravel() for a in np.meshgrid(special, special))
    found, known = unary("atan2", y, x), np.arctan2(y, x)
    np.testing.assert_allclose(found, known, rtol=3e-16)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(known))


def test_limits():
    endless = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e308, -1e308, 5e-324])
    with np.errstate(all="ignore"):
        for name, known in (("exp", np.exp), ("log", np.log), ("atan", np.arctan), ("tanh", np.tanh)):
            np.testing.assert_allclose(unary(name, endless), known(endless), rtol=3e-16, err_msg=name)
        for name, known in (("asin", np.arcsin), ("acos", np.arccos)):
            beyond = np.array([1.5, -1.5, np.nan, np.inf])
            np.testing.assert_array_equal(unary(name, beyond), known(beyond))
