"""Dictionaries and JSON keep a model bit by bit."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import sympy
from tests.model.samples import figure_tree, rich_model

import kinetree as kt
from kinetree import zoo
from kinetree.errors import KinetreeError, ModelError
from kinetree.model import Model

MODELS = [getattr(zoo, name) for name in zoo.__all__] + [rich_model, figure_tree]


@pytest.mark.parametrize("make", MODELS)
def test_round_trip(make):
    model = make()
    data = model.to_dict()
    text = json.dumps(data, allow_nan=False)
    again = Model.from_dict(json.loads(text))
    assert again == model
    assert again.to_dict() == data
    for old, new in zip(model.bodies, again.bodies):
        for a, b in zip(old.inertia.parameters, new.inertia.parameters):
            assert float(a).hex() == float(b).hex()


def test_awkward_floats_survive():
    model = zoo.pendulum(math.pi, 1 / 3, 1e-300, 5e-324)
    again = Model.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again.bodies[0].inertia == model.bodies[0].inertia
    assert again.gravity[2] == -5e-324


def test_bodies_in_any_order(rng):
    data = figure_tree().to_dict()
    shuffled = dict(data, bodies=[data["bodies"][i] for i in rng.permutation(10)])
    model = Model.from_dict(shuffled)
    assert sorted(model.body_names) == sorted(figure_tree().body_names)
    for name, parent in zip(model.body_names, model.parents):
        expected = figure_tree().parents[figure_tree().body_index(name) - 1]
        assert (model.body_names[parent - 1] if parent else "world") == (
            f"b{expected}" if expected else "world"
        )
    assert Model.from_dict(dict(data, bodies=data["bodies"][::-1])).nbodies == 10


def test_a_minimal_dictionary():
    model = Model.from_dict(
        {"name": "m", "bodies": [{"name": "a", "type": "revolute", "parameters": [0, 0, 1]}]}
    )
    assert model.nv == 1 and model.gravity == (0.0, 0.0, -9.81)


def test_deep_dictionary_does_not_recurse():
    count = 3000
    bodies = [{"name": f"b{i}", "parent": f"b{i - 1}" if i else "world"} for i in reversed(range(count))]
    assert Model.from_dict({"name": "deep", "bodies": bodies}).depth == count


def test_what_was_allowed_stays_allowed():
    """The published inertia of link 1 of the PUMA is not that of a body: the dictionary says so."""
    data = zoo.puma560().to_dict()
    assert data["check"] == "finite" and zoo.arm7().to_dict()["check"] == "physical"
    assert Model.from_dict(data) == zoo.puma560()
    with pytest.raises(ModelError, match="link1"):
        Model.from_dict(data, check="physical")


def test_symbols_cannot_be_written():
    with pytest.raises(ModelError, match="substitute values"):
        zoo.pendulum(sympy.Symbol("m")).to_dict()


JUNK = [None, True, -1, 0.5, math.nan, math.inf, "", "hip", [], [1], ["a"], {}, {"a": 1}, [[1, 2], [3]]]


def places(data, path=()):
    """The paths to every entry of nested dictionaries and lists."""
    if path:
        yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def test_junk_in_any_place_is_an_error_of_ours_or_a_model():
    """Nothing but KinetreeError, on one line, comes out of a dictionary with one wrong entry."""
    whole = rich_model().to_dict()
    frame = dict(whole["frames"][0], body="hip")
    small = dict(whole, bodies=whole["bodies"][:4], rotors=whole["rotors"][1:3], frames=[frame])
    text = json.dumps(small)
    Model.from_dict(small)
    for path in places(small):
        for junk in JUNK:
            data = json.loads(text)
            target = data
            for key in path[:-1]:
                target = target[key]
            target[path[-1]] = junk
            try:
                Model.from_dict(data)
            except KinetreeError as error:
                assert "\n" not in str(error), (path, junk)


def test_dynamics_after_a_round_trip(rng):
    model = rich_model()
    again = Model.from_dict(json.loads(json.dumps(model.to_dict())))
    q, v = model.random_state(rng)
    a = rng.standard_normal(model.nv)
    left, right = (kt.inverse_dynamics(m, q, v, a, target="eager") for m in (model, again))
    assert np.array_equal(left, right)
