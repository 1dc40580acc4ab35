"""Steps per second: whole trajectories, one and many, compared with MuJoCo's `rollout`."""

from __future__ import annotations

from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.measure import Call, race
from benchmarks.mujoco_peer import MuJoCo
from kinetree.model import Model

ROBOTS = {"arm7": kt.zoo.arm7, "quadruped": kt.zoo.quadruped, "humanoid": kt.zoo.humanoid}
# ours: MuJoCo's of the same order
INTEGRATORS = {"discrete": "mjINT_IMPLICITFAST", "rk4": "mjINT_RK4"}
BATCHES = {1: 10_000, 4096: 64}  # states: steps; a call takes 0.2 to 0.4 ms in addition to its steps
PEERS = 64  # states that MuJoCo runs of a batch: the time per state is the same in any batch
STEP = 1e-3

HEAD = """\
| robot | integrator | trajectories | steps | million steps/s | MuJoCo | ratio |
|---|---|--:|--:|--:|--:|--:|"""


def row(robot: str, integrator: str, states: int, seconds: float) -> dict[str, Any]:
    """The time per step in trajectories of a robot, passive, without limits and contacts; one thread.

    Both return the state after every step.
    """
    model, steps = ROBOTS[robot](), BATCHES[states]
    q, v = model.random_state(np.random.default_rng(0), states)
    v = 0.1 * v
    q, v = (q[0], v[0]) if states == 1 else (q, v)
    options = {"duration": steps * STEP, "dt": STEP, "integrator": integrator}
    options |= {"limits": False, "ground": False}
    contestants = {"ours": Call(kt.simulate, [model, q, v], options)}
    theirs = _mujoco(model, integrator, q, v, steps)
    if theirs is not None:
        contestants["mujoco"] = theirs
    timings = race(contestants, seconds)
    counts = {"ours": states * steps, "mujoco": min(states, PEERS) * steps}
    each = {name: (timing / counts[name])._asdict() for name, timing in timings.items()}
    return {"robot": robot, "integrator": integrator, "states": states, "steps": steps, "step": each}


def _mujoco(model: Model, integrator: str, q: Any, v: Any, steps: int) -> Call | None:
    """MuJoCo's rollout of the same states, if it is installed."""
    try:
        import mujoco
        from mujoco import rollout
    except ImportError:
        return None
    peer = MuJoCo(model)
    peer.model.opt.timestep = STEP
    peer.model.opt.integrator = getattr(mujoco.mjtIntegrator, INTEGRATORS[integrator])
    q, v = np.atleast_2d(q)[:PEERS], np.atleast_2d(v)[:PEERS]
    size = mujoco.mj_stateSize(peer.model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start = np.zeros((len(q), size))
    for k in range(len(q)):
        peer.data.qpos, peer.data.qvel = peer.maps.q(q[k]), peer.maps.v(q[k], v[k])
        mujoco.mj_getState(peer.model, peer.data, start[k], mujoco.mjtState.mjSTATE_FULLPHYSICS)
    return Call(rollout.rollout, [peer.model, [peer.data], start], {"nstep": steps})


def line(result: dict[str, Any]) -> str:
    """A row of the table."""
    step = result["step"]
    ours, theirs = step["ours"]["median"], step.get("mujoco", {}).get("median")
    cells = [
        result["robot"],
        result["integrator"],
        str(result["states"]),
        str(result["steps"]),
        f"{1e3 / ours:.3g}",
        f"{1e3 / theirs:.3g}" if theirs else "",
        f"{theirs / ours:.1f}" if theirs else "",
    ]
    return "| " + " | ".join(cells) + " |"
