"""Numbers that are near others: sines and cosines along the tangent."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree import ops
from kinetree.compiler.ir.graph import Graph


@kt.function("x(2), d(2) -> y(6)")
def both(model, x, d):
    """Functions of numbers that are near others."""
    near = [ops.nearby(a, b) for a, b in zip(x, d, strict=True)]
    return np.array([*near, ops.sin(near[0]), ops.cos(near[0]), ops.sin(-near[1]), ops.cos(-near[1])])


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-5])
def test_first_order(size):
    model, rng = kt.zoo.pendulum(), np.random.default_rng(0)
    x, d = rng.normal(size=2), size * rng.normal(size=2)
    z = x + d
    expected = [*z, np.sin(z[0]), np.cos(z[0]), -np.sin(z[1]), np.cos(z[1])]
    found = both(model, x, d)
    assert np.abs(found - expected).max() <= size**2 * 4 + 1e-15
    assert np.abs(both(model, x, d, target="eager") - expected).max() < 1e-15


def test_no_new_sines():
    graph = Graph()
    x = graph.load(graph.array("x", "input", 3), 0)
    d = graph.load(graph.array("d", "input", 3), 1)
    ops.sin(x), ops.cos(x)
    count = sum(s.op in ("sin", "cos") for s in graph.root.statements)
    ops.sin(ops.nearby(x, d)), ops.cos(ops.nearby(ops.nearby(x, d), d))
    assert sum(s.op in ("sin", "cos") for s in graph.root.statements) == count == 2
    assert ops.nearby(x, 0.0) is x and ops.sin(ops.nearby(x, 0.0)) is ops.sin(x)
    assert ops.nearby(0.5, 0.25) == 0.75
