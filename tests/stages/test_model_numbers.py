"""`parameters=` and `gravity=`: other numbers for the same model, per state, without a new compilation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.conftest import share
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt

CASES = {
    "inverse_dynamics": ("q", "v", "a"), "forward_dynamics": ("q", "v", "tau"), "mass_matrix": ("q",),
    "coriolis_matrix": ("q", "v"), "center_of_mass": ("q",), "joint_wrenches": ("q", "v", "a"),
}  # fmt: skip


def changed(model: kt.Model, rng: np.random.Generator) -> tuple[np.ndarray, tuple, kt.Model]:
    """Other inertias and gravity, and the model that has them as its own."""
    scale = rng.uniform(0.5, 2.0, size=(model.nbodies, 1))
    parameters = model.parameters * scale
    gravity = tuple(rng.normal(size=3))
    bodies = {b.name: kt.Inertia.from_parameters(tuple(p)) for b, p in zip(model.bodies, parameters)}
    return parameters, gravity, model.replace(inertia=bodies, gravity=gravity)


def inputs(model: kt.Model, names: tuple[str, ...], rng: np.random.Generator) -> list[np.ndarray]:
    q, v = model.random_state(rng)
    return [q if name == "q" else v if name == "v" else rng.normal(size=model.nv) for name in names]


@pytest.mark.parametrize(("name", "seed"), share(product(CASES, range(2)), 4))
def test_equals_a_model_with_these_numbers(name, seed):
    rng = np.random.default_rng([seed, len(name)])
    model = random_mechanism(rng, 5 + seed).build() if seed else kt.zoo.quadruped()
    parameters, gravity, other = changed(model, rng)
    function, arrays = getattr(kt, name), inputs(model, CASES[name], rng)
    expected = function(other, *arrays, target="eager")
    size = 1e-11 * max(1.0, float(np.abs(expected).max(initial=0)))
    for mode in (None, "looped"):
        kernel = kt.compile(function, model, inputs=("parameters", "gravity"), mode=mode)
        np.testing.assert_allclose(
            kernel(*arrays, parameters, np.array(gravity)), expected, rtol=0, atol=size
        )
    for target in ("cpu", "eager"):
        found = function(model, *arrays, parameters=parameters, gravity=gravity, target=target)
        np.testing.assert_allclose(found, expected, rtol=0, atol=size)


def test_one_fleet_one_kernel(rng):
    """Every state of a batch has its own numbers, and a model with one of them gives the same."""
    model = kt.zoo.arm7()
    q, v = model.random_state(rng, (6,))
    fleet = np.stack([changed(model, rng)[0] for _ in range(6)])
    found = kt.forward_dynamics(model, q, v, v, parameters=fleet)
    for k in range(6):
        bodies = {b.name: kt.Inertia.from_parameters(tuple(p)) for b, p in zip(model.bodies, fleet[k])}
        expected = kt.forward_dynamics(model.replace(inertia=bodies), q[k], v[k], v[k])
        np.testing.assert_allclose(found[k], expected, rtol=1e-10, atol=1e-10)


def test_a_function_of_ones_own_passes_them_on(rng):
    @kt.function("q, v -> h(6), m")
    def measured(model, q, v):
        return kt.momentum(model, q, v), model.gravity[2] * 2

    model = kt.zoo.arm7()
    q, v = model.random_state(rng)
    parameters, gravity, other = changed(model, rng)
    for target in ("cpu", "eager"):
        h, m = measured(model, q, v, parameters=parameters, gravity=gravity, target=target)
        np.testing.assert_allclose(h, kt.momentum(other, q, v), atol=1e-12)
        assert m == pytest.approx(2 * gravity[2])


def test_a_payload_costs_no_compilation(rng):
    model = kt.zoo.arm7()
    q, v = model.random_state(rng)
    kt.inverse_dynamics(model, q, v, v, parameters=model.parameters)
    before = len(model._memo)
    for k in range(3):
        heavier = model.parameters
        heavier[-1, 0] += k
        kt.inverse_dynamics(model, q, v, v, parameters=heavier)
    assert len(model._memo) == before


def test_bad_numbers(rng):
    model = kt.zoo.arm7()
    q, v = model.random_state(rng)
    with pytest.raises(
        kt.errors.ShapeError, match=r"parameters has shape \(7, 9\).*\(..., 7, 10\).*inertia of each"
    ):
        kt.inverse_dynamics(model, q, v, v, parameters=np.zeros((7, 9)))
    with pytest.raises(kt.errors.ShapeError, match=r"gravity has shape \(2,\)"):
        kt.inverse_dynamics(model, q, v, v, gravity=(0, 1))
    spoiled = model.parameters
    spoiled[3, 0] = np.nan
    assert np.isnan(kt.inverse_dynamics(model, q, v, v, parameters=spoiled)).all()
    with pytest.raises(kt.errors.SingularError, match="no inertia along its motion"):
        kt.forward_dynamics(model, q, v, v, parameters=np.zeros((7, 10)))
