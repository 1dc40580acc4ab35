"""Examples that the documents work out by hand."""

from __future__ import annotations

import numpy as np
from tests.reference.measure import assert_close

import kinetree as kt


def ball(mass: float, inertia: float = 1e-3):
    return kt.Inertia(mass, (0.0, 0.0, 0.0), (np.eye(3) * inertia).tolist())


def test_ball_in_a_pipe():
    """Felt from the pipe, the ball inside weighs nothing along it: diag(m2, m1 + m2, m1 + m2) (E:B5)."""
    m1, m2 = 2.0, 3.0
    builder = kt.ModelBuilder("pipe")
    builder.add_body("pipe", None, kt.Free(), inertia=ball(m2))
    builder.add_body("ball", "pipe", kt.Prismatic((1, 0, 0)), inertia=ball(m1))
    model = builder.build()
    felt = kt.articulated_inertias(model, model.neutral(), target="eager")[0]
    assert_close(felt[3:, 3:], np.diag([m2, m1 + m2, m1 + m2]), 1e-15)
    whole = kt.composite_inertias(model, model.neutral(), target="eager")[0]
    assert_close(whole[3:, 3:], np.eye(3) * (m1 + m2), 1e-15)


def test_planet_on_a_circle():
    """Uniform circular motion has no spatial acceleration; the point itself accelerates by -w^2 r."""
    radius, rate = 3.0, 2.0
    builder = kt.ModelBuilder("planet", gravity=(0, 0, 0))
    builder.add_body("arm", None, kt.Revolute((0, 0, 1)), inertia=ball(1.0))
    there = kt.Pose(np.eye(3).tolist(), (radius, 0, 0))
    builder.add_body("planet", "arm", kt.Fixed(), placement=there, inertia=ball(1.0))
    model = builder.build()
    q, v = np.array([0.4]), np.array([rate])
    A = kt.body_accelerations(model, q, v, np.zeros(1), target="eager")[1]
    V = kt.body_velocities(model, q, v, target="eager")[1]
    assert_close(A, [0, 0, 0, 0, 0, 0], 1e-15, scale=1.0)
    assert_close(A[3:] + np.cross(V[:3], V[3:]), [-(rate**2) * radius, 0, 0], 1e-15)


def test_reaction_of_a_pendulum():
    """Along the rod m (g cos + L w^2), across it m (g sin + L alpha): the force on the bob's hinge."""
    m, L, g, angle, rate, push = 2.0, 0.7, 9.0, 0.6, 1.3, 0.4
    builder = kt.ModelBuilder("pendulum", gravity=(0, 0, -g))
    inertia = kt.Inertia(m, (0, 0, -L), (np.eye(3) * 0.01).tolist())
    builder.add_body("bob", None, kt.Revolute((1, 0, 0)), inertia=inertia)
    model = builder.build()
    q, v, a = np.array([angle]), np.array([rate]), np.array([push])
    wrench = kt.joint_wrenches(model, q, v, a, target="eager")[0]
    along, across = m * (g * np.cos(angle) + L * rate**2), m * (g * np.sin(angle) + L * push)
    assert_close(wrench[3:], [0, across, along], 1e-15)
    tau = kt.inverse_dynamics(model, q, v, a, target="eager")
    assert_close(tau, [(0.01 + m * L**2) * push + m * g * L * np.sin(angle)], 1e-15)
    assert_close(wrench[0], tau[0], 1e-15)


def test_revolute_joint_about_z():
    """S = [0 0 1 0 0 0]^T."""
    builder = kt.ModelBuilder("z")
    builder.add_body("link", None, kt.Revolute((0, 0, 1)), inertia=ball(1.0))
    J = kt.jacobian(builder.build(), np.array([0.3]), frame="link", target="eager")
    assert_close(J, np.array([[0, 0, 1, 0, 0, 0.0]]).T, 0.0)


def test_floating_molecule_comes_to_rest():
    """Taking the velocity of the whole off the base leaves the joints alone and no momentum behind."""
    model = kt.zoo.spacecraft()
    q, v = model.random_state(np.random.default_rng(5))
    before = kt.momentum(model, q, v, target="eager")
    still = kt.nullify_momentum(model, q, v, target="eager")
    assert np.abs(before).max() > 0.1
    after = kt.momentum(model, q, still, target="eager")
    assert_close(after, np.zeros(6), 1e-12, scale=float(np.abs(before).max()))
