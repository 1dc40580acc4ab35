"""Operational-space control: the frame moves as a unit mass would, whatever the null space does."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree import ops

ARM = kt.zoo.arm7()
Q = np.array([0.3, 0.6, 0.2, -0.9, 0.2, 0.7, -0.3])


def acceleration(tau, q, v):
    """Of the flange, in axes of the world."""
    a = kt.forward_dynamics(ARM, q, v, tau + kt.passive_force(ARM, q, v, smoothing=1e-3))
    J = kt.jacobian(ARM, q, "flange", "aligned")
    return J @ a + kt.jacobian_rate(ARM, q, v, "flange", "aligned") @ v


@pytest.mark.parametrize("point", [False, True])
def test_the_frame_accelerates_as_told_and_the_null_space_does_not_matter(point):
    """CTL-4."""
    rng = np.random.default_rng(1)
    pose = kt.frame_placement(ARM, Q + 0.1, "flange")
    told = {"goal_velocity": rng.normal(size=6), "goal_acceleration": rng.normal(size=6)}
    goal = pose[:3, 3] if point else pose
    v = rng.normal(size=7)
    gains = {"kp": 30.0, "kd": 11.0, "damping": 0.0}
    alone = kt.control.OperationalSpace(ARM, "flange", goal, **gains)
    held = kt.control.OperationalSpace(
        ARM, "flange", goal, **gains, posture=Q - 0.5, posture_kp=40.0, posture_kd=5.0
    )
    at, J = kt.frame_placement(ARM, Q, "flange"), kt.jacobian(ARM, Q, "flange", "aligned")
    turn = kt.Rotation(pose[:3, :3] @ at[:3, :3].T).as_rotation_vector()
    angle = np.linalg.norm(turn)
    error = np.concatenate([np.asarray(turn) * 2 * np.sin(angle / 2) / angle, pose[:3, 3] - at[:3, 3]])
    wanted = told["goal_acceleration"] + 11.0 * (told["goal_velocity"] - J @ v) + 30.0 * error
    rows = slice(3, 6) if point else slice(0, 6)
    taus = [law(0.0, Q, v, **told) for law in (alone, held)]
    for tau in taus:
        np.testing.assert_allclose(acceleration(tau, Q, v)[rows], wanted[rows], rtol=1e-7, atol=1e-7)
    assert np.abs(taus[0] - taus[1]).max() > 0.1  # the null space does something, but not to the frame


def test_a_pose_is_reached_and_the_posture_settles():
    goal = kt.frame_placement(ARM, Q, "flange")
    start = Q + np.array([0.3, -0.2, 0.1, 0.2, -0.3, 0.2, 0.4])
    law = kt.control.OperationalSpace(
        ARM, "flange", goal, kp=100.0, kd=20.0, posture=Q, posture_kp=20.0, posture_kd=8.0
    )
    run = kt.simulate(ARM, start, np.zeros(7), duration=4.0, dt=1e-3, control=law, limits=False, record=50)
    np.testing.assert_allclose(kt.frame_placement(ARM, run.q[-1], "flange"), goal, atol=1e-4)
    assert np.abs(run.q[-1] - Q).max() < 0.02  # the one posture of all that reach the goal
    assert np.abs(run.v[-1]).max() < 0.01


@kt.function("t -> pose(4, 4), velocity(6), acceleration(6)")
def circle(model, t):
    """A circle of the flange in the plane y, z, with a fixed attitude."""
    c, s = ops.cos(2 * t), ops.sin(2 * t)
    pose = np.array([[1, 0, 0, 0.4], [0, -1, 0, 0.1 * s], [0, 0, -1, 0.5 + 0.1 * c], [0, 0, 0, 1]], object)
    return pose, np.array([0, 0, 0, 0, 0.2 * c, -0.2 * s]), np.array([0, 0, 0, 0, -0.4 * s, -0.4 * c])


def test_a_circle_is_followed():
    first = kt.inverse_kinematics(ARM, {"flange": circle(ARM, 0.0)[0]}, Q)
    v0 = np.linalg.pinv(kt.jacobian(ARM, first.q, "flange", "aligned")) @ circle(ARM, 0.0)[1]
    law = kt.control.OperationalSpace(
        ARM, "flange", circle, kp=400.0, kd=40.0, posture=first.q, posture_kd=2.0
    )
    run = kt.simulate(ARM, first.q, v0, duration=3.0, dt=1e-3, control=law, limits=False, record=20)
    reached, wanted = kt.frame_placement(ARM, run.q, "flange"), circle(ARM, run.t)[0]
    assert np.abs(reached[..., :3, 3] - wanted[..., :3, 3]).max() < 1e-3
    assert np.abs(reached[..., :3, :3] - wanted[..., :3, :3]).max() < 5e-3


def test_singular_postures_are_survived():
    law = kt.control.OperationalSpace(
        ARM, "flange", (0.0, 0.0, 3.0), kp=20.0, kd=9.0, posture_kd=3.0, damping=0.05
    )
    run = kt.simulate(ARM, Q, np.zeros(7), duration=3.0, dt=1e-3, control=law, limits=False, record=100)
    assert not run.failed and np.isfinite(run.q).all()
    assert kt.frame_placement(ARM, run.q[-1], "flange")[2, 3] > 1.2  # stretched towards a goal out of reach
