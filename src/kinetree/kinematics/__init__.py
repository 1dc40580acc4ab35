"""Inverse kinematics, and the motion of frames relative to each other."""

from kinetree.kinematics.frames import Frames, Instant
from kinetree.kinematics.inverse import Solution, inverse_kinematics
from kinetree.kinematics.relative import relative_acceleration, relative_placement, relative_velocity

__all__ = [
    "Frames", "Instant", "Solution", "inverse_kinematics", "relative_acceleration", "relative_placement",
    "relative_velocity",
]  # fmt: skip
