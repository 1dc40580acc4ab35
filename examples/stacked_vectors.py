"""Velocities of joints of different sizes, stacked into one vector and split again.

Concurrent Dynamics (2017): v = col[v_x, (s_x, s_y), (w_x, w_y, w_z)]. Here a slider, a cylindrical joint
and a ball joint have one, two and three velocities.

    python examples/stacked_vectors.py
"""

from __future__ import annotations

import numpy as np

import kinetree as kt


def main() -> dict[str, float]:
    builder = kt.ModelBuilder("stack")
    body = kt.Inertia(1.0, inertia=np.eye(3))
    builder.add_body("cart", None, kt.Prismatic((1, 0, 0)), inertia=body)
    builder.add_body("puck", "cart", kt.Cylindrical((0, 0, 1)), inertia=body)
    builder.add_body("ball", "puck", kt.Spherical(), inertia=body)
    robot = builder.build()
    parts = {"cart": [1.0], "puck": [2.0, 3.0], "ball": [4.0, 5.0, 6.0]}
    v = robot.velocities(parts)
    back = robot.split_velocities(v)
    return {
        "length": len(v),
        "first number of the ball": float(v[3]),
        "parts that differ": sum(not np.array_equal(back[name], part) for name, part in parts.items()),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value:.4g}")
