"""Loops in dictionaries, JSON, pickles and digests: what is written reads back the same, or is refused."""

from __future__ import annotations

import copy
import json
import pickle
from functools import cache

import numpy as np
import pytest
from tests.loops.mechanisms import four_bar
from tests.loops.random_loop import RandomLoop

import kinetree as kt
from kinetree.errors import ModelError
from kinetree.stages.job import model_digest

MACHINES = (
    "four_bar",
    "slider_crank",
    "gripper",
    "differential",
    "parallel_ankle",
    "delta",
    "cassie_leg",
    "stewart",
)


def again(model: kt.Model) -> kt.Model:
    return kt.Model.from_dict(json.loads(json.dumps(model.to_dict())))


@pytest.mark.parametrize("name", MACHINES)
def test_machines_read_back_the_same(name):
    model = getattr(kt.zoo, name)()
    assert model.loops and again(model) == model
    assert pickle.loads(pickle.dumps(model)) == model
    assert model_digest(again(model)) == model_digest(model)


def test_random_loops_read_back_the_same():
    count = 0
    for seed in range(12):
        loop = RandomLoop(seed)
        if not loop.count:
            continue
        try:
            model = loop.build()
        except ModelError:
            continue
        assert again(model) == model
        count += bool(model.loops)
    assert count > 6


def test_the_version_tells_of_loops():
    """Files without loops are those of before, so that older readers take them."""
    assert kt.zoo.pendulum().to_dict()["version"] == 1 and "loops" not in kt.zoo.pendulum().to_dict()
    assert kt.zoo.four_bar().to_dict()["version"] == 2


def test_a_file_keeps_loops(tmp_path):
    model = kt.zoo.delta()
    path = kt.save(model, tmp_path / "delta.json")
    assert kt.load(path) == model
    assert kt.load(path, loops="ignore") == model.spanning_tree


def test_what_is_left_out_is_solved_anew():
    model = kt.zoo.four_bar()
    data = model.to_dict()
    (entry,) = data["loops"]
    bare = {"closures": entry["closures"]}
    data["loops"] = [bare | {"independent": entry["independent"]}]
    assert kt.Model.from_dict(data).loops[0].independent == model.loops[0].independent
    data["loops"] = [bare]
    other = kt.Model.from_dict(data)
    assert other.nv == model.nv
    data["loops"] = [bare | {"independent": [[model.loops[0].dependent[0][0], 0]]}]
    assert kt.Model.from_dict(data).loops[0].independent == model.loops[0].dependent[:1]


def test_models_differ_in_the_choice_of_velocities():
    one, two = kt.zoo.parallel_ankle(), kt.zoo.parallel_ankle(independent=("pitch", "roll"))
    assert one.bodies == two.bodies and one != two
    assert model_digest(one) != model_digest(two)


BAD = {
    "independent": ([], [["crank", 1]], [["nobody", 0]], "crank", None, [["crank", 0.5]], [[0, "crank"]]),
    "dependent": ([], [["crank", 0]], {}, 3),
    "rows": ([], [[0, 0], [0, 0]], [[0, 0], [7, 0]], [[0, 0], [0, 99]], [["a", 0]], None),
    "pivots": ([], [0.0, 1.0], [-1.0, 1.0], [1.0, float("inf")], ["x", 1.0], 1.0),
    "reference": ({}, [], {"crank": [0.0]}, {"crank": [0.0], "coupler": [0.1], "rocker": [0.1]}, "x"),
    "size": (0.0, -1.0, 1e9, 1e-9, float("nan"), "x", None),
    "slack": (-1.0, float("nan"), "x"),
    "closures": ([], {}, None, [3], "x"),
}


@pytest.mark.parametrize("key, value", [(key, value) for key, values in BAD.items() for value in values])
def test_hostile_entries_are_refused(key, value):
    data = four_bar_data()
    data["loops"][0][key] = value
    with pytest.raises(ModelError):
        kt.Model.from_dict(data)


@pytest.mark.parametrize(
    "change",
    [
        {"body": "nobody"},
        {"other": "coupler"},
        {"type": "free"},
        {"type": "hinge of a door"},
        {"parameters": [1, 2]},
        {"parameters": "x"},
        {"placement": {"R": [[2, 0, 0], [0, 1, 0], [0, 0, 1]], "p": [0, 0, 0]}},
        {"placement": {"p": [0, 0, 0]}},
        {"other_placement": {"R": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "p": [0, float("nan"), 0]}},
        {"length": 1.0},
        {"coefficients": [0, 1]},
        {"surprise": 1},
        {"name": ""},
        {"name": 3},
    ],
)
def test_hostile_closures_are_refused(change):
    data = four_bar_data()
    data["loops"][0]["closures"][0] |= change
    with pytest.raises(ModelError):
        kt.Model.from_dict(data)


def test_a_closed_position_that_is_not_one_is_refused_by_name():
    data = four_bar_data()
    data["loops"][0]["reference"]["rocker"] = [0.1]
    with pytest.raises(ModelError, match=r"'four_bar' is open at its reference"):
        kt.Model.from_dict(data)


def test_closures_that_share_joints_make_one_loop():
    data = kt.zoo.parallel_ankle().to_dict()
    (entry,) = data["loops"]
    halves = []
    for k, closure in enumerate(entry["closures"]):
        half = copy.deepcopy(entry)
        half["closures"] = [closure]
        half["rows"] = [[0, r] for c, r in entry["rows"] if c == k]
        halves.append(half)
    data["loops"] = halves
    with pytest.raises(ModelError, match="share joints"):
        kt.Model.from_dict(data)


def test_symbols_are_refused():
    sympy = pytest.importorskip("sympy")
    b = kt.ModelBuilder("m")
    hinge = kt.Revolute((0, 1, 0))
    body = kt.Inertia(1.0, (0.1, 0, 0), np.eye(3) * 0.1)
    b.add_body("a", None, hinge, None, body)
    b.add_body("b", None, hinge, kt.Pose(p=(sympy.Symbol("l"), 0, 0)), body)
    b.add_distance("a", "b", 0.5)
    with pytest.raises(ModelError, match="symbols"):
        b.build()


def four_bar_data() -> dict:
    return json.loads(_four_bar_text())


@cache
def _four_bar_text() -> str:
    return json.dumps(four_bar().to_dict())
