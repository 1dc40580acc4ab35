"""Results are stored as soon as they are known."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.random_programs import random_inputs, random_looped, random_straight

from kinetree import ops
from kinetree.compiler.emit import python
from kinetree.compiler.ir.check import check
from kinetree.compiler.ir.graph import Graph, Store
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.store_early import store_early
from kinetree.ops import Expr

SOURCES = [lambda seed: random_straight(seed, length=80), lambda seed: random_looped(seed, nodes=6)]


@pytest.mark.parametrize("source", SOURCES, ids=["straight", "looped"])
@pytest.mark.parametrize("seed", range(10))
def test_results_do_not_change(source, seed) -> None:
    program = source(seed)
    inputs = random_inputs(program, seed, (3,))
    before, after = python.run(program, *inputs), python.run(check(store_early(program)), *inputs)
    for ours, theirs in zip(after[0], before[0]):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(after[1], before[1])


def test_a_store_follows_its_value() -> None:
    graph = Graph()
    x, y = graph.array("x", "input", 3), graph.array("y", "output", 3)
    guard = graph.array("guard", "output", 1)
    values = [ops.sin(graph.load(x, k)) for k in range(3)]
    pivots = [v * v for v in values]
    for k in range(3):
        graph.store(y, k, pivots[k])
    smallest = ops.min(ops.min(pivots[0] + 1.0, pivots[1] + 2.0), pivots[2] + 3.0)
    graph.store(guard, 0, smallest)
    statements = store_early(Program("p", (x,), (y,), (), (), graph.root, graph, guard=guard)).body.statements
    places = {s.value: k for k, s in enumerate(statements) if isinstance(s, Store) and s.array is y}
    for value, place in places.items():
        assert isinstance(value, Expr) and 0 < place - statements.index(value) <= 4
    first = next(k for k, s in enumerate(statements) if isinstance(s, Expr) and s.op == "min")
    assert first < statements.index(next(s for s in statements if isinstance(s, Store) and s.index == 2))
