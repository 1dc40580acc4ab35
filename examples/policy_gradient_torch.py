"""A cart learns to catch a pole and to hold it upright, from gradients of whole simulations, in PyTorch.

A small network pushes the cart. The cost of a batch of motions is differentiated through every step of the
simulation. For the whole batch, each step and its gradient are one call of machine code.

    python examples/policy_gradient_torch.py
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import torch
from torch import nn

import kinetree as kt

STEPS, MOTIONS, ROUNDS, RATE = 60, 64, 150, 0.02

robot = kt.zoo.cart_pole()
step = kt.torch.wrap(kt.step, robot, dt=0.03)


class Policy(nn.Module):
    """Observation -> the force on the cart, and none on the pole."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1, bias=False), nn.Tanh())

    def forward(self, q, v):
        seen = torch.cat([q[..., :1], torch.sin(q[..., 1:]), torch.cos(q[..., 1:]), v], -1)
        force = 30.0 * self.layers(seen)
        return torch.cat([force, torch.zeros_like(force)], -1)


def motion(policy, q, v):
    """Positions and velocities after each step."""
    states = []
    for _ in range(STEPS):
        q, v = step(q, v, policy(q, v))
        states.append((q, v))
    return [torch.stack(parts) for parts in zip(*states, strict=True)]


def cost(policy, q, v):
    """The mean cost: the pole should be upright, the cart in the middle, and both slow."""
    q, v = motion(policy, q, v)
    return (1 + torch.cos(q[..., 1])).mean() + 0.05 * (q[..., 0] ** 2).mean() + 0.001 * (v**2).mean()


def start():
    """Moving poles that are near upright."""
    q, v = 0.6 * (2 * torch.rand(2, MOTIONS, robot.nv) - 1)
    return q + torch.tensor([0.0, math.pi]), v


def standing(policy):
    """The share of poles that stand at the end."""
    with torch.no_grad():
        q, _ = motion(policy, *start())
    return float((torch.cos(q[-1, :, 1]) < -0.98).double().mean())


def main(folder: Path) -> dict[str, float]:
    """Train the network, and draw the cost into the folder."""
    torch.manual_seed(1)
    policy, costs = Policy(), []
    figures = {"poles that stand in the end before": standing(policy)}
    optimizer = torch.optim.Adam(policy.parameters(), RATE)
    for _ in range(ROUNDS):
        optimizer.zero_grad()
        value = cost(policy, *start())
        value.backward()
        optimizer.step()
        costs.append(value.item())
    figures |= {"cost before": costs[0], "and after": costs[-1], "poles that stand after": standing(policy)}
    draw(folder / "policy_gradient_torch.png", costs)
    return figures


def draw(path: Path, costs: list[float]) -> None:
    """Draw the cost of each round, if matplotlib is installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.semilogy(costs)
    axes.set(xlabel="round", ylabel="cost", title="A cart learns to hold a pole upright")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    for name, value in main(Path(*sys.argv[1:2])).items():
        print(f"{name}: {value:.4g}")
