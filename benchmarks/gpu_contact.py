"""Robots that trot and are pushed, with contact: states for timings, and the controls."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import kinetree as kt
from kinetree.compiler.runtime import cuda
from kinetree.compiler.runtime.cuda_arrays import View
from kinetree.motion.rollout import rollout
from kinetree.stages import TARGETS, Job

DT, KP, KD = 0.002, 100.0, 3.0
SWING, RATE, PUSH = 0.2, 2.0, 8.0  # rad, Hz, N


def quadruped(trunk: bool = False) -> kt.Model:
    """The quadruped of the zoo on its four feet, optionally with the corners of its trunk."""
    model = kt.zoo.quadruped()
    return model.add_geometry("trunk", kt.Box((0.2, 0.1, 0.06))) if trunk else model


def box() -> kt.Model:
    """A box of 10 kg."""
    builder = kt.ModelBuilder("box")
    builder.add_body("box", joint=kt.Free(), inertia=kt.Inertia(10.0, (0, 0, 0), np.eye(3) / 15))
    builder.add_geometry("box", kt.Box((0.1, 0.1, 0.1)))
    return builder.build()


ROBOTS = {
    "quadruped, 4 points": quadruped,
    "quadruped, 12 points": functools.partial(quadruped, True),
    "humanoid, 8 points": kt.zoo.humanoid,
    "box, 8 points": box,
}


@kt.function("t, phase, push(nv) -> setpoint, tau")
def trot(model: kt.Model, t: Any, phase: Any, push: Any) -> tuple[Any, Any]:
    """Targets that swing the joints, one diagonal against the other, and a push."""
    target = list(stance(model))
    turn = 2 * np.pi * RATE * t + phase
    swing = SWING * kt.ops.sin(turn)
    for name in model.joint_names[1:]:
        one = name.startswith(("front_left", "rear_right", "left"))
        size = 0.0 if name.endswith("_hip") else 1.0 if one else -1.0
        target[model.position_index(name).start] += size * swing
    return np.array(target), push


def stance(model: kt.Model) -> np.ndarray:
    """Bent knees, the lowest point on the ground."""
    q = model.neutral()
    for name in model.joint_names:
        bend = 0.8 if "thigh" in name else -1.6 if "shank" in name else 0.0
        q[model.position_index(name)] += bend
    T = kt.placements(model, q)
    q[6] -= min(float(T[p.body - 1][2] @ (*p.position, 1.0)) for p in model.contact_points)
    return q


def states(model: kt.Model, count: int, dtype: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Initial states and inputs: swinging targets, and a push on each trunk."""
    rng = np.random.default_rng(0)
    driven = np.arange(model.nv) >= 6
    q = np.tile(stance(model), (count, 1))
    q[:, 6] += rng.uniform(0.0, 0.05, count)
    v = 0.3 * rng.normal(size=(count, model.nv))
    push = np.zeros((count, model.nv))
    push[:, 3:6] = rng.uniform(-PUSH, PUSH, (count, 3))
    acting = {"push": push, "phase": rng.uniform(0.0, 2 * np.pi, count)}
    start = {n: x.astype(dtype) for n, x in {"q": q, "v": v, **acting}.items()}
    return start, {"kp": (KP * driven).astype(dtype), "kd": (KD * driven).astype(dtype)}


STEPS = 250  # per launch: half a second, one stride


def job_of(model: kt.Model, dtype: str, limit: int | None = None) -> Job:
    """The time loop of a robot, with a limit on Newton steps."""
    function = rollout((trot,), 1, STEPS, False, True)
    options = function.chosen(
        integrator="discrete", passive=True, limits=True, constraints=(), ground=kt.Ground(),
        newton_limit=limit,
    )  # fmt: skip
    given = ("kp", "kd", "each_t", "control0_phase", "control0_push")
    return Job(function, model, function.present(given), options, dtype)


def inputs_of(model: kt.Model, dtype: str, count: int) -> dict[str, np.ndarray]:
    """Its inputs for `count` states, of which a few thousand differ."""
    start, gains = states(model, 4096, dtype)
    values = {n: np.resize(x, (count, *x.shape[1:])) for n, x in start.items()}
    values |= gains | {"dt": np.array(DT, dtype), "each_t": (DT * np.arange(STEPS)).astype(dtype)}
    return values | {f"control0_{n}": values.pop(n) for n in ("phase", "push")}


class Loop:
    """The time loop of a robot with contact on a GPU, on states that have already moved for a while."""

    def __init__(
        self, model: kt.Model, dtype: str, count: int, limit: int | None = None, target: str = "cuda"
    ):
        self.job = job_of(model, dtype, limit)
        self.kernel: Any = TARGETS[target].executable(self.job)
        self.held = {n: cuda.array(x) for n, x in inputs_of(model, dtype, count).items()}
        _, outputs = self.job.shapes
        self.results = [cuda.DeviceArray((count, *s), self.kernel.dtype, cuda.device()) for s in outputs]
        self.views = {n: View.of(x) for n, x in self.held.items()}
        self.targets = [View.of(x) for x in self.results]
        self.start()
        for name, found in zip(("q", "v"), self.results):
            self.held[name].memory.put(found.numpy()[:, 0])
        self.count = count

    def start(self, stream: int = 0) -> None:
        """Make the steps of all states."""
        inputs = [self.views[n] for n in self.job.present]
        self.kernel.start(inputs, self.targets, cuda.device(), stream)

    def facts(self) -> dict[str, int]:
        """Registers per thread, spilled bytes, threads per block."""
        loaded = self.kernel.code.load(cuda.device(), "rows")
        return loaded.launcher.facts() | {"threads": loaded.launcher.threads}
