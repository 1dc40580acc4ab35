"""What bodies do to each other in rollouts, against what mechanics says."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import share
from tests.contact.pair_scenes import G, frames, placed, things

import kinetree as kt
from kinetree.model.distance import between
from kinetree.motion.contact import contact_wrenches

BALL, BOX = kt.Sphere(0.1), kt.Box((0.1, 0.1, 0.1))


def stack(count: int, heavy: float, **contact: float) -> tuple[kt.Model, np.ndarray, np.ndarray]:
    """Boxes on each other, every second one so heavy; their masses, and where they are."""
    masses = np.where(np.arange(count) % 2, heavy, 1.0)
    pairs = [(f"thing_{k + 1}", f"thing_{k}") for k in range(count - 1)]
    model = things(*((BOX, mass) for mass in masses), pairs=pairs, **contact)
    return model, masses, placed(model, *((0, 0, 0.1 + 0.2 * k) for k in range(count)))


@pytest.mark.parametrize("count, heavy", [(3, 1000.0), pytest.param(10, 1000.0, marks=pytest.mark.long)])
def test_a_stack_stands_and_each_interface_carries_what_is_above(count, heavy):
    model, masses, q = stack(count, heavy, dissipation=5.0)
    run = kt.simulate(model, q, np.zeros(model.nv), duration=4.0, dt=2e-3, record=50)
    assert not run.failed
    assert abs(run.v[-1]).max() < 1e-3 and abs(run.q[-1] - q).max() < 0.02
    force = run.contact_force[-1]
    weight = G * masses
    assert abs(force[: 8 * count].sum(0)[2] / weight.sum() - 1) < 1e-4
    for k in range(count - 1):
        pressed = force[8 * count + 9 * k :][:9].sum(0)
        above = weight[k + 1 :].sum()
        assert np.allclose(pressed, (0, 0, above), atol=1e-4 * above)


def test_two_free_bodies_keep_their_momentum_and_lose_energy():
    model = things((BALL, 1.0), (BALL, 2.0), gravity=(0, 0, 0), stiffness=1e5)
    q = placed(model, (0, 0, 0), (0.25, 0.03, 0.02))
    v = np.array([0.5, 2, -1, 2, 0, 0, 0, 0, 0, -1, 0, 0])
    run = kt.simulate(model, q, v, duration=0.2, dt=1e-3, ground=False)
    assert abs(run.contact_force).max() > 100
    assert abs(run.momentum - run.momentum[0]).max() < 1e-12
    k, apart = model.pair_points[0].stiffness, np.linalg.norm(run.q[:, 4:7] - run.q[:, 11:14], axis=1)
    total = run.energy + 0.5 * k * np.maximum(0, 0.2 - apart) ** 2
    assert np.diff(total).max() < 1e-12


@pytest.mark.parametrize("shapes", share([(BOX, BOX), (kt.Capsule(0.05, 0.1), BOX), (BALL, BOX)], 3))
def test_whatever_touches_acts_and_reacts(shapes):
    model = things(*((shape, k + 1.0) for k, shape in enumerate(shapes)), gravity=(0, 0, 0), stiffness=1e5)
    rng = np.random.default_rng(1)
    q = placed(model, (0, 0, 0), (0.05, 0.02, 0.17))
    run = kt.simulate(model, q, 0.5 * rng.normal(size=12), duration=0.1, dt=1e-3, ground=False)
    assert abs(run.contact_force).max() > 1
    assert abs(run.momentum - run.momentum[0])[:, 3:].max() < 1e-12
    wrenches = contact_wrenches(model, run.q[0], run.contact_force[0], ground=False)
    T = kt.placements(model, run.q[0])
    pulls = [T[k][:3, :3] @ wrenches[k, 3:] for k in range(2)]
    moments = [T[k][:3, :3] @ wrenches[k, :3] + np.cross(T[k][:3, 3], pulls[k]) for k in range(2)]
    size = 1 + abs(wrenches).max()
    assert abs(sum(pulls)).max() < 1e-12 * size and abs(sum(moments)).max() < 1e-12 * size


def test_newtons_cradle():
    builder = kt.ModelBuilder("cradle", (0, 0, 0))
    for k in range(5):
        at = kt.Pose(p=(0.2001 * k, 0, 0))
        builder.add_body(f"ball_{k}", None, kt.Prismatic((1, 0, 0)), at, kt.Inertia(1.0))
        builder.add_geometry(f"ball_{k}", BALL, stiffness=1e6, dissipation=0.0, friction=0.0)
    for k in range(4):
        builder.add_pair(f"ball_{k}", f"ball_{k + 1}")
    model = builder.build()
    run = kt.simulate(model, model.neutral(), np.eye(5)[0], duration=0.05, dt=1e-4)
    assert abs(run.v.sum(1) - 1).max() < 1e-13
    assert run.v[-1, 4] > 0.8 and abs(run.v[-1, :3]).max() < 0.06
    assert np.diff(run.v[-1]).min() > 0  # nothing runs into another any more


def plate() -> tuple[kt.Model, np.ndarray]:
    """A block on a plate that slides along x."""
    block = kt.Box((0.1, 0.1, 0.05))
    builder = kt.ModelBuilder("plate")
    builder.add_body("plate", None, kt.Prismatic((1, 0, 0)), inertia=kt.Inertia(5.0))
    builder.add_geometry("plate", kt.Box((2.0, 0.5, 0.05)), stiffness=1e5, friction=0.3)
    builder.add_body("block", None, kt.Free(), inertia=kt.zoo.solid(block, mass=2.0).bodies[0].inertia)
    builder.add_geometry("block", block, stiffness=1e5, friction=0.3)
    model = builder.add_pair("block", "plate").build()
    q = model.neutral()
    q[model.position_index("block").start + 6] = 0.1 - 2 * G / (4 * model.pair_points[0].stiffness)
    return model, q


def test_a_block_rides_on_a_plate_or_slides():
    model, q = plate()
    for push, wanted in ((10.0, (10 / 7, 10 / 7)), (60.0, ((60 - 0.6 * G) / 5, 0.3 * G))):
        tau = push * np.eye(7)[0]
        run = kt.simulate(
            model, q, np.zeros(7), duration=0.3, dt=1e-3, control=np.tile(tau, (300, 1)), ground=False
        )
        found = (run.v[-1] - run.v[100]) / 0.2
        assert abs(found[[0, 4]] - wanted).max() < 1e-5


def gripper() -> tuple[kt.Model, np.ndarray]:
    """Two fingers, one of which mimics the other, around a ball."""
    builder = kt.ModelBuilder("gripper")
    builder.add_body("hand", None, kt.Prismatic((0, 0, 1)), inertia=kt.Inertia(1.0))
    for name, x in (("left", -0.1), ("right", 0.1)):
        mimic = ("left", 1.0, 0.0) if name == "right" else None
        axis = kt.Prismatic((-np.sign(x), 0, 0))
        builder.add_body(name, "hand", axis, kt.Pose(p=(x, 0, 0)), kt.Inertia(0.2), mimic=mimic)
        builder.add_geometry(name, kt.Box((0.01, 0.02, 0.02)), friction=0.5, stiffness=2e4)
    builder.add_body("ball", None, kt.Free(), inertia=kt.Inertia(0.5, inertia=(2e-4,) * 3))
    builder.add_geometry("ball", kt.Sphere(0.05), friction=0.5, stiffness=2e4)
    model = builder.add_pair("left", "ball").add_pair("right", "ball").build()
    return model, model.positions({"left": 0.04})


def test_a_gripper_holds_a_ball_by_friction_or_drops_it():
    model, q = gripper()
    squeeze = model.velocities({"left": 1.0})
    weight = G * model.velocities({"hand": 1.9})
    held, dropped = (
        kt.simulate(
            model, q, np.zeros(8), duration=1.0, dt=2e-3, record=50,
            control=np.tile(f * squeeze + weight, (500, 1)), ground=False,
        )
        for f in (20.0, 6.0)
    )  # fmt: skip
    ball, hand = model.position_index("ball").start + 6, model.position_index("hand")
    assert abs(held.q[-1, ball] - held.q[-1, hand]) < 1e-3 and abs(held.v[-1]).max() < 1e-4
    np.testing.assert_allclose(-held.contact_force[-1, -2:, 2], 0.25 * G, rtol=1e-3)
    np.testing.assert_allclose(abs(held.contact_force[-1, -2:, 0]), 10.0, rtol=1e-3)
    assert dropped.q[-1, ball] - dropped.q[-1, hand] < -0.5


def test_bodies_that_start_in_each_other_part_slowly():
    model = things((BOX, 1.0), (BOX, 1.0), gravity=(0, 0, 0), stiffness=1e5)
    q = placed(model, (0, 0, 0), (0.02, 0.01, 0.12))
    run = kt.simulate(model, q, np.zeros(12), duration=1.0, dt=2e-3, ground=False)
    assert abs(run.v).max() < 0.8  # and not with the 10 J that the springs hold
    parts = frames(model, run.q[-1])
    assert between(BOX, parts["thing_0"], BOX, parts["thing_1"]).gap > -0.03


def test_derivatives_of_a_step_of_two_boxes():
    model = things((BOX, 1.0), (kt.Box((0.08, 0.07, 0.05)), 2.0), stiffness=1e4, friction=0.4)
    q = placed(model, (0, 0, 0.0), (0.01, 0.02, 0.149))
    rng = np.random.default_rng(2)
    v, tau, h = 0.1 * rng.normal(size=12), rng.normal(size=12), 1e-3
    options = {"dt": h, "creep": 0.05, "ground": False}

    def after(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return kt.step(model, q, v, tau, **options)[1]

    for k in (3, 5, 8, 11):
        unit = np.eye(12)[k]
        change = kt.jvp_of(kt.step)(model, q, v, tau, d_v=unit, **options)
        e = 1e-6
        wanted = (after(q, v + e * unit) - after(q, v - e * unit)) / (2 * e)
        assert abs(change[3] - wanted).max() < 1e-5 * (1 + abs(wanted).max())
        moved = kt.jvp_of(kt.step)(model, q, v, tau, d_q=unit, **options)
        ahead, back = (after(model.integrate(q, s * unit), v) for s in (e, -e))
        wanted = (ahead - back) / (2 * e)
        assert abs(moved[3] - wanted).max() < 1e-4 * (1 + abs(wanted).max())
