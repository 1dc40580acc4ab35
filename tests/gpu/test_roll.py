"""Long runs of copies as loops: the bits of the program as it was."""

from __future__ import annotations

import numpy as np
import pytest
from tests.gpu.emulator import Emulated

import kinetree as kt
from kinetree.compiler.ir.check import check
from kinetree.compiler.ir.graph import Clear, Graph, Loop, Store
from kinetree.compiler.ir.program import Program, walk
from kinetree.compiler.passes import roll
from kinetree.ops import Expr
from kinetree.stages import TARGETS
from kinetree.stages.compile import job_for
from kinetree.stages.targets.cuda_code import same_bits


def test_second_derivatives(fake, monkeypatch):
    """Copies to results, and zeros."""
    monkeypatch.setattr(roll, "LONG", 5)
    model = kt.zoo.chain(5)
    job = job_for("test", kt.inverse_dynamics_second_derivatives, model, None, {}, "float64", None)
    program = job.program(0)
    rolled = roll.roll(program)
    before, after = (sum(isinstance(s, Store) for s in walk(p.body)) for p in (program, rolled))
    assert after < before and any(isinstance(s, Clear) for s in rolled.body.statements)
    q, v = model.random_state(0, 3)
    inputs = (q, v, v)
    expected = TARGETS["cpu"].executable(job)(*inputs)
    found, _ = Emulated(rolled, "float64")(*inputs, blocks=1)
    assert all(same_bits(a.reshape(b.shape), b) for a, b in zip(found, expected, strict=True))


def test_what_starts_at_zero_is_cleared_once(monkeypatch):
    """Also results that have elements without a value."""
    monkeypatch.setattr(roll, "LONG", 3)
    graph = Graph()
    x, y = graph.array("x", "input", 1), graph.array("y", "output", 10)
    graph.clear(y)
    for k in range(8):
        graph.store(y, k, graph.load(x, 0) if k == 3 else 0.0)
    rolled = roll.roll(check(Program.of("zeros", graph, (x,), (y,))))
    assert [type(s) for s in check(rolled).body.statements] == [Clear, Expr, Store]


def recorded(change: str) -> Program:
    """Ten numbers that go through memory to a result, with something that may forbid a loop."""
    graph = Graph()
    x, y, w = graph.array("x", "input", 10), graph.array("y", "output", 10), graph.array("w", "work", 10)
    for k in range(10):
        graph.store(w, k, graph.load(x, k) * 2.0)
    held = [graph.load(w, k) for k in range(10)]
    if change == "written later":
        graph.store(w, 3, graph.load(x, 0))
    for k in range(10):
        graph.store(y, 9 - k, held[k])
    if change == "stored twice":
        graph.store(y, 4, graph.load(x, 1))
    return Program.of("copies", graph, (x,), (y,))


@pytest.mark.parametrize("change", ["", "written later", "stored twice"])
def test_only_what_changes_no_more(change, monkeypatch):
    monkeypatch.setattr(roll, "LONG", 5)
    program = recorded(change)
    rolled = roll.roll(program)
    check(rolled)
    assert any(isinstance(s, Loop) for s in rolled.body.statements) == (not change)
    x = np.random.default_rng(0).normal(size=(3, 10))
    (before,), (after,) = (Emulated(p, "float64")(x, blocks=1)[0] for p in (recorded(change), rolled))
    assert same_bits(before, after)
