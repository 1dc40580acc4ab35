"""The reference agrees with itself, with Newton and Euler in maximal coordinates, and with Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import share
from tests.reference import newton_kkt, pinocchio_twin
from tests.reference.advance import advance
from tests.reference.lagrangian import Lagrangian, articulated_inertia
from tests.reference.measure import assert_close, condition
from tests.reference.mechanism import ALL_TYPES, Mechanism
from tests.reference.random_mechanism import random_mechanism

SEEDS = range(25)


def draw(seed: int, most: int = 10, **options) -> tuple[Mechanism, np.random.Generator]:
    rng = np.random.default_rng([seed, 17])
    mechanism = random_mechanism(rng, int(rng.integers(1, most + 1)), **options)
    while not mechanism.nv:
        mechanism = random_mechanism(rng, 3, **options)
    return mechanism, rng


def test_generator_reaches_every_corner():
    kinds, lead, several, multi, roots = set(), set(), 0, 0, 0
    for seed in range(200):
        m, _ = draw(seed)
        kinds |= {b.type for b in m.bodies}
        on = [r.body for r in m.rotors]
        several += len(on) > len(set(on))
        multi += any(len(r.ratios) > 1 for r in m.rotors)
        roots += sum(b.parent < 0 for b in m.bodies) > 1
        for i, b in enumerate(m.bodies):
            if b.mimic:
                leader = m.bodies[b.mimic[0]]
                lead.add("chained" if leader.mimic else "direct")
                lead.add("forward" if b.mimic[0] > i else "backward")
                child, sibling = b.mimic[0] == b.parent, leader.parent == b.parent
                lead.add("child" if child else "sibling" if sibling else "far")
    assert kinds == set(ALL_TYPES)
    assert lead == {"chained", "direct", "forward", "backward", "child", "sibling", "far"}
    assert min(several, multi, roots) > 10


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix_is_symmetric_positive_definite(seed):
    m, rng = draw(seed)
    M = Lagrangian(m, m.random_state(rng)[0]).mass_matrix
    assert_close(M, M.T, 1e-14)
    assert np.linalg.eigvalsh(M)[0] > 0


@pytest.mark.parametrize("seed", share(range(12), 3))
def test_christoffel_symbols_are_the_derivatives_of_the_mass_matrix(seed):
    m, rng = draw(seed)
    q, _ = m.random_state(rng)
    truth, step = Lagrangian(m, q), 1e-4
    gamma, n = truth.christoffel, m.nv

    def at(k, h):
        return Lagrangian(m, advance(m, q, h * np.eye(n)[k])).mass_matrix

    for k in range(n):  # fourth-order differences
        d = (8 * (at(k, step) - at(k, -step)) - (at(k, 2 * step) - at(k, -2 * step))) / (12 * step)
        assert_close(gamma[:, :, k] + gamma[:, :, k].T, d, 1e-9, scale=np.abs(truth.mass_matrix).max())
    torsion = np.einsum("il,lkj->ijk", truth.mass_matrix, truth.c)
    assert_close(gamma - gamma.transpose(0, 2, 1), torsion, 1e-13, scale=np.abs(gamma).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_energy_rate_is_power(seed):
    m, rng = draw(seed)
    q, v = m.random_state(rng)
    tau, f_ext, step = rng.normal(size=m.nv), rng.normal(size=(len(m.bodies), 6)), 1e-4
    truth = Lagrangian(m, q)
    a = truth.forward_dynamics(v, tau, f_ext)

    def energy(h):
        later = Lagrangian(m, advance(m, q, h * v))
        return later.kinetic_energy(v + h * a) + later.potential_energy

    rate = (8 * (energy(step) - energy(-step)) - (energy(2 * step) - energy(-2 * step))) / (12 * step)
    power = tau @ v + np.sum(truth.body_velocities(v)[: len(m.bodies)] * f_ext)
    assert_close(rate, power, 1e-8, scale=truth.kinetic_energy(v) + np.abs(truth.gravity_force * v).sum())


@pytest.mark.parametrize("seed", SEEDS)
def test_agrees_with_newton_euler_in_maximal_coordinates(seed):
    m, rng = draw(seed)
    q, v = m.random_state(rng)
    tau, f_ext = rng.normal(size=m.nv), rng.normal(size=(len(m.bodies), 6))
    truth = Lagrangian(m, q)
    a = truth.forward_dynamics(v, tau, f_ext)
    other, wrenches = newton_kkt.forward_dynamics(m, q, v, tau, f_ext)
    assert_close(other, a, 1e-13 * condition(truth.mass_matrix))
    assert_close(wrenches, truth.joint_wrenches(v, a, f_ext), 1e-12 * condition(truth.mass_matrix))


@pytest.mark.parametrize("seed", SEEDS)
def test_kinematics_agree_with_each_other(seed):
    m, rng = draw(seed)
    q, v = m.random_state(rng)
    a, nb, truth = rng.normal(size=m.nv), len(m.bodies), Lagrangian(m, q)
    assert_close(np.einsum("bin,i->bn", truth.jacobians, v), truth.body_velocities(v)[:nb], 1e-13)
    moved = np.einsum("bin,i->bn", truth.jacobians, a) + np.einsum("bin,i->bn", truth.jacobian_rates(v), v)
    assert_close(moved, truth.body_accelerations(v, a)[:nb], 1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_fifty_digits_give_the_same(seed):
    import mpmath

    m, rng = draw(seed, most=4, rotors=0.5)
    q, v = m.random_state(rng)
    a = rng.normal(size=m.nv)
    with mpmath.workdps(50):
        exact, plain = Lagrangian(m, np.array([mpmath.mpf(x) for x in q], dtype=object)), Lagrangian(m, q)
        assert_close(plain.mass_matrix, exact.mass_matrix.astype(float), 2e-14)
        assert_close(plain.inverse_dynamics(v, a), exact.inverse_dynamics(v, a).astype(float), 1e-13)


@pytest.mark.parametrize("seed", range(10))
def test_articulated_inertia_is_below_composite_inertia(seed):
    m, rng = draw(seed, mimics=0.0)
    q, _ = m.random_state(rng)
    truth = Lagrangian(m, q)
    for i in range(len(m.bodies)):
        composite, articulated = truth.composite_inertia(i), articulated_inertia(m, q, i)
        assert np.linalg.eigvalsh(articulated)[0] > 0
        assert np.linalg.eigvalsh(composite - articulated)[0] > -1e-12 * np.abs(composite).max()


@pytest.mark.parametrize("seed", SEEDS)
def test_agrees_with_pinocchio(seed):
    pytest.importorskip("pinocchio")
    m, rng = draw(seed, types=pinocchio_twin.TYPES, rotors=0, mimics=0, armatures=0)
    q, v = m.random_state(rng)
    a, f_ext = rng.normal(size=m.nv), rng.normal(size=(len(m.bodies), 6))
    twin, truth = pinocchio_twin.Twin(m), Lagrangian(m, q)
    tau = truth.inverse_dynamics(v, a, f_ext)
    assert_close(twin.inverse_dynamics(q, v, a, f_ext), tau, 1e-13)
    assert_close(twin.mass_matrix(q), truth.mass_matrix, 1e-13)
    assert_close(twin.forward_dynamics(q, v, tau, f_ext), a, 1e-13 * condition(truth.mass_matrix))
    kinetic, potential = twin.energies(q, v)
    assert_close(kinetic, truth.kinetic_energy(v), 1e-12)
    if not any(b.parent < 0 and b.type == "fixed" for b in m.bodies):  # Pinocchio forgets what never moves
        assert_close(potential, truth.potential_energy, 1e-12, scale=9.81 * truth.total_mass)
        assert_close(twin.center_of_mass(q), truth.center_of_mass, 1e-13)
        assert_close(twin.centroidal_momentum(q, v), truth.momentum(v, truth.center_of_mass), 1e-12)
    for i in range(len(m.bodies)):
        assert_close(twin.placement(q, i), truth.T[i], 1e-13)
        assert_close(twin.jacobian(q, i, "body"), truth.jacobians[i].T, 1e-13, scale=1.0)
