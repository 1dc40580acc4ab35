"""Joints: one file per type, one contract (`base.Joint`)."""

from kinetree.joints.axial import AxialJoint
from kinetree.joints.base import JOINT_TYPES, CoordinateJoint, Joint
from kinetree.joints.cylindrical import Cylindrical
from kinetree.joints.fixed import Fixed
from kinetree.joints.free import Free
from kinetree.joints.helical import Helical
from kinetree.joints.planar import Planar
from kinetree.joints.planar_twist import PlanarTwist
from kinetree.joints.prismatic import Prismatic
from kinetree.joints.revolute import Revolute, Spin
from kinetree.joints.spherical import Spherical
from kinetree.joints.steps import Step
from kinetree.joints.universal import Universal

__all__ = [
    "JOINT_TYPES", "AxialJoint", "CoordinateJoint", "Cylindrical", "Fixed", "Free", "Helical", "Joint",
    "Planar", "PlanarTwist", "Prismatic", "Revolute", "Spherical", "Spin", "Step", "Universal",
]  # fmt: skip
