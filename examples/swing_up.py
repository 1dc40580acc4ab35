"""Swing-up of a pendulum whose motor is too weak to lift it: direct collocation with SciPy.

Each node of the motion has q, v and a. The trapezoidal rule links the nodes by linear equations; the torques
come from inverse dynamics, with exact sparse Jacobians from `kt.scipy.residual`.

    python examples/swing_up.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.optimize import LinearConstraint, minimize

import kinetree as kt

NODES, DURATION = 61, 5.0  # s
STRENGTH = 0.4  # of the motor, relative to the torque that holds the pendulum horizontal


def main(folder: Path = Path(".")) -> dict[str, float]:
    """Plan the motion, check it in a simulation, and draw it."""
    robot = kt.zoo.pendulum()
    h = DURATION / (NODES - 1)
    limit = STRENGTH * float(kt.gravity_force(robot, np.array([np.pi / 2]))[0])
    torque = kt.scipy.residual(kt.inverse_dynamics, robot, ("q", "v", "a"), states=NODES)

    # x = (q, v, a) of every node; q' = v and v' = a by the trapezoidal rule, and the known end states
    eye, following = np.eye(NODES)[:-1], np.eye(NODES)[1:]
    change, mean = following - eye, h / 2 * (following + eye)
    ties = np.kron(change, np.eye(3)[:2]) - np.kron(mean, np.eye(3)[1:])
    ends = np.eye(3 * NODES)[[0, 1, -3, -2]]
    equations = LinearConstraint(np.vstack([ties, ends]), *[[*np.zeros(2 * NODES), np.pi, 0.0]] * 2)
    motor = {
        "type": "ineq",
        "fun": lambda x: np.concatenate([limit - torque(x), limit + torque(x)]),
        "jac": lambda x: np.vstack([-torque.jac(x).toarray(), torque.jac(x).toarray()]),
    }
    guess = np.zeros((NODES, 3))
    guess[:, 0] = np.linspace(0, np.pi, NODES)
    found = minimize(
        lambda x: h * torque(x) @ torque(x),
        guess.ravel(),
        jac=lambda x: 2 * h * torque(x) @ torque.jac(x),
        constraints=[equations, motor],
        method="SLSQP",
        options={"maxiter": 300, "ftol": 1e-9},
    )
    q, v, _ = found.x.reshape(NODES, 3).T
    tau = torque(found.x)

    t = np.linspace(0, DURATION, NODES)

    def control(now, position, speed):
        """The planned torque plus weak feedback, because the top is unstable."""
        ahead, faster = np.interp(now, t, q) - position, np.interp(now, t, v) - speed
        return np.clip(np.interp(now, t, tau) + 10.0 * ahead + 5.0 * faster, -limit, limit)

    run = kt.simulate(robot, q[:1], v[:1], duration=DURATION, dt=0.005, control=control, integrator="rk4")
    figures = {
        "iterations": found.nit,
        "largest torque / holding torque": float(np.abs(tau).max()) / limit * STRENGTH,
        "changes of direction": float(np.count_nonzero(np.diff(np.sign(v[1:-1])))),
        "end of the simulation, rad from the top": float(abs(run.q[-1, 0] - np.pi)),
    }
    assert found.success, found.message
    draw(folder / "swing_up.png", t, q, tau, limit, run)
    return figures


def draw(path: Path, t, q, tau, limit, run) -> None:
    """Draw the planned and the simulated motion, and the torque, if matplotlib is installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(7, 5), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    above.plot(run.t, run.q[:, 0], label="simulated")
    above.plot(t, q, "o", markersize=3, label="planned")
    above.axhline(np.pi, color="grey", linewidth=0.8)
    above.set(ylabel="angle, rad", title="Swing-up with a weak motor")
    above.legend()
    below.plot(t, tau)
    for bound in (-limit, limit):
        below.axhline(bound, color="grey", linestyle="--", linewidth=0.8)
    below.set(xlabel="time, s", ylabel="torque, N m")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    for name, value in main(Path(*sys.argv[1:2])).items():
        print(f"{name}: {value:.4g}")
