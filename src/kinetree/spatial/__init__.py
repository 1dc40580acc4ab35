"""Spatial algebra: rotations, poses, motions, forces, transforms and inertias, for numbers of any kind."""

from kinetree.spatial.core import (
    ArticulatedInertia,
    Block,
    Coordinates,
    CoriolisInertia,
    Detached,
    Factored,
    Force,
    ForceSet,
    Inertia,
    Jet,
    Motion,
    Stack,
    Subspace,
    Transform,
)

__all__ = [
    "ArticulatedInertia", "Block", "Coordinates", "CoriolisInertia", "Detached", "Factored", "Force", "ForceSet",
    "Inertia", "Jet", "Motion", "Stack", "Subspace", "Transform",
]  # fmt: skip
