"""Facts about cases that several laws need."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.identities.case import Case
from tests.reference.mechanism import TWISTS


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


def relative(c: Case) -> np.ndarray:
    """(nb, 6, nv): velocities of bodies relative to their parents, in body axes, per unit of each v."""
    J, T = c.of("partial_velocities"), c.of("placements")
    result = J.copy()
    for b, parent in enumerate(c.model.parents):
        if parent:
            result[b] -= motion_matrix(np.linalg.inv(T[b]) @ T[parent - 1]) @ J[parent - 1]
    return result


def motion_matrix(T: np.ndarray) -> np.ndarray:
    """(6, 6): takes a motion [w; v] given in the frame at pose T to the frame that T is given in."""
    R, (x, y, z) = T[:3, :3], T[:3, 3]
    lever = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.block([[R, np.zeros((3, 3))], [lever @ R, R]])


def carriers(c: Case) -> list[int]:
    """The body that carries each rotor; 0 is the world."""
    parent = dict(zip(c.model.joint_names, c.model.parents, strict=True))
    return [parent[rotor.joint] for rotor in c.model.rotors]


def armature_force(c: Case) -> np.ndarray:
    """What armatures add to the generalised force: D a for coordinates; where velocities are parts of the
    twist [w; u] of the body, d/dt of the momenta [D w; D u] in turning axes.
    """
    tau = np.zeros(c.n)
    for b, body in enumerate(c.model.bodies):
        D = np.asarray(body.armature, float)
        at, gain = leader(c, b)
        tau[at] += gain**2 * D * c.a[at]
        if body.joint.type_name in TWISTS:
            parts = list(TWISTS[body.joint.type_name])
            twist, momentum = np.zeros((2, 2, 3))
            twist.flat[parts], momentum.flat[parts] = c.v[at], D * c.v[at]
            turning = np.cross(twist, momentum).sum(axis=0), np.cross(twist[0], momentum[1])
            tau[at] += np.concatenate(turning)[parts]
    return tau


def leader(c: Case, b: int) -> tuple[np.ndarray, float]:
    """Where in v the velocities stand that a body's joint follows (as a rule its own), and the ratio."""
    gain, rule = 1.0, c.model.bodies[b].mimic
    while rule is not None:
        b = c.model.joint_names.index(rule.joint)
        gain *= float(rule.multiplier)
        rule = c.model.bodies[b].mimic
    return index_of(c, c.model.joint_names[b]), gain


def semidefinite(matrix: np.ndarray, size: float) -> bool:
    """No eigenvalue of the symmetric matrix is below zero by more than rounding."""
    return not len(matrix) or np.linalg.eigvalsh(matrix)[0] > -1e-12 * size


def has_geared_masses(c: Case) -> bool:
    """The model has rotors or armatures."""
    return bool(c.model.rotors) or any(np.any(np.asarray(b.armature, float)) for b in c.model.bodies)


def dense(inertia: Any) -> np.ndarray:
    """The 6x6 matrix of a spatial inertia, from its ten parameters."""
    m, x, y, z, xx, yy, zz, xy, xz, yz = (float(p) for p in inertia.parameters)
    h = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    second = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return np.block([[second, h], [-h, m * np.eye(3)]])
