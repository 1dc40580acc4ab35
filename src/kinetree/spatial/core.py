"""The value types that sweeps and algorithms are written with, in one place."""

from kinetree.spatial.articulated import ArticulatedInertia
from kinetree.spatial.coriolis import CoriolisInertia
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.jet import Jet
from kinetree.spatial.lump import Lump
from kinetree.spatial.matrix import Coordinates, Factored, Matrix
from kinetree.spatial.motion import Force, ForceSet, Motion
from kinetree.spatial.stack import Stack
from kinetree.spatial.subspace import Partials, Subspace
from kinetree.spatial.transform import Detached, Transform

__all__ = [
    "ArticulatedInertia",
    "Coordinates",
    "CoriolisInertia",
    "Detached",
    "Factored",
    "Force",
    "ForceSet",
    "Inertia",
    "Jet",
    "Lump",
    "Matrix",
    "Motion",
    "Partials",
    "Stack",
    "Subspace",
    "Transform",
]  # fmt: skip
