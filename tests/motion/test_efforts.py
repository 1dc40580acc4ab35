"""Effort limits: no control gives more, whatever its form and the integrator, and every cut is recorded."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion import INTEGRATORS

LIMIT = 2.0
FILE = """<mujoco><option gravity="0 0 -9.81" timestep="0.001" integrator="RK4"/><worldbody><body>
<joint name="hip" axis="0 1 0" actuatorfrcrange="-2 2"/>
<geom type="capsule" fromto="0 0 0 0.1 0 -0.4" size="0.03" mass="0.6"/>
<body pos="0.1 0 -0.4"><joint name="knee" axis="0 1 0" damping="0.05"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.3"/></body></body></worldbody>
<actuator><motor joint="hip"/><motor joint="knee"/></actuator></mujoco>"""
RUN = {"duration": 0.2, "dt": 1e-3, "record": 20}


def warned():
    return pytest.warns(UserWarning, match="control asked 'hip' for more than its effort limit")


@pytest.fixture(scope="module")
def leg():
    return kt.load(FILE)


def torque(t):
    """What is asked for, now and then beyond the limit."""
    return np.stack([3.0 * np.sin(40.0 * t), 0.2 + 0 * t], -1)


@kt.function("t, q, v, gain -> tau")
def swinging(model, t, q, v, gain):
    return np.array([gain * kt.ops.sin(40.0 * t), 0.2])


TIMES = 1e-3 * np.arange(200)
FORMS = {
    "array": torque(TIMES),
    "function": functools.partial(swinging, gain=3.0),
    "callback": lambda t, q, v: torque(t),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_control_is_cut_off_and_counted(leg, integrator, form):
    q = np.array([0.3, -0.2])
    options = {**RUN, "integrator": integrator}
    with warned():
        run = kt.simulate(leg, q, 0 * q, **options, control=FORMS[form])
    allowed = np.clip(torque(TIMES), [-LIMIT, -9], [LIMIT, 9])
    same = kt.simulate(leg, q, 0 * q, **options, control=allowed)
    assert np.abs(run.q - same.q).max() < 1e-12
    assert not same.extra["saturated"].any()
    beyond = np.abs(torque(TIMES)) > [LIMIT, np.inf]
    assert np.array_equal(run.extra["saturated"][:-1], beyond.reshape(10, 20, 2).sum(1))
    assert np.abs(run.tau[:-1] - torque(TIMES)[::20]).max() < 1e-12  # as it was asked for
    free = kt.simulate(leg, q, 0 * q, **options, control=FORMS[form], limits=False)
    assert np.abs(free.q - run.q).max() > 1e-3
    assert "saturated" not in free.extra


def test_mujoco_cuts_off_the_same(leg):
    mujoco = pytest.importorskip("mujoco")
    twin = mujoco.MjModel.from_xml_string(FILE)
    data = mujoco.MjData(twin)
    data.qpos = [0.3, -0.2]
    for row in torque(TIMES):
        data.ctrl = row
        mujoco.mj_step(twin, data)
    with warned():
        run = kt.simulate(
            leg, np.array([0.3, -0.2]), np.zeros(2), **RUN, integrator="rk4", control=torque(TIMES)
        )
    assert np.abs(run.q[-1] - data.qpos).max() < 1e-10


def test_the_energy_audit_knows_what_acted(leg):
    with warned():
        run = kt.simulate(leg, np.zeros(2), np.zeros(2), duration=0.2, dt=1e-3, integrator="rk4",
                          control=np.array([3.0, 0.2]))  # fmt: skip
    work = np.abs(run.power).sum() * 1e-3
    assert np.abs(run.energy_error).max() < 1e-5 * work
    assert np.abs(run.joint_force[:, 0]).max() == LIMIT


def test_states_of_a_batch_are_cut_off_each_for_itself(leg, tmp_path):
    q = np.array([[0.3, -0.2], [0.1, 0.4], [0.0, 0.0]])
    with warned():
        run = kt.simulate(
            leg, q, 0 * q, **RUN, control=FORMS["array"] * np.array([1.0, 0.5, 1.2])[:, None, None]
        )
    assert (run.extra["saturated"].sum((1, 2)) > 0).tolist() == [True, False, True]
    again = kt.Trajectory.load(run.save(tmp_path / "run.npz"))
    assert np.array_equal(again.extra["saturated"], run.extra["saturated"])
    assert np.array_equal(again[0].joint_force, run[0].joint_force)
    with warned():
        plain = kt.simulate(leg, q[0], 0 * q[0], duration=0.04, dt=1e-3, record=20, target="eager",
                            control=FORMS["array"][:40])  # fmt: skip
    assert np.array_equal(plain.extra["saturated"][:2], run[0].extra["saturated"][:2])


def test_error_control_knows_the_limits(leg):
    with warned():
        run = kt.simulate(leg, np.zeros(2), np.zeros(2), **RUN, integrator="dopri5", control=FORMS["array"])
        fixed = kt.simulate(leg, np.zeros(2), np.zeros(2), **RUN, integrator="rk4", control=FORMS["array"])
    assert np.abs(run.q - fixed.q).max() < 1e-8
    assert np.array_equal(run.extra["saturated"][:-1, 0] > 0, np.abs(torque(TIMES[::20])[:, 0]) > LIMIT)


def test_nan_is_not_cut_off(leg):
    @kt.function("t, q, v -> tau")
    def broken(model, t, q, v):
        return 0.01 * kt.ops.log(0.05 - t) + 0.0 * v

    run = kt.simulate(leg, np.zeros(2), np.zeros(2), **RUN, control=broken)
    assert run.failed
    assert "the control gives tau" in run.failed[0].reason


def test_an_effort_limit_of_zero_is_none():
    """Programs that write files and know no limit write 0."""
    builder = kt.ModelBuilder("pendulum")
    rod = kt.Inertia(1.0, (0.0, 0.0, -0.5), np.diag([0.1, 0.1, 0.01]))
    builder.add_body("rod", "world", kt.Revolute((0, 1, 0)), inertia=rod, limits={"effort": 0.0})
    run = kt.simulate(builder.build(), np.zeros(1), np.zeros(1), duration=0.1, dt=1e-3, control=np.ones(1))
    assert run.q[-1] > 0
    assert "saturated" not in run.extra
