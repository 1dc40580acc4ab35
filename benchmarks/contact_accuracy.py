"""What is missing where Newton steps are limited or end early, as the tables of docs/contact.md:

python -m benchmarks.contact_accuracy
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks import contact, gpu_contact

TROTTING, TRACKING = 256, 4096  # states
LIMITS = 2, 3, 4
SOME = 20  # steps, until the robots have started to move
ACCURACIES = 1e-3, 1e-4, 1e-5, 1e-7
EXACT = 1e-13

LIMITED = """\
| `newton_limit` | error of the mean normal force | of the 99.9th percentile \
| error of a position after 0.2 s: median, worst (m or rad) |
|--:|--:|--:|--:|"""
ENDED = """\
| `contact_accuracy` | quadruped: Newton steps, mean and max | velocity error: median, 99.9 %, worst \
| humanoid: Newton steps, mean and max | velocity error: median, 99.9 %, worst |
|--:|--:|--:|--:|--:|"""


def limited(robot: str, model: kt.Model) -> list[str]:
    """Rows of the first table: robots that trot and are pushed, for a second."""
    start, gains = gpu_contact.states(model, TROTTING, "float64")
    control = functools.partial(gpu_contact.trot, phase=start["phase"], push=start["push"])

    def run(limit: int | None) -> kt.Trajectory:
        return kt.simulate(
            model, start["q"], start["v"], duration=1.0, dt=2e-3, control=control, newton_limit=limit,
            record=1, progress=False, **gains,
        )  # fmt: skip

    def forces(run: kt.Trajectory) -> tuple[float, float]:
        normal = run.contact_force[..., 2]
        return normal.mean(), np.quantile(normal, 0.999)

    whole, rows = run(None), []
    for limit in LIMITS:
        found = run(limit)
        mean, high = (100 * (a / b - 1) for a, b in zip(forces(found), forces(whole), strict=True))
        off = abs(model.difference(whole.q[:, 100], found.q[:, 100])).max(-1)
        rows.append(
            f"| {limit}, {robot} | {mean:+.1g} % | {high:+.1g} % | {np.median(off):.0e}, {off.max():.0e} |"
        )
    return rows


def ended(model: kt.Model) -> list[str]:
    """Cells of the second table: one step of robots whose servos follow random targets."""
    q, v, servo = contact.moving(model, "float64", TRACKING)
    moved = kt.simulate(model, q, v, duration=SOME * contact.STEP, record=SOME, **servo)
    q, v = moved.q[:, -1], moved.v[:, -1]

    def run(accuracy: float) -> kt.Trajectory:
        options = servo | {"duration": contact.STEP, "contact_accuracy": accuracy}
        return kt.simulate(model, q, v, **options)

    whole, cells = run(EXACT), []
    for accuracy in ACCURACIES:
        found = run(accuracy)
        count = found.newton_steps[:, 0]
        off = abs(found.v - whole.v)[:, -1].max(-1)
        errors = np.median(off), np.quantile(off, 0.999), off.max()
        cells.append(f"{count.mean():.1f}, {count.max():.0f} | {', '.join(f'{x:.0e}' for x in errors)} rad/s")
    return cells


def main() -> None:
    robots: dict[str, Any] = {"quadruped": gpu_contact.quadruped(), "humanoid": kt.zoo.humanoid()}
    print(LIMITED)
    for robot, model in robots.items():
        print(*limited(robot, model), sep="\n", flush=True)
    print(f"\n{ENDED}")
    for accuracy, *cells in zip(ACCURACIES, *(ended(model) for model in robots.values()), strict=True):
        print(f"| {accuracy:.0e} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
