"""A hand with three fingers closes around a ball: its joint angles, and the torques that hold the ball.

Each finger has a spread joint, a knuckle and a middle joint; the tip follows the middle joint through a
tendon (mimic). Inverse kinematics places the fingertips, and J^T f turns forces of 5 N towards the centre
into torques.

    python examples/hand.py
"""

from __future__ import annotations

import numpy as np

import kinetree as kt


def hand() -> kt.Model:
    builder = kt.ModelBuilder("hand")
    builder.add_body("palm", None, kt.Fixed(), inertia=kt.Inertia(0.5))
    for k in range(3):
        angle = 2 * np.pi * k / 3
        turned = kt.Rotation.from_axis_angle((0, 0, 1), angle)
        base = kt.Pose(turned, turned.apply((0.06, 0.0, 0.0)))
        bone = kt.Inertia(0.03, (0, 0, 0.02), np.eye(3) * 1e-5)
        joint = kt.Revolute((0, -1, 0))
        builder.add_body(f"spread{k}", "palm", kt.Revolute((0, 0, 1)), base, bone, limits=(-0.6, 0.6))
        builder.add_body(f"knuckle{k}", f"spread{k}", joint, None, bone, limits=(-0.8, 1.5))
        builder.add_body(f"middle{k}", f"knuckle{k}", joint, kt.Pose(p=(0, 0, 0.05)), bone, limits=(0.0, 1.6))
        tip = kt.Pose(p=(0, 0, 0.035))
        builder.add_body(f"tip{k}", f"middle{k}", joint, tip, bone, mimic=(f"middle{k}", 0.7, 0.0))
        builder.add_frame(f"pad{k}", f"tip{k}", kt.Pose(p=(0, 0, 0.025)))
    return builder.build()


def main() -> dict[str, float]:
    robot = hand()
    centre, radius = np.array([0.0, 0.0, 0.075]), 0.03
    around = [np.array([np.cos(t), np.sin(t), 0.0]) for t in 2 * np.pi * np.arange(3) / 3]
    found = kt.inverse_kinematics(robot, {f"pad{k}": centre + radius * n for k, n in enumerate(around)})
    tau = np.zeros(robot.nv)
    for k, n in enumerate(around):
        J = kt.jacobian(robot, found.q, f"pad{k}", "aligned")[3:]
        tau += J.T @ (-5.0 * n)
    tau += kt.gravity_force(robot, found.q)
    return {
        "joints that have a motor": robot.nv,
        "pads off by, m": float(np.max(found.error)),
        "largest torque, N m": float(np.abs(tau).max()),
        "fingers that differ": float(np.ptp(tau.reshape(3, 3), axis=0).max() > 1e-6),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value:.4g}")
