"""Joints: one file a type, one contract (`base.Joint`)."""

from kinetree.joints.base import CoordinateJoint, Joint
from kinetree.joints.cylindrical import Cylindrical
from kinetree.joints.fixed import Fixed
from kinetree.joints.free import Free
from kinetree.joints.helical import Helical
from kinetree.joints.planar import Planar
from kinetree.joints.prismatic import Prismatic
from kinetree.joints.revolute import Revolute
from kinetree.joints.spherical import Spherical
from kinetree.joints.spin import Spin
from kinetree.joints.universal import Universal

JOINT_TYPES: dict[str, type[Joint]] = {
    joint.type_name: joint
    for joint in (Fixed, Revolute, Prismatic, Helical, Cylindrical, Universal, Planar, Spherical, Free, Spin)
}

__all__ = [
    "JOINT_TYPES", "CoordinateJoint", "Cylindrical", "Fixed", "Free", "Helical", "Joint", "Planar",
    "Prismatic", "Revolute", "Spherical", "Spin", "Universal",
]  # fmt: skip
