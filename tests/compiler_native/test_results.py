"""Large results with zeros, repeated values and constants arrive at every element."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tests.compiler_native.programs import bare_kernel, kernel_of, program
from tests.conftest import share

from kinetree.compiler.emit.llvm import module, stream
from kinetree.compiler.ir.graph import Graph
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.pipeline import optimize
from kinetree.compiler.runtime.machine import FLOAT_BYTES, host

KINDS = ("zero", "constant", "value", "repeated")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", [24, 25, 26, 27, 64, 90, 331])
@pytest.mark.parametrize("seed", range(1))
def test_every_element(size, seed, dtype) -> None:
    rng = np.random.default_rng(seed)
    pattern = np.repeat(rng.integers(4, size=size), rng.integers(1, 7, size=size))[:size]
    numbers = rng.normal(size=size)
    where = rng.integers(5, size=size)

    def element(x, k):
        kind = KINDS[pattern[k]]
        return {
            "zero": 0.0,
            "constant": float(numbers[k % 3]),
            "value": x[where[k]] * float(numbers[k]),
            "repeated": x[where[k]],
        }[kind]

    prog = program({"x": 5}, {"y": lambda x: [element(x, k) for k in range(size)], "z": lambda x: [x[1]]})
    kernel = kernel_of(prog, dtype=dtype)
    states = rng.normal(size=(41, 5)).astype(dtype)
    rounded = numbers.astype(dtype)

    def expected(x):
        columns = {"zero": 0 * x[:, 0], "constant": None, "value": None, "repeated": None}
        rows = []
        for k in range(size):
            kind = KINDS[pattern[k]]
            rows.append({"zero": columns["zero"], "constant": columns["zero"] + rounded[k % 3],
                         "value": x[:, where[k]] * rounded[k], "repeated": x[:, where[k]]}[kind])  # fmt: skip
        return np.stack(rows, axis=1)

    for count in (1, 5, 8, 16, 41):
        y, z = kernel(states[:count])
        np.testing.assert_array_equal(y, expected(states[:count]))
        np.testing.assert_array_equal(z[:, 0], states[:count, 1])
    out = np.full((41, size + 3), 7.0, dtype)
    kernel(states, out=(out[:, 1:-2], None))
    np.testing.assert_array_equal(out[:, 1:-2], expected(states))
    assert (out[:, [0, -1, -2]] == 7.0).all()
    states[[3, 40], 4] = np.nan
    y, z = kernel(states)
    assert np.isnan(y[[3, 40]]).all() and np.isnan(z[[3, 40]]).all()
    good = np.isfinite(states).all(axis=1)
    np.testing.assert_array_equal(y[good], expected(states)[good])


@pytest.mark.parametrize(
    ("dtype", "size", "looped"), share(product(["float64", "float32"], [256, 301, 1000], [False, True]), 5)
)
def test_results_written_past_the_caches(monkeypatch, size, dtype, looped) -> None:
    """As if the batch were too large for them; rows at any distance and alignment."""
    monkeypatch.setattr(stream, "BATCH", 0)
    graph = Graph()
    x, y = graph.array("x", "input", 2), graph.array("y", "output", size)
    factors = np.random.default_rng(size).normal(size=size).astype(dtype)
    if looped:
        table = graph.array("f", "table", size, factors.astype(float))
        with graph.loop(size) as k:
            graph.store(y, k, graph.load(table, k) * graph.load(x, 0))
    else:
        for k, factor in enumerate(factors):
            graph.store(y, k, graph.load(x, 0) * float(factor))
    tables = tuple(a for a in graph.arrays if a.kind == "table")
    kernel = kernel_of(Program("p", (x,), (y,), (), tables, graph.root, graph), dtype=dtype)
    assert "@stream" in kernel.source
    states = np.random.default_rng(0).normal(size=(37, 2)).astype(dtype)
    expected = states[:, :1] * factors
    np.testing.assert_array_equal(kernel(states), expected)
    for first in range(4):
        buffer = np.full((37, size + 9), 7.0, dtype)
        kernel(states, out=buffer[:, first : first + size])
        np.testing.assert_array_equal(buffer[:, first : first + size], expected)
        assert (buffer[:, :first] == 7.0).all() and (buffer[:, first + size :] == 7.0).all()
    states[[0, 5, 36], 1] = np.inf
    assert np.isnan(kernel(states)[[0, 5, 36]]).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("cpu", ["znver3", "sapphirerapids"])
def test_memory_that_is_asked_for_ahead(monkeypatch, cpu, dtype) -> None:
    """Each line of the next rows once, except of rows that may be written past the caches."""
    target = replace(host(), triple="x86_64-unknown-linux-gnu", cpu=cpu)
    prog = program({"x": 3}, {"y": lambda x: [x[0] * x[1] + float(k) for k in range(49)],
                              "z": lambda x: [x[1] * x[2] - float(k) for k in range(400)]})  # fmt: skip
    lanes = target.lanes(dtype)
    text = module.emit(prog, dtype, lanes, target).text
    lines = -(-49 * FLOAT_BYTES[dtype] // stream.LINE)
    assert text.count("call void @llvm.prefetch") == (0 if cpu == "znver3" else lanes * lines)
    monkeypatch.setattr(type(target), "asks_ahead", target.asks_ahead)
    states = np.random.default_rng(1).normal(size=(41, 3)).astype(dtype)
    y, z = kernel_of(prog, dtype=dtype)(states)
    np.testing.assert_allclose(y, states[:, :1] * states[:, 1:2] + np.arange(49), rtol=1e-5)
    np.testing.assert_allclose(z, states[:, 1:2] * states[:, 2:] - np.arange(400), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("dtype", "most", "batch"), share(product(["float64", "float32"], [1, 3, 8], [0, 1 << 24]), 5)
)
def test_parts_run_for_groups_of_states(monkeypatch, most, dtype, batch) -> None:
    """Neighbouring elements come from different parts; groups and batches end anywhere."""
    monkeypatch.setattr(module, "MOST", most)
    monkeypatch.setattr(module, "TOGETHER", 1 << 20)
    monkeypatch.setattr(stream, "BATCH", batch)
    size = 331

    def elements(x):
        values, total = [0.0] * size, x[0]
        for k in range(size):  # 7 and 331 have no common divisor: every element once, neighbours far apart
            total = total * x[1] + x[2 + k % 3]
            values[k * 7 % size] = total if k % 5 else 0.0
        return values

    parts = optimize(program({"x": 5}, {"y": elements, "z": lambda x: [x[4]]}), part_size=60)
    kernel = bare_kernel(parts, dtype=dtype)
    assert "@part3" in kernel.source
    states = np.random.default_rng(most).uniform(-0.9, 0.9, size=(150, 5)).astype(dtype)
    alone = np.stack([kernel(x)[0] for x in states])
    expected = np.stack([np.zeros(150) + e for e in elements(states.T.astype(float))], axis=1)
    np.testing.assert_allclose(alone, expected, rtol=1e-5, atol=1e-6)
    for count in (1, 2, 17, 64, 65, 131, 150):
        y, z = kernel(states[:count])
        np.testing.assert_array_equal(y, alone[:count])
        np.testing.assert_array_equal(z[:, 0], states[:count, 4])
    states[[9, 70, 149], 0] = np.nan
    spoiled = np.isnan(states).any(axis=1)
    y, _ = kernel(states)
    assert np.isnan(y[spoiled]).all()
    np.testing.assert_array_equal(y[~spoiled], alone[~spoiled])
