"""The motion subspace of a hinge about z is [0 0 1 0 0 0]^T; other joints have other subspaces.

Boyden's example of a joint axis. The columns of a Jacobian are motion subspaces, seen from a body.

    python examples/hinge_axis.py
"""

from __future__ import annotations

import numpy as np

import kinetree as kt


def subspace(joint) -> np.ndarray:
    """The motion subspace of a joint at its neutral position, in body axes."""
    builder = kt.ModelBuilder("one")
    builder.add_body("body", None, joint, inertia=kt.Inertia(1.0, inertia=np.eye(3)))
    robot = builder.build()
    return kt.jacobian(robot, robot.neutral(), "body")


def main() -> dict[str, float]:
    kinds = {
        "revolute": (kt.Revolute((0, 0, 1)), [0, 0, 1, 0, 0, 0]),
        "prismatic": (kt.Prismatic((0, 0, 1)), [0, 0, 0, 0, 0, 1]),
        "helical": (kt.Helical((0, 0, 1), 0.2), [0, 0, 1, 0, 0, 0.2]),
    }
    found = {name: np.abs(subspace(joint)[:, 0] - S).max() for name, (joint, S) in kinds.items()}
    return {f"error of the {name} axis": float(e) for name, e in found.items()} | {
        "columns of a ball joint": subspace(kt.Spherical()).shape[1]
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value:.4g}")
