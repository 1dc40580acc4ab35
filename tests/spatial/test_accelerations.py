"""Accelerations: spatial and classical, and how they add up across a joint, for all derivative frames."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from tests.spatial.kinds import KINDS, TOLERANCE, difference, residual
from tests.spatial.samples import random_motion

from kinetree import textbook
from kinetree.errors import ModelError
from kinetree.spatial import Motion, Pose, Rotation
from kinetree.textbook.adapters import soa

STEP = mpmath.mpf(10) ** -22


def rate(function, t):
    """The derivative of a function that returns a list of numbers, by central differences with 90 digits."""
    ahead, behind = function(t + STEP), function(t - STEP)
    return [(a - b) / (2 * STEP) for a, b in zip(ahead, behind, strict=True)]


class Linkage:
    """A (inertial) - B (inboard body) - C (outboard body): two poses that are polynomials of time."""

    def __init__(self, rng):
        self.coefficients = [
            [[mpmath.mpf(float(c)) for c in rng.uniform(-1, 1, 3)] for _ in range(6)] for _ in range(2)
        ]

    def relative(self, joint, t):
        x = [a + b * t + c * t * t for a, b, c in self.coefficients[joint]]
        return Pose(Rotation.from_rotation_vector(x[:3]), x[3:])

    def pose(self, name, t):
        """The pose of a frame in A."""
        B = self.relative(0, t)
        return {"A": Pose.identity(), "B": B, "C": B @ self.relative(1, t)}[name]

    def velocity(self, source, target, t):
        """V(source, target) in target-coordinates, from poses alone: T^-1 dT/dt."""

        def numbers(s):
            T = self.pose(source, s).inverse() @ self.pose(target, s)
            return [*itertools.chain(*T.R), *T.p]

        T = self.pose(source, t).inverse() @ self.pose(target, t)
        d = rate(numbers, t)
        omega = textbook.angular_velocity(Rotation(T.R), (d[:3], d[3:6], d[6:9]))
        return Motion(omega, T.rotation.inverse().apply(d[9:]))

    def acceleration(self, source, target, seen_from, t):
        """The derivative of V(source, target) seen from a frame, in target-axes."""

        def components(s):
            turn = self.pose(seen_from, s).rotation.inverse() @ self.pose(target, s).rotation
            V = self.velocity(source, target, s)
            return [*turn.apply(V.angular), *turn.apply(V.linear)]

        d = rate(components, t)
        back = self.pose(target, t).rotation.inverse() @ self.pose(seen_from, t).rotation
        return Motion(back.apply(d[:3]), back.apply(d[3:]))


@pytest.fixture
def linkage(rng):
    with mpmath.workdps(90):
        yield Linkage(rng)


T0 = mpmath.mpf("0.3")


def size(V) -> float:
    return float(max(abs(x) for x in V.components))


@pytest.mark.parametrize("frames", tuple(itertools.product("ABC", repeat=3)), ids="".join)
def test_acceleration_propagates_for_every_choice_of_derivative_frames(linkage, frames):
    """KIN-5, E:S2: 27 choices, from poses alone."""
    total, inboard, relative = frames
    X = linkage.relative(1, T0).transform()
    value = textbook.propagate_acceleration(
        X,
        linkage.velocity("A", "B", T0),
        linkage.velocity("B", "C", T0),
        linkage.acceleration("A", "B", inboard, T0),
        linkage.acceleration("B", "C", relative, T0),
        frames,
    )
    assert size(value - linkage.acceleration("A", "C", total, T0)) < 1e-18


def ingredients(linkage):
    """omega_x, v_x, omega_xy, v_xy, v_y and l, all in C-axes, as mpmath vectors."""
    X = linkage.relative(1, T0).transform()
    V_x, V_xy = linkage.velocity("A", "B", T0), linkage.velocity("B", "C", T0)
    V_y = X @ V_x + V_xy
    turned = [
        mpmath.matrix(x) for x in (X.turned(V_x.angular), X.turned(V_x.linear), X.turned(X.translation))
    ]
    return X, V_x, V_xy, V_y, *turned


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def printed(linkage, name):
    """The closed forms of the lecture notes, and those for one frame throughout."""
    _, _, V_xy, V_y, w, v, l = ingredients(linkage)
    w_xy, v_xy, v_y = (mpmath.matrix(x) for x in (V_xy.angular, V_xy.linear, V_y.linear))
    zero = (0, 0, 0)
    return {
        "AAA": lambda: Motion(zero, cross(w, v_y - v)),
        "AAB": lambda: Motion(cross(w, w_xy), cross(w, v_y - v + v_xy)),
        "CBC": lambda: V_y.cross(V_xy),
        "BBB": lambda: Motion(zero, cross(w, v_xy)),
        "CCC": lambda: Motion(zero, cross(w, v_xy - mpmath.matrix(cross(w_xy, l)))),
    }[name]()


@pytest.mark.parametrize("name", ("AAA", "AAB", "CBC", "BBB", "CCC"))
def test_closed_forms_of_the_coriolis_term(linkage, name):
    """KIN-5: the five forms of the catalogue."""
    X, V_x, V_xy, *_ = ingredients(linkage)
    assert size(textbook.coriolis_term(X, V_x, V_xy, tuple(name)) - printed(linkage, name)) < 1e-18


@pytest.mark.parametrize(("frames", "entry"), [("BBB", "AAB"), ("CCC", "CBC")])
def test_slide_entries_do_not_belong_to_one_frame(linkage, frames, entry):
    """E:S2 (A/B): the terms listed for H = B and H = C, used with all derivatives in H, are wrong."""
    X, V_x, V_xy, *_ = ingredients(linkage)
    assert size(textbook.coriolis_term(X, V_x, V_xy, tuple(frames)) - printed(linkage, entry)) > 0.05


@pytest.mark.parametrize("kind", KINDS)
def test_coriolis_term_of_body_frames_is_a_cross_product(kind, rng):
    """KIN-3, KIN-5: V(y) x V(x, y), for every kind of number."""

    def axiom(*x):
        X = Pose(Rotation.from_rotation_vector(x[:3]), x[3:6]).transform()
        V, W = Motion(x[6:9], x[9:12]), Motion(x[12:15], x[15:18])
        return difference(textbook.coriolis_term(X, V, W), (X @ V + W).cross(W))

    assert residual(kind, axiom, rng.uniform(-1.2, 1.2, (20, 18))) <= 30 * TOLERANCE[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_classical_and_spatial_accelerations_are_inverse(kind, rng):
    """KIN-7, SRB-2: v' = a + omega x v, and back; the origin is a point like any other."""

    def axiom(*x):
        V, A = Motion(x[:3], x[3:6]), Motion(x[6:9], x[9:12])
        classical = textbook.classical_acceleration(V, A)
        origin = textbook.point_acceleration(V, A, (0, 0, 0))
        back = textbook.spatial_acceleration(V, classical)
        return difference(back, A) + difference(classical.linear, origin)

    assert residual(kind, axiom, rng.uniform(-1.2, 1.2, (20, 12))) <= 30 * TOLERANCE[kind]


def test_point_acceleration_is_the_second_derivative_of_the_point(linkage):
    """KIN-7: r'' from poses alone."""
    r = [mpmath.mpf(x) for x in ("0.3", "-0.2", "0.7")]

    def velocity(t):
        return rate(lambda s: list(linkage.pose("C", s).apply(r)), t)

    V, A = linkage.velocity("A", "C", T0), linkage.acceleration("A", "C", "C", T0)
    back = linkage.pose("C", T0).rotation.inverse()
    assert (
        max(abs(a - b) for a, b in zip(textbook.point_acceleration(V, A, r), back.apply(rate(velocity, T0))))
        < 1e-18
    )
    assert max(abs(a - b) for a, b in zip(textbook.point_velocity(V, r), back.apply(velocity(T0)))) < 1e-18


def test_planet_on_a_circle_has_no_spatial_acceleration():
    """KIN-7, EXA-8, E:B4 (C): uniform circular motion about the origin: a = 0, r'' = -Omega^2 r."""
    V = Motion((0, 0, 2.0), (0, 0, 0))  # of the rigid disc that carries the planet, about its centre
    r = (1.5, 0, 0)
    assert textbook.point_acceleration(V, Motion(), r) == (-6.0, 0, 0)
    at_planet = textbook.shift_origin(V, r)
    assert textbook.classical_acceleration(at_planet, Motion()).linear == (-6.0, 0, 0)


class Outboard(Linkage):
    """A hinge whose map is constant in the outboard body: it moves with a constant body twist."""

    twist = Motion.from_components([mpmath.mpf(x) / 7 for x in (3, -2, 5, 1, 4, -6)])

    def relative(self, joint, t):
        return textbook.se3_exp(self.twist * t) if joint else super().relative(0, t)

    def hinge_acceleration(self, t):
        return Motion()


class Inboard(Linkage):
    """A hinge whose map is constant in the inboard body: a turn about z there, a shift along x there."""

    def angle(self, t):
        return mpmath.mpf("0.4") + t + t * t / 3

    def relative(self, joint, t):
        if not joint:
            return super().relative(0, t)
        return Pose(Rotation.from_axis_angle((0, 0, 1), self.angle(t)), (2 * t - t * t, mpmath.mpf("0.3"), 0))

    def hinge_acceleration(self, t):
        """H* theta'', turned into outboard axes."""
        turn = Rotation.from_axis_angle((0, 0, 1), -self.angle(t))
        return Motion((0, 0, mpmath.mpf(2) / 3), turn.apply((-2, 0, 0)))


class TestHingeMap:
    """KIN-6, JNT-11, E:S7 (B): a(k) depends on the frame in which the hinge map is constant."""

    @pytest.mark.parametrize(("mechanism", "frame"), [(Outboard, "outboard"), (Inboard, "inboard")])
    def test_coriolis_acceleration(self, rng, mechanism, frame):
        """alpha(k) = phi* alpha(k+1) + H* theta'' + a(k), from poses alone."""
        with mpmath.workdps(90):
            m = mechanism(rng)
            X, delta = m.relative(1, T0).transform(), m.velocity("B", "C", T0)
            V, alpha = m.velocity("A", "C", T0), m.acceleration("A", "C", "C", T0)
            rest = alpha - X @ m.acceleration("A", "B", "B", T0) - m.hinge_acceleration(T0)
            assert size(soa.coriolis_acceleration(V, delta, frame) - rest) < 1e-18
            other = "inboard" if frame == "outboard" else "outboard"
            assert size(soa.coriolis_acceleration(V, delta, other) - rest) > 0.1

    def test_apparent_derivative_of_the_joint_map(self, rng):
        """E:B10 (B): c = V x S q' + S' q' with the apparent S'; the absolute one counts V x S q' twice."""
        with mpmath.workdps(90):
            m = Inboard(rng)
            X, delta = m.relative(1, T0).transform(), m.velocity("B", "C", T0)
            V, alpha = m.velocity("A", "C", T0), m.acceleration("A", "C", "C", T0)
            rest = alpha - X @ m.acceleration("A", "B", "B", T0) - m.hinge_acceleration(T0)
            w = delta.angular  # S is fixed in inboard axes: its outboard components turn with -w
            apparent = Motion(cross(delta.angular, w), cross(delta.linear, w))
            absolute = V.cross(delta) + apparent
            assert size(V.cross(delta) + apparent - rest) < 1e-18
            assert size(V.cross(delta) + absolute - rest) > 0.1

    def test_the_two_agree_for_rotations_translations_and_screws(self, rng):
        V = random_motion(rng)
        axis = (0.6, 0.0, 0.8)
        for delta in (Motion(axis), Motion((0, 0, 0), axis), Motion(axis, tuple(0.3 * a for a in axis))):
            a, b = (soa.coriolis_acceleration(V, delta, frame) for frame in ("outboard", "inboard"))
            assert np.allclose(a.components, b.components, atol=1e-15)

    def test_the_two_differ_for_a_general_hinge(self, rng):
        V, delta = random_motion(rng), random_motion(rng)
        a, b = (soa.coriolis_acceleration(V, delta, frame) for frame in ("outboard", "inboard"))
        gap = np.concatenate([np.zeros(3), np.cross(delta.angular, delta.linear)])
        assert (
            np.allclose(np.array(a.components) - b.components, gap, atol=1e-14) and np.max(np.abs(gap)) > 0.01
        )


@pytest.mark.parametrize("frames", (("A", "B"), ("A", "B", "D"), "AB"))
def test_unknown_derivative_frames_are_named(frames, rng):
    X = Pose.identity().transform()
    with pytest.raises(ModelError, match="three of 'A'"):
        textbook.coriolis_term(X, Motion(), Motion(), frames)


def test_unknown_hinge_frame_is_named():
    with pytest.raises(ModelError, match="'outboard' or 'inboard'"):
        soa.coriolis_acceleration(Motion(), Motion(), "middle")
