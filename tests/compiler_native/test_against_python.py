"""Machine code gives what the Python printer gives, on random programs."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.random_programs import random_inputs, random_looped, random_straight, random_value
from tests.compiler_native.programs import bare_kernel
from tests.conftest import share

from kinetree import ops
from kinetree.compiler.emit import python
from kinetree.compiler.ir.graph import Graph
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.pipeline import optimize
from kinetree.errors import SingularError

PROGRAMS, MODULES = 10_000, 10


def bundle(seed: int, count: int, length: int = 28) -> Program:
    """`count` random programs of the same five inputs, as one; each has an output of its own."""
    rng = np.random.default_rng(seed)
    graph = Graph()
    x = graph.array("x", "input", 5)
    y = graph.array("y", "output", count)
    for k in range(count):
        pool = [graph.load(x, i) for i in range(5)]
        while len(pool) < length:
            value = random_value(rng, pool)
            pool += [value] if isinstance(value, ops.Expr) else []
        graph.store(y, k, pool[-1])
    return Program.of("bundle", graph, (x,), (y,))


def assert_close(ours: np.ndarray, theirs: np.ndarray, eps: float = 1e-11) -> None:
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
    error = np.nan_to_num(np.abs(ours - theirs) / (1.0 + np.abs(theirs)))
    # a comparison of two numbers that differ by rounding alone may go either way, in a program or two
    assert np.sum(error > eps) <= max(2, 1e-4 * error.size), np.sort(error.ravel())[-10:]


@pytest.mark.parametrize(
    "seed", [*share(range(2), 2), *(pytest.param(k, marks=pytest.mark.long) for k in range(2, MODULES))]
)
def test_ten_thousand_random_programs(seed: int) -> None:
    program = optimize(bundle(seed, PROGRAMS // MODULES))
    kernel = bare_kernel(program, [(5,)], [(PROGRAMS // MODULES,)])
    states = np.random.default_rng([seed, 7]).normal(size=(9, 5))
    batch = kernel(states)
    assert_close(batch, python.run(program, states)[0][0])
    if seed < 2:  # the scalar code, bit by bit
        np.testing.assert_array_equal(kernel(states[3]), batch[3])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 200))
def test_a_hundred_thousand_random_programs(seed: int) -> None:
    program = optimize(bundle(seed, PROGRAMS // MODULES, length=40))
    kernel = bare_kernel(program, [(5,)], [(PROGRAMS // MODULES,)])
    states = np.random.default_rng([seed, 7]).normal(size=(9, 5))
    batch = kernel(states)
    assert_close(batch, python.run(program, states)[0][0])
    np.testing.assert_array_equal(kernel(states[3]), batch[3])


@pytest.mark.parametrize("seed", range(6))
def test_straight_programs_with_several_outputs_and_guards(seed: int) -> None:
    program = optimize(random_straight(seed, length=200), part_size=60)
    kernel = bare_kernel(program, [(3,), (2,)], [(4,), (1,)])
    inputs = random_inputs(program, seed, (40,))
    expected, status = python.run(program, *inputs)
    if status.any():
        with pytest.raises(SingularError, match=f"\\({int(np.argmax(status))},\\)"):
            kernel(*inputs)
        inputs = [x[~status] for x in inputs]
        expected = tuple(y[~status] for y in expected)
    for ours, theirs in zip(kernel(*inputs), expected):
        assert_close(ours, theirs, 1e-9)


@pytest.mark.parametrize("part_size", [3000, 12])
@pytest.mark.parametrize("seed", range(4))
def test_looped_programs(seed: int, part_size: int) -> None:
    program = optimize(random_looped(seed, nodes=7), part_size=part_size)
    kernel = bare_kernel(program, [(7,)], [(7,), (56,)])
    inputs = random_inputs(program, seed, (19,))
    for ours, theirs in zip(kernel(*inputs), python.run(program, *inputs)[0]):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11)
    for ours, batch in zip(kernel(inputs[0][4]), kernel(*inputs)):
        np.testing.assert_array_equal(ours, batch[4])


@pytest.mark.parametrize("seed", range(3))
def test_float32(seed: int) -> None:
    program = optimize(random_looped(seed, nodes=5))
    kernel = bare_kernel(program, [(5,)], [(5,), (30,)], "float32")
    inputs = [x.astype(np.float32) for x in random_inputs(program, seed, (37,))]
    results = kernel(*inputs)
    for ours, theirs in zip(results, python.run(program, *[x.astype(float) for x in inputs])[0]):
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-4)
    for ours, batch in zip(kernel(inputs[0][20]), results):
        np.testing.assert_array_equal(ours, batch[20])
