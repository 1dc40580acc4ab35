"""A pendulum on a cart: its equations in symbols, compared with the printed ones, and a simulation.

[m1+m2, m2 L c; m2 L c, I+m2 L^2] [x''; theta''] = [f + m2 L s theta'^2; -m2 g L s]: Concurrent Dynamics
(2017), equations N1 to N4, with Y_1 = 1.

    python examples/cart_pendulum.py
"""

from __future__ import annotations

import numpy as np
import sympy

import kinetree as kt


def main() -> dict[str, float]:
    m1, m2, L, I, g = symbols = sympy.symbols("m1 m2 L I g", positive=True)
    motion = kt.symbolic.equations(kt.zoo.cart_pole(*symbols))
    s, c, rate = sympy.sin(motion.q[1]), sympy.cos(motion.q[1]), motion.v[1]
    M = sympy.Matrix([[m1 + m2, m2 * L * c], [m2 * L * c, I + m2 * L**2]])
    bias = sympy.Matrix([-m2 * L * s * rate**2, m2 * g * L * s])
    found = motion.C * motion.v + motion.g
    print(motion.latex())

    robot = kt.zoo.cart_pole(2.0, 0.5, 0.6, 0.02)
    run = kt.simulate(robot, [0.0, 2.5], [0.0, 0.0], duration=1.0, dt=0.001, integrator="rk4")
    x = kt.center_of_mass(robot, run.q)[:, 0]
    return {
        "terms that differ from print": float(sum(e != 0 for e in [*(motion.M - M), *(found - bias)])),
        "angle after 1 s, rad": float(run.q[-1, 1]),
        "centre of mass moved by, m": float(np.ptp(x)),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value:.4g}")
