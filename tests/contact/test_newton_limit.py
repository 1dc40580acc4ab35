"""At most so many Newton steps: what is found then is near, and follows from the state alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.contact import scenes

import kinetree as kt
from kinetree.errors import ArgumentError
from kinetree.motion.contact import contact_step

STEP = 2e-3


def trotting(count: int) -> tuple[kt.Model, dict[str, Any]]:
    """Quadrupeds that move on the ground, each after targets of its own."""
    model = kt.zoo.quadruped()
    rng = np.random.default_rng(3)
    start = np.tile(model.neutral(), (count, 1))
    for name in model.joint_names[1:]:
        bend = 0.8 if "thigh" in name else -1.6 if "shank" in name else 0.0
        start[:, model.position_index(name)] = bend
    poses = kt.placements(model, start[0])
    start[:, 6] -= min(poses[p.body - 1][2] @ (*p.position, 1.0) for p in model.contact_points)
    driven = np.arange(model.nv) >= 6
    target = start + np.where(np.arange(model.nq) < 7, 0.0, rng.uniform(-0.3, 0.3, start.shape))
    servo = {"kp": 100.0 * driven, "kd": 3.0 * driven, "setpoint": target, "dt": STEP, "progress": False}
    return model, {"q0": start, "v0": np.zeros((count, model.nv)), "duration": 0.5, **servo}


def test_four_are_near() -> None:
    model, given = trotting(16)
    free = kt.simulate(model, **given)
    few = kt.simulate(model, **given, newton_limit=4)
    assert free.newton_steps.max() > 4 == few.newton_steps.max()
    force = [run.contact_force[:, 25:-1, :, 2].sum(-1) for run in (free, few)]
    assert abs(force[1].mean() / force[0].mean() - 1.0) < 1e-3
    assert np.median(abs(few.q[:, 100] - free.q[:, 100]).max(-1)) < 1e-3


def test_forces_are_the_change_of_momentum() -> None:
    """What is missing in a step makes up for itself: no force is lost."""
    model, given = trotting(4)
    run = kt.simulate(model, **given, newton_limit=2)
    momentum = kt.center_of_mass_velocity(model, run.q, run.v)[..., 2] * model.total_mass
    impulse = (run.contact_force[:, 25:-1, :, 2].sum(-1) - model.total_mass * 9.81).sum(-1) * STEP
    lost = momentum[:, -1] - momentum[:, 25] - impulse
    assert abs(lost).max() < 1e-3 * model.total_mass * 9.81 * 0.45


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_neighbours_change_no_bit(dtype: str) -> None:
    model, given = trotting(19)
    run = kt.simulate(model, **given | {"duration": 0.1})
    q, v = run.q[:, -1].astype(dtype), run.v[:, -1].astype(dtype)
    tau, more = np.zeros_like(v), {"dt": np.array(STEP, dtype), "newton_limit": 2}
    together = contact_step(model, q, v, tau, **more)
    for k in (0, 8, 18):
        alone = contact_step(model, q[k], v[k], tau[k], **more)
        assert all(np.array_equal(a[k], b) for a, b in zip(together, alone, strict=True))


def test_enough_are_the_same() -> None:
    model = scenes.box()
    v = np.array([0.1, 0.2, 0.3, 1.0, 0.5, -0.5])
    free, same = (
        kt.simulate(model, model.neutral(), v, duration=0.2, dt=STEP, progress=False, newton_limit=limit)
        for limit in (None, 30)
    )
    assert 1 < free.newton_steps.max() < 30
    assert free.q.tobytes() == same.q.tobytes() and free.v.tobytes() == same.v.tobytes()


def test_plain_python_agrees_and_nan_stays_nan() -> None:
    model = scenes.box()
    q, v = model.neutral(), np.array([0.1, 0.2, 0.3, 1.0, 0.5, -0.5])
    q[6] = 0.099
    for limit in (1, 3):
        more = {"dt": STEP, "newton_limit": limit}
        compiled = contact_step(model, q, v, np.zeros(6), **more)
        eager = contact_step(model, q, v, np.zeros(6), **more, target="eager")
        assert all(np.allclose(a, b, rtol=1e-9, atol=1e-9) for a, b in zip(compiled, eager, strict=True))
        assert compiled[4] <= limit
        assert all(np.isnan(x).all() for x in contact_step(model, q, v * np.nan, np.zeros(6), **more))
    forces = kt.contact_forces(model, q, v, np.zeros(6), dt=STEP, newton_limit=1)
    assert not np.array_equal(forces, kt.contact_forces(model, q, v, np.zeros(6), dt=STEP))


@pytest.mark.parametrize("limit", [0, -1, 2.0, "4", True])
def test_other_limits_are_refused(limit: Any) -> None:
    model = scenes.box()
    with pytest.raises(ArgumentError, match="newton_limit must be a whole number of Newton steps"):
        kt.simulate(model, model.neutral(), np.zeros(6), duration=0.1, dt=0.01, newton_limit=limit)
    with pytest.raises(ArgumentError, match="newton_limit must be"):
        kt.step(model, model.neutral(), np.zeros(6), np.zeros(6), dt=0.01, newton_limit=limit)


def test_limits_of_numpy_are_whole_numbers_too() -> None:
    model = scenes.box()
    given = {"duration": 0.1, "dt": 0.01, "progress": False}
    limited, same = (
        kt.simulate(model, model.neutral(), np.zeros(6), **given, newton_limit=limit)
        for limit in (np.int64(2), 2)
    )
    assert limited.q.tobytes() == same.q.tobytes() and type(limited.settings["newton_limit"]) is int
    step = kt.step(model, model.neutral(), np.zeros(6), np.zeros(6), dt=0.01, newton_limit=np.int32(2))
    assert np.array_equal(step[0], same.q[1])
