"""LQR: Riccati equations are solved, unstable equilibria held, and the cost is the one that P says."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ArgumentError, SingularError


@pytest.mark.parametrize("n, m", [(1, 1), (4, 1), (6, 3), (14, 7)])
def test_riccati_equations(n, m):
    rng = np.random.default_rng(n)
    for _ in range(5):
        A, B = rng.normal(size=(n, n)), rng.normal(size=(n, m))
        root = rng.normal(size=(n, n))
        Q, R = root @ root.T, np.diag(rng.uniform(0.1, 2.0, m))
        P = kt.control.continuous_riccati(A, B, Q, R)
        K = np.linalg.solve(R, B.T @ P)
        residual = A.T @ P + P @ A - P @ B @ K + Q
        assert np.abs(residual).max() < 1e-9 * np.abs(P).max() * max(1, np.abs(A).max())
        assert np.linalg.eigvals(A - B @ K).real.max() < 0
        P = kt.control.discrete_riccati(A, B, Q, R)
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        assert np.abs(A.T @ P @ (A - B @ K) + Q - P).max() < 1e-8 * np.abs(P).max()
        assert np.abs(np.linalg.eigvals(A - B @ K)).max() < 1


def test_riccati_equations_against_scipy():
    linalg = pytest.importorskip("scipy.linalg")
    rng = np.random.default_rng(3)
    A, B, Q, R = rng.normal(size=(6, 6)), rng.normal(size=(6, 2)), np.eye(6), np.eye(2)
    np.testing.assert_allclose(
        kt.control.continuous_riccati(A, B, Q, R), linalg.solve_continuous_are(A, B, Q, R), rtol=1e-8
    )
    np.testing.assert_allclose(
        kt.control.discrete_riccati(A, B, Q, R), linalg.solve_discrete_are(A, B, Q, R), rtol=1e-8
    )


def test_what_cannot_be_controlled_is_said():
    with pytest.raises(SingularError, match="no stabilising solution"):
        kt.control.continuous_riccati(np.diag([1.0, 1.0]), np.array([[1.0], [0.0]]), np.eye(2), np.eye(1))
    with pytest.raises(SingularError, match="no stabilising solution"):
        kt.control.discrete_riccati(np.diag([2.0, 2.0]), np.array([[1.0], [0.0]]), np.eye(2), np.eye(1))


def upright():
    """A cart with a pole, and the position in which the pole stands."""
    cart = kt.zoo.cart_pole()
    heights = [kt.potential_energy(cart, np.array([0.0, angle])) for angle in (0.0, np.pi)]
    return cart, np.array([0.0, np.pi * float(np.argmax(heights))])


@pytest.mark.parametrize("dt", [None, 0.01])
def test_a_pole_is_balanced_by_its_cart_at_the_cost_that_was_promised(dt):
    cart, top = upright()
    motor = cart.joint_names[0]
    law = kt.control.LQR(cart, top, Q=[1.0, 10.0, 0.1, 0.1], R=0.05, actuated=[motor], dt=dt)
    assert np.all(law.gain[1] == 0)
    assert law.poles.real.max() < 0 if dt is None else np.abs(law.poles).max() < 1
    h = 1e-3 if dt is None else dt
    small = np.array([0.002, 0.003, 0.0, 0.0])
    run = kt.simulate(cart, top + small[:2], np.zeros(2), duration=20.0, dt=h, control=law, integrator="rk4")
    x = np.concatenate([run.q - top, run.v], -1)[:-1]
    u = run.tau[:-1, :1]
    spent = np.sum(x**2 * [1.0, 10.0, 0.1, 0.1]) + np.sum(u**2 * 0.05)
    spent *= h if dt is None else 1.0
    assert np.abs(x[-1]).max() < 1e-6
    np.testing.assert_allclose(spent, small @ law.cost @ small, rtol=1e-2)
    far = kt.simulate(
        cart, top + [0.3, 0.25], np.zeros(2), duration=15.0, dt=h, control=law, integrator="rk4", record=100
    )
    np.testing.assert_allclose(far.q[-1], top, atol=1e-3)


def test_without_control_it_falls():
    cart, top = upright()
    run = kt.simulate(cart, top + [0.0, 0.01], np.zeros(2), duration=5.0, dt=1e-3, record=100)
    assert np.abs(run.q[:, 1] - top[1]).max() > 1.0


def test_a_floating_base_is_held():
    """On the group: positions have 7 numbers, deviations 6."""
    builder = kt.ModelBuilder("box")
    builder.add_body(
        "box", "world", kt.Free(), inertia=kt.Inertia(2.0, (0.1, 0, 0), np.diag([0.1, 0.2, 0.25]))
    )
    box = builder.build()
    goal, _ = box.random_state(8)
    law = kt.control.LQR(box, goal, Q=10.0, R=0.1)
    start = box.integrate(goal, np.array([0.5, -0.4, 0.3, 0.2, 0.1, -0.3]))
    run = kt.simulate(box, start, np.zeros(6), duration=8.0, dt=1e-3, control=law, record=100)
    assert np.abs(box.difference(run.q[-1], goal)).max() < 1e-3


def test_a_posture_that_is_no_equilibrium_is_refused():
    cart, top = upright()
    with pytest.raises(ArgumentError, match="not an equilibrium"):
        kt.control.LQR(cart, top + [0.0, 0.5], actuated=[cart.joint_names[0]])
