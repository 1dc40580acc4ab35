"""The inertial parameters of an arm from noisy measurements: `kt.identify`.

An arm follows a few sines, its torques are measured with noise, and its masses are poorly known. The
identifiable parameters are found with their uncertainty, all bodies stay physical, and the torques of another
motion are predicted.

    python examples/identify_arm.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import kinetree as kt

NOISE = np.array([2.0, 2.0, 1.0, 1.0, 0.5, 0.2, 0.1])  # N m
SECONDS, RATE = 20.0, 100.0  # s, Hz


def excitation(robot: kt.Model, seed: int, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(q, v, a) at the times t: five sines for each joint, with random amplitudes and phases."""
    rng = np.random.default_rng(seed)
    speeds = 2 * np.pi * 0.1 * np.arange(1, 6)[:, None]
    sizes = rng.normal(size=(5, robot.nv)) / np.arange(1, 6)[:, None] * 0.5
    phases = rng.uniform(0, 2 * np.pi, size=(5, robot.nv))
    angle = speeds * t[:, None, None] + phases
    q = (sizes * np.sin(angle)).sum(axis=1)
    v = (sizes * speeds * np.cos(angle)).sum(axis=1)
    a = (-sizes * speeds**2 * np.sin(angle)).sum(axis=1)
    return q, v, a


def main(folder: Path = Path(".")) -> dict[str, float]:
    """Measure, identify, and predict another motion."""
    rng = np.random.default_rng(0)
    truth = kt.zoo.arm7()
    guess = truth.with_parameters(truth.parameters * rng.uniform(0.6, 1.4, size=(7, 1)))
    t = np.arange(0, SECONDS, 1 / RATE)

    def torques(robot: kt.Model, q, v, a) -> np.ndarray:
        return kt.inverse_dynamics(robot, q, v, a) - kt.passive_force(robot, q, v)

    motion = excitation(truth, 1, t)
    measured = torques(truth, *motion) + NOISE * rng.normal(size=(len(t), truth.nv))
    found = kt.identify(guess, *motion, measured)

    base = found.base
    exact = base.matrix @ truth.parameters.ravel()
    low, high = found.base_interval(0.95)
    other = excitation(truth, 2, t)
    wanted = torques(truth, *other)
    predicted = [torques(robot, *other) for robot in (guess, found.model)]
    errors = [np.sqrt(np.mean((forces - wanted) ** 2)) for forces in predicted]
    figures = {
        "samples": found.samples,
        "parameters that can be seen": base.rank,
        "of these in their intervals of 95 %": float(np.mean((low < exact) & (exact < high))),
        "largest error of the noise, relative": float(np.abs(found.noise / NOISE - 1).max()),
        "error of predicted torques before, N m": float(errors[0]),
        "and after": float(errors[1]),
    }
    assert all(body.inertia.is_physical() for body in found.model.bodies)
    draw(folder / "identify_arm.png", t, wanted, *predicted, exact, low, high)
    return figures


def draw(path: Path, t, wanted, before, after, exact, low, high) -> None:
    """Draw torques of another motion, and parameters with their intervals, if matplotlib is installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(12, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(t, before[:, 1], color="lightgrey", label="as the masses were believed")
    left.plot(t, after[:, 1], label="as identified")
    left.plot(t, wanted[:, 1], "k:", label="true")
    left.set(xlabel="time, s", ylabel="torque of joint 2, N m", title="A motion that was not measured")
    left.legend(loc="lower right")
    half = (high - low) / 2
    right.errorbar(np.arange(len(exact)), (low + half - exact) / half, yerr=1.0, fmt="o", markersize=3)
    right.axhline(0.0, color="k", linewidth=0.8)
    right.set(xlabel="base parameter", ylabel="error / half of the interval", title="Intervals of 95 %")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    for name, value in main(Path(*sys.argv[1:2])).items():
        print(f"{name}: {value:.4g}")
