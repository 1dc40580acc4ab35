"""The operational space operator: blocks at nearest common ancestors, and what holds for chains alone."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import share
from tests.reference.measure import assert_close, error
from tests.soa.mechanisms import NAMES, path, run, state

import kinetree as kt


def related(s) -> bool:
    """True if every node carries, or is carried by, every other: a chain."""
    n = len(s.model.nodes)
    return len(path(s, n)) == n


@pytest.mark.parametrize("name", NAMES)
def test_upsilon_is_the_diagonal(name):
    """OPR-18."""
    op = state(name).op
    dense = op.Omega.dense()
    for Y, place in zip(op.Upsilon.blocks, op.places(op.Omega.rows)):
        assert_close(Y, dense[place, place], 1e-12, float(np.abs(dense).max(initial=0)))


@pytest.mark.parametrize("name", NAMES)
def test_blocks(name):
    """OPR-19, E:S18: Omega(i, j) at the nearest common ancestor; zero where there is none."""
    s = state(name)
    dense, index = s.op.Omega.dense(), s.op.places(s.op.Omega.rows)
    size = float(np.abs(dense).max(initial=0))
    for i in range(1, len(index) + 1):
        for j in range(1, len(index) + 1):
            assert_close(s.op.Omega(i, j), dense[index[i - 1], index[j - 1]], 1e-12, size)
            if path(s, i)[-1] != path(s, j)[-1]:
                assert not s.op.Omega(i, j).any()


@pytest.mark.parametrize("name", NAMES)
def test_decomposition_holds_for_chains(name):
    s, op = state(name), state(name).op
    serial = op.Upsilon + op.psi_tilde.T @ op.Upsilon + op.Upsilon @ op.psi_tilde
    if related(s):
        assert_close(serial.dense(), op.Omega.dense(), 1e-12)


def test_decomposition_fails_on_trees():
    """E:S18: bodies of different branches move each other, which the serial decomposition leaves out."""
    model = kt.zoo.quadruped()
    op = kt.operators(model, model.random_state(np.random.default_rng(3))[0])
    serial = op.Upsilon + op.psi_tilde.T @ op.Upsilon + op.Upsilon @ op.psi_tilde
    assert error(serial.dense(), op.Omega.dense()) > 1e-2
    leaves = [k for k in range(1, model.nbodies + 1) if not model.children(k)]
    assert op.Omega(leaves[0], leaves[1]).any()
    assert not serial(leaves[0], leaves[1]).any()


@pytest.mark.parametrize("name", share(NAMES, 2))
def test_operational_space_inertia(name):
    """OPR-20: Lambda^-1 = B^T Omega B = J M^-1 J^T."""
    s, op = state(name), state(name).op
    frames = [*s.model.body_names][-3:]
    inverse = op.Omega.between(op.B(frames))
    Lambda, truth = run(s, "operational_space_inertia", s.q, frames)
    assert_close(inverse, truth, 1e-12)
    assert_close(inverse, (op.B(frames).T @ op.Omega @ op.B(frames)).dense(), 1e-12)
    assert_close(inverse @ Lambda @ inverse, inverse, 1e-8)
