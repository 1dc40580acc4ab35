"""Gears: the inertia of a rotor behind two stages, and a wrist that two motors turn together.

A rotor behind the gear ratio n adds n^2 J to the inertia that a joint feels; a gear between the stages adds
its own share. In a differential, each motor turns with the sum or the difference of two angles.

    python examples/transmission.py
"""

from __future__ import annotations

import numpy as np

import kinetree as kt


def drive() -> kt.Model:
    builder = kt.ModelBuilder("drive", gravity=(0, 0, 0))
    builder.add_body("arm", None, kt.Revolute((0, 0, 1)), inertia=kt.Inertia(2.0, inertia=np.eye(3) * 0.3))
    rotor = kt.Inertia(0.2, inertia=np.diag([1e-5, 1e-5, 2e-5]))
    gear = kt.Inertia(0.1, inertia=np.diag([4e-5, 4e-5, 8e-5]))
    builder.add_rotor("arm", rotor, ratio=60.0)
    builder.add_rotor("arm", gear, ratio=-12.0)  # turns opposite to the rotor
    return builder.build()


def differential() -> kt.Model:
    builder = kt.ModelBuilder("wrist", gravity=(0, 0, 0))
    body = kt.Inertia(0.5, inertia=np.eye(3) * 0.002)
    builder.add_body("wrist", None, kt.Universal((1, 0, 0), (0, 1, 0)), inertia=body)
    for sign in (1.0, -1.0):
        motor = kt.Inertia(0.1, inertia=np.eye(3) * 1e-5)
        builder.add_rotor("wrist", motor, axis=(1, 0, 0), ratio=(20.0, 20.0 * sign))
    return builder.build()


def main() -> dict[str, float]:
    one, two = drive(), differential()
    felt = kt.mass_matrix(one, np.zeros(1))[0, 0]
    M = kt.mass_matrix(two, np.zeros(2))
    motors = kt.rotor_ratios(two) @ np.array([0.0, 1.0])  # the second angle alone
    return {
        "inertia that the arm feels, kg m^2": float(felt),
        "by hand": 0.3 + 60.0**2 * 2e-5 + 12.0**2 * 8e-5,
        "share of each motor in 2 N m, N m": float(kt.motor_torques(two, np.array([2.0, 0.0]))[1]),
        "both motors of the wrist turn, rad/s": float(np.abs(motors).min()),
        "their torques act on one angle alone": float(abs(M[0, 1])),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value:.4g}")
