"""A controller gives the same by hand, in plain Python, in the time loop and as exported C."""

from __future__ import annotations

import pickle
import shutil
import subprocess

import numpy as np
import pytest
from tests.conftest import share
from tests.control.cases import controllers

import kinetree as kt
from kinetree.errors import ArgumentError, ShapeError

ALL = controllers()


def test_every_controller_is_here():
    base = kt.control.Controller
    kinds = {n for n, x in vars(kt.control).items() if isinstance(x, type) and issubclass(x, base)}
    assert kinds - {"Controller"} == set(ALL)


def given(controller, q, v):
    """What the law takes besides the state and its numbers."""
    remembered = controller.start(q, v)
    needs_torque = any(a.name == "tau" for a in controller.law.own_inputs)
    return remembered | ({"tau": np.full(v.shape, 0.3)} if needs_torque else {})


@pytest.mark.parametrize("name", share(ALL, 2))
def test_targets_agree(name):
    controller = ALL[name]
    model = controller.model
    q, v = model.random_state(1, 3)
    more = given(controller, q, v)
    compiled = controller(0.7, q, v, **more)
    values = {"t": 0.7, "q": q, "v": v} | controller.numbers | more
    names = [a.name for a in controller.law.own_inputs if a.name in values]
    for target in ("eager", "c"):
        other = controller.law(model, **{n: values[n] for n in names}, target=target)
        for a, b in zip(_parts(compiled), _parts(other), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9)


def _parts(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("name", ALL)
def test_the_loop_does_what_the_hand_does(name):
    controller = ALL[name]
    model = controller.model
    q, v = model.random_state(2)
    q, v = 0.3 * q, 0.3 * v
    law = [np.full(model.nv, 0.1), controller] if name == "MomentumObserver" else controller
    run = kt.simulate(model, q, v, duration=0.005, dt=1e-3, control=law, limits=False)
    memory = controller.start(q, v)
    for k in range(5):
        tau = {"tau": np.full(model.nv, 0.1)} if name == "MomentumObserver" else {}
        found = controller(1e-3 * k, q, v, **memory, **tau)
        results = dict(zip([a.name for a in controller.law.outputs], _parts(found), strict=True))
        memory = {n: results[n] for n in memory}
        applied = tau.get("tau", results.get("tau"))
        np.testing.assert_allclose(run.tau[k], applied, rtol=1e-9, atol=1e-12)
        q, v = kt.step(model, q, v, applied, dt=1e-3, limits=False)
        np.testing.assert_allclose(run.q[k + 1], q, rtol=1e-9, atol=1e-12)
        for n in set(results) - {"tau"}:
            np.testing.assert_allclose(run.extra[n][k], results[n], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_it_is_exported_as_c_that_passes_its_own_test(name, tmp_path):
    paths = ALL[name].export_c(tmp_path, prefix="law")
    assert {p.name for p in paths} >= {"law.h", "law.c"}
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    sources = [str(p) for p in paths if p.suffix == ".c"]
    built = tmp_path / "selftest"
    subprocess.run([compiler, "-std=c99", "-O1", *sources, "-o", str(built), "-lm"], check=True)
    assert subprocess.run([str(built)], capture_output=True).returncode == 0


def test_c_takes_the_time_and_goals_that_it_needs(tmp_path):
    two = kt.zoo.double_pendulum()
    hold = kt.control.ComputedTorque(two, np.zeros(2), kp=1.0, kd=1.0)
    plain = (hold.export_c(tmp_path, prefix="plain")[0]).read_text()
    more = (hold.export_c(tmp_path, prefix="more", optional=["goal_v", "goal_a"])[0]).read_text()
    timed = (ALL["ComputedTorque"].export_c(tmp_path, prefix="timed")[0]).read_text()
    assert "goal_q" in plain and "goal_v" not in plain and "*t," not in plain
    assert "goal_v" in more and "goal_a" in more
    assert "goal_q" not in timed and "input  t[1]" in timed


def test_it_runs_with_error_control():
    two = kt.zoo.double_pendulum()
    follow = ALL["ComputedTorque"]
    options = {"duration": 0.5, "dt": 0.05, "control": follow}
    exact = kt.simulate(two, np.zeros(2), np.zeros(2), integrator="dopri5", **options)
    near = kt.simulate(
        two, np.zeros(2), np.zeros(2), duration=0.5, dt=1e-4, record=500, control=follow, integrator="rk4"
    )
    np.testing.assert_allclose(near.q, exact.q, atol=1e-3)


def test_batches_of_gains_and_goals():
    robot = kt.zoo.double_pendulum()
    goals = np.array([[0.1, 0.2], [0.3, -0.2], [0.0, 0.5]])
    many = kt.control.PD(robot, goals, kp=50.0, kd=[10.0, 5.0])
    q, v = robot.random_state(3)
    together = many(0.0, q, v)
    assert together.shape == (3, 2)
    for goal, tau in zip(goals, together, strict=True):
        np.testing.assert_array_equal(kt.control.PD(robot, goal, kp=50.0, kd=[10.0, 5.0])(0.0, q, v), tau)
    run = kt.simulate(robot, np.zeros(2), np.zeros(2), duration=10.0, dt=2e-3, control=many, record=100)
    np.testing.assert_allclose(run.q[:, -1], goals, atol=1e-3)


def test_goals_can_be_given_by_hand():
    robot = kt.zoo.double_pendulum()
    hold = kt.control.ComputedTorque(robot, np.zeros(2), kp=1.0, kd=1.0)
    q, v, a = np.array([0.2, 0.1]), np.array([0.3, -0.4]), np.array([1.0, 2.0])
    tau = hold(0.0, q, v, goal_q=q, goal_v=v, goal_a=a)
    np.testing.assert_allclose(tau, kt.inverse_dynamics(robot, q, v, a) - kt.passive_force(robot, q, v))


def test_controllers_pickle_and_share_their_laws():
    two = kt.zoo.chain(2)
    task = kt.control.OperationalSpace(two, two.body_names[1], (0, 0, 0), kp=1, kd=1)
    again = pickle.loads(pickle.dumps(task))
    q, v = two.random_state(1)
    np.testing.assert_array_equal(again(0.0, q, v), task(0.0, q, v))
    assert again.law.options == task.law.options and again.law.options["point"]
    assert not again.law.sees_numbers
    other = kt.control.OperationalSpace(two, two.body_names[1], (1, 0, 0), kp=2, kd=2)
    assert other.law is task.law  # other gains and goals need no other machine code


ROBOT = kt.zoo.double_pendulum()


@kt.function("q -> q")
def no_reference(model, q):
    return q


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: kt.control.PD(3, 0.0, kp=1, kd=1), ArgumentError, "kinetree Model"),
        (lambda: kt.control.PD(ROBOT, np.zeros(3), kp=1, kd=1), ShapeError, "goal_q has shape"),
        (lambda: kt.control.PD(ROBOT, np.zeros(2), kp=np.nan, kd=1), ShapeError, "finite"),
        (lambda: kt.control.PD(ROBOT, np.zeros(2), kp="much", kd=1), ArgumentError, "non-numeric"),
        (lambda: kt.control.PD(ROBOT, lambda t: t, kp=1, kd=1), ArgumentError, "kt.function"),
        (lambda: kt.control.PD(ROBOT, no_reference, kp=1, kd=1), ArgumentError, "t -> q, v, a"),
        (lambda: ALL["PD"](0.0, np.zeros(2), np.zeros(2), gain=1), ArgumentError, "no input gain"),
        (lambda: kt.control.OperationalSpace(ROBOT, "link1", (1, 2), kp=1, kd=1), ShapeError, "4, 4"),
        (lambda: kt.control.LQR(ROBOT, np.zeros(3)), ShapeError, "q has shape"),
        (lambda: kt.control.LQR(ROBOT, np.zeros(2), R=0.0), ArgumentError, "positive definite"),
    ],
)
def test_what_makes_no_sense_is_said(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_a_controller_of_another_model_is_refused():
    other = ROBOT.replace(gravity=(0, 0, -1.6))
    with pytest.raises(ArgumentError, match="made for another model"):
        kt.simulate(other, np.zeros(2), np.zeros(2), duration=0.01, dt=1e-3, control=ALL["PD"])
