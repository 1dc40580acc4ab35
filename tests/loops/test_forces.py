"""Forces in loops: what dependent joints do by themselves, and what their joints and closures carry."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.conftest import share
from tests.loops.mechanisms import ALL, at, four_bar, link

import kinetree as kt
from kinetree.model import Limits

TARGETS = ["cpu", "eager"]


def times(A, x):
    return np.einsum("...ij,...j->...i", A, x)


def spanning_motion(model, q, v, a):
    """Velocities and accelerations of all joints, the rate of G by differences of sixth order."""
    G = kt.loop_matrix(model, q)

    def there(h):
        return kt.loop_matrix(model, model.integrate(q, h * v))

    h, weights = 3e-4, ((1, 45.0), (2, -9.0), (3, 1.0))
    rate = sum(w * (there(k * h) - there(-k * h)) for k, w in weights) / (60 * h)
    return times(G, v), times(G, a) + times(rate, v)


@pytest.mark.parametrize("target", TARGETS)
def test_passive_forces_act_through_the_loop(target, rng):
    model = four_bar(damping=0.3, stiffness=2.0, spring_reference=0.1, friction=0.2)
    q, v = model.random_state(rng, 5)
    tree, G = model.spanning_tree, kt.loop_matrix(model, q)
    u = times(G, v)
    along = -0.3 * u - 0.2 * np.sign(u) - 2.0 * (q - 0.1)
    found = kt.passive_force(model, q, v, target=target)
    np.testing.assert_allclose(found, times(np.swapaxes(G, 1, 2), along), atol=1e-13)
    stored = kt.spring_energy(model, q, target=target)
    np.testing.assert_allclose(stored, kt.spring_energy(tree, q), atol=1e-13)
    # springs alone: the force is the slope of the energy
    h = 1e-4
    slope = (kt.spring_energy(model, model.integrate(q, h + 0 * v)) -
             kt.spring_energy(model, model.integrate(q, -h + 0 * v))) / (2 * h)  # fmt: skip
    springs = four_bar(stiffness=2.0, spring_reference=0.1)
    np.testing.assert_allclose(kt.passive_force(springs, q, v)[:, 0], -slope, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(model.damping, [0.3])  # of the independent joint alone


@pytest.mark.parametrize(("name", "mode"), share(product(ALL, ["unrolled", "looped"]), 6))
def test_added_inertia_of_all_joints(name, mode, rng):
    model = ALL[name]()
    q, v = model.random_state(rng, 4)
    added, tau = rng.random((4, model.nu)), rng.normal(size=v.shape)
    G = kt.loop_matrix(model, q)
    M = kt.mass_matrix(model, q) + np.swapaxes(G, 1, 2) @ (added[..., None] * G)
    a = np.stack(kt.compile(kt.augmented_dynamics, model, mode=mode)(q, v, tau, added))
    left = times(M, a) + kt.bias_force(model, q, v)
    np.testing.assert_allclose(left, tau, atol=1e-12 * max(1.0, np.linalg.cond(M).max()))


@pytest.mark.parametrize(("name", "target"), share(product(ALL, TARGETS), 6))
def test_joints_and_closures_hold_the_bodies(name, target, rng):
    """The tree with the wrenches of its closures as external ones has the same forces in its joints."""
    model = ALL[name]()
    q, v = model.random_state(rng, 3)
    v = 0.3 * v  # so that differences are small near dead points
    a, given = rng.normal(size=v.shape), rng.normal(size=(3, model.nbodies, 6))
    carried = kt.loop_wrenches(model, q, v, a, given, target=target)
    assert carried.shape == (3, len(model.closure_names), 6)
    poses = kt.placements(model, q)
    total = given.copy()

    def world(body, k):
        return (poses[k, body - 1, :3, :3], poses[k, body - 1, :3, 3]) if body else (np.eye(3), np.zeros(3))

    closures = [c for loop in model.loops for c in loop.closures]
    for n, c in enumerate(closures):
        for k in range(3):
            R, p = world(c.other, k)
            force = R @ carried[k, n, 3:]
            moment = R @ carried[k, n, :3] + np.cross(p, force)
            for body, sign in ((c.body, -1), (c.other, 1)):
                R, p = world(body, k)
                if body:
                    total[k, body - 1, :3] += sign * R.T @ (moment - np.cross(p, force))
                    total[k, body - 1, 3:] += sign * R.T @ force
    u, du = spanning_motion(model, q, v, a)
    tree = model.spanning_tree
    expected = kt.joint_wrenches(tree, q, u, du, total)
    found = kt.joint_wrenches(model, q, v, a, given, target=target)
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())
    # then dependent joints give no force, and independent ones what inverse dynamics says
    tau = kt.inverse_dynamics(tree, q, u, du, total)
    expected = np.zeros_like(tau)
    for joint, own in model.split_velocities(kt.inverse_dynamics(model, q, v, a, given)).items():
        expected[:, tree.coordinate_index(joint)][:, : own.shape[1]] = own
    if not any("Relation" in type(c).__name__ for c in closures):
        np.testing.assert_allclose(np.sort(tau), np.sort(expected), atol=1e-6 * np.abs(tau).max())


def test_closing_joints_leave_their_motions_free(rng):
    """The wrench through a closing joint does no work: that of a hinge has no moment about its axis."""
    model = four_bar()
    q, v = model.random_state(rng, 4)
    a = rng.normal(size=v.shape)
    (wrench,) = np.moveaxis(kt.loop_wrenches(model, q, v, a), 1, 0)
    pin = np.array([0.6, 0.0, 0.0])  # in the rocker
    moment = wrench[:, :3] - np.cross(pin, wrench[:, 3:])
    np.testing.assert_allclose(moment[:, 1], 0, atol=1e-12 * np.abs(wrench).max())
    assert np.abs(wrench[:, 3:]).max() > 0.1


def test_a_rod_carries_tension_alone():
    """A weight that hangs from a rod, on a carriage without friction: the rod carries it."""
    b = kt.ModelBuilder("lamp")
    b.add_body("rail", None, kt.Prismatic((0, 0, 1)), None, kt.Inertia(1e-9, (0, 0, 0), np.eye(3) * 1e-9))
    b.add_body("lamp", "rail", kt.Prismatic((1, 0, 0)), at(), link(0.2, 2.0))
    b.add_distance(None, "lamp", 0.5, at=(0, 0, 1.0), name="cord")
    b._start = {"rail": 0.5}
    model = b.build()
    q = model.assemble(model.positions({"rail": 0.6, "lamp": 0.3}), fixed="lamp")
    (wrench,) = kt.loop_wrenches(model, q, [0.0], kt.forward_dynamics(model, q, [0.0], [0.0]))
    direction = np.array([0.0, 0, 1.0]) - kt.placements(model, q)[1, :3, 3]
    np.testing.assert_allclose(np.cross(wrench[3:], direction), 0, atol=1e-12)
    np.testing.assert_allclose(wrench[:3], 0, atol=1e-12)
    assert wrench[3:] @ direction > 1.0


def test_models_without_loops_have_no_closures():
    arm = kt.zoo.arm7()
    q, v = arm.random_state(0)
    assert kt.loop_wrenches(arm, q, v, v).shape == (0, 6)
    np.testing.assert_array_equal(kt.loop_matrix(arm, q), np.eye(7))


def test_parameters_reach_the_closures():
    model = four_bar()
    q, v = model.random_state(0)
    heavy = model.with_parameters(2 * model.parameters)
    found = kt.loop_wrenches(model, q, v, v, parameters=2 * model.parameters)
    np.testing.assert_allclose(found, kt.loop_wrenches(heavy, q, v, v), rtol=1e-12)


@pytest.mark.parametrize("target", TARGETS)
def test_motors_on_any_joint_within_their_limits(target, rng):
    model = four_bar(limits=Limits(effort=2.0))
    q, v = model.random_state(rng, 4)
    efforts = rng.normal(size=(4, 3)) * 4.0
    G = kt.loop_matrix(model, q)
    found = kt.loop_force(model, q, efforts, target=target)
    assert np.abs(efforts).max() > 2.0
    np.testing.assert_allclose(found, times(np.swapaxes(G, 1, 2), np.clip(efforts, -2.0, 2.0)), atol=1e-13)
    free = kt.loop_force(model, q, efforts, limits=False, target=target)
    np.testing.assert_allclose(free, times(np.swapaxes(G, 1, 2), efforts), atol=1e-13)
    # power at the joints is power along v
    u = times(G, v)
    np.testing.assert_allclose((free * v).sum(-1), (efforts * u).sum(-1), atol=1e-12)
    arm = kt.zoo.arm7()
    q, v = arm.random_state(rng)
    np.testing.assert_array_equal(kt.loop_force(arm, q, v, limits=False, target=target), v)
