"""Ten numbers of inertia: parallel axes, accumulation, energy, dyads, and what no body can have."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import sympy
from tests.spatial.kinds import KINDS, TOLERANCE, difference, leaves, residual, zero_if
from tests.spatial.samples import random_inertia, random_motion, random_pose

import kinetree.spatial as sp
from kinetree import textbook
from kinetree.spatial import Inertia, Motion, Pose, Rotation
from kinetree.spatial.consistency import principal_axes, second_moment_matrix
from kinetree.textbook.dense import product, transposed


def body(x):
    """A physical inertia from nine numbers: a box of half sizes, somewhere, turned."""
    a, b, c = (1 + y * y for y in x[:3])
    R = Rotation.from_rotation_vector(x[3:6])
    diagonal = ((b * b + c * c, 0, 0), (0, a * a + c * c, 0), (0, 0, a * a + b * b))
    J = product(product(R.rows, diagonal), transposed(R.rows))
    return Inertia(1 + x[0] * x[0], x[6:9], J)


def motion(x):
    return Motion(tuple(x[:3]), tuple(x[3:6]))


def pose(x):
    return Pose(Rotation.from_rotation_vector(x[:3]), x[3:6])


def holds(kind, axiom, rng, size, factor=300):
    assert residual(kind, axiom, rng.uniform(-1, 1, (15, size))) <= factor * TOLERANCE[kind]


@pytest.mark.parametrize("kind", KINDS)
class TestEveryKindOfNumber:
    def test_matrix_of_the_textbook(self, kind, rng):
        """INE-1, INE-9, E:T15: I = [J_c - m c~ c~, m c~; -m c~, m 1], off-diagonal entries of J as given."""

        def axiom(*x):
            m, c, J = 1 + x[0] * x[0], x[1:4], ((9, x[4], x[5]), (x[4], 8, x[6]), (x[5], x[6], 7))
            I = Inertia(m, c, J)
            tilde = sp.skew(c)
            squared = product(tilde, tilde)
            upper = [
                [J[i][j] - m * squared[i][j] for j in range(3)] + [m * y for y in tilde[i]] for i in range(3)
            ]
            lower = [[-m * y for y in tilde[i]] + [m * int(i == j) for j in range(3)] for i in range(3)]
            return difference(I.matrix(), upper + lower)

        holds(kind, axiom, rng, 7)

    def test_parallel_axis(self, kind, rng):
        """INE-2: J(x) = J_c - m p~ p~ for the 3x3 inertia about any point."""

        def axiom(*x):
            I, point = body(x[:9]), x[9:12]
            p = tuple(a - b for a, b in zip(I.com, point, strict=True))
            tilde = sp.skew(p)
            squared = product(tilde, tilde)
            xx, yy, zz, xy, xz, yz = I.about_com
            J = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
            expected = [[J[i][j] - I.mass * squared[i][j] for j in range(3)] for i in range(3)]
            return difference(I.rotational_at(point), expected)

        holds(kind, axiom, rng, 12)

    def test_shift_between_points_that_are_not_the_centre_of_mass(self, kind, rng):
        """INE-2: the 3x3 inertia about y from that about x, both anywhere; by way of two parallel axes."""

        def axiom(*x):
            I, there, here = body(x[:9]), x[9:12], x[12:15]
            com, y = (tuple(a - b for a, b in zip(p, there, strict=True)) for p in (I.com, here))
            found = textbook.shift_rotational_inertia(I.rotational_at(there), I.mass, com, y)
            return difference(found, I.rotational_at(here))

        holds(kind, axiom, rng, 15)

    def test_change_of_frame_is_a_congruence(self, kind, rng):
        """INE-3: X^T I X, and back."""

        def axiom(*x):
            I, X = body(x[:9]), pose(x[9:15]).transform()
            dense = product(product(transposed(X.matrix()), I.matrix()), X.matrix())
            return (
                difference((X.T @ I @ X).matrix(), dense)
                + difference(I.congruence(X).transform(X), I)
                + difference(I.congruence(X).mass, I.mass)
            )

        holds(kind, axiom, rng, 15)

    def test_energy_and_momentum_do_not_depend_on_the_frame(self, kind, rng):
        """INE-5, INE-6: h(x) = phi h(C), V^T I V / 2 invariant."""

        def axiom(*x):
            I, X, V = body(x[:9]), pose(x[9:15]).transform(), motion(x[15:21])
            moved = I.congruence(X)
            return [moved.kinetic_energy(V) - I.kinetic_energy(X @ V)] + difference(
                moved @ V, X.T @ (I @ (X @ V))
            )

        holds(kind, axiom, rng, 21)

    def test_six_dyads_add_up(self, kind, rng):
        """INE-7: I = sum of six lambda y y^T."""

        def axiom(*x):
            I = body(x)
            dyads = I.dyads()
            assert len(dyads) == 6
            total = [
                sum(d.value * d.direction.components[i] * d.direction.components[j] for d in dyads)
                for i in range(6)
                for j in range(6)
            ]
            return difference(total, I.matrix())

        holds(kind, axiom, rng, 9, 1000)

    def test_principal_axes(self, kind, rng):
        """INE-7: orthonormal eigenvectors, also of nearly and exactly diagonal matrices."""

        def axiom(*x):
            moments, axes = principal_axes(x)
            xx, yy, zz, xy, xz, yz = x
            J = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
            result = difference(product(axes, transposed(axes)), ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
            for value, axis in zip(moments, axes, strict=True):
                result += [sum(J[i][j] * axis[j] for j in range(3)) - value * axis[i] for i in range(3)]
            return result

        samples = rng.uniform(-1, 1, (20, 6))
        samples[:4, 3:] *= [[0.0], [1e-300], [1e-20], [1e-8]]
        samples[4] = (1, 1, 1, 0, 0, 0)
        samples[5] = (1, 1, 1, 1, 1, 1)
        samples[6] = (0, 0, 0, 1, 0, 0)
        samples[7] = 0
        assert residual(kind, axiom, samples) <= 20 * TOLERANCE[kind]

    def test_consistency_is_decided_elementwise(self, kind, rng):
        """INE-8."""

        def axiom(*x):
            good = body(x)
            bad = Inertia(good.mass, good.com, ((4, 0, 0), (0, 1 + 0 * x[0], 0), (0, 0, 1)))
            return [zero_if(good.is_physical(1e-5), x[0]), 1 - zero_if(bad.is_physical(1e-5), x[0])]

        assert residual(kind, axiom, rng.uniform(-1, 1, (15, 9))) == 0


class TestAccumulation:
    def test_inertias_add_up_at_a_frame(self, rng):
        """INE-4: mass, first moment and energy of many bodies at one frame."""
        parts = [(random_pose(rng), random_inertia(rng)) for _ in range(5)]
        total = textbook.sum_inertias_at(parts)
        assert math.isclose(total.mass, sum(I.mass for _, I in parts))
        first = sum(I.mass * np.array(T.apply(I.com)) for T, I in parts)
        assert np.allclose(total.first_moment, first, atol=1e-13)
        V = random_motion(rng)
        energy = sum(I.kinetic_energy(T.transform() @ V) for T, I in parts)
        assert math.isclose(total.kinetic_energy(V), energy, rel_tol=1e-13)

    def test_point_masses(self, rng):
        """INE-1: the inertia of points is the sum of m (r . r - r r^T)."""
        masses, points = rng.uniform(0.5, 1, 6), rng.standard_normal((6, 3))
        total = textbook.sum_inertias_at(
            (Pose(p=tuple(r)), Inertia(float(m))) for m, r in zip(masses, points, strict=True)
        )
        J = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points, strict=True))
        assert np.allclose(np.array(total.matrix())[:3, :3], J, atol=1e-13)
        assert np.allclose(np.array(total.rotational_at((0, 0, 0))), J, atol=1e-13)

    def test_first_moment_is_not_the_centre_of_mass(self):
        """E:S5 (C): p is the position of the centre of mass, the first moment is m p."""
        I = Inertia(2.0, (0.1, 0.2, 0.3))
        assert np.allclose(I.first_moment, (0.2, 0.4, 0.6)) and np.allclose(I.com, (0.1, 0.2, 0.3))


class TestConventions:
    def test_off_diagonal_entries_are_minus_the_integrals(self):
        """INE-9, E:T15 (C): a point at (1, 1, 0) has I_xy = -1, about the frame's origin."""
        I = Inertia(1.0, (1.0, 1.0, 0.0))
        assert I.second == (1, 1, 2, -1, 0, 0)
        assert I.about_com == (0, 0, 0, 0, 0, 0)

    def test_matrix_is_symmetric_and_positive(self, rng):
        """INE-1."""
        for _ in range(10):
            M = np.array(random_inertia(rng).matrix())
            assert np.array_equal(M, M.T) and np.linalg.eigvalsh(M)[0] > 0

    def test_symbols(self):
        """INE-1: of symbols, exactly."""
        m, l, J = sympy.symbols("m l J", positive=True)
        I = Inertia(m, (l, 0, 0), ((0, 0, 0), (0, J, 0), (0, 0, J)))
        V = Motion((0, 0, sympy.Symbol("w")))
        assert sympy.expand(I.kinetic_energy(V) - (J + m * l**2) * sympy.Symbol("w") ** 2 / 2) == 0


class TestPhysicalConsistency:
    """INE-8: m > 0 and tr(J_c) / 2 - J_c not negative."""

    def test_bodies_are_physical_in_every_frame(self, rng):
        for _ in range(20):
            I = random_inertia(rng)
            assert I.is_physical() is True
            assert I.congruence(random_pose(rng).transform()).is_physical() is True

    @pytest.mark.parametrize(
        "moments",
        [(0.0, 0.0, 0.0), (1.0, 1.0, 0.0), (1.0, 1.0, 2.0), (0.1, 0.2, 0.3), (1.0, 1.0, 1.0)],
        ids=["point", "rod", "ring", "lamina", "ball"],
    )
    def test_thin_bodies_are_physical_however_they_lie(self, moments, rng):
        for _ in range(20):
            R, c = np.asarray(Rotation.random(rng)), rng.uniform(-2, 2, 3)
            assert Inertia(0.7, c.tolist(), (R @ np.diag(moments) @ R.T).tolist()).is_physical()

    @pytest.mark.parametrize(
        ("mass", "moments"),
        [
            (0.0, (0.0, 0.0, 0.0)),
            (0.0, (1.0, 1.0, 1.0)),
            (-1.0, (1.0, 1.0, 1.0)),
            (math.nan, (1.0, 1.0, 1.0)),
            (1.0, (-0.1, 1.0, 1.0)),
            (1.0, (1.0, 1.0, 2.001)),
            (1.0, (5.0, 1.0, 1.0)),
            (1.0, (1.0, 1.0, -1e-6)),
            (1.0, (math.nan, 1.0, 1.0)),
        ],
    )
    def test_what_no_body_can_have(self, mass, moments):
        I = Inertia(mass, (0.1, 0, 0), np.diag(moments).tolist())
        assert not I.is_physical()

    def test_positive_definite_is_not_enough(self):
        """The triangle inequality of the principal moments is part of it."""
        I = Inertia(1.0, (0, 0, 0), np.diag([1.0, 1.0, 2.5]).tolist())
        assert np.linalg.eigvalsh(np.array(I.matrix(), dtype=float))[0] > 0 and not I.is_physical()

    def test_hidden_in_the_off_diagonal_entries(self):
        rows = [[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]]  # principal moments 0.1, 1.9, 1
        assert not Inertia(1.0, (0, 0, 0), rows).is_physical()

    def test_second_moment_matrix_of_points(self, rng):
        """Sigma is the integral of r r^T about the centre of mass."""
        masses, points = rng.uniform(0.5, 1, 6), rng.standard_normal((6, 3))
        I = textbook.sum_inertias_at(
            (Pose(p=tuple(r)), Inertia(float(m))) for m, r in zip(masses, points, strict=True)
        )
        arms = points - masses @ points / masses.sum()
        sigma = sum(m * np.outer(r, r) for m, r in zip(masses, arms, strict=True))
        xx, yy, zz, xy, xz, yz = second_moment_matrix(I)
        assert np.allclose([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], sigma, atol=1e-13)


def test_principal_axes_of_fifty_digits():
    """INE-7: enough sweeps for the precision."""
    with mpmath.workdps(50):
        s = [mpmath.mpf(x) for x in ("1.1", "2.3", "0.7", "0.3", "-0.8", "0.5")]
        moments, axes = principal_axes(tuple(s))
        rows = mpmath.matrix([[s[0], s[3], s[4]], [s[3], s[1], s[5]], [s[4], s[5], s[2]]])
        for value, axis in zip(moments, axes, strict=True):
            assert mpmath.norm(rows * mpmath.matrix(axis) - value * mpmath.matrix(axis)) < 1e-48


def test_principal_axes_of_a_diagonal_matrix_are_the_coordinate_axes():
    moments, axes = principal_axes((3.0, 1.0, 2.0, 0, 0, 0))
    assert moments == (3.0, 1.0, 2.0) and leaves(axes) == [1, 0, 0, 0, 1, 0, 0, 0, 1]
