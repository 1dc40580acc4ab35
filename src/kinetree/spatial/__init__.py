"""Spatial algebra: rotations, poses, motions, forces, transforms and inertias, for numbers of any kind."""

from kinetree.spatial.articulated import ArticulatedInertia
from kinetree.spatial.consistency import Dyad
from kinetree.spatial.coriolis import CoriolisInertia
from kinetree.spatial.euler import euler_omega, euler_rate, gimbal_lock_distance
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.jet import Jet
from kinetree.spatial.lump import Lump
from kinetree.spatial.matrix import Coordinates, Factored, Matrix
from kinetree.spatial.motion import Force, ForceSet, Motion
from kinetree.spatial.pose import Pose
from kinetree.spatial.rotation import Rotation
from kinetree.spatial.stack import Stack
from kinetree.spatial.subspace import Partials, Subspace
from kinetree.spatial.transform import Detached, Transform
from kinetree.spatial.vector import skew

__all__ = [
    "ArticulatedInertia", "Coordinates", "CoriolisInertia", "Detached", "Dyad", "Factored", "Force",
    "ForceSet", "Inertia", "Jet", "Lump", "Matrix", "Motion", "Partials", "Pose", "Rotation", "Stack",
    "Subspace", "Transform", "euler_omega", "euler_rate", "gimbal_lock_distance", "skew",
]  # fmt: skip
