"""The notations of the sources, translated: operator algebra, Boyden's layout, Concurrent Dynamics."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from tests.spatial.kinds import KINDS, TOLERANCE, difference, residual
from tests.spatial.samples import random_inertia, random_motion, random_pose
from tests.spatial.test_accelerations import T0, Linkage, size
from tests.spatial.test_inertia import body, motion
from tests.spatial.test_spatial_vectors import force, pose

import kinetree.spatial as sp
from kinetree import textbook
from kinetree.errors import ModelError
from kinetree.spatial import Force, Inertia, Motion, Pose, Rotation, Subspace, Transform
from kinetree.spatial.articulated import ArticulatedInertia
from kinetree.spatial.matrix import Factored
from kinetree.textbook import crf, crm
from kinetree.textbook.adapters import boyden, concurrent, soa


def array(rows) -> np.ndarray:
    return np.array(rows, dtype=float)


class TestOperatorAlgebra:
    def test_phi_and_phi_star(self, rng):
        """SPV-2, SPV-3, E:S6: phi(x, z) = phi(x, y) phi(y, z), phi*(x, y) = ^y X_x."""
        T, U = random_pose(rng), random_pose(rng)
        assert np.allclose(array(soa.phi(T @ U)), array(soa.phi(T)) @ array(soa.phi(U)), atol=1e-14)
        assert np.allclose(array(soa.phi(T.inverse())), np.linalg.inv(array(soa.phi(T))), atol=1e-14)
        assert np.array_equal(array(soa.phi_star(T)), array(soa.phi(T)).T)
        assert np.array_equal(array(soa.phi_star(T)), array(T.transform().matrix()))
        assert np.array_equal(array(soa.phi(Pose.identity())), np.eye(6))

    def test_tilde_and_bar(self, rng):
        """SPV-8, SPV-10, E:S3 (B): z~ = [x~ 0; y~ x~] (motions), z-bar = [x~ y~; 0 x~] = -z~* (forces)."""
        V, T = random_motion(rng), random_pose(rng)
        assert np.array_equal(array(crf(V)), -array(crm(V)).T)
        assert np.all(array(crm(V))[:3, 3:] == 0) and np.all(array(crf(V))[3:, :3] == 0)
        phi = array(soa.phi(T))
        there = T.transform() @ V
        assert np.allclose(
            array(crf(V)) @ phi, phi @ array(crf(there)), atol=1e-14
        )  # V-bar(x) phi = phi V-bar(y)
        wrong = array(crm(V)) @ phi - phi @ array(crm(there))
        assert np.max(np.abs(wrong)) > 0.1

    def test_bodies_are_numbered_from_the_tip(self):
        """TOP-6, E:S17: k = n + 1 - i, its own inverse."""
        assert [soa.body_number(i, 4) for i in (1, 2, 3, 4)] == [4, 3, 2, 1]
        assert soa.reordered(soa.reordered("abc")) == ("a", "b", "c")
        with pytest.raises(ModelError, match="from 1 to 4"):
            soa.body_number(5, 4)

    def test_gravity_is_minus_free_fall(self, rng):
        """E:S8 (A/B): with M (alpha + g), a body at rest must be held up: g = -(free fall)."""
        I, fall = random_inertia(rng), (0.0, 0.0, -9.81)
        held = I @ soa.gravity_offset(fall)  # alpha = 0
        weight = np.array(fall) * I.mass
        assert np.allclose(held.linear, -weight, atol=1e-12)
        assert np.allclose(held.angular, np.cross(I.com, -weight), atol=1e-12)
        literal = I @ Motion((0, 0, 0), fall)  # the slide's plus sign with the acceleration of free fall
        assert np.allclose(np.array(literal.components) - held.components, -2 * np.array(held.components))

    def test_gravity_belongs_to_every_root_in_its_own_axes(self, rng):
        """E:S9 (B): two roots, differently turned: both held against the same weight."""
        fall = (0.0, 0.0, -9.81)
        for root in (random_pose(rng), random_pose(rng)):
            I = random_inertia(rng)
            offset = root.transform() @ soa.gravity_offset(fall)
            world = root.transform().T @ (I @ offset)
            assert np.allclose(world.linear, (0, 0, 9.81 * I.mass), atol=1e-12)

    def test_gyroscopic_force(self, rng):
        """SRB-1, E:S16: b(k) = V-bar M V."""
        I, V = random_inertia(rng), random_motion(rng)
        expected = array(crf(V)) @ array(I.matrix()) @ V.components
        assert np.allclose(soa.gyroscopic_force(I, V).components, expected, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
class TestBoyden:
    """SPV-12, E:B6 (B): forces are [f; n]; one X and one cross product serve motions and forces."""

    def test_one_transform_for_motions_and_forces(self, kind, rng):
        def axiom(*x):
            X, F = pose(x[:6]).transform(), force(x[6:12])
            there = boyden.from_force(X.inverse().T @ F)
            return difference(there, textbook.dense.times(boyden.transform_matrix(X), boyden.from_force(F)))

        assert residual(kind, axiom, rng.uniform(-1, 1, (15, 12))) <= 30 * TOLERANCE[kind]

    def test_one_cross_product_for_motions_and_forces(self, kind, rng):
        def axiom(*x):
            V, F = motion(x[:6]), force(x[6:12])
            value = textbook.dense.times(boyden.cross_matrix(V), boyden.from_force(F))
            return difference(boyden.to_force(value), V.cross_star(F))

        assert residual(kind, axiom, rng.uniform(-1, 1, (15, 12))) <= 30 * TOLERANCE[kind]

    def test_inertia_transforms_by_similarity(self, kind, rng):
        """I_P = X I X^-1, and Newton's law f = I a + v x I v."""

        def axiom(*x):
            I, X = body(x[:9]), pose(x[9:15]).transform()
            V, A = motion(x[15:21]), motion(x[21:27])
            here = boyden.from_inertia(I)
            matrix, inverse = boyden.transform_matrix(X), boyden.transform_matrix(X.inverse())
            there = textbook.dense.product(textbook.dense.product(matrix, here), inverse)
            momentum = textbook.dense.times(here, V.components)
            gyroscopic = textbook.dense.times(boyden.cross_matrix(V), momentum)
            f = [a + b for a, b in zip(textbook.dense.times(here, A.components), gyroscopic, strict=True)]
            return difference(there, boyden.from_inertia(I.transform(X))) + difference(
                f, boyden.from_force(textbook.body_force(I, V, A))
            )

        assert residual(kind, axiom, rng.uniform(-1, 1, (15, 27))) <= 300 * TOLERANCE[kind]

    def test_work_needs_the_spatial_transpose(self, kind, rng):
        """f^S d = f . d_o + f_o . d, and (A B)^S = B^S A^S."""

        def axiom(*x):
            X, Y = pose(x[:6]).transform(), pose(x[6:12]).transform()
            V, F = motion(x[12:18]), force(x[18:24])
            A, B = boyden.transform_matrix(X), boyden.cross_matrix(Y @ V)
            both = boyden.spatial_transpose(textbook.dense.product(A, B))
            apart = textbook.dense.product(boyden.spatial_transpose(B), boyden.spatial_transpose(A))
            S = [[y] for y in V.components]
            projected = textbook.dense.times(boyden.spatial_transpose(S), boyden.from_force(F))
            return [
                boyden.scalar_product(boyden.from_force(F), V.components) - V.dot(F),
                projected[0] - V.dot(F),
                *difference(both, apart),
            ]

        assert residual(kind, axiom, rng.uniform(-1, 1, (15, 24))) <= 30 * TOLERANCE[kind]


class TestBoydenInPrint:
    def test_spatial_transpose_of_blocks(self, rng):
        """SPV-12: [A B; C D]^S = [D^T B^T; C^T A^T]; of a transform it is the inverse."""
        M = rng.standard_normal((6, 6))
        A, B, C, D = M[:3, :3], M[:3, 3:], M[3:, :3], M[3:, 3:]
        assert np.array_equal(array(boyden.spatial_transpose(M.tolist())), np.block([[D.T, B.T], [C.T, A.T]]))
        X = random_pose(rng).transform()
        inverse = array(boyden.spatial_transpose(boyden.transform_matrix(X)))
        assert np.allclose(inverse, array(X.inverse().matrix()), atol=1e-14)

    def test_printed_matrix_and_its_inverse(self, rng):
        """E:B2: the matrix [E 0; E r~^T E] and the inverse [E^-1 0; r~ E^-1 E^-1] are right as printed."""
        T = random_pose(rng)
        E, r = array(T.R).T, T.p
        tilde = array(sp.skew(r))
        zero = np.zeros((3, 3))
        X = T.transform()
        assert np.allclose(
            array(boyden.transform_matrix(X)), np.block([[E, zero], [E @ tilde.T, E]]), atol=1e-15
        )
        inverse = np.block([[E.T, zero], [tilde @ E.T, E.T]])
        assert np.allclose(array(boyden.transform_matrix(X.inverse())), inverse, atol=1e-14)

    def test_inertia_is_not_symmetric_and_momentum_is_linear_first(self, rng):
        """SPV-12, E:B6: [m (-P~), m 1; J + P~ m (-P~), m P~]."""
        m, P, J = 2.0, (0.1, 0.2, 0.3), np.diag([1.0, 2.0, 2.5])
        tilde = array(sp.skew(P))
        printed = np.block([[-m * tilde, m * np.eye(3)], [J - m * tilde @ tilde, m * tilde]])
        value = array(boyden.from_inertia(Inertia(m, P, J.tolist())))
        assert np.allclose(value, printed, atol=1e-15) and not np.allclose(value, value.T)

    def test_his_cross_product_is_wrong_in_the_angular_first_layout(self, rng):
        """E:B6 (B): v x I v instead of v x* I v."""
        I, V = random_inertia(rng), random_motion(rng)
        wrong = array(crm(V)) @ (I @ V).components
        assert np.max(np.abs(wrong - textbook.bias_force(I, V).components)) > 0.1

    def test_ball_in_a_pipe(self):
        """E:B5 (A): from the pipe (m2) the mass is diag(m1 + m2, m1 + m2, m2): ball m1 slides along z."""
        ball, pipe = 2.0, 5.0
        S = Subspace([Motion((0, 0, 0), (0, 0, 1))])
        I = ArticulatedInertia.from_rigid(Inertia(ball))
        U = I @ S
        felt = I.deflated(S, U, Factored(S.T @ U)) + Inertia(pipe)
        mass = array(felt.matrix())[3:, 3:]
        assert np.array_equal(mass, np.diag([ball + pipe, ball + pipe, pipe]))


class TestConcurrent:
    def test_equation_of_motion_about_the_joint(self, rng):
        """SRB-2: F = M v' + B in inertial axes is the spatial equation, turned."""
        I, T = random_inertia(rng), random_pose(rng)
        V, A = random_motion(rng), random_motion(rng)
        R = T.rotation
        turned = Pose(R).transform()  # body axes, seen from inertial axes at the joint
        M = concurrent.in_inertial_axes(I, T)
        classical = textbook.classical_acceleration(V, A)
        inertial = Motion(R.apply(classical.angular), R.apply(classical.linear))
        F = M @ inertial + concurrent.nonlinear_force(M, R.apply(V.angular))
        assert np.allclose(F.components, (turned.T @ textbook.body_force(I, V, A)).components, atol=1e-12)
        given = concurrent.joint_centred_inertia(M.mass, M.com, sp.vector.sym_matrix(M.about_com))
        assert np.allclose(array(given), array(M.matrix()), atol=1e-12)

    def test_equation_of_motion_about_the_centre_of_mass(self, rng):
        """SRB-3: S^T (M-bar (S v' + A-bar) + B-bar) = M v' + B, and S^T M-bar S = M."""
        I, V, dv = random_inertia(rng), random_motion(rng), random_motion(rng)
        S, w = concurrent.shift(I.com), V.angular
        centred = array(concurrent.com_centred_inertia(I))
        assert np.allclose(array(S.matrix()).T @ centred @ array(S.matrix()), array(I.matrix()), atol=1e-12)
        at_com = S @ dv + concurrent.com_offset_acceleration(I, w)
        F = Force.from_components(centred @ at_com.components) + concurrent.com_nonlinear_force(I, w)
        expected = textbook.classical_body_force(I, V, dv)
        assert np.allclose((S.T @ F).components, expected.components, atol=1e-12)
        assert np.allclose((S.T @ concurrent.com_nonlinear_force(I, w)).components[3:], 0)

    def test_forces_pass_from_child_to_parent(self, rng):
        """SPV-6: D^T F = [tau + d x f; f]."""
        d, F = (0.1, -0.3, 0.7), Force((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
        carried = concurrent.shift(d).T @ F
        assert np.allclose(carried.angular, np.array(F.angular) + np.cross(d, F.linear))
        assert carried.linear == F.linear

    @pytest.mark.parametrize("kind", ("revolute", "prismatic"))
    def test_acceleration_across_a_joint(self, rng, kind):
        """KIN-10, E:C7 (A for prismatic): v' = D v_p' + G q'' + A, from poses alone, in inertial axes."""
        with mpmath.workdps(90):
            mechanism = OneJoint(rng, kind)
            parent, child = (mechanism.classical(name, T0) for name in ("B", "C"))
            axis, d, omega = mechanism.geometry(T0)
            rate, acceleration = mechanism.rates(T0)
            G = getattr(concurrent, kind)(axis)
            A = getattr(concurrent, f"{kind}_acceleration")(omega, d, axis, rate)
            value = concurrent.shift(d) @ parent + G * acceleration + A
            assert size(value - child) < 1e-18
            if kind == "prismatic":
                printed = concurrent.revolute_acceleration(omega, d, axis, rate)
                single = A - Motion((0, 0, 0), sp.vector.scale(sp.vector.cross(omega, axis), rate))
                for wrong in (printed, single):
                    assert size(concurrent.shift(d) @ parent + G * acceleration + wrong - child) > 0.05

    def test_constraint_forces(self, rng):
        """FRC-5, E:C9 (A): f^c = G^^T F, and F = G f + G^ f^c for orthonormal directions."""
        F = Force.from_components(rng.standard_normal(6).tolist())
        G = concurrent.revolute((1.0, 0.0, 0.0))
        complement = tuple(
            Motion.from_components(1.0 if i == j else 0.0 for i in range(6)) for j in range(1, 6)
        )
        blocked = concurrent.constraint_forces(complement, F)
        assert blocked == F.components[1:]
        rebuilt = np.array(G.components) * G.dot(F) + sum(
            np.array(c.components) * f for c, f in zip(complement, blocked, strict=True)
        )
        assert np.allclose(rebuilt, F.components)

    def test_wrench_along_a_screw_joint_is_not_its_torque(self):
        """E:T25 (B), E:C9: S tau as a wrench presumes S^T S = 1; for a helical joint S^T S = 1 + h^2."""
        h, tau = 0.4, 3.0
        S = Motion((0, 0, 1.0), (0, 0, h))
        naive = Force(*(tuple(tau * x for x in half) for half in (S.angular, S.linear)))
        assert np.isclose(S.dot(naive), (1 + h * h) * tau)
        dual = naive * (1 / (1 + h * h))  # the dual basis of the joint direction
        assert np.isclose(S.dot(dual), tau)


class OneJoint(Linkage):
    """A parent that moves anyhow, and a child on a revolute or prismatic joint."""

    offset = (mpmath.mpf("0.3"), mpmath.mpf("-0.2"), mpmath.mpf("0.5"))

    def __init__(self, rng, kind):
        super().__init__(rng)
        self.kind = kind
        self.axis = tuple(mpmath.mpf(x) / 7 for x in (2, 3, 6))  # a unit vector to all digits

    def coordinate(self, t):
        return mpmath.mpf("0.2") + t - t * t / 2 + t**3

    def rates(self, t):
        return 1 - t + 3 * t * t, -1 + 6 * t

    def relative(self, joint, t):
        if not joint:
            return super().relative(0, t)
        q = self.coordinate(t)
        if self.kind == "revolute":
            return Pose(Rotation.from_axis_angle(self.axis, q), self.offset)
        return Pose(Rotation.identity(), [o + a * q for o, a in zip(self.offset, self.axis, strict=True)])

    def geometry(self, t):
        """The joint's axis, the vector from joint to joint, the parent's omega: in inertial axes."""
        R = self.pose("B", t).rotation
        omega = R.apply(self.velocity("A", "B", t).angular)
        return R.apply(self.axis), R.apply(self.relative(1, t).p), omega

    def classical(self, name, t):
        """[omega'; acceleration of the origin] in inertial axes."""
        V, A = self.velocity("A", name, t), self.acceleration("A", name, name, t)
        a, R = textbook.classical_acceleration(V, A), self.pose(name, t).rotation
        return Motion(R.apply(a.angular), R.apply(a.linear))


def test_single_rotation_subspace_of_boyden():
    """EXA-6: a hinge about z is S = [0 0 1 0 0 0]^T."""
    S = concurrent.revolute((0, 0, 1))
    assert S.components == (0, 0, 1, 0, 0, 0)
    assert (Transform.identity() @ S).components == S.components
