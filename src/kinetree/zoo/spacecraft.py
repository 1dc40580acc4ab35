"""A spacecraft without gravity: the example for conservation and exchange of momentum."""

from __future__ import annotations

from kinetree.joints import Free, Revolute
from kinetree.model import Model, ModelBuilder
from kinetree.spatial.pose import Pose
from kinetree.zoo.shapes import ball, box, rod

AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


def spacecraft() -> Model:
    """A floating bus with two solar panels on springs, three reaction wheels and a 4-DoF arm: 15 DoF.

    There is no gravity, so linear and angular momentum about the centre of mass stay constant.
    """
    builder = ModelBuilder("spacecraft", gravity=(0.0, 0.0, 0.0))
    builder.add_body("bus", "world", Free(), inertia=box(400.0, (1.2, 1.2, 1.6)))
    for side, y in (("left", 1.0), ("right", -1.0)):
        panel = box(20.0, (1.0, 3.0, 0.02), (0.0, 1.6 * y, 0.0))
        builder.add_body(
            f"{side}_panel", "bus", Revolute(AXES["x"]), Pose(p=(0.0, 0.6 * y, 0.0)), panel,
            stiffness=60.0, damping=2.0,
        )  # fmt: skip
    for k, (name, axis) in enumerate(AXES.items()):
        wheel = rod(8.0, 0.15, 0.06, k)
        builder.add_body(f"wheel_{name}", "bus", Revolute(axis), Pose(p=(0.0, 0.0, 0.2 * (k - 1))), wheel)
    builder.add_body("shoulder", "bus", Revolute(AXES["z"]), Pose(p=(0.6, 0.0, 0.8)), ball(6.0, 0.1))
    upper = rod(12.0, 0.06, 1.2, 0, (0.6, 0.0, 0.0))
    builder.add_body("upper_arm", "shoulder", Revolute(AXES["y"]), inertia=upper)
    fore = rod(9.0, 0.05, 1.0, 0, (0.5, 0.0, 0.0))
    builder.add_body("forearm", "upper_arm", Revolute(AXES["y"]), Pose(p=(1.2, 0.0, 0.0)), fore)
    gripper = box(3.0, (0.2, 0.15, 0.1), (0.1, 0.0, 0.0))
    builder.add_body("gripper", "forearm", Revolute(AXES["x"]), Pose(p=(1.0, 0.0, 0.0)), gripper)
    return builder.add_frame("grasp", "gripper", Pose(p=(0.2, 0.0, 0.0))).build()
