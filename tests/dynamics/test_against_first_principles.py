"""Inverse dynamics, mass matrix and forward dynamics equal first principles on random mechanisms."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import scale
from tests.reference import newton_kkt
from tests.reference.lagrangian import Lagrangian
from tests.reference.measure import assert_close, condition
from tests.reference.mechanism import ALL_TYPES, Mechanism
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt

TREES, BLOCK = round(360 * scale()), 12


def state(m: Mechanism, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """q, v, a, f_ext."""
    q, v = m.random_state(rng)
    return q, v, rng.normal(size=m.nv), rng.normal(size=(len(m.bodies), 6))


def check(m: Mechanism, rng: np.random.Generator, label: str) -> None:
    q, v, a, f_ext = state(m, rng)
    model, truth = m.build(), Lagrangian(m, q)
    assert (model.nq, model.nv) == (m.nq, m.nv), label
    M, tau = truth.mass_matrix, truth.inverse_dynamics(v, a, f_ext)
    terms = (M @ a, truth.gravity_force, truth.external_force(f_ext), tau)  # tau may be less than its terms
    size = max((float(np.abs(t).max()) for t in terms if t.size), default=1.0)
    found = kt.inverse_dynamics(model, q, v, a, f_ext, target="eager")
    wrench = float(np.abs(truth.joint_wrenches(v, a, f_ext)).max(initial=0))  # of which tau is a projection
    assert_close(found, tau, 1e-13, max(size, wrench), f"{label}: tau")
    assert_close(kt.mass_matrix(model, q, target="eager"), M, 1e-13, what=f"{label}: M")
    found = kt.forward_dynamics(model, q, v, tau, f_ext, target="eager")
    spread = size / np.linalg.norm(M, 2) if m.nv else 1.0
    assert_close(found, a, 1e-14 * condition(M) + 1e-13, spread, f"{label}: a")


@pytest.mark.parametrize("block", range(max(1, TREES // BLOCK)))
def test_random_trees(block):
    for k in range(BLOCK):
        rng = np.random.default_rng([block, k, 1])
        check(random_mechanism(rng, 1 + (block + k) % 12), rng, f"tree {block}.{k}")


@pytest.mark.parametrize("kind", ALL_TYPES)
@pytest.mark.parametrize("rotors", [0.0, 1.0], ids=["plain", "rotors"])
def test_one_joint_type(kind, rotors):
    for k in range(4):
        rng = np.random.default_rng([ALL_TYPES.index(kind), k, 2])
        check(random_mechanism(rng, k + 1, types=(kind,), rotors=rotors, mimics=0), rng, f"{kind} {k}")


def test_mimic_joints_everywhere():
    for k in range(40):
        rng = np.random.default_rng([k, 3])
        types = ("revolute", "prismatic", "helical", "universal")
        check(random_mechanism(rng, 2 + k % 9, types=types, mimics=0.7, rotors=0.3), rng, f"mimic {k}")


def test_maximal_coordinates_agree():
    for k in range(25):
        rng = np.random.default_rng([k, 4])
        m = random_mechanism(rng, 1 + k % 8)
        q, v, tau, f_ext = state(m, rng)
        truth, _ = newton_kkt.forward_dynamics(m, q, v, tau, f_ext)
        found = kt.forward_dynamics(m.build(), q, v, tau, f_ext, target="eager")
        assert_close(found, truth, 1e-13 * condition(Lagrangian(m, q).mass_matrix), what=f"tree {k}")
