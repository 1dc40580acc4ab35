"""Spatial algebra: rotations, poses, motions, forces, transforms and inertias, for numbers of any kind."""

from kinetree.spatial.consistency import Dyad
from kinetree.spatial.core import (
    ArticulatedInertia,
    Coordinates,
    CoriolisInertia,
    Detached,
    Factored,
    Force,
    ForceSet,
    Inertia,
    Jet,
    Lump,
    Matrix,
    Motion,
    Partials,
    Stack,
    Subspace,
    Transform,
)
from kinetree.spatial.euler import euler_omega, euler_rate, gimbal_lock_distance
from kinetree.spatial.pose import Pose
from kinetree.spatial.rotation import Rotation
from kinetree.spatial.vector import skew

__all__ = [
    "ArticulatedInertia",
    "Coordinates",
    "CoriolisInertia",
    "Detached",
    "Dyad",
    "Factored",
    "Force",
    "ForceSet",
    "Inertia",
    "Jet",
    "Lump",
    "Matrix",
    "Motion",
    "Partials",
    "Pose",
    "Rotation",
    "Stack",
    "Subspace",
    "Transform",
    "euler_omega",
    "euler_rate",
    "gimbal_lock_distance",
    "skew",
]  # fmt: skip
