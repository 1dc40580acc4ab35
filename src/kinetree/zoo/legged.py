"""Legged robots: a floating (or fixed) trunk, and limbs made of boxes and rods."""

from __future__ import annotations

import math
from typing import Any

from kinetree.errors import ModelError
from kinetree.joints import Fixed, Free, Joint, Revolute
from kinetree.model import Model, ModelBuilder
from kinetree.model.shapes import Point, Vertices
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Vector
from kinetree.zoo.shapes import ball, box, rod

ROLL, PITCH, YAW = Revolute((1, 0, 0)), Revolute((0, 1, 0)), Revolute((0, 0, 1))
HERE: Vector = (0.0, 0.0, 0.0)


def legged(legs: int = 4, joints: int = 3, floating: bool = True) -> Model:
    """A trunk with `legs` equal legs of `joints` joints each: bipeds and quadrupeds of any size.

    `legged(2, 7)` has the 20 degrees of freedom of a biped, `legged(4, 3)` the 18 of a quadruped; longer legs
    show how the cost grows.
    """
    for name, count in (("legs", legs), ("joints", joints)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ModelError(f"legged: {name} is {count!r}: it must be an integer of at least 1")
    builder = _standing(f"legged{legs}x{joints}", floating)
    _add(builder, "trunk", "world", _base(floating), HERE, box(10.0, (0.4, 0.2, 0.12)))
    for k in range(legs):
        angle = math.pi * (2 * k + 1) / legs
        parent, place = "trunk", (0.2 * math.cos(angle), 0.1 * math.sin(angle), 0.0)
        for j in range(joints):
            link = rod(0.6, 0.03, 0.2, 2, (0.0, 0.0, -0.1))
            _add(builder, f"leg{k + 1}_{j + 1}", parent, (ROLL, PITCH, YAW)[j % 3], place, link)
            parent, place = f"leg{k + 1}_{j + 1}", (0.0, 0.0, -0.2)
        builder.add_geometry(parent, Point(), Pose(p=place), name=f"foot{k + 1}")
    return builder.build()


def quadruped(floating: bool = True, spine: bool = False) -> Model:
    """A dog-sized quadruped of 17 kg: trunk and four legs with hip roll, hip pitch and knee.

    Each foot is a contact point. For a robot that may fall, add a shape for its trunk:
    `.add_geometry("trunk", kt.Box((0.2, 0.1, 0.06)))`.

    Args:
        floating: True gives the trunk a free joint (18 DoF in total); False fixes it.
        spine: True splits the trunk by a yaw joint and adds a degree of freedom (19, as in Echeandia 2020).
    """
    builder = _standing("quadruped", floating)
    if spine:
        _add(builder, "trunk", "world", _base(floating), HERE, box(5.0, (0.2, 0.2, 0.12), (0.1, 0.0, 0.0)))
        _add(builder, "rear", "trunk", YAW, HERE, box(5.0, (0.2, 0.2, 0.12), (-0.1, 0.0, 0.0)), "spine")
    else:
        _add(builder, "trunk", "world", _base(floating), HERE, box(10.0, (0.4, 0.2, 0.12)))
    for end, x, carrier in (("front", 0.2, "trunk"), ("rear", -0.2, "rear" if spine else "trunk")):
        for side, y in (("left", 1.0), ("right", -1.0)):
            leg = f"{end}_{side}"
            hip = rod(0.7, 0.045, 0.08, 1, (0.0, 0.04 * y, 0.0))
            _add(builder, f"{leg}_hip", carrier, ROLL, (x, 0.05 * y, 0.0), hip)
            thigh = rod(0.9, 0.03, 0.21, 2, (0.0, 0.0, -0.105))
            _add(builder, f"{leg}_thigh", f"{leg}_hip", PITCH, (0.0, 0.08 * y, 0.0), thigh)
            shank = rod(0.15, 0.015, 0.21, 2, (0.0, 0.0, -0.105))
            _add(builder, f"{leg}_shank", f"{leg}_thigh", PITCH, (0.0, 0.0, -0.21), shank)
            foot = Pose(p=(0.0, 0.0, -0.21))
            builder.add_frame(f"{leg}_foot", f"{leg}_shank", foot)
            builder.add_geometry(f"{leg}_shank", Point(), foot, name=f"{leg}_foot")
    return builder.build()


def biped(floating: bool = True) -> Model:
    """A biped of 41 kg: pelvis and legs of seven joints (hip 3, knee, ankle 2, toe); 20 DoF if floating.

    Each foot stands on four corners of its sole and two of its toe.
    """
    builder = _standing("biped", floating)
    _add(builder, "pelvis", "world", _base(floating), HERE, box(18.0, (0.2, 0.3, 0.35), (0.0, 0.0, 0.15)))
    for side, y in SIDES:
        _leg(builder, side, y)
        toe = box(0.3, (0.07, 0.08, 0.02), (0.035, 0.0, 0.0))
        _add(builder, f"{side}_toe", f"{side}_foot", PITCH, (0.13, 0.0, -0.06), toe)
        tips = Vertices([(0.07, -0.04, -0.01), (0.07, 0.04, -0.01)])
        builder.add_geometry(f"{side}_toe", tips, name=f"{side}_tips")
    return builder.build()


def humanoid(floating: bool = True) -> Model:
    """A humanoid of 62 kg: legs of six joints, waist of three, arms of seven, a neck; 36 DoF if floating.

    Each foot stands on the four corners of its sole.
    """
    builder = _standing("humanoid", floating)
    _add(builder, "pelvis", "world", _base(floating), HERE, box(9.0, (0.2, 0.3, 0.15)))
    _add(builder, "waist_yaw", "pelvis", YAW, (0.0, 0.0, 0.1), ball(0.8, 0.05))
    _add(builder, "waist_roll", "waist_yaw", ROLL, (0.0, 0.0, 0.05), ball(0.8, 0.05))
    chest = box(16.0, (0.2, 0.32, 0.35), (0.0, 0.0, 0.2))
    _add(builder, "chest", "waist_roll", PITCH, HERE, chest, "waist_pitch")
    _add(builder, "head", "chest", YAW, (0.0, 0.0, 0.42), ball(3.5, 0.1, (0.0, 0.0, 0.12)), "neck")
    for side, y in SIDES:
        _leg(builder, side, y)
        _arm(builder, side, y)
    return builder.build()


SIDES = (("left", 1.0), ("right", -1.0))


def _leg(builder: ModelBuilder, side: str, y: float) -> None:
    """Hip yaw, roll, pitch; knee; ankle pitch, roll."""
    _add(builder, f"{side}_hip_yaw", "pelvis", YAW, (0.0, 0.1 * y, -0.08), ball(1.2, 0.05))
    _add(builder, f"{side}_hip_roll", f"{side}_hip_yaw", ROLL, HERE, ball(1.2, 0.05))
    thigh = rod(5.0, 0.06, 0.38, 2, (0.0, 0.0, -0.18))
    _add(builder, f"{side}_thigh", f"{side}_hip_roll", PITCH, HERE, thigh, f"{side}_hip_pitch")
    shank = rod(2.5, 0.045, 0.38, 2, (0.0, 0.0, -0.17))
    _add(builder, f"{side}_shank", f"{side}_thigh", PITCH, (0.0, 0.0, -0.38), shank, f"{side}_knee")
    _add(builder, f"{side}_ankle", f"{side}_shank", PITCH, (0.0, 0.0, -0.38), ball(0.3, 0.03))
    foot = box(0.8, (0.2, 0.09, 0.04), (0.03, 0.0, -0.05))
    _add(builder, f"{side}_foot", f"{side}_ankle", ROLL, HERE, foot, f"{side}_ankle_roll")
    sole = Pose(p=(0.0, 0.0, -0.07))
    builder.add_frame(f"{side}_sole", f"{side}_foot", sole)
    corners = Vertices([(x, y, 0.0) for x in (-0.07, 0.13) for y in (-0.045, 0.045)])
    builder.add_geometry(f"{side}_foot", corners, sole, name=f"{side}_sole")


def _arm(builder: ModelBuilder, side: str, y: float) -> None:
    """Shoulder pitch, roll, yaw; elbow; wrist yaw, pitch, roll."""
    _add(builder, f"{side}_shoulder", "chest", PITCH, (0.0, 0.2 * y, 0.35), ball(0.9, 0.05))
    _add(builder, f"{side}_shoulder_roll", f"{side}_shoulder", ROLL, HERE, ball(0.7, 0.045))
    upper = rod(1.6, 0.045, 0.28, 2, (0.0, 0.0, -0.14))
    _add(builder, f"{side}_upper_arm", f"{side}_shoulder_roll", YAW, HERE, upper, f"{side}_shoulder_yaw")
    fore = rod(0.6, 0.035, 0.12, 2, (0.0, 0.0, -0.06))
    _add(builder, f"{side}_elbow", f"{side}_upper_arm", PITCH, (0.0, 0.0, -0.28), fore)
    wrist = rod(0.5, 0.03, 0.12, 2, (0.0, 0.0, -0.06))
    _add(builder, f"{side}_forearm", f"{side}_elbow", YAW, (0.0, 0.0, -0.12), wrist, f"{side}_wrist_yaw")
    _add(builder, f"{side}_wrist", f"{side}_forearm", PITCH, (0.0, 0.0, -0.12), ball(0.2, 0.03))
    hand = box(0.4, (0.03, 0.08, 0.16), (0.0, 0.0, -0.08))
    _add(builder, f"{side}_hand", f"{side}_wrist", ROLL, HERE, hand, f"{side}_wrist_roll")
    builder.add_frame(f"{side}_palm", f"{side}_hand", Pose(p=(0.0, 0.0, -0.08)))


def _standing(name: str, floating: bool) -> ModelBuilder:
    return ModelBuilder(name if floating else f"{name}_held")


def _base(floating: bool) -> Joint:
    return Free() if floating else Fixed()


def _add(
    builder: ModelBuilder, name: str, parent: str, joint: Joint, position: Vector, inertia: Inertia,
    joint_name: Any = None,
) -> None:  # fmt: skip
    """A body with its joint at `position` in its parent; all axes are parallel in the neutral position."""
    limits = (-0.75 * math.pi, 0.75 * math.pi) if isinstance(joint, Revolute) else None
    builder.add_body(name, parent, joint, Pose(p=position), inertia, joint_name=joint_name, limits=limits)
