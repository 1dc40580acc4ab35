"""How attitude changes: every rate is the derivative of its representation along R exp(omega~ t)."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
from tests.spatial.kinds import KINDS, TOLERANCE, derivative, difference, residual
from tests.spatial.samples import quaternions, rotation_vectors

from kinetree import textbook
from kinetree.spatial import Rotation
from kinetree.spatial import vector as vec
from kinetree.spatial.quaternion import (
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_normalized,
    quaternion_product,
)

RATES = {
    "quaternion": (textbook.quaternion_rate, textbook.quaternion_omega),
    "rotation_vector": (textbook.rotvec_rate, textbook.rotvec_omega),
    "rodrigues": (textbook.rodrigues_rate, textbook.rodrigues_omega),
    "mrp": (textbook.mrp_rate, textbook.mrp_omega),
}
LARGEST = {
    "rodrigues": 3.0,
    "rotation_vector": math.pi - 1e-3,
    "mrp": math.pi - 1e-3,
    "quaternion": math.pi - 1e-3,
}


@pytest.mark.parametrize("name", RATES)
@pytest.mark.parametrize("frame", ("body", "world"))
class TestEachRepresentation:
    def test_rate_is_the_derivative_along_the_motion(self, name, frame, rng):
        """ATT-7, ATT-8, ATT-9, E:S4: d/dt of the representation of R exp(w~ t), or of exp(w~ t) R."""
        rate, _ = RATES[name]
        for u in rotation_vectors(rng, LARGEST[name]):
            R, omega = Rotation.from_rotation_vector(u), rng.standard_normal(3)

            def moved(t, R=R, omega=omega):
                step = Rotation.from_rotation_vector([w * t for w in omega])
                return getattr(R @ step if frame == "body" else step @ R, f"as_{name}")()

            expected = derivative(moved, (0.0,), (1.0,))
            value = np.array(rate(getattr(R, f"as_{name}")(), omega, frame))
            assert np.allclose(
                value, expected, atol=1e-13 * max(1, np.max(np.abs(expected)) ** 2), rtol=1e-10
            )

    def test_angular_velocity_undoes_the_rate(self, name, frame, rng):
        """ATT-7, ATT-8, ATT-9."""
        rate, omega_of = RATES[name]
        for u in rotation_vectors(rng, LARGEST[name]):
            x, omega = getattr(Rotation.from_rotation_vector(u), f"as_{name}")(), rng.standard_normal(3)
            assert np.allclose(omega_of(x, rate(x, omega, frame), frame), omega, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
class TestEveryKindOfNumber:
    @pytest.mark.parametrize("name", ("rotation_vector", "rodrigues", "mrp"))
    def test_rate_and_angular_velocity_are_inverse(self, kind, name, rng):
        """ATT-7, ATT-8."""
        rate, omega_of = RATES[name]

        def axiom(*x):
            u, omega = x[:3], x[3:]
            return difference(omega_of(u, rate(u, omega)), omega) + difference(
                rate(u, omega_of(u, omega)), omega
            )

        samples = np.column_stack([rng.uniform(-1, 1, (30, 3)), rng.standard_normal((30, 3))])
        samples[:4, :3] *= [[0.0], [1e-200], [1e-12], [1e-5]]
        assert residual(kind, axiom, samples) <= 20 * TOLERANCE[kind]

    def test_body_and_world_rates_agree(self, kind, rng):
        """ATT-11: omega_world = R omega_body gives the same rate."""

        def axiom(*x):
            u, omega = x[:3], x[3:]
            world = Rotation.from_rotation_vector(u).apply(omega)
            return difference(textbook.rotvec_rate(u, omega), textbook.rotvec_rate(u, world, "world"))

        assert residual(kind, axiom, rng.uniform(-1.5, 1.5, (30, 6))) <= 20 * TOLERANCE[kind]

    def test_quaternion_group(self, kind, rng):
        """ATT-6, ATT-9: product, inverse, exp and log of quaternions match those of matrices."""

        def axiom(*x):
            p, q = quaternion_exp(x[:3]), quaternion_exp(x[3:])
            P, Q = Rotation.from_rotation_vector(x[:3]), Rotation.from_rotation_vector(x[3:])
            return (
                difference(Rotation.from_quaternion(quaternion_product(p, q)), P @ Q)
                + difference(Rotation.from_quaternion(quaternion_conjugate(p)), P.inverse())
                + difference(quaternion_log(p), x[:3])
                + difference(quaternion_normalized([3 * c for c in p]), p)
            )

        samples = rng.uniform(-1.5, 1.5, (30, 6))
        samples[:4] *= [[0.0], [1e-200], [1e-12], [1e-5]]
        assert residual(kind, axiom, samples) <= 10 * TOLERANCE[kind]


def test_quaternion_logarithm_is_short_for_either_sign(rng):
    """ATT-6: q and -q are one attitude, and its rotation vector is at most pi long."""
    for q in quaternions(rng):
        u, v = np.array(quaternion_log(q)), np.array(quaternion_log(-q))
        assert np.linalg.norm(u) <= math.pi * (1 + 1e-15)
        assert np.allclose(u, v, atol=1e-15) or math.isclose(np.linalg.norm(u), math.pi)


def test_rate_of_a_rotation_vector_is_regular_up_to_a_full_turn():
    """ATT-7: smooth through pi, singular at 2 pi only."""
    for t in (math.pi - 1e-9, math.pi, math.pi + 1e-9, 6.0):
        u = (0.0, 0.0, t)
        assert np.allclose(
            textbook.rotvec_omega(u, textbook.rotvec_rate(u, (1.0, 2.0, 3.0))), (1.0, 2.0, 3.0), atol=1e-10
        )


def test_rates_of_symbols_are_exact():
    """ATT-8, ATT-9: rational formulas stay rational, and undo each other identically."""
    x, w = sympy.symbols("x1:4"), sympy.symbols("w1:4")
    for rate, omega_of in (RATES["rodrigues"], RATES["mrp"]):
        assert [sympy.simplify(a - b) for a, b in zip(omega_of(x, rate(x, w)), w, strict=True)] == [0, 0, 0]
    q = (*x, sympy.sqrt(1 - sum(a**2 for a in x)))
    rate, omega_of = RATES["quaternion"]
    assert [sympy.simplify(a - b) for a, b in zip(omega_of(q, rate(q, w)), w, strict=True)] == [0, 0, 0]


def test_shadow_parameters_are_the_same_attitude(rng):
    """ATT-8: -sigma / sigma^2."""
    for u in rng.uniform(-1.5, 1.5, (20, 3)):
        sigma = Rotation.from_rotation_vector(u).as_mrp()
        shadow = textbook.mrp_shadow(sigma)
        assert np.allclose(
            np.asarray(Rotation.from_mrp(shadow)), np.asarray(Rotation.from_mrp(sigma)), atol=1e-14
        )
        assert np.linalg.norm(shadow) >= 1


def test_recentring_integrates_through_any_tumble():
    """ATT-10: a thousand turns about a wandering axis, each step with u near zero, against the quaternion."""

    def omega(t):
        return (9.0 * math.sin(t), 7.0 * math.cos(1.3 * t), 8.0)

    def step(rate, x, t, h):
        k1 = np.array(rate(x, omega(t)))
        k2 = np.array(rate(x + h / 2 * k1, omega(t + h / 2)))
        k3 = np.array(rate(x + h / 2 * k2, omega(t + h / 2)))
        k4 = np.array(rate(x + h * k3, omega(t + h)))
        return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    R, u, q, h = Rotation.identity(), np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]), 2e-3
    largest = 0.0
    for n in range(3000):
        u = step(textbook.rotvec_rate, u, n * h, h)
        q = step(textbook.quaternion_rate, q, n * h, h)
        largest = max(largest, float(np.linalg.norm(u)))
        R, u = textbook.recentre(R, u)
        u = np.array(u)
        if n % 100 == 0:
            R = R.normalized()
    assert largest < 0.1 and u.tolist() == [0, 0, 0]
    assert np.allclose(np.asarray(R), np.asarray(Rotation.from_quaternion(q)), atol=1e-7)
    assert np.allclose(np.asarray(R) @ np.asarray(R).T, np.eye(3), atol=1e-13)


class TestAngularVelocity:
    def test_comes_from_the_rate_of_the_matrix(self, rng):
        """ATT-11: Rdot = R w_body~ = w_world~ R."""
        for _ in range(10):
            R, omega = Rotation.random(rng), rng.standard_normal(3)
            Rdot = np.asarray(R) @ np.array(vec.skew(tuple(omega)))
            assert np.allclose(textbook.angular_velocity(R, Rdot), omega, atol=1e-14)
            found = textbook.angular_velocity(np.asarray(R), Rdot, "world")
            assert np.allclose(found, R.apply(omega), atol=1e-14)

    def test_of_a_motion_by_complex_step(self, rng):
        """ATT-11: by differentiation of R(t)."""
        u0, rate = rng.standard_normal(3), rng.standard_normal(3)
        Rdot = derivative(lambda *u: Rotation.from_rotation_vector(u), u0, rate).reshape(3, 3)
        expected = textbook.rotvec_omega(tuple(u0), tuple(rate))
        found = textbook.angular_velocity(Rotation.from_rotation_vector(u0), Rdot)
        assert np.allclose(found, expected, atol=1e-13)


class TestDerivativeFrames:
    def test_derivative_in_another_frame(self, rng):
        """ATT-12: d_F x = d_G x + omega(F, G) x x, against the derivative of components."""
        u0, u1, x0, x1 = rng.standard_normal((4, 3))

        def in_f(t):
            R = Rotation.from_rotation_vector([a + b * t for a, b in zip(u0, u1, strict=True)])
            return R.apply([a + b * t for a, b in zip(x0, x1, strict=True)])

        R = Rotation.from_rotation_vector(u0)
        omega = textbook.rotvec_omega(tuple(u0), tuple(u1), "world")
        value = textbook.change_derivative_frame(R.apply(x0), R.apply(x1), omega)
        assert np.allclose(value, derivative(in_f, (0.0,), (1.0,)), atol=1e-13)

    def test_derivatives_agree_if_the_frames_do_not_turn(self):
        """ATT-12."""
        assert textbook.change_derivative_frame((1, 2, 3), (4, 5, 6), (0, 0, 0)) == (4, 5, 6)

    def test_linear_velocities_accumulate_and_reverse(self, rng):
        """ATT-13, E:S1 (A): v(y, x) = -v(x, y) + omega x l, not + omega x v."""
        u0, u1, l0, l1 = rng.standard_normal((4, 3))

        def position_of_x_in_y(t):
            R = Rotation.from_rotation_vector([a + b * t for a, b in zip(u0, u1, strict=True)])
            return R.inverse().apply([-(a + b * t) for a, b in zip(l0, l1, strict=True)])

        R = Rotation.from_rotation_vector(u0)
        omega = textbook.rotvec_omega(tuple(u0), tuple(u1), "world")  # omega(x, y) in x-axes
        expected = R.apply(derivative(position_of_x_in_y, (0.0,), (1.0,)))  # v(y, x), turned into x-axes
        value = textbook.reverse_linear_velocity(tuple(l1), omega, tuple(l0))
        assert np.allclose(value, expected, atol=1e-13)
        printed = np.cross(omega, l1) - l1
        assert np.max(np.abs(printed - expected)) > 0.1

        there = textbook.accumulate_linear_velocity(tuple(l1), omega, tuple(-l0), value)
        assert np.allclose(there, 0, atol=1e-13)  # from x to y and back to x: at rest
