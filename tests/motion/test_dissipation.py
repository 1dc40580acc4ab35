"""Energy decays by what damping and friction take, and by nothing else, with rotors and gears or without."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt

EAGER = {"target": "eager"}


def lossy(model: kt.Model, rng: np.random.Generator) -> kt.Model:
    """The model with a spring, a damper and friction in every joint that has coordinates of its own.

    No spring in free joints: a force along the twist to the origin has no potential.
    """
    free = {body.joint_name for body in model.bodies if body.joint.is_free}
    joints = list(model.split_velocities(np.zeros(model.nv)))
    drawn = {field: dict(zip(joints, rng.uniform(0.1, 1.0, len(joints)).tolist(), strict=True))
             for field in ("damping", "friction", "stiffness")}  # fmt: skip
    drawn["stiffness"] = {name: k for name, k in drawn["stiffness"].items() if name not in free}
    return model.replace(**drawn)


def energy(model: kt.Model, q: np.ndarray, v: np.ndarray) -> float:
    """Of motion, height and springs."""
    still = kt.potential_energy(model, q, **EAGER) + kt.spring_energy(model, q, **EAGER)
    return float(still + kt.kinetic_energy(model, q, v, **EAGER))


@pytest.mark.parametrize("rotors", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_energy_falls_by_what_damping_and_friction_take(seed, rotors):
    """FRC-7, ROT-13: E' = -v D v - f |v|, with the acceleration of forward dynamics."""
    rng = np.random.default_rng([seed, 90])
    m = random_mechanism(rng, 5, rotors=rotors)
    model, (q, v) = lossy(m.build(), rng), m.random_state(rng)
    assert bool(model.rotors) == (rotors > 0)
    a = kt.forward_dynamics(model, q, v, kt.passive_force(model, q, v, **EAGER), **EAGER)
    h = 1e-3

    def later(k: int) -> float:
        return energy(model, model.integrate(q, k * h * v), v + k * h * a)

    rate = sum(w * (later(k) - later(-k)) for k, w in ((1, 45), (2, -9), (3, 1))) / (60 * h)
    lost = model.damping @ v**2 + model.friction @ np.abs(v)
    assert lost > 0
    assert rate == pytest.approx(-lost, rel=1e-7, abs=1e-8 * (1 + abs(later(0))))


@pytest.mark.parametrize("integrator", ["discrete", "rk4", "dopri5"])
def test_a_geared_arm_comes_to_rest(integrator):
    """FRC-7, ROT-13: along a run energy never grows, and what is missing was dissipated."""
    model = lossy(kt.zoo.puma560(rotors=True), np.random.default_rng(91))
    assert model.rotors
    model = model.replace(friction=dict.fromkeys(model.joint_names, 0.0))
    q, v = model.random_state(np.random.default_rng(92))
    run = kt.simulate(model, q, v, duration=0.5, dt=5e-4, integrator=integrator, limits=False)
    assert run.energy.shape == run.t.shape
    lost = np.sum(run.v**2 * model.damping, axis=-1)
    total = np.concatenate([[0.0], np.cumsum((lost[1:] + lost[:-1]) / 2 * np.diff(run.t))])
    fallen = run.energy[0] - run.energy
    assert np.diff(run.energy).max() < 1e-9 * run.energy[0] + 1e-9
    assert fallen[-1] > 0.1
    assert np.abs(fallen - total).max() < (5e-2 if integrator == "discrete" else 1e-4) * fallen[-1]
