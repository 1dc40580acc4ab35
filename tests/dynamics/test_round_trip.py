"""Forward dynamics undoes inverse dynamics, on a thousand random mechanisms of up to sixty bodies."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import scale
from tests.reference.measure import assert_close, condition
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt

BLOCKS, BLOCK = max(1, round(40 * scale())), 25


@pytest.mark.parametrize("block", range(BLOCKS))
def test_forward_dynamics_undoes_inverse_dynamics(block):
    for k in range(BLOCK):
        rng = np.random.default_rng([block, k, 5])
        # most trees are small; every block has one of up to 60 bodies
        bodies = int(rng.integers(20, 61)) if k == 0 else 1 + int(rng.integers(1, 12) * rng.random())
        m = random_mechanism(rng, bodies, rotors=0.1, mimics=0.1)
        model = m.build()
        q, v = m.random_state(rng)
        a, f_ext = rng.normal(size=m.nv), rng.normal(size=(bodies, 6))
        tau = kt.inverse_dynamics(model, q, v, a, f_ext, target="eager")
        back = kt.forward_dynamics(model, q, v, tau, f_ext, target="eager")
        # an error of eps in tau becomes one of eps |tau| / smallest eigenvalue in a
        M = kt.mass_matrix(model, q, target="eager")
        size = float(np.abs(tau).max() / np.linalg.norm(M, 2)) if m.nv else 1.0
        assert_close(back, a, 1e-14 * condition(M) + 1e-13, size, f"tree {block}.{k}")
