"""A small robot that hops, and what it is asked for in the tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.contact.scenes import solid

import kinetree as kt
from kinetree import ops


def hopper() -> kt.Model:
    """A body that flies freely, with two legs that turn."""
    builder = kt.ModelBuilder("hopper")
    builder.add_body("trunk", joint=kt.Free(), inertia=solid(4.0, (0.3, 0.2, 0.1)))
    for side, x in (("fore", 0.15), ("hind", -0.15)):
        leg = kt.Inertia(0.5, (0, 0, -0.1), np.diag([2e-3, 2e-3, 1e-4]))
        builder.add_body(side, "trunk", kt.Revolute((0, 1, 0)), kt.Pose(p=(x, 0, 0)), leg)
        feet = kt.Vertices([(0.0, y, -0.2) for y in (-0.1, 0.1)])
        builder.add_geometry(side, feet, stiffness=5e3, name=f"{side}_feet")
    return builder.build()


ROBOT = hopper()
START = ROBOT.neutral()
START[6] = 0.2
GAINS = {"kp": 30.0, "kd": 1.0, "action_scale": 0.5}
WILD = {"q": (-0.05, 0.05), "contact_friction": (0.3, 0.9), "kp": kt.scale.lognormal(30.0, 0.1)}


@kt.function("q, v, t, action(2), last_action(2), last_q(nq) -> seen(27)")
def seen(model: Any, q: Any, v: Any, t: Any, action: Any, last_action: Any, last_q: Any) -> Any:
    parts = [q, v, [t], action, last_action, last_q[4:7] - q[4:7], [ops.sin(q[7]), ops.cos(q[8])]]
    return np.concatenate(parts)


@kt.function("v, force(points, 3), velocity(points, 3), tau -> reward")
def weighed(model: Any, v: Any, force: Any, velocity: Any, tau: Any) -> Any:
    return v[3] + sum(force[:, 2]) + ops.dot(velocity[:, 0], force[:, 1]) - ops.dot(tau, tau)


@kt.function("v -> reward")
def forward(model: Any, v: Any) -> Any:
    return v[3]


@kt.function("q -> low")
def low(model: Any, q: Any) -> Any:
    return 0.1 - q[6]


def environment(count: int = 3, **options: Any) -> Any:
    given = {"dt": 0.004, "steps": 5, "start": START, "num_envs": count, **GAINS} | options
    if given.get("control") == "effort":
        del given["kp"], given["kd"]
    reward = given.pop("reward", forward)
    return kt.gym.VectorEnv(given.pop("model", ROBOT), given.pop("observation", seen), reward, **given)


def actions(count: int, number: int, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (number, count, 2)).astype(np.float32)
