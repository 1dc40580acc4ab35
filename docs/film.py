"""Make the film of the page on learning anew, from the motion that examples/walking_ppo.py saves.

python examples/walking_ppo.py && python -m docs.film walking_ppo.npz
"""

from __future__ import annotations

import sys
from pathlib import Path

import kinetree as kt
from kinetree.io.visuals import Looks, Visual

FILM = Path(__file__).parent / "learning-walking.webp"
BLUE, DARK, GREY = (0.16, 0.36, 0.62, 1.0), (0.13, 0.15, 0.2, 1.0), (0.55, 0.58, 0.62, 1.0)


def quadruped() -> Looks:
    """Shapes for the quadruped of the zoo, as large as its inertias are."""
    shapes = [Visual("trunk", kt.Pose(), "box", (0.2, 0.075, 0.05), BLUE)]
    shapes.append(Visual("trunk", kt.Pose(p=(0.22, 0.0, 0.02)), "box", (0.04, 0.05, 0.035), DARK))
    lying = ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0))  # z along the axis of a hip
    for end in ("front", "rear"):
        for side, y in (("left", 1.0), ("right", -1.0)):
            leg = f"{end}_{side}"
            shapes += [
                Visual(f"{leg}_hip", kt.Pose(lying, (0.0, 0.04 * y, 0.0)), "cylinder", (0.045, 0.04), DARK),
                Visual(f"{leg}_thigh", kt.Pose(p=(0.0, 0.0, -0.105)), "capsule", (0.026, 0.105), BLUE),
                Visual(f"{leg}_shank", kt.Pose(p=(0.0, 0.0, -0.1)), "capsule", (0.015, 0.1), GREY),
                Visual(f"{leg}_foot", kt.Pose(p=(0.0, 0.0, 0.016)), "sphere", (0.02,), DARK),
            ]
    return Looks(shapes)


def main() -> None:
    run = kt.Trajectory.load(sys.argv[1])
    path = Path(sys.argv[2]) if len(sys.argv) > 2 else FILM
    print(kt.pictures.film(run[:251], path, looks=quadruped(), size=(540, 280), rate=20, distance=1.45))


if __name__ == "__main__":
    main()
