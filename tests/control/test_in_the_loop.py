"""Several controls in one simulation, and functions with other defaults of their options."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ArgumentError, CompileError
from kinetree.stages import Job

ROBOT = kt.zoo.double_pendulum()
STATE = np.array([0.4, -0.3]), np.array([0.2, 0.5])
RUN = {"duration": 0.02, "dt": 1e-3}


@kt.function("t, q, v -> tau")
def waving(model, t, q, v):
    return np.array([t, -2.0 * t])


@kt.function("q, v, tau, work -> work")
def worked(model, q, v, tau, work):
    """The sum of the powers that all before it have."""
    return work + tau @ v


def test_controls_add_up_in_any_mixture():
    hold = kt.control.PD(ROBOT, np.zeros(2), kp=10.0, kd=1.0)
    push = np.array([0.3, 0.1])
    together = kt.simulate(ROBOT, *STATE, control=[push, hold, waving], **RUN)
    for k in range(20):
        t = 1e-3 * k
        total = push + hold(t, together.q[k], together.v[k]) + waving(ROBOT, t, together.q[k], together.v[k])
        np.testing.assert_allclose(together.tau[k], total, rtol=1e-12)
    by_hand = kt.simulate(ROBOT, *STATE, control=[hold, waving, lambda t, q, v: push], **RUN)
    np.testing.assert_array_equal(by_hand.q, together.q)


def test_a_later_one_sees_what_those_before_it_gave():
    import functools

    hold = kt.control.PD(ROBOT, np.zeros(2), kp=10.0, kd=1.0)
    meter = functools.partial(worked, work=0.0)
    run = kt.simulate(ROBOT, *STATE, control=[hold, meter], **RUN)
    power = np.sum(run.tau * run.v, -1)
    np.testing.assert_allclose(run.extra["work"][:-1], np.cumsum(power[:-1]), rtol=1e-10)


@pytest.mark.parametrize("parts", [(np.zeros(2), lambda t, q, v: v), (lambda t, q, v: v, lambda t, q, v: v)])
def test_one_array_or_python_function_at_most(parts):
    with pytest.raises(ArgumentError, match="of several parts of control"):
        kt.simulate(ROBOT, *STATE, control=[waving, *parts], **RUN)


def test_a_controller_does_not_know_the_parameters_of_the_robot():
    heavy = 2 * ROBOT.parameters
    hold = kt.control.GravityCompensation(ROBOT)
    run = kt.simulate(ROBOT, *STATE, control=hold, parameters=heavy, **RUN)
    np.testing.assert_allclose(run.tau[:-1], kt.gravity_force(ROBOT, run.q[:-1]), rtol=1e-12)
    told = kt.simulate(
        ROBOT, *STATE, control=kt.control.GravityCompensation(ROBOT).law.changed[0], parameters=heavy, **RUN
    )
    np.testing.assert_allclose(told.tau[:-1], 2 * kt.gravity_force(ROBOT, told.q[:-1]), rtol=1e-12)


def test_a_function_with_other_options():
    arm = kt.zoo.arm7()
    q, _ = arm.random_state(1)
    tool = kt.jacobian.with_options(frame="flange", reference="world")
    expected = kt.jacobian(arm, q, "flange", "world")
    np.testing.assert_array_equal(tool(arm, q), expected)
    np.testing.assert_array_equal(tool(arm, q), expected)  # the second call takes the short way
    np.testing.assert_array_equal(tool(arm, q, reference="body"), kt.jacobian(arm, q, "flange"))
    np.testing.assert_array_equal(kt.compile(tool, arm)(q), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tool))(arm, q), expected)
    with pytest.raises(ArgumentError, match="needs the argument 'frame'"):
        kt.jacobian.with_options(reference="world")(arm, q)
    with pytest.raises(CompileError, match="no option 'frames'"):
        kt.jacobian.with_options(frames="flange")


def test_what_depends_on_other_source_is_not_cached_on_disk():
    law = kt.control.ComputedTorque(ROBOT, np.zeros(2), kp=1.0, kd=1.0).law
    names = ("q", "v", "kp", "kd", "goal_q")
    assert Job(law, ROBOT, names, law.options).key is not None

    @kt.function("t -> q")
    def own(model, t):
        return np.array([t, t])

    law = kt.control.ComputedTorque(ROBOT, own, kp=1.0, kd=1.0).law
    assert Job(law, ROBOT, ("t", "q", "v", "kp", "kd"), law.options).key is None


def test_a_controller_of_another_model_of_the_same_name():
    arm = kt.zoo.arm7()
    hold = kt.control.GravityCompensation(arm, 1.0)
    moon = arm.replace(gravity=(0.0, 0.0, -1.62))
    start = arm.neutral(), np.zeros(7)
    with pytest.raises(ArgumentError, match=r"another model .* both are named 'arm7': make .* gravity="):
        kt.simulate(moon, *start, control=hold, duration=2e-3, dt=1e-3)
    kt.simulate(arm, *start, control=hold, gravity=(0.0, 0.0, -1.62), duration=2e-3, dt=1e-3)
    with pytest.raises(ArgumentError, match="made for model 'arm7', not for 'double_pendulum'"):
        kt.simulate(kt.zoo.double_pendulum(), [0, 0], [0, 0], control=hold, duration=2e-3, dt=1e-3)
