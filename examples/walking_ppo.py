"""A quadruped learns to trot at a commanded speed: proximal policy optimisation, on a GPU or on a CPU.

Robots, policy and training data are on the same device; with a GPU, nothing is copied to the host until it is
drawn. Friction, masses and the commanded speed differ from robot to robot, and robots are pushed.

    python examples/walking_ppo.py

Reference: J. Schulman and others, Proximal policy optimization algorithms, 2017; N. Rudin and others,
Learning to walk in minutes using massively parallel deep reinforcement learning, 2021.
"""

from __future__ import annotations

import math
import sys
import time
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.distributions import Normal

import kinetree as kt
from kinetree import ops

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROBOTS, ACTIONS = (16384 if DEVICE == "cuda" else 1024), 24  # in parallel; actions of each in a round
EPOCHS, BATCHES = 4, 4  # passes over the data of a round; minibatches of a pass
GAMMA, LAMBDA, CLIP, ENTROPY = 0.99, 0.95, 0.2, 0.003
FAR = 0.012  # the KL divergence to aim for in a round
ACTION, BEAT = 0.02, 2.0  # s, the duration of an action; strides per second

robot = kt.zoo.quadruped()
stance = robot.neutral()
for leg in ("front_left", "front_right", "rear_left", "rear_right"):
    stance[robot.position_index(f"{leg}_thigh")] = 0.8
    stance[robot.position_index(f"{leg}_shank")] = -1.6
stance[6] = 0.293  # the feet just touch
SIZE = 49  # of an observation


@kt.function("q, v, t, last_action(12), command -> seen(49)")
def seen(model, q, v, t, last_action, command):
    """The beat and the command; tilt, heading and velocity of the trunk; joints; the last action."""
    R = kt.frame_placement(model, q, "trunk")[:3, :3]
    beat = [ops.sin(2 * math.pi * BEAT * t), ops.cos(2 * math.pi * BEAT * t), command]
    trunk = np.concatenate([R[2], [R[1, 0]], 0.5 * v[:3], v[3:6]])
    return np.concatenate([beat, trunk, q[7:] - stance[7:], 0.05 * v[6:], last_action])


@kt.function("q, v, t, tau, action(12), last_action(12), force(points, 3), command -> reward")
def trotting(model, q, v, t, tau, action, last_action, force, command):
    """Reward for the commanded speed, a straight and steady trot, little effort, and paired diagonal feet."""
    R = kt.frame_placement(model, q, "trunk")[:3, :3]
    forward, sideways, up = R @ v[3:6]
    follows = ops.exp(-4.0 * ((forward - command) ** 2 + sideways**2))
    straight = ops.exp(-4.0 * (v[2] ** 2 + R[1, 0] ** 2))
    left = ops.less(0.0, ops.sin(2 * math.pi * BEAT * t))  # front left and rear right should stand
    stands = [ops.where(ops.less(1.0, force[k, 2]), 1.0, 0.0) for k in range(4)]
    pairs = stands[0] + stands[3], stands[1] + stands[2]
    steps = ops.where(left, pairs[0] - pairs[1], pairs[1] - pairs[0])
    restless = up**2 + 0.05 * ops.dot(v[:2], v[:2]) + ops.dot(R[2, :2], R[2, :2])
    change = action - last_action
    costs = restless + 2e-5 * ops.dot(tau, tau) + 0.01 * ops.dot(change, change)
    return follows + 0.5 * straight + 0.15 * steps - costs


@kt.function("q -> fallen")
def fallen(model, q):
    """Above 0 if the trunk is too low or tilted too far."""
    return ops.max(0.18 - q[6], 0.7 - kt.frame_placement(model, q, "trunk")[2, 2])


def robots(count, **options):
    """Standing robots, each slightly different."""
    given = {"randomize": {"command": (0.0, 1.2)}} | options
    given["randomize"] |= {"q": (-0.05, 0.05), "contact_friction": (0.4, 1.0), "mass": (0.9, 1.1)}
    return kt.gym.VectorEnv(
        robot, seen, trotting, terminated=fallen, num_envs=count, time_limit=20.0, dt=ACTION / 5, steps=5,
        kp=60.0, kd=2.0, action_scale=0.5, start=stance, push=kt.gym.Push("trunk", impulse=5.0, every=4.0),
        autoreset_mode="same_step", backend="torch", target=DEVICE, **given,
    )  # fmt: skip


class Policy(nn.Module):
    """An actor, which chooses actions, and a critic, which estimates the return."""

    def __init__(self):
        super().__init__()
        self.actor, self.critic = (
            nn.Sequential(nn.Linear(SIZE, 128), nn.ELU(), nn.Linear(128, 64), nn.ELU(), nn.Linear(64, out))
            for out in (12, 1)
        )
        with torch.no_grad():
            self.actor[-1].weight *= 0.01
        self.spread = nn.Parameter(torch.full((12,), -0.7))

    def choice(self, observation):
        return Normal(self.actor(observation), self.spread.exp())

    def value(self, observation):
        return self.critic(observation)[..., 0]


@torch.no_grad()
def lived(env, policy, observation):
    """The data of a round (observations, actions, log-probabilities, values, advantages), the last
    observation, and the mean reward of an action."""
    rows, earned, rewards, ends = [], [], [], []
    for _ in range(ACTIONS):
        choice = policy.choice(observation)
        action = choice.sample()
        value = policy.value(observation)
        rows.append((observation, action, choice.log_prob(action).sum(-1), value))
        observation, reward, terminated, truncated, infos = env.step(action)
        earned.append(reward)
        if "final_obs" in infos:  # a truncated episode would have gone on
            reward = reward + GAMMA * policy.value(infos["final_obs"]) * truncated
        rewards.append(reward)
        ends.append(terminated | truncated)
    values = [*(row[3] for row in rows), policy.value(observation)]
    advantage, advantages = torch.zeros_like(values[0]), []
    for k in reversed(range(ACTIONS)):
        on = 1.0 - ends[k].float()
        surprise = rewards[k] + GAMMA * on * values[k + 1] - values[k]
        advantage = surprise + GAMMA * LAMBDA * on * advantage
        advantages.insert(0, advantage)
    found = [torch.stack(part).flatten(0, 1) for part in (*zip(*rows), advantages)]
    return found, observation, torch.stack(earned).mean()


def improve(policy, optimizer, found):
    """A few steps towards actions that did better than expected, with the policy kept near the old one."""
    observations, actions, chances, values, advantages = found
    goals = values + advantages
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    with torch.no_grad():
        old = policy.choice(observations)
    group = optimizer.param_groups[0]
    for _ in range(EPOCHS):
        for part in torch.randperm(len(chances), device=chances.device).chunk(BATCHES):
            choice = policy.choice(observations[part])
            ratio = (choice.log_prob(actions[part]).sum(-1) - chances[part]).exp()
            gain = torch.min(ratio * advantages[part], ratio.clamp(1 - CLIP, 1 + CLIP) * advantages[part])
            error = (policy.value(observations[part]) - goals[part]).square()
            loss = error.mean() - gain.mean() - ENTROPY * choice.entropy().sum(-1).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
        with torch.no_grad():  # smaller steps if the policy moved far
            far = torch.distributions.kl_divergence(old, policy.choice(observations)).sum(-1).mean()
        if far > 2 * FAR:
            group["lr"] = max(group["lr"] / 1.5, 1e-5)
        elif far < FAR / 2:
            group["lr"] = min(group["lr"] * 1.5, 3e-3)


def learned(rounds, count=ROBOTS):
    """The policy after some rounds, and the mean reward of an action in each of them."""
    torch.manual_seed(0)
    policy = Policy().to(DEVICE)
    optimizer = torch.optim.Adam(policy.parameters(), 1e-3)
    env, curve = robots(count), []
    observation, _ = env.reset(seed=0)
    for _ in range(rounds):
        found, observation, reward = lived(env, policy, observation)
        improve(policy, optimizer, found)
        curve.append(reward)
    env.close()
    return policy, torch.stack(curve).cpu().numpy()


@torch.no_grad()
def walked(policy, count, seconds, command):
    """The positions of robots that walk, over time, and which of them never fell."""
    env = robots(count, randomize={"command": (command, command)})
    observation, _ = env.reset(seed=1)
    standing, positions = torch.ones(count, dtype=torch.bool, device=DEVICE), [env.state[0]]
    for _ in range(round(seconds / ACTION)):
        observation, _, terminated, _, _ = env.step(policy.actor(observation))
        standing &= ~terminated
        positions.append(env.state[0])
    return torch.stack(positions).cpu().numpy(), standing.cpu().numpy()


def main(folder: Path, rounds: int = 12, count: int = 128) -> dict[str, float]:
    """Learn, then trot for ten seconds at 1 m/s; a drawing and the motion of one robot go to the folder."""
    start = time.perf_counter()
    policy, curve = learned(rounds, count)
    seconds = time.perf_counter() - start
    positions, standing = walked(policy, 64, 10.0, 1.0)
    distance = positions[-1, :, 4] - positions[0, :, 4]
    if find_spec("matplotlib"):
        draw(folder / "walking_ppo.png", curve, positions)
    run = kt.Trajectory(robot, ACTION * np.arange(len(positions)), *moving(positions[:, 0].astype(float)))
    run.save(folder / "walking_ppo.npz")
    return {
        "seconds of learning": seconds,
        "million actions a second, learning included": rounds * ACTIONS * count / seconds / 1e6,
        "reward of an action with the first policies": float(np.mean(curve[:3])),
        "and with the last": float(np.mean(curve[-3:])),
        "standing after 10 s": float(standing.mean()),
        "walked in 10 s on average, m": float(distance.mean()),
        "and at least, m": float(distance.min()),
    }


def moving(q):
    """Positions over time, and their velocities."""
    v = np.array([robot.difference(a, b) for a, b in pairwise(q)]) / ACTION
    return q, np.concatenate([v, v[-1:]])


def draw(path: Path, curve, positions) -> None:
    """Draw the reward of each round, and the paths of all trunks from above."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(curve)
    left.set(xlabel="round", ylabel="reward of an action", title="A quadruped learns to trot")
    right.plot(positions[..., 4], positions[..., 5], lw=0.8)
    right.set(xlabel="x, m", ylabel="y, m", title="64 robots, pushed, in 10 s", ylim=(-3, 3))
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    rounds = 200 if DEVICE == "cuda" else 300
    for name, value in main(Path(*sys.argv[1:2]), rounds, ROBOTS).items():
        print(f"{name}: {value:.4g}")
