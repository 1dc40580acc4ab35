"""A quarter-car suspension: a body on spring and damper, a wheel on its tyre, and their frequencies.

The two frequencies from the linearised motion, beside those from mass, damping and stiffness matrices written
by hand.

    python examples/suspension.py
"""

from __future__ import annotations

import numpy as np

import kinetree as kt

BODY, WHEEL, SPRING, TYRE, DAMPING = 300.0, 40.0, 20e3, 180e3, 1200.0  # kg, kg, N/m, N/m, N s/m


def main() -> dict[str, float]:
    builder = kt.ModelBuilder("quarter_car", gravity=(0, 0, 0))
    up = kt.Prismatic((0, 0, 1))
    builder.add_body("wheel", None, up, inertia=kt.Inertia(WHEEL), stiffness=TYRE)
    builder.add_body("body", "wheel", up, inertia=kt.Inertia(BODY), stiffness=SPRING, damping=DAMPING)
    robot = builder.build()
    zero = np.zeros(2)
    A, _ = kt.linearize(robot, zero, zero, zero)
    ringing = np.sort(np.abs(np.linalg.eigvals(A)))[::2] / (2 * np.pi)

    M, K = np.diag([WHEEL, BODY]), np.array([[TYRE + SPRING, -SPRING], [-SPRING, SPRING]])
    C = DAMPING * np.array([[1.0, -1.0], [-1.0, 1.0]])
    left = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    by_hand = np.sort(np.abs(np.linalg.eigvals(left)))[::2] / (2 * np.pi)
    run = kt.simulate(robot, [0.05, 0.0], zero, duration=3.0, dt=0.001)
    return {
        "body bounces at, Hz": float(ringing[0]),
        "wheel hops at, Hz": float(ringing[1]),
        "difference from the matrices by hand, Hz": float(np.abs(ringing - by_hand).max()),
        "left of a step of 5 cm after 3 s, mm": float(1000 * np.abs(run.q[-1].sum())),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value:.4g}")
