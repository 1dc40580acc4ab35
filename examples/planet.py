"""A planet on a circular orbit has zero spatial acceleration, although its centre accelerates inward.

Boyden's example: the spatial acceleration is the rate of the velocity field, which does not change; a point
of the planet accelerates by -w^2 r.

    python examples/planet.py
"""

from __future__ import annotations

import numpy as np

import kinetree as kt


def main() -> dict[str, float]:
    radius, rate = 3.0, 2.0
    builder = kt.ModelBuilder("planet", gravity=(0, 0, 0))
    builder.add_body("orbit", None, kt.Revolute((0, 0, 1)), inertia=kt.Inertia(1.0, inertia=np.eye(3)))
    builder.add_frame("planet", "orbit", kt.Pose(p=(radius, 0, 0)))
    robot = builder.build()
    q, v, a = np.array([0.4]), np.array([rate]), np.zeros(1)
    spatial = kt.frame_acceleration(robot, q, v, a, "planet", reference="aligned")
    classical = kt.frame_acceleration(robot, q, v, a, "planet", reference="body", kind="classical")
    return {
        "spatial acceleration": float(np.abs(spatial).max()),
        "towards the centre, m/s^2": float(-classical[3]),
        "w^2 r": rate**2 * radius,
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value:.4g}")
