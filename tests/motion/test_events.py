"""Events of `kt.simulate`: their order, what they end, and functions that are none."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ArgumentError, SimulationError

CLOSE = (0.1037, 0.1035, 0.1030)  # times within one step, against the order of time


def at_time(time, terminal=False):
    def event(t, q, v):
        return t - time

    event.terminal = terminal
    return event


# -- several events in one step


@pytest.mark.parametrize("integrator", ["rk4", "discrete", "dopri5"])
@pytest.mark.parametrize("terminal", [(), (1,), (0, 1), (0,), (2,), (0, 1, 2)])
def test_events_of_one_step_are_in_the_order_of_time(integrator, terminal):
    events = [at_time(time, k in terminal) for k, time in enumerate(CLOSE)]
    expected = [2, 1, 0]
    first = next((place for place, k in enumerate(expected) if k in terminal), 2)
    model = kt.zoo.pendulum()
    run = kt.simulate(model, [1.0], [0.0], duration=0.2, dt=1e-2, integrator=integrator, events=events)
    assert [event.number for event in run.events] == expected[: first + 1]
    assert [event.time for event in run.events] == pytest.approx([CLOSE[k] for k in expected[: first + 1]])
    assert run.t[np.isfinite(run.q[:, 0])][-1] == pytest.approx(0.1 if terminal else 0.2)


def test_each_state_of_a_batch_ends_at_its_own_first_event():
    model = kt.zoo.pendulum()
    q = np.array([[0.1001], [0.1002], [0.5], [0.1003]])

    def crossing(level, terminal):
        def event(t, q, v):
            return q[0] - level

        event.terminal = terminal
        return event

    events = [crossing(0.0985, False), crossing(0.099, True), crossing(0.0995, False), at_time(0.123)]
    options = {"duration": 0.2, "dt": 5e-2, "integrator": "rk4", "events": events}
    many = kt.simulate(model, q, 0 * q, **options)
    for k in range(len(q)):
        one = kt.simulate(model, q[k], [0.0], **options)
        mine = [event for event in many.events if event.state == (k,)]
        assert [event.number for event in mine] == ([3] if k == 2 else [2, 1])
        for a, b in zip(mine, one.events, strict=True):
            assert (a.number, a.time) == (b.number, b.time)
            assert np.array_equal(a.q, b.q)
        last = np.isfinite(one.q).sum()
        assert np.array_equal(many.q[k, :last], one.q[:last])
        assert np.isnan(many.q[k, last:]).all()
    assert [e.time for e in many.events] == sorted(e.time for e in many.events)


def test_events_of_time_alone_in_a_batch():
    @kt.function("t -> g")
    def noon(model, t):
        return t - 0.1234

    model = kt.zoo.pendulum()
    q = np.array([[0.1], [0.2]])
    run = kt.simulate(model, q, 0 * q, duration=0.2, dt=1e-2, events=noon)
    assert [event.state for event in run.events] == [(0,), (1,)]
    assert [event.time for event in run.events] == pytest.approx([0.1234, 0.1234])


# -- where a run ends


def down(t, q, v):
    return q[0]


down.terminal = True


@pytest.mark.parametrize("integrator", ["rk4", "dopri5"])
@pytest.mark.parametrize("duration", [1.0, 1.2, 10.0, 11.0])
@pytest.mark.parametrize("record", [1, 10])
def test_a_run_that_ends_early_is_as_long_as_its_motion(integrator, duration, record):
    model = kt.zoo.pendulum()
    options = {"dt": 1e-2, "integrator": integrator, "events": down, "record": record}
    run = kt.simulate(model, [0.0], [3.0], duration=duration, **options)
    if duration == 1.0:
        assert not run.events
        assert run.t[-1] == pytest.approx(duration)
    else:
        (event,) = run.events
        assert run.t[-1] <= event.time < run.t[-1] + 1e-2 * record
    assert np.isfinite(run.q).all()
    assert np.isfinite(run.v).all()
    assert run.tau.shape == run.v.shape == (len(run.t), 1)


@pytest.mark.parametrize("integrator", ["rk4", "dopri5"])
@pytest.mark.parametrize("duration", [2.0, 10.0])
def test_a_batch_that_ends_early_is_as_long_as_its_longest_motion(integrator, duration):
    model = kt.zoo.pendulum()
    v = np.array([[3.0], [5.0], [1.0]])
    options = {"duration": duration, "dt": 1e-2, "integrator": integrator, "events": down}
    many = kt.simulate(model, 0 * v, v, **options, control=lambda t, q, v: 0 * v)
    assert len(many.events) == 3
    assert np.isfinite(many.q[:, -1]).any()
    assert many.t[-1] <= many.events[-1].time < many.t[-1] + 1e-2
    assert many.tau.shape == many.v.shape == (3, len(many.t), 1)


@pytest.mark.parametrize("duration", [0.01, 0.1, 3.0])
def test_a_run_that_fails_ends_at_its_last_good_state(duration):
    model = kt.zoo.arm7()
    q, v = np.zeros(7), np.full(7, 1e6)
    run = kt.simulate(model, q, v, duration=duration, dt=1e-3, integrator="rk4", limits=False)
    (failure,) = run.failed
    assert run.t[-1] == failure.time
    assert np.array_equal(run.q[-1], failure.q)
    assert np.isfinite(run.q).all()


def test_a_model_without_joints_can_end_too():
    builder = kt.ModelBuilder("block")
    builder.add_body("block", "world", kt.Fixed())
    run = kt.simulate(builder.build(), [], [], duration=0.5, dt=1e-2, events=at_time(0.1234, True))
    assert run.t[-1] == pytest.approx(0.12)
    assert run.q.shape == (13, 0)


@pytest.mark.parametrize("integrator", ["discrete", "dopri5"])
def test_a_batch_without_states_has_all_records(integrator):
    model = kt.zoo.double_pendulum()
    none = np.zeros((0, 2))
    run = kt.simulate(
        model, none, none, duration=0.2, dt=1e-2, integrator=integrator, events=down, record=2,
        control=lambda t, q, v: q.max() * v,
    )  # fmt: skip
    assert run.t[-1] == pytest.approx(0.2)
    assert run.q.shape == run.v.shape == run.tau.shape == (0, 11, 2)


def test_what_controls_remember_in_a_batch_without_states():
    @kt.function("q, sum(nv) -> tau, sum(nv)")
    def integral(model, q, sum):
        return -sum, sum + q

    model = kt.zoo.double_pendulum()
    none = np.zeros((0, 2))
    control = functools.partial(integral, sum=np.zeros(2))
    run = kt.simulate(model, none, none, duration=0.2, dt=1e-2, control=control)
    assert run.tau.shape == run.extra["sum"].shape == (0, 21, 2)


# -- functions that are no events


@kt.function("q, v -> g(1)")
def row(model, q, v):
    return q[:1]


@kt.function("q, v -> g(2)")
def pair(model, q, v):
    return q


@kt.function("q, v -> g, h")
def two(model, q, v):
    return q[0], v[0]


@kt.function("q, goal(nq) -> g")
def near(model, q, goal):
    return q[0] - goal[0]


@kt.function("q, goal?(nq) -> g")
def optional(model, q, goal=None):
    return q[0] - (0.2 if goal is None else goal[0])


@pytest.mark.parametrize(
    "event, message",
    [
        (row, r"events\[1\] is the function row, which gives g\(1\): an event gives one number"),
        (pair, r"events\[1\] is the function pair, which gives g\(2\): an event gives one number"),
        (two, r"events\[1\] is the function two, which gives g, h: an event gives one number"),
        (near, r"events\[1\] is the function near, which takes goal: an event takes t, q and v"),
        (3.0, r"an event must be a function g\(t, q, v\), not 3\.0"),
    ],
)
@pytest.mark.parametrize("integrator", ["rk4", "dopri5"])
def test_functions_of_a_model_that_are_no_events(event, message, integrator):
    model = kt.zoo.double_pendulum()
    with pytest.raises(ArgumentError, match=message):
        kt.simulate(
            model, [0.5, 0], [0, 0], duration=0.1, dt=1e-2, integrator=integrator, events=[down, event]
        )


@pytest.mark.parametrize("events", [3, None])
def test_one_event_that_is_no_function(events):
    with pytest.raises(ArgumentError, match=f"an event must be a function g.*, not {events}"):
        kt.simulate(kt.zoo.pendulum(), [0.5], [0.0], duration=0.1, dt=1e-2, events=events)


def test_optional_inputs_are_left_out():
    model = kt.zoo.pendulum()
    (event,) = kt.simulate(model, [0.5], [0.0], duration=0.5, dt=1e-2, events=optional).events
    assert event.q[0] == pytest.approx(0.2)


@pytest.mark.parametrize("value", [None, np.zeros(2), np.zeros(0), "down", [[1.0], [2.0, 3.0]], {}])
@pytest.mark.parametrize("integrator", ["rk4", "dopri5"])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_values_that_are_not_one_number(value, integrator, batch):
    def wrong(t, q, v):
        return t - 1.0 if t < 0.05 else value

    model = kt.zoo.pendulum()
    state = np.full((*batch, 1), 0.5)
    with pytest.raises(SimulationError, match=r"events\[1\] \(wrong\) gave .*, not one number") as caught:
        kt.simulate(model, state, state, duration=0.1, dt=1e-2, integrator=integrator, events=[down, wrong])
    assert caught.value.trajectory.model is model


@pytest.mark.parametrize("integrator", ["rk4", "dopri5"])
def test_an_event_that_raises_within_a_step(integrator):
    def broken(t, q, v):
        if 0.051 < t < 0.059:
            raise KeyError("no")
        return t - 0.055

    with pytest.raises(SimulationError, match=r"event function raised KeyError: 'no' .*events\[0\], broken"):
        kt.simulate(
            kt.zoo.pendulum(), [0.5], [0], duration=0.1, dt=1e-2, integrator=integrator, events=broken
        )


@pytest.mark.parametrize("integrator", ["rk4", "dopri5"])
def test_an_array_with_one_number_is_one_number(integrator):
    options = {"duration": 0.5, "dt": 1e-2, "integrator": integrator}
    model = kt.zoo.pendulum()
    (event,) = kt.simulate(model, [0.5], [0.0], **options, events=lambda t, q, v: q - 0.2).events
    assert event.q[0] == pytest.approx(0.2)
