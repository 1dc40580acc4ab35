"""Compiled code gives what first principles give, for one state and for batches."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import scale
from tests.reference.lagrangian import Lagrangian
from tests.reference.measure import assert_close, condition
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt

BATCH = 5


@pytest.mark.parametrize("seed", range(max(1, round(12 * scale()))))
def test_batches_of_states(seed):
    rng = np.random.default_rng([seed, 50])
    m = random_mechanism(rng, 1 + seed % 6)
    model, states = m.build(), [m.random_state(rng) for _ in range(BATCH)]
    q, v = np.array([s[0] for s in states]), np.array([s[1] for s in states])
    a, f_ext = rng.normal(size=(BATCH, m.nv)), rng.normal(size=(BATCH, len(m.bodies), 6))
    truth = [Lagrangian(m, row) for row in q]
    tau = np.array([t.inverse_dynamics(*rest) for t, *rest in zip(truth, v, a, f_ext, strict=True)])
    M = np.array([t.mass_matrix for t in truth])
    size = float(max(np.abs(M @ a[:, :, None]).max(initial=1), np.abs(tau).max(initial=1)))
    assert_close(kt.inverse_dynamics(model, q, v, a, f_ext), tau, 1e-13, size)
    assert_close(kt.mass_matrix(model, q), M, 1e-13)
    worst, spread = max(map(condition, M)), size / float(np.abs(M).max(initial=1e-300)) if m.nv else 1.0
    assert_close(kt.forward_dynamics(model, q, v, tau, f_ext), a, 1e-14 * worst + 1e-13, spread)
    assert_close(kt.inverse_dynamics(model, q[0], v[0], a[0], f_ext[0]), tau[0], 1e-13, size)
