"""Stops, efforts with limits and friction of joints as terms of the minimum, in rollouts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.contact.scenes import G, energy, gains, quadruped, standing
from tests.loops.mechanisms import four_bar

import kinetree as kt
from kinetree.algorithms.contact_joints import _felt
from kinetree.motion.joint_forces import LEAVING, STOP, Bounded
from kinetree.sweep.bounds import inertia_bounds


def lever(**limits: float) -> kt.Model:
    """A rod of 1 kg and 1 m on a hinge, level where its angle is 0."""
    builder = kt.ModelBuilder("lever")
    inertia = kt.Inertia(1.0, (0.5, 0.0, 0.0), np.diag([1e-3, 1 / 12, 1 / 12]))
    builder.add_body(
        "lever", "world", kt.Revolute((0, -1, 0)), inertia=inertia, joint_name="hinge", limits=limits
    )
    return builder.build()


def quiet(*args, **more) -> kt.Trajectory:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*effort limit.*")
        return kt.simulate(*args, **more)


@pytest.mark.parametrize("target", ["cpu", "eager"])
def test_a_servo_gives_no_more_than_its_effort_limit(target):
    weak = lever(effort=3.0)  # its weight needs 4.9 N m
    servo = {"kp": np.array([1e4]), "kd": np.array([100.0]), "setpoint": np.array([0.3])}
    more = {"duration": 0.1, "dt": 2e-3, "target": target}
    with pytest.warns(UserWarning, match="asked 'hinge' for more than its effort limit"):
        run = kt.simulate(weak, [0.0], [0.0], **more, **servo)
    fall = (3.0 - 0.5 * G * np.cos(run.q[:-1, 0])) / (1 / 3)
    np.testing.assert_allclose(np.diff(run.v[:, 0]) / 2e-3, fall, rtol=1e-9)
    assert (run.extra["saturated"][:-1] == 1).all() and (run.joint_force == 3.0).all()
    free = kt.simulate(weak, [0.0], [0.0], limits=False, **more, **servo)
    assert free.q[-1, 0] > 0.29
    helped = quiet(weak, [0.0], [0.0], control=np.array([10.0]), **more, **servo)
    assert np.array_equal(helped.q, run.q)  # a drive has one limit for all that is asked of it


def test_a_servo_at_its_limit_does_not_chatter():
    """Where law and limit meet the motion is smooth: with half the step it is the same to first order."""
    strong = lever(effort=6.0)
    servo = {"kp": np.array([1e5]), "kd": np.array([1e3]), "setpoint": np.array([0.05])}
    ends = []
    for dt in (4e-3, 2e-3, 1e-3):
        run = quiet(strong, [0.0], [0.0], duration=1.0, dt=dt, **servo)
        assert np.diff(run.extra["saturated"][:, 0]).clip(0).sum() <= 1  # it is given up once, for good
        ends.append(run.q[-1, 0])
    assert max(abs(np.array(ends) - 0.05)) < 1e-4
    final = run.joint_force[-1, 0] - 0.5 * G * np.cos(run.q[-1, 0])
    assert abs(final) < 1e-3


def test_a_servo_within_constraints_has_its_effort_limit_too():
    model = kt.zoo.double_pendulum()
    first, second = model.joint_names
    model = model.replace(limits={first: {"effort": 0.5}})
    held = [kt.JointConstraint(second)]
    q = np.array([0.3, 0.0])
    servo = {"kp": np.array([1e4, 0.0]), "kd": np.array([100.0, 0.0]), "setpoint": np.array([1.5, 0.0])}
    run = quiet(model, q, 0 * q, duration=0.1, dt=1e-3, constraints=held, **servo)
    same = kt.simulate(model, q, 0 * q, duration=0.1, dt=1e-3, constraints=held, control=np.array([0.5, 0.0]))
    assert abs(run.q - same.q).max() < 1e-12 and run.extra["saturated"][:-1, 0].all()


@pytest.mark.parametrize("integrator", ["rk4", "variational", "dopri5"])
def test_other_integrators_know_the_limit_of_a_servo(integrator):
    weak = lever(effort=3.0)
    servo = {"kp": np.array([100.0]), "kd": np.array([1.0]), "setpoint": np.array([0.5])}
    run = quiet(weak, [0.0], [0.0], duration=0.1, dt=1e-3, integrator=integrator, **servo)
    same = kt.simulate(
        weak, [0.0], [0.0], duration=0.1, dt=1e-3, integrator=integrator, control=np.array([3.0])
    )
    assert abs(run.q - same.q).max() < 1e-9


def test_a_stop_is_two_springs_that_push():
    """What is beyond the bounds of a line, as one law and as two."""
    for u in np.linspace(-2, 2, 41):
        force, slope = _felt(u, 0.1, 3.0, -2.0, 1.5, True)
        above, falls = _felt(u, 0.1 + 2.0, 3.0, None, 0.0, False)
        below, drops = _felt(u, 0.1 - 1.5, 3.0, 0.0, None, False)
        assert abs(force - above - below) < 1e-15 and slope == falls + drops
        part = Bounded(0, 0.1, 3.0, -2.0, 1.5, True)
        offset, fall = part.line(u)
        assert abs(offset - fall * u - force) < 1e-12 or (force == 0 and offset == 0)


def test_a_stop_only_pushes():
    """A joint that a strong force pulls off its stop leaves at once."""
    model = quadruped(stiffness=4e4).replace(limits={"front_left_thigh": (-1.0, 0.8)})
    q, place = standing(model), model.coordinate_index("front_left_thigh").start
    q[model.position_index("front_left_thigh")] = 0.8
    q[6] += 1.0
    v = np.zeros(18)
    v[place] = 1.0  # against the stop
    pull = np.zeros(18)
    pull[place] = -60.0
    stopped = kt.step(model, q, v, pull, dt=1e-3)[1][place]
    free = kt.step(model, q, v, pull, dt=1e-3, limits=False)[1][place]
    assert free < -0.1 and abs(stopped - free) < 1e-9
    held = kt.step(model, q, v, 0 * pull, dt=1e-3)[1][place]
    assert 0 < held < 0.15  # of 1 rad/s into the stop


def test_beyond_a_stop_nothing_is_thrown():
    model = quadruped(stiffness=4e4).replace(limits={"front_left_thigh": (-1.0, 0.5)})
    q = standing(model)  # the joint is 0.3 rad beyond
    run = kt.simulate(model, q, np.zeros(18), duration=1.0, dt=2e-3, setpoint=q, **gains(model))
    assert not run.failed
    assert abs(run.v).max() < 3.0
    assert run.q[-1, model.position_index("front_left_thigh")].max() < 0.51


def test_a_standing_robot_at_its_effort_limits_sinks_and_stands_when_it_is_strong_enough():
    plain = quadruped(stiffness=4e4)
    q = standing(plain)
    ends = []
    for effort in (2.0, 40.0):
        model = plain.replace(limits={n: {"effort": effort} for n in plain.joint_names[1:]})
        run = quiet(model, q, np.zeros(18), duration=1.0, dt=2e-3, setpoint=q, record=50, **gains(model))
        assert not run.failed
        assert abs(run.joint_force[..., 6:]).max() <= effort * (1 + 1e-12)
        ends.append(run.q[-1, 6])
    assert ends[0] < 0.6 * q[6] < 0.9 * q[6] < ends[1]


def test_stops_give_nothing():
    """With the energy that is in stops and ground, that of a passive robot never grows."""
    plain = quadruped(True, stiffness=4e4, dissipation=0.1)
    names = plain.joint_names[1:]
    model = plain.replace(damping=dict.fromkeys(names, 0.1), limits=dict.fromkeys(names, (-1.7, 0.9)))
    rng, h = np.random.default_rng(2), 2e-3
    q = np.repeat(standing(model)[None], 16, 0)
    q[:, 6] += 0.3
    run = kt.simulate(model, q, rng.normal(size=(16, 18)), duration=1.0, dt=h, contact_accuracy=1e-8)
    total = energy(model, run)
    stiffness = STOP * inertia_bounds(model)[6:] / h**2
    for beyond in (run.q[..., 7:] - 0.9, -1.7 - run.q[..., 7:]):
        beyond = np.maximum(0.0, beyond)
        springy = np.minimum(beyond, h * LEAVING)
        total = total + (stiffness * springy * (beyond - springy / 2)).sum(-1)
    assert (run.q[..., 7:].max(-1) > 0.899).any() and not run.failed
    assert np.diff(total, axis=-1).max() < 1e-9


def test_dependent_joints_of_loops_have_stops():
    model = four_bar()
    tree = model.spanning_tree
    rng = np.random.default_rng(3)
    q, _ = model.random_state(rng)
    free = kt.simulate(model, q, np.full(model.nv, 2.0), duration=0.5, dt=1e-3)
    moved = np.ptp(free.q, 0)
    k = int(np.argmax(moved))
    name = tree.joint_names[k]
    middle = 0.5 * (free.q[:, k].min() + free.q[:, k].max())
    low, high = (-10.0, middle) if q[k] < middle else (middle, 10.0)
    held = model.replace(limits={name: (low, high)})
    run = kt.simulate(held, q, np.full(model.nv, 2.0), duration=0.5, dt=1e-3)
    assert run.q[:, k].max() < high + 2e-3 and run.q[:, k].min() > low - 2e-3


def test_gradients_of_a_step_with_bounds():
    plain = quadruped(stiffness=4e4)
    model = plain.replace(
        limits={n: {"effort": 5.0, "lower": -3.0, "upper": 0.795} for n in plain.joint_names[1:]}
    )
    q = standing(model)
    q[6] -= 2e-3
    rng = np.random.default_rng(4)
    v, tau, dq, dv = 0.3 * rng.normal(size=18), np.zeros(18), rng.normal(size=18), rng.normal(size=18)
    more = {"dt": 2e-3, "creep": 1e-2, "contact_accuracy": 1e-10, "setpoint": q, **gains(model, 50.0)}
    *_, slope = kt.jvp_of(kt.step)(model, q, v, tau, **more, d_q=dq, d_v=dv)
    e = 1e-6
    ahead, behind = (
        kt.step(model, model.integrate(q, s * e * dq), v + s * e * dv, tau, **more)[1] for s in (1, -1)
    )
    wanted = (ahead - behind) / (2 * e)
    assert abs(slope - wanted).max() < 1e-6 * abs(wanted).max()
