"""The identities between spatial operators, as the documents write them, on every shape of mechanism.

Each is evaluated twice: with the operators, and with the absolute values of their entries and every minus a
plus, which gives the size that rounding errors are measured against.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.reference.random_mechanism import random_mechanism
from tests.soa.mechanisms import NAMES, parents, path, state

import kinetree as kt
from kinetree.soa.operator import Identity

LETTERS = "E_phi phi phi_tilde H M E R P U D G K tau taubar E_psi psi psi_tilde Omega Upsilon"

IDENTITIES = """
OPR-2   phi @ (1 - E_phi) = one
OPR-2   (1 - E_phi) @ phi = one
OPR-3   phi_tilde = phi - 1
OPR-3   phi_tilde = E_phi @ phi
OPR-3   phi_tilde = phi @ E_phi
OPR-9   M = R - E_phi @ R @ E_phi.T
OPR-10  phi @ M @ phi.T = R + phi_tilde @ R + R @ phi_tilde.T
OPR-11  U = P @ H.T
OPR-11  D = H @ P @ H.T
OPR-11  G = P @ H.T @ D_inverse
OPR-11  K = E_phi @ G
OPR-11  tau = G @ H
OPR-11  taubar = 1 - tau
OPR-11  E_psi = E_phi @ taubar
OPR-11  psi @ (1 - E_psi) = one
OPR-11  psi_tilde = psi - 1
OPR-11  psi_tilde = psi @ E_psi
OPR-12  tau @ tau = tau
OPR-12  taubar @ taubar = taubar
OPR-12  H @ G = one_v
OPR-12  H @ taubar = 0 * H
OPR-12  taubar @ G = 0 * G
OPR-12  taubar @ P = P @ taubar.T
OPR-12  taubar @ P = taubar @ P @ taubar.T
OPR-13  M = P - E_psi @ P @ E_psi.T
OPR-13  M = P - E_phi @ P @ E_phi.T + K @ D @ K.T
OPR-15  1 - E_psi = 1 - E_phi + K @ H
OPR-15  (1 - E_psi) @ phi = 1 + K @ H @ phi
OPR-15  phi @ (1 - E_psi) = 1 + phi @ K @ H
OPR-15  (1 - E_phi) @ psi = 1 - K @ H @ psi
OPR-15  psi @ (1 - E_phi) = 1 - psi @ K @ H
OPR-15  (1 + H @ phi @ K) @ (1 - H @ psi @ K) = one_v
OPR-15  (1 - H @ psi @ K) @ H @ phi = H @ psi
OPR-15  phi @ K @ (1 - H @ psi @ K) = psi @ K
OPR-15  (1 + H @ phi @ K) @ H @ psi = H @ phi
OPR-15  psi @ K @ (1 + H @ phi @ K) = phi @ K
OPR-16  phi @ M @ phi.T = P + phi_tilde @ P + P @ phi_tilde.T + phi @ K @ D @ K.T @ phi.T
OPR-16  psi @ M @ psi.T = P + psi_tilde @ P + P @ psi_tilde.T
OPR-17  Omega = phi.T @ H.T @ inverse @ H @ phi
OPR-17  Omega = psi.T @ H.T @ D_inverse @ H @ psi
ABI-4   H @ phi @ M @ phi.T @ H.T = (1 + H @ phi @ K) @ D @ (1 + H @ phi @ K).T
ABI-4   mass = H @ phi @ M @ phi.T @ H.T
ABI-5   inverse = (1 - H @ psi @ K).T @ D_inverse @ (1 - H @ psi @ K)
ABI-5   inverse @ H @ phi @ M @ phi.T @ H.T = one_v
MOM     E @ phi @ M @ phi.T @ E.T = E @ R @ E.T
"""
TABLE = [line.split(maxsplit=1) for line in IDENTITIES.strip().split("\n")]


class Size:
    """The absolute values of a matrix; differences are sums, so that nothing cancels."""

    def __init__(self, A: Any):
        self.A = np.abs(A)

    def __matmul__(self, other: Size) -> Size:
        return Size(self.A @ other.A)

    def __add__(self, other: Any) -> Size:
        return Size(self.A + (other.A if isinstance(other, Size) else other * np.eye(len(self.A))))

    __sub__ = __radd__ = __rsub__ = __add__

    def __rmul__(self, factor: float) -> Size:
        return self

    @property
    def T(self) -> Size:
        return Size(self.A.T)


def letters(op: Any) -> dict[str, Any]:
    """Everything that an identity may name."""
    found = {name: getattr(op, name) for name in LETTERS.split()}
    found |= {"mass": op.mass_matrix, "inverse": op.inverse_mass_matrix, "D_inverse": op.D.inverse}
    return found | {"one": Identity(op, op.M.rows, op.M.rows), "one_v": Identity(op, op.D.rows, op.D.rows)}


@pytest.mark.parametrize("name", NAMES)
def test_identities(name):
    check(state(name).op)


def test_identities_on_random_mechanisms(cases, rng):
    for _ in range(cases(15)):
        mechanism = random_mechanism(rng, int(rng.integers(1, 9)))
        check(kt.operators(mechanism.build(), mechanism.random_state(rng)[0]))


def check(op: Any) -> None:
    """Every identity of the table, to rounding."""
    exact = letters(op)
    sizes = {letter: Size(A.dense()) for letter, A in exact.items()}
    for source, identity in TABLE:
        left, right = (eval(side, {}, exact).dense() for side in identity.split(" = "))
        size = max(np.max(eval(side, {}, sizes).A, initial=0.0) for side in identity.split(" = "))
        worst = np.max(np.abs(left - right), initial=0.0)
        assert worst <= 1e-13 * max(size, 1.0), f"{source}: {identity}: {worst / (size or 1):.1e}"


@pytest.mark.parametrize("name", NAMES)
def test_phi_is_the_product_along_the_path(name):
    """OPR-1, OPR-2: E_phi joins neighbours alone; phi(i, j) is nonzero between relatives alone."""
    s = state(name)
    dense, step, up = s.op.phi.dense(), s.op.E_phi.dense(), parents(s)
    index = s.op.places(s.op.M.rows)
    for j in range(1, len(up) + 1):
        for i in range(1, len(up) + 1):
            block = dense[index[i - 1], index[j - 1]]
            assert np.allclose(s.op.phi(i, j), block, rtol=0, atol=1e-14 * max(1, abs(block).max()))
            assert np.array_equal(s.op.phi.T(j, i), s.op.phi(i, j).T)
            if i not in path(s, j):
                assert not block.any() and not s.op.phi(i, j).any() and not s.op.psi(i, j).any()
            if up[j - 1] != i:
                assert not step[index[i - 1], index[j - 1]].any()
    expected = np.eye(len(dense))
    for j in range(1, len(up) + 1):
        product = np.eye(6 * len(s.model.nodes[j - 1].members))
        for inner, outer in zip(path(s, j)[1:], path(s, j)):
            product = step[index[inner - 1], index[outer - 1]] @ product
            expected[index[inner - 1], index[j - 1]] = product
    assert np.allclose(dense, expected, rtol=0, atol=1e-13 * np.abs(dense).max(initial=1))


@pytest.mark.parametrize("name", NAMES)
def test_nilpotent(name):
    """OPR-1, TOP-4: the depth of the tree of nodes is where the powers of E_phi and E_psi end."""
    s = state(name)
    depth = max(len(path(s, i + 1)) for i in range(len(s.model.nodes)))
    for E, resolvent in ((s.op.E_phi.dense(), s.op.phi), (s.op.E_psi.dense(), s.op.psi)):
        powers = [np.linalg.matrix_power(E, k) for k in range(depth + 1)]
        assert not powers[depth].any()
        assert np.allclose(sum(powers), resolvent.dense(), rtol=0, atol=1e-13 * np.abs(powers).max(initial=1))
    assert np.linalg.matrix_power(s.op.E_phi.dense(), depth - 1).any()


@pytest.mark.parametrize("name", NAMES)
def test_triangular(name):
    """E:S17: parents first, phi is upper triangular with ones on its diagonal; from the tips, lower."""
    op = state(name).op
    for A in (op.phi.dense(), op.psi.dense()):
        assert np.array_equal(np.tril(A), np.eye(len(A)))
        flipped = A[::-1, ::-1]
        assert np.array_equal(np.triu(flipped), np.eye(len(A)))


@pytest.mark.parametrize("name", NAMES)
def test_scatter_and_gather_are_the_matrices(name):
    """OPR-4, OPR-5, OPR-14: for vectors, for columns, and from the left."""
    s = state(name)
    x = s.rng.normal(size=(s.op.M.shape[0], 3))
    for A in (s.op.phi, s.op.phi.T, s.op.psi, s.op.psi.T, s.op.E_phi, s.op.K.T, s.op.Omega, s.op.H):
        dense = A.dense()
        size = 1e-13 * np.abs(dense).max(initial=1) * 6 * len(x)
        assert np.allclose(A @ x, dense @ x, rtol=0, atol=size)
        assert np.allclose(A @ x[:, 0], dense @ x[:, 0], rtol=0, atol=size)
        assert np.allclose(A.T.dense(), dense.T, rtol=0, atol=size)
        y = s.rng.normal(size=A.shape[0])
        assert np.allclose(y @ A, y @ dense, rtol=0, atol=size)


@pytest.mark.parametrize("name", NAMES)
def test_sparsity_of_the_mass_matrix(name):
    """OPR-22: coordinates of unrelated nodes do not couple; the pattern is that of phi."""
    s = state(name)
    mass = (s.op.H @ s.op.phi @ s.op.M @ s.op.phi.T @ s.op.H.T).dense()
    for i, one in enumerate(s.model.nodes, 1):
        for j, two in enumerate(s.model.nodes, 1):
            if i not in path(s, j) and j not in path(s, i):
                assert not mass[np.ix_(one.v_index, two.v_index)].any()
