"""OPR-21: the algebra of estimation. Dynamics is filtering of a process that runs from the tips to the base.

    x = E_phi x + w        y = H x        w independent from body to body with covariance M

Every covariance is found exactly, from the factors of M, and once more by drawing numbers.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.measure import assert_close
from tests.soa.mechanisms import NAMES, run, state


def spread(A, root):
    """The covariance of A w when w = root e with uncorrelated unit numbers e."""
    found = A @ root
    return found @ found.T


@pytest.fixture(params=NAMES)
def case(request):
    s = state(request.param)
    roots = s.op.M.dense()
    values, vectors = np.linalg.eigh(roots)
    return s, vectors * np.sqrt(np.maximum(values, 0.0))


def test_covariance_of_the_process(case):
    """cov x = R on the diagonal, and cov y is the mass matrix."""
    s, root = case
    op = s.op
    x = spread(op.phi, root)
    size = float(np.abs(x).max(initial=1))
    for R, place in zip(op.R.blocks, op.places(op.R.rows)):
        assert_close(x[place, place], R, 1e-12, size)
    assert_close(spread(op.H @ op.phi, root), run(s, "mass_matrix", s.q), 1e-12, size)


def test_innovations_are_white(case):
    """What is new in each measurement, (1 - H psi K) y, is uncorrelated, with covariance D."""
    s, root = case
    op = s.op
    found = spread((1 - op.H @ op.psi @ op.K) @ op.H @ op.phi, root)
    assert_close(found, op.D.dense(), 1e-11, float(np.abs(op.R.dense()).max(initial=1)))
    assert_close(found, spread(op.H @ op.psi, root), 1e-11, float(np.abs(found).max(initial=1)))


def test_prediction_errors(case):
    """The filter x^ = E_phi (x^ + G (y - H x^)) errs by psi w, with covariance P, least of all gains."""
    s, root = case
    op = s.op
    y_of_w = op.H @ op.phi
    estimate = op.psi @ op.K @ y_of_w  # x^ = E_psi x^ + K y
    error_of_w = op.phi - estimate
    assert_close(error_of_w.dense(), op.psi.dense(), 1e-11, float(np.abs(op.phi.dense()).max(initial=1)))
    P = spread(op.psi, root)
    for block, place in zip(op.P.blocks, op.places(op.P.rows)):
        assert_close(P[place, place], block, 1e-11, float(np.abs(P).max(initial=1)))


def test_the_gain_is_optimal(case):
    """After a measurement the error covariance is taubar P; any other gain leaves more."""
    s, _ = case
    for P, G, H, D in zip(s.op.P.blocks, s.op.G.blocks, s.op.H.blocks, s.op.D.blocks):
        least = P - G @ D @ G.T
        other = G + s.rng.normal(size=G.shape)
        left = np.eye(len(P)) - other @ H
        excess = left @ P @ left.T - least
        expected = (other - G) @ D @ (other - G).T
        assert_close(excess, expected, 1e-11, float(np.abs(P).max() + np.abs(left @ P @ left.T).max()))


@pytest.mark.parametrize("name", ["arm7", "forest 1", "rotors 0", "mimic 2"])
def test_sampled(name):
    """Covariances of 20,000 samples: within six standard errors of R, the mass matrix and D."""
    s, count = state(name), 20_000
    w, x, y, new = s.op.noise(np.random.default_rng(7), count)
    assert w.shape == x.shape == (s.op.size(s.op.M.rows), count) and y.shape == new.shape

    def near(samples, truth):
        found = samples @ samples.T / count
        spreads = np.diag(truth)
        error = np.sqrt((np.outer(spreads, spreads) + truth**2) / count)  # of a product of two normal numbers
        assert (np.abs(found - truth) <= 6 * error + 1e-12 * np.abs(truth).max()).all()

    near(y, run(s, "mass_matrix", s.q))
    near(new, s.op.D.dense())
    near(x, (s.op.phi @ s.op.M @ s.op.phi.T).dense())
    for place, R in zip(s.op.places(s.op.R.rows), s.op.R.blocks):
        near(x[place], R)
