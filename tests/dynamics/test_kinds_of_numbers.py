"""One body of each algorithm, run with floats, fifty digits, symbols, complex numbers and object arrays."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy as sp
from tests.conftest import share
from tests.reference.lagrangian import Lagrangian
from tests.reference.measure import assert_close, condition
from tests.reference.precise import exact, precise, precise_positions
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt


def largest(x) -> float:
    return float(max((abs(e) for e in np.asarray(x).ravel()), default=0))


@pytest.mark.parametrize("seed", share(range(16), 3))
def test_fifty_digits(seed):
    """With exact rotations the library and first principles agree to 45 digits; floats to what floats can."""
    rng = np.random.default_rng([seed, 6])
    m = random_mechanism(rng, 1 + seed % 6, roots=0.3)
    q, v = m.random_state(rng)
    a, f_ext = rng.normal(size=m.nv), rng.normal(size=(len(m.bodies), 6))
    with mpmath.workdps(50):
        Q, V, A, F = precise_positions(m, q), exact(v), exact(a), exact(f_ext)
        fine = precise(m)
        model, truth = fine.build(), Lagrangian(fine, Q)
        M, tau = truth.mass_matrix, truth.inverse_dynamics(V, A, F)
        unit = largest(M) * largest(A) + largest(tau) + largest(truth.gravity_force) + 1
        assert largest(kt.mass_matrix(model, Q, target="eager") - M) < 1e-45 * unit
        found = kt.inverse_dynamics(model, Q, V, A, F, target="eager")
        assert all(isinstance(t, mpmath.mpf) for t in found)
        assert largest(found - tau) < 1e-45 * unit
        back = kt.forward_dynamics(model, Q, V, tau, F, target="eager")
        assert largest(back - A) < 1e-45 * condition(M.astype(float)) * unit
    plain = m.build()
    found = kt.inverse_dynamics(plain, q, v, a, f_ext, target="eager")
    assert_close(found, tau.astype(float), 1e-14, float(unit))
    assert_close(kt.mass_matrix(plain, q, target="eager"), M.astype(float), 2e-14)


def test_pendulum_gives_the_textbook_equation():
    """(I + m L^2) theta'' = tau - m g L sin(theta)."""
    m, L, I, g, theta, rate, push = sp.symbols("m L I g theta theta_dot tau", real=True)
    builder = kt.ModelBuilder("pendulum")
    inertia = kt.Inertia(m, (0, -L, 0), ((0, 0, 0), (0, 0, 0), (0, 0, I)))
    builder.add_body("bob", None, kt.Revolute((0, 0, 1)), inertia=inertia, joint_name="hinge")
    model = builder.build().replace(gravity=(0, -g, 0))
    q, v = np.array([theta], dtype=object), np.array([rate], dtype=object)
    M = kt.mass_matrix(model, q, target="eager")
    assert sp.simplify(M[0, 0] - (I + m * L**2)) == 0
    a = kt.forward_dynamics(model, q, v, np.array([push], dtype=object), target="eager")
    assert sp.simplify(a[0] - (push - m * g * L * sp.sin(theta)) / (I + m * L**2)) == 0
    tau = kt.inverse_dynamics(model, q, v, a, target="eager")
    assert sp.simplify(tau[0] - push) == 0


def cart_pole():
    """The model of a pendulum on a cart, and its symbols."""
    symbols = sp.symbols("m1 m2 L I g x theta x_dot theta_dot f", real=True)
    m1, m2, L, I, g, *_ = symbols
    zero = ((0, 0, 0), (0, 0, 0), (0, 0, 0))
    builder = kt.ModelBuilder("cart-pole")
    builder.add_body("cart", None, kt.Prismatic((1, 0, 0)), inertia=kt.Inertia(m1, (0, 0, 0), zero))
    inertia = kt.Inertia(m2, (0, -L, 0), ((0, 0, 0), (0, 0, 0), (0, 0, I)))
    builder.add_body("pole", "cart", kt.Revolute((0, 0, 1)), inertia=inertia)
    return builder.build().replace(gravity=(0, -g, 0)), symbols


def test_cart_pole_gives_the_textbook_equations():
    """[m1+m2, m2 L c; m2 L c, I + m2 L^2] [x''; theta''] = [f + m2 L s theta'^2; -m2 g L s]."""
    model, (m1, m2, L, I, g, x, theta, x_dot, theta_dot, f) = cart_pole()
    q, v = np.array([x, theta], dtype=object), np.array([x_dot, theta_dot], dtype=object)
    c, s = sp.cos(theta), sp.sin(theta)
    M = sp.Matrix([[m1 + m2, m2 * L * c], [m2 * L * c, I + m2 * L**2]])
    right = sp.Matrix([f + m2 * L * s * theta_dot**2, -m2 * g * L * s])
    found = sp.Matrix(kt.mass_matrix(model, q, target="eager"))
    assert sp.simplify(found - M) == sp.zeros(2, 2)
    tau = np.array([f, 0], dtype=object)
    a = sp.Matrix(kt.forward_dynamics(model, q, v, tau, target="eager"))
    assert sp.simplify(M * a - right) == sp.zeros(2, 1)
    bias = kt.inverse_dynamics(model, q, v, np.array([0, 0], dtype=object), target="eager")
    assert sp.simplify(sp.Matrix(bias) - (sp.Matrix(tau) - right)) == sp.zeros(2, 1)


def test_symbols_become_numbers():
    """Symbolic equations, evaluated, equal the model with those numbers."""
    model, symbols = cart_pole()
    values = dict(zip(symbols, (1.3, 0.4, 0.7, 0.05, 9.0, 0.2, 0.9, -0.3, 1.1, 2.0), strict=True))
    q, v = np.array(symbols[5:7], dtype=object), np.array(symbols[7:9], dtype=object)
    tau = kt.inverse_dynamics(model, q, v, np.array([0, 0], dtype=object), target="eager")
    _, m2, L, _, g, _, theta, _, rate, _ = values.values()
    expected = [-m2 * L * np.sin(theta) * rate**2, m2 * g * L * np.sin(theta)]
    assert_close([float(t.subs(values)) for t in tau], expected, 1e-15)


@pytest.mark.parametrize("seed", range(8))
def test_complex_step_differentiates(seed):
    """Im f(q + i h e) / h is the exact derivative: of tau by a, of tau by v (twice: Christoffel symbols)."""
    rng = np.random.default_rng([seed, 7])
    m = random_mechanism(rng, 2 + seed % 5)
    model = m.build()
    q, v = m.random_state(rng)
    a, h, n = rng.normal(size=m.nv), 1e-30, m.nv
    truth = Lagrangian(m, q)
    by_a, by_v = np.zeros((n, n)), np.zeros((n, n))
    for k in range(n):
        step = 1j * h * np.eye(n)[k]
        by_a[:, k] = kt.inverse_dynamics(model, q, v, a + step, target="eager").imag / h
        by_v[:, k] = kt.inverse_dynamics(model, q, v + step, a, target="eager").imag / h
    assert_close(by_a, truth.mass_matrix, 1e-12)
    gamma = truth.christoffel
    size = max(np.abs(gamma).max(), np.abs(truth.mass_matrix).max())
    assert_close(by_v, (gamma + gamma.transpose(0, 2, 1)) @ v, 1e-12, size)


@pytest.mark.parametrize("seed", range(4))
def test_complex_positions_differentiate_energy(seed):
    """dU/dq by complex step is the gravity force, for joints whose velocities are rates."""
    rng = np.random.default_rng([seed, 8])
    types = ("revolute", "prismatic", "helical", "cylindrical", "universal", "planar")
    m = random_mechanism(rng, 5, types=types)
    model = m.build()
    q, v = m.random_state(rng)
    h, n, M = 1e-30, m.nv, Lagrangian(m, q)
    rate = np.zeros((n, n))
    for k in range(n):
        moved = kt.mass_matrix(model, q + 1j * h * np.eye(n)[k], target="eager").imag / h
        rate += moved * v[k]
    assert_close(rate, M.mass_rate(v), 1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_object_arrays_of_floats(seed):
    rng = np.random.default_rng([seed, 9])
    m = random_mechanism(rng, 5)
    model = m.build()
    q, v = m.random_state(rng)
    a = rng.normal(size=m.nv)
    plain = kt.inverse_dynamics(model, q, v, a, target="eager")
    boxed = kt.inverse_dynamics(model, q.astype(object), v.astype(object), a.astype(object), target="eager")
    assert_close(boxed.astype(float), plain, 1e-15)
