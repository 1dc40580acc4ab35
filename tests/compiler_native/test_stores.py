"""The passes about stores: results leave early, and what does not change is not stored."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.random_programs import random_inputs, random_looped, random_straight

from kinetree import ops
from kinetree.compiler.check import check
from kinetree.compiler.emit import python
from kinetree.compiler.hasten import hasten
from kinetree.compiler.idle import drop_idle_stores
from kinetree.compiler.program import Program, walk
from kinetree.ops import Expr, Graph, Store

SOURCES = [lambda seed: random_straight(seed, length=80), lambda seed: random_looped(seed, nodes=6)]


@pytest.mark.parametrize("rewrite", [hasten, drop_idle_stores])
@pytest.mark.parametrize("source", SOURCES, ids=["straight", "looped"])
@pytest.mark.parametrize("seed", range(10))
def test_results_do_not_change(rewrite, source, seed) -> None:
    program = source(seed)
    inputs = random_inputs(program, seed, (3,))
    before, after = python.run(program, *inputs), python.run(check(rewrite(program)), *inputs)
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
    statements = hasten(Program("p", (x,), (y,), (), (), graph.root, graph, guard=guard)).body.statements
    places = {s.value: k for k, s in enumerate(statements) if isinstance(s, Store) and s.array is y}
    for value, place in places.items():
        assert isinstance(value, Expr) and 0 < place - statements.index(value) <= 4
    first = next(k for k, s in enumerate(statements) if isinstance(s, Expr) and s.op == "min")
    assert first < statements.index(next(s for s in statements if isinstance(s, Store) and s.index == 2))


def test_a_value_put_back_is_not_stored() -> None:
    graph = Graph()
    x, y = graph.array("x", "input", 1), graph.array("y", "output", 1)
    a, b = graph.array("a", "work", 2), graph.array("b", "work", 1)
    for array in (a, b):
        graph.store(array, 0, graph.load(x, 0))
    with graph.loop(3):
        kept, changed = graph.load(a, 0), graph.load(b, 0)
        graph.store(a, 1, kept * 2.0)
        graph.store(a, 0, kept)  # idle: a[1] is another element
        graph.store(b, 0, changed + kept)
        graph.store(b, 0, changed)  # not idle: b[0] has changed
    graph.store(y, 0, graph.load(a, 0) + graph.load(b, 0))
    program = Program("p", (x,), (y,), (a, b), (), graph.root, graph)
    shorter = drop_idle_stores(program)

    def stores(p: Program) -> int:
        return sum(isinstance(s, Store) for s in walk(p.body))

    assert stores(shorter) == stores(program) - 1
    state = np.array([1.25])
    np.testing.assert_array_equal(python.run(shorter, state)[0][0], python.run(program, state)[0][0])
