"""The tables of the thesis, as far as they are right: geared chains and trees of thin tubes (E:T30-T32)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.reference.lagrangian import Lagrangian
from tests.reference.measure import assert_close, condition
from tests.reference.mechanism import Body, Mass, Mechanism, Rotor

import kinetree as kt

Z, RATIO, SPIN = np.array([0, 0, 1.0]), 5.0, 1.0
SIZES = (5, 10, 15)


def rig(n: int, branching: int) -> Mechanism:
    """Tubes of 1 kg and 1 m on parallel axes; a rotor of 0.5 kg and 1 kg m^2 at each joint."""
    tube = Mass(1.0, np.array([0.5, 0, 0]), np.diag([0.0025, 1.015 / 12, 1.015 / 12]))
    wheel = Mass(0.5, np.zeros(3), np.diag([SPIN / 2, SPIN / 2, SPIN]))
    bodies, rotors = [], []
    for i in range(1, n + 1):
        parent = (i - 2 + math.ceil(branching)) // branching if i > 1 else 0
        at = np.array([1.0 if parent else 0.0, 0, 0])
        bodies.append(Body(parent - 1, "revolute", np.eye(3), at, tube, Z, Z))
        rotors.append(Rotor(i - 1, np.eye(3), at, wheel, Z, (RATIO,)))
    return Mechanism(tuple(bodies), tuple(rotors))


def without_rotors(m: Mechanism, reflected: bool) -> Mechanism:
    """Rotors dropped, or replaced by the square of the ratio times their spin inertia."""
    extra = RATIO**2 * SPIN if reflected else 0.0
    return Mechanism(tuple(replace(b, armature=extra) for b in m.bodies))


def differences(n: int, branching: int, rate: float) -> tuple[float, float, float]:
    """Largest differences of accelerations: exact - plain, exact - reflected, reflected - plain."""
    m = rig(n, branching)
    q = tau = np.arange(1.0, n + 1)
    found = []
    for each in (m, without_rotors(m, False), without_rotors(m, True)):
        truth = Lagrangian(each, q)
        a = kt.forward_dynamics(each.build(), q, np.full(n, rate), tau, target="eager")
        expected = truth.forward_dynamics(np.full(n, rate), tau)
        assert_close(a, expected, 1e-14 * condition(truth.mass_matrix) + 1e-13)
        found.append(a)
    exact, plain, reflected = found
    return tuple(float(np.abs(d).max()) for d in (exact - plain, exact - reflected, reflected - plain))  # type: ignore


# rows: exact - plain, exact - reflected (both corrected), reflected - plain (as printed, where it is right)
TABLES = {
    "4.3, serial": (1, 0.0, ((23.17, 39.27, 57.94), (0.058, 0.159, 0.186), (23.15, 39.18, 57.79))),
    "4.4, branching": (2, 0.0, ((28.18, 79.66, 179.41), (0.071, 0.152, 0.253), (28.19, 79.69, 179.47))),
    "4.5, moving": (1, math.pi / 2, ((83.37, 171.67, 773.59), (0.66, 8.38, 27.34), (83.45, 172.48, 799.14))),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("column", range(3), ids=[f"n={n}" for n in SIZES])
def test_tables(name, column):
    branching, rate, rows = TABLES[name]
    found = differences(SIZES[column], branching, rate)
    for value, row in zip(found, rows, strict=True):
        digits = 3 if row[0] < 0.1 else 2
        assert abs(value - row[column]) <= 0.51 * 10**-digits + 1e-9, (value, row[column])


@pytest.mark.parametrize("n", SIZES)
def test_table_41_round_trip(n):
    """Forward and then inverse dynamics with rotors give the torques back."""
    m, rng = rig(n, 1), np.random.default_rng(n)
    q, v, tau = np.arange(1.0, n + 1), rng.normal(size=n), np.arange(1.0, n + 1)
    model = m.build()
    a = kt.forward_dynamics(model, q, v, tau, target="eager")
    back = kt.inverse_dynamics(model, q, v, a, target="eager")
    assert_close(back, tau, 1e-13, scale=float(np.abs(a).max()))


@pytest.mark.parametrize("n", SIZES)
def test_table_42_rotors_without_inertia(n):
    m = rig(n, 1)
    nothing = Mass(0.0, np.zeros(3), np.zeros((3, 3)))
    idle = replace(m, rotors=tuple(replace(r, mass=nothing) for r in m.rotors))
    q = tau = np.arange(1.0, n + 1)
    a = kt.forward_dynamics(idle.build(), q, 0 * q, tau, target="eager")
    plain = kt.forward_dynamics(without_rotors(m, False).build(), q, 0 * q, tau, target="eager")
    assert_close(a, plain, 1e-12)


@pytest.mark.parametrize("n", [5, 12])
def test_auto_tree_of_the_zoo_is_this_rig(n):
    q = np.arange(1.0, n + 1)
    for branching in (1, 2):
        here = Lagrangian(without_rotors(rig(n, branching), False), q).mass_matrix
        model = kt.zoo.auto_tree(n, branching, 0.0, 1.0)
        assert_close(kt.mass_matrix(model, q, target="eager"), here, 1e-13)


@pytest.mark.parametrize("n", [5, 12])
def test_geared_tree_of_the_zoo_is_this_rig(n):
    q, v = np.arange(1.0, n + 1), np.full(n, math.pi / 2)
    for branching in (1, 2):
        truth = Lagrangian(rig(n, branching), q)
        model = kt.zoo.geared_tree(n, branching)
        assert_close(kt.mass_matrix(model, q, target="eager"), truth.mass_matrix, 1e-13)
        found = kt.forward_dynamics(model, q, v, q, target="eager")
        assert_close(found, truth.forward_dynamics(v, q), 1e-13 * condition(truth.mass_matrix))
