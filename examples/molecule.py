"""A floating molecule whose momentum drifts in a coarse simulation, unless it is reset after each step.

SOA lecture 4: V(base) <- V(base) - R^-1 h removes the total momentum through the base velocity and leaves the
joint rates unchanged.

    python examples/molecule.py
"""

from __future__ import annotations

import numpy as np

import kinetree as kt

STEP, STEPS = 0.05, 400


def molecule() -> kt.Model:
    """Five atoms in a chain, with bonds of fixed length that rotate relative to each other."""
    builder = kt.ModelBuilder("molecule", gravity=(0, 0, 0))
    atom = kt.Inertia(1.0, (0.5, 0, 0), np.diag([0.02, 0.03, 0.03]))
    builder.add_body("atom1", None, kt.Free(), inertia=atom)
    for k in range(2, 6):
        axis = (0, 0, 1) if k % 2 else (0, 1, 0)
        builder.add_body(f"atom{k}", f"atom{k - 1}", kt.Revolute(axis), kt.Pose(p=(1.0, 0, 0)), atom)
    return builder.build()


def run(robot: kt.Model, v: np.ndarray, resets: bool) -> float:
    """The largest momentum in a run with semi-implicit Euler steps that are far too coarse."""
    q, largest = robot.neutral(), 0.0
    for _ in range(STEPS):
        v = v + STEP * kt.forward_dynamics(robot, q, v, np.zeros(robot.nv))
        q = robot.integrate(q, STEP * v)
        if resets:
            v = kt.nullify_momentum(robot, q, v)
        largest = max(largest, float(np.abs(kt.momentum(robot, q, v)).max()))
    return largest


def main() -> dict[str, float]:
    robot = molecule()
    v = np.random.default_rng(0).normal(size=robot.nv)
    before = np.abs(kt.momentum(robot, robot.neutral(), v)).max()
    still = kt.nullify_momentum(robot, robot.neutral(), v)
    return {
        "momentum before": float(before),
        "after taking it away": float(np.abs(kt.momentum(robot, robot.neutral(), still)).max()),
        "joint rates changed by": float(np.abs(still - v)[6:].max()),
        "largest on a run": run(robot, still, resets=False),
        "largest on a run with resets": run(robot, still, resets=True),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value:.4g}")
