"""Runs of states on a device, against the same runs on the CPU: bit by bit."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ArgumentError, ShapeError
from kinetree.motion.device import DeviceTrajectory, pieces
from kinetree.stages.targets.cuda_code import same_bits

RUN = {"duration": 0.012, "dt": 0.001, "record": 3}


@kt.function("t, q, v, gain -> tau")
def wave(model, t, q, v, gain):
    """A law of the time."""
    return gain * kt.ops.sin(3.0 * t) - 0.1 * v - q


@kt.function("q, v, seen(nv) -> tau, seen(nv)")
def remembering(model, q, v, seen):
    """A law that sums up what it has seen."""
    return -0.5 * v - 0.1 * seen, seen + 0.001 * q


@kt.function("q, v -> tau")
def until_fast(model, q, v):
    """Stops a state whose second joint moves faster than 2."""
    return kt.ops.where(kt.ops.less(v[1] * v[1], 4.0), 0.0, float("nan")) + 0.0 * v


@pytest.fixture
def arm():
    return kt.zoo.arm7().replace(name="arm")


def same(there: DeviceTrajectory, here: kt.Trajectory) -> bool:
    found = there.numpy()
    assert same_bits(found.tau.astype(here.q.dtype), here.tau.astype(here.q.dtype))
    return same_bits(found.q, here.q) and same_bits(found.v, here.v)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_controls_of_every_kind(fake, arm, dtype):
    q, v = (x.astype(dtype) for x in arm.random_state(3, 5))
    rng = np.random.default_rng(0)
    each, common = rng.normal(size=(5, 12, 7)).astype(dtype), rng.normal(size=(12, 7)).astype(dtype)
    there = [kt.cuda.array(x) for x in (q, v)]
    for here, on_device in (
        (each, kt.cuda.array(each)),
        (common, common),
        (functools.partial(wave, gain=2.0), functools.partial(wave, gain=2.0)),
        (
            functools.partial(remembering, seen=np.zeros((5, 7))),
            functools.partial(remembering, seen=kt.cuda.array(np.zeros((5, 7), dtype))),
        ),
    )[: 4 if dtype == "float64" else 1]:
        expected = kt.simulate(arm, q, v, control=here, **RUN)
        assert same(kt.simulate(arm, *there, control=on_device, **RUN), expected)


@pytest.mark.parametrize("integrator", ["rk4", "variational"])
def test_integrators_and_arrays_of_the_host(fake, integrator):
    robot = kt.zoo.double_pendulum().replace(name="swing")
    q, v = robot.random_state(3, 4)
    options = {"integrator": integrator, "duration": 0.004, "dt": 0.001, "limits": False}
    expected = kt.simulate(robot, q, v, **options)
    assert same(kt.simulate(robot, kt.cuda.array(q), kt.cuda.array(v), **options), expected)
    found = kt.simulate(robot, q, v, target="cuda", **options)
    assert same_bits(found.q, expected.q) and same_bits(found.v, expected.v)


def test_a_state_that_fails_stops_alone(fake, arm):
    q, v = arm.random_state(3, 3)
    v[1] = 1e200
    here = kt.simulate(arm, q, v, **RUN)
    there = kt.simulate(arm, kt.cuda.array(q), kt.cuda.array(v), **RUN)
    assert [f.state for f in there.failed] == [f.state for f in here.failed] == [(1,)]
    assert same_bits(there.q.numpy()[[0, 2]], here.q[[0, 2]])


def test_what_cannot_be_done_there(fake, arm):
    q, v = arm.random_state(3, 3)
    there = [kt.cuda.array(x) for x in (q, v)]
    with pytest.raises(ShapeError, match="one of q0 and v0 is on the host"):
        kt.simulate(arm, there[0], v, **RUN)
    with pytest.raises(ArgumentError, match="no events, Python functions"):
        kt.simulate(arm, *there, control=lambda t, q, v: v, **RUN)
    with pytest.raises(ShapeError, match="needs"):
        kt.simulate(arm, kt.cuda.array(q[:, :3]), there[1], **RUN)


def test_pieces_add_up():
    for records in (*range(1, 300), 1000, 1009, 4096):
        found = pieces(records)
        assert sum(found) == records and max(found) <= 64 and len(set(found)) <= 8
    assert pieces(1000) == [50] * 20 and pieces(200) == [50] * 4


def test_contact_on_a_device(fake):
    """A loop that ends early, state by state: the bits are those of the processor."""
    thing = kt.zoo.solid(kt.Box((0.1, 0.08, 0.05)), 2.0)
    rng = np.random.default_rng(0)
    q, v = np.tile(thing.neutral(), (6, 1)), rng.normal(size=(6, 6))
    q[:, 6] = 0.06 + 0.02 * rng.random(6)
    run = {"duration": 0.02, "dt": 2e-3}
    expected = kt.simulate(thing, q, v, **run)
    assert same(kt.simulate(thing, kt.cuda.array(q), kt.cuda.array(v), **run), expected)


def test_a_law_stops_states_early(fake, arm):
    q, v = arm.random_state(0, 3)
    v[:, 1] = 0.1, 1.99, 2.5
    here = kt.simulate(arm, q, v, control=until_fast, limits=False, **RUN)
    there = kt.simulate(arm, *map(kt.cuda.array, (q, v)), control=until_fast, limits=False, **RUN)
    assert same_bits(there.numpy().q, here.q)
    stopped = [f.state for f in here.failed]
    assert (2,) in stopped and len(stopped) < 3
    assert [f.state for f in there.failed] == stopped
