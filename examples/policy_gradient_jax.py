"""A cart learns to catch a pole and to hold it upright, from gradients of whole simulations, in JAX.

A small network pushes the cart. The cost of a batch of motions is differentiated through every step of the
simulation. For the whole batch, each step and its gradient are one call of machine code.

    python examples/policy_gradient_jax.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp

import kinetree as kt

STEPS, MOTIONS, ROUNDS, RATE = 60, 64, 150, 0.02

robot = kt.zoo.cart_pole()
step = kt.jax.wrap(kt.step, robot, dt=0.03)


def network(key):
    """Weights of two layers: observation -> force."""
    first, second = jax.random.split(key)
    return {
        "in": 0.5 * jax.random.normal(first, (5, 32)),
        "bias": jnp.zeros(32),
        "out": 0.1 * jax.random.normal(second, (32, 1)),
    }


def push(policy, q, v):
    """The force on the cart, and none on the pole."""
    seen = jnp.concatenate([q[..., :1], jnp.sin(q[..., 1:]), jnp.cos(q[..., 1:]), v], -1)
    force = 30.0 * jnp.tanh(jnp.tanh(seen @ policy["in"] + policy["bias"]) @ policy["out"])
    return jnp.concatenate([force, jnp.zeros_like(force)], -1)


def motion(policy, q, v):
    """Positions and velocities after each step."""

    def advance(state, _):
        state = step(*state, push(policy, *state))
        return state, state

    return jax.lax.scan(advance, (q, v), None, length=STEPS)[1]


def cost(policy, q, v):
    """The mean cost: the pole should be upright, the cart in the middle, and both slow."""
    q, v = motion(policy, q, v)
    return jnp.mean(1 + jnp.cos(q[..., 1])) + 0.05 * jnp.mean(q[..., 0] ** 2) + 0.001 * jnp.mean(v**2)


@jax.jit
def improved(policy, mean, square, round, q, v):
    """One step of Adam."""
    value, slope = jax.value_and_grad(cost)(policy, q, v)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
    square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, slope)

    def moved(w, m, s):
        return w - RATE * (m / (1 - 0.9**round)) / (jnp.sqrt(s / (1 - 0.99**round)) + 1e-8)

    return jax.tree.map(moved, policy, mean, square), mean, square, value


def main(folder: Path) -> dict[str, float]:
    """Train the network, and draw the cost into the folder."""
    keys = jax.random.split(jax.random.PRNGKey(0), ROUNDS + 2)

    def start(key):
        q, v = 0.6 * jax.random.uniform(key, (2, MOTIONS, robot.nv), minval=-1.0)
        return q + jnp.array([0.0, jnp.pi]), v

    def standing(policy):
        q, _ = motion(policy, *start(keys[1]))
        return float(jnp.mean(jnp.cos(q[-1, :, 1]) < -0.98))

    policy, costs = network(keys[0]), []
    figures = {"poles that stand in the end before": standing(policy)}
    mean = square = jax.tree.map(jnp.zeros_like, policy)
    for round in range(1, ROUNDS + 1):
        policy, mean, square, value = improved(policy, mean, square, round, *start(keys[round + 1]))
        costs.append(float(value))
    figures |= {"cost before": costs[0], "and after": costs[-1], "poles that stand after": standing(policy)}
    draw(folder / "policy_gradient_jax.png", costs)
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
