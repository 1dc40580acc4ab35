"""One joint of every type and every kind of axis, and random positions and velocities for them."""

from __future__ import annotations

import numpy as np

from kinetree import ops
from kinetree.joints import (
    CoordinateJoint,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    PlanarTwist,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from kinetree.joints.axis import rotation_about
from kinetree.spatial.motion import Motion
from kinetree.spatial.subspace import Subspace
from kinetree.spatial.vector import IDENTITY

SLANTED = (2 / 7, -3 / 7, 6 / 7)
DOWN = (0.48, 0.6, -0.64)


class Gimbal(CoordinateJoint):
    """A joint of the user's own: three angles in sequence, R = Rx(q0) Ry(q1) Rz(q2)."""

    type_name, coordinates = "gimbal", ("angle",) * 3

    def placement(self, q):
        first, second, third = (rotation_about(axis, angle) for axis, angle in zip(IDENTITY, q))
        return third @ second @ first

    def subspace(self, q):
        (cb, sb), (cc, sc) = ((ops.cos(x), ops.sin(x)) for x in q[1:])
        return _turns((cb * cc, -cb * sc, sb), (sc, cc, 0), (0, 0, 1))

    def subspace_partials(self, q):
        (cb, sb), (cc, sc) = ((ops.cos(x), ops.sin(x)) for x in q[1:])
        still = (0, 0, 0)
        return (
            _turns(still, still, still),
            _turns((-sb * cc, sb * sc, cb), still, still),
            _turns((-cb * sc, -cb * cc, 0), (cc, -sc, 0), still),
        )

    def complement(self, q):
        return Subspace(Motion((0, 0, 0), e) for e in IDENTITY)


def _turns(*axes):
    return Subspace(Motion(axis, (0, 0, 0)) for axis in axes)


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
    "planar in body velocities": PlanarTwist(),
    "spherical": Spherical(),
    "free": Free(),
    "of the user": Gimbal(),
}


def samples(joint: Joint, count: int, seed: int = 0) -> np.ndarray:
    """Rows of random positions followed by random velocities."""
    rng = np.random.default_rng(seed)
    rows = [[*joint.random(rng), *rng.uniform(-1.0, 1.0, joint.nv)] for _ in range(count)]
    return np.array(rows).reshape(count, joint.nq + joint.nv)
