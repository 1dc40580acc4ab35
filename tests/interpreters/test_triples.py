"""COR-16: results for triples of velocities on one path, packed in the same order by every interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt


def spread(model: kt.Model, values: np.ndarray) -> np.ndarray:
    """The symbols with all their zeros."""
    dense = np.zeros((model.nv,) * 3)
    dense[tuple(model.christoffel_sparsity().T)] = values
    return dense


@pytest.mark.parametrize("seed", range(3))
def test_loops_and_straight_code_write_to_the_same_places(seed):
    """With joints of several velocities, groups, fixed joints and several roots."""
    rng = np.random.default_rng([seed, 60])
    model = random_mechanism(rng, 6, roots=0.3).build()
    q, _ = model.random_state(rng)
    dense = kt.christoffel_symbols(model, q, target="eager")
    size = np.abs(dense).max()
    for mode in ("unrolled", "looped"):
        values = kt.compile(kt.christoffel_values, model, mode=mode)(q)
        assert np.abs(spread(model, values) - dense).max() <= 1e-13 * size, mode


def test_a_large_tree_has_few():
    """A binary tree of 1000 bodies: 10^9 symbols, of which 2 in 10,000 can differ from zero."""
    model = kt.zoo.tree(1000, 2)
    assert len(model.christoffel_sparsity()) < 3e-4 * model.nv**3
    small = kt.zoo.tree(15, 2)
    q, v = small.random_state(1)
    i, j, k = small.christoffel_sparsity().T
    C = np.zeros((small.nv, small.nv))
    np.add.at(C, (i, j), kt.christoffel_values(small, q) * v[k])
    assert np.allclose(C, kt.coriolis_matrix(small, q, v), atol=1e-13)


def test_models_without_velocities():
    nothing = kt.ModelBuilder("nothing").build()
    assert nothing.christoffel_sparsity().shape == (0, 3)
    assert kt.christoffel_values(nothing, np.zeros(0)).shape == (0,)
