"""A pendulum simulated by the library and by its own equation of motion: the motions coincide.

(I + m L^2) theta'' = tau - m g L sin(theta): Concurrent Dynamics (2017), equations M1 to M4.

    python examples/pendulum.py
"""

from __future__ import annotations

import numpy as np

import kinetree as kt

M, L, I, G = 1.5, 0.8, 0.1, 9.81
STEP, STEPS = 1e-3, 2000


def by_hand(theta: float, rate: float) -> tuple[float, float]:
    """The same Runge-Kutta steps for the equation derived by hand."""

    def slope(x):
        return np.array([x[1], -M * G * L * np.sin(x[0]) / (I + M * L**2)])

    x = np.array([theta, rate])
    for _ in range(STEPS):
        k1 = slope(x)
        k2 = slope(x + STEP / 2 * k1)
        k3 = slope(x + STEP / 2 * k2)
        x = x + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + slope(x + STEP * k3))
    return float(x[0]), float(x[1])


def main() -> dict[str, float]:
    robot = kt.zoo.pendulum(M, L, I, G)
    run = kt.simulate(robot, [2.0], [0.0], duration=STEP * STEPS, dt=STEP, integrator="rk4")
    theta, rate = by_hand(2.0, 0.0)
    return {
        "inertia, kg m^2": float(kt.mass_matrix(robot, [2.0])[0, 0]),
        "angle after 2 s, rad": float(run.q[-1, 0]),
        "difference from the equation by hand": abs(run.q[-1, 0] - theta) + abs(run.v[-1, 0] - rate),
        "change of energy, J": float(np.ptp(run.energy)),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value:.4g}")
