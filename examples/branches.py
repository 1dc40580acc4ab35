"""Which bodies of a branched mechanism are related, and where Gamma is zero as a result.

Echeandia (2020), Figure 2.1: H_ij, C_ij and Gamma_ijk vanish unless their bodies lie on one path from the
root.

    python examples/branches.py
"""

from __future__ import annotations

import numpy as np

import kinetree as kt

PARENTS = [0, 1, 1, 3, 3, 5, 4, 2, 2, 9]


def main() -> dict[str, float]:
    builder = kt.ModelBuilder("figure")
    link = kt.Inertia(1.0, (0.1, 0.2, 0.3), np.eye(3))
    for i, p in enumerate(PARENTS, 1):
        axis = np.eye(3)[i % 3]
        place = kt.Pose(p=(0.5, 0.1 * i, 0.0))
        builder.add_body(f"b{i}", f"b{p}" if p else None, kt.Revolute(axis), place, link)
    robot = builder.build()
    q = np.linspace(0.1, 1.0, 10)
    M, gamma = kt.mass_matrix(robot, q), kt.christoffel_symbols(robot, q)
    related = robot.mass_sparsity()
    on_one_path = related[:, :, None] & related[:, None, :] & related[None, :, :]
    return {
        "3 is an ancestor of 6": robot.is_ancestor(3, 6),
        "9 and 5 are related": robot.related(9, 5),
        "outermost of 2, 9 and 10": robot.outermost(2, 9, 10),
        "entries of M between strangers": float(np.abs(M[~related]).max()),
        "entries of Gamma off the paths": float(np.abs(gamma[~on_one_path]).max()),
        "of Gamma can be other than zero": float(on_one_path.mean()),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value:.4g}")
