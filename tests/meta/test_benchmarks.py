"""The benchmarks run and time what they say; how long anything takes is not tested."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import bridges, calls, loops, table
from benchmarks.measure import Call, race
from benchmarks.pinocchio_peer import BATCHES, FUNCTIONS

import kinetree as kt

WAYS = {"by position", "by name", "out", "lists", "batch of one"}


@pytest.mark.parametrize("name", ["inverse_dynamics", "jacobian", "composite_moments", "nullify_momentum"])
def test_every_way_to_call_a_function(name):
    row = calls.row(name, 1e-4)
    assert set(row["calls"]) - {"pinocchio"} == WAYS
    assert all(timing["median"] > 0 for timing in row["calls"].values())
    assert table.call_line(row).count("|") == table.CALL_HEAD.split("\n")[0].count("|")


def test_every_function_is_called():
    assert set(calls.functions()) == {n for n in kt.__all__ if isinstance(getattr(kt, n), kt.Function)}
    for name in calls.functions():
        function, model = getattr(kt, name), getattr(kt.zoo, calls.OTHERS.get(name, "arm7"))()
        arrays, options = calls.state(function, model)
        call = calls.written(function, model, arrays, options)
        result = call.function(*call.arguments, **call.keywords, target="eager")
        outputs = result if isinstance(result, tuple) else (result,)
        assert all(np.isfinite(x).all() for x in outputs), name


def test_a_call_is_made_as_it_is_written():
    seen = []
    Call(lambda *args, **keywords: seen.append((args, keywords)), [1, 2], {"out": 3}).loop()(2)
    assert seen == [((1, 2), {"out": 3})] * 2
    assert race({"f": Call(len, [()])}, 1e-4)["f"].median > 0


def test_the_others_have_what_they_are_asked_for():
    pin = pytest.importorskip("pinocchio")
    assert all(hasattr(pin, name) for name in (*FUNCTIONS.values(), *BATCHES.values()))
    assert all(hasattr(kt, name) for name in FUNCTIONS)


def test_batches_inside_other_libraries():
    row = bridges.row("arm7", "inverse_dynamics", 1e-4)
    assert set(row["batch"]) <= {"ours", *bridges.LIBRARIES} and row["batch"]["ours"]["median"] > 0
    assert bridges.line(row).count("|") == bridges.HEAD.split("\n")[0].count("|")


def test_loops_and_feet_on_the_ground():
    row = loops.row("four-bar", 1e-4)
    assert row["batch"]["median"] > 0 and set(row["single"]) <= {"ours", "pinocchio"}
    assert loops.line(row).count("|") == loops.HEAD.split("\n")[0].count("|")
    if "pinocchio" in row["single"]:
        assert row["difference"] < 1e-9
