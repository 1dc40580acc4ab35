"""Parallel robots: several motors move one body together."""

from __future__ import annotations

import math
from typing import Any

from kinetree.joints import Free, Prismatic, Revolute, Spherical, Universal
from kinetree.model import Limits, Model
from kinetree.spatial import vector as vec
from kinetree.spatial.vector import Vector
from kinetree.zoo.drawing import Drawing, beyond, meeting, unit
from kinetree.zoo.shapes import ball, box, rod

ORIGIN = vec.ZERO
ROLL, PITCH, YAW = Revolute((1, 0, 0)), Revolute((0, 1, 0)), Revolute((0, 0, 1))
ACROSS: Vector = (0, 1, 0)
DOWN: Vector = (0.0, 0.0, -1.0)


def parallel_ankle(independent: Any = ("left_crank", "right_crank")) -> Model:
    """The ankle of a humanoid: two motors in the shank pitch and roll the foot through cranks and rods.

    Each rod has a universal joint at its crank and a ball joint at the foot: eight velocities minus six rows
    leave two degrees of freedom. The shank is the world.

    Args:
        independent: ("left_crank", "right_crank"), the motors, or ("pitch", "roll"), the foot.
    """
    drawing = Drawing("parallel_ankle")
    drawing.body("pitch", "world", PITCH, ORIGIN, ball(0.08, 0.015), limits=Limits(-0.8, 0.5))
    foot = box(0.65, (0.22, 0.09, 0.035), (0.035, 0.0, -0.045))
    drawing.body("roll", "pitch", ROLL, ORIGIN, foot, limits=Limits(-0.35, 0.35), damping=0.05)
    for side, y, height in (("left", 0.035, 0.28), ("right", -0.035, 0.20)):
        axle, pin, heel = (0.0, y, height), (-0.045, y, height), (-0.045, y, 0.0)
        name, limits = f"{side}_crank", Limits(-1.3, 1.3, 15.0, 50.0)
        drawing.bar(name, "world", PITCH, axle, pin, 0.07, 0.012, damping=0.1, limits=limits)
        drawing.motor(name, ACROSS, ratio=18.0, mass=0.25, radius=0.03)
        drawing.bar(f"{side}_rod", name, Universal((0, 1, 0), (1, 0, 0)), pin, heel, 0.06, 0.005)
        more = {"independent": independent if side == "right" else (), "name": f"{side}_heel"}
        drawing.close(f"{side}_rod", "roll", Spherical(), heel, **more)
    drawing.frame("sole", "roll", (0.03, 0.0, -0.0625))
    return drawing.model()


def delta(payload: float = 0.0) -> Model:
    """A Delta robot with arms of 0.35 m and forearms of 0.8 m, the size of those that pack chocolates.

    The parallelograms keep the platform level: it moves along x, y and z. The two rods of a forearm stay
    parallel, so they are one body with their total mass and inertia. v: the three motors.

    Args:
        payload: mass in the gripper, kg.

    Reference: Clavel, US patent 4976582 (1990).
    """
    base, reach, arm, forearm, lift = 0.20, 0.05, 0.35, 0.80, math.radians(20)
    out = base + arm * math.cos(lift)
    depth = arm * math.sin(lift) + math.sqrt(forearm**2 - (out - reach) ** 2)
    center = (0.0, 0.0, -depth)
    drawing = Drawing("delta")
    carried, wide, high = rod(0.4 + payload, 0.06, 0.02, 2, center), Limits(-0.5, 0.5), Limits(-0.25, 0.3)
    for name, parent, joint, axis, inertia, limits in (
        ("carriage_x", "world", "x", (1, 0, 0), None, wide),
        ("carriage_y", "carriage_x", "y", (0, 1, 0), None, wide),
        ("platform", "carriage_y", "z", (0, 0, 1), carried, high),
    ):
        drawing.body(name, parent, Prismatic(axis), center, inertia, joint_name=joint, limits=limits)
    for k in range(3):
        angle = 2 * math.pi * k / 3
        c, s = math.cos(angle), math.sin(angle)
        along: Vector = (-s, c, 0.0)
        shoulder, elbow = (base * c, base * s, 0.0), (out * c, out * s, -arm * math.sin(lift))
        wrist = (reach * c, reach * s, -depth)
        name, limits = f"arm{k + 1}", Limits(-1.2, 1.4, 12.0, 120.0)
        drawing.bar(name, "world", Revolute(along), shoulder, elbow, 0.75, 0.025, damping=0.05, limits=limits)
        drawing.motor(name, along, ratio=31.0, mass=0.6, radius=0.02)
        side = unit(vec.cross(vec.sub(wrist, elbow), along))
        drawing.bar(f"forearm{k + 1}", name, Universal(along, side), elbow, wrist, 0.22, 0.007)
        more = {"independent": (name,), "name": f"wrist{k + 1}"}
        drawing.close(f"forearm{k + 1}", "platform", Spherical(), wrist, **more)
    drawing.frame("tool", "platform", (0.0, 0.0, -depth - 0.05))
    return drawing.model()


def stewart(independent: str = "legs") -> Model:
    """A Stewart platform of 40 kg: six legs with ball screws, universal joints below and ball joints above.

    Args:
        independent: "legs" makes v the speeds of the six screws, "platform" the velocity of the platform.

    Reference: Stewart, A platform with six degrees of freedom (1965).
    """
    drawing = Drawing("stewart")
    center = (0.0, 0.0, 0.75)
    top = rod(40.0, 0.4, 0.05, 2, (0.0, 0.0, 0.775))
    drawing.body("platform", "world", Free(), center, top)
    drawing.frame("seat", "platform", (0.0, 0.0, 0.8))
    for k in range(6):
        corner, side = 2 * math.pi * (k // 2) / 3, 1 - 2 * (k % 2)
        foot = _around(0.60, corner + side * math.radians(12), 0.0)
        head = _around(0.38, corner + side * math.radians(60 - 12), center[2])
        axis = unit(vec.sub(head, foot))
        first = unit(vec.cross(axis, (0.0, 0.0, 1.0)))
        middle = beyond(foot, axis, 0.4)
        tube, screw = f"tube{k + 1}", f"leg{k + 1}"
        drawing.bar(tube, "world", Universal(first, vec.cross(axis, first)), foot, middle, 4.0, 0.035)
        drawing.bar(screw, tube, Prismatic(axis), middle, head, 1.5, 0.015, damping=50.0,
                    limits=Limits(-0.2, 0.25, 0.5, 3000.0))  # fmt: skip
        drawing.motor(screw, axis, ratio=2 * math.pi / 0.010, mass=0.7, radius=0.025)
        chosen = (screw,) if independent == "legs" else ("platform",)
        drawing.close(screw, "platform", Spherical(), head, independent=chosen, name=f"joint{k + 1}")
    return drawing.model()


def cassie_leg() -> Model:
    """The leg of a running robot after Agility's Cassie: five motors, two leaf springs, two closed loops.

    The knee drives the tarsus through the shin and the Achilles rod, which connects the thigh to the heel
    spring; a crank on the tarsus turns the foot through the plantar rod. v: hip roll, yaw and pitch, knee,
    crank, and the springs of shin and heel. The pelvis is the world.

    Reference: lengths, masses, springs and motors of Cassie in the MuJoCo Menagerie, rounded, with the
    linkage in one plane.
    """
    drawing = Drawing("cassie_leg")
    roll, yaw, hip = (0.02, 0.0, 0.0), (-0.05, 0.0, 0.0), (-0.05, 0.0, -0.09)
    knee = beyond(hip, (0.9, 0.0, -0.44), 0.12)
    shin = beyond(knee, (0.4, 0.0, -0.92), 0.077)
    ankle = beyond(shin, (-0.55, 0.0, -0.835), 0.435)
    heel = meeting(ankle, 0.11, hip, 0.5012)
    toe_axis = beyond(ankle, (0.62, 0.0, -0.785), 0.41)
    crank = beyond(ankle, (0.62, 0.0, -0.785), 0.06)
    arm = beyond(ORIGIN, (0.8, 0.0, 0.6), 0.055)
    drawing.body("roll", "world", ROLL, roll, ball(1.8, 0.05, roll), **_motor(-0.26, 0.39, 112.0))
    drawing.body("yaw", "roll", YAW, yaw, ball(1.2, 0.045, yaw), **_motor(-0.39, 0.39, 112.0))
    thigh = box(5.5, (0.16, 0.10, 0.12), vec.scale(vec.add(hip, knee), 0.5))
    drawing.body("hip", "yaw", PITCH, hip, thigh, **_motor(-0.9, 1.4, 195.0))
    drawing.bar("knee", "hip", PITCH, knee, shin, 0.95, 0.03, **_motor(-1.2, 1.0, 195.0))
    flexible: Any = {"damping": 0.1, "limits": Limits(-0.35, 0.35)}
    drawing.bar("shin", "knee", PITCH, shin, ankle, 0.58, 0.02, stiffness=1500.0, **flexible)
    drawing.bar("tarsus", "shin", PITCH, ankle, toe_axis, 0.78, 0.02, damping=0.1)
    drawing.bar("heel", "tarsus", PITCH, ankle, heel, 0.13, 0.01, stiffness=1250.0, **flexible)
    across = unit(vec.cross(vec.sub(heel, hip), ACROSS))
    drawing.bar("achilles", "hip", Universal(ACROSS, across), hip, heel, 0.16, 0.007)
    pins = vec.add(crank, arm), vec.add(toe_axis, arm)
    drawing.bar("crank", "tarsus", PITCH, crank, pins[0], 0.13, 0.015, **_motor(-0.9, 0.9, 45.0))
    drawing.bar("plantar", "crank", PITCH, pins[0], pins[1], 0.12, 0.005)
    foot = box(0.15, (0.16, 0.03, 0.03), beyond(toe_axis, (1.0, 0.0, 0.0), 0.01))
    drawing.body("foot", "tarsus", PITCH, toe_axis, foot)
    for body, axis, ratio, mass, radius in (
        ("roll", (1, 0, 0), 25.0, 0.20, 0.0247), ("yaw", (0, 0, 1), 25.0, 0.20, 0.0247),
        ("hip", ACROSS, 16.0, 0.45, 0.0403), ("knee", ACROSS, 16.0, 0.45, 0.0403),
        ("crank", ACROSS, 50.0, 0.05, 0.014),
    ):  # fmt: skip
        drawing.motor(body, axis, ratio, mass, radius)
    for one, other, joint, at, chosen in (
        ("achilles", "heel", Spherical(), heel, ("knee", "shin", "heel")),
        ("plantar", "foot", PITCH, pins[1], ("crank",)),
    ):
        drawing.close(one, other, joint, at, independent=chosen, name=one)
    drawing.frame("sole", "foot", beyond(toe_axis, DOWN, 0.02))
    return drawing.model()


def _around(radius: float, angle: float, height: float) -> Vector:
    return radius * math.cos(angle), radius * math.sin(angle), height


def _motor(lower: float, upper: float, effort: float) -> dict[str, Any]:
    """The limits of a joint with a motor."""
    return {"damping": 1.0, "limits": Limits(lower, upper, 12.0, effort)}
