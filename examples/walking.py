"""A quadruped learns to walk in a few minutes on one CPU core, from a reward alone.

The policy is one matrix: the targets of the twelve joints are linear in the observation, which includes a
sine and a cosine of time. Each round adds random changes to the policy and subtracts them, tries both on
robots that move in parallel, and steps along the best changes (augmented random search: Mania, Guy and Recht,
2018). Friction differs from robot to robot, and robots are pushed.

    python examples/walking.py
"""

from __future__ import annotations

import math
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from gymnasium.vector import AutoresetMode

import kinetree as kt
from kinetree import ops

DIRECTIONS, BEST = 64, 16  # changes tried in a round, each with both signs; how many are used
NOISE, RATE = 0.05, 0.05  # size of the changes; step size
SPEED, BEAT = 1.0, 2.0  # m/s above which speed earns no more; strides per second
ACTION = 0.02  # s, the duration of an action

robot = kt.zoo.quadruped()
stance = robot.neutral()
LEGS = ("front_left", "front_right", "rear_left", "rear_right")
for leg in LEGS:
    stance[robot.position_index(f"{leg}_thigh")] = 0.8
    stance[robot.position_index(f"{leg}_shank")] = -1.6
stance[6] = 0.293  # the feet just touch


@kt.function("q, v, t -> seen(37)")
def seen(model, q, v, t):
    """The beat; tilt, heading and velocity of the trunk; joint positions and velocities."""
    R = kt.frame_placement(model, q, "trunk")[:3, :3]
    beat = [1.0, ops.sin(2 * math.pi * BEAT * t), ops.cos(2 * math.pi * BEAT * t)]
    return np.concatenate([beat, R[2], [R[1, 0]], 0.5 * v[:3], v[3:6], q[7:] - stance[7:], 0.05 * v[6:]])


@kt.function("q, last_q(nq), v, tau -> reward")
def progress(model, q, last_q, v, tau):
    """Reward for moving forwards up to SPEED, straight, steady and with little effort, without falling."""
    R = kt.frame_placement(model, q, "trunk")[:3, :3]
    forward, sideways = (q[4:6] - last_q[4:6]) / ACTION
    restless = 0.1 * ops.dot(v[:2], v[:2]) + 0.3 * ops.abs(v[2]) + 0.3 * ops.abs(R[1, 0])
    return 0.3 + ops.min(forward, SPEED) - ops.abs(sideways) - restless - 2e-5 * ops.dot(tau, tau)


@kt.function("q -> fallen")
def fallen(model, q):
    """Above 0 if the trunk is too low or tilted too far."""
    return ops.max(0.18 - q[6], 0.7 - kt.frame_placement(model, q, "trunk")[2, 2])


def robots(count, **options):
    """Standing robots, each slightly different."""
    given = {"autoreset_mode": AutoresetMode.DISABLED} | options
    return kt.gym.VectorEnv(
        robot, seen, progress, terminated=fallen, num_envs=count, time_limit=None, dt=ACTION / 5, steps=5,
        kp=100.0, kd=3.0, action_scale=0.4, start=stance,
        randomize={"q": (-0.03, 0.03), "contact_friction": (0.5, 1.0)},
        push=kt.gym.Push("trunk", impulse=5.0, every=2.0), **given,
    )  # fmt: skip


def episode(env, policies, seed, seconds):
    """The reward of each robot until it fell, which of them still stand, and their positions over time."""
    observation, _ = env.reset(seed=seed)
    total, standing, positions = np.zeros(env.num_envs), np.ones(env.num_envs, bool), [env.state[0]]
    for _ in range(round(seconds / ACTION)):
        actions = np.einsum("nij,nj->ni", policies, observation)
        observation, reward, terminated, _, _ = env.step(actions)
        standing &= ~terminated
        total += np.where(standing, reward, 0.0)
        positions.append(env.state[0])
    return total, standing, np.array(positions)


def learned(rounds, seconds):
    """The policy after some rounds, and the mean reward of an action in each of them."""
    env, rng = robots(2 * DIRECTIONS), np.random.default_rng(0)
    policy, curve = np.zeros((12, 37), np.float32), []
    for k in range(rounds):
        changes = NOISE * rng.normal(size=(DIRECTIONS, 12, 37)).astype(np.float32)
        earned, _, _ = episode(env, np.concatenate([policy + changes, policy - changes]), k, seconds)
        forth, back = earned[:DIRECTIONS], earned[DIRECTIONS:]
        best = np.argsort(np.maximum(forth, back))[-BEST:]
        spread = np.concatenate([forth[best], back[best]]).std() + 1e-6
        gain = RATE / (NOISE * BEST * spread)
        policy = policy + gain * np.einsum("n,nij->ij", forth[best] - back[best], changes[best])
        curve.append(earned.mean() * ACTION / seconds)
    return policy.astype(np.float32), curve


def main(folder: Path, rounds: int = 40, seconds: float = 2.0) -> dict[str, float]:
    """Learn, then walk for ten seconds; draw both into the folder."""
    policy, curve = learned(rounds, seconds)
    env = robots(64)
    _, standing, positions = episode(env, np.broadcast_to(policy, (64, 12, 37)), 10**6, 10.0)
    walked = positions[-1, :, 4] - positions[0, :, 4]
    if find_spec("matplotlib"):
        draw(folder / "walking.png", curve, positions)
    return {
        "reward of an action with the first policies": np.mean(curve[:3]),
        "and with the last": np.mean(curve[-3:]),
        "standing after 10 s": standing.mean(),
        "walked in 10 s on average, m": walked.mean(),
        "and at least, m": walked.min(),
    }


def draw(path: Path, curve, positions) -> None:
    """Draw the reward of each round, and the paths of all trunks from above."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(curve)
    left.set(xlabel="round", ylabel="reward of an action", title="A quadruped learns to walk")
    right.plot(positions[..., 4], positions[..., 5], lw=0.8)
    right.set(xlabel="x, m", ylabel="y, m", title="64 robots, pushed, in 10 s", ylim=(-3, 3))
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    for name, value in main(Path(*sys.argv[1:2]), rounds=300, seconds=4.0).items():
        print(f"{name}: {value:.4g}")
