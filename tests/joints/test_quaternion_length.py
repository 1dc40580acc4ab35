"""A quaternion in q that is far from unit length is an error that names the joint; rounding is normalised."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import StateError
from kinetree.joints.base import LENGTH_TOLERANCE

LINK = kt.Inertia(1.5, (0.1, -0.2, 0.3), [[0.5, 0.02, 0.01], [0.02, 0.6, -0.03], [0.01, -0.03, 0.4]])
TARGETS = ["eager", "cpu"]
MODES = ["unrolled", "looped"]
WRONG = [0.0, 0.2, 1.7, 1 - 1.5 * LENGTH_TOLERANCE, 1 + 1.5 * LENGTH_TOLERANCE, 1e155, 1e-160, 1e-300, 1e300]


def floating_ball() -> kt.Model:
    builder = kt.ModelBuilder("floating ball")
    builder.add_body("base", None, kt.Free(), inertia=LINK, joint_name="root")
    builder.add_body("ball", "base", kt.Spherical(), kt.Pose(p=(0.2, 0.1, -0.3)), LINK)
    builder.add_body("arm", "ball", kt.Revolute((0, 1, 0)), kt.Pose(p=(0.1, 0.0, 0.4)), LINK)
    return builder.build()


@pytest.fixture(scope="module")
def model() -> kt.Model:
    return floating_ball()


def stretched(q: np.ndarray, length: float, start: int = 0) -> np.ndarray:
    out = q.copy()
    out[..., start : start + 4] *= length
    return out


def calls(model: kt.Model, q: np.ndarray) -> dict:
    rng = np.random.default_rng(1)
    v, a = rng.normal(size=(2, model.nv))
    return {
        kt.inverse_dynamics: (q, v, a),
        kt.forward_dynamics: (q, v, a),
        kt.mass_matrix: (q,),
        kt.placements: (q,),
        kt.coriolis_matrix: (q, v),
        kt.kinetic_energy: (q, v),
    }


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("length", [1 - 0.9 * LENGTH_TOLERANCE, 1 + 0.9 * LENGTH_TOLERANCE])
def test_small_deviations_are_normalised(model, target, length):
    q, _ = model.random_state(3)
    longer = stretched(stretched(q, length), 2 - length, 7)
    for function, inputs in calls(model, q).items():
        exact = function(model, *inputs, target=target)
        found = function(model, longer, *inputs[1:], target=target)
        assert np.allclose(found, exact, rtol=1e-12, atol=1e-11), function


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("start, joint", [(0, "root"), (7, "ball")])
@pytest.mark.parametrize("length", WRONG)
def test_wrong_lengths_are_refused(model, target, start, joint, length):
    q, _ = model.random_state(3)
    for function, inputs in calls(model, q).items():
        with pytest.raises(StateError) as error:
            function(model, stretched(q, length, start), *inputs[1:], target=target)
        message = str(error.value)
        assert f"joint '{joint}'" in message and "model.neutral()" in message and "has length" in message
        assert "\n" not in message


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("length", WRONG)
def test_every_trace_has_the_guard(model, mode, length):
    q, _ = model.random_state(3)
    for function, inputs in calls(model, q).items():
        kernel = kt.compile(function, model, mode=mode)
        kernel(*inputs)
        for start in (0, 7):
            with pytest.raises(StateError, match="has length"):
                kernel(stretched(q, length, start), *inputs[1:])


@pytest.mark.parametrize("length", [0.0, 0.2, 1.7, 1e20, 1e-25])
def test_single_precision(model, length):
    q, _ = model.random_state(3)
    kernel = kt.compile(kt.mass_matrix, model, dtype="float32")
    assert np.isfinite(kernel(q.astype(np.float32))).all()
    with pytest.raises(StateError, match="joint 'root'"):
        kernel(stretched(q, length).astype(np.float32))


@pytest.mark.parametrize("target", TARGETS)
def test_zeros_and_the_order_of_a_peer_are_refused(model, target):
    zeros = np.zeros(model.nq)
    q = model.neutral()
    q[4:7] = 0.3, -0.2, 5.0
    peer = np.concatenate([q[4:7], q[:4], q[7:]])  # position first
    for wrong in (zeros, peer):
        with pytest.raises(StateError, match="joint 'root'"):
            kt.mass_matrix(model, wrong, target=target)


@pytest.mark.parametrize("target", TARGETS)
def test_the_first_wrong_state_of_a_batch_is_named(model, target):
    q, _ = model.random_state(3, batch=(4, 50))
    q[2, 17, 7:11] *= 3.0
    with pytest.raises(StateError, match=r"joint 'ball'.*state \(2, 17\)"):
        kt.mass_matrix(model, q, target=target)
    with pytest.raises(StateError, match=r"joint 'ball'.*state 17\b"):
        kt.mass_matrix(model, q[2], target=target)
    with pytest.raises(StateError, match=r"integrate: joint 'ball'.*state \(2, 17\)"):
        model.integrate(q, np.zeros(model.nv))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_goes_through_as_nan(model, target, bad):
    q, _ = model.random_state(3)
    q[1] = bad
    assert np.isnan(kt.mass_matrix(model, q, target=target)).all()
    assert np.isnan(model.integrate(q, np.zeros(model.nv))[:4]).all()


def test_a_model_without_quaternions_has_no_guard():
    arm = kt.zoo.arm7()
    assert kt.inverse_dynamics.lower(arm, ("q", "v", "a"), {}).guard is None


@pytest.mark.parametrize("length", WRONG)
def test_steps_differences_and_rates_check_alike(model, length):
    q, v = model.random_state(3)
    other, _ = model.random_state(4)
    for batch in ((), (1,), (3, 2)):
        good = np.broadcast_to(q, (*batch, model.nq))
        for start in (0, 7):
            wrong = stretched(good, length, start)
            for method, inputs in (
                (model.integrate, (wrong, v)),
                (model.rate, (wrong, v)),
                (model.difference, (wrong, other)),
                (model.difference, (other, wrong)),
            ):
                with pytest.raises(StateError, match="has length"):
                    method(*inputs)


def test_one_state_and_batches_give_the_same_bits(model):
    rng = np.random.default_rng(8)
    q, v = model.random_state(rng, batch=20)
    other, _ = model.random_state(rng, batch=20)
    for method, a, b in ((model.integrate, q, v), (model.difference, q, other), (model.rate, q, v)):
        whole = method(a, b)
        assert np.array_equal(whole, [method(x, y) for x, y in zip(a, b)])


class TestNormalize:
    @pytest.mark.parametrize("length", [w for w in WRONG if w])
    def test_any_length(self, model, length):
        q, _ = model.random_state(3)
        for start in (0, 7):
            assert model.normalize(stretched(q, length, start)) == pytest.approx(q, rel=1e-14, abs=1e-15)
        batch = np.stack([q, stretched(q, length), stretched(q, length, 7)])
        assert np.allclose(model.normalize(batch), q, rtol=1e-14, atol=1e-15)
        assert np.isfinite(kt.mass_matrix(model, model.normalize(batch))).all()

    def test_what_has_no_quaternion_stays(self, model):
        q, _ = model.random_state(3)
        longer = stretched(q, 2.0)
        assert np.array_equal(model.normalize(longer)[[4, 5, 6, 11]], q[[4, 5, 6, 11]])
        assert longer is not model.normalize(longer) and np.array_equal(longer, stretched(q, 2.0))

    def test_zero_is_refused(self, model):
        q, _ = model.random_state(3, batch=3)
        q[2, 7:11] = 0.0
        with pytest.raises(
            StateError, match="joint 'ball' of model 'floating ball': its quaternion is zero in state 2"
        ):
            model.normalize(q)
        with pytest.raises(StateError, match="joint 'root'"):
            model.normalize(np.zeros(model.nq))

    def test_nan_stays(self, model):
        q = model.neutral()
        q[0] = np.nan
        assert np.isnan(model.normalize(q)[:4]).all()
