"""Every primitive of numbers, in machine code and in Python, against its NumPy rule."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler_native.programs import kernel_of, program

from kinetree import ops
from kinetree.compiler.emit import python
from kinetree.ops import PRIMITIVES

TRUTHS = ("and", "or", "not")
ELSEWHERE = ("lookup",)  # has a matrix: tests/ops/test_lookup.py
POINTS = np.array([-2.5, -1.0, -0.3, -0.0, 0.0, 0.4, 1.0, 7.0])
NAMES = [name for name, row in PRIMITIVES.items() if row.cost and name not in (*TRUTHS, *ELSEWHERE)]


def applied(name: str):
    """The recorded operation, of arguments of which the first may be the root of a negative number."""

    def result(x: list) -> list:
        graph = x[0].graph
        values = []
        for first in (x[0], ops.sqrt(x[0])):
            args = (first, x[1], x[2])[: PRIMITIVES[name].arity]
            if name == "where":
                args = (ops.less(first, x[1]), x[1], x[2])
            node = graph.node(name, args)
            values.append(ops.where(node, 1.0, 2.0) if name in ("lt", "le", "eq") else node)
        return values

    return result


def expected(name: str, x: np.ndarray) -> np.ndarray:
    columns = []
    with np.errstate(all="ignore"):
        for first in (x[:, 0], np.sqrt(x[:, 0])):
            args = (first, x[:, 1], x[:, 2])[: PRIMITIVES[name].arity]
            if name == "where":
                args = (first < x[:, 1], x[:, 1], x[:, 2])
            value = PRIMITIVES[name].numpy(*args)
            columns.append(np.where(value, 1.0, 2.0) if name in ("lt", "le", "eq") else value)
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("name", NAMES)
def test_machine_code_and_python_follow_the_numpy_rule(name: str) -> None:
    prog = program({"x": 3}, {"y": applied(name)})
    grid = np.stack(np.meshgrid(POINTS, POINTS[::3], POINTS[1::4]), axis=-1).reshape(-1, 3)
    wanted = expected(name, grid)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(python.run(prog, grid)[0][0], wanted, rtol=1e-15)
    for dtype, tolerance in (("float64", 1e-15), ("float32", 1e-6)):
        kernel = kernel_of(prog, dtype=dtype)
        states = grid.astype(dtype)
        result = kernel(states)
        np.testing.assert_allclose(
            result, expected(name, states.astype(float)), rtol=tolerance, atol=tolerance
        )
        one = np.stack([kernel(state) for state in states])
        np.testing.assert_array_equal(one.view(np.uint8), result.view(np.uint8))  # the signs of zeros too
