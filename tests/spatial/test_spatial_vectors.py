"""Motions, forces and transforms: duality, cross products, identities, transport, lines and screws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.spatial.kinds import KINDS, TOLERANCE, derivative, difference, flops, leaves, residual, zero_if
from tests.spatial.samples import random_inertia, random_motion, random_pose

from kinetree import textbook
from kinetree.errors import FrameError
from kinetree.spatial import Force, Inertia, Motion, Pose, Rotation, Transform
from kinetree.textbook import crf, crm, fbar
from kinetree.textbook.dense import product, times, transposed

N = 20


def motion(x):
    return Motion(tuple(x[:3]), tuple(x[3:6]))


def force(x):
    return Force(tuple(x[:3]), tuple(x[3:6]))


def pose(x):
    return Pose(Rotation.from_rotation_vector(x[:3]), x[3:6])


def holds(kind, axiom, rng, size, factor=30):
    assert residual(kind, axiom, rng.uniform(-1.2, 1.2, (N, size))) <= factor * TOLERANCE[kind]


@pytest.mark.parametrize("kind", KINDS)
class TestTransform:
    def test_group(self, kind, rng):
        """SPV-3: phi(x, x) = 1, phi(x, z) = phi(x, y) phi(y, z), phi^-1(x, y) = phi(y, x)."""

        def axiom(*x):
            X, Y, V = pose(x[:6]).transform(), pose(x[6:12]).transform(), motion(x[12:])
            return (
                difference((Y @ X) @ V, Y @ (X @ V))
                + difference(X.inverse() @ (X @ V), V)
                + difference(Transform.identity() @ V, V)
                + difference(pose(x[:6]).inverse().transform().matrix(), X.inverse().matrix())
            )

        holds(kind, axiom, rng, 18)

    def test_value_types_equal_dense_matrices(self, kind, rng):
        """SPV-2, SPV-14: X, X^T, I and cross products know their zeros, and equal the 6x6 matrices."""

        def axiom(*x):
            X, V, F, W = pose(x[:6]).transform(), motion(x[6:12]), force(x[12:18]), motion(x[18:24])
            return (
                difference(X @ V, times(X.matrix(), V.components))
                + difference(X.T @ F, times(transposed(X.matrix()), F.components))
                + difference(V.cross(W), times(crm(V), W.components))
                + difference(V.cross_star(F), times(crf(V), F.components))
                + difference(F.cross_bar_star(V), times(fbar(F), V.components))
            )

        holds(kind, axiom, rng, 24)

    def test_power_is_invariant(self, kind, rng):
        """SPV-7: F . V is the same number in every frame."""

        def axiom(*x):
            X, V, F = pose(x[:6]).transform(), motion(x[6:12]), force(x[12:18])
            return [(X @ V).dot(F) - V.dot(X.T @ F)]

        holds(kind, axiom, rng, 18)

    def test_velocity_transport_and_reversal(self, kind, rng):
        """SPV-4, SPV-5: V(A, C) = X V(A, B) + V(B, C) and V(y, x) = -X^-1 V(x, y)."""

        def axiom(*x):
            X, V, W = pose(x[:6]).transform(), motion(x[6:12]), motion(x[12:18])
            total = textbook.accumulate_velocity(X, V, W)
            there_and_back = textbook.accumulate_velocity(X.inverse(), W, textbook.reverse_velocity(X, W))
            return difference(textbook.relative_velocity(X, V, total), W) + leaves(there_and_back)

        holds(kind, axiom, rng, 18)

    def test_forces_add_up_at_a_frame(self, kind, rng):
        """SPV-6: f(B) = sum phi(B, i) f(i): forces add, moments gain l x f."""

        def axiom(*x):
            T, U, F, G = pose(x[:6]), pose(x[6:12]), force(x[12:18]), force(x[18:24])
            total = textbook.sum_forces_at([(T, F), (U, G)])
            parts = []
            for P, f in ((T, F), (U, G)):
                linear = P.rotation.apply(f.linear)
                arm = textbook.line_force(P.p, linear)
                parts.append(
                    Force(tuple(a + b for a, b in zip(arm.angular, P.rotation.apply(f.angular))), linear)
                )
            return difference(total, parts[0] + parts[1])

        holds(kind, axiom, rng, 24)


class TestStructure:
    """SPV-14: values that know their zeros cost a fraction of dense 6x6 matrices (66 flops a product)."""

    def test_of_a_transform(self):
        def turned(*x):
            return Transform((x[:3], x[3:6], x[6:9]), x[9:12]) @ motion(x[12:])

        assert flops(turned, 18) == 42  # two 3x3 products (30) and v + omega x r (12)

    def test_of_a_turn_about_a_coordinate_axis(self):
        assert flops(lambda *x: Transform(spin=(2, x[0], x[1])) @ motion(x[2:]), 8) == 12
        assert flops(lambda *x: Transform(r=x[:3]) @ motion(x[3:]), 9) == 12

    def test_of_an_inertia(self):
        def momentum(*x):
            return Inertia.from_parameters(x[:10]) @ motion(x[10:])

        assert flops(momentum, 16) == 42  # J omega (15), m v (3), two cross products (18), two sums (6)

    def test_turn_about_a_coordinate_axis_equals_its_matrix(self, rng):
        """X with a spin is X with the dense matrix, in every operation."""
        for axis in range(3):
            t, E, r = 0.7, np.array(Rotation.random(rng)), tuple(rng.standard_normal(3))
            X = Transform(tuple(map(tuple, E.tolist())), r, (axis, math.cos(t), math.sin(t)))
            unit = tuple(float(i == axis) for i in range(3))
            dense = Transform(Rotation.from_axis_angle(unit, -t).rows) @ Transform(
                tuple(map(tuple, E.tolist())), r
            )
            assert np.allclose(np.array(X.matrix()), np.array(dense.matrix()), atol=1e-15)
            I, F = random_inertia(rng), force(rng.standard_normal(6))
            assert np.allclose(I.congruence(X).parameters, I.congruence(dense).parameters, atol=1e-12)
            assert np.allclose((X.T @ F).components, (dense.T @ F).components, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
class TestCrossProducts:
    def test_identities(self, kind, rng):
        """SPV-9: A x A = 0, A x B = -B x A, Jacobi, commutator, and the triple products of the thesis."""

        def axiom(*x):
            A, B, C, F = motion(x[:6]), motion(x[6:12]), motion(x[12:18]), force(x[18:24])
            jacobi = A.cross(B.cross(C)) + B.cross(C.cross(A)) + C.cross(A.cross(B))
            AB, BA = product(crm(A), crm(B)), product(crm(B), crm(A))
            return (
                leaves(A.cross(A))
                + leaves(A.cross(B) + B.cross(A))
                + leaves(jacobi)
                + [p - q - r for p, q, r in zip(leaves(AB), leaves(BA), leaves(crm(A.cross(B))), strict=True)]
                + [A.dot(B.cross_star(F)) + F.dot(B.cross(A)), A.dot(B.cross_star(F)) - F.dot(A.cross(B))]
            )

        holds(kind, axiom, rng, 24)

    def test_three_products_are_one(self, kind, rng):
        """SPV-8, E:S3: crf = -crm^T and (F x-bar*) V = V x* F."""

        def axiom(*x):
            V, F = motion(x[:6]), force(x[6:12])
            minus = [[-a for a in row] for row in transposed(crm(V))]
            return difference(crf(V), minus) + difference(F.cross_bar_star(V), V.cross_star(F))

        holds(kind, axiom, rng, 12)

    def test_commute_with_transforms(self, kind, rng):
        """SPV-10: X (V x W) = (X V) x (X W), and V-bar(x) phi = phi V-bar(y) for forces."""

        def axiom(*x):
            X, V, W, F = pose(x[:6]).transform(), motion(x[6:12]), motion(x[12:18]), force(x[18:24])
            return difference(X @ V.cross(W), (X @ V).cross(X @ W)) + difference(
                V.cross_star(X.T @ F), X.T @ (X @ V).cross_star(F)
            )

        holds(kind, axiom, rng, 24)


class TestMovingCoordinates:
    """SPV-11: derivatives in moving coordinates, against a complex step along a motion."""

    def test_transform(self, rng):
        """dX/dt = -V x X for X from the fixed to the moving frame; d(X^-1)/dt = V_fixed x X^-1."""
        T, V = random_pose(rng), random_motion(rng)

        def moved(t):
            return (T @ textbook.se3_exp(V * t)).transform()

        rate = derivative(lambda t: moved(t).matrix(), (0.0,), (1.0,)).reshape(6, 6)
        assert np.allclose(rate, np.array(textbook.transform_rate(T.transform(), V)), atol=1e-13)
        back = derivative(lambda t: moved(t).inverse().matrix(), (0.0,), (1.0,)).reshape(6, 6)
        X = T.transform().inverse()
        in_fixed = X @ V
        assert np.allclose(back, np.array(crm(in_fixed), dtype=float) @ np.array(X.matrix()), atol=1e-13)

    def test_motions_forces_and_inertias_that_move_along(self, rng):
        """a' = V x a, f' = V x* f, I' = V x* I - I V x."""
        V, W, I = random_motion(rng), random_motion(rng), random_inertia(rng)
        F = Force(*np.split(rng.standard_normal(6), 2))
        F = Force(tuple(F.angular), tuple(F.linear))

        def motion_at(t):
            return textbook.se3_exp(V * t).transform().inverse() @ W

        def force_at(t):
            return textbook.se3_exp(V * t).transform().T @ F

        def inertia_at(t):
            return I.congruence(textbook.se3_exp(V * t).transform()).matrix()

        assert np.allclose(derivative(motion_at, (0.0,), (1.0,)), V.cross(W).components, atol=1e-13)
        assert np.allclose(derivative(force_at, (0.0,), (1.0,)), V.cross_star(F).components, atol=1e-13)
        rate = derivative(inertia_at, (0.0,), (1.0,)).reshape(6, 6)
        assert np.allclose(rate, np.array(textbook.inertia_rate(I, V)), atol=1e-12)

    def test_velocity_transport_of_moving_frames(self, rng):
        """SPV-4, E:S5 (B): V(A, C) = phi* V(A, B) on one rigid body only; else V(B, C) is added."""
        T, U, V, W = random_pose(rng), random_pose(rng), random_motion(rng), random_motion(rng)
        whole = T @ U

        def moved(t):
            return T @ textbook.se3_exp(V * t) @ U @ textbook.se3_exp(W * t)

        total = textbook.accumulate_velocity(U.transform(), V, W)
        rate = derivative(moved, (0.0,), (1.0,)).reshape(4, 4)
        twist = np.linalg.inv(np.asarray(whole)) @ rate
        assert np.allclose(twist[:3, 3], total.linear, atol=1e-13)
        assert np.allclose([twist[2, 1], twist[0, 2], twist[1, 0]], total.angular, atol=1e-13)
        assert np.max(np.abs(np.array((U.transform() @ V).linear) - total.linear)) > 0.1


@pytest.mark.parametrize("kind", KINDS)
class TestLines:
    def test_line_vector_is_bound_to_its_line(self, kind, rng):
        """SPV-13: alpha . a_o = 0 with a_o = A x alpha; a point along the line changes nothing."""

        def axiom(*x):
            A, alpha = x[:3], x[3:6]
            a = textbook.line_vector(A, alpha)
            along = tuple(p + 2 * d for p, d in zip(A, alpha, strict=True))
            mixed = sum(p * q for p, q in zip(a.angular, a.linear, strict=True))
            return [
                mixed,
                *difference(textbook.line_vector(along, alpha), a),
                *leaves(textbook.shift_origin(a, A).linear),
            ]

        holds(kind, axiom, rng, 6)

    def test_kinds_of_vectors_are_recognised(self, kind, rng):
        """SPV-13: line, free, general."""

        def axiom(*x):
            A, alpha = x[:3], x[3:6]
            line, free = textbook.line_vector(A, alpha), textbook.free_vector(alpha)
            couple = textbook.couple(alpha)
            wrench = textbook.line_force(A, alpha)
            general = line + textbook.free_vector(alpha)
            return [
                zero_if(textbook.is_line(line, 1e-3), x[0]),
                zero_if(textbook.is_line(wrench, 1e-3), x[0]),
                1 - zero_if(textbook.is_line(general, 1e-3), x[0]),
                1 - zero_if(textbook.is_line(free, 1e-3), x[0]),
                zero_if(textbook.is_free(free), x[0]),
                zero_if(textbook.is_free(couple), x[0]),
                1 - zero_if(textbook.is_free(line), x[0]),
            ]

        samples = rng.uniform(0.2, 1.2, (N, 6))
        assert residual(kind, axiom, samples) == 0

    def test_shifting_rule(self, kind, rng):
        """SPV-13, E:B1 (A), E:B2 (A): v_P = v_o + omega x P, origin shift [alpha; a_o - P x alpha]."""

        def axiom(*x):
            V, F, P = motion(x[:6]), force(x[6:12]), x[12:15]
            shift = Transform(r=P)
            return (
                difference(textbook.shift_origin(V, P).linear, textbook.point_velocity(V, P))
                + difference(textbook.shift_origin(V, P), shift @ V)
                + difference(textbook.shift_origin(F, P), shift.inverse().T @ F)
                + [textbook.shift_origin(V, P).dot(textbook.shift_origin(F, P)) - V.dot(F)]
            )

        holds(kind, axiom, rng, 15)

    def test_every_vector_is_a_screw(self, kind, rng):
        """SPV-13: line part along an axis plus pitch times it; the point is the nearest one to the origin."""

        def axiom(*x):
            V, F = motion(x[:6]), force(x[6:12])
            s, w = textbook.screw(V), textbook.screw(F)
            nearest = sum(p * d for p, d in zip(s.point, s.direction, strict=True))
            return difference(s.motion(), V) + difference(w.force(), F) + [nearest]

        samples = rng.uniform(0.2, 1.2, (N, 12))
        assert residual(kind, axiom, samples) <= 30 * TOLERANCE[kind]


def test_printed_shifting_rules_are_wrong():
    """E:B1 (A), E:B2 (A): v_o + P x omega and a_o + P x alpha have the wrong sign."""
    V, P = Motion((0, 0, 1.0), (0, 0, 0)), (1.0, 0, 0)
    assert textbook.point_velocity(V, P) == (
        0,
        1,
        0,
    )  # a point on the x axis of a body that turns about z moves along y
    assert textbook.shift_origin(V, P).linear == (0, 1, 0)
    assert tuple(np.cross(P, V.angular)) == (0, -1, 0)


def test_line_and_free_parts_of_velocities_and_forces():
    """E:B3 (C): of a velocity omega is the line part, of a force f is."""
    assert textbook.is_line(Motion((0, 0, 1), (0, 0, 0))) and textbook.is_free(Motion((0, 0, 0), (0, 0, 1)))
    assert textbook.is_line(Force((0, 0, 0), (0, 0, 1))) and textbook.is_free(Force((0, 0, 1), (0, 0, 0)))


def test_coordinate_free_phi_needs_the_rotation(rng):
    """SPV-2, E:S6 (B): phi(x, y) = [1 l~; 0 1] diag(R, R) = X^T; without R it is wrong."""
    T = random_pose(rng)
    R, l = np.array(T.R), np.array(T.p)
    tilde = np.array([[0, -l[2], l[1]], [l[2], 0, -l[0]], [-l[1], l[0], 0]])
    shift = np.block([[np.eye(3), tilde], [np.zeros((3, 3)), np.eye(3)]])
    X = np.array(T.transform().matrix())
    assert np.allclose(X.T, shift @ np.kron(np.eye(2), R), atol=1e-15)
    assert np.max(np.abs(X.T - shift)) > 0.1


def test_frames_are_checked():
    """SPV-1: vectors of different frames do not mix."""
    V, W = Motion((1, 0, 0), frame="hand"), Motion((0, 1, 0), frame="arm")
    with pytest.raises(FrameError, match=r"hand.*arm"):
        V.cross(W)
    with pytest.raises(FrameError):
        textbook.body_force(Inertia(1.0).tagged("arm"), V, V)


def test_components_are_angular_first():
    """SPV-1."""
    assert Motion((1, 2, 3), (4, 5, 6)).components == (1, 2, 3, 4, 5, 6)
    assert Force.from_components(range(6)).linear == (3, 4, 5)
    assert math.isclose(Motion((1, 2, 3), (4, 5, 6)).dot(Force((1, 1, 1), (2, 2, 2))), 36)
