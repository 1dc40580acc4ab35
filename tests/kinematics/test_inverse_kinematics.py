"""Inverse kinematics: goals are reached, limits kept, and what is found does not depend on the batch."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ArgumentError, AssemblyError, ShapeError
from kinetree.kinematics import inverse


@pytest.fixture(scope="module")
def arm():
    return kt.zoo.arm7()


def reachable(model, frame, count, seed):
    q, _ = model.random_state(seed, count)
    return kt.frame_placement(model, q, frame=frame)


def check_arm(arm, count, least):
    goals = reachable(arm, "flange", count, 1)
    found = kt.inverse_kinematics(arm, {"flange": goals})
    assert found.success.mean() >= least
    limits = arm.limits
    assert np.all((limits.lower <= found.q) & (found.q <= limits.upper))
    reached = kt.frame_placement(arm, found.q, frame="flange")
    assert np.abs(reached - goals)[found.success].max() < 2e-6
    np.testing.assert_array_equal(found.success, found.error <= 1e-6)


def test_an_arm_reaches_poses_within_its_limits(arm, cases):
    check_arm(arm, cases(300), 1.0)


@pytest.mark.long
def test_ten_thousand_poses(arm):
    check_arm(arm, 10_000, 0.999)


def test_a_problem_alone_gives_the_bits_of_the_batch(arm):
    goals = reachable(arm, "flange", 40, 2)
    together = kt.inverse_kinematics(arm, {"flange": goals.reshape(4, 10, 4, 4)})
    assert together.q.shape == (4, 10, 7) and together.success.shape == together.error.shape == (4, 10)
    for k in (0, 17, 39):
        alone = kt.inverse_kinematics(arm, {"flange": goals[k]})
        np.testing.assert_array_equal(alone.q, together.q.reshape(40, 7)[k])
        assert alone.error == together.error.ravel()[k]


def test_a_pose_object_is_a_target(arm):
    goal = kt.Pose(np.eye(3), (0.4, 0.2, 0.6))
    found = kt.inverse_kinematics(arm, {"flange": goal})
    assert found.success
    np.testing.assert_allclose(kt.frame_placement(arm, found.q, frame="flange"), goal, atol=2e-6)


def test_it_begins_where_it_is_told(arm):
    q, _ = arm.random_state(5, 20)
    q = 0.9 * q
    near = q + 0.02
    found = kt.inverse_kinematics(arm, {"flange": kt.frame_placement(arm, q, frame="flange")}, near)
    assert found.success.all()
    assert np.abs(found.q - q).max() < 0.2  # the branch of solutions at hand, not another one


def test_a_start_is_not_given_up_while_it_leads_somewhere(arm):
    """From a start far away, more steps than one kernel call makes are taken before another start is."""
    from kinetree.kinematics.descent import pose_descent

    q0 = np.array([0.0, 1.0, 0.0, 1.5, 0.0, 1.0, 0.0])
    goals = reachable(arm, "flange", 200, 12)
    long = pose_descent(arm, q0, goals[:, None], np.ones((1, 2)), 0.1, frames=("flange",), iterations=30)
    short = pose_descent(arm, q0, goals[:, None], np.ones((1, 2)), 0.1, frames=("flange",), iterations=10)
    slow = (long[1][:, 0] < 1e-9) & (short[1][:, 0] > 1e-6) & (short[1][:, 0] < 0.1)
    assert slow.sum() > 5
    found = kt.inverse_kinematics(arm, {"flange": goals[slow]}, q0)
    np.testing.assert_allclose(found.q, long[0][slow], atol=1e-4)


def test_several_frames_of_a_floating_robot():
    robot = kt.zoo.quadruped()
    q, _ = robot.random_state(3, 50)
    targets = {name: kt.frame_placement(robot, q, frame=name)[:, :3, 3] for name in robot.frame_names}
    trunk = robot.body_names[0]
    targets[trunk] = kt.placements(robot, q)[:, 0]
    found = kt.inverse_kinematics(robot, targets)
    assert found.success.all()
    for name in robot.frame_names:
        reached = kt.frame_placement(robot, found.q, frame=name)[:, :3, 3]
        assert np.abs(reached - targets[name]).max() < 2e-6
    assert np.abs(np.linalg.norm(found.q[:, :4], axis=-1) - 1).max() < 1e-12 or robot.nq == robot.nv


def test_weights_share_out_what_cannot_be_reached():
    """Two targets for one slide: the least squares solution is their weighted mean (w^2)."""
    builder = kt.ModelBuilder("slide")
    builder.add_body("cart", "world", kt.Prismatic((1, 0, 0)), inertia=kt.Inertia(1.0, (0, 0, 0), np.eye(3)))
    builder.add_frame("left", "cart", kt.Pose(p=(0, 0, 0))).add_frame("right", "cart", kt.Pose(p=(0, 0, 0)))
    slide = builder.build()
    targets = {"left": (0.0, 0, 0), "right": (1.0, 0, 0)}
    found = kt.inverse_kinematics(slide, targets, weights={"left": 1.0, "right": (1.0, 2.0)})
    assert not found.success
    np.testing.assert_allclose(found.q, [4 / 5], atol=1e-9)
    np.testing.assert_allclose(found.error, np.hypot(0.8, 2 * 0.2), atol=1e-12)


def test_a_target_out_of_reach_gives_the_nearest_point(arm):
    shoulder = kt.placements(arm, arm.neutral())[1, :3, 3]
    way = np.array([0.6, 0.0, 0.8])
    found = kt.inverse_kinematics(arm, {"flange": shoulder + 5 * way}, attempts=5)
    reach = kt.frame_placement(arm, found.q, frame="flange")[:3, 3] - shoulder
    assert not found.success
    assert np.linalg.norm(np.cross(reach / np.linalg.norm(reach), way)) < 1e-3
    np.testing.assert_allclose(found.error, 5 - np.linalg.norm(reach), rtol=1e-4)


def test_limits_can_be_left_out(arm):
    tight = arm.replace(limits={name: (-0.1, 0.1) for name in arm.joint_names})
    goal = kt.frame_placement(arm, np.full(7, 0.5), frame="flange")
    within = kt.inverse_kinematics(tight, {"flange": goal}, attempts=5)
    assert not within.success and np.abs(within.q).max() <= 0.1
    assert kt.inverse_kinematics(tight, {"flange": goal}, limits=False).success


def test_eager_agrees(arm):
    from kinetree.kinematics.descent import pose_descent

    q, _ = arm.random_state(9, 2)
    goals = reachable(arm, "flange", 2, 4)[:, None]
    options = {"frames": ("flange",), "iterations": 3}
    given = q, goals, np.ones((1, 2)), 0.1
    compiled = pose_descent(arm, *given, **options)
    eager = pose_descent(arm, *given, **options, target="eager")
    np.testing.assert_allclose(compiled[0], eager[0], atol=1e-9)
    np.testing.assert_allclose(compiled[1], eager[1], atol=1e-9)


def test_an_empty_batch(arm):
    found = kt.inverse_kinematics(arm, {"flange": np.zeros((0, 3))})
    assert found.q.shape == (0, 7) and found.success.shape == (0,)


def test_a_model_that_cannot_move_is_where_it_is():
    builder = kt.ModelBuilder("post")
    builder.add_body("post", "world", kt.Fixed(), inertia=kt.Inertia(1.0, (0, 0, 0), np.eye(3)))
    builder.add_frame("tip", "post", kt.Pose(p=(0, 0, 1)))
    targets = {"tip": np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 3.0]])}
    for q0 in (None, np.zeros(0), np.zeros((2, 0))):
        found = kt.inverse_kinematics(builder.build(), targets, q0)
        assert found.q.shape == (2, 0)
        np.testing.assert_array_equal(found.success, [True, False])
        np.testing.assert_allclose(found.error, [0.0, 2.0])


LOOPS = {
    "cassie_leg": "sole", "gripper": "right_pad", "four_bar": "coupler_end", "delta": "tool",
    "parallel_ankle": "sole", "slider_crank": "piston", "stewart": "seat",
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_models_with_loops_reach_their_targets(name, cases):
    model, frame = getattr(kt.zoo, name)(), LOOPS[name]
    goals = reachable(model, frame, cases(30), 2)
    for targets in (goals, goals[:, :3, 3]):
        found = kt.inverse_kinematics(model, {frame: targets})
        assert found.success.all()
        np.testing.assert_allclose(model.assemble(found.q), found.q, atol=1e-9)
    reached = kt.frame_placement(model, found.q, frame=frame)[:, :3, 3]
    assert np.abs(reached - goals[:, :3, 3]).max() < 2e-6


@pytest.mark.parametrize("name", LOOPS)
def test_targets_out_of_reach_of_models_with_loops(name):
    """The answer is a closed position, however far away the target is, and others in the batch are solved."""
    model, frame = getattr(kt.zoo, name)(), LOOPS[name]
    goals = reachable(model, frame, 5, 3)[:, :3, 3]
    goals[1:4] += np.array([[3.0, 0.0, 2.0], [1e6, 0.0, 0.0], [0.0, 0.0, 1e200]])
    found = kt.inverse_kinematics(model, {frame: goals}, attempts=20)
    np.testing.assert_array_equal(found.success, [True, False, False, False, True])
    assert np.isfinite(found.q).all()
    reached = kt.frame_placement(model, found.q, frame=frame)[:, :3, 3]  # raises for open loops
    np.testing.assert_allclose(np.linalg.norm((reached - goals)[:3], axis=-1), found.error[:3], atol=2e-6)


def test_steps_that_would_tear_a_loop_are_not_taken():
    """Targets beyond the dead points of a gripper; plain Python takes and leaves out the same steps."""
    from kinetree.kinematics.descent import pose_descent

    model = kt.zoo.gripper()
    goals = reachable(model, "right_pad", 2, 4)[:, None]
    goals[..., :3, 3] += (0.0, 0.1, -0.1)
    given = model.random_state(3, 2)[0], goals, np.ones((1, 2)), 1e-3
    options = {"frames": ("right_pad",), "points": (True,), "limits": False}
    q, error = pose_descent(model, *given, **options)
    start = kt.frame_placement(model, given[0], "right_pad")[:, :3, 3]
    assert (error[:, 0] < np.linalg.norm(goals[:, 0, :3, 3] - start, axis=-1)).all()
    again = pose_descent(model, *given, **options, target="eager")
    np.testing.assert_allclose(q, again[0], atol=1e-9)
    np.testing.assert_allclose(error, again[1], atol=1e-9)


def test_a_problem_that_a_kernel_refuses_does_not_take_the_batch_along(arm, monkeypatch):
    goals = reachable(arm, "flange", 9, 6)
    alone = kt.inverse_kinematics(arm, {"flange": goals}, attempts=30)
    kernel = inverse.pose_descent

    def refusing(model, q, targets, *rest, **options):
        if (targets == goals[4]).all((-1, -2)).any():
            raise AssemblyError("a loop would open")
        return kernel(model, q, targets, *rest, **options)

    monkeypatch.setattr(inverse, "pose_descent", refusing)
    q0 = np.full(7, 0.1)
    for start in (None, q0):
        found = kt.inverse_kinematics(arm, {"flange": goals}, start, attempts=30)
        np.testing.assert_array_equal(found.success, np.arange(9) != 4)
        assert np.isfinite(found.q).all() and found.error[4] == np.inf
        if start is None:
            np.testing.assert_array_equal(found.q[found.success], alone.q[found.success])
        else:
            np.testing.assert_array_equal(found.q[4], q0)


def test_a_start_with_an_open_loop_is_refused():
    model = kt.zoo.four_bar()
    with pytest.raises(AssemblyError, match=r"inverse_kinematics: q0: loop .* is open"):
        kt.inverse_kinematics(model, {"coupler_end": (0, 0, 0)}, model.neutral() + [0.5, 0.0, 0.0])


SKEWED = np.diag([1.0, 1.0, 2.0, 1.0])


@pytest.mark.parametrize(
    "targets, options, error, words",
    [
        ({}, {}, ArgumentError, "dict"),
        ({"tool": (0, 0, 0)}, {}, Exception, "tool"),
        ({"flange": (0, 0)}, {}, ShapeError, r"\(\.\.\., 4, 4\) or \(\.\.\., 3\)"),
        ({"flange": (0, 0, np.nan)}, {}, ShapeError, "finite"),
        ({"flange": "here"}, {}, ArgumentError, "non-numeric"),
        ({"flange": SKEWED}, {}, ArgumentError, "not a pose"),
        ({"flange": np.zeros((2, 3)), "link3": np.zeros((3, 3))}, {}, ShapeError, "broadcast"),
        ({"flange": np.zeros((2, 3))}, {"q0": np.zeros((3, 7))}, ShapeError, "broadcast"),
        ({"flange": (0, 0, 0)}, {"q0": np.zeros(6)}, ShapeError, "q0"),
        ({"flange": (0, 0, 0)}, {"weights": {"link1": 1}}, ArgumentError, "no target"),
        ({"flange": (0, 0, 0)}, {"weights": {"flange": -1}}, ArgumentError, "not negative"),
        ({"flange": (0, 0, 0)}, {"attempts": 0}, ArgumentError, "positive whole number"),
        ({"flange": (0, 0, 0)}, {"tolerance": 0.0}, ArgumentError, "tolerance must be a positive number"),
        ({"flange": (0, 0, 0)}, {"tolerance": -1}, ArgumentError, "tolerance must be a positive number"),
        ({"flange": (0, 0, 0)}, {"tolerance": np.nan}, ArgumentError, "tolerance must be a positive number"),
        ({"flange": (0, 0, 0)}, {"tolerance": "fine"}, ArgumentError, "tolerance must be a positive number"),
    ],
)
def test_what_makes_no_sense_is_said(arm, targets, options, error, words):
    with pytest.raises(error, match=words):
        kt.inverse_kinematics(arm, targets, **options)
