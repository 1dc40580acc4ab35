"""kinetree and Pinocchio agree wherever both have the model and the quantity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.reference.measure import assert_close, condition
from tests.reference.pinocchio_twin import TYPES, Twin
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt

pytest.importorskip("pinocchio")


class Both:
    """A random mechanism in both libraries, in one state."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([seed, 30])
        options = {"types": TYPES, "rotors": 0, "mimics": 0, "armatures": 0}
        self.m = random_mechanism(rng, 1 + seed % 12, **options)
        self.model, self.twin = self.m.build(), Twin(self.m)
        self.q, self.v = self.m.random_state(rng)
        self.a, self.f_ext = rng.normal(size=self.m.nv), rng.normal(size=(len(self.m.bodies), 6))
        self.anchored = any(b.parent < 0 and b.type == "fixed" for b in self.m.bodies)

    def run(self, name: str, *args: Any, **options: Any) -> Any:
        return getattr(kt, name)(self.model, *args, target="eager", **options)


@pytest.fixture(scope="module", params=range(40))
def both(request) -> Both:
    return Both(request.param)


def test_inverse_dynamics(both):
    args = both.q, both.v, both.a, both.f_ext
    assert_close(both.run("inverse_dynamics", *args), both.twin.inverse_dynamics(*args), 1e-12, scale=10.0)


def test_mass_matrix_and_forward_dynamics(both):
    M = both.twin.mass_matrix(both.q)
    assert_close(both.run("mass_matrix", both.q), M, 1e-12)
    args = both.q, both.v, both.a, both.f_ext
    truth = both.twin.forward_dynamics(*args)
    assert_close(both.run("forward_dynamics", *args), truth, 1e-13 * condition(M) + 1e-12)


def test_coriolis_matrix(both):
    """Pinocchio 4.1 forgets that the axes of a universal joint move: there its C v is not its own bias."""
    C, theirs = both.run("coriolis_matrix", both.q, both.v), both.twin.coriolis_matrix(both.q, both.v)
    size = float(np.abs(C).max(initial=1))
    none = np.zeros_like(both.f_ext)
    moving = both.twin.inverse_dynamics(both.q, both.v, 0 * both.a, none)
    bias = moving - both.twin.inverse_dynamics(both.q, 0 * both.v, 0 * both.a, none)
    assert_close(C @ both.v, bias, 1e-12, scale=max(size, float(np.abs(moving).max(initial=1))))
    if not any(b.type == "universal" for b in both.m.bodies):
        assert_close(C, theirs, 1e-12, scale=size)


def test_energies_and_momentum(both):
    kinetic, potential = both.twin.energies(both.q, both.v)
    assert_close(both.run("kinetic_energy", both.q, both.v), kinetic, 1e-12)
    if both.anchored:  # Pinocchio leaves out what never moves
        return
    weight = 10 * both.model.total_mass
    assert_close(both.run("potential_energy", both.q), potential, 1e-12, scale=weight)
    assert_close(both.run("center_of_mass", both.q), both.twin.center_of_mass(both.q), 1e-12, scale=1.0)
    A = both.twin.centroidal_matrix(both.q)
    size = float(np.abs(A).max(initial=1))
    assert_close(both.run("centroidal_momentum_matrix", both.q), A, 1e-12, scale=size)
    h = both.twin.centroidal_momentum(both.q, both.v)
    assert_close(both.run("centroidal_momentum", both.q, both.v), h, 1e-12, scale=size)


def test_placements_and_jacobians(both):
    T = both.run("placements", both.q)
    for i, name in enumerate(both.m.names):
        assert_close(T[i], both.twin.placement(both.q, i), 1e-13)
        for reference in ("body", "world", "aligned"):
            found = both.run("jacobian", both.q, frame=name, reference=reference)
            assert_close(found, both.twin.jacobian(both.q, i, reference), 1e-12, scale=1.0)
