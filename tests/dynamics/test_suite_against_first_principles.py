"""Every quantity of the dynamics suite equals first principles on random mechanisms."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pytest
from tests.conftest import scale
from tests.reference.lagrangian import Lagrangian, articulated_inertia, homogeneous, moment_of, to_body
from tests.reference.measure import assert_close, condition
from tests.reference.mechanism import Mechanism
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt

TREES = max(1, round(60 * scale()))


class Pair:
    """A random mechanism in a random state: the library's model, and the truth about it."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, 20])
        self.mechanism = m = random_mechanism(self.rng, 1 + seed % 9)
        self.model, (self.q, self.v) = m.build(), m.random_state(self.rng)
        self.a, self.f_ext = self.rng.normal(size=m.nv), self.rng.normal(size=(len(m.bodies), 6))
        self.truth, self.label = Lagrangian(m, self.q), f"tree {seed}"

    def run(self, name: str, *args: Any, **options: Any) -> Any:
        return getattr(kt, name)(self.model, *args, target="eager", **options)

    def expect(self, found: Any, truth: Any, tolerance: float = 1e-12, scale: float = 0.0) -> None:
        assert_close(found, truth, tolerance, scale, self.label)

    @cached_property
    def inertia_size(self) -> float:
        return float(np.abs(self.truth.mass_matrix).max(initial=0)) or 1.0


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return [Pair(seed) for seed in range(TREES)]


def test_kinematics(pairs):
    for p in pairs:
        nb, truth = len(p.mechanism.bodies), p.truth
        p.expect(p.run("placements", p.q), truth.T[:nb])
        p.expect(p.run("body_velocities", p.q, p.v), truth.body_velocities(p.v)[:nb])
        A = truth.body_accelerations(p.v, p.a)[:nb]
        p.expect(p.run("body_accelerations", p.q, p.v, p.a), A, scale=1.0)


def test_jacobians(pairs):
    for p in pairs:
        rates = p.truth.jacobian_rates(p.v)
        for i, name in enumerate(p.mechanism.names):
            p.expect(p.run("jacobian", p.q, frame=name), p.truth.jacobians[i].T, scale=1.0)
            p.expect(p.run("jacobian_rate", p.q, p.v, frame=name), rates[i].T, scale=1.0)


def test_coriolis_and_christoffel(pairs):
    for p in pairs:
        gamma, size = p.truth.christoffel, p.inertia_size
        p.expect(p.run("christoffel_symbols", p.q), gamma, scale=size)
        p.expect(p.run("coriolis_matrix", p.q, p.v), p.truth.coriolis(p.v), scale=size)
        p.expect(p.run("mass_matrix_rate", p.q, p.v), p.truth.mass_rate(p.v), scale=size)
        torsion = np.einsum("il,lkj->ijk", p.truth.mass_matrix, p.truth.c)
        found = p.run("christoffel_symbols", p.q)
        p.expect(found - found.transpose(0, 2, 1), torsion, scale=size)


def test_forces(pairs):
    for p in pairs:
        truth, size = p.truth, p.inertia_size * 10
        p.expect(p.run("gravity_force", p.q), truth.gravity_force, scale=size)
        p.expect(p.run("bias_force", p.q, p.v), truth.bias_force(p.v), scale=size)
        wrenches = truth.joint_wrenches(p.v, p.a, p.f_ext)
        p.expect(p.run("joint_wrenches", p.q, p.v, p.a, p.f_ext), wrenches, scale=size)


def test_energy_and_momentum(pairs):
    for p in pairs:
        truth, com = p.truth, p.truth.center_of_mass
        p.expect(p.run("kinetic_energy", p.q, p.v), truth.kinetic_energy(p.v))
        p.expect(p.run("potential_energy", p.q), truth.potential_energy, scale=10 * truth.total_mass)
        p.expect(p.run("center_of_mass", p.q), com, scale=1.0)
        h = truth.momentum(p.v)
        size = float(np.abs(h).max())
        p.expect(p.run("momentum", p.q, p.v), h, scale=1.0)
        p.expect(p.run("centroidal_momentum", p.q, p.v), truth.momentum(p.v, com), scale=size)
        columns = [truth.momentum(e, com) for e in np.eye(p.mechanism.nv)]
        matrix = np.array(columns).T.reshape(6, p.mechanism.nv)
        p.expect(p.run("centroidal_momentum_matrix", p.q), matrix, scale=p.inertia_size)


def test_composite_inertias(pairs):
    for p in pairs:
        found = p.run("composite_inertias", p.q)
        for i in range(len(p.mechanism.bodies)):
            p.expect(found[i], p.truth.composite_inertia(i))


def test_articulated_inertias():
    for seed in range(40):
        rng = np.random.default_rng([seed, 21])
        m = random_mechanism(rng, 1 + seed % 7, mimics=0)
        q, _ = m.random_state(rng)
        found = kt.articulated_inertias(m.build(), q, target="eager")
        for i in range(len(m.bodies)):
            truth = articulated_inertia(m, q, i)
            tolerance = 1e-13 * max(condition(Lagrangian(m, q).mass_matrix), condition(truth))
            assert_close(found[i], truth, tolerance, what=f"tree {seed}, body {i}")


def test_inverse_of_the_mass_matrix(pairs):
    for p in pairs:
        M = p.truth.mass_matrix
        x, tolerance = p.rng.normal(size=len(M)), 1e-14 * condition(M) + 1e-13
        p.expect(p.run("inverse_mass_matrix", p.q), np.linalg.inv(M), tolerance)
        p.expect(p.run("mass_matrix_solve", p.q, x), np.linalg.solve(M, x), tolerance)
        p.expect(p.run("mass_matrix_product", p.q, x), M @ x, scale=p.inertia_size)


def test_constraint_forces_are_the_rest_of_the_wrench():
    """S^T f = tau for a joint without gears; what is left of f has the constraint forces as components."""
    for seed in range(30):
        rng = np.random.default_rng([seed, 22])
        m: Mechanism = random_mechanism(rng, 1 + seed % 5, rotors=0, mimics=0, armatures=0)
        q, v = m.random_state(rng)
        a, model, truth = rng.normal(size=m.nv), m.build(), Lagrangian(m, q)
        wrenches, tau = truth.joint_wrenches(v, a), truth.inverse_dynamics(v, a)
        found = kt.constraint_forces(model, q, v, a, target="eager")
        for i, f in enumerate(wrenches):
            S, size = truth.jacobians[i][m.velocities(i)].T, float(np.abs(f).max())
            label = f"tree {seed}, body {i}"
            assert_close(S.T @ f, tau[m.velocities(i)], 1e-12, size, label)
            rest = f - S @ np.linalg.lstsq(S, f, rcond=None)[0]
            assert_close(np.linalg.norm(found[i]), np.linalg.norm(rest), 1e-12, size, label)
            assert not found[i][6 - S.shape[1] :].any(), label


def test_rotor_wrenches(pairs):
    """Newton and Euler for each rotor, in the axes of its placement, which do not turn with it."""
    for p in pairs:
        truth, m = p.truth, p.mechanism
        push = truth.acceleration(p.v, p.a)
        push[:, :3, 3] -= np.array(m.gravity)
        needed = moment_of(truth.T, truth.P, push)[len(m.bodies) : truth.real]
        expected = np.zeros((len(m.rotors), 6))
        for k, r in enumerate(m.rotors):
            carrier = m.bodies[r.body].parent
            base = truth.T[carrier] if carrier >= 0 else np.eye(4)
            expected[k] = to_body(base @ homogeneous(r.rotation, r.position), needed[k])
        p.expect(p.run("rotor_wrenches", p.q, p.v, p.a), expected, scale=10.0)
