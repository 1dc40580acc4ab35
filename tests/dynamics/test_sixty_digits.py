"""Rounding: the same body on the same numbers with sixty digits is the truth, and floats stay close to it."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from tests.conftest import scale
from tests.reference.lagrangian import Lagrangian
from tests.reference.measure import condition, error
from tests.reference.mechanism import Mechanism
from tests.reference.precise import exact
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt

EPS = np.finfo(float).eps
BLOCKS, BLOCK = max(1, round(25 * scale())), 8


def sizes(m: Mechanism, truth: Lagrangian, v: np.ndarray, a: np.ndarray) -> tuple[float, float, float]:
    """The largest intermediate values: inertias, forces, rates of inertias."""
    composite = max(np.abs(truth.composite_inertia(i)).max() for i in range(len(m.bodies)))
    inertia = max(composite, np.abs(truth.mass_matrix).max())
    forces = max(np.abs(truth.joint_wrenches(v, a)).max(), inertia * np.abs(a).max())
    speed = np.abs(truth.body_velocities(v)).max(initial=1)
    return float(inertia), float(forces), float(inertia * max(1.0, speed))


@pytest.mark.parametrize("block", range(BLOCKS))
def test_rounding(block):
    for k in range(BLOCK):
        rng = np.random.default_rng([block, k, 40])
        m = random_mechanism(rng, 1 + int(rng.integers(5)), rotors=0.15)
        if not m.nv:
            continue
        model, (q, v) = m.build(), m.random_state(rng)
        a = rng.normal(size=m.nv)
        inertia, force, rate = sizes(m, Lagrangian(m, q), v, a)
        n = len(m.bodies) + len(m.rotors)
        with mpmath.workdps(60):
            Q, V, A = exact(q), exact(v), exact(a)
            M = kt.mass_matrix(model, Q, target="eager").astype(float)
            tau = kt.inverse_dynamics(model, Q, V, A, target="eager").astype(float)
            C = kt.coriolis_matrix(model, Q, V, target="eager").astype(float)
            moved = kt.forward_dynamics(model, Q, V, A, target="eager").astype(float)
        bound = 10 * n * EPS
        assert error(kt.mass_matrix(model, q, target="eager"), M, inertia) < bound, f"M, tree {block}.{k}"
        found = kt.inverse_dynamics(model, q, v, a, target="eager")
        assert error(found, tau, force) < bound, f"tau, tree {block}.{k}"
        assert error(kt.coriolis_matrix(model, q, v, target="eager"), C, rate) < bound, f"C, tree {block}.{k}"
        found = kt.forward_dynamics(model, q, v, a, target="eager")
        spread = force / float(np.linalg.norm(M, 2))
        assert error(found, moved, spread) < bound * condition(M), f"a, tree {block}.{k}"
