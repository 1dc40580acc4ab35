"""One joint of every type and every kind of axis, and random positions and velocities for them."""

from __future__ import annotations

import numpy as np

from kinetree.joints import (
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)

SLANTED = (2 / 7, -3 / 7, 6 / 7)
DOWN = (0.48, 0.6, -0.64)

JOINTS: dict[str, Joint] = {
    "fixed": Fixed(),
    "revolute x": Revolute((1, 0, 0)),
    "revolute -y": Revolute((0, -1, 0)),
    "revolute z": Revolute((0, 0, 1)),
    "revolute slanted": Revolute(SLANTED),
    "revolute down": Revolute(DOWN),
    "prismatic -x": Prismatic((-1, 0, 0)),
    "prismatic slanted": Prismatic(SLANTED),
    "helical z": Helical((0, 0, 1), 0.3),
    "helical slanted": Helical(SLANTED, -1.7),
    "cylindrical y": Cylindrical((0, 1, 0)),
    "cylindrical slanted": Cylindrical(DOWN),
    "universal": Universal((1, 0, 0), (0, 1, 0)),
    "universal slanted": Universal(SLANTED, DOWN),
    "planar": Planar(),
    "spherical": Spherical(),
    "free": Free(),
}


def samples(joint: Joint, count: int, seed: int = 0) -> np.ndarray:
    """Rows of random positions followed by random velocities."""
    rng = np.random.default_rng(seed)
    rows = [[*joint.random(rng), *rng.uniform(-1.0, 1.0, joint.nv)] for _ in range(count)]
    return np.array(rows).reshape(count, joint.nq + joint.nv)
