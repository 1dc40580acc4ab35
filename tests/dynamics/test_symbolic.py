"""Equations with symbols: exact identities, and numbers when numbers are put in."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from tests.reference.measure import assert_close

import kinetree as kt


def arm(links: int, skew: bool):
    """A chain with symbolic masses, lengths and inertias; its second joint turned if `skew`."""
    m, L, I = (sp.symbols(f"{name}1:{links + 1}", positive=True) for name in "mLI")
    builder = kt.ModelBuilder("arm", gravity=(0, -sp.Symbol("g"), 0))
    turned = ((1, 0, 0), (0, 0, -1), (0, 1, 0))
    straight = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    for k in range(links):
        pose = kt.Pose(turned if skew and k == 1 else straight, (L[k - 1] if k else 0, 0, 0))
        inertia = kt.Inertia(m[k], (L[k] / 2, 0, 0), ((0, 0, 0), (0, I[k], 0), (0, 0, I[k])))
        parent = f"link{k - 1}" if k else None
        builder.add_body(f"link{k}", parent, kt.Revolute((0, 0, 1)), placement=pose, inertia=inertia)
    q = np.array(sp.symbols(f"q1:{links + 1}", real=True), dtype=object)
    v = np.array(sp.symbols(f"v1:{links + 1}", real=True), dtype=object)
    return builder.build(), q, v, (*m, *L, *I, sp.Symbol("g"))


@pytest.mark.parametrize(("links", "skew"), [(2, False), (2, True), (3, False), (3, True)])
def test_christoffel_symbols_are_derivatives_of_the_mass_matrix(links, skew):
    model, q, _, _ = arm(links, skew)
    M = kt.mass_matrix(model, q, target="eager")
    gamma = kt.christoffel_symbols(model, q, target="eager")
    for i, j, k in np.ndindex(gamma.shape):
        slope = sp.diff(M[i, j], q[k]) + sp.diff(M[i, k], q[j]) - sp.diff(M[j, k], q[i])
        assert sp.simplify(sp.expand(sp.sympify(gamma[i, j, k]) - slope / 2)) == 0, (i, j, k)


@pytest.mark.parametrize("skew", [False, True])
def test_bias_and_energy(skew):
    model, q, v, _ = arm(2, skew)
    C = kt.coriolis_matrix(model, q, v, target="eager")
    bias = kt.bias_force(model, q, v, target="eager")
    gravity = kt.gravity_force(model, q, target="eager")
    potential = sp.sympify(kt.potential_energy(model, q, target="eager"))
    for k in range(2):
        assert sp.simplify(sp.diff(potential, q[k]) - gravity[k]) == 0
        assert sp.simplify((C @ v)[k] + gravity[k] - bias[k]) == 0
    kinetic = sp.sympify(kt.kinetic_energy(model, q, v, target="eager"))
    M = kt.mass_matrix(model, q, target="eager")
    assert sp.simplify(kinetic - (v @ M @ v) / 2) == 0


def test_symbols_become_numbers():
    model, q, v, parameters = arm(3, True)
    rng = np.random.default_rng(1)
    values = dict(zip((*parameters, *q, *v), rng.uniform(0.5, 1.5, len(parameters) + 6), strict=True))
    symbolic = kt.coriolis_matrix(model, q, v, target="eager")
    numbers = [[float(sp.sympify(e).subs(values)) for e in row] for row in symbolic]
    at = np.array([values[x] for x in q]), np.array([values[x] for x in v])
    gamma = kt.christoffel_symbols(model, q, target="eager")
    contracted = [[float(sp.sympify(g @ at[1]).subs(values)) for g in row] for row in gamma]
    assert_close(numbers, contracted, 1e-14)
