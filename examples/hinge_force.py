"""The force along z that a hinge about x must bear, as one component of its wrench.

Concurrent Dynamics (2017), proposition 5 with F = G f + G^ f^c: a projection takes the constraint force from
the wrench through the hinge. For a pendulum the answer is known: m (g cos + L w^2) along the rod.

    python examples/hinge_force.py
"""

from __future__ import annotations

import numpy as np

import kinetree as kt


def main() -> dict[str, float]:
    m, L, g, angle, rate = 2.0, 0.7, 9.81, 0.6, 1.3
    builder = kt.ModelBuilder("pendulum", gravity=(0, 0, -g))
    builder.add_body("bob", None, kt.Revolute((1, 0, 0)), inertia=kt.Inertia(m, (0, 0, -L)))
    robot = builder.build()
    q, v = np.array([angle]), np.array([rate])
    a = kt.forward_dynamics(robot, q, v, np.zeros(1))
    wrench = kt.joint_wrenches(robot, q, v, a)[0]  # [moment; force], axes of the bob
    e_z = np.array([0, 0, 0, 0, 0, 1.0])
    return {
        "force along the rod, N": float(e_z @ wrench),
        "by hand, N": m * (g * np.cos(angle) + L * rate**2),
        "moment about the hinge, N m": float(wrench[0]),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value:.4g}")
