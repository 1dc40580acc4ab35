"""Known forms of a call lead straight to machine code, and each to its own."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref

import numpy as np
import pytest

import kinetree as kt
from kinetree import zoo
from kinetree.compiler.runtime import fastcall
from kinetree.errors import ArgumentError, KinetreeError, ShapeError

pytestmark = pytest.mark.skipif(not fastcall.is_available(), reason="this Python has no fast calls")
RNG = np.random.default_rng(11)


def state(model: kt.Model) -> list[np.ndarray]:
    return [np.array(x) for x in (*model.random_state(RNG), RNG.normal(size=model.nv))]


class Calls:
    """Counts the Python functions that run."""

    def __enter__(self) -> Calls:
        self.count = 0
        sys.setprofile(self._note)
        return self

    def _note(self, frame, event, argument) -> None:
        self.count += event == "call" and frame.f_globals["__name__"].startswith("kinetree")

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)


def ways(model, q, v, a, out):
    """Every way to ask for the same torques."""
    return [
        lambda: kt.inverse_dynamics(model, q, v, a),
        lambda: kt.inverse_dynamics(model, q, v, a=a),
        lambda: kt.inverse_dynamics(model, q=q, v=v, a=a),
        lambda: kt.inverse_dynamics(model, a=a, v=v, q=q),
        lambda: kt.inverse_dynamics(model, q, v, a, None),
        lambda: kt.inverse_dynamics(model, q, v, a, out=out),
        lambda: kt.inverse_dynamics(model, q, a=a, v=v, out=out),
        lambda: kt.inverse_dynamics(model, q[None], v[None], a[None])[0],
    ]


def test_known_forms_need_no_python() -> None:
    model = zoo.chain(5)
    q, v, a = state(model)
    calls = ways(model, q, v, a, np.empty(model.nv))
    expected = kt.inverse_dynamics(model, q, v, a, target="eager")
    for call in calls * 3:
        np.testing.assert_allclose(call(), expected, rtol=0, atol=1e-9)
    for call in calls:
        with Calls() as made:
            result = call()
        assert made.count == 0
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-9)


def test_options_decide_which_kernel_runs() -> None:
    model = zoo.chain(4)
    q = state(model)[0]
    names = model.body_names
    expected = {name: kt.frame_placement(model, q, name, target="eager") for name in names}
    for _ in range(3):
        for name in names:
            np.testing.assert_allclose(kt.frame_placement(model, q, name), expected[name], atol=1e-12)
            np.testing.assert_allclose(kt.frame_placement(model, q, frame=name), expected[name], atol=1e-12)
            np.testing.assert_allclose(kt.frame_placement(model, frame=name, q=q), expected[name], atol=1e-12)
    other = "".join(names[1])  # equal, but another object
    np.testing.assert_allclose(kt.frame_placement(model, q, other), expected[other], atol=1e-12)
    with pytest.raises(KinetreeError):
        kt.frame_placement(model, q, "nowhere")


def test_constraints_are_told_by_themselves() -> None:
    """Values that cannot change, in a tuple, need no Python either; others, and lists, are not mistaken."""
    model = zoo.quadruped()
    q, v, tau = state(model)
    feet = [kt.PointConstraint(name) for name in model.frame_names]
    hinge = kt.LoopConstraint("front_left_shank", "front_right_shank", kt.Revolute((0, 1, 0)))
    kinds = {"some": tuple(feet[:2]), "others": tuple(feet[2:]), "list": feet[:2], "loop": (hinge,)}
    expected = {key: kt.constrained_dynamics(model, q, v, tau, c, target="eager") for key, c in kinds.items()}
    for key, constraints in kinds.items():
        for _ in range(3):
            found = kt.constrained_dynamics(model, q, v, tau, constraints)
            np.testing.assert_allclose(found.acceleration, expected[key].acceleration, rtol=1e-7, atol=1e-7)
    with Calls() as made:
        kt.constrained_dynamics(model, q, v, tau, kinds["some"])
    assert made.count == 0
    kinds["list"][0] = feet[2]
    found = kt.constrained_dynamics(model, q, v, tau, kinds["list"])
    wanted = kt.constrained_dynamics(model, q, v, tau, (feet[2], feet[1]), target="eager")
    np.testing.assert_allclose(found.acceleration, wanted.acceleration, rtol=1e-7, atol=1e-7)


def test_more_models_than_forms_that_are_kept() -> None:
    models = [zoo.chain(k) for k in range(1, 14)]
    states = [state(model) for model in models]
    expected = [kt.inverse_dynamics(m, *x, target="eager") for m, x in zip(models, states)]
    for _ in range(4):
        for m, x, want in zip(models, states, expected):
            np.testing.assert_allclose(kt.inverse_dynamics(m, *x), want, rtol=0, atol=1e-9)
        with pytest.raises(ShapeError):
            kt.inverse_dynamics(models[0], *states[1])


def test_a_model_that_nobody_holds_goes_and_its_place_is_not_mistaken() -> None:
    for k in range(4):
        model = zoo.chain(1 + k % 2)
        x = state(model)
        for _ in range(3):
            result = kt.inverse_dynamics(model, *x)
        np.testing.assert_allclose(result, kt.inverse_dynamics(model, *x, target="eager"), atol=1e-9)
        gone = weakref.ref(model)
        del model
        gc.collect()
        assert gone() is None


def test_what_is_not_for_machine_code() -> None:
    model = zoo.chain(3)
    q, v, a = state(model)
    for _ in range(3):
        expected = kt.inverse_dynamics(model, q, v, a)
    assert kt.inverse_dynamics(model, *(x.astype(np.float32) for x in (q, v, a))).dtype == np.float32
    assert kt.inverse_dynamics(model, q + 0j, v, a).dtype == np.complex128
    objects = kt.inverse_dynamics(model, q.astype(object), v, a)  # floats, if they hold floats
    np.testing.assert_allclose(objects, expected, rtol=1e-12, atol=1e-12)
    for x in (q.tolist(), np.repeat(q, 2)[::2], q.astype(">f8")):
        np.testing.assert_array_equal(kt.inverse_dynamics(model, x, v, a), expected)
    np.testing.assert_array_equal(kt.inverse_dynamics(model, q, v, a, target="cpu"), expected)
    many = kt.inverse_dynamics(model, np.tile(q, (2, 1, 1)), np.tile(v, (1, 3, 1)), a)
    np.testing.assert_array_equal(many, np.broadcast_to(expected, (2, 3, model.nv)))
    with pytest.raises(ArgumentError):
        kt.inverse_dynamics(model, q, v)
    with pytest.raises(ArgumentError):
        kt.inverse_dynamics(model, q, v, a, q=q)
    with pytest.raises(ArgumentError):
        kt.inverse_dynamics(model, q, v, oops=a)
    with pytest.raises(ArgumentError):
        kt.inverse_dynamics("model", q, v, a)
    with pytest.raises(TypeError):
        kt.inverse_dynamics()
    with pytest.raises(ShapeError):
        kt.inverse_dynamics(model, q[1:], v, a)
    assert np.isnan(kt.inverse_dynamics(model, q * np.nan, v, a)).all()


def test_named_results() -> None:
    model = zoo.chain(3)
    x = state(model)
    out = tuple(np.empty((3, 3)) for _ in range(3))
    expected = kt.inverse_dynamics_derivatives(model, *x, target="eager")
    for _ in range(4):
        for found in (
            kt.inverse_dynamics_derivatives(model, *x),
            kt.inverse_dynamics_derivatives(model, *x, out=out),
        ):
            assert type(found) is type(expected) and found._fields == expected._fields
            np.testing.assert_allclose(np.array(found), np.array(expected), rtol=0, atol=1e-9)
    assert all(a is b for a, b in zip(found, out))
    assert gc.is_tracked(found) and found._replace() == found


def test_functions_stay_what_they_are() -> None:
    @kt.function("q -> y")
    def first(model, q, *, scale=2.0):
        return scale * q[0]

    model = zoo.chain(2)
    q = np.array([0.5, 0.25])
    for _ in range(3):
        assert first(model, q) == 1.0
    other = first.with_options(scale=4.0)
    for _ in range(3):
        assert other(model, q) == 2.0 and first(model, q) == 1.0
    assert isinstance(first, kt.Function) and copy.copy(kt.inverse_dynamics) is kt.inverse_dynamics
    assert pickle.loads(pickle.dumps(kt.inverse_dynamics)) is kt.inverse_dynamics
    slope = kt.jvp_of(kt.inverse_dynamics)
    x = state(model)
    for _ in range(3):
        slope(model, *x, d_q=q)
    assert pickle.loads(pickle.dumps(slope)) is slope


def test_wrenches_by_name_are_not_taken_for_others() -> None:
    model = zoo.chain(3)
    q, wrench = state(model)[0], np.arange(6.0)
    tip = model.body_names[-1]
    for _ in range(3):
        found = kt.external_wrenches(model, q, {tip: wrench})
    np.testing.assert_allclose(found[-1], found.sum(axis=0), atol=1e-12)
    for _ in range(2):
        with pytest.raises(ShapeError):
            kt.external_wrenches(model, q, wrench[None])


def test_references_are_stable() -> None:
    model = zoo.chain(3)
    q, v, a = state(model)
    calls = ways(model, q, v, a, np.empty(3))
    out = tuple(np.empty((3, 3)) for _ in range(3))

    def everything() -> None:
        for call in calls:
            call()
        kt.inverse_dynamics_derivatives(model, q, v, a, out=out)
        kt.inverse_dynamics_derivatives(model, q=q, v=v, a=a)
        kt.inverse_dynamics(model, q.tolist(), v, a)
        with pytest.raises(ShapeError):
            kt.inverse_dynamics(model, v[1:], v, a)

    kind = type(kt.inverse_dynamics_derivatives(model, q, v, a))
    watched = (model, q, v, a, *out, out, kind, None, "out", kt.inverse_dynamics, tuple)
    for _ in range(3):
        everything()
    gc.collect()
    before = [sys.getrefcount(o) for o in watched]
    for _ in range(200):
        everything()
    gc.collect()
    after = [sys.getrefcount(o) for o in watched]
    assert all(abs(x - y) < 20 for x, y in zip(after, before)), list(zip(before, after))
