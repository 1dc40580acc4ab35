"""Gravity compensation, PD and computed torque close their loops."""

from __future__ import annotations

import numpy as np
import pytest
from tests.control.cases import swing, swing_at

import kinetree as kt
from kinetree import ops


def test_a_compensated_robot_stays_where_it_is_put():
    robot = kt.zoo.puma560()
    q, _ = robot.random_state(4)
    float_ = kt.control.GravityCompensation(robot)
    run = kt.simulate(robot, q, np.zeros(6), duration=1.0, dt=1e-3, control=float_, limits=False, record=100)
    assert np.abs(run.q - q).max() < 1e-9
    pushed = kt.simulate(
        robot, q, np.full(6, 0.3), duration=1.0, dt=1e-3, control=float_, limits=False, passive=False,
        record=10, integrator="rk4",
    )  # fmt: skip
    np.testing.assert_allclose(pushed.kinetic_energy, pushed.kinetic_energy[0], rtol=1e-2)


def test_pd_holds_a_posture_and_its_energy_falls():
    robot = kt.zoo.double_pendulum()
    goal = np.array([0.7, -0.4])
    kp, kd = 60.0, 12.0
    hold = kt.control.PD(robot, goal, kp=kp, kd=kd)
    run = kt.simulate(robot, np.zeros(2), np.zeros(2), duration=8.0, dt=1e-3, control=hold, integrator="rk4")
    stored = run.kinetic_energy + kp / 2 * np.sum((goal - run.q) ** 2, -1)
    assert np.diff(stored).max() < 1e-6 * stored[0]
    np.testing.assert_allclose(run.q[-1], goal, atol=1e-4)


def test_computed_torque_gives_each_joint_a_linear_error():
    """CTL-3: e'' + kd e' + kp e = 0: a joint that starts off by 0.1 follows e = 0.1 (1 + w t) exp(-w t)."""
    robot = kt.zoo.puma560()
    w = 10.0
    follow = kt.control.ComputedTorque(robot, swing, kp=w**2, kd=2 * w)
    q0, v0, _ = swing_at(robot, 0.0)
    run = kt.simulate(
        robot, q0 - 0.1, v0, duration=1.0, dt=2e-4, control=follow, limits=False, integrator="rk4", record=50
    )
    error = swing_at(robot, run.t)[0] - run.q
    expected = 0.1 * (1 + w * run.t) * np.exp(-w * run.t)
    np.testing.assert_allclose(error, np.broadcast_to(expected[:, None], error.shape), atol=1e-3)
    assert np.abs(error[-1]).max() < 1e-3


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_derivatives_of_a_reference_are_found(parts):
    robot = kt.zoo.double_pendulum()
    t = 0.37
    q_d, v_d, a_d = swing_at(robot, t)

    @kt.function("t -> q, v")
    def two(model, t):
        rows = [(0.4 * ops.sin((1 + 0.7 * k) * t) + 0.2 * ops.sin(2.3 * t + k)) for k in range(model.nq)]
        w = [1 + 0.7 * k for k in range(model.nq)]
        rates = [0.4 * w[k] * ops.cos(w[k] * t) + 0.46 * ops.cos(2.3 * t + k) for k in range(model.nq)]
        return np.array(rows), np.array(rates)

    @kt.function("t -> q, v, a")
    def three(model, t):
        q, v = two(model, t)
        w = [1 + 0.7 * k for k in range(model.nq)]
        a = [-0.4 * w[k] ** 2 * ops.sin(w[k] * t) - 1.058 * ops.sin(2.3 * t + k) for k in range(model.nq)]
        return q, v, np.array(a)

    reference = {1: swing, 2: two, 3: three}[parts]
    q, v = robot.random_state(1)
    tau = kt.control.ComputedTorque(robot, reference, kp=7.0, kd=3.0)(t, q, v)
    same = kt.control.ComputedTorque(robot, (q_d, v_d, a_d), kp=7.0, kd=3.0)(t, q, v)
    np.testing.assert_allclose(tau, same, rtol=1e-9)


def test_a_floating_base_follows_an_attitude():
    """Errors of quaternions are increments on the group: a turning body reaches a fixed pose."""
    builder = kt.ModelBuilder("box")
    builder.add_body("box", "world", kt.Free(), inertia=kt.Inertia(2.0, (0, 0, 0), np.diag([0.1, 0.2, 0.25])))
    box = builder.build()
    goal, _ = box.random_state(8)
    hold = kt.control.ComputedTorque(box, goal, kp=16.0, kd=8.0)
    start, v = box.random_state(9)
    run = kt.simulate(box, start, v, duration=4.0, dt=1e-3, control=hold, record=100)
    assert np.abs(box.difference(run.q[-1], goal)).max() < 1e-3


def test_the_robot_may_differ_from_the_model():
    """A load that the controller does not know: it is off by what PD with its gains leaves."""
    robot = kt.zoo.double_pendulum()
    goal = np.array([0.5, 0.5])
    hold = kt.control.PD(robot, goal, kp=100.0, kd=20.0)
    loaded = robot.parameters.copy()
    loaded[1] *= 1.5
    run = kt.simulate(
        robot, goal, np.zeros(2), duration=10.0, dt=2e-3, control=hold, parameters=loaded, record=100
    )
    end = run.q[-1]
    known, real = kt.gravity_force(robot, end), kt.gravity_force(robot, end, parameters=loaded)
    np.testing.assert_allclose(100.0 * (goal - end) + known, real, atol=1e-4)
    assert np.abs(goal - end).max() > 1e-3
