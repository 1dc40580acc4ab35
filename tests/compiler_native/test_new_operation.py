"""A new operation is one row of the table and its instructions: every other part follows."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.interpreter import interpret
from tests.compiler.test_c import call, library, needs_gcc
from tests.compiler_native.programs import kernel_of, program

from kinetree.compiler.emit import python
from kinetree.compiler.emit.llvm.instructions import INSTRUCTIONS, LIBRARY, UNFUSED
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.differentiate import jacobian, jvp, vjp
from kinetree.compiler.passes.pipeline import optimize
from kinetree.compiler.passes.simplify import simplify
from kinetree.ops import PRIMITIVES, Expr, Primitive
from kinetree.ops import expr as ex

STATES = np.random.default_rng(5).normal(size=(19, 2))


def cube(x):
    return ex.record("cube", x) if isinstance(x, Expr) else x * x * x


@pytest.fixture
def cubes(monkeypatch) -> Program:
    """x -> x0^3 + x1, (x0 x1)^3, -(x1^3), by an operation that the table does not have."""
    row = Primitive(
        "cube", ("number",), fold=cube, numpy=lambda x: x**3, derivative=lambda x, y: (3.0 * x[0] * x[0],),
        cost={"mul": 2}, parity=-1, python="{0} * {0} * {0}", c="{0} * {0} * {0}",
    )  # fmt: skip
    monkeypatch.setitem(PRIMITIVES, "cube", row)
    monkeypatch.setitem(INSTRUCTIONS, "cube", ("fmul {v} {0}, {0}", "fmul {v} {1}, {0}"))
    return program({"x": 2}, {"y": lambda x: [cube(x[0]) + x[1], cube(x[0] * x[1]), cube(-x[1]), cube(2.0)]})


def expected(x: np.ndarray) -> np.ndarray:
    a, b = x.T
    return np.stack([a**3 + b, (a * b) ** 3, -(b**3), np.full_like(a, 8.0)], axis=-1)


def test_it_folds_and_counts(cubes) -> None:
    counts = simplify(cubes).ops
    assert counts["mul"] == 7 and counts["neg"] == 1  # three cubes, one product, one sign outside


def test_python_and_machine_code(cubes) -> None:
    np.testing.assert_allclose(python.run(optimize(cubes), STATES)[0][0], expected(STATES), rtol=1e-14)
    kernel = kernel_of(cubes)
    np.testing.assert_allclose(kernel(STATES), expected(STATES), rtol=1e-14)
    np.testing.assert_array_equal(kernel(STATES[3]), kernel(STATES)[3])


@needs_gcc
def test_c(cubes, tmp_path) -> None:
    ready = optimize(cubes)
    code = library(tmp_path, [("cubes", ready, ["x"], ["y"])])
    (got,), status = call(code["sample_cubes"], ready, [STATES[0].copy()])
    np.testing.assert_allclose(got, expected(STATES[:1])[0], rtol=1e-14)
    assert status == 0


def test_derivatives(cubes) -> None:
    (a, b), d = STATES[0], np.array([0.3, -0.7])
    slopes = np.array([[3 * a * a, 1], [3 * a * a * b**3, 3 * b * b * a**3], [0, -3 * b * b], [0, 0]])
    np.testing.assert_allclose(interpret(jvp(cubes), STATES[0], d)[0][1], slopes @ d, rtol=1e-14)
    weights = np.array([1.0, -2.0, 0.5, 3.0])
    np.testing.assert_allclose(interpret(vjp(cubes), STATES[0], weights)[0][1], weights @ slopes, rtol=1e-14)
    (matrix,), _ = interpret(jacobian(cubes, "y", "x"), STATES[0])
    np.testing.assert_allclose(matrix.reshape(4, 2), slopes, rtol=1e-14)


def test_the_tables_cover_each_other() -> None:
    elsewhere = {"sin", "cos", "load", "iload", "lookup", "counter", "variable"}  # by hand: pairs and memory
    assert INSTRUCTIONS.keys() | elsewhere == PRIMITIVES.keys() and UNFUSED.keys() <= INSTRUCTIONS.keys()
    for name, row in PRIMITIVES.items():
        assert row.name == name and bool(row.python) == bool(row.c) == (row.numpy is not None)
        assert row.commutative is False or row.arity == 2
        assert row.parity == 0 or row.arity == 1
    assert {"exp", "atan2", "tanh"} <= LIBRARY and not LIBRARY & {"add", "floor", "sqrt"}
