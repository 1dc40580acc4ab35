"""General influence matrices: the examples of Concurrent Dynamics."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ModelError, ShapeError
from kinetree.model.topology import Topology
from kinetree.soa import InfluenceMatrix

FIGURE_2 = [0, 1, 1, 3, 3, 5, 4, 7, 1, 9]


@pytest.fixture
def A(rng):
    """Blocks A[1] ... A[10]."""
    return [None, *rng.normal(size=(10, 3, 3))]


def test_figure_2(A):
    """OPR-6: the closed forms printed for ten bodies, and nilpotency 5."""
    influence = InfluenceMatrix(FIGURE_2, A[1:])
    Psi = influence.Psi
    printed = {
        (4, 1): A[4] @ A[3], (6, 1): A[6] @ A[5] @ A[3], (6, 3): A[6] @ A[5],
        (7, 1): A[7] @ A[4] @ A[3], (8, 1): A[8] @ A[7] @ A[4] @ A[3], (8, 3): A[8] @ A[7] @ A[4],
        (8, 4): A[8] @ A[7], (9, 1): A[9], (10, 1): A[10] @ A[9], (10, 9): A[10],
    }  # fmt: skip
    for (i, j), block in printed.items():
        assert np.allclose(Psi(i, j), block, rtol=1e-13)
        assert np.allclose(Psi.dense()[3 * i - 3 : 3 * i, 3 * j - 3 : 3 * j], block, rtol=1e-12)
    assert not Psi(5, 4).any() and not Psi(1, 8).any() and not Psi(10, 3).any()
    assert influence.nilpotency == 5
    Phi = influence.Phi.dense()
    assert not np.linalg.matrix_power(Phi, 5).any() and np.linalg.matrix_power(Phi, 4).any()
    assert np.allclose(sum(np.linalg.matrix_power(Phi, k) for k in range(5)), Psi.dense(), rtol=1e-12)
    assert np.array_equal(Psi.inverse.dense(), np.eye(30) - Phi)
    assert np.array_equal(Psi.T.inverse.dense(), np.eye(30) - Phi.T)


def test_body_sets_of_figure_2():
    """TOP-3: the sets are where Psi is not zero: paths along rows, branches along columns."""
    Psi = InfluenceMatrix(FIGURE_2, np.ones((10, 1, 1))).Psi.dense()
    row = {i: {j + 1 for j in np.flatnonzero(Psi[i - 1])} for i in range(1, 11)}
    column = {j: {i + 1 for i in np.flatnonzero(Psi[:, j - 1])} for j in range(1, 11)}
    assert row[6] == {6, 5, 3, 1} and row[5] - {5} == {3, 1} and row[10] == {10, 9, 1}
    assert column[3] == {3, 4, 5, 6, 7, 8} and column[4] == {4, 7, 8} and column[2] == {2}
    assert Topology(FIGURE_2).children[1] == (2, 3, 9)


def test_star_and_chain(rng):
    """TOP-4: nilpotency 2 gives Psi = e + Phi; a chain has nilpotency N."""
    star = InfluenceMatrix([0, *[1] * 6], rng.normal(size=(7, 2, 2)))
    assert star.nilpotency == 2
    assert np.array_equal(star.Psi.dense(), (1 + star.Phi).dense())
    assert InfluenceMatrix(range(6), rng.normal(size=(6, 2, 2))).nilpotency == 6
    assert InfluenceMatrix([0, 0, 0], np.ones((3, 1, 1))).nilpotency == 1
    assert InfluenceMatrix([], []).Psi.shape == (0, 0)


def test_parts_of_mixed_sizes(rng):
    """TOP-8: the parts of a stacked vector may differ in length."""
    blocks = [np.zeros((1, 0)), rng.normal(size=(2, 1)), rng.normal(size=(3, 2)), rng.normal(size=(2, 1))]
    influence = InfluenceMatrix([0, 1, 2, 1], blocks)
    assert influence.Psi.shape == (8, 8)
    assert np.allclose(influence.Psi(3, 1), blocks[2] @ blocks[1])
    x = rng.normal(size=8)
    assert np.allclose(influence.Psi @ x, np.linalg.solve(np.eye(8) - influence.Phi.dense(), x))
    assert np.allclose(influence.Psi.T @ x, np.linalg.solve(np.eye(8) - influence.Phi.dense().T, x))


def block_diagonal(blocks):
    found = np.zeros((3 * len(blocks),) * 2)
    for k, block in enumerate(blocks):
        found[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = block
    return found


def test_lyapunov_equations(A, rng):
    """R - Phi^T R Phi is the given diagonal; the backward one fills the diagonal of Psi Q Psi^T."""
    influence = InfluenceMatrix(FIGURE_2, A[1:])
    blocks = [b + b.T for b in rng.normal(size=(10, 3, 3))]
    Q, R = (block_diagonal(parts) for parts in (blocks, influence.gathered(blocks)))
    Phi, Psi = influence.Phi.dense(), influence.Psi.dense()
    assert np.allclose(R - Phi.T @ R @ Phi, Q, rtol=0, atol=1e-10)
    whole = Psi @ Q @ Psi.T
    for k, Y in enumerate(influence.scattered(blocks)):
        place = slice(3 * k, 3 * k + 3)
        assert np.allclose(Y, whole[place, place], rtol=1e-10, atol=1e-10)


def test_of_a_model():
    model = kt.zoo.tree(7, 2)
    influence = InfluenceMatrix(model, np.ones((7, 1, 1)))
    assert influence.nilpotency == model.depth
    relations = [[model.is_ancestor(j, i) for j in range(1, 8)] for i in range(1, 8)]
    assert np.array_equal(influence.Psi.dense().astype(bool), relations)


def test_refusals(A):
    with pytest.raises(ModelError, match="parent of body 2 is 2"):
        InfluenceMatrix([0, 2], A[1:3])
    with pytest.raises(ShapeError, match="10 blocks were given for 3 bodies"):
        InfluenceMatrix([0, 1, 2], A[1:])
    with pytest.raises(ShapeError, match=r"block 2 has shape \(3, 2\), but needs 3 columns, for body 1"):
        InfluenceMatrix([0, 1], [A[1], A[2][:, :2]])
    with pytest.raises(ShapeError, match=r"numbered 1 \.\.\. 10"):
        InfluenceMatrix(FIGURE_2, A[1:]).Psi(11, 1)
