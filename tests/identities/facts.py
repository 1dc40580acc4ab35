"""Facts about cases that several laws need."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.identities.case import Case


def index_of(c: Case, joint: str) -> np.ndarray:
    """Where the velocities of a joint that has its own stand in v; empty for fixed and mimic joints."""
    index = c.model.coordinate_index(joint)
    return np.arange(c.n)[index] if isinstance(index, slice) else np.array(list(index), dtype=int)


def floats(c: Case) -> bool:
    """The model has one root, on a free joint."""
    return sum(p == 0 for p in c.model.parents) == 1 and len(index_of(c, c.model.joint_names[0])) == 6


def shift(T: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """A wrench given in the frame at pose T, in the frame that T is given in."""
    force = T[:3, :3] @ wrench[3:]
    return np.concatenate([T[:3, :3] @ wrench[:3] + np.cross(T[:3, 3], force), force])


def path_to(c: Case, b: int) -> list[int]:
    """Body `b` and its ancestors, counted from 0."""
    path = []
    while b >= 0:
        path.append(b)
        b = c.model.parents[b] - 1
    return path


def has_geared_masses(c: Case) -> bool:
    """The model has rotors or armatures."""
    return bool(c.model.rotors) or any(np.any(np.asarray(b.armature, float)) for b in c.model.bodies)


def dense(inertia: Any) -> np.ndarray:
    """The 6x6 matrix of a spatial inertia, from its ten parameters."""
    m, x, y, z, xx, yy, zz, xy, xz, yz = (float(p) for p in inertia.parameters)
    h = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    second = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return np.block([[second, h], [-h, m * np.eye(3)]])
