"""A gimballed antenna turns to a star, and the free satellite below it turns the other way.

The dish is carried by an azimuth and an elevation joint, whose angles come from inverse kinematics. The
motion of the satellite follows from conservation of momentum, because nothing holds it.

    python examples/antenna.py
"""

from __future__ import annotations

import numpy as np

import kinetree as kt


def satellite() -> kt.Model:
    builder = kt.ModelBuilder("satellite", gravity=(0, 0, 0))
    builder.add_body("bus", None, kt.Free(), inertia=kt.Inertia(300.0, inertia=np.diag([60.0, 60.0, 40.0])))
    gimbal = kt.Inertia(4.0, (0, 0, 0.1), np.diag([0.05, 0.05, 0.05]))
    builder.add_body("azimuth", "bus", kt.Revolute((0, 0, 1)), kt.Pose(p=(0, 0, 0.8)), gimbal)
    dish = kt.Inertia(12.0, (0.15, 0, 0), np.diag([1.6, 0.9, 0.9]))
    builder.add_body("elevation", "azimuth", kt.Revolute((0, -1, 0)), kt.Pose(p=(0, 0, 0.2)), dish)
    return builder.add_frame("boresight", "elevation", kt.Pose(p=(1000.0, 0, 0))).build()


def main() -> dict[str, float]:
    robot = satellite()
    star = np.array([0.5, 0.6, 0.62]) / np.linalg.norm([0.5, 0.6, 0.62])
    held = robot.lock({"bus": robot.neutral()[:7]})
    found = kt.inverse_kinematics(held, {"boresight": 1000.0 * star + [0, 0, 1.0]}, tolerance=1e-4)
    rates = found.q / 60.0  # turn in a minute
    q = robot.neutral()
    steps, momentum = 600, 0.0
    for _ in range(steps):
        v = kt.nullify_momentum(robot, q, robot.velocities({"azimuth": rates[0], "elevation": rates[1]}))
        momentum = max(momentum, float(np.abs(kt.momentum(robot, q, v)).max()))
        q = robot.integrate(q, 60.0 / steps * v)
    R = kt.placements(robot, q)[0, :3, :3]
    aim = kt.placements(robot, q)[2, :3, 0]
    return {
        "azimuth and elevation found, degrees apart": float(np.degrees(np.abs(found.q).sum())),
        "the bus turns by, degrees": float(np.degrees(np.arccos((np.trace(R) - 1) / 2))),
        "so the dish points off by, degrees": float(np.degrees(np.arccos(aim @ star))),
        "largest momentum": momentum,
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value:.4g}")
