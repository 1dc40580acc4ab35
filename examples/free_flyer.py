"""A free-flying robot reaches out: its arm moves, its base recoils, its centre of mass stays.

The spacecraft has no thrusters. The generalised Jacobian of its hand, which includes the motion of the base,
is smaller than that of a robot with a fixed base: part of every reach is lost to the base.

    python examples/free_flyer.py
"""

from __future__ import annotations

import numpy as np

import kinetree as kt


def main() -> dict[str, float]:
    robot = kt.zoo.spacecraft()
    arm = ["shoulder", "upper_arm", "forearm", "gripper"]
    q = robot.positions({"upper_arm": 0.5, "forearm": -1.0})
    start, place = kt.center_of_mass(robot, q), kt.frame_placement(robot, q, "grasp")[:3, 3]
    goal = place + np.array([-0.3, 0.4, 0.2])
    momentum = 0.0
    for _ in range(200):
        units = np.stack([robot.velocities({name: 1.0}) for name in arm])
        moves = np.stack([kt.nullify_momentum(robot, q, unit) for unit in units])  # of base and arm
        J = kt.jacobian(robot, q, "grasp", "aligned")[3:]
        error = goal - kt.frame_placement(robot, q, "grasp")[:3, 3]
        v = np.linalg.pinv(J @ moves.T) @ error @ moves  # the generalised Jacobian
        momentum = max(momentum, float(np.abs(kt.momentum(robot, q, v)).max()))
        q = robot.integrate(q, 0.05 * v)
    end = kt.frame_placement(robot, q, "grasp")[:3, 3]
    R = kt.placements(robot, q)[0, :3, :3]
    return {
        "hand off by, m": float(np.linalg.norm(goal - end)),
        "base turned by, degrees": float(np.degrees(np.arccos((np.trace(R) - 1) / 2))),
        "centre of mass moved by, m": float(np.linalg.norm(kt.center_of_mass(robot, q) - start)),
        "largest momentum": momentum,
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value:.4g}")
