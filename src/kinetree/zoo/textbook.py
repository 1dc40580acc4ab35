"""Textbook examples. Every parameter may be a symbol, so that the equations of motion can be printed."""

from __future__ import annotations

from typing import Any

from kinetree.joints import Prismatic, Revolute
from kinetree.model import Model, ModelBuilder
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose
from kinetree.zoo.shapes import diagonal

SWING = (0, -1, 0)  # a positive angle swings a hanging link towards +x


def pendulum(m: Any = 1.0, L: Any = 1.0, I: Any = 0.0, g: Any = 9.81) -> Model:
    """A pendulum: (I + m L^2) thetadd = tau - m g L sin(theta), hanging down at theta = 0.

    Args:
        m: mass, kg.
        L: distance from the hinge to the centre of mass, m.
        I: moment of inertia about the centre of mass, kg m^2; 0 for a point mass.
        g: gravity, m/s^2, along -z.

    Reference: Concurrent Dynamics (2017), equations M1 to M4.
    """
    builder = ModelBuilder("pendulum", gravity=(0, 0, -g))
    builder.add_body("bob", "world", Revolute(SWING), inertia=_hanging(m, L, I), joint_name="hinge")
    return builder.build()


def double_pendulum(
    m1: Any = 1.0, m2: Any = 1.0, L1: Any = 1.0, L2: Any = 1.0, I1: Any = 0.0, I2: Any = 0.0, g: Any = 9.81
) -> Model:
    """Two pendulums, the second hinged to the first at its centre of mass; relative angles, hanging at 0."""
    builder = ModelBuilder("double_pendulum", gravity=(0, 0, -g))
    builder.add_body("upper", "world", Revolute(SWING), inertia=_hanging(m1, L1, I1), joint_name="shoulder")
    elbow = Pose(p=(0, 0, -L1))
    builder.add_body("lower", "upper", Revolute(SWING), elbow, _hanging(m2, L2, I2), joint_name="elbow")
    return builder.build()


def cart_pole(m1: Any = 1.0, m2: Any = 0.1, L: Any = 0.5, I: Any = 0.0, g: Any = 9.81) -> Model:
    """A pendulum on a cart that slides along x; the pole hangs down at theta = 0 and stands at pi.

    [m1 + m2, m2 L c; m2 L c, I + m2 L^2] [xdd; thetadd] = [f + m2 L s thetad^2; tau - m2 g L s]

    Args:
        m1, m2: masses of cart and pole, kg.
        L: distance from the hinge to the pole's centre of mass, m.
        I: moment of inertia of the pole about its centre of mass, kg m^2.
        g: gravity, m/s^2, along -z.

    Reference: Concurrent Dynamics (2017), equations N1 to N4 (with Y_1 = 1).
    """
    builder = ModelBuilder("cart_pole", gravity=(0, 0, -g))
    builder.add_body("cart", "world", Prismatic((1, 0, 0)), inertia=Inertia(m1), joint_name="slider")
    builder.add_body("pole", "cart", Revolute(SWING), inertia=_hanging(m2, L, I), joint_name="hinge")
    return builder.build()


def _hanging(m: Any, L: Any, I: Any) -> Inertia:
    """A thin rod along z whose centre of mass hangs at a distance L below the origin."""
    return Inertia(m, (0, 0, -L), diagonal(I, I, 0))
