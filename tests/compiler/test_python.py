"""The Python printer, the oracle, against a direct evaluation by the table of primitives."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from tests.compiler.interpreter import interpret
from tests.compiler.random_programs import random_inputs, random_looped, random_straight
from tests.conftest import share

from kinetree import ops
from kinetree.compiler.emit.python import python_source, run
from kinetree.compiler.ir.graph import Graph
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.pipeline import optimize
from kinetree.compiler.passes.spoil import spoil_nonfinite
from kinetree.errors import CompileError

MAKERS = [random_straight, random_looped]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("seed", share(range(40), 5))
def test_equals_direct_evaluation(make, seed):
    program = make(seed)
    for candidate in (program, optimize(program), optimize(program, 5)):
        x = random_inputs(program, seed, (3, 2))
        outputs, status = run(candidate, *x)
        for place in np.ndindex(3, 2):
            wanted, untrusted = interpret(program, *(a[place] for a in x))
            assert status[place] == untrusted
            for got, want in zip(outputs, wanted):
                np.testing.assert_allclose(got[place], want, rtol=1e-12, atol=1e-12)


def test_many_small_programs(cases):
    """Many small programs through all passes; the normal run does a share of them."""
    for seed in range(cases(300)):
        program = random_straight(10_000 + seed, 15 + seed % 20)
        x = random_inputs(program, seed)
        wanted, _ = interpret(program, *x)
        outputs, _ = run(optimize(program, 6), *x)
        for got, want in zip(outputs, wanted):
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite_in_nan_out(make, bad):
    program = spoil_nonfinite(make(1))
    x = random_inputs(program, 1, (4,))
    clean, _ = run(program, *x)
    x[-1][2, -1] = bad
    outputs, status = run(program, *x)
    assert not status[2]
    for got, want in zip(outputs, clean):
        assert np.isnan(got[2]).all()
        np.testing.assert_array_equal(np.delete(got, 2, 0), np.delete(want, 2, 0))


def test_guard():
    program = random_straight(1)
    assert program.guard is not None
    x = random_inputs(program, 1, (200,))
    _, status = run(program, *x)
    assert 0 < status.sum() < 200
    assert [interpret(program, *(a[k] for a in x))[1] for k in range(200)] == list(status)


def test_float32_and_broadcasting():
    program = random_straight(2)
    q, v = random_inputs(program, 2)
    (wide, _), _ = run(program, np.tile(q, (5, 1)), v)
    (narrow, _), _ = run(program, q.astype(np.float32), v.astype(np.float32))
    assert wide.shape == (5, 4) and narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, wide[0], rtol=1e-4, atol=1e-4)


def test_symbols():
    """With arrays of symbols the result is a formula."""
    graph = Graph()
    x, y = graph.array("x", "input", 2), graph.array("y", "output", 1)
    graph.store(y, 0, ops.sin(graph.load(x, 0)) * graph.load(x, 1) + 1.0)
    program = Program("formula", (x,), (y,), (), (), graph.root, graph)
    a, b = sympy.symbols("a b", real=True)
    (result,), _ = run(optimize(program), np.array([a, b], object))
    assert sympy.simplify(result[0] - (b * sympy.sin(a) + 1.0)) == 0


def test_what_is_never_written_is_nan():
    graph = Graph()
    x, w, y = graph.array("x", "input", 1), graph.array("w", "work", 2), graph.array("y", "output", 2)
    graph.store(y, 0, graph.load(w, 1) + graph.load(x, 0))
    program = Program("leaky", (x,), (y,), (w,), (), graph.root, graph)
    (result,), _ = run(program, np.ones(1))
    assert np.isnan(result).all()


def test_an_index_outside_is_found():
    graph = Graph()
    x, y = graph.array("x", "input", 2), graph.array("y", "output", 1)
    with graph.loop(3) as i:
        graph.store(y, 0, graph.load(x, i))
    program = Program("outside", (x,), (y,), (), (), graph.root, graph)
    with pytest.raises(CompileError, match="index 2 is outside an array of size 2"):
        run(program, np.ones(2))


def test_wrong_inputs():
    program = random_straight(0)
    with pytest.raises(CompileError, match="takes 2 inputs, not 1"):
        run(program, np.zeros(3))
    with pytest.raises(CompileError, match=r"v has shape \(3,\), needs \(..., 2\)"):
        run(program, np.zeros(3), np.zeros(3))


def test_names_do_not_reach_the_text():
    graph = Graph()
    x, y = graph.array("import os", "input", 1), graph.array("0); evil(", "output", 1)
    graph.store(y, 0, graph.load(x, 0) * 2.0)
    source = python_source(Program("') or 1", (x,), (y,), (), (), graph.root, graph))
    assert "import" not in source and "evil" not in source
