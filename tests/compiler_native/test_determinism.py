"""A state gives the same bits wherever it stands, whatever stands beside it, and whoever computes it."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tests.compiler.random_programs import random_inputs, random_looped, random_straight
from tests.compiler_native.programs import bare_kernel
from tests.compiler_native.programs import program as built

from kinetree import ops
from kinetree.compiler.passes.pipeline import optimize
from kinetree.compiler.runtime import threads

PROGRAMS = {
    "straight": lambda: random_straight(4, length=150),
    "in parts": lambda: random_straight(8, length=300),
    "looped": lambda: random_looped(2, nodes=6),
    "signs of zero": lambda: built({"x": 2, "y": 2}, {"z": zeros, "w": lambda x, y: [-0.0, x[0]]}),
}


def zeros(x: list, y: list) -> list:
    """Zeros of both signs, known and computed, among enough numbers to be looked up in a table."""
    return [0.0, -0.0, 0.0 * x[0], -(x[0] - x[0]), x[1] * y[0], -ops.floor(0.5 * ops.sin(y[1])), -0.0] * 4


@pytest.fixture(scope="module", params=[(n, d) for n in PROGRAMS for d in ("float64", "float32")], ids=str)
def case(request):
    name, dtype = request.param
    program = optimize(PROGRAMS[name](), part_size=50 if name == "in parts" else 3000)
    kernel = bare_kernel(program, dtype=dtype)
    inputs = [x.astype(dtype) for x in random_inputs(program, 3, (700,))]
    return kernel, inputs, kernel(*inputs)


def assert_same(results, expected) -> None:
    for ours, theirs in zip(results, expected):
        np.testing.assert_array_equal(bits(ours), bits(theirs))


def bits(array) -> np.ndarray:
    """The numbers as integers: NaN equals itself, and 0 is not -0."""
    return np.ascontiguousarray(array).view(f"i{array.dtype.itemsize}")


def test_one_state_alone(case) -> None:
    kernel, inputs, expected = case
    for k in range(0, 700, 41):
        assert_same(kernel(*[x[k] for x in inputs]), [y[k] for y in expected])
        assert_same(kernel(*[x[k : k + 1] for x in inputs]), [y[k : k + 1] for y in expected])


def test_every_batch_size_and_position(case) -> None:
    kernel, inputs, expected = case
    for count in (2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 100):
        for first in (0, 1, 3, 5, 8, 13):
            part = slice(first, first + count)
            assert_same(kernel(*[x[part] for x in inputs]), [y[part] for y in expected])


def test_strides_and_order(case) -> None:
    kernel, inputs, expected = case
    for part in (slice(None, None, -1), slice(None, None, 3), slice(500, 20, -7)):
        assert_same(kernel(*[x[part] for x in inputs]), [y[part] for y in expected])
    shape = (7, 4, 25)
    assert_same(kernel(*[x.reshape(*shape, -1) for x in inputs]), [y.reshape(*shape, -1) for y in expected])


def test_neighbours_that_are_not_finite(case) -> None:
    kernel, inputs, expected = case
    spoiled = [x.copy() for x in inputs]
    spoiled[0][::3, 0] = np.nan
    spoiled[0][1::9, 1] = np.inf
    good = np.isfinite(spoiled[0]).all(axis=1)
    results = kernel(*spoiled)
    assert_same([y[good] for y in results], [y[good] for y in expected])
    assert all(np.isnan(y[~good]).all() for y in results)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_any_number_of_threads(case, monkeypatch, count) -> None:
    kernel, inputs, expected = case
    monkeypatch.setattr(threads, "WORTH", 1.0)
    monkeypatch.setattr("kinetree.compiler.runtime.kernel.BLOCK", 500.0)
    kernel.threads = count
    try:
        for _ in range(5):
            assert_same(kernel(*inputs), expected)
            assert_same(kernel._general(*inputs), expected)
    finally:
        monkeypatch.undo()
        kernel.threads = None


def test_eight_python_threads_at_once(case) -> None:
    kernel, inputs, expected = case
    failures = []

    def work(number: int) -> None:
        try:
            for turn in range(40):
                first = (97 * number + 13 * turn) % 600
                part = slice(first, first + 1 + (number * turn) % 90)
                assert_same(kernel(*[x[part] for x in inputs]), [y[part] for y in expected])
                assert_same(kernel(*[x[first] for x in inputs]), [y[first] for y in expected])
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures, failures[0]


def test_the_global_number_of_threads() -> None:
    before = threads.thread_limit()
    threads.set_threads(3)
    assert threads.thread_limit() == 3
    threads.set_threads(None)
    assert threads.thread_limit() == before == threads.available()
    for wrong in (0, -1, 1.5):
        with pytest.raises(ValueError, match="positive integer"):
            threads.set_threads(wrong)  # type: ignore[arg-type]
