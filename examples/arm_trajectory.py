"""Least-torque motion of a 7-axis arm whose hand goes around a ball: direct collocation, CasADi and Ipopt.

Torques come from inverse dynamics, a compiled library with exact first and second derivatives
(`kt.casadi.external`). The position of the hand is a graph that CasADi differentiates (`kt.casadi.wrap`).

    python examples/arm_trajectory.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import casadi as ca
import numpy as np

import kinetree as kt

NODES, DURATION = 31, 1.5  # s
HAND = "link7"
CENTRE, RADIUS = np.array([0.36, 0.0, 0.5]), 0.2  # m, of the ball that the hand goes around
START = np.array([-0.9, 0.9, 0.0, -1.2, 0.0, 0.9, 0.0])
END = np.array([0.9, 0.9, 0.0, -1.2, 0.0, 0.9, 0.0])


@kt.function("q -> p(3)")
def hand(model, q):
    """The position of the hand."""
    return kt.frame_placement(model, q, HAND)[:3, 3]


def main(folder: Path = Path(".")) -> dict[str, float]:
    """Plan the motion, check it between the nodes, and draw it."""
    robot = kt.zoo.arm7()
    n, h = robot.nv, DURATION / (NODES - 1)
    torque = kt.casadi.external(kt.inverse_dynamics, robot)
    place = kt.casadi.wrap(hand, robot)

    q, v, a = (ca.MX.sym(name, n, NODES) for name in "qva")
    tau = torque.map(NODES)(q, v, a)
    points = place.map(NODES)(q)
    away = ca.sum1((points - ca.DM(CENTRE)) ** 2).T

    def mean(x):
        return (x[:, 1:] + x[:, :-1]) / 2

    jumps = tau[:, 1:] - tau[:, :-1]
    cost = h * (ca.sumsqr(mean(tau)) + ca.sumsqr(jumps)) / 100
    ties = [q[:, 1:] - q[:, :-1] - h * mean(v), v[:, 1:] - v[:, :-1] - h * mean(a)]  # the trapezoidal rule
    ends = [q[:, 0] - START, q[:, -1] - END, v[:, 0], v[:, -1]]
    equations = ca.vertcat(*(ca.vec(e) for e in (*ties, *ends)))
    strongest = np.tile(robot.limits.effort, NODES)
    x = ca.veccat(q, v, a)
    guess = np.zeros((3, NODES, n))
    guess[0] = np.linspace(START, END, NODES)

    solver = ca.nlpsol(
        "solver",
        "ipopt",
        {"x": x, "f": cost, "g": ca.vertcat(equations, ca.vec(tau), away)},
        {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.max_iter": 300},
    )
    still = np.zeros(equations.numel())
    high = np.concatenate([still, strongest, np.full(NODES, np.inf)])
    widest = (robot.limits.upper, robot.limits.velocity, np.full(n, np.inf))
    box = np.concatenate([np.tile(x, NODES) for x in widest])

    def motion(radius: float, guess: np.ndarray) -> np.ndarray:
        """(q, v, a) at all nodes of the best motion that stays a radius away from the centre."""
        low = np.concatenate([still, -strongest, np.full(NODES, radius**2)])
        found = solver(x0=guess.ravel(), lbg=low, ubg=high, lbx=-box, ubx=box)
        assert solver.stats()["success"], solver.stats()["return_status"]
        return np.array(found["x"]).reshape(3, NODES, n)

    freely = motion(0.0, guess)
    around = motion(RADIUS, freely)
    forces = [kt.inverse_dynamics(robot, *found) for found in (freely, around)]
    paths = [hand(robot, found[0]) for found in (freely, around)]
    figures = {
        "variables": x.numel(),
        "iterations": solver.stats()["iter_count"],
        "torque without the ball, N m (root mean square)": float(np.sqrt(np.mean(forces[0] ** 2))),
        "torque around the ball": float(np.sqrt(np.mean(forces[1] ** 2))),
        "nearest to the centre without the ball, m": float(np.linalg.norm(paths[0] - CENTRE, axis=1).min()),
        "nearest to the centre": float(np.linalg.norm(paths[1] - CENTRE, axis=1).min()),
    }
    draw(folder / "arm_trajectory.png", paths, forces[1], np.linspace(0, DURATION, NODES))
    return figures


def draw(path: Path, paths, forces, t) -> None:
    """Draw the paths of the hand from the front, and the torques, if matplotlib is installed."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.patches import Circle
    except ImportError:
        return
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.add_patch(Circle(CENTRE[1:], RADIUS, color="lightgrey"))
    for line, label, points in zip(("--", "o-"), ("without the ball", "around it"), paths, strict=True):
        left.plot(points[:, 1], points[:, 2], line, markersize=3, label=label)
    left.set(xlabel="y, m", ylabel="z, m", title="The hand from the front", aspect="equal")
    left.legend(loc="lower center")
    right.plot(t, forces, label=[f"joint {k}" for k in range(1, 8)])
    right.set(xlabel="time, s", ylabel="torque, N m", title="Torques around the ball")
    right.legend(ncols=2, fontsize="small")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    for name, value in main(Path(*sys.argv[1:2])).items():
        print(f"{name}: {value:.4g}")
