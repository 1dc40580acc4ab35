"""Pick and place with a Delta robot: inverse dynamics in the coordinates of its three motors.

The path is planned for the platform. `assemble` closes the loops along the whole path at once, Jacobians of
the platform give the velocities and accelerations of the motors, and inverse dynamics gives their torques.
The torques are exact, with forearms, rotors and closed loops, in three coordinates instead of twelve joints
and nine constraint forces.

    python examples/delta_tracking.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import kinetree as kt

WIDTH, HEIGHT, CYCLE = 0.305, 0.025, 0.43  # m, m, s: there and back, the usual test cycle of handling robots
DT = 1e-3
KP, KD = 60.0**2, 2 * 60.0  # 1/s^2, 1/s: errors decay within 50 ms


def path(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position from the middle, velocity and acceleration (..., 3): over a hump and back, with rests."""
    half = CYCLE / 2
    s, back = np.clip(np.mod(t, CYCLE) / half, 0, 2), np.mod(t, CYCLE) > half
    s = np.where(back, 2 - s, s)
    sign = np.where(back, -1.0, 1.0) / half
    m = 2 * (10 * s**3 - 15 * s**4 + 6 * s**5) - 1  # from -1 to 1
    dm, ddm = 60 * s**2 * (1 - s) ** 2 * sign, 120 * s * (1 - s) * (1 - 2 * s) * sign**2
    zero = np.zeros_like(m)
    x = [WIDTH / 2 * y for y in (m, dm, ddm)]
    z = HEIGHT * (1 - m**6), -6 * HEIGHT * m**5 * dm, -6 * HEIGHT * (5 * m**4 * dm**2 + m**5 * ddm)
    p, v, a = (np.stack(part, axis=-1) for part in zip(x, (zero, zero, zero), z, strict=True))
    return p, v, a


def planned(robot: kt.Model, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All joints, and the velocities and accelerations of the motors, along the path."""
    p, dp, ddp = path(t)
    q = np.tile(robot.neutral(), (len(t), 1))
    q[:, [robot.position_index(joint).start for joint in "xyz"]] += p
    q = robot.assemble(q, fixed=("x", "y", "z"))
    J = kt.jacobian(robot, q, "tool", reference="aligned")[:, 3:]
    v = np.linalg.solve(J, dp[..., None])[..., 0]
    rate = kt.jacobian_rate(robot, q, v, "tool", reference="aligned")[:, 3:]
    a = np.linalg.solve(J, (ddp - np.einsum("tij,tj->ti", rate, v))[..., None])[..., 0]
    return q, v, a


def main(folder: Path = Path(".")) -> dict[str, float]:
    """Track two cycles with and without a model of the robot; draw both."""
    robot = kt.zoo.delta(payload=0.5)
    t = np.arange(0, 2 * CYCLE + DT / 2, DT)
    q, v, a = planned(robot, t)
    torque = kt.inverse_dynamics(robot, q, v, a)
    arms = [robot.position_index(f"arm{k}").start for k in (1, 2, 3)]
    inertia = float(np.diag(kt.mass_matrix(robot, robot.neutral())).mean())

    def by_model(time, position, velocity):
        k = round(time / DT)
        wanted = a[k] + KP * (q[k] - position)[arms] + KD * (v[k] - velocity)
        return kt.inverse_dynamics(robot, position, velocity, wanted)

    def by_servo(time, position, velocity):
        k = round(time / DT)
        return inertia * (KP * (q[k] - position)[arms] + KD * (v[k] - velocity))

    runs, off = {}, {}
    for name, control in (("inverse dynamics", by_model), ("servos alone", by_servo)):
        run = kt.simulate(robot, q[0], v[0], duration=t[-1], dt=DT, control=control, integrator="rk4")
        place = kt.frame_placement(robot, run.q, "tool")[:, :3, 3]
        ideal = kt.frame_placement(robot, q, "tool")[:, :3, 3]
        runs[name], off[name] = place, 1e3 * np.linalg.norm(place - ideal, axis=-1)
    _draw(folder, robot, q, t, runs, off)
    power = np.einsum("ti,ti->t", torque, v)
    energy = kt.kinetic_energy(robot, q, v) + kt.potential_energy(robot, q)
    work = np.concatenate([[0], np.cumsum((power[1:] + power[:-1]) / 2 * DT)])
    loops = robot.assemble(q)
    return {
        "largest torque, N m": float(np.abs(torque).max()),
        "fastest, m/s": float(np.linalg.norm(path(t)[1], axis=-1).max()),
        "off the path by inverse dynamics, mm": float(off["inverse dynamics"].max()),
        "off the path by servos alone, mm": float(off["servos alone"].max()),
        "work less energy, J": float(np.abs(work - (energy - energy[0])).max()),
        "loops open by, m": float(np.abs(loops - q).max()),
    }


def _draw(folder: Path, robot: kt.Model, q, t, runs, off) -> None:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    half = len(t) // 4
    figure = kt.pictures.posture(robot, q[: half + 1 : half // 4], title="pick and place", view=(12, -75))
    axis = figure.axes[0]
    for place, color in zip(runs.values(), ("C2", "C3"), strict=True):
        axis.plot(*place.T, color=color, linewidth=1.2, zorder=99)
    figure.savefig(folder / "delta_tracking.png", dpi=130)
    plt.close(figure)
    figure, axis = plt.subplots(figsize=(5.2, 2.6), constrained_layout=True)
    for (name, error), color in zip(off.items(), ("C2", "C3"), strict=True):
        axis.semilogy(t, np.maximum(error, 1e-6), color=color, label=name)
    axis.set(xlabel="t, s", ylabel="off the path, mm")
    axis.legend(frameon=False)
    figure.savefig(folder / "delta_errors.png", dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    for name, value in main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(".")).items():
        print(f"{name}: {value:.4g}")
