"""A cart learns to catch a pole and to hold it upright, by the gradient of whole simulations, in PyTorch.

A small network pushes the cart. The cost of a batch of motions is differentiated through every step of the
simulation; each step and its gradient are one call of machine code for all motions.

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
    """What is seen of a state -> the force on the cart, and none at the pole."""

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
    """How far the pole is from upright and the cart from the middle, on average."""
    q, v = motion(policy, q, v)
    return (1 + torch.cos(q[..., 1])).mean() + 0.05 * (q[..., 0] ** 2).mean() + 0.001 * (v**2).mean()


def start():
    """Poles near upright, in motion."""
    q, v = 0.6 * (2 * torch.rand(2, MOTIONS, robot.nv) - 1)
    return q + torch.tensor([0.0, math.pi]), v


def standing(policy):
    """How often the pole stands in the end."""
    with torch.no_grad():
        q, _ = motion(policy, *start())
    return float((torch.cos(q[-1, :, 1]) < -0.98).double().mean())


def main(folder: Path) -> dict[str, float]:
    """Learn; a drawing of the cost goes to the folder."""
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
    """The cost as it was learned; nothing without matplotlib."""
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
