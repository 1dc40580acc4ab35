"""A 7-DoF arm: the KUKA LBR iiwa 14."""

from __future__ import annotations

import math
from typing import NamedTuple

from kinetree.joints import Revolute
from kinetree.model import Limits, Model, ModelBuilder
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import IDENTITY, Matrix, Vector
from kinetree.zoo.shapes import diagonal

# The published placements with exact right angles: rpy (90, 0, 180) = (-90, 180, 0) and (90, 0, 0).
OVER: Matrix = ((-1, 0, 0), (0, 0, 1), (0, 1, 0))
UP: Matrix = ((1, 0, 0), (0, 0, -1), (0, 1, 0))


class Link(NamedTuple):
    """One link: the placement of its joint, its inertia, and the limits of its joint."""

    turn: Matrix
    position: Vector
    mass: float
    com: Vector
    moments: Vector  # about the centre of mass, kg m^2
    range_deg: float  # the joint reaches from -range to +range
    speed_deg: float  # per second
    torque: float  # N m


LINKS = (
    Link(IDENTITY, (0, 0, 0.1575), 5.76, (0, -0.03, 0.12), (0.033, 0.0333, 0.0123), 170, 85, 320),
    Link(OVER, (0, 0, 0.2025), 6.35, (0.0003, 0.059, 0.042), (0.0305, 0.011, 0.0304), 120, 85, 320),
    Link(OVER, (0, 0.2045, 0), 3.5, (0, 0.03, 0.13), (0.025, 0.0238, 0.0076), 170, 100, 176),
    Link(UP, (0, 0, 0.2155), 3.5, (0, 0.067, 0.034), (0.017, 0.006, 0.0164), 120, 75, 176),
    Link(OVER, (0, 0.1845, 0), 3.5, (0.0001, 0.021, 0.076), (0.01, 0.0087, 0.00449), 170, 130, 110),
    Link(UP, (0, 0, 0.2155), 1.8, (0, 0.0006, 0.0004), (0.0049, 0.0047, 0.0036), 120, 135, 40),
    Link(OVER, (0, 0.081, 0), 1.2, (0, 0, 0.02), (0.001, 0.001, 0.001), 175, 135, 40),
)


def arm7() -> Model:
    """The KUKA LBR iiwa 14, 7 revolute joints about z, without its fixed base; right angles are exact.

    Reference: the published iiwa14 description of the Drake project (masses, inertias, limits, damping 0.5).
    """
    builder = ModelBuilder("arm7")
    for i, link in enumerate(LINKS, 1):
        reach, speed = math.radians(link.range_deg), math.radians(link.speed_deg)
        parent, place = f"link{i - 1}" if i > 1 else "world", Pose(link.turn, link.position)
        inertia = Inertia(link.mass, link.com, diagonal(*link.moments))
        limits = Limits(-reach, reach, speed, link.torque)
        builder.add_body(
            f"link{i}", parent, Revolute((0, 0, 1)), place, inertia, f"joint{i}", damping=0.5, limits=limits
        )
    return builder.add_frame("flange", "link7", Pose(p=(0, 0, 0.045))).build()
