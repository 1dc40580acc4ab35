"""Work arrays that hold one literal everywhere disappear, and nothing else does."""

from __future__ import annotations

import numpy as np

from kinetree.compiler.emit.python import run
from kinetree.compiler.ir.check import check
from kinetree.compiler.ir.graph import Graph
from kinetree.compiler.ir.program import Program
from kinetree.compiler.passes.literals import replace_constant_arrays


def looped(first: float, second: float, accumulate: bool = False) -> Program:
    """y = sum over k of (work[k] + x) x with work filled by two loops; derived = 0 if work = 0."""
    graph = Graph()
    x = graph.array("x", "input", 1)
    y = graph.array("y", "output", 1)
    work = graph.array("work", "work", 4)
    derived = graph.array("derived", "work", 4)
    with graph.loop(4) as k:
        graph.store(work, k, first)
    with graph.loop(4) as k:
        graph.store(work, k, second, accumulate)
        graph.store(derived, k, graph.load(work, k) * graph.load(x, 0))
    with graph.loop(4) as k:
        value = (graph.load(work, k) + graph.load(derived, k) + graph.load(x, 0)) * graph.load(x, 0)
        graph.store(y, 0, value, accumulate=True)
    graph.clear(y)
    return check(Program("p", (x,), (y,), (work, derived), (), graph.root, graph))


def outcome(program: Program) -> float:
    (result,), _ = run(program, np.array([1.5]))
    return float(result[0])


def test_a_chain_of_constant_arrays_disappears():
    program = looped(0.0, 0.0)
    short = check(replace_constant_arrays(program))
    assert not short.work
    assert outcome(short) == outcome(program)


def test_a_constant_that_is_not_zero():
    program = looped(2.0, 2.0)
    short = check(replace_constant_arrays(program))
    assert [array.name for array in short.work] == ["derived"]
    assert outcome(short) == outcome(program)


def test_two_numbers_or_a_sum_stay():
    for program in (looped(1.0, 2.0), looped(1.0, 1.0, accumulate=True)):
        short = replace_constant_arrays(program)
        assert len(short.work) == 2
        assert outcome(short) == outcome(program)
