"""A crane moves its load: after a plain move the load keeps swinging, after a shaped one it hangs still.

Bridge and trolley slide; the hoist cable swings in a universal joint and has a variable length. The carriage
follows a given acceleration, and its force is the unknown: hybrid dynamics. A shaped move applies half of the
acceleration at once and the other half of it half a pendulum period later.

    python examples/crane.py
"""

from __future__ import annotations

import numpy as np

import kinetree as kt

LENGTH, PUSH, STEP = 6.0, 0.5, 0.01  # m, m/s^2, s
DRIVEN = ("bridge", "trolley", "hoist")


def crane() -> kt.Model:
    builder = kt.ModelBuilder("crane")
    builder.add_body("bridge", None, kt.Prismatic((1, 0, 0)), inertia=kt.Inertia(5000.0))
    builder.add_body("trolley", "bridge", kt.Prismatic((0, 1, 0)), inertia=kt.Inertia(800.0))
    builder.add_body("cable", "trolley", kt.Universal((1, 0, 0), (0, 1, 0)), joint_name="swing")
    builder.add_body(
        "load", "cable", kt.Prismatic((0, 0, -1)), inertia=kt.Inertia(2000.0), joint_name="hoist"
    )
    return builder.build()


def swing_after(robot: kt.Model, acceleration) -> float:
    """The largest swing of the cable between 20 s and 30 s, after a move of the bridge."""
    q = robot.positions({"hoist": LENGTH})
    v, largest = np.zeros(robot.nv), 0.0
    for k in range(3000):
        t = k * STEP
        known = robot.velocities({"bridge": acceleration(t)})
        a, _ = kt.hybrid_dynamics(robot, q, v, known, accelerate=DRIVEN)
        v = v + STEP * a
        q = robot.integrate(q, STEP * v)
        if t > 20.0:
            largest = max(largest, float(np.abs(q[2:4]).max()))
    return largest


def main() -> dict[str, float]:
    robot = crane()
    period = 2 * np.pi * np.sqrt(LENGTH / 9.81)

    def plain(t: float) -> float:
        return PUSH if t < 3.0 else 0.0

    def shaped(t: float) -> float:
        return 0.5 * plain(t) + 0.5 * (plain(t - period / 2) if t >= period / 2 else 0.0)

    q = robot.positions({"hoist": LENGTH})
    force = kt.hybrid_dynamics(robot, q, np.zeros(5), np.zeros(5), accelerate=("bridge", "trolley", "hoist"))[
        1
    ]
    return {
        "period, s": float(period),
        "swing after a plain move, degrees": float(np.degrees(swing_after(robot, plain))),
        "after a shaped one, degrees": float(np.degrees(swing_after(robot, shaped))),
        "force of the hoist at rest, kN": float(force[4]) / 1000,
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value:.4g}")
