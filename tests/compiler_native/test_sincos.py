"""Sine and cosine against values of many digits: within 1 ulp, for arguments of any size."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from tests.compiler_native.programs import kernel_of, program

from kinetree import ops

DTYPES = [np.float64, np.float32]


def sincos(dtype: type, inline: bool = False):
    """sin and cos; `inline`: of a value that depends on another sine, so that it is not taken beforehand."""

    def angle(x):
        return x[0] + 0.0 * x[0] if not inline else ops.where(ops.less(ops.sin(x[1]), 2.0), x[0], 0.0)

    prog = program(
        {"x": 1 + inline}, {"s": lambda x: [ops.sin(angle(x))], "c": lambda x: [ops.cos(angle(x))]}
    )
    return kernel_of(prog, None, [(), ()], dtype=np.dtype(dtype).name)


def ulps(values: np.ndarray, function, arguments: np.ndarray, dtype: type) -> np.ndarray:
    """The distance of `values` from the true ones, in units of the last place of the true ones."""
    info = np.finfo(dtype)
    errors = []
    with mpmath.workprec(400 if dtype is np.float32 else 1300):
        for value, x in zip(values, arguments):
            true = function(mpmath.mpf(float(x)))
            exponent = max(int(mpmath.frexp(true)[1]) - 1, info.minexp)
            errors.append(
                float(abs(mpmath.mpf(float(value)) - true) / mpmath.ldexp(1, exponent - info.nmant))
            )
    return np.array(errors)


def dense(dtype: type, count: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    far = 1e5
    smallest = -300 if dtype is np.float64 else -36
    points = [
        rng.uniform(-far, far, count),
        rng.uniform(-7.0, 7.0, count),
        10.0 ** rng.uniform(smallest, 0.0, count // 4),
        np.linspace(-np.pi / 4, np.pi / 4, count // 4),
    ]
    turns = np.unique(np.concatenate([np.arange(1, 200), rng.integers(1, int(2 * far / np.pi), count)]))
    near = np.array([float(k * mpmath.pi / 2) for k in turns]).astype(dtype)  # the hardest: next to zeros
    points += [near, np.nextafter(near, dtype(0)), np.nextafter(near, dtype(2e5))]
    return np.concatenate([np.asarray(p, dtype) for p in points])


@pytest.mark.parametrize("dtype", DTYPES)
def test_accuracy(dtype: type) -> None:
    x = dense(dtype, 1500)
    s, c = sincos(dtype)(x[:, None])
    assert ulps(s, mpmath.sin, x, dtype).max() < 1.0
    assert ulps(c, mpmath.cos, x, dtype).max() < 1.5


@pytest.mark.parametrize("dtype", DTYPES)
def test_huge_arguments(dtype: type) -> None:
    largest = 300 if dtype is np.float64 else 38
    x = (10.0 ** np.random.default_rng(6).uniform(4.9, largest, 300)).astype(dtype)
    x = np.concatenate([x, -x, np.asarray([1e5, 1.00001e5, 8192, 8193, np.finfo(dtype).max], dtype)])
    s, c = sincos(dtype)(x[:, None])
    assert ulps(s, mpmath.sin, x, dtype).max() < 1.0
    assert ulps(c, mpmath.cos, x, dtype).max() < 1.5


@pytest.mark.parametrize("dtype", DTYPES)
def test_taken_beforehand_or_in_place_one_state_or_many_lanes(dtype: type) -> None:
    """The four ways to a sine agree bit by bit."""
    x = np.concatenate([dense(dtype, 60), np.asarray([3e5, -1e9], dtype)])
    early, late = sincos(dtype), sincos(dtype, inline=True)
    s, c = early(x[:, None])
    pairs = np.stack([x, x], axis=1)
    for other in (late(pairs), [np.array(v) for v in zip(*(early(v[None]) for v in x))]):
        np.testing.assert_array_equal(other[0], s)
        np.testing.assert_array_equal(other[1], c)
    single = [np.array(v) for v in zip(*(late(v) for v in pairs))]
    np.testing.assert_array_equal(single[0], s)
    np.testing.assert_array_equal(single[1], c)


@pytest.mark.parametrize("dtype", DTYPES)
def test_exact_values(dtype: type) -> None:
    s, c = sincos(dtype)(np.zeros((3, 1), dtype))
    assert (s == 0).all() and (c == 1).all()
