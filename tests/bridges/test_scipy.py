"""Functions of a model for SciPy's solvers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.derivatives.cases import error, tree

import kinetree as kt

optimize = pytest.importorskip("scipy.optimize")
integrate = pytest.importorskip("scipy.integrate")


@kt.function("q, goal(3) -> away(3)")
def away(model, q, goal):
    return kt.frame_placement(model, q, model.body_names[-1])[:3, 3] - goal


@kt.function("q, goal(3) -> cost")
def cost(model, q, goal):
    gap = away(model, q, goal)
    return gap @ gap + 0.01 * (q @ q)


GOAL = np.array([0.3, 0.2, 0.3])


def differences(f: Callable[[Any], Any], x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """The Jacobian by central differences."""
    return np.stack([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))], axis=-1)


def test_least_squares(rng):
    model = kt.zoo.puma560()
    fit = kt.scipy.residual(away, model, goal=GOAL)
    q, _ = model.random_state(rng)
    assert error(fit.jac(q), differences(fit, q)) < 1e-8
    found = optimize.least_squares(fit, q, jac=fit.jac, xtol=1e-12, ftol=1e-12, gtol=1e-12)
    assert np.abs(fit(found.x)).max() < 1e-6


def test_minimize_with_a_hessian(rng):
    model = kt.zoo.puma560()
    f = kt.scipy.residual(cost, model, goal=GOAL)
    q, _ = model.random_state(rng)
    assert isinstance(f(q), float) and f.jac(q).shape == (6,)
    assert error(f.jac(q), differences(f, q)) < 1e-8
    assert error(f.hess(q), differences(f.jac, q)) < 1e-8
    found = optimize.minimize(f, q, jac=f.jac, hess=f.hess, method="trust-exact", options={"gtol": 1e-9})
    assert found.success and np.abs(f.jac(found.x)).max() < 1e-8


def test_one_vector_for_a_batch(rng):
    """Parameters that are the same in all states: what identification solves."""
    model = kt.zoo.double_pendulum()
    q, v, a = rng.normal(size=(3, 4, model.nv))
    fit = kt.scipy.residual(kt.inverse_dynamics, model, "parameters", q=q, v=v, a=a)
    x = model.parameters.ravel()
    assert error(fit(x), kt.inverse_dynamics(model, q, v, a).ravel()) < 1e-14
    assert error(fit.jac(x), kt.torque_regressor(model, q, v, a).reshape(-1, x.size)) < 1e-13
    assert fit.sparsity.shape == fit.jac(x).shape
    assert not np.any(fit.jac(x)[fit.sparsity.toarray() == 0])


def test_many_states_at_once(rng):
    """One block of the Jacobian for each state, only where the robot has entries."""
    model, count = kt.zoo.star(3), 5
    f = kt.scipy.residual(kt.inverse_dynamics, model, ("q", "v", "a"), states=count)
    x = rng.normal(size=f.size)
    J = f.jac(x)
    assert error(J.toarray(), differences(f, x)) < 1e-8
    assert J.nnz == f.sparsity.nnz == 12 * count
    q, v, a = np.moveaxis(x.reshape(count, 3, model.nv), 1, 0)
    assert error(f(x), kt.inverse_dynamics(model, q, v, a).ravel()) < 1e-14


def test_each_state_with_inputs_of_its_own(rng):
    model = kt.zoo.double_pendulum()
    v, a = rng.normal(size=(2, 3, model.nv))
    f = kt.scipy.residual(kt.inverse_dynamics, model, "q", states=3, v=v, a=a)
    x = rng.normal(size=f.size)
    assert error(f.jac(x).toarray(), differences(f, x)) < 1e-8


@pytest.mark.parametrize("case", [3, 8])
def test_motion_of_trees(case, rng):
    """The Jacobian of the equations of motion, quaternions included, whatever their length."""
    model = tree(case, 4).model
    flow = kt.scipy.motion(model)
    q, v = model.random_state(rng)
    x = np.concatenate([q, v])
    a = kt.forward_dynamics(model, q, v, kt.passive_force(model, q, v))
    assert error(flow(0.0, x), np.concatenate([model.rate(q, v), a])) < 1e-12
    assert error(flow.jac(0.0, x), differences(lambda x: flow(0.0, x), x)) < 1e-7
    assert np.isfinite(flow(0.0, 1.3 * x)).all()


def test_solve_ivp_agrees_with_a_simulation():
    model = kt.zoo.double_pendulum()

    @kt.function("t, v -> tau")
    def drive(model, t, v):
        return np.array([kt.ops.sin(3 * t), 0.0]) - 0.5 * v

    q, v = np.array([0.4, -0.2]), np.array([1.0, 0.5])
    flow = kt.scipy.motion(model, drive)
    x = np.concatenate([q, v])
    found = integrate.solve_ivp(flow, (0, 1), x, method="Radau", jac=flow.jac, rtol=1e-9, atol=1e-9)
    run = kt.simulate(model, q, v, duration=1.0, dt=1.0, control=drive, integrator="dopri5", limits=False)
    assert found.success and found.njev >= 1
    assert error(found.y[:, -1], np.concatenate([run.q[-1], run.v[-1]])) < 1e-6


def test_friction_that_does_not_jump():
    """A pendulum that friction brings to rest: differences of the smooth force agree with the Jacobian."""
    model = kt.zoo.pendulum().replace(friction={"hinge": 5.0}, damping={"hinge": 1.0})
    flow = kt.scipy.motion(model, smoothing=0.01)
    x = np.array([0.1, 0.004])
    assert error(flow.jac(0.0, x), differences(lambda x: flow(0.0, x), x, 1e-7)) < 1e-5
    found = integrate.solve_ivp(flow, (0, 1), [0.3, 2.0], method="Radau", jac=flow.jac)
    assert found.success and found.nfev < 500
    assert abs(found.y[1, -1]) < 0.02  # it creeps


def test_misuse():
    model = kt.zoo.double_pendulum()
    with pytest.raises(kt.errors.KinetreeError, match="the input 'x' of gravity_force is not one of q"):
        kt.scipy.residual(kt.gravity_force, model, "x")
    with pytest.raises(kt.errors.KinetreeError, match="the input 'q' of gravity_force is given"):
        kt.scipy.residual(kt.gravity_force, model, "q", q=np.zeros(2))
    with pytest.raises(kt.errors.KinetreeError, match="argument 'v' is missing"):
        kt.scipy.residual(kt.bias_force, model, "q")
    with pytest.raises(kt.errors.KinetreeError, match=r"x has shape \(3,\), but \(2,\) is needed: q"):
        kt.scipy.residual(kt.gravity_force, model)(np.zeros(3))
    with pytest.raises(kt.errors.KinetreeError, match="gravity_force gives several numbers"):
        kt.scipy.residual(kt.gravity_force, model).hess(np.zeros(2))
    with pytest.raises(kt.errors.KinetreeError, match="3 is not a model function"):
        kt.scipy.residual(3, model)
    with pytest.raises(kt.errors.KinetreeError, match=r"tau has shape \(3,\)"):
        kt.scipy.motion(model, np.zeros(3))
    with pytest.raises(kt.errors.KinetreeError, match="takes q, goal, but only t, q and v are known"):
        kt.scipy.motion(model, cost)
