"""Long runs of robots that stumble about with random numbers: nothing is ever not a number."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.scenes import gains, quadruped, standing

import kinetree as kt

ROBOTS = {
    "quadruped": lambda: quadruped(True),
    "biped": kt.zoo.biped,
    "humanoid": kt.zoo.humanoid,
    "box": lambda: kt.zoo.solid(kt.Box((0.1, 0.2, 0.05)), 3.0),
    "can": lambda: kt.zoo.solid(kt.Cylinder(0.05, 0.1), 0.4),
}


@pytest.mark.soak
@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("dt", [1e-3, 2e-3, 5e-3])
def test_many_steps_with_random_numbers(robot, dt):
    model = ROBOTS[robot]()
    rng = np.random.default_rng(round(dt * 1e4))
    states, points = 256, len(model.contact_points)
    start = standing(model) if robot == "quadruped" else model.neutral()
    q = np.tile(start, (states, 1))
    q[:, 6] += 1.0
    v = rng.normal(size=(states, model.nv))
    numbers = {
        "contact_friction": rng.uniform(0.1, 1.5, (states, points)),
        "contact_stiffness": 10 ** rng.uniform(4, 6, (states, points)),
        "contact_dissipation": rng.uniform(0, 5, (states, points)),
        "creep": 10 ** rng.uniform(-5, -2, states),
    }
    targets = np.tile(start, (states, 1))
    targets[:, 7:] += rng.uniform(-0.4, 0.4, (states, model.nq - 7))
    servo = {**gains(model), "setpoint": targets} if model.nv > 6 else {}
    run = kt.simulate(model, q, v, duration=5.0, dt=dt, record=100, progress=False, **numbers, **servo)
    assert not run.failed
    assert np.isfinite(run.q).all() and abs(run.q[..., 4:7]).max() < 100
