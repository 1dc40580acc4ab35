"""Every identity between operators, articulated bodies and forces on random mechanisms of every kind.

The laws of the table are measured by `kt.identities`; forces and articulated bodies are checked against other
routes of the library. A few mechanisms in every run, 500 in the long one.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
from tests.reference.measure import assert_close, condition, error
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt
from kinetree.alternatives.routes import forward_dynamics_gauss
from kinetree.alternatives.system import System
from kinetree.errors import ModelError
from kinetree.soa.rules import Law, laws

TOLERANCE = 1e-12  # relative to the sizes of what is added up; 1e-10 is asked for


def test_every_law_on_random_mechanisms(cases, rng):
    for _ in range(cases(15)):
        check(random_mechanism(rng, int(rng.integers(1, 9))), rng)


@pytest.mark.long
def test_every_law_on_500_mechanisms():
    rng = np.random.default_rng(2011)
    for _ in range(500):
        check(random_mechanism(rng, int(rng.integers(1, 11))), rng)


def check(mechanism, rng):
    model, (q, v) = mechanism.build(), mechanism.random_state(rng)
    for row in kt.identities(model, q):
        assert row.residual <= TOLERANCE, f"{row.source} {row.text}: {row.residual:.1e}"
    op = kt.operators(model, q, v)
    qdd, f_ext = rng.normal(size=model.nv), rng.normal(size=(model.nbodies, 6))
    check_forces(model, op, q, v, qdd, f_ext)
    check_articulated(model, op, q)


def gravity(model):
    return np.concatenate([np.zeros(3), -np.array(model.gravity, float)])


def check_forces(model, op, q, v, qdd, f_ext):
    """FRC-1, FRC-2, FRC-8, FRC-9: the force through the joints five ways, into the ground, as multipliers."""
    g = gravity(model)
    own = op.H.T @ qdd + op.a
    alpha_plus = op.phi.T @ (op.E_phi.T @ own + op.E.T @ g)  # of the predecessor, seen at the body
    alpha = alpha_plus + own
    b = op.b - op.B(model.body_names) @ f_ext.ravel()
    f = op.phi @ (op.M @ alpha + b)
    tau = op.H @ f
    z = op.psi @ (op.K @ tau + op.P @ op.a + b)
    z_plus = z + op.G @ (tau - op.H @ z)
    y = op.phi @ b + op.phi_tilde @ (op.R @ own)
    size = _size(op, alpha, b)
    assert_close(op.P @ (alpha - op.a) + z, f, 1e-10, size, "P (alpha - a) + z")
    assert_close(op.taubar @ (op.P @ alpha_plus) + z_plus, f, 1e-10, size, "P+ alpha+ + z+")
    assert_close(op.R @ alpha + y, f, 1e-10, size, "R alpha + y")
    run = {"target": "eager"}
    assert_close(tau, kt.inverse_dynamics(model, q, v, qdd, f_ext, **run), 1e-10, size, "tau")
    assert_close(op.E @ f, kt.base_reaction(model, q, v, qdd, f_ext, **run), 1e-10, size, "ground")
    if all(len(node.members) == 1 for node in model.nodes):
        wrenches = kt.joint_wrenches(model, q, v, qdd, f_ext, **run)
        assert_close(f.reshape(-1, 6), wrenches, 1e-10, size, "wrenches")
    a, multipliers = forward_dynamics_gauss(System(model, q, v, f_ext), tau)
    bound = 1e-10 * max(1.0, condition(op.mass_matrix.dense()))
    assert_close(a, qdd, bound, float(np.abs(own).max(initial=1)), "Gauss' accelerations")
    assert_close(multipliers, f, bound, size, "multipliers")


def _size(op, alpha, b):
    """What rounding errors of forces are measured against: all forces of a kind, added up."""
    inertias = max((float(np.abs(R).max()) for R in op.blocks.R), default=1.0)
    reach = max((float(np.abs(X).max(initial=0)) for X in op.blocks.X), default=1.0) ** 2
    return max(1.0, reach * (inertias * float(np.abs(alpha).max(initial=0)) + float(np.abs(b).sum())))


def check_articulated(model, op, q):
    """ABI-1, ABI-3, ABI-6, ABI-7: symmetric, between M and R, its determinant that of the mass matrix."""
    for M, P, R in zip(op.blocks.I, op.blocks.P, op.blocks.R, strict=True):
        size = np.abs(R).max()
        assert error(P, P.T) <= 1e-13
        assert np.linalg.eigvalsh(P - M).min() >= -1e-11 * size
        assert np.linalg.eigvalsh(R - P).min() >= -1e-11 * size
    mass = kt.mass_matrix(model, q, target="eager")
    logdet = sum(np.linalg.slogdet(D)[1] for D in op.D.blocks)
    assert_close(logdet, np.linalg.slogdet(mass)[1], 1e-10 * condition(mass), 1.0, "log det")


def test_the_table_names_every_identity():
    """OPR-8 to OPR-20 and ABI-4, ABI-5 are all there."""
    named = {law.source for law in laws()}
    assert {f"OPR-{k}" for k in range(8, 21)} <= named and {"ABI-4", "ABI-5", "INR-2", "INR-3"} <= named


def test_a_wrong_law_is_seen(monkeypatch):
    """The measure is not blind: a decomposition that holds on chains alone fails on trees (E:S18)."""
    decomposed = "Upsilon + psi_tilde.T @ Upsilon + Upsilon @ psi_tilde"
    serial = Law("OPR-19", "chains alone", "Omega", decomposed, "=")
    monkeypatch.setattr(sys.modules["kinetree.soa.identities"], "laws", lambda: (serial,))
    assert kt.identities(kt.zoo.chain(5)).worst < 1e-14
    assert kt.identities(kt.zoo.quadruped()).worst > 1e-3


def test_too_large():
    with pytest.raises(ModelError, match="too many for dense matrices"):
        kt.identities(kt.zoo.chain(600))


def test_printed():
    text = str(kt.identities(kt.zoo.double_pendulum()))
    assert text.startswith("identities on 'double_pendulum', worst ")
    assert len(text.splitlines()) == 1 + len(laws())
    for source in (f"OPR-{k} " for k in range(8, 21)):
        assert source in text
