"""Stops and bodies that feel nothing are left out: it is the minimum with them all the same, and what a state
gives does not depend on those beside it."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms.contact_joints import Bounded
from kinetree.algorithms.contact_terms import Terms
from kinetree.motion.contact import contact_step

STEP, STATES = 2e-3, 48


def crowd() -> tuple[kt.Model, np.ndarray, np.ndarray]:
    """Robots in the air, on their trunks or about to land on them, and at the stops of joints."""
    model = kt.zoo.quadruped().add_geometry("trunk", kt.Box((0.2, 0.1, 0.06)))
    rng = np.random.default_rng(11)
    q = np.tile(model.neutral(), (STATES, 1))
    v = rng.normal(0.0, 0.5, (STATES, model.nv))
    q[:, 7:] += rng.uniform(-1.0, 1.0, q[:, 7:].shape)
    q[:, 6] = 1.0
    q[: STATES // 4, 6] = 0.0602 + rng.uniform(-1e-3, 1e-3, STATES // 4)  # the trunk lands, or lies
    v[: STATES // 4, 5] = rng.uniform(-0.3, 0.1, STATES // 4)
    some = slice(STATES // 4, STATES // 2)
    q[some, 9] = model.limits.upper[-1] - rng.uniform(-0.01, 0.02, STATES // 4)  # a stop, or before it
    v[some, 8] = rng.uniform(-1.0, 9.0, STATES // 4)
    return model, q, v


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_neighbours_change_no_bit(dtype: str) -> None:
    model, q, v = crowd()
    q, v, tau = q.astype(dtype), v.astype(dtype), np.zeros_like(v, dtype)
    dt = np.full(STATES, STEP, dtype)
    sorted_ = contact_step(model, q, v, tau, dt=dt)
    order = np.random.default_rng(5).permutation(STATES)
    mixed = contact_step(model, q[order], v[order], tau, dt=dt)
    for together, apart in zip(sorted_, mixed, strict=True):
        assert together[order].tobytes() == apart.tobytes()
    for k in range(0, STATES, 5):
        alone = contact_step(model, q[k], v[k], tau[k], dt=dt[k])
        for together, one in zip(sorted_, alone, strict=True):
            assert np.array_equal(together[k], one)
    force = sorted_[2]
    assert (force[: STATES // 4, 4:, 2] > 0).any() and not force[STATES // 4 :, 4:].any()


def rubbing_arm() -> kt.Model:
    """Three links whose first joints have dry friction, the last one stops; nothing is within reach."""
    builder = kt.ModelBuilder("rubbing arm")
    inertia = kt.Inertia(1.0, (0.0, 0.0, -0.1), 0.01 * np.eye(3))
    joint, place = kt.Revolute((0, 1, 0)), kt.Pose(p=(0.0, 0.0, -0.2))
    builder.add_body("a", None, joint, None, inertia, friction=0.1)
    builder.add_body("b", "a", joint, place, inertia, friction=0.1)
    builder.add_body("c", "b", joint, place, inertia, limits=(-0.3, 0.3))
    builder.add_geometry("c", kt.Sphere(0.03), place, stiffness=1e4)
    return builder.add_ground(kt.Ground(height=-9.0)).build()


def test_states_at_a_stop_do_not_depend_on_calm_ones() -> None:
    """Calm states make Newton steps in which those at a stop wait, before all terms are used."""
    model, rng = rubbing_arm(), np.random.default_rng(0)
    q, v = 0.1 * rng.normal(size=(200, 3)), rng.normal(size=(200, 3))
    q[::2, 2] = 0.5
    both = contact_step(model, q, v, np.zeros(3), dt=1.0)
    for k in range(0, 200, 2):
        alone = contact_step(model, q[k], v[k], np.zeros(3), dt=1.0)
        for together, one in zip(both, alone, strict=True):
            assert np.array_equal(together[k], one)


def test_numbers_of_python_agree() -> None:
    model, q, v = crowd()
    for k in (0, 5, STATES // 4, STATES // 4 + 7, STATES - 1):
        given = (model, q[k], v[k], np.zeros(model.nv))
        compiled = contact_step(*given, dt=STEP, contact_accuracy=1e-10)
        eager = contact_step(*given, dt=STEP, contact_accuracy=1e-10, target="eager")
        for a, b in zip(compiled[:4], eager[:4], strict=True):
            assert np.allclose(a, b, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("stiffness", [1e8, 1e10, 1e12])
def test_where_a_trunk_lies_duals_start_at_zero_too(stiffness: float) -> None:
    """From other duals the first Newton step leads far beyond the minimum, and digits are lost."""
    model, q, v = crowd()
    hard = np.full(len(model.contact_points), stiffness)
    steps = contact_step(model, q, v, np.zeros(model.nv), dt=STEP, contact_stiffness=hard)[4]
    assert steps.max() <= 12  # up to 27 from duals that fit the first velocities


def test_velocities_of_points_that_were_left_alone() -> None:
    model, q, v = crowd()
    tau = np.where(np.arange(model.nv) < 6, 0.0, 20.0) * np.ones_like(v)
    _, after, force, velocity, _ = contact_step(model, q, v, tau, dt=np.full(STATES, STEP))
    far = slice(STATES // 2, STATES)
    assert not force[far].any()
    for place, point in enumerate(model.contact_points):
        ends = [model.integrate(q[far], 1e-6 * x[far]) for x in (np.zeros_like(v), v, after)]
        at = [kt.placements(model, x)[:, point.body - 1, :3] @ (*point.position, 1.0) for x in ends]
        before, found = (at[1] - at[0]) / 1e-6, (at[2] - at[0]) / 1e-6
        change = np.abs(found - before).max()
        assert change > 0.05
        assert np.abs(found - velocity[far, place]).max() < 0.1 * change  # axes that turn within the step


def test_it_is_the_minimum_with_all_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some stops are felt from the beginning, some only where the steps without them lead."""
    model, q, v = crowd()
    tau = np.where(np.arange(model.nv) < 6, 0.0, 400.0) * np.ones_like(v)
    some = [0, 3, 7, STATES // 4, STATES // 4 + 5, STATES // 2, STATES - 1]
    given = [(model, q[k], v[k], tau[k]) for k in some]
    exact = {"dt": STEP, "contact_accuracy": 1e-10, "target": "eager"}
    found = [contact_step(*each, **exact) for each in given]
    monkeypatch.setattr(Terms, "mostly_calm", property(lambda _: False, lambda *_: None), raising=False)
    assert not Bounded.mostly_calm.fget(None)
    at_stops = 0
    for each, parts in zip(given, found, strict=True):
        whole = contact_step(*each, **exact)
        for a, b in zip(parts[:4], whole[:4], strict=True):
            assert np.allclose(a, b, rtol=1e-8, atol=1e-8)
        free = contact_step(*each, **exact, limits=False)
        at_stops += np.abs(free[1] - whole[1]).max() > 1e-3
    assert 2 <= at_stops < len(some) + 1
