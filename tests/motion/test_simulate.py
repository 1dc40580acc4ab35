"""`kt.simulate`: what acts on a run, what it records, and what goes wrong in it."""

from __future__ import annotations

import functools
import signal

import numpy as np
import pytest
from tests.conftest import share
from tests.motion.robots import floating_tree, state

import kinetree as kt
from kinetree.compiler.runtime import threads
from kinetree.errors import ArgumentError, ShapeError, SimulationError
from kinetree.motion import INTEGRATORS

SHORT = {"duration": 0.2, "dt": 2e-3}


@kt.function("t, q, v, gain, goal(nq) -> tau")
def servo(model, t, q, v, gain, goal):
    return gain * (goal - q) - v + kt.ops.sin(5.0 * t)


@kt.function("t, q, v, count, sum(nv) -> tau, count, sum(nv)")
def remembering(model, t, q, v, count, sum):
    return -0.1 * sum, count + 1.0, sum + v


@kt.function("q -> f_ext")
def lift(model, q):
    up = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 3.0])
    return kt.external_wrenches(model, q, {model.body_names[-1]: up})


@kt.function("q, v -> setpoint(nq), kp(nv), kd(nv)")
def hold(model, q, v):
    return np.full(model.nq, 0.3), np.full(model.nv, 50.0), np.full(model.nv, 5.0)


def both(model, **options):
    q, v = state(model, 1)
    return kt.simulate(model, q, v, **SHORT, **options)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_all_kinds_of_control_are_one(integrator):
    model = kt.zoo.double_pendulum()
    goal = np.array([0.3, -0.2])
    traced = both(model, integrator=integrator, control=functools.partial(servo, gain=2.0, goal=goal))

    def python(t, q, v):
        return 2.0 * (goal - q) - v + np.sin(5.0 * t)

    called = both(model, integrator=integrator, control=python)
    given = both(model, integrator=integrator, control=traced.tau[:-1])
    for other in (called, given):
        assert np.abs(other.q - traced.q).max() < 1e-13
        assert np.abs(other.tau - traced.tau).max() < 1e-12
    assert np.abs(traced.tau[3] - python(traced.t[3], traced.q[3], traced.v[3])).max() < 1e-14


def test_steps_by_hand_are_the_run():
    model = floating_tree()
    q, v = state(model, 2)
    tau = np.random.default_rng(3).normal(size=(100, model.nv))
    run = kt.simulate(model, q, v, **SHORT, control=tau)
    for k in range(100):
        assert np.array_equal(run.q[k], q)
        q, v = kt.step(model, q, v, tau[k], dt=2e-3)
    assert np.array_equal(run.q[-1], q)
    assert np.array_equal(run.v[-1], v)


def test_every_kth_step_is_recorded():
    model = kt.zoo.double_pendulum()
    control = functools.partial(servo, gain=2.0, goal=np.zeros(2))
    full = both(model, control=control)
    for record in (4, 25, 100):
        some = both(model, control=control, record=record)
        assert np.array_equal(some.t, full.t[::record])
        assert np.array_equal(some.q, full.q[::record])
        assert np.array_equal(some.tau[:-1], full.tau[:-1:record])
        called = both(model, control=lambda t, q, v: -v, record=record)
        assert np.array_equal(called.q, both(model, control=lambda t, q, v: -v).q[::record])


def test_long_records_are_made_in_pieces():
    model = kt.zoo.pendulum()
    fractions = []
    long = kt.simulate(
        model, [1.0], [0.0], duration=6.0, dt=1e-3, record=3000, progress=fractions.append, integrator="rk4"
    )
    full = kt.simulate(model, [1.0], [0.0], duration=6.0, dt=1e-3, integrator="rk4")
    assert np.array_equal(long.q, full.q[::3000])
    assert len(fractions) == 6


def test_controls_remember():
    model = kt.zoo.double_pendulum()
    control = functools.partial(remembering, count=0.0, sum=np.zeros(2))
    run = both(model, control=control)
    assert np.array_equal(run.extra["count"][:-1], np.arange(1, 101))
    assert np.abs(run.extra["sum"][:-1] - np.cumsum(run.v[:-1], 0)).max() < 1e-12
    assert np.abs(run.tau[1:-1] + 0.1 * run.extra["sum"][:-2]).max() < 1e-14
    batch = kt.simulate(model, *state(model, 1, (3,)), **SHORT, control=control, record=5)
    assert np.array_equal(batch.extra["count"][:, :-1], np.tile(np.arange(1, 101, 5.0), (3, 1)))


def test_wrenches_servos_and_numbers_by_function_or_array():
    model = kt.zoo.double_pendulum()
    by_function = both(model, f_ext=lift, control=hold)
    assert by_function.f_ext.shape == (101, 2, 6)
    by_array = both(model, f_ext=by_function.f_ext[:-1], kp=[50.0, 50.0], kd=[5.0, 5.0], setpoint=[0.3, 0.3])
    assert np.abs(by_array.q - by_function.q).max() < 1e-13
    called = both(model, f_ext=lambda t, q, v: lift(model, q), control=hold)
    assert np.abs(called.q - by_function.q).max() < 1e-13
    moving = np.linspace([0.0, 0.0], [0.5, 0.5], 100)
    run = both(model, kp=[1e4, 1e4], kd=[1e2, 1e2], setpoint=moving)
    assert np.abs(run.q[-1] - 0.5).max() < 0.05


def test_goals_for_states_and_for_steps_are_told_apart():
    model = kt.zoo.double_pendulum()
    q, v = state(model, 3, (4,))
    goals = np.random.default_rng(4).normal(size=(4, 2))
    gains = {"dt": 2e-3, "kp": [50.0, 50.0], "kd": [5.0, 5.0]}
    longer = kt.simulate(model, q, v, duration=12e-3, setpoint=goals, **gains)  # 6 steps: for each state
    for_states = kt.simulate(model, q, v, duration=8e-3, setpoint=goals[:, None], **gains)
    assert for_states.batch == (4,) and np.array_equal(for_states.q, longer.q[:, :5])
    assert np.array_equal(for_states.extra["setpoint"], np.repeat(goals[:, None], 5, 1))
    for_steps = kt.simulate(model, q, v, duration=8e-3, setpoint=goals[None], **gains)
    one_by_one = [kt.simulate(model, *x, duration=8e-3, setpoint=goals, **gains) for x in zip(q, v)]
    assert np.array_equal(for_steps.q, [run.q for run in one_by_one])
    for numbers in ({}, {"parameters": np.stack([model.parameters] * 4)}):  # four states, given or implied
        starts = (q[0], v[0]) if numbers else (q, v)
        with pytest.raises(ArgumentError, match=r"\(4, 2\).*shape \(4, 1, 2\) .* each state, or \(1, 4, 2\)"):
            kt.simulate(model, *starts, duration=8e-3, setpoint=goals, **gains, **numbers)
    same = kt.simulate(model, q, v, duration=8e-3, setpoint=np.tile(goals[0], (4, 1)), **gains)
    assert np.array_equal(same.q, kt.simulate(model, q, v, duration=8e-3, setpoint=goals[0], **gains).q)
    square = {"setpoint": goals.reshape(2, 2, 2), **gains}
    grid = kt.simulate(model, q.reshape(2, 2, 2), v.reshape(2, 2, 2), duration=8e-3, **square)
    assert np.array_equal(grid.q.reshape(for_states.q.shape), for_states.q)
    with pytest.raises(ArgumentError, match="setpoint has shape"):  # two steps
        kt.simulate(model, q.reshape(2, 2, 2), v.reshape(2, 2, 2), duration=4e-3, **square)


def test_each_state_has_its_own_numbers():
    model = kt.zoo.double_pendulum()
    rng = np.random.default_rng(5)
    q, v = state(model, 5, (4,))
    parameters = model.parameters * rng.uniform(0.8, 1.2, (4, 1, 1))
    gravity = rng.normal(size=(4, 3))
    gain = rng.uniform(0, 2, 4)
    control = functools.partial(servo, gain=gain, goal=np.zeros(2))
    run = kt.simulate(model, q, v, **SHORT, parameters=parameters, gravity=gravity, control=control)
    for k in range(4):
        own = model.with_parameters(parameters[k]).replace(gravity=tuple(gravity[k]))
        alone = kt.simulate(
            own, q[k], v[k], **SHORT, control=functools.partial(servo, gain=gain[k], goal=np.zeros(2))
        )
        assert np.abs(run.q[k] - alone.q).max() < 1e-12
        assert np.abs(run.energy[k] - alone.energy).max() < 1e-11


@pytest.mark.parametrize("integrator", share(INTEGRATORS, 2))
def test_bits_depend_on_the_state_alone(integrator):
    """Not on the size of the batch, the place in it, its axes, or the number of threads."""
    model = kt.zoo.spacecraft()
    q, v = state(model, 6, (40,))
    options = {"duration": 0.05, "dt": 1e-3, "integrator": integrator}
    control = functools.partial(remembering, count=0.0, sum=np.zeros(model.nv))
    for given in ({}, {"control": control}):
        run = kt.simulate(model, q, v, **options, **given)
        threads.set_threads(1)
        try:
            one_thread = kt.simulate(model, q, v, **options, **given)
        finally:
            threads.set_threads(None)
        alone = kt.simulate(model, q[17], v[17], **options, **given)
        grid = kt.simulate(model, q.reshape(5, 8, -1), v.reshape(5, 8, -1), **options, **given)
        assert np.array_equal(run.q, one_thread.q)
        assert np.array_equal(run.v[17], alone.v)
        assert np.array_equal(run.v, grid.v.reshape(run.v.shape))


def test_plain_python_gives_the_same_run():
    model = kt.zoo.double_pendulum()
    control = functools.partial(remembering, count=0.0, sum=np.zeros(2))
    fast = both(model, control=control, record=10)
    slow = both(model, control=control, record=10, target="eager")
    assert np.abs(fast.q - slow.q).max() < 1e-13
    assert np.abs(fast.extra["sum"] - slow.extra["sum"]).max() < 1e-12


def test_float32_stays_float32():
    model = kt.zoo.double_pendulum()
    q, v = (x.astype(np.float32) for x in state(model, 1))
    run = kt.simulate(model, q, v, **SHORT)
    assert run.q.dtype == np.float32
    assert np.abs(run.q - both(model).q).max() < 1e-4


# -- events


def falling(t, q, v):
    return q[0]


@kt.function("q -> g")
def height(model, q):
    return q[0]


@pytest.mark.parametrize("integrator", [*INTEGRATORS, "dopri5", "DOP853"])
def test_events_are_found(integrator):
    """A pendulum released at an angle passes the vertical after a quarter of its period."""
    special = pytest.importorskip("scipy.special")
    model = kt.zoo.pendulum()
    quarter = special.ellipk(np.sin(0.5) ** 2) / np.sqrt(9.81)
    run = kt.simulate(
        model, [1.0], [0.0], duration=2.0, dt=1e-3, integrator=integrator, events=[falling, height],
        tolerance=1e-11,
    )  # fmt: skip
    times = [event.time for event in run.events if event.number == 0]
    assert len(run.events) == 2 * len(times) > 2
    tolerance = {"discrete": 2e-3, "variational": 1e-6}.get(integrator, 1e-9)
    assert np.abs(np.array(times) - quarter * np.array([1, 3, 5][: len(times)])).max() < tolerance
    for event in run.events:
        assert abs(event.q[0]) < 1e-12


def test_directions_and_ends():
    model = kt.zoo.pendulum()

    def rising(t, q, v):
        return q[0]

    rising.direction, rising.terminal = 1, True
    q = np.array([[1.0], [0.5], [-1.0]])
    run = kt.simulate(model, q, 0 * q, duration=3.0, dt=1e-3, events=rising, integrator="rk4", record=10)
    assert [event.state for event in run.events] == [(2,), (1,), (0,)]
    assert all(event.v[0] > 0 and event.terminal for event in run.events)
    for event in run.events:
        after = np.isnan(run.q[event.state]).all(-1)
        assert np.array_equal(after, run.t > event.time)
    single = kt.simulate(model, q[1], [0.0], duration=3.0, dt=1e-3, events=rising, integrator="rk4")
    assert single.t[-1] <= single.events[0].time < single.t[-1] + 1e-3
    assert np.isfinite(single.q).all()


# -- what goes wrong


def test_a_state_that_diverges_stops_alone():
    model = kt.zoo.arm7()
    q, v = state(model, 7, (6,))
    v[3] *= 1e5
    run = kt.simulate(model, q, v, duration=0.1, dt=1e-3, integrator="rk4", limits=False)
    (failure,) = run.failed
    assert failure.state == (3,)
    assert failure.joint in model.joint_names
    assert "diverges" in failure.reason
    row = round(failure.time / 1e-3)
    assert np.array_equal(run.q[3, row], failure.q)
    assert np.isfinite(run.q[3, : row + 1]).all()
    assert np.isnan(run.q[3, row + 1 :]).all()
    rest = np.delete(q, 3, 0), np.delete(v, 3, 0)
    others = kt.simulate(model, *rest, duration=0.1, dt=1e-3, integrator="rk4", limits=False)
    assert np.array_equal(np.delete(run.q, 3, 0), others.q)
    assert "1 failed" in repr(run)


@pytest.mark.filterwarnings("ignore:simulate. .* (ground|limits)")
@pytest.mark.parametrize("integrator", ["discrete", "rk4"])
def test_speeds_that_leave_no_digits_are_not_a_lack_of_inertia(integrator):
    model = kt.zoo.quadruped()
    v = np.full(model.nv, 1e6)
    run = kt.simulate(model, model.neutral(), v, duration=0.01, dt=1e-3, integrator=integrator)
    assert run.failed[0].reason.startswith("the motion diverges: joint ")


def test_a_lack_of_inertia_is_named_at_any_speed():
    """A point mass at the tip of a stretched arm resists no motion along the arm."""
    builder = kt.ModelBuilder("light").add_body("a", None, kt.Revolute((0, 0, 1)))
    builder.add_body("b", "a", kt.Revolute((0, 0, 1)), kt.Pose(p=(1, 0, 0)), kt.Inertia(1.0, (1, 0, 0)))
    model = builder.build()
    for speed in (0.0, 1.0):
        run = kt.simulate(model, [0.0, 0.0], [speed, 0.0], duration=0.01, dt=1e-3)
        assert "'a' of model 'light' has no inertia along its motion" in run.failed[0].reason


def test_a_step_that_cannot_be_solved_is_a_failure():
    model = kt.zoo.arm7()
    q, v = state(model, 8, (3,))
    v[1] *= 3e3
    run = kt.simulate(model, q, v, duration=0.1, dt=0.01, integrator="variational", limits=False)
    (failure,) = run.failed
    assert failure.state == (1,)
    assert failure.time == 0.0
    assert "does not converge" in failure.reason


def test_a_control_that_raises():
    model = kt.zoo.double_pendulum()
    q, v = state(model, 1)

    def control(t, q, v):
        if t > 0.05:
            raise ZeroDivisionError("oh")
        return -v

    for integrator in ("discrete", "dopri5"):
        with pytest.raises(SimulationError, match=r"raised ZeroDivisionError at t = 0\.05") as caught:
            kt.simulate(model, q, v, **SHORT, control=control, integrator=integrator)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        kept = caught.value.trajectory
        assert np.isfinite(kept.q).all()
        if integrator == "discrete":
            assert len(kept.t) == 27
            fine = kt.simulate(model, q, v, **SHORT, control=lambda t, q, v: -v)
            assert np.array_equal(kept.q, fine.q[:27])


def test_a_control_cannot_write_to_the_records():
    def greedy(t, q, v):
        q[...] = 0.0
        return -v

    with pytest.raises(SimulationError, match=r"control raised ValueError.*read-only"):
        both(kt.zoo.double_pendulum(), control=greedy)


def test_states_that_have_stopped_are_not_asked():
    model = kt.zoo.arm7()
    q, v = state(model, 7, (3,))
    v[1] *= 1e5
    seen = []

    def watch(t, q, v):
        seen.append(np.isfinite(q).all())
        return 1.0

    run = kt.simulate(model, q, v, duration=0.2, dt=1e-3, integrator="rk4", limits=False, events=watch)
    assert len(run.failed) == 1
    assert all(seen)


def test_nan_in_a_control():
    model = kt.zoo.double_pendulum()
    q, v = state(model, 1, (3,))
    bad = np.zeros((100, 2))
    bad[7, 1] = np.nan
    with pytest.raises(ShapeError, match=r"control is nan at \(7, 1\)"):
        kt.simulate(model, q, v, **SHORT, control=bad)
    with pytest.raises(SimulationError, match=r"gave NaN or infinity at t = 0\.05.* state \(0,\)") as caught:
        kt.simulate(model, q, v, **SHORT, control=lambda t, q, v: v * (np.nan if t > 0.0501 else -1))
    assert caught.value.trajectory.t[-1] == pytest.approx(0.052)

    @kt.function("t, q, v -> tau")
    def broken(model, t, q, v):
        return kt.ops.log(0.1 - t) * v

    run = kt.simulate(model, q, v, **SHORT, control=broken)
    assert {f.state for f in run.failed} == {(0,), (1,), (2,)}
    assert all("the control gives tau = " in f.reason for f in run.failed)


def test_an_event_that_raises():
    model = kt.zoo.double_pendulum()
    with pytest.raises(SimulationError, match="event function raised KeyError") as caught:
        both(model, events=[lambda t, q, v: {}["no"]])
    assert caught.value.trajectory.model is model


@pytest.fixture
def interruptible():
    """Ctrl-C raises an error, also where tests run in the background and it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_keeps_what_is_done(interruptible):
    model = kt.zoo.double_pendulum()
    q, v = state(model, 1)

    def interrupt(fraction):
        if fraction > 0.3:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(UserWarning, match=r"stopped by Ctrl-C after [34]\."):
        run = kt.simulate(model, q, v, duration=10.0, dt=1e-3, progress=interrupt)
    assert run.interrupted
    assert 3.0 < run.t[-1] < 5.0
    assert np.array_equal(run.q, kt.simulate(model, q, v, duration=10.0, dt=1e-3).q[: len(run.t)])


def test_progress_is_silent_unless_wanted(capfd, monkeypatch):
    from kinetree.motion import progress

    model = kt.zoo.double_pendulum()
    both(model)
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "PERIOD", 0.0)
    both(model)
    assert capfd.readouterr() == ("", "")
    both(model, progress=True)
    assert "steps/s" in capfd.readouterr().err
    fractions = []
    both(model, progress=fractions.append)
    assert fractions[-1] == 1.0


def test_limits_are_missed_aloud():
    model = kt.zoo.pendulum().replace(limits={"hinge": (-0.5, 0.5)})
    with pytest.warns(UserWarning, match="'hinge' went beyond the limits: rk4 has no stops"):
        kt.simulate(model, [0.4], [3.0], duration=0.5, dt=1e-3, integrator="rk4")


@kt.function("q, v, most, home(nq) -> over, q_start(nq), v_start(nv), tau")
def put_back(model, q, v, most, home):
    return kt.ops.where(kt.ops.less(most, q[0]), 1.0, 0.0), home, 0.5 * v, -0.1 * v


@pytest.mark.parametrize("target", ["cpu", "eager"])
def test_states_start_again(target):
    """The step is made from where a control puts a state; what the control gave was for where it was."""
    model = kt.zoo.double_pendulum()
    q, v = model.random_state(1, 4)
    q[:, 0], v[:, 0] = (0.4, 0.1, -3.0, 0.0), (2.0, 9.0, 0.0, 1.0)
    law, put = functools.partial(put_back, most=0.5, home=np.array([0.1, -0.2])), np.zeros(4, int)
    run = kt.simulate(model, q, v, control=law, target=target, record=2, duration=0.08, dt=2e-3)
    for k in range(40):
        if k % 2 == 0:
            assert np.allclose(run.q[:, k // 2], q, atol=1e-12)
            assert np.allclose(run.v[:, k // 2], v, atol=1e-12)
            assert np.array_equal(run.extra["over"][:, k // 2], q[:, 0] > 0.5)
        tau, over = -0.1 * v, q[:, :1] > 0.5
        q, v = np.where(over, [0.1, -0.2], q), np.where(over, 0.5 * v, v)
        q, v = kt.step(model, q, v, tau, dt=2e-3)
        put += over[:, 0]
    assert (put > 0).tolist() == [True, True, False, False]


@kt.function("q -> over")
def half_put_back(model, q):
    return q[0]


RESTARTING = functools.partial(put_back, most=0.5, home=np.zeros(2))
BAD = [
    ({"dt": 0.0}, "dt must be a positive number"),
    ({"duration": 0.0305}, "not a whole number of steps"),
    ({"record": 3}, "record must divide"),
    ({"record": 0}, "positive whole number"),
    ({"integrator": "euler"}, "unknown integrator 'euler'; choose from discrete"),
    ({"target": "cuda0"}, "unknown target"),
    ({"control": np.zeros((7, 2))}, r"control has shape \(7, 2\), but \(2\) or \(..., 100, 2\)"),
    ({"control": "strong"}, "control is a str: give numbers"),
    ({"control": kt.kinetic_energy}, "which gives .*: one of its results must be tau"),
    ({"control": servo}, r"also takes 'gain': give it as functools.partial\(servo"),
    ({"control": functools.partial(servo, gain=1.0, goal=0.0)}, r"goal of servo has shape \(\)"),
    ({"kp": lambda t, q, v: 1.0}, "kp cannot be a Python function"),
    ({"control": half_put_back}, r"gives over: a state starts again with all of over, q_start\(nq\)"),
    ({"control": RESTARTING, "integrator": "dopri5"}, "neither events nor error control"),
    ({"control": RESTARTING, "events": [lambda t, q, v: q[0]]}, "neither events nor error control"),
    ({"events": [3]}, "an event must be a function"),
    ({"parameters": np.zeros((3, 10))}, "parameters has shape"),
    ({"integrator": "dopri5", "reset_momentum": np.zeros(6)}, "no reset of the momentum"),
    ({"integrator": "dopri5", "tolerance": -1}, "tolerance of dopri5 must be a positive number, got -1"),
    ({"integrator": "dopri5", "tolerance": 0.0}, "tolerance of dopri5 must be a positive number"),
    ({"integrator": "dopri5", "tolerance": np.nan}, "tolerance of dopri5 must be a positive number"),
    ({"integrator": "RK45", "tolerance": np.inf}, "tolerance of RK45 must be a positive number"),
]


@pytest.mark.parametrize("options, message", BAD)
def test_bad_arguments(options, message):
    model = kt.zoo.double_pendulum()
    with pytest.raises((ArgumentError, ShapeError), match=message):
        kt.simulate(model, np.zeros(2), np.zeros(2), **(SHORT | options))


def test_bad_states():
    model = kt.zoo.double_pendulum()
    with pytest.raises(ShapeError, match=r"q0 has shape \(3,\).*needs \(..., 2\)"):
        kt.simulate(model, np.zeros(3), np.zeros(2), **SHORT)
    for kind in (complex, bool, object, str):
        said = rf"q0 holds {np.dtype(kind).name}\d* values, but real numbers"
        with pytest.raises(ShapeError, match=said if kind is not str else "q0 holds <U"):
            kt.simulate(model, np.zeros((4, 2)).astype(kind), np.zeros(2), **SHORT)
    with pytest.raises(ShapeError, match="v0 holds NaN"):
        kt.simulate(model, np.zeros(2), [0.0, np.nan], **SHORT)
    with pytest.raises(ArgumentError, match="must be a kinetree Model"):
        kt.simulate("robot", [0], [0], **SHORT)
    with pytest.raises(ArgumentError, match="do not broadcast"):
        kt.simulate(model, np.zeros((3, 2)), np.zeros((4, 2)), **SHORT)
