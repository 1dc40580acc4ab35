"""The Unimation PUMA 560, the standard robot of textbooks."""

from __future__ import annotations

import math
from typing import NamedTuple

from kinetree.joints import Revolute
from kinetree.model import Limits, Model, ModelBuilder
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import IDENTITY, Matrix, Vector
from kinetree.zoo.shapes import diagonal

# Link twists of +90 and -90 degrees about x, exactly.
PLUS: Matrix = ((1, 0, 0), (0, 0, -1), (0, 1, 0))
MINUS: Matrix = ((1, 0, 0), (0, 0, 1), (0, -1, 0))


class Link(NamedTuple):
    """A link in standard Denavit-Hartenberg form: its frame sits at the far end, on the next joint's axis."""

    d: float  # offset along z, m
    a: float  # length along x, m
    twist: Matrix  # rotation about x
    mass: float
    com: Vector  # in the link frame
    moments: Vector  # about the centre of mass, axes of the link frame
    motor: float  # moment of inertia of the motor, kg m^2
    gear: float  # motor speed over joint speed
    viscous: float  # friction at the motor, N m s
    coulomb: tuple[float, float]  # friction at the motor in either direction, N m
    range_deg: tuple[float, float]


LINKS = (
    Link(0, 0, PLUS, 0, (0, 0, 0), (0, 0.35, 0),
         200e-6, -62.6111, 1.48e-3, (0.395, 0.435), (-160, 160)),
    Link(0, 0.4318, IDENTITY, 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539),
         200e-6, 107.815, 0.817e-3, (0.126, 0.071), (-45, 225)),
    Link(0.15005, 0.0203, MINUS, 4.8, (-0.0203, -0.0141, 0.070), (0.066, 0.086, 0.0125),
         200e-6, -53.7063, 1.38e-3, (0.132, 0.105), (-225, 45)),
    Link(0.4318, 0, PLUS, 0.82, (0, 0.019, 0), (1.8e-3, 1.3e-3, 1.8e-3),
         33e-6, 76.0364, 71.2e-6, (11.2e-3, 16.9e-3), (-110, 170)),
    Link(0, 0, MINUS, 0.34, (0, 0, 0), (0.3e-3, 0.4e-3, 0.3e-3),
         33e-6, 71.923, 82.6e-6, (9.26e-3, 14.5e-3), (-100, 100)),
    Link(0, 0, IDENTITY, 0.09, (0, 0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3),
         33e-6, 76.686, 36.7e-6, (3.96e-3, 10.5e-3), (-266, 266)),
)  # fmt: skip


def puma560(rotors: bool = False) -> Model:
    """The PUMA 560 with motor inertias and gear ratios.

    Only the moment about its own axis was published for link 1, so it has no mass and its inertia is not
    physical. Friction is that of the motors, referred to the joints; Coulomb friction is the mean of both
    directions.

    Args:
        rotors: False models the motors as armature (gear^2 times inertia), as the source does; True models
            them as rotors that spin about the joint axes and are carried by the links.

    Reference: Armstrong, Khatib and Burdick (1986), in the frames of Corke's Robotics Toolbox.
    """
    builder = ModelBuilder("puma560")
    placement = None
    for i, link in enumerate(LINKS, 1):
        end = Pose(link.twist, (link.a, 0, link.d))  # the link frame, seen from the joint
        gear = link.gear
        low, high = (math.radians(angle) for angle in link.range_deg)
        inertia = Inertia(link.mass, link.com, diagonal(*link.moments)).congruence(end.transform())
        parent = f"link{i - 1}" if i > 1 else "world"
        builder.add_body(
            f"link{i}", parent, Revolute((0, 0, 1)), placement, inertia, f"joint{i}",
            armature=0.0 if rotors else gear * gear * link.motor,
            damping=gear * gear * link.viscous,
            friction=abs(gear) * sum(link.coulomb) / 2,
            limits=Limits(low, high),
        )  # fmt: skip
        if rotors:
            spin = Inertia.from_moments(0, (0, 0, 0), (0, 0, link.motor, 0, 0, 0))
            builder.add_rotor(f"joint{i}", spin, placement, (0, 0, 1), gear)
        placement = end
    builder.add_frame("flange", "link6", placement)
    return builder.build(check="finite")
