"""`out=` may overlap the inputs in any way: every state is computed from what was there before the call."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler_native.programs import identity_kernel, kernel_of, program


@pytest.fixture(scope="module")
def kernel():
    return identity_kernel(3)


@pytest.mark.parametrize("count", [1, 2, 8, 21, 3000])
def test_out_is_an_input(kernel, count) -> None:
    x, y = np.random.default_rng(0).normal(size=(2, count, 3))
    for place in (0, 1):
        arrays = [x.copy(), y.copy()]
        assert kernel(*arrays, out=arrays[place]) is arrays[place]
        np.testing.assert_array_equal(arrays[place], x + y)
    single = x[0].copy()
    kernel(single, single, out=single)
    np.testing.assert_array_equal(single, 2 * x[0])


@pytest.mark.parametrize("shift", [-9, -1, 1, 2, 8, 10])
@pytest.mark.parametrize("count", [2, 9, 40, 5000])
def test_shifted_by_states(kernel, shift, count) -> None:
    buffer = np.random.default_rng(1).normal(size=(count + 20, 3))
    x, y = buffer[10 : 10 + count].copy(), np.ones((count, 3))
    out = buffer[10 + shift : 10 + shift + count]
    kernel(buffer[10 : 10 + count], y, out=out)
    np.testing.assert_array_equal(out, x + y)


@pytest.mark.parametrize("shift", [1, 2, 3, 4])
def test_shifted_by_elements(kernel, shift) -> None:
    buffer = np.random.default_rng(2).normal(size=3 * 30 + 10)
    x = buffer[:90].reshape(30, 3)
    expected = x + 1.0
    out = buffer[shift : 90 + shift].reshape(30, 3)
    kernel(x, np.ones(3), out=out)
    np.testing.assert_array_equal(out, expected)


def test_interleaved_reversed_and_broadcast(kernel) -> None:
    buffer = np.random.default_rng(3).normal(size=(40, 3))
    before = buffer.copy()
    kernel(buffer[::2], buffer[1::2], out=buffer[::2])
    np.testing.assert_array_equal(buffer[::2], before[::2] + before[1::2])
    buffer[:] = before
    kernel(buffer, np.zeros(3), out=buffer[::-1])
    np.testing.assert_array_equal(buffer[::-1], before)
    buffer[:] = before
    kernel(buffer[7], np.zeros(3), out=buffer)  # one input for all states, and it is overwritten on the way
    np.testing.assert_array_equal(buffer, np.tile(before[7], (40, 1)))


def test_results_that_overlap_each_other() -> None:
    prog = program({"x": 2}, {"a": lambda x: [x[0], x[1]], "b": lambda x: [x[0] + 1.0, x[1] + 1.0]})
    kernel = kernel_of(prog)
    x = np.random.default_rng(4).normal(size=(10, 2))
    buffer = np.zeros((11, 2))
    kernel(
        x, out=(buffer[:10], buffer[1:])
    )  # the later result wins, as if they were copied one after the other
    np.testing.assert_array_equal(buffer[1:], x + 1.0)
    np.testing.assert_array_equal(buffer[0], x[0])
