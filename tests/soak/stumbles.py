"""Robots that fall to the ground, are pushed and stumble: every step converges, and quickly.

Even seeds use the default contact parameters, odd ones random parameters, masses and step lengths.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.contact.scenes import standing

import kinetree as kt

STATES, STEPS = 256, 200
COUNT = 2_000  # 10^8 steps
BLOCK = 5
MOST = 14  # Newton steps with the default parameters


def trial(seed: int) -> str:
    rng = np.random.default_rng(seed)
    robot, is_random = list(ROBOTS)[seed // 2 % len(ROBOTS)], seed % 2 == 1
    model = ROBOTS[robot]()
    points = len(model.contact_points)
    start = standing(model) if robot == "quadruped" else model.neutral()
    q = np.array([model.integrate(start, _spread(model, rng)) for _ in range(STATES)])
    q[:, 6] -= _lowest(model, q) - rng.uniform(-0.01, 0.2, STATES)
    v = rng.normal(size=(STATES, model.nv))
    push = np.zeros((STATES, 4, model.nv))
    push[..., :6] = rng.uniform(-1, 1, (STATES, 4, 6)) * model.total_mass * [0.2, 0.2, 0.2, 2, 2, 2]
    more: dict[str, Any] = {"dt": 2e-3, "control": np.repeat(push, STEPS // 4, 1)}
    if model.nv > 6:
        goal = np.tile(start, (STATES, 1))
        goal[:, 7:] += rng.uniform(-0.4, 0.4, (STATES, model.nq - 7))
        driven = np.arange(model.nv) >= 6
        more |= {"kp": 100.0 * driven, "kd": 3.0 * driven, "setpoint": goal}
    if is_random:
        more |= {
            "dt": float(rng.choice([1e-3, 2e-3, 5e-3])),
            "contact_friction": rng.uniform(0.1, 1.5, (STATES, points)),
            "contact_stiffness": 10 ** rng.uniform(4, 6, (STATES, points)),
            "contact_dissipation": rng.uniform(0, 5, (STATES, points)),
            "creep": 10 ** rng.uniform(-5, -2, STATES),
            "parameters": model.parameters * rng.uniform(0.5, 2, (STATES, model.nbodies, 1)),
        }
    record = STEPS // 4 if is_random else 1
    run = kt.simulate(model, q, v, duration=STEPS * more["dt"], record=record, progress=False, **more)
    assert not run.failed, f"{robot}, state {run.failed[0].state}: {run.failed[0].reason}"
    assert np.isfinite(run.q).all() and np.isfinite(run.v).all()
    assert abs(run.q[..., 4:7]).max() < 100, f"{robot} was thrown"
    if is_random:
        return f"{robot}, random numbers"
    most = run.newton_steps.max()
    assert most <= MOST, f"{robot} needs {most} Newton steps"
    return f"{robot}, default numbers, {most} Newton steps at most"


def _spread(model: kt.Model, rng: np.random.Generator) -> np.ndarray:
    """Random deviations from a standing state: most are small, some robots fall over."""
    change = 0.2 * rng.normal(size=model.nv)
    change[:3] = rng.normal(size=3) * (2.0 if rng.random() < 0.2 else 0.2)
    return change


def _lowest(model: kt.Model, q: np.ndarray) -> np.ndarray:
    T = kt.placements(model, q)
    heights = [T[:, p.body - 1, 2] @ (*p.position, 1.0) for p in model.contact_points]
    return np.min(heights, 0)


def _biped() -> kt.Model:
    return kt.zoo.biped().add_geometry("pelvis", kt.Box((0.1, 0.15, 0.17)), kt.Pose(p=(0.0, 0.0, 0.15)))


def _humanoid() -> kt.Model:
    model = kt.zoo.humanoid().add_geometry("chest", kt.Box((0.1, 0.16, 0.17)), kt.Pose(p=(0.0, 0.0, 0.2)))
    for side in ("left", "right"):
        model = model.add_geometry(f"{side}_hand", kt.Sphere(0.05), kt.Pose(p=(0.0, 0.0, -0.08)))
    return model


def _quadruped() -> kt.Model:
    return kt.zoo.quadruped().add_geometry("trunk", kt.Box((0.2, 0.1, 0.06)))


ROBOTS = {
    "quadruped": _quadruped,
    "biped": _biped,
    "humanoid": _humanoid,
    "box": lambda: kt.zoo.solid(kt.Box((0.1, 0.2, 0.05)), 3.0),
    "can": lambda: kt.zoo.solid(kt.Cylinder(0.05, 0.1), 0.4),
}
