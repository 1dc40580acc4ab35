"""Models for the tests of models."""

from __future__ import annotations

import numpy as np

from kinetree.joints import (
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from kinetree.model import Limits, Model, ModelBuilder
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose

LINK = Inertia(1.5, (0.1, -0.05, 0.2), ((0.03, 0.001, -0.002), (0.001, 0.04, 0.003), (-0.002, 0.003, 0.05)))
DISC = Inertia(0.3, (0.0, 0.0, 0.02), ((0.001, 0, 0), (0, 0.001, 0), (0, 0, 0.002)))
LUMP = Inertia(0.2, (0.01, 0.02, 0.0), ((0.001, 0.0001, 0), (0.0001, 0.002, 0), (0, 0, 0.0025)))


def random_pose(seed: int) -> Pose:
    return Pose.random(np.random.default_rng(seed))


def rich_model() -> Model:
    """Every joint type, rotors of both kinds, mimic joints, armature, limits, springs, frames, two trees."""
    b = ModelBuilder("rich", gravity=(0.1, -0.2, -9.7))
    b.add_body(
        "base", "world", Free(), random_pose(0), LINK, joint_name="root", armature=(0.1, 0.2, 0.3, 1, 1, 1)
    )
    b.add_body("hip", "base", Revolute((0, 0, 1)), random_pose(1), LINK, armature=0.02, limits=(-1.0, 2.0))
    b.add_body(
        "knee", "hip", Revolute((0.6, 0, 0.8)), random_pose(2), LINK, mimic=("hip", -1.5, 0.2), damping=0.3
    )
    b.add_body("ankle", "knee", Universal((1, 0, 0), (0, 1, 0)), random_pose(3), LINK, friction=(0.1, 0.2))
    b.add_body(
        "slide", "base", Prismatic((0, 1, 0)), random_pose(4), LINK, limits=Limits(-0.1, 0.3, 2.0, 50.0)
    )
    b.add_body("screw", "slide", Helical((0, 0, 1), 0.02), random_pose(5), LINK, mimic=("slide", 20.0))
    b.add_body("ball", "screw", Spherical(), random_pose(6), LINK, armature=0.5)
    b.add_body("sleeve", "base", Cylindrical((0, 0.6, 0.8)), random_pose(7), LINK, stiffness=(3.0, 4.0))
    b.add_body("plate", "sleeve", Fixed(), random_pose(8), LINK)
    b.add_body(
        "puck", "world", Planar(), random_pose(9), LINK, stiffness=1.0, spring_reference=(0.1, 0.2, 0.3)
    )
    b.add_rotor("hip", DISC, random_pose(10), (0, 0, 1), 50.0)
    b.add_rotor("hip", LUMP, random_pose(11), (0.6, 0.8, 0), -7.0)
    b.add_rotor("knee", DISC, random_pose(12), (0, 0, 1), 9.0)
    b.add_rotor("ankle", DISC, random_pose(13), (0, 0, 1), (3.0, -3.0))
    b.add_frame("tool", "plate", random_pose(14)).add_frame("marker", "world", random_pose(15))
    return b.build()


def figure_tree() -> Model:
    """The ten-body tree of Concurrent Dynamics, figure 2."""
    b = ModelBuilder("figure 2")
    for i, parent in enumerate([0, 1, 1, 3, 3, 5, 4, 7, 1, 9], 1):
        b.add_body(f"b{i}", f"b{parent}" if parent else "world", Revolute(), Pose(p=(0, 0, 0.3)), LINK)
    return b.build()
