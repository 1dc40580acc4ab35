"""A ball in a pipe: only the pipe resists a push along it, but both resist a push across it.

Boyden's example of an articulated inertia: diag(m2, m1 + m2, m1 + m2) for a pipe of mass m2 along x with a
ball of mass m1 in it. (The printed text has m1 in place of m2.)

    python examples/ball_in_pipe.py
"""

from __future__ import annotations

import numpy as np

import kinetree as kt


def main() -> dict[str, float]:
    m1, m2 = 2.0, 3.0
    builder = kt.ModelBuilder("pipe", gravity=(0, 0, 0))
    builder.add_body("pipe", None, kt.Free(), inertia=kt.Inertia(m2, inertia=np.eye(3) * 0.01))
    builder.add_body(
        "ball", "pipe", kt.Prismatic((1, 0, 0)), inertia=kt.Inertia(m1, inertia=np.eye(3) * 0.01)
    )
    robot = builder.build()
    felt = kt.articulated_inertias(robot, robot.neutral())[0]
    locked = kt.composite_inertias(robot, robot.neutral())[0]
    return {
        "mass felt along the pipe, kg": float(felt[3, 3]),
        "mass felt across, kg": float(felt[4, 4]),
        "mass felt along with the ball held, kg": float(locked[3, 3]),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value:.4g}")
