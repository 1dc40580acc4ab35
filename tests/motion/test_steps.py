"""One step in time: order, stability, and what it keeps."""

from __future__ import annotations

import shutil
import subprocess
from itertools import product

import numpy as np
import pytest
from tests.conftest import share
from tests.motion.robots import box, distance, floating_tree, state

import kinetree as kt
from kinetree.compiler.emit import python
from kinetree.compiler.passes.differentiate import jvp, vjp
from kinetree.errors import ArgumentError, KinetreeError, SimulationError
from kinetree.motion import INTEGRATORS
from kinetree.stages import sweeps
from kinetree.stages.job import Job
from kinetree.stages.target import TARGETS

ORDERS = {"discrete": 1, "rk4": 4, "variational": 2}


def after(model, q, v, tau, integrator, count, duration=0.2, **options):
    for _ in range(count):
        q, v = kt.step(model, q, v, tau, dt=duration / count, integrator=integrator, **options)
    return q, v


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_order_of_convergence(integrator):
    """SIM-2: on a floating tree with a ball joint."""
    model = floating_tree()
    q, v = state(model, 1, speed=2.0)
    tau = np.random.default_rng(2).normal(size=model.nv)
    exact = after(model, q, v, tau, "rk4", 2000)
    errors = [distance(model, after(model, q, v, tau, integrator, n), exact) for n in (20, 40, 80)]
    found = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(found - ORDERS[integrator]) < 0.1), (integrator, errors)


@pytest.mark.parametrize("integrator", share(INTEGRATORS, 2))
def test_external_wrenches_and_servos_converge_to_one_motion(integrator):
    """All integrators solve the same equations, also with wrenches, servos, damping and springs."""
    model = floating_tree().replace(damping={"leg": 0.3}, stiffness={"rod": 5.0})
    rng = np.random.default_rng(3)
    q, v = state(model, 3)
    given = {
        "f_ext": rng.normal(size=(model.nbodies, 6)),
        "kp": np.r_[np.zeros(6), rng.uniform(1, 2, model.nv - 6)],
        "kd": np.full(model.nv, 0.1),
        "setpoint": state(model, 4)[0],
    }
    exact = after(model, q, v, 0 * v, "rk4", 400, **given)
    errors = [distance(model, after(model, q, v, 0 * v, integrator, n, **given), exact) for n in (20, 40)]
    assert errors[1] < 0.6 * errors[0] < 0.4, (integrator, errors)


@pytest.mark.parametrize(("integrator", "name"), share(product(INTEGRATORS, ["arm7", "spacecraft"]), 2))
def test_compiled_equals_plain_python(integrator, name):
    model = getattr(kt.zoo, name)()
    q, v = state(model, 5, (3,))
    tau = np.random.default_rng(6).normal(size=(3, model.nv))
    run = kt.step(model, q, v, tau, dt=1e-3, integrator=integrator)
    plain = kt.step(model, q, v, tau, dt=1e-3, integrator=integrator, target="eager")
    assert distance(model, run, plain) < 1e-11
    alone = kt.step(model, q[1], v[1], tau[1], dt=1e-3, integrator=integrator)
    assert np.array_equal(run[0][1], alone[0])
    assert np.array_equal(run[1][1], alone[1])


@pytest.mark.parametrize("integrator", share(INTEGRATORS, 2))
def test_looped_programs_give_the_same_step(integrator):
    """A model so large that its programs keep their loops: they run inside the step."""
    model = kt.zoo.quadruped()
    q, v = state(model, 5)
    inputs = ("q", "v", "tau", "dt")
    options = kt.step.options | {"integrator": integrator, "ground": False}
    straight = TARGETS["cpu"].executable(Job(kt.step, model, inputs, options))
    before = sweeps.UNROLLED_OPERATIONS
    sweeps.UNROLLED_OPERATIONS = 0
    try:
        other = kt.Model(model.name + " looped", model.gravity, model.bodies, model.rotors, model.frames)
        looped = TARGETS["cpu"].executable(Job(kt.step, other, inputs, options))
    finally:
        sweeps.UNROLLED_OPERATIONS = before
    a, b = straight(q, v, 0 * v, 1e-3), looped(q, v, 0 * v, 1e-3)
    assert distance(model, a, b) < 1e-12


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_quaternions_stay_on_the_sphere(integrator):
    """SIM-2."""
    model = floating_tree()
    q, v = state(model, 7, speed=3.0)
    for _ in range(200):
        q, v = kt.step(model, q, v, 0 * v, dt=5e-3, integrator=integrator)
    assert abs(np.linalg.norm(q[:4]) - 1) < 1e-15 * 4
    assert abs(np.linalg.norm(q[7:11]) - 1) < 1e-15 * 4


def test_a_tumbling_box_never_gains_energy():
    """Fast and slow, heavy on one side, with and without gravity."""
    for gravity in ((0.0, 0.0, 0.0), (0.0, 0.0, -9.81)):
        model = box(gravity=gravity)
        q, v = state(model, 8, (64,), 8.0)
        for h in (1e-3, 2e-3, 5e-3):
            run = kt.simulate(model, q, v, duration=200 * h, dt=h)
            assert np.diff(run.energy, axis=-1).max() < 1e-12
            assert not run.failed


def test_the_centre_of_mass_of_a_tumbling_box_flies_straight():
    model = box()
    q, v = state(model, 9, (8,), 5.0)
    run = kt.simulate(model, q, v, duration=1.0, dt=2e-3)
    p = run.momentum[..., 3:]
    assert np.abs(p - p[:, :1]).max() < 1e-11 * np.abs(p).max()
    straight = kt.center_of_mass(model, q)[:, None] + run.t[:, None] * p[:, :1] / model.total_mass
    assert np.abs(kt.center_of_mass(model, run.q) - straight).max() < 1e-11


def test_stiff_servos_are_stable():
    """kp = 1e6 at 5 ms, with and without damping, from far away."""
    model = kt.zoo.arm7()
    q, v = state(model, 10, (16,))
    goal = 0.5 * q[::-1]
    for kd in (None, np.full(7, 1e3)):
        run = kt.simulate(
            model, q, v, duration=1.0, dt=5e-3, kp=np.full(7, 1e6), kd=kd, setpoint=goal, limits=False
        )
        assert np.abs(run.q[:, -1] - goal).max() < 1e-3  # gravity over kp
        assert np.abs(run.v[:, -1]).max() < 1e-9
        assert not run.failed


@pytest.mark.parametrize("h", [1e-3, 5e-3, 1e-2])
def test_limits_stop_a_joint(h):
    model = kt.zoo.pendulum().replace(limits={"hinge": (-0.5, 0.5)})
    run = kt.simulate(model, [0.4], [3.0], duration=1.0, dt=h)
    assert run.q.max() < 0.5 + 0.5 * h  # where it would fly to 0.5 + 3 h
    assert run.energy[-1] <= run.energy[0] + 1e-12
    held = model.replace(gravity=(9.81, 0.0, 0.0))  # pulls it against the limit
    run = kt.simulate(held, [0.4], [0.0], duration=2.0, dt=h)
    assert abs(run.q[-1, 0] - 0.5) < 1e-3
    assert abs(run.v[-1, 0]) < 1e-9
    free = kt.simulate(model, [0.4], [3.0], duration=1.0, dt=h, limits=False)
    assert free.q.max() > 0.6


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_stop_does_not_hold_a_joint_that_leaves_it(side):
    """Beyond its limit a joint is pushed back slowly; if it is faster by itself, it goes on as it was."""
    model = kt.zoo.pendulum().replace(limits={"hinge": (-0.5, 0.5)}, gravity=(0.0, 0.0, 0.0))
    for start, end in ((0.0, -1.0), (-0.5, -1.0), (-1.5, -1.5), (-5.0, -5.0)):
        run = kt.simulate(model, [side * 0.6], [side * start], duration=0.01, dt=1e-3)
        assert abs(run.v[-1, 0] - side * end) < 1e-2


def test_friction_holds_and_slows():
    model = kt.zoo.pendulum()
    stuck = model.replace(friction={"hinge": 6.0})  # more than gravity at 0.5 rad: 9.81 sin 0.5 = 4.7
    run = kt.simulate(stuck, [0.5], [0.0], duration=1.0, dt=2e-3)
    assert abs(run.q[-1, 0] - 0.5) < 2e-4
    slows = model.replace(friction={"hinge": 2.0}, gravity=(0.0, 0.0, 0.0))
    run = kt.simulate(slows, [0.0], [2.0], duration=1.5, dt=1e-3)
    assert np.all(np.diff(run.energy) <= 0)
    assert abs(run.q[-1, 0] - 1.0) < 5e-3  # v^2 I / (2 f), with I = 1
    assert run.v[-1, 0] < 1e-6


def test_variational_refuses_what_it_cannot_solve():
    model = kt.zoo.arm7()
    q, v = state(model, 11, speed=200.0)
    with pytest.raises(SimulationError, match=r"does not converge.*shorten dt"):
        kt.step(model, q, v, 0 * v, dt=0.1, integrator="variational")


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_step_differentiates(integrator):
    """The tangent of the program against differences."""
    model = kt.zoo.double_pendulum()
    rng = np.random.default_rng(12)
    q, v, tau = rng.normal(size=(3, 2))
    dq, dv, dtau = rng.normal(size=(3, 2))
    job = Job(kt.step, model, ("q", "v", "tau", "dt"), kt.step.options | {"integrator": integrator})
    tangent = jvp(job.lowered(), ("q", "v", "tau"))
    given = {"q": q, "v": v, "tau": tau, "dt": np.array([1e-2]), "d_q": dq, "d_v": dv, "d_tau": dtau}
    results, _ = python.run(tangent, *(given[a.name] for a in tangent.inputs))
    found = {a.name: x for a, x in zip(tangent.outputs, results, strict=True)}
    e, options = 1e-6, {"dt": 1e-2, "integrator": integrator}
    ends = [kt.step(model, q + s * dq, v + s * dv, tau + s * dtau, **options) for s in (e, -e)]
    for name, high, low in zip(("d_q_out", "d_v_out"), *ends, strict=True):
        assert np.abs(found[name] - (high - low) / (2 * e)).max() < 1e-7


def test_words_are_checked():
    model = kt.zoo.pendulum()
    with pytest.raises(KinetreeError, match="integrator must be one of 'discrete'"):
        kt.step(model, [0.0], [0.0], [0.0], dt=1e-3, integrator="euler")
    with pytest.raises(ArgumentError, match="'dt' is missing"):
        kt.step(model, [0.0], [0.0], [0.0])


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_a_step_in_c(tmp_path):
    """The self-test of the exported C compares with what the step gives here."""
    paths = kt.export_c([kt.step], kt.zoo.arm7(), tmp_path)
    sources = [str(path) for path in paths if path.suffix == ".c"]
    subprocess.run(["gcc", "-std=c99", "-O1", *sources, "-o", "selftest", "-lm"], cwd=tmp_path, check=True)
    found = subprocess.run([tmp_path / "selftest"], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout
    assert "step" in paths[0].read_text()


def test_a_step_has_a_reverse_derivative():
    """Straight steps have adjoints: u . (dy/dx) x both ways."""
    model = kt.zoo.double_pendulum()
    rng = np.random.default_rng(13)
    q, v, tau, dq, dv, dtau, bq, bv = rng.normal(size=(8, 2))
    h = np.array([1e-2])
    for integrator in ("discrete", "rk4"):
        job = Job(kt.step, model, ("q", "v", "tau", "dt"), kt.step.options | {"integrator": integrator})
        given = {"q": q, "v": v, "tau": tau, "dt": h, "d_q": dq, "d_v": dv, "d_tau": dtau}
        given |= {"b_q_out": bq, "b_v_out": bv}
        ahead, back = jvp(job.lowered(), ("q", "v", "tau")), vjp(job.lowered(), ("q", "v", "tau"))
        results = {}
        for program in (ahead, back):
            values, _ = python.run(program, *(given[a.name] for a in program.inputs))
            results |= {a.name: x for a, x in zip(program.outputs, values, strict=True)}
        forward = bq @ results["d_q_out"] + bv @ results["d_v_out"]
        reverse = dq @ results["b_q"] + dv @ results["b_v"] + dtau @ results["b_tau"]
        assert abs(forward - reverse) < 1e-12 * abs(forward) + 1e-13
