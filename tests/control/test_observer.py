"""The momentum observer finds torques from outside, within 3 / K to 95 %."""

from __future__ import annotations

import numpy as np
import pytest
from tests.control.cases import swing, swing_at

import kinetree as kt

K = 60.0
DT = 1e-3


def watched(model, reference, **gains):
    follow = kt.control.ComputedTorque(model, reference, **gains)
    return [follow, kt.control.MomentumObserver(model, K, dt=DT)]


def test_a_contact_on_the_tool_is_found_in_time():
    """CTL-1: a force on the flange from 0.3 s on: the residual is J^T f, to 95 % after 3 / K = 50 ms."""
    arm = kt.zoo.arm7()
    steps, hit = 500, 300
    force = np.array([0, 0, 0, 4.0, -3.0, 10.0])  # in the world, on the last body
    q = np.array([0.3, 0.6, 0.2, -0.9, 0.2, 0.7, -0.3])
    f_ext = np.zeros((steps, arm.nbodies, 6))
    f_ext[hit:] = kt.external_wrenches(arm, q, {arm.body_names[-1]: force})
    run = kt.simulate(
        arm, q, np.zeros(7), duration=steps * DT, dt=DT, control=watched(arm, q, kp=400.0, kd=40.0),
        f_ext=f_ext, limits=False,
    )  # fmt: skip
    residual = run.extra["residual"]
    true = -(kt.bias_force(arm, run.q, run.v, f_ext=run.f_ext) - kt.bias_force(arm, run.q, run.v))
    size = np.abs(true).max()
    assert np.abs(residual[:hit]).max() < 1e-6 * size
    late = hit + round(3 / K / DT) + 1
    assert np.abs(residual[late:-1] - true[late:-1]).max() < 0.06 * size
    found = np.argmax(np.linalg.norm(residual, axis=-1) > 0.2 * np.linalg.norm(true[-2]))
    assert 0 < found - hit <= 0.25 / K / DT  # 20 % of it is reached after ln(1.25) / K = 0.22 / K


def test_the_residual_rises_as_an_exponential():
    """One joint, constant torque: r = tau (1 - exp(-K t)) exactly, sample by sample, without gravity."""
    pendulum = kt.zoo.pendulum().replace(gravity=(0, 0, 0))
    observer = kt.control.MomentumObserver(pendulum, K, dt=DT)
    q, v, integral = np.zeros(1), np.zeros(1), observer.start(np.zeros(1), np.zeros(1))
    for k in range(100):
        found = observer(0.0, q, v, tau=np.zeros(1), **integral)
        np.testing.assert_allclose(found.residual, 0.7 * (1 - np.exp(-K * DT * k)), rtol=1e-9, atol=1e-12)
        integral = {"integral": found.integral}
        q, v = kt.step(pendulum, q, v, np.array([0.7]), dt=DT)


def test_nothing_is_found_where_nothing_is():
    """In fast motion without contact the residual is the error of holding torques for a step."""
    arm = kt.zoo.arm7()
    q0, v0, _ = swing_at(arm, 0.0)
    run = kt.simulate(
        arm, q0, v0, duration=1.0, dt=DT, control=watched(arm, swing, kp=100.0, kd=20.0), limits=False
    )
    assert np.abs(run.extra["residual"][:-1]).max() < 0.02 * np.abs(run.tau).max()


@pytest.mark.filterwarnings("ignore:simulate")
def test_a_motor_at_its_limit_is_no_contact():
    arm = kt.zoo.arm7()
    asked = np.full(7, 60.0)  # the last two motors give 40
    start, more = (arm.neutral(), np.zeros(7)), {"duration": 5e-3, "dt": 1e-4, "integrator": "rk4"}
    for limits in (True, False):
        control = [asked, kt.control.MomentumObserver(arm, K, dt=1e-4)]
        run = kt.simulate(arm, *start, control=control, limits=limits, **more)
        assert run.extra.get("saturated", np.zeros(1)).any() == limits
        assert np.abs(run.extra["residual"][:-1]).max() < 0.01
    ideal = kt.control.MomentumObserver(arm, K, dt=1e-4, limits=False)
    run = kt.simulate(arm, *start, control=[asked, ideal], **more)
    assert np.abs(run.extra["residual"][-2, 5:]).min() > 1.0


def test_a_floating_robot_too():
    """C^T v and M' belong together in quasi-velocities as well."""
    robot = kt.zoo.spacecraft()
    q, v = robot.random_state(2)
    observer = kt.control.MomentumObserver(robot, K, dt=1e-4)
    outside = 0.3 * np.random.default_rng(1).normal(size=robot.nv)
    push = [np.zeros(robot.nv), observer]
    run = kt.simulate(robot, q, 0.1 * v, duration=0.2, dt=1e-4, control=push, limits=False, integrator="rk4")
    assert np.abs(run.extra["residual"][:-1]).max() < 1e-3
    memory = observer.start(q, 0.1 * v)
    x = 0.1 * v
    for _ in range(2000):
        found = observer(0.0, q, x, tau=np.zeros(robot.nv), **memory)
        memory = {"integral": found.integral}
        q, x = kt.step(robot, q, x, outside, dt=1e-4, integrator="rk4")
    np.testing.assert_allclose(found.residual, outside, atol=1e-4)
