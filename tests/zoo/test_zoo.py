"""The robots of the zoo are what their sources say."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy

import kinetree as kt
from kinetree import zoo
from kinetree.joints import Free

ROBOTS = {name: getattr(zoo, name) for name in zoo.__all__}


def eager(function, *arguments):
    return function(*arguments, target="eager")


@pytest.mark.parametrize("make", ROBOTS.values(), ids=ROBOTS.keys())
def test_every_robot_has_a_positive_definite_mass_matrix(make, rng):
    model = make()
    q, _ = model.random_state(rng)
    M = eager(kt.mass_matrix, model, q)
    assert np.allclose(M, M.T, atol=1e-12)
    assert np.linalg.eigvalsh(M).min() > 0
    assert not np.any(M[~model.mass_sparsity()])


@pytest.mark.parametrize("make", ROBOTS.values(), ids=ROBOTS.keys())
def test_every_robot_is_documented(make):
    assert make.__doc__ and len(make.__doc__) > 60


def test_degrees_of_freedom():
    expected = {"quadruped": 18, "biped": 20, "humanoid": 36, "spacecraft": 15, "arm7": 7, "puma560": 6}
    assert {name: ROBOTS[name]().nv for name in expected} == expected
    assert zoo.quadruped(spine=True).nv == 19
    assert [make(floating=False).nv for make in (zoo.quadruped, zoo.biped, zoo.humanoid)] == [12, 14, 30]
    assert isinstance(zoo.humanoid().bodies[0].joint, Free)


def test_legged_robots_are_symmetric():
    """Left and right are mirror images: the centre of mass of the standing robot is in the plane y = 0."""
    for make in (zoo.quadruped, zoo.biped, zoo.humanoid):
        model = make()
        M = eager(kt.mass_matrix, model, model.neutral())
        # first moments m c~ of the whole, in the coupling of rotation and translation: entry (z, x) is m c_y
        assert abs(M[2, 3]) < 1e-12


# --- textbook equations -------------------------------------------------------------------------------------
def test_pendulum_is_equation_m4():
    m, L, I, g, theta, w, a = sympy.symbols("m L I g theta w a")
    (tau,) = kt.inverse_dynamics(zoo.pendulum(m, L, I, g), [theta], [w], [a])
    assert sympy.expand(tau - ((I + m * L**2) * a + m * g * L * sympy.sin(theta))) == 0


def test_cart_pole_is_equation_n4():
    m1, m2, L, I, g, x, theta, u, w, b, a = sympy.symbols("m1 m2 L I g x theta u w b a")
    c, s = sympy.cos(theta), sympy.sin(theta)
    force, torque = kt.inverse_dynamics(zoo.cart_pole(m1, m2, L, I, g), [x, theta], [u, w], [b, a])
    assert sympy.simplify(force - ((m1 + m2) * b + m2 * L * c * a - m2 * L * s * w**2)) == 0
    assert sympy.simplify(torque - (m2 * L * c * b + (I + m2 * L**2) * a + m2 * g * L * s)) == 0


def test_double_pendulum_mass_matrix():
    m1, m2, L1, L2, I1, I2, g, q1, q2 = sympy.symbols("m1 m2 L1 L2 I1 I2 g q1 q2")
    M = kt.mass_matrix(zoo.double_pendulum(m1, m2, L1, L2, I1, I2, g), [q1, q2])
    couple = I2 + m2 * L2**2 + m2 * L1 * L2 * sympy.cos(q2)
    first = I1 + (m1 + m2) * L1**2 + I2 + m2 * L2**2 + 2 * m2 * L1 * L2 * sympy.cos(q2)
    for entry, expected in zip(M.ravel(), (first, couple, couple, I2 + m2 * L2**2)):
        assert sympy.simplify(entry - expected) == 0


# --- published numbers --------------------------------------------------------------------------------------
NOMINAL = np.array([0, np.pi / 4, np.pi, 0, np.pi / 4, 0])


def test_puma560_gravity_load():
    """Corke, Robotics, Vision and Control: gravload in the nominal position."""
    tau = eager(kt.inverse_dynamics, zoo.puma560(), NOMINAL, np.zeros(6), np.zeros(6))
    assert np.allclose(tau, [0, 31.6399, 6.0351, 0, 0.0283, 0], atol=5e-5)


def test_puma560_mass_matrix():
    """Corke, Robotics, Vision and Control: inertia in the nominal position, motors included."""
    published = [
        [3.6594, -0.4044, 0.1006, -0.0025, 0.0000, 0.0000],
        [-0.4044, 4.4137, 0.3509, 0.0000, 0.0024, 0.0000],
        [0.1006, 0.3509, 0.9378, 0.0000, 0.0015, 0.0000],
        [-0.0025, 0.0000, 0.0000, 0.1925, 0.0000, 0.0000],
        [0.0000, 0.0024, 0.0015, 0.0000, 0.1713, 0.0000],
        [0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.1941],
    ]
    assert np.allclose(eager(kt.mass_matrix, zoo.puma560(), NOMINAL), published, atol=5.1e-5)


def test_puma560_motors_as_rotors():
    """The reflected form of the rotors is the armature of the published model."""
    exact, published = zoo.puma560(rotors=True), zoo.puma560()
    reflected = exact.replace(rotors="reflected")
    assert np.allclose(reflected.armature, published.armature)
    M = eager(kt.mass_matrix, exact, NOMINAL)
    assert np.allclose(np.diag(M), np.diag(eager(kt.mass_matrix, published, NOMINAL)), rtol=2e-3)


def test_arm7_stands_upright():
    """At rest all joint axes are at right angles, and the flange is 1.306 m above the base."""
    model = zoo.arm7()
    height = 0.0
    for body in model.bodies:
        assert {abs(x) for row in body.placement.R for x in row} <= {0, 1}
        height += sum(body.placement.p)
    assert math.isclose(height + 0.045, 1.3065 - 0.0005)
    assert math.isclose(model.total_mass, 25.61)
    tau = eager(kt.inverse_dynamics, model, model.neutral(), np.zeros(7), np.zeros(7))
    assert abs(tau[0]) < 1e-12


# --- trees --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "branching, parents",
    [(1, (0, 1, 2, 3, 4, 5, 6)), (2, (0, 1, 1, 2, 2, 3, 3)), (1.5, (0, 1, 2, 2, 3, 4, 4))],
)
def test_featherstones_numbering(branching, parents):
    assert zoo.auto_tree(7, branching).parents == parents
    assert zoo.tree(7, branching).parents == parents


def test_auto_tree_is_featherstones():
    """E:T30: tubes of 1 kg and 1 m, centre of mass at 0.5 m, taper and skew."""
    first, second, third = zoo.auto_tree(3, 1, skew=0.3, taper=0.9).bodies
    assert first.inertia == kt.Inertia(1.0, (0.5, 0, 0), np.diag([0.0025, 1.015 / 12, 1.015 / 12]))
    assert np.isclose(third.inertia.mass, 0.9**6) and np.isclose(third.inertia.com[0], 0.9**2 / 2)
    assert second.placement.p == (1.0, 0.0, 0.0) and third.placement.p == (0.9, 0.0, 0.0)
    assert np.allclose(
        second.placement.R, [[1, 0, 0], [0, np.cos(0.3), -np.sin(0.3)], [0, np.sin(0.3), np.cos(0.3)]]
    )
    assert first.placement == kt.Pose.identity()


def test_star_and_chain():
    assert zoo.star(5).parents == (0, 1, 1, 1, 1)
    assert zoo.chain(5).parents == (0, 1, 2, 3, 4)
    assert len({body.inertia for body in zoo.chain(5).bodies}) == 1


def test_spacecraft_floats_without_gravity():
    model = zoo.spacecraft()
    assert model.gravity == (0.0, 0.0, 0.0)
    assert not eager(kt.inverse_dynamics, model, model.neutral(), np.zeros(15), np.zeros(15)).any()


def test_legs_of_any_number_and_length():
    """TOP-7: degrees of freedom of a biped and a quadruped; the depth is a leg and the trunk."""
    assert (zoo.legged(2, 7).nv, zoo.legged(4, 3).nv, zoo.legged(2, 3, floating=False).nv) == (20, 18, 6)
    model = zoo.legged(4, 5)
    assert model.depth == 6 and len(model.children("trunk")) == 4
    two, four = (int(zoo.legged(legs, 12 // legs).mass_sparsity().sum()) for legs in (2, 4))
    assert two > four  # deeper legs couple more
    with pytest.raises(kt.errors.ModelError, match="legs is 0"):
        zoo.legged(0)
