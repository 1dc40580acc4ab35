"""One rigid body: three forms of its equations of motion, and a free tumble."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy
from tests.spatial.kinds import KINDS, TOLERANCE, difference, residual
from tests.spatial.samples import random_inertia, random_motion
from tests.spatial.test_inertia import body, motion

from kinetree import textbook
from kinetree.spatial import Force, Inertia, Motion, Pose, Rotation, Transform


def holds(kind, axiom, rng, size, factor=1000):
    assert residual(kind, axiom, rng.uniform(-1, 1, (15, size))) <= factor * TOLERANCE[kind]


@pytest.mark.parametrize("kind", KINDS)
class TestFormsAgree:
    def test_about_any_frame(self, kind, rng):
        """SRB-1: f = I a + V x* I V has the same meaning in every frame fixed to the body."""

        def axiom(*x):
            I, V, A = body(x[:9]), motion(x[9:15]), motion(x[15:21])
            X = Pose(Rotation.from_rotation_vector(x[21:24]), x[24:27]).transform()
            there = textbook.body_force(I, X @ V, X @ A)
            return difference(textbook.body_force(I.congruence(X), V, A), X.T @ there)

        holds(kind, axiom, rng, 27)

    def test_classical_form(self, kind, rng):
        """SRB-2, E:S16: M v' + B with the classical acceleration is I a + V x* I V with the spatial one."""

        def axiom(*x):
            I, V, A = body(x[:9]), motion(x[9:15]), motion(x[15:21])
            classical = textbook.classical_acceleration(V, A)
            return difference(textbook.classical_body_force(I, V, classical), textbook.body_force(I, V, A))

        holds(kind, axiom, rng, 21)

    def test_biases_differ_by_the_acceleration_of_the_origin(self, kind, rng):
        """SRB-2, E:S16 (B): B = b - M [0; omega x v]: never mix the forms."""

        def axiom(*x):
            I, V = body(x[:9]), motion(x[9:15])
            turn = textbook.classical_acceleration(V, Motion())
            return difference(textbook.classical_bias_force(I, V), textbook.bias_force(I, V) - I @ turn)

        holds(kind, axiom, rng, 15)

    def test_centre_of_mass_form(self, kind, rng):
        """SRB-3: Newton and Euler about the centre of mass, carried to the origin."""

        def axiom(*x):
            I, V, A = body(x[:9]), motion(x[9:15]), motion(x[15:21])
            at_origin = Transform(r=I.com).T @ textbook.com_force(I, V, A)
            shift = Transform(r=I.com)
            return difference(at_origin, textbook.body_force(I, V, A)) + difference(
                textbook.com_velocity(I, V), shift @ V
            )

        holds(kind, axiom, rng, 21)

    def test_acceleration_undoes_the_force(self, kind, rng):
        """SRB-1: body_acceleration(body_force(a)) = a."""

        def axiom(*x):
            I, V, A = body(x[:9]), motion(x[9:15]), motion(x[15:21])
            return difference(textbook.body_acceleration(I, V, textbook.body_force(I, V, A)), A)

        holds(kind, axiom, rng, 21)

    def test_bias_force_holds_the_spatial_acceleration_at_zero(self, kind, rng):
        """SRB-4."""

        def axiom(*x):
            I, V = body(x[:9]), motion(x[9:15])
            return difference(textbook.bias_force(I, V), textbook.body_force(I, V, Motion()))

        holds(kind, axiom, rng, 15)


def test_force_is_the_rate_of_momentum_from_poses_alone(rng):
    """SRB-1: Newton's law for the momentum about a fixed point, of a body that moves as poses say."""
    I = random_inertia(rng)
    with mpmath.workdps(90):
        step = mpmath.mpf(10) ** -22
        coefficients = [[mpmath.mpf(float(c)) for c in rng.uniform(-1, 1, 3)] for _ in range(6)]

        def pose(t):
            x = [a + b * t + c * t * t for a, b, c in coefficients]
            return Pose(Rotation.from_rotation_vector(x[:3]), x[3:])

        def velocity(t):
            ahead, behind, now = pose(t + step), pose(t - step), pose(t)
            Rdot = [[(a - b) / (2 * step) for a, b in zip(r, s)] for r, s in zip(ahead.R, behind.R)]
            pdot = [(a - b) / (2 * step) for a, b in zip(ahead.p, behind.p)]
            return Motion(textbook.angular_velocity(now.R, Rdot), now.rotation.inverse().apply(pdot))

        def world_momentum(t):
            return pose(t).transform().T @ (I @ velocity(t))

        t = mpmath.mpf("0.4")
        V = velocity(t)
        A = (velocity(t + step) - velocity(t - step)) * (1 / (2 * step))
        change = (world_momentum(t + step) - world_momentum(t - step)) * (1 / (2 * step))
        force = pose(t).transform().T @ textbook.body_force(I, V, A)
        assert max(abs(a - b) for a, b in zip(force.components, change.components)) < 1e-18


def test_mixing_biases_is_wrong(rng):
    """E:S16 (B): b with a classical acceleration misses M [0; omega x v]."""
    I, V, A = random_inertia(rng), random_motion(rng), random_motion(rng)
    mixed = I @ textbook.classical_acceleration(V, A) + textbook.bias_force(I, V)
    assert np.max(np.abs(np.array(mixed.components) - textbook.body_force(I, V, A).components)) > 0.1


def test_joint_centred_inertia_is_the_shifted_one(rng):
    """SRB-3: S^T M-bar S = M with v-bar = S v, v-bar' = S v' + [0; omega x (omega x s)]."""
    I, V, A = random_inertia(rng), random_motion(rng), random_motion(rng)
    S = Transform(r=I.com)
    centred = I.transform(S)
    assert np.allclose(centred.first_moment, 0, atol=1e-14)
    assert np.allclose((S.T @ centred @ S).parameters, I.parameters, atol=1e-13)
    w, s = np.array(V.angular), np.array(I.com)
    moved = S @ textbook.classical_acceleration(V, A)
    expected = np.array(moved.linear) + np.cross(w, np.cross(w, s))
    assert np.allclose(textbook.com_acceleration(I, V, A).linear, expected, atol=1e-13)


def test_torque_free_tumble_keeps_energy_and_momentum(rng):
    """SRB-5: ten seconds of a free body by RK4: energy and inertial momentum are constant."""
    I = random_inertia(rng)
    T, V = Pose.random(rng), random_motion(rng)
    h, steps = 2e-3, 2000
    energy, start = I.kinetic_energy(V), T.transform().T @ (I @ V)

    def rate(V):
        return textbook.body_acceleration(I, V, Force())

    for _ in range(steps):
        k1 = rate(V)
        k2 = rate(V + k1 * (h / 2))
        k3 = rate(V + k2 * (h / 2))
        k4 = rate(V + k3 * h)
        # fourth order on the group (Magnus): mean velocity, and the commutator of the ends
        mean = V + (k1 + k2 + k3) * (h / 6)
        T = T @ textbook.se3_exp(mean * h + V.cross(V + (k1 + k2 * 2 + k3 * 2 + k4) * (h / 6)) * (h * h / 12))
        V = V + (k1 + k2 * 2 + k3 * 2 + k4) * (h / 6)
    end = T.transform().T @ (I @ V)
    assert abs(I.kinetic_energy(V) - energy) < 1e-8 * energy
    assert np.allclose(end.components, start.components, rtol=1e-7, atol=1e-7)


def test_symmetric_top_of_symbols():
    """SRB-1: Euler's equations come out of the spatial form."""
    A, B, C, p, q, r = sympy.symbols("A B C p q r")
    I = Inertia(1, (0, 0, 0), ((A, 0, 0), (0, B, 0), (0, 0, C)))
    bias = textbook.bias_force(I, Motion((p, q, r)))
    expected = ((C - B) * q * r, (A - C) * r * p, (B - A) * p * q)
    assert all(sympy.expand(a - b) == 0 for a, b in zip(bias.angular, expected, strict=True))
    assert bias.linear == (0, 0, 0)
