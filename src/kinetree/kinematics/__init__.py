"""Positions that bring frames to where they are wanted."""

from kinetree.kinematics.inverse import Solution, inverse_kinematics

__all__ = ["Solution", "inverse_kinematics"]
