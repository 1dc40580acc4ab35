"""Chains with geared rotors: the errors of common approximations of the rotors.

The test rig of Echeandia (2020), chapter 4: accelerations without rotors (ABA), with rotor inertias times the
squared gear ratio on the diagonal (Eq. 4.26), and exact. `kinetree tables` prints all tables of the thesis.

    python examples/thesis_rig.py
"""

from __future__ import annotations

import numpy as np

import kinetree as kt


def main() -> dict[str, float]:
    n, ratio, spin = 5, 5.0, 1.0
    exact, plain = kt.zoo.geared_tree(n, ratio=ratio, spin=spin), kt.zoo.auto_tree(n)
    q = tau = np.arange(1.0, n + 1)
    v = np.zeros(n)
    a = kt.forward_dynamics(exact, q, v, tau)
    without = kt.forward_dynamics(plain, q, v, tau)
    H = kt.mass_matrix(plain, q) + ratio**2 * spin * np.eye(n)
    reflected = np.linalg.solve(H, tau - kt.bias_force(plain, q, v))
    return {
        "without rotors off by, rad/s^2": float(np.abs(a - without).max()),
        "reflected inertia off by, rad/s^2": float(np.abs(a - reflected).max()),
        "between the two (Table 4.3: 23.15)": float(np.abs(reflected - without).max()),
        "forward, then inverse dynamics off by, N m": float(
            np.abs(kt.inverse_dynamics(exact, q, v, a) - tau).max()
        ),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value:.4g}")
