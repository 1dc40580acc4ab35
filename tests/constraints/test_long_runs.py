"""Constraints over long runs, and on models whose loops are closed already."""

from __future__ import annotations

import numpy as np
import pytest
from tests.loops.mechanisms import HINGE, ankle, at, four_bar

import kinetree as kt


def held(model, run, constraints):
    """How far a run leaves its constraints: in positions, and in velocities."""
    J = kt.constraint_jacobian(model, run.q, constraints)
    rates = np.einsum("...ij,...j->...i", J, run.v)
    return np.abs(kt.constraint_residual(model, run.q, constraints)).max(), np.abs(rates).max()


@pytest.mark.parametrize("integrator", ["discrete", "rk4"])
def test_a_hundred_thousand_steps_do_not_drift(integrator):
    """A four-bar closed by a constraint: projection after each step keeps it, and rk4 keeps its energy."""
    tree = four_bar(close=False).add_frame("tip", "coupler", at(0.8)).add_frame("end", "rocker", at(0.6))
    closed = kt.LoopConstraint("tip", "end", HINGE)
    q = four_bar().positions({"crank": 0.3})
    options = {"duration": 100.0, "dt": 1e-3, "record": 100, "integrator": integrator}
    run = kt.simulate(tree, q, np.zeros(3), constraints=closed, **options)
    assert not run.failed and np.ptp(run.q[:, 0]) > 1.0
    drift, slip = held(tree, run, closed)
    assert drift < 1e-12 and slip < 1e-12
    embedded = kt.simulate(four_bar(), q, [0.0], **options)
    if integrator == "rk4":
        assert np.abs(run.energy - run.energy[0]).max() < 1e-9
        np.testing.assert_allclose(run.q[:50], embedded.q[:50], atol=1e-7)


@pytest.mark.long
def test_a_quadruped_stands_for_a_hundred_thousand_steps():
    model = kt.zoo.quadruped()
    q = model.neutral()
    feet = [name for name in model.frame_names if "foot" in name] or list(model.body_names[-4:])
    poses = {name: kt.frame_placement(model, q, name) for name in feet}
    stand = tuple(kt.PointConstraint(name, other_point=tuple(pose[:3, 3])) for name, pose in poses.items())
    run = kt.simulate(model, q, np.zeros(model.nv), duration=100.0, dt=1e-3, constraints=stand, record=1000,
                      kd=np.full(model.nv, 0.5))  # fmt: skip
    drift, slip = held(model, run, stand)
    assert not run.failed and drift < 1e-12 and slip < 1e-11


def test_a_dependent_joint_can_be_held():
    """Constraints and loops together: the foot is held, of which no velocity is in v."""
    model = ankle()
    q, v = model.random_state(2)
    roll = kt.JointConstraint("foot")
    assert kt.constraint_jacobian(model, q, roll).shape == (2, model.nv)
    G = kt.loop_matrix(model, q)[model.spanning_tree.coordinate_index("foot")]
    np.testing.assert_allclose(kt.constraint_jacobian(model, q, roll), G, atol=1e-14)
    q, v = kt.project(model, q, v, roll)
    a, force = kt.constrained_dynamics(model, q, v, np.zeros(model.nv), roll)
    h = 1e-5

    def rates(s):
        return model.spanning(model.integrate(q, s * v + s * s / 2 * a), v + s * a)["foot"].velocity

    np.testing.assert_allclose((rates(h) - rates(-h)) / (2 * h), 0, atol=1e-5)
    left = kt.inverse_dynamics(model, q, v, a) - G.T @ force
    np.testing.assert_allclose(left, 0, atol=1e-9)
    run = kt.simulate(model, q, v, duration=0.2, dt=1e-3, constraints=roll)
    foot = model.spanning(run.q, run.v)["foot"]
    assert np.abs(foot.velocity).max() < 1e-12
