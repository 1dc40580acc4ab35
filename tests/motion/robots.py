"""Mechanisms to move."""

from __future__ import annotations

import numpy as np

import kinetree as kt

IDENTITY = kt.Rotation.identity()


def box(com=(0.05, -0.03, 0.02), gravity=(0.0, 0.0, 0.0)) -> kt.Model:
    """One rigid body that flies, its centre of mass beside its origin."""
    builder = kt.ModelBuilder("box")
    builder.add_body("box", "world", kt.Free(), inertia=kt.Inertia(10.0, com, np.diag([0.1, 0.5, 0.55])))
    return builder.build().replace(gravity=gravity)


def floating_tree() -> kt.Model:
    """A floating base that carries a ball joint, which carries a hinge and a slider."""
    builder = kt.ModelBuilder("floating tree")
    small = np.diag([0.02, 0.03, 0.01])
    builder.add_body(
        "base", "world", kt.Free(), inertia=kt.Inertia(3.0, (0.1, 0.05, -0.02), np.diag([0.1, 0.2, 0.25]))
    )
    arm = kt.Inertia(1.0, (0.1, 0.0, 0.2), small)
    builder.add_body("arm", "base", kt.Spherical(), kt.Pose(IDENTITY, (0.2, 0.0, 0.1)), arm)
    leg = kt.Inertia(0.7, (0.0, 0.1, 0.2), small)
    builder.add_body("leg", "arm", kt.Revolute((0, 1, 0)), kt.Pose(IDENTITY, (0.0, 0.1, 0.3)), leg)
    builder.add_body("rod", "base", kt.Prismatic((0, 0, 1)), kt.Pose(IDENTITY, (0.0, -0.2, 0.0)), leg)
    return builder.build()


def state(model: kt.Model, seed: int = 0, batch: tuple[int, ...] = (), speed: float = 1.0):
    """A random state."""
    q, v = model.random_state(np.random.default_rng(seed), batch)
    return q, speed * v


def distance(model: kt.Model, a: tuple, b: tuple) -> float:
    """How far two states are apart."""
    return max(np.abs(model.difference(a[0], b[0])).max(initial=0), np.abs(a[1] - b[1]).max(initial=0))
