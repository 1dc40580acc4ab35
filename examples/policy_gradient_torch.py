"""A cart learns to catch a pole and to hold it upright, by the gradient of whole simulations, in PyTorch.

    python examples/policy_gradient_torch.py

A small network pushes the cart. The cost of a batch of motions is differentiated through every step of the
simulation; each step and its gradient are one call of machine code for all motions.
"""

from __future__ import annotations

import math

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


def main():
    """Learn, and return how often the pole stands in the end: before learning, and after."""
    torch.manual_seed(0)
    policy = Policy()
    before = standing(policy)
    optimizer = torch.optim.Adam(policy.parameters(), RATE)
    for round in range(1, ROUNDS + 1):
        optimizer.zero_grad()
        value = cost(policy, *start())
        value.backward()
        optimizer.step()
        if round % 25 == 0:
            print(f"round {round:4}: cost {value:.4f}")
    after = standing(policy)
    print(f"poles that stand in the end: {before:.0%} before, {after:.0%} after")
    return before, after


if __name__ == "__main__":
    main()
