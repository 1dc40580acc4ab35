"""Regressors, base parameters, and parameters from measured motion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.conftest import share
from tests.derivatives.cases import error, robot, tree

import kinetree as kt
from kinetree.identification import physical

EVERYTHING = ("rotors", "armature", "damping", "friction")


def all_parameters(model: kt.Model) -> np.ndarray:
    """The parameters in the order of the columns of the whole regressor."""
    names = kt.regressor_columns(model, ("armature",))[10 * model.nbodies :]
    geared = [n for n in kt.regressor_columns(model, ("damping",))[10 * model.nbodies :]]
    places = [geared.index(name.replace(".armature", ".damping")) for name in names]
    rotors = [np.array(rotor.inertia.parameters, float) for rotor in model.rotors]
    rest = (model.armature[places], model.damping, model.friction)
    return np.concatenate([model.parameters.ravel(), *rotors, *rest])


@pytest.mark.parametrize("seed", share(range(10), 2))
def test_forces_are_linear_in_the_parameters(seed):
    """With rotors, mimic joints and armatures; damping and friction are those of the joints."""
    quaternions = ("spherical", "free")
    c = tree(seed, 5)
    geared = all(b.joint.type_name not in quaternions or not any(b.armature) for b in c.model.bodies)
    damped = c.model.replace(
        damping={j: 0.3 for j in own_joints(c.model)}, friction={j: 0.2 for j in own_joints(c.model)}
    )
    if not c.n or not geared:
        return
    Y = c.run("torque_regressor", c.q, c.v, c.a)
    Y_all = kt.torque_regressor(damped, c.q, c.v, c.a, extra=EVERYTHING, target="eager")
    assert Y_all.shape[1] == len(kt.regressor_columns(damped, EVERYTHING))
    assert (Y_all[:, : Y.shape[1]] == Y).all()
    motors = c.run("inverse_dynamics", c.q, c.v, c.a) - kt.passive_force(damped, c.q, c.v, target="eager")
    assert error(Y_all @ all_parameters(damped), motors) < 1e-12


def own_joints(model: kt.Model) -> list[str]:
    return [b.joint_name for b in model.bodies if b.mimic is None and b.joint.nv]


@pytest.mark.parametrize("name", ["arm7", "flying"])
def test_energy_and_momentum(name):
    c = robot(name)
    pi = c.model.parameters.ravel()
    assert not c.model.rotors and not c.model.armature.any()
    assert (
        error(kt.torque_regressor(c.model, c.q, c.v, c.a) @ pi, c.run("inverse_dynamics", c.q, c.v, c.a))
        < 1e-13
    )
    rows = kt.energy_regressor(c.model, c.q, c.v)
    assert error(rows.kinetic @ pi, c.run("kinetic_energy", c.q, c.v)) < 1e-13
    assert error(rows.potential @ pi, c.run("potential_energy", c.q)) < 1e-13
    assert error(kt.momentum_regressor(c.model, c.q, c.v) @ pi, c.run("momentum", c.q, c.v)) < 1e-13


# Published numbers of base parameters: a pendulum about a horizontal axis, the Puma 560, and the 7-axis arm.
@pytest.mark.parametrize(("name", "count"), [("pendulum", 3), ("puma560", 36), ("arm7", 43)])
def test_base_parameters(name, count):
    c = robot(name)
    base = kt.base_parameters(c.model)
    assert base.rank == count == len(base.names)
    assert (base.matrix[:, base.independent] == np.eye(count)).all()
    rng = np.random.default_rng(1)
    q, v = c.model.random_state(rng, 20)
    Y = kt.torque_regressor(c.model, q, v, rng.normal(size=(20, c.n)))
    pi = rng.normal(size=Y.shape[-1])
    assert error(Y[..., base.independent] @ (base.matrix @ pi), Y @ pi) < 1e-11
    singular = np.linalg.svd(Y[..., base.independent].reshape(-1, count), compute_uv=False)
    assert singular[-1] > 1e-8 * singular[0]


def test_base_parameters_in_words():
    names = kt.base_parameters(kt.zoo.arm7()).names
    assert "link2.yy + link1.zz" in names


def measured(model: kt.Model, rng: Any, samples: int, noise: Any) -> tuple[Any, ...]:
    q, v = model.random_state(rng, samples)
    a = 2 * rng.normal(size=(samples, model.nv))
    tau = kt.inverse_dynamics(model, q, v, a) - kt.passive_force(model, q, v)
    return q, v, a, tau + noise * rng.normal(size=tau.shape)


NOISE = np.array([1.0, 1.0, 0.5, 0.5, 0.2, 0.2, 0.1])


def coverage(seeds: Any) -> tuple[float, float]:
    """How often the intervals of 95 % hold the truth, and the mean ratio of estimated to true noise."""
    model = kt.zoo.arm7()
    rng = np.random.default_rng(0)
    guess = model.with_parameters(model.parameters * rng.uniform(0.7, 1.3, size=(7, 1)))
    truth = kt.base_parameters(model).matrix @ model.parameters.ravel()
    held, ratios = [], []
    for seed in seeds:
        found = kt.identify(guess, *measured(model, np.random.default_rng([seed, 5]), 150, NOISE))
        low, high = found.base_interval(0.95)
        held.append((low < truth) & (truth < high))
        ratios.append(found.noise / NOISE)
        assert physical.are_positive(found.parameters)
    return float(np.mean(held)), float(np.mean(ratios))


def test_intervals_hold_the_truth_as_often_as_they_say():
    held, ratio = coverage(range(40))
    assert 0.92 < held < 0.98
    assert 0.97 < ratio < 1.03


@pytest.mark.long
def test_intervals_of_a_thousand_seeds():
    held, _ = coverage(range(1000, 2000))
    assert 0.94 < held < 0.96


def test_exact_data_give_the_parameters_back():
    """Without noise the base parameters come out, whatever the prior; the rest stays near it."""
    model = kt.zoo.arm7()
    rng = np.random.default_rng(3)
    guess = model.with_parameters(model.parameters * rng.uniform(0.8, 1.2, size=(7, 1)))
    q, v, a, tau = measured(model, rng, 100, 0.0)
    found = kt.identify(guess, q, v, a, tau, noise=1e-3)
    base = kt.base_parameters(model)
    assert error(found.base_values, base.matrix @ model.parameters.ravel()) < 1e-8
    assert error(base.matrix @ found.parameters.ravel(), base.matrix @ model.parameters.ravel()) < 1e-4
    again = kt.inverse_dynamics(found.model, q, v, a) - kt.passive_force(found.model, q, v)
    assert error(again, tau) < 1e-4
    assert np.abs(found.parameters[:, 0] - guess.parameters[:, 0]).max() < 0.5 * guess.parameters[:, 0].max()


def test_chunks_do_not_matter():
    model = kt.zoo.arm7()
    data = measured(model, np.random.default_rng(4), 90, NOISE)
    whole, parts = kt.identify(model, *data, chunk=1000), kt.identify(model, *data, chunk=7)
    assert error(parts.base_values, whole.base_values) < 1e-9
    assert error(parts.noise, whole.noise) < 1e-9


def test_weights():
    """A sample that counts nothing is as good as absent."""
    model = kt.zoo.arm7()
    q, v, a, tau = measured(model, np.random.default_rng(5), 80, NOISE)
    tau[60:] += 100.0
    weights = np.ones(80)
    weights[60:] = 0.0
    some = kt.identify(model, q, v, a, tau, weights=weights, noise=NOISE)
    few = kt.identify(model, q[:60], v[:60], a[:60], tau[:60], noise=NOISE)
    assert error(some.base_values, few.base_values) < 1e-9


def test_friction_and_armature_are_found_and_stay_positive():
    truth = kt.zoo.puma560()
    joints = truth.joint_names
    truth = truth.replace(
        damping={j: 0.5 for j in joints}, friction={j: 0.3 for j in joints}, armature={j: 0.2 for j in joints}
    )
    data = measured(truth, np.random.default_rng(6), 300, 0.01)
    guess = truth.replace(damping={j: 0.1 for j in joints}, friction={j: 0.0 for j in joints})
    found = kt.identify(guess, *data, extra=("damping", "friction"))
    assert np.abs(found.extra["damping"] - 0.5).max() < 0.02
    assert np.abs(found.extra["friction"] - 0.3).max() < 0.02
    assert error(found.model.damping, found.extra["damping"]) < 1e-12
    assert found.model.rotors == truth.rotors and (found.model.armature == truth.armature).all()
    rest = measured(truth, np.random.default_rng(7), 5, 0.0)
    again = kt.inverse_dynamics(found.model, *rest[:3]) - kt.passive_force(found.model, *rest[:2])
    assert error(again, rest[3]) < 0.01


def test_few_and_noisy_data_still_give_bodies():
    """Where least squares would give a negative mass, the bodies stay bodies."""
    model = kt.zoo.arm7()
    data = measured(model, np.random.default_rng(8), 8, 20 * NOISE)
    found = kt.identify(model, *data, noise=20 * NOISE)
    assert physical.are_positive(found.parameters)
    assert all(body.inertia.is_physical() for body in found.model.bodies)
    loose = np.linalg.lstsq(
        kt.torque_regressor(model, *data[:3]).reshape(-1, 70), data[3].ravel(), rcond=None
    )[0]
    assert not physical.are_positive(loose.reshape(-1, 10))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tau": np.zeros((9, 2))}, r"have \[10, 10, 10, 9\] samples"),
        ({"q": np.zeros(2)}, r"q has shape \(2,\), but \(samples, 2\) is needed"),
        ({"v": np.full((10, 2), np.nan)}, "v holds numbers that are not finite"),
        ({"noise": -1.0}, "noise must be positive"),
        ({"weights": np.ones(3)}, "weights must be 10 numbers"),
        ({"prior": np.ones(3)}, r"prior has shape \(3,\)"),
        ({"regularization": 0.0}, "regularization must be positive"),
        ({"extra": ("wheels",)}, "extra holds 'wheels': there are 'rotors', 'armature'"),
    ],
)
def test_misuse(change, message):
    model = kt.zoo.cart_pole()
    given = dict.fromkeys(("q", "v", "a", "tau"), np.ones((10, 2)))
    with pytest.raises(kt.errors.KinetreeError, match=message):
        kt.identify(model, **{**given, **change})


def test_too_few_samples():
    model = kt.zoo.arm7()
    with pytest.raises(kt.errors.KinetreeError, match="2 samples of 7 forces cannot tell 43 base parameters"):
        kt.identify(model, *(np.ones((2, 7)) for _ in range(4)))
