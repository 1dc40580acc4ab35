"""Derivatives of steps with contact: against complex steps through plain Python; backwards as forwards."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.scenes import box, gains, quadruped, standing

import kinetree as kt
from kinetree.compiler.passes.detach import backward
from kinetree.errors import ArgumentError
from kinetree.motion.steps import step
from kinetree.stages.job import Job
from kinetree.stages.splice import lowered

TINY = 1e-30


def trotting(servo: bool) -> tuple[kt.Model, np.ndarray, dict]:
    """A quadruped in touch with the ground, with stops and efforts that are reached, if it has a servo."""
    model = quadruped(stiffness=4e4)
    q = standing(model)
    q[6] -= 2e-3
    more = {"dt": 2e-3, "creep": 1e-2}
    if servo:
        limits = {"effort": 5.0, "lower": -3.0, "upper": 0.795}
        model = model.replace(limits={name: limits for name in model.joint_names[1:]})
        more |= {"setpoint": q, **gains(model, 50.0)}
    return model, q, more


@pytest.mark.parametrize("servo", [False, True])
def test_a_step_against_a_complex_step(servo):
    model, q, more = trotting(servo)
    rng = np.random.default_rng(3)
    for _ in range(3):
        v, tau, dv, dtau = rng.normal(size=(4, 18)) * [[0.3], [1.0], [1.0], [1.0]]
        given = (q.astype(complex), v + 1j * TINY * dv, tau + 1j * TINY * dtau)
        wanted = [x.imag / TINY for x in kt.step(model, *given, **more, contact_accuracy=0.0, target="eager")]
        along = {"d_v": dv, "d_tau": dtau, "contact_accuracy": 1e-12}
        *_, turned, slope = kt.jvp_of(kt.step, coordinates="ambient")(model, q, v, tau, **more, **along)
        assert abs(slope - wanted[1]).max() < 1e-9 * abs(wanted[1]).max()
        assert abs(turned - wanted[0]).max() < 1e-9 * abs(wanted[0]).max()


@pytest.mark.parametrize("servo", [pytest.param(False, marks=pytest.mark.long), True])
def test_backwards_is_forwards_transposed(servo):
    model, q, more = trotting(servo)
    rng = np.random.default_rng(4)
    v, tau, dq, dv, dtau, bq, bv = rng.normal(size=(7, 18)) * 0.3
    along = {"d_q": dq, "d_v": dv, "d_tau": dtau}
    *after, cq, cv = kt.jvp_of(kt.step)(model, q, v, tau, **more, **along)
    *same, gq, gv, gtau, _ = kt.vjp_of(kt.step)(model, q, v, tau, **more, b_q_out=bq, b_v_out=bv)
    assert all(np.array_equal(a, b) for a, b in zip(after[:2], same[:2], strict=True))
    forwards, backwards = cq @ bq + cv @ bv, gq @ dq + gv @ dv + gtau @ dtau
    size = abs(gq * dq).sum() + abs(gv * dv).sum() + abs(gtau * dtau).sum()
    assert abs(forwards - backwards) < 1e-12 * size


def test_the_way_back_leads_past_the_newton_steps():
    """One solve with the matrix of the last Newton step, whatever the number of inputs."""
    model, _, _ = trotting(False)
    present = ("q", "v", "tau", "dt", "contact_friction")
    job = Job(step, model, present, {name: step.options[name] for name in step.options})
    way = backward(lowered(job), ("q", "v", "tau", "contact_friction"))
    assert way is not None and way.adjoint.is_straight and not way.first.is_straight
    assert way.adjoint.ops["flops"] < 10 * kt.compile(kt.forward_dynamics, model).ops["flops"]


def test_what_loops_compute_has_no_way_past_them():
    @kt.function("x(3) -> y(3)")
    def powers(model, x):
        return kt.ops.repeat(5, lambda y: y * x, x)

    pendulum, x = kt.zoo.pendulum(), np.array([0.5, 1.0, 2.0])
    job = Job(powers, pendulum, ("x",), {})
    assert backward(lowered(job), ("x",)) is None
    gradient = kt.vjp_of(powers)(pendulum, x, b_y=np.ones(3))[1]
    np.testing.assert_allclose(gradient, 6 * x**5, rtol=1e-14)


def test_many_points_of_a_body_have_gradients_too():
    """They are a loop over the points: found column by column."""
    model = kt.zoo.solid(kt.Vertices(0.1 * np.random.default_rng(0).normal(size=(12, 3))), 2.0)
    q, v = model.neutral(), np.array([0.3, 0.1, -0.2, 0.1, 0.2, -0.5])
    q[6] = 0.08
    rng = np.random.default_rng(1)
    dv, bv = rng.normal(size=(2, 6))
    more = {"dt": 2e-3, "creep": 1e-2}
    slope = kt.jvp_of(kt.step)(model, q, v, np.zeros(6), **more, d_v=dv)[3]
    gradient = kt.vjp_of(kt.step)(model, q, v, np.zeros(6), **more, b_v_out=bv)[3]
    assert abs(slope @ bv - gradient @ dv) < 1e-11 * abs(gradient * dv).sum()


def test_a_linearised_step_feels_the_ground():
    """Against central differences; the ground brakes a box that is pushed, nothing does without it."""
    model = box(10.0, (0.2, 0.2, 0.02), stiffness=4e4, dissipation=1.0)
    q, v, none, h = model.neutral(), np.zeros(6), np.zeros(6), 2e-3
    q[6], v[3] = 0.019, 0.5
    A, B = kt.linearize(model, q, v, none, h, "discrete")

    def after(x):
        at, u = kt.step(model, model.integrate(q, x[:6]), v + x[6:12], x[12:], dt=h, contact_accuracy=1e-12)
        return np.concatenate([model.difference(middle, at), u])

    middle, d = kt.step(model, q, v, none, dt=h, contact_accuracy=1e-12)[0], 1e-7
    wanted = np.stack([(after(d * e) - after(-d * e)) / (2 * d) for e in np.eye(18)], 1)
    assert abs(np.hstack([A, B]) - wanted).max() < 1e-5 * abs(wanted).max()
    assert A[11, 11] < 0.95
    free = kt.linearize(model, q, v, none, h, "discrete", ground=False)[0]
    assert free[11, 11] == 1.0
    assert np.array_equal(A, kt.linearize(model, q, v, none, h, "discrete", ground=kt.Ground())[0])
    with pytest.raises(ArgumentError, match="give dt"):
        kt.linearize(model, q, v, none, ground=kt.Ground())


def test_the_derivative_of_a_rollout():
    """Where a box ends that slides, by its first speed: steps one after the other, forwards and back."""
    model = box(10.0, (0.2, 0.2, 0.02), stiffness=4e4, friction=0.3)
    q, v = model.neutral(), np.zeros(6)
    q[6], v[3] = 0.02 - 10 * 9.81 / 16e4, 1.0
    steps, more = 12, {"dt": 2e-3, "creep": 1e-3}
    x, u = q.astype(complex), v + 1j * TINY * np.eye(6)[3]
    states = [(q, v)]
    for _ in range(steps):
        x, u = kt.step(model, x, u, np.zeros(6), **more, contact_accuracy=0.0, target="eager")
        states.append(kt.step(model, *states[-1], np.zeros(6), **more, contact_accuracy=1e-12))
    wanted = x[4].imag / TINY
    bq, bv = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]), np.zeros(6)
    for at in reversed(states[:-1]):
        bq, bv = kt.vjp_of(kt.step)(
            model, *at, np.zeros(6), **more, contact_accuracy=1e-12, b_q_out=bq, b_v_out=bv
        )[2:4]
    assert abs(bv[3] - wanted) < 1e-6 * abs(wanted)
