"""Rotations form a group, and every representation is a way in and a way out, for every kind of number."""

from __future__ import annotations

import copy
import math
import pickle

import mpmath
import numpy as np
import pytest
import sympy
from tests.conftest import share
from tests.spatial.kinds import KINDS, TOLERANCE, difference, exact_derivative, residual, traced_derivative
from tests.spatial.kinds import derivative as complex_step
from tests.spatial.samples import quaternions, rotation_vectors

from kinetree import ops
from kinetree.errors import ModelError, ShapeError, SingularError
from kinetree.spatial import Rotation, skew
from kinetree.spatial import vector as vec
from kinetree.textbook import unskew

REPRESENTATIONS = ("quaternion", "rotation_vector", "mrp")  # the global ones; the others have singularities


def exp(x, y, z):
    return Rotation.from_rotation_vector((x, y, z))


def pairs(rng, n=40):
    """Rows of several random rotation vectors."""
    return rng.uniform(-3, 3, (n, 9))


@pytest.mark.parametrize("kind", KINDS)
class TestGroup:
    def test_inverse_is_transpose_and_undoes(self, kind, rng):
        """ATT-3: R^-1 R = R R^-1 = 1, R^T R = 1."""

        def axiom(*u):
            R = exp(*u)
            one = Rotation.identity()
            return difference(R.inverse() @ R, one) + difference(R @ R.inverse(), one)

        assert residual(kind, axiom, rotation_vectors(rng)) <= TOLERANCE[kind]

    def test_composition_is_associative_and_acts(self, kind, rng):
        """ATT-3: (A B) C = A (B C) and (A B) x = A (B x)."""

        def axiom(*u):
            A, B, C = exp(*u[:3]), exp(*u[3:6]), exp(*u[6:])
            x = u[2:5]
            return difference((A @ B) @ C, A @ (B @ C)) + difference((A @ B).apply(x), A.apply(B.apply(x)))

        assert residual(kind, axiom, pairs(rng)) <= 10 * TOLERANCE[kind]

    def test_lengths_angles_and_handedness_are_kept(self, kind, rng):
        """ATT-3: a rotation keeps scalar and vector products."""

        def axiom(*u):
            R, a, b = exp(*u[:3]), u[3:6], u[6:]
            Ra, Rb = R.apply(a), R.apply(b)
            return [vec.dot(Ra, Rb) - vec.dot(a, b)] + difference(vec.cross(Ra, Rb), R.apply(vec.cross(a, b)))

        assert residual(kind, axiom, pairs(rng)) <= 100 * TOLERANCE[kind]

    @pytest.mark.parametrize("name", REPRESENTATIONS)
    def test_round_trip_through_a_representation(self, kind, name, rng):
        """ATT-5, ATT-6, ATT-8: from_x(as_x(R)) = R, at no turn and half turns, too."""

        def axiom(*u):
            R = exp(*u)
            return difference(getattr(Rotation, f"from_{name}")(getattr(R, f"as_{name}")()), R)

        samples = rotation_vectors(rng)
        if kind == "float32":
            samples = samples[np.linalg.norm(samples, axis=1) > 1e-15]  # their squares vanish in 32 bits
        assert residual(kind, axiom, samples) <= 2 * TOLERANCE[kind]

    def test_round_trip_through_axis_and_angle(self, kind, rng):
        """ATT-5: from_axis_angle(*as_axis_angle(R)) = R."""

        def axiom(*u):
            R = exp(*u)
            axis, angle = R.as_axis_angle()
            return difference(Rotation.from_axis_angle(axis, angle), R)

        samples = rotation_vectors(rng)
        samples = samples[np.linalg.norm(samples, axis=1) > 1e-15]
        assert residual(kind, axiom, samples) <= 2 * TOLERANCE[kind]

    def test_round_trip_through_rodrigues_parameters(self, kind, rng):
        """ATT-8: n tan(t/2), away from half turns."""

        def axiom(*u):
            R = exp(*u)
            return difference(Rotation.from_rodrigues(R.as_rodrigues()), R)

        samples = rotation_vectors(rng, 3.1)
        if kind == "float32":
            samples = samples[np.linalg.norm(samples, axis=1) > 1e-15]
        assert residual(kind, axiom, samples) <= 100 * TOLERANCE[kind]

    def test_every_representation_means_the_same_rotation(self, kind, rng):
        """ATT-5, ATT-6, ATT-8: exp(n~ t), [sin(t/2) n; cos(t/2)], n tan(t/2), n tan(t/4) agree."""

        def axiom(nx, ny, nz, t):
            n = (nx, ny, nz)
            R = Rotation.from_axis_angle(n, t)
            s, c = ops.sin(t / 2), ops.cos(t / 2)
            others = (
                Rotation.from_rotation_vector(vec.scale(n, t)),
                Rotation.from_quaternion((s * nx, s * ny, s * nz, c)),
                Rotation.from_rodrigues(vec.scale(n, ops.tan(t / 2))),
                Rotation.from_mrp(vec.scale(n, ops.tan(t / 4))),
            )
            return [x for other in others for x in difference(other, R)]

        n = rng.standard_normal((40, 3))
        n /= np.linalg.norm(n, axis=1, keepdims=True)
        samples = np.column_stack([n, rng.uniform(-3, 3, 40)])
        # the axis is a unit vector to 53 bits only, whatever the number
        assert residual(kind, axiom, samples) <= max(20 * TOLERANCE[kind], 1e-14)

    def test_rodrigues_formula(self, kind, rng):
        """ATT-5: R = cos t 1 + (1 - cos t) n n^T + sin t n~."""

        def axiom(nx, ny, nz, t):
            s = ops.sqrt(nx * nx + ny * ny + nz * nz)
            n = (nx / s, ny / s, nz / s)
            c, tilde = ops.cos(t), skew(n)
            expected = [
                [c * int(i == j) + (1 - c) * n[i] * n[j] + ops.sin(t) * tilde[i][j] for j in range(3)]
                for i in range(3)
            ]
            return difference(Rotation.from_axis_angle((nx, ny, nz), t), expected)

        assert residual(kind, axiom, rng.uniform(0.1, 3, (40, 4))) <= TOLERANCE[kind]

    def test_skew_and_unskew(self, kind, rng):
        """ATT-1: l~ x = l x x, and unskew undoes skew."""

        def axiom(*u):
            a, x = u[:3], u[3:6]
            return difference(vec.mat_vec(skew(a), x), vec.cross(a, x)) + difference(unskew(skew(a)), a)

        assert residual(kind, axiom, pairs(rng)) <= TOLERANCE[kind]

    def test_drift_is_removed(self, kind, rng):
        """ATT-10: normalized() of a matrix that is orthonormal to 1e-7 only is orthonormal to rounding."""

        def axiom(*u):
            tenth = u[0] * 0 + 1e-7
            rows = [
                [x * (1 + tenth * (i + 2 * j)) for j, x in enumerate(row)]
                for i, row in enumerate(exp(*u).rows)
            ]
            R = Rotation(tuple(tuple(row) for row in rows)).normalized()
            return difference(R.inverse() @ R, Rotation.identity())

        assert residual(kind, axiom, pairs(rng)[:, :3]) <= TOLERANCE[kind]


class TestAccuracy:
    """Against 50 digits: errors in units in the last place of one (2^-52), near no turn and half turns."""

    def test_exponential(self, rng):
        """ATT-5."""
        for u in rotation_vectors(rng):
            exact = self.exact_matrix(u)
            assert np.max(np.abs(np.asarray(exp(*u)) - exact)) <= 3 * 2.0**-52

    def test_small_angles_keep_relative_accuracy(self, rng):
        """ATT-5: the off-diagonal entries of a small turn are right to a few ulp of themselves."""
        for u in rotation_vectors(rng, 1e-5):
            if np.linalg.norm(u) > 1e-150:
                back = Rotation.from_rotation_vector(u).as_rotation_vector()
                assert np.max(np.abs(np.array(back) - u)) <= 4 * 2.0**-52 * np.linalg.norm(u)

    def test_logarithm(self, rng):
        """ATT-7: the rotation vector of the (rounded) matrix of u is u, to a few ulp of pi."""
        for u in rotation_vectors(rng):
            back = np.array(exp(*u).as_rotation_vector())
            error = min(np.max(np.abs(back - u)), self.wrapped_error(back, u))
            assert error <= 6 * 2.0**-52 * max(1.0, np.linalg.norm(u))

    def test_quaternion(self, rng):
        """ATT-6: quaternion -> matrix -> quaternion to 3 ulp, for every largest component and sign."""
        for q in quaternions(rng):
            back = np.array(Rotation.from_quaternion(q).as_quaternion())
            assert back[3] >= 0
            assert min(np.max(np.abs(back - q)), np.max(np.abs(back + q))) <= 3 * 2.0**-52

    def test_half_turns_about_coordinate_axes_are_exact(self):
        """ATT-5: diag(1, -1, -1) has the rotation vector (pi, 0, 0)."""
        for i in range(3):
            rows = [[(1.0 if j == i else -1.0) if j == k else 0.0 for k in range(3)] for j in range(3)]
            assert np.abs(Rotation.from_matrix(rows).as_rotation_vector()).tolist() == [
                math.pi * (j == i) for j in range(3)
            ]

    @staticmethod
    def exact_matrix(u):
        with mpmath.workdps(60):
            return np.array(
                Rotation.from_rotation_vector([mpmath.mpf(float(x)) for x in u]).rows, dtype=float
            )

    @staticmethod
    def wrapped_error(back, u):
        """Beyond a half turn by rounding, -u + 2 pi n is as good as u."""
        t = np.linalg.norm(u)
        return np.max(np.abs(back + u * (2 * math.pi - t) / t)) if t > 3 else math.inf

    def test_exponential_of_fifty_digits_is_the_matrix_exponential(self, rng):
        """ATT-5: against the power series of exp(u~), an independent formula."""
        with mpmath.workdps(50):
            for u in rng.uniform(-1.8, 1.8, (4, 3)):
                tilde = mpmath.matrix(skew([mpmath.mpf(float(x)) for x in u]))
                series = mpmath.expm(tilde, method="taylor")
                R = Rotation.from_rotation_vector([mpmath.mpf(float(x)) for x in u])
                assert max(abs(R.rows[i][j] - series[i, j]) for i in range(3) for j in range(3)) < 1e-47


class TestDerivatives:
    """Complex steps and differentiated traces agree with 90-digit differences, also at the hard places."""

    @pytest.mark.parametrize(
        "name", share(("matrix", "quaternion", "rotation_vector", "rodrigues", "mrp"), 2)
    )
    def test_of_each_representation(self, name, rng):
        def function(*u):
            return getattr(exp(*u), f"as_{name}")()

        for u in rotation_vectors(rng, 3.1 if name == "rodrigues" else math.pi - 1e-4):
            direction = rng.standard_normal(3)
            expected = exact_derivative(function, u, direction)
            scale = max(1.0, np.max(np.abs(expected)))
            assert np.max(np.abs(complex_step(function, u, direction) - expected)) <= 1e-12 * scale
            assert np.max(np.abs(traced_derivative(function, u, direction) - expected)) <= 1e-12 * scale

    def test_of_the_identity_is_the_generator(self):
        """ATT-5: d/dh exp(h a~) at 0 is a~."""
        a = (0.3, -0.2, 0.9)
        assert complex_step(exp, (0, 0, 0), a).reshape(3, 3).tolist() == np.array(skew(a)).tolist()


class TestConventions:
    def test_robotics_and_aerospace_are_transposes(self, rng):
        """ATT-4: converting twice is the identity; turns multiply on the other side."""
        A, B = Rotation.random(rng), Rotation.random(rng)
        aerospace = np.array(A.as_convention("aerospace"))
        assert np.array_equal(aerospace, np.asarray(A).T)
        assert Rotation.from_convention("aerospace", A.as_convention("aerospace")) == A
        assert Rotation.from_convention("robotics", A.as_convention("robotics")) == A
        left = np.array(B.as_convention("aerospace")) @ aerospace
        assert np.allclose(left, (A @ B).as_convention("aerospace"), atol=1e-15, rtol=0)

    def test_quaternion_is_vector_first(self):
        """ATT-6, E:S4: a quarter turn about z is (0, 0, sin 45, cos 45)."""
        q = Rotation.from_axis_angle((0, 0, 1), math.pi / 2).as_quaternion()
        assert np.allclose(q, (0, 0, math.sqrt(0.5), math.sqrt(0.5)), atol=1e-16)

    def test_columns_are_the_axes_of_the_turned_frame(self):
        """ATT-2: R x takes B-components to A-components; a quarter turn about z takes x to y."""
        R = Rotation.from_axis_angle((0, 0, 1), math.pi / 2)
        assert np.allclose(R.apply((1, 0, 0)), (0, 1, 0), atol=1e-16)

    def test_rotation_vector_is_not_the_rodrigues_vector(self):
        """E:S4 (B): u = n t, not n tan(t/2), nor n tan(t/4)."""
        R = Rotation.from_rotation_vector((0, 0, 2.0))
        assert math.isclose(R.as_rotation_vector()[2], 2.0)
        assert math.isclose(R.as_rodrigues()[2], math.tan(1.0))
        assert math.isclose(R.as_mrp()[2], math.tan(0.5))


class TestSingularities:
    """ATT-8: no three numbers are global and regular; where they are singular, floats are told."""

    def test_rodrigues_parameters_of_a_half_turn_are_refused(self):
        with pytest.raises(SingularError, match="half turn"):
            Rotation.from_axis_angle((1, 0, 0), math.pi).as_rodrigues()

    def test_mrp_stay_within_the_unit_ball(self, rng):
        for u in rotation_vectors(rng):
            assert np.linalg.norm(exp(*u).as_mrp()) <= 1 + 1e-15


class TestValue:
    def test_is_immutable_hashable_and_pickles(self, rng):
        R = Rotation.random(rng)
        with pytest.raises(AttributeError):
            R.rows = ()
        assert pickle.loads(pickle.dumps(R)) == R == copy.deepcopy(R)
        assert len({R, Rotation(R.rows)}) == 1
        assert Rotation.identity() != R and R != "R"
        assert eval(repr(Rotation.identity())) == Rotation.identity()

    def test_arrays_in_and_out_have_batch_axes_first(self, rng):
        q = rng.standard_normal((4, 2, 4))
        R = Rotation.from_quaternion(q)
        matrices = np.asarray(R)
        assert matrices.shape == (4, 2, 3, 3)
        assert np.allclose(matrices[3, 1], np.asarray(Rotation.from_quaternion(q[3, 1])), atol=1e-15)
        assert np.array_equal(np.asarray(Rotation.from_matrix(matrices)), matrices)
        assert np.asarray(R, dtype=np.float32).dtype == np.float32
        x = rng.standard_normal((4, 2, 3))
        turned = np.stack(R.apply(x), axis=-1)
        assert np.allclose(turned, np.einsum("abij,abj->abi", matrices, x), atol=1e-14)

    def test_batches_broadcast(self, rng):
        """Numbers are elementwise, so batches of different shapes combine like arrays."""
        u, w = rng.standard_normal((4, 1, 3)), rng.standard_normal((5, 3))
        both = Rotation.from_rotation_vector(u) @ Rotation.from_rotation_vector(w)
        assert np.asarray(both).shape == (4, 5, 3, 3)
        one = Rotation.from_rotation_vector(u[3, 0]) @ Rotation.from_rotation_vector(w[2])
        assert np.allclose(np.asarray(both)[3, 2], np.asarray(one), atol=1e-15)
        mixed = Rotation.from_rotation_vector(u) @ Rotation.from_axis_angle((0, 0, 1), 0.3)
        assert np.asarray(mixed).shape == (4, 1, 3, 3)

    def test_random_is_seeded_and_uniform(self):
        assert Rotation.random(7) == Rotation.random(7)
        traces = [np.trace(np.asarray(Rotation.random(i))) for i in range(2000)]
        assert abs(np.mean(traces)) < 0.1  # the mean trace of uniform rotations is 0

    def test_sympy_gives_closed_forms(self):
        t = sympy.Symbol("t", real=True)
        c, s = sympy.cos(t), sympy.sin(t)
        assert Rotation.from_axis_angle((0, 0, 1), t).rows == ((c, -s, 0), (s, c, 0), (0, 0, 1))
        assert Rotation.from_rotation_vector((0, 0, sympy.pi / 3)).as_rotation_vector() == (
            0,
            0,
            sympy.pi / 3,
        )
        half = sympy.Rational(1, 2)
        R = Rotation.from_quaternion((half, half, half, half))
        assert R.rows == ((0, 0, 1), (1, 0, 0), (0, 1, 0))
        assert R.as_quaternion() == (half, half, half, half)
        assert Rotation.from_matrix(sympy.eye(3)).as_rotation_vector() == (0, 0, 0)

    def test_free_symbols_take_the_generic_branch(self):
        """Where symbols cannot be compared, the formulas for turns that are not half turns come out."""
        a, b, c = sympy.symbols("a b c", real=True)
        R = Rotation.from_euler("ZYX", (a, b, c))
        values = {a: 0.3, b: -0.4, c: 0.5}
        plain = Rotation.from_euler("ZYX", (0.3, -0.4, 0.5))
        for name in ("quaternion", "rotation_vector", "rodrigues", "mrp"):
            symbolic = [sympy.N(x.subs(values)) for x in getattr(R, f"as_{name}")()]
            assert np.allclose(np.array(symbolic, dtype=float), getattr(plain, f"as_{name}")(), atol=1e-14)
        angles = [sympy.N(x.subs(values)) for x in R.as_euler("ZYX")]
        assert np.allclose(np.array(angles, dtype=float), (0.3, -0.4, 0.5), atol=1e-14)
        axis, angle = R.as_axis_angle()
        assert math.isclose(sympy.N(angle.subs(values)), plain.as_axis_angle()[1]) and len(axis) == 3


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Rotation.from_matrix(np.eye(4)), ShapeError, r"\(4, 4\), expected \(..., 3, 3\)"),
        (lambda: Rotation.from_matrix([1, 2, 3]), ShapeError, "row 0"),
        (lambda: Rotation.from_matrix(3.0), ShapeError, "3 rows"),
        (lambda: Rotation.from_matrix([[1, 0, 0], [0, 1, 0]]), ShapeError, "2 rows, expected 3"),
        (lambda: Rotation.from_matrix(np.eye(3) * 1.001), ModelError, "differs from the identity by 0.002"),
        (lambda: Rotation.from_matrix(np.full((3, 3), math.nan)), ModelError, "nan"),
        (lambda: Rotation.from_matrix(np.diag([1.0, 1.0, -1.0])), ModelError, "mirrors"),
        (lambda: Rotation.from_quaternion((0, 0, 0, 0)), ModelError, "norm zero"),
        (lambda: Rotation.from_quaternion((0, 0, math.nan, 0)), ModelError, "not a number"),
        (lambda: Rotation.from_quaternion((0, 0, 1)), ShapeError, "3 components, expected 4"),
        (lambda: Rotation.from_quaternion(np.zeros((5, 3))), ShapeError, r"\(5, 3\), expected \(..., 4\)"),
        (lambda: Rotation.from_axis_angle((0, 0, 0), 1.0), ModelError, "length zero"),
        (lambda: Rotation.from_rotation_vector("abc!"), ShapeError, "4 components"),
        (lambda: Rotation.from_rotation_vector(1.0), ShapeError, "sequence of 3 numbers"),
        (lambda: Rotation.from_euler("XXY", (0, 0, 0)), ModelError, "'XXY'"),
        (lambda: Rotation.from_euler("XyZ", (0, 0, 0)), ModelError, "one case"),
        (lambda: Rotation.from_euler(3, (0, 0, 0)), ModelError, "three letters"),
        (lambda: Rotation.identity().as_euler("ZYZX"), ModelError, "three letters"),
        (lambda: Rotation.identity().as_convention("left"), ModelError, "'robotics' or 'aerospace'"),
        (lambda: Rotation.identity().apply((1, 2)), ShapeError, "2 components, expected 3"),
        (lambda: Rotation.from_matrix(np.ones((7, 3, 3))), ModelError, r"a batch of shape \(7,\)"),
        (lambda: Rotation.from_quaternion(np.zeros((7, 4))), ModelError, r"a batch of shape \(7,\)"),
    ],
)
def test_bad_input_is_named(make, error, text):
    with pytest.raises(error, match=text) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_matrix_of_a_file_is_used_as_given():
    """A matrix that is orthonormal to 1e-6 keeps its numbers."""
    rows = ((1.0, 1e-7, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    assert Rotation.from_matrix(rows).rows == rows
