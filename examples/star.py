"""A hub with spokes: in a tree that is at most two bodies deep, Psi = 1 + Phi.

Concurrent Dynamics (2017), Figure 3. In the mass matrix, the entries between different spokes are zero.

    python examples/star.py
"""

from __future__ import annotations

import numpy as np

import kinetree as kt
from kinetree.soa import InfluenceMatrix


def main() -> dict[str, float]:
    robot = kt.zoo.star(6)
    influence = InfluenceMatrix(robot.parents, np.random.default_rng(0).normal(size=(6, 6, 6)))
    sum_of_two = np.eye(36) + influence.Phi.dense()
    M = kt.mass_matrix(robot, np.linspace(0.1, 0.6, 6))
    return {
        "nilpotency": influence.nilpotency,
        "error of Psi = 1 + Phi": float(np.abs(influence.Psi.dense() - sum_of_two).max()),
        "zeros of the mass matrix": int((M == 0).sum()),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value:.4g}")
