"""POS-2: frames of no body, which move by a law of time, and frames of a model, relative to each other."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree import ops

Z = (0, 0, 1)
YEAR, MONTH = 2e-7, 2.7e-6  # rad/s


def orbit(radius, rate, phase=0.0):
    """A circle in the x-y plane, with axes that turn along."""
    return lambda t: kt.Pose(
        kt.Rotation.from_axis_angle(Z, rate * t + phase),
        (radius * ops.cos(rate * t + phase), radius * ops.sin(rate * t + phase), 0),
    )


def sky() -> kt.Frames:
    return (
        kt.Frames().add("sun", "world", kt.Pose(p=(3.0, -1.0, 2.0)))
        .add("earth", "sun", orbit(1.5e11, YEAR)).add("moon", "earth", orbit(3.8e8, MONTH, 0.4))
    )  # fmt: skip


def tumbling(t):
    """Nothing is constant."""
    turn = kt.Rotation.from_rotation_vector((0.3 * t, ops.sin(t), 0.5 * t * t))
    return kt.Pose(turn, (ops.cos(2 * t), t * t, ops.exp(-t)))


def difference(function, t, h=1e-3):
    """The derivative by differences of sixth order."""
    weights = ((1, 45), (2, -9), (3, 1))
    return sum(w * (function(t + k * h) - function(t - k * h)) for k, w in weights) / (60 * h)


def test_circles_on_circles():
    """In axes that do not turn, the moon is carried by two rotations; formulas of a school book."""
    t = np.linspace(0.0, 3e7, 5)
    now = sky().at(t)
    far, near = YEAR * t, (YEAR + MONTH) * t + 0.4
    position = 1.5e11 * np.stack([np.cos(far), np.sin(far)]) + 3.8e8 * np.stack([np.cos(near), np.sin(near)])
    found = now.placement("moon", "sun")
    assert np.allclose(found[:, :2, 3].T, position, atol=1e-3)
    velocity = 1.5e11 * YEAR * np.stack([-np.sin(far), np.cos(far)]) + 3.8e8 * (YEAR + MONTH) * np.stack(
        [-np.sin(near), np.cos(near)]
    )
    V = now.velocity("moon", "sun", axes="sun")
    assert np.allclose(V[:, 3:5].T, velocity, rtol=1e-12) and np.allclose(V[:, 2], YEAR + MONTH, rtol=1e-12)
    pull = -1.5e11 * YEAR**2 * np.stack([np.cos(far), np.sin(far)]) - 3.8e8 * (YEAR + MONTH) ** 2 * np.stack(
        [np.cos(near), np.sin(near)]
    )
    A = now.acceleration("moon", "sun", axes="sun", seen_from="sun")
    assert np.allclose(A[:, 3:5].T, pull, rtol=1e-11)
    # a uniform motion on a circle has no spatial acceleration
    assert np.abs(now.acceleration("moon", "earth")).max() < 1e-12 * 3.8e8 * MONTH**2


def test_what_both_hang_on_costs_no_digits():
    t = 1.234e7
    alone = kt.Frames().add("moon", "world", orbit(3.8e8, MONTH, 0.4)).at(t)
    assert np.array_equal(sky().at(t).placement("moon", "earth"), alone.placement("moon"))
    assert np.array_equal(sky().at(t).velocity("moon", "earth"), alone.velocity("moon"))
    robot = kt.zoo.humanoid()
    q, _ = robot.random_state(0)
    away = q.copy()
    away[4:7] += 1e9
    for state in (q, away):
        T = kt.relative_placement(robot, state, "left_hand", "chest")
        assert np.array_equal(T, kt.relative_placement(robot, q, "left_hand", "chest"))


def test_loops_close():
    """POS-2: from any frame to any other and on to a third is the way there at once; back is the inverse."""
    robot = kt.zoo.quadruped()
    frames = kt.Frames(robot).add("target", "world", tumbling)
    frames = frames.add("lens", robot.body_names[3], orbit(0.1, 5.0))
    frames = frames.add("spot", "lens", kt.Pose(p=(0, 0, 1)))
    rng = np.random.default_rng(1)
    q, v = robot.random_state(rng, (2,))
    now = frames.at(0.7, q, v, rng.normal(size=robot.nv))
    names = ("world", "target", "lens", "spot", robot.body_names[3], robot.body_names[-1])
    for a in names:
        for b in names:
            back = now.placement(a, b) @ now.placement(b, a)
            assert np.allclose(back, np.eye(4), atol=1e-14)
            by_way = now.placement("lens", a)
            assert np.allclose(now.placement(b, a), by_way @ now.placement(b, "lens"), atol=1e-13)
    expected = kt.relative_velocity(robot, q, v, robot.body_names[-1], robot.body_names[3])
    assert np.allclose(now.velocity(robot.body_names[-1], robot.body_names[3]), expected, atol=1e-13)


@pytest.mark.parametrize(("frame", "base"), [("lens", "target"), ("target", "tip"), ("lens", "world")])
def test_velocities_and_accelerations_are_derivatives(frame, base):
    """Along a motion of the robot, of laws on it and beside it; axes and derivative frames of choice."""
    robot = kt.zoo.arm7().add_frame("tip", kt.zoo.arm7().body_names[-1], kt.Pose(p=(0.1, 0.2, 0.3)))
    frames = kt.Frames(robot).add("target", "world", tumbling).add("lens", "tip", tumbling)
    rng = np.random.default_rng(2)
    q0, v0 = robot.random_state(rng)
    a0 = rng.normal(size=robot.nv)

    def now(t):
        return frames.at(t, q0 + v0 * t + a0 * t * t / 2, v0 + a0 * t, a0)

    t = 0.3
    T, V = now(t).placement(frame, base), now(t).velocity(frame, base, axes=base)
    rate = difference(lambda t: now(t).placement(frame, base), t)
    assert np.allclose(rate[:3, 3], V[3:], atol=1e-8)
    assert np.allclose(kt.textbook.angular_velocity(T[:3, :3], rate[:3, :3], "world"), V[:3], atol=1e-8)
    # the derivative of components in some axes is the derivative seen from there
    for axes in (base, frame, "target", "world", "link3" if "link3" in robot.body_names else "tip"):
        expected = difference(lambda t, axes=axes: now(t).velocity(frame, base, axes=axes), t)
        found = now(t).acceleration(frame, base, axes=axes, seen_from=axes)
        assert np.allclose(found, expected, atol=1e-7), axes
    own = now(t).acceleration(frame, base)
    assert np.allclose(own, now(t).acceleration(frame, base, axes=frame, seen_from=frame), atol=1e-12)


def test_laws_inside_functions():
    """A law is traced like all else, in other numbers too."""
    robot = kt.zoo.double_pendulum()
    frames = kt.Frames(robot).add("target", "world", tumbling)

    @kt.function("t, q, v -> T(4, 4), V(6)")
    def chase(model, t, q, v):
        now = frames.at(t, q, v)
        return now.placement("target", "lower"), now.velocity("target", "lower")

    q, v = robot.random_state(3)
    T, V = chase(robot, 0.4, q, v)
    assert np.allclose(T, frames.at(0.4, q, v).placement("target", "lower"), atol=1e-14)
    assert np.allclose(V, frames.at(0.4, q, v).velocity("target", "lower"), atol=1e-14)


def test_a_law_may_be_a_function_of_a_model():
    @kt.function("t -> T(4, 4)")
    def law(model, t):
        return np.array(tumbling(t).as_matrix())

    plain, declared = (kt.Frames().add("x", "world", given).at(0.2) for given in (tumbling, law))
    assert np.allclose(plain.acceleration("x"), declared.acceleration("x"), atol=1e-13)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda f: f.add("moon", "earth"), kt.errors.ModelError, "already contains a frame named 'moon'"),
        (lambda f: f.add("venus", "snu"), kt.errors.ModelError, "snu.*did you mean 'sun'|sun"),
        (lambda f: f.at(0.0).placement("mars"), kt.errors.ModelError, "mars"),
        (lambda f: f.add("x", "sun", lambda t: kt.Pose(p=(np.cos(t), 0, 0))).at(0.0).velocity("x"),
         kt.errors.TraceError, "ops.cos for numpy.cos"),
        (lambda f: f.add("x", "sun", 2 * np.eye(3)), kt.errors.ModelError, "differs from the identity"),
        (lambda f: kt.Frames(kt.zoo.pendulum()).at().placement("pole"), kt.errors.ModelError, "pole"),
        (lambda f: kt.Frames(kt.zoo.cart_pole()).at().placement("pole"), kt.errors.ArgumentError, "at.t, q"),
        (lambda f: kt.Frames("robot.urdf"), kt.errors.ArgumentError, "kinetree Model"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_said(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong(sky())


def test_networks_do_not_change():
    before = sky()
    after = before.add("station", "earth", orbit(7e6, 1e-3))
    assert before.names == ("sun", "earth", "moon") and after.names[-1] == "station"
    assert "moon in earth" in repr(after)
