"""Elements of a matrix at places that are numbers: edges, NaN, every kind of number, folding."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from kinetree import ops
from kinetree.compiler.ir.graph import Graph
from kinetree.errors import TraceError

MATRIX = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize(
    ("i", "j", "wanted"),
    [(0.0, 0.0, 0.0), (2.0, 1.0, 7.0), (3, 2, 11.0), (-5.0, 1.0, 1.0), (9.0, 9.0, 11.0),
     (np.inf, -np.inf, 9.0), (1e300, 0.0, 9.0), (1.0 + 1e-40j, 2.0, 5.0),
     (mpmath.mpf(2), mpmath.mpf(0), 6.0)],
)  # fmt: skip
def test_elements(i, j, wanted):
    assert ops.lookup(MATRIX, i, j) == wanted
    assert ops.lookup(MATRIX.tolist(), i, j) == wanted


def test_nan_gives_nan():
    assert np.isnan(ops.lookup(MATRIX, np.nan, 0.0)) and np.isnan(ops.lookup(MATRIX, 1.0, np.nan))


def test_arrays():
    rng = np.random.default_rng(0)
    i, j = rng.integers(-3, 7, (2, 5, 1)).astype(float), rng.integers(-3, 7, (3,)).astype(float)
    wanted = MATRIX[np.clip(i, 0, 3).astype(int), np.clip(j, 0, 2).astype(int)]
    assert np.array_equal(ops.lookup(MATRIX, i, j), wanted)


def test_a_trace_keeps_a_matrix_once_and_as_it_was():
    graph, own = Graph(), MATRIX.copy()
    x = graph.load(graph.array("x", "input", 1), 0)
    a, b = ops.lookup(own, x, 1.0), ops.lookup(own, x, 1.0)
    assert a is b and ops.lookup(own, x, 2.0) is not a
    assert [array.kind for array in graph.arrays] == ["input", "table"]
    own[:] = 0.0
    assert np.array_equal(graph.arrays[1].data, MATRIX)


@pytest.mark.parametrize("wrong", [np.zeros(3), np.zeros((2, 2, 2)), np.zeros((0, 3))])
def test_only_matrices(wrong):
    graph = Graph()
    with pytest.raises(TraceError, match="lookup takes a matrix"):
        ops.lookup(wrong, graph.load(graph.array("x", "input", 1), 0), 0.0)
