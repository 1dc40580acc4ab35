"""Poses form a group, with an exponential, a logarithm and adjoints, for every kind of number."""

from __future__ import annotations

import copy
import math
import pickle

import mpmath
import numpy as np
import pytest
import sympy
from tests.spatial.kinds import (
    KINDS,
    TOLERANCE,
    derivative,
    difference,
    exact_derivative,
    leaves,
    residual,
    traced_derivative,
)
from tests.spatial.samples import random_motion, random_pose, rotation_vectors

import kinetree as kt
from kinetree.errors import ModelError, ShapeError
from kinetree.spatial import Motion, Pose, Rotation, Transform
from kinetree.textbook import Ad, ad, pose_acceleration, pose_rate, pose_velocity, se3_exp, se3_log


def pose(*x):
    return Pose(Rotation.from_rotation_vector(x[:3]), x[3:6])


@pytest.mark.parametrize("kind", KINDS)
class TestGroup:
    def test_axioms(self, kind, rng):
        """POS-1: inverse, associativity, action on points."""

        def axiom(*x):
            T, U, V = pose(*x[:6]), pose(*x[6:12]), pose(*x[12:18])
            one, point = Pose.identity(), x[18:]
            return (
                difference(T.inverse() @ T, one)
                + difference(T @ T.inverse(), one)
                + difference((T @ U) @ V, T @ (U @ V))
                + difference((T @ U).apply(point), T.apply(U.apply(point)))
                + difference(T.inverse().apply(T.apply(point)), point)
            )

        assert residual(kind, axiom, rng.uniform(-1.5, 1.5, (20, 21))) <= 30 * TOLERANCE[kind]

    def test_positions_propagate(self, kind, rng):
        """ATT-2: l(A, C) = l(A, B) + R l(B, C)."""

        def axiom(*x):
            T, U = pose(*x[:6]), pose(*x[6:12])
            turned = T.rotation.apply(U.p)
            return difference((T @ U).p, [a + b for a, b in zip(T.p, turned, strict=True)])

        assert residual(kind, axiom, rng.uniform(-1.5, 1.5, (20, 12))) <= TOLERANCE[kind]

    def test_exponential_and_logarithm_are_inverse(self, kind, rng):
        """POS-3: log(exp(V)) = V and exp(log(T)) = T, at no turn and near half turns."""

        def axiom(*x):
            V = Motion(x[:3], x[3:6])
            T = se3_exp(V)
            return difference(se3_exp(se3_log(T)), T)

        u = rotation_vectors(rng)
        samples = np.hstack([u, rng.standard_normal(u.shape)])
        if kind == "float32":
            samples = samples[np.linalg.norm(u, axis=1) > 1e-15]
        assert residual(kind, axiom, samples) <= 20 * TOLERANCE[kind]

    def test_one_parameter_subgroups(self, kind, rng):
        """POS-3: exp((s + t) V) = exp(s V) exp(t V)."""

        def axiom(*x):
            V, s, t = Motion(x[:3], x[3:6]), x[6], x[7]
            return difference(se3_exp(V * (s + t)), se3_exp(V * s) @ se3_exp(V * t))

        assert residual(kind, axiom, rng.uniform(-1, 1, (20, 8))) <= 10 * TOLERANCE[kind]

    def test_adjoint_is_a_homomorphism(self, kind, rng):
        """POS-3: Ad(T U) = Ad(T) Ad(U), Ad(T^-1) = Ad(T)^-1, Ad(T) exp(V) = T exp(V) T^-1."""

        def axiom(*x):
            T, U, V = pose(*x[:6]), pose(*x[6:12]), Motion(x[12:15], x[15:18])
            return (
                difference(Ad(T @ U) @ V, Ad(T) @ (Ad(U) @ V))
                + difference(Ad(T.inverse()) @ V, Ad(T).inverse() @ V)
                + difference(se3_exp(Ad(T) @ V), T @ se3_exp(V) @ T.inverse())
            )

        assert residual(kind, axiom, rng.uniform(-1, 1, (20, 18))) <= 30 * TOLERANCE[kind]


class TestAlgebra:
    def test_exponential_is_the_matrix_exponential(self, rng):
        """POS-3: against the power series of the 4x4 matrix [omega~ v; 0 0], with 50 digits."""
        with mpmath.workdps(50):
            w, v = ([mpmath.mpf(float(x)) for x in rng.standard_normal(3)] for _ in range(2))
            rows = [[0, -w[2], w[1], v[0]], [w[2], 0, -w[0], v[1]], [-w[1], w[0], 0, v[2]], [0, 0, 0, 0]]
            series = mpmath.expm(mpmath.matrix(rows), method="taylor")
            T = se3_exp(Motion(tuple(w), tuple(v))).as_matrix()
            assert max(abs(T[i][j] - series[i, j]) for i in range(4) for j in range(4)) < 1e-47

    def test_bracket_is_the_derivative_of_the_adjoint(self, rng):
        """POS-3: d/dt Ad(exp(t V)) W = ad(V) W = V x W at t = 0."""
        V, W = random_motion(rng), random_motion(rng)
        value = derivative(lambda t: Ad(se3_exp(V * t)) @ W, (0.0,), (1.0,))
        assert np.allclose(value, V.cross(W).components, atol=1e-14)
        assert np.allclose(np.array(ad(V), dtype=float) @ W.components, V.cross(W).components, atol=1e-14)

    def test_adjoint_of_a_pose_is_phi_star(self, rng):
        """POS-3, E:S6: phi*(y, x) = Ad(^x T_y) = [R 0; p~ R R]."""
        T = random_pose(rng)
        R, p = np.array(T.R), np.array(T.p)
        tilde = np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
        expected = np.block([[R, np.zeros((3, 3))], [tilde @ R, R]])
        assert np.allclose(np.array(Ad(T).matrix()), expected, atol=1e-15)

    def test_body_velocity_of_the_exponential_is_the_twist(self, rng):
        """POS-3: T^-1 dT/dt = V for T = exp(t V)."""
        V, t = random_motion(rng), 0.7
        Tdot = derivative(lambda s: se3_exp(V * s), (t,), (1.0,)).reshape(4, 4)
        twist = np.linalg.inv(np.asarray(se3_exp(V * t))) @ Tdot
        w, v = V.angular, V.linear
        expected = [[0, -w[2], w[1], v[0]], [w[2], 0, -w[0], v[1]], [-w[1], w[0], 0, v[2]], [0, 0, 0, 0]]
        assert np.allclose(twist, expected, atol=1e-13)

    def test_logarithm_near_no_turn_and_half_turns(self, rng):
        """POS-3: log(exp(V)) = V against 50 digits."""
        for u in rotation_vectors(rng, math.pi - 1e-6):
            V = Motion(tuple(u), tuple(rng.standard_normal(3)))
            T = se3_exp(V)
            with mpmath.workdps(50):
                exact = [[mpmath.mpf(x) for x in row] for row in T.R]
                W = se3_log(Pose(exact, [mpmath.mpf(x) for x in T.p]))
                assert (
                    max(abs(a - b) for a, b in zip(se3_log(T).components, W.components, strict=True)) < 2e-14
                )

    def test_derivatives_by_complex_step(self, rng):
        """POS-3: exp and log are analytic, also at zero."""
        for u in rotation_vectors(rng, 3.0)[::5]:
            x, direction = np.concatenate([u, rng.standard_normal(3)]), rng.standard_normal(6)
            for function in (
                lambda *x: se3_exp(Motion(x[:3], x[3:])),
                lambda *x: se3_log(pose(*x)),
            ):
                step, exact = derivative(function, x, direction), exact_derivative(function, x, direction)
                assert np.allclose(step, exact, atol=1e-12, rtol=1e-12)
                assert np.allclose(traced_derivative(function, x, direction), exact, atol=1e-12, rtol=1e-12)


class TestTrivialisations:
    """SRB: the rate of a pose as a twist, from the left (body) and from the right (space)."""

    @staticmethod
    def moving(t):
        turn = Rotation.from_rotation_vector((0.3 + 0.2 * t, 0.7 * t * t, -0.4 * t))
        return Pose(turn, (t * t, 0.5 - t, 0.3 * t * t * t))

    def rates(self, t):
        """T and its derivatives to twenty digits, by differences of fifty-digit numbers."""
        with mpmath.workdps(50):
            h = mpmath.mpf(10) ** -12
            late, now, early = (np.array(self.moving(mpmath.mpf(t) + k * h).as_matrix()) for k in (1, 0, -1))
            first, second = (late - early) / (2 * h), (late - 2 * now + early) / (h * h)
        return self.moving(t), first.astype(float), second.astype(float)

    def test_left_is_body_and_right_is_space(self):
        T, rate, _ = self.rates(0.4)
        V, W = pose_velocity(T, rate), pose_velocity(T, rate, "right")
        matrix = np.asarray(T)
        for twist, expected in ((V, np.linalg.inv(matrix) @ rate), (W, rate @ np.linalg.inv(matrix))):
            (x, y, z), (a, b, c) = twist.angular, twist.linear
            assert np.allclose([[0, -z, y, a], [z, 0, -x, b], [-y, x, 0, c], [0] * 4], expected, atol=1e-13)
        assert np.allclose((Ad(T) @ V).components, W.components, atol=1e-14)
        assert not np.allclose(rate[:3, 3], V.linear) and not np.allclose(rate[:3, 3], W.linear)
        for twist, side in ((V, "left"), (W, "right")):
            assert np.allclose(pose_rate(T, twist, side), rate, atol=1e-13)

    @pytest.mark.parametrize("side", ["left", "right"])
    def test_accelerations_are_derivatives_of_the_components(self, side):
        T, rate, second = self.rates(0.4)
        with mpmath.workdps(50):
            h, t = mpmath.mpf(10) ** -8, mpmath.mpf(0.4)

            def velocity(t):
                step = mpmath.mpf(10) ** -20
                late, early = (np.array(self.moving(t + k * step).as_matrix()) for k in (1, -1))
                return np.array(pose_velocity(self.moving(t), (late - early) / (2 * step), side).components)

            expected = ((velocity(t + h) - velocity(t - h)) / (2 * h)).astype(float)
        found = pose_acceleration(T, rate, second, side)
        assert np.allclose(found.components, expected, atol=1e-12)
        left = pose_acceleration(T, rate, second)
        assert np.allclose(pose_acceleration(T, rate, second, "right").components, (Ad(T) @ left).components)

    def test_they_are_what_frame_velocity_calls_body_and_world(self, rng):
        robot = kt.zoo.arm7()
        q, v = robot.random_state(rng)
        name = robot.body_names[-1]
        h = 1e-3
        rate = sum(
            w * (kt.frame_placement(robot, q + k * h * v, name) - kt.frame_placement(robot, q - k * h * v,
            name)) for k, w in ((1, 45), (2, -9), (3, 1))
        ) / (60 * h)
        T = Pose(kt.frame_placement(robot, q, name))
        for side, reference in (("left", "body"), ("right", "world")):
            V = kt.frame_velocity(robot, q, v, name, reference)
            assert np.allclose(pose_velocity(T, rate, side).components, V, atol=1e-9)

    def test_sides_are_checked(self):
        with pytest.raises(ModelError, match="'left' or 'right'"):
            pose_velocity(Pose.identity(), np.zeros((4, 4)), "up")


class TestFrames:
    def test_a_loop_of_frames_closes(self, rng):
        """POS-2: moon, earth, craft, thruster, moon: the product of poses around a loop is the identity."""
        a, b, c = (random_pose(rng) for _ in range(3))
        back = (a @ b @ c).inverse()
        assert np.allclose(np.asarray(a @ b @ c @ back), np.eye(4), atol=1e-14)

    def test_transform_takes_motions_to_the_frame(self, rng):
        """SPV-2: X = [E 0; -E r~ E] with E = R^T, r = p; and back to the pose."""
        T = random_pose(rng)
        X = T.transform()
        assert isinstance(X, Transform)
        assert Pose.from_transform(X) == T
        V = random_motion(rng)
        at_origin = np.array(V.linear) + np.cross(V.angular, T.p)
        expected = np.concatenate(
            [np.asarray(T.rotation).T @ V.angular, np.asarray(T.rotation).T @ at_origin]
        )
        assert np.allclose((X @ V).components, expected, atol=1e-14)

    def test_transforms_compose_against_the_order_of_poses(self, rng):
        """SPV-3: X_ca = X_cb X_ba for T_ac = T_ab T_bc."""
        T, U = random_pose(rng), random_pose(rng)
        one, two = (T @ U).transform(), U.transform() @ T.transform()
        assert np.allclose(np.array(one.matrix()), np.array(two.matrix()), atol=1e-14)


class TestValue:
    def test_takes_what_means_a_rotation(self, rng):
        R = Rotation.random(rng)
        given = (Pose(R, (1, 2, 3)), Pose(R.rows, [1, 2, 3]), Pose(np.asarray(R), np.array([1.0, 2.0, 3.0])))
        assert given[0] == given[1] == given[2]
        assert R.rows == given[0].R and given[0].p == (1, 2, 3)
        assert Pose() == Pose.identity() == Pose(np.eye(3)) and Pose(R).p == (0, 0, 0)

    def test_homogeneous_matrix(self, rng):
        """POS-1: [R p; 0 1]."""
        T = random_pose(rng)
        matrix = np.asarray(T)
        assert matrix.shape == (4, 4) and matrix[3].tolist() == [0, 0, 0, 1]
        assert Pose.from_matrix(matrix) == T == Pose.from_matrix(T.as_matrix())
        assert np.allclose(np.asarray(T.inverse()), np.linalg.inv(matrix), atol=1e-14)

    def test_is_immutable_hashable_and_pickles(self, rng):
        T = random_pose(rng)
        with pytest.raises(AttributeError):
            T.p = (0, 0, 0)
        assert pickle.loads(pickle.dumps(T)) == T == copy.deepcopy(T)
        assert len({T, Pose(T.R, T.p)}) == 1 and Pose.identity() != T and T != 1

    def test_batches(self, rng):
        """POS-1: leading axes of arrays are the batch."""
        u, p = rng.standard_normal((5, 2, 3)), rng.standard_normal((5, 2, 3))
        T = Pose(Rotation.from_rotation_vector(u), p)
        assert np.asarray(T).shape == (5, 2, 4, 4)
        one = Pose(Rotation.from_rotation_vector(u[4, 1]), p[4, 1])
        assert np.allclose(np.asarray(T @ T)[4, 1], np.asarray(one @ one), atol=1e-14)
        assert np.allclose(np.asarray(Pose.from_matrix(np.asarray(T))), np.asarray(T), atol=0)

    def test_symbols(self):
        """POS-1: a pose of symbols composes exactly."""
        a, b = sympy.symbols("a b", real=True)
        T = Pose(Rotation.from_axis_angle((0, 0, 1), a), (b, 0, 0))
        product = [sympy.simplify(x) for x in leaves(T @ T.inverse())]
        assert product == [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Pose(np.eye(3), (1, 2)), ShapeError, "position of a pose has 2 components, expected 3"),
        (lambda: Pose(np.eye(3), 5), ShapeError, "position of a pose is 5"),
        (lambda: Pose(np.eye(3), (0, 0, math.nan)), ModelError, "finite"),
        (lambda: Pose(np.eye(3), (0, 0, math.inf)), ModelError, "finite"),
        (lambda: Pose(2 * np.eye(3)), ModelError, "differs from the identity"),
        (lambda: Pose(np.eye(2)), ShapeError, r"\(2, 2\)"),
        (lambda: Pose.from_matrix(np.eye(3)), ShapeError, r"expected \(..., 4, 4\)"),
        (lambda: Pose.from_matrix(np.ones((4, 4))), ModelError, "last row"),
        (lambda: Pose.identity().apply((1, 2, 3, 4)), ShapeError, "4 components"),
        (lambda: Pose.identity() @ 3, TypeError, "unsupported operand"),
    ],
)
def test_bad_input_is_named(make, error, text):
    with pytest.raises(error, match=text):
        make()
