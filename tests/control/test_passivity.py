"""Slotine and Li's laws: the Lyapunov function falls, and unknown parameters are learnt."""

from __future__ import annotations

import numpy as np
from tests.control.cases import swing, swing_at

import kinetree as kt
from kinetree import ops


def test_the_law_is_linear_in_the_parameters_and_skew():
    robot = kt.zoo.puma560()
    q, v = robot.random_state(1)
    v_r, a_r = np.random.default_rng(2).normal(size=(2, robot.nv))
    tau = kt.control.slotine_li(robot, q, v, v_r, a_r)
    dense = (
        kt.mass_matrix(robot, q) @ a_r + kt.coriolis_matrix(robot, q, v) @ v_r + kt.gravity_force(robot, q)
    )
    np.testing.assert_allclose(tau, dense, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        kt.control.slotine_li(robot, q, v, v, a_r), kt.inverse_dynamics(robot, q, v, a_r), atol=1e-10
    )


def test_the_lyapunov_function_falls_at_the_rate_of_the_law():
    """CTL-2."""
    robot = kt.zoo.double_pendulum()
    w, kd = 6.0, 12.0
    follow = kt.control.PassivityBased(robot, swing, bandwidth=w, kd=kd)
    run = kt.simulate(
        robot, np.array([0.8, -0.5]), np.zeros(2), duration=3.0, dt=2e-4, control=follow, integrator="rk4"
    )
    q_d, v_d, _ = swing_at(robot, run.t)
    s = run.v - v_d - w * (q_d - run.q)
    V = np.einsum("ti,tij,tj->t", s, kt.mass_matrix(robot, run.q), s) / 2
    rate = -kd * np.sum(s**2, -1)
    assert np.all(np.diff(V) < 1e-9)
    change = np.diff(V) / 2e-4
    middle = (rate[1:] + rate[:-1]) / 2
    np.testing.assert_allclose(change, middle, atol=2e-2 * np.abs(rate).max())
    assert np.abs(run.q[-1] - q_d[-1]).max() < 5e-3


def unknown_load():
    """A double pendulum whose second link carries more than its model says."""
    robot = kt.zoo.double_pendulum()
    true = robot.parameters.copy()
    true[1] *= 1.6
    return robot, true


def adaptive(robot, reference, dt):
    """Learns the parameters of the second link that show in the motion."""
    rate = np.zeros((2, 10))
    state = np.array([0.3, 0.5])
    rate[1] = 4.0 * (np.abs(kt.torque_regressor(robot, state, state, state)[:, 10:]).max(0) > 1e-9)
    return kt.control.Adaptive(robot, reference, bandwidth=6.0, kd=10.0, rate=rate, dt=dt)


@kt.function("t -> q")
def lively(model, t):
    """A motion fast enough to show inertia beside weight."""
    return np.array([0.6 * ops.sin((4 + 1.7 * k) * t) + 0.3 * ops.sin((7.3 - k) * t + k) for k in (0, 1)])


def test_adaptive_control_learns_what_it_does_not_know():
    """CTL-2: the parameters converge."""
    robot, true = unknown_load()
    learn = adaptive(robot, lively, dt=2.5e-4)
    q0, v0 = kt.jvp(lively, robot, (0.0,), (1.0,))
    run = kt.simulate(
        robot, q0, v0, duration=20.0, dt=2.5e-4, control=learn, parameters=true, integrator="rk4", record=400
    )
    error = np.abs(run.q - lively(robot, run.t)).max(-1)
    assert error[-20:].max() < 0.05 * error[:20].max()
    learnt = learn.numbers["rate"][1] > 0
    first, last = (run.extra["estimate"] - true)[[0, -1]][:, 1, learnt]
    assert learnt.sum() == 4 and np.abs(first).max() > 0.5
    assert np.abs(last).max() < 0.02 * np.abs(first).max()
    np.testing.assert_array_equal(run.extra["estimate"][-1][0], robot.parameters[0])


def test_the_lyapunov_function_of_adaptive_control_never_grows():
    robot, true = unknown_load()
    learn = adaptive(robot, swing, dt=2e-4)
    q0, v0, _ = swing_at(robot, 0.0)
    run = kt.simulate(robot, q0 + 0.3, v0, duration=2.0, dt=2e-4, control=learn, parameters=true, record=10)
    q_d, v_d, _ = swing_at(robot, run.t)
    s = run.v - v_d - 6.0 * (q_d - run.q)
    M = kt.mass_matrix(robot, run.q, parameters=true)
    off = (run.extra["estimate"] - true)[:, 1][:, learn.numbers["rate"][1] > 0]
    V = np.einsum("ti,tij,tj->t", s, M, s) / 2 + np.sum(off**2, -1) / (2 * 4.0)
    assert np.diff(V[:-1]).max() < 1e-3 * V[0]
    assert V[-2] < 0.7 * V[0]


def test_without_a_rate_it_is_passivity_based():
    robot = kt.zoo.double_pendulum()
    q, v = robot.random_state(7)
    plain = kt.control.PassivityBased(robot, swing, bandwidth=6.0, kd=3.0)
    learn = kt.control.Adaptive(robot, swing, bandwidth=6.0, kd=3.0, rate=0.0, dt=1e-3)
    tau, estimate = learn(0.2, q, v, **learn.start())
    np.testing.assert_allclose(tau, plain(0.2, q, v), rtol=1e-10)
    np.testing.assert_array_equal(estimate, robot.parameters)


def test_what_is_learnt_follows_the_regressor():
    """Y^T s by the gradient is that of the regressor, where both are defined: v_r = v."""
    robot = kt.zoo.double_pendulum()
    q, v = robot.random_state(3)
    goal_q, goal_a = q, np.array([0.5, -0.2])
    s_goal = v + np.array([0.1, 0.3])
    learn = kt.control.Adaptive(robot, (goal_q, s_goal, goal_a), bandwidth=0.0, kd=0.0, rate=1.0, dt=1.0)
    _, estimate = learn(0.0, q, v, **learn.start())
    s = v - s_goal
    rows = np.zeros((2, 10))
    for body in range(2):
        for k in range(10):
            unit = np.zeros((2, 10))
            unit[body, k] = 1.0
            rows[body, k] = s @ kt.control.slotine_li(robot, q, v, s_goal, goal_a, parameters=unit)
    np.testing.assert_allclose(robot.parameters - estimate, rows, rtol=1e-9, atol=1e-10)
