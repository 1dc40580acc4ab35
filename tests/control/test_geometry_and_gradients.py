"""What control makes of connections, gradients and a fixed budget of operations."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt

FREE = kt.zoo.chain(3).replace(gravity=(0.0, 0.0, 0.0))
RATE = 3.0  # 1/s


def connection(model, q):
    """Gamma[i, j, k] of the second kind: M^-1 times those of the first, with M by finite differences."""
    step = 1e-5
    eye = step * np.eye(model.nv)
    dM = [(kt.mass_matrix(model, q + e) - kt.mass_matrix(model, q - e)) / (2 * step) for e in eye]
    d = np.array(dM)  # d[k, i, j] = dM_ij / dq_k
    first = (d.transpose(1, 2, 0) + d.transpose(1, 0, 2) - d) / 2
    return np.linalg.solve(kt.mass_matrix(model, q), first.reshape(model.nv, -1)).reshape(first.shape)


def test_free_motion_is_a_geodesic_and_transport_keeps_lengths():
    """CTL-5: dw + Gamma(v, w) dt = 0 carries a vector along a run: v itself is carried, w^T M w is kept."""
    integrate = pytest.importorskip("scipy.integrate")
    q0, v0 = np.array([0.3, 0.8, -0.5]), np.array([0.5, -0.4, 0.9])
    start = np.array([0.2, 0.7, -0.1])

    def rate(t, y):
        q, v, w = y.reshape(3, 3)
        gamma = np.linalg.solve(kt.mass_matrix(FREE, q), kt.christoffel_symbols(FREE, q).reshape(3, 9))
        gamma = gamma.reshape(3, 3, 3)
        return np.concatenate([v, -gamma @ v @ v, -gamma @ v @ w])

    found = integrate.solve_ivp(rate, (0, 1), np.r_[q0, v0, start], rtol=1e-11, atol=1e-12)
    q, v, w = found.y[:, -1].reshape(3, 3)
    run = kt.simulate(FREE, q0, v0, duration=1.0, dt=1e-3, integrator="rk4", limits=False)
    assert np.abs(run.q[-1] - q).max() < 1e-9
    assert np.abs(run.v[-1] - v).max() < 1e-9
    length = [x @ kt.mass_matrix(FREE, p) @ x for x, p in ((start, q0), (w, q))]
    assert length[1] == pytest.approx(length[0], rel=1e-9)
    first = np.linalg.solve(kt.mass_matrix(FREE, q), kt.christoffel_symbols(FREE, q).reshape(3, 9))
    assert np.abs(first.reshape(3, 3, 3) - connection(FREE, q)).max() < 1e-7


@kt.function("t, q, v -> tau")
def geometric(model, t, q, v):
    """tau = M (w' + Gamma(v, w)) - RATE M (v - w): follows the field of velocities w(t) = sin(t + k)."""
    w = np.array([kt.ops.sin(t + k) for k in range(model.nv)])
    dw = np.array([kt.ops.cos(t + k) for k in range(model.nv)])
    gamma = kt.christoffel_symbols(model, q)
    along = np.array([sum(v[k] * (gamma[i, :, k] @ w) for k in range(model.nv)) for i in range(model.nv)])
    return along + kt.mass_matrix_product(model, q, dw - RATE * (v - w))


def test_geometric_control_closes_its_loop():
    """CTL-5: with the covariant derivative as feed-forward, the energy of the error is E_0 exp(-2 RATE t)."""
    q0, v0 = np.array([0.3, 0.8, -0.5]), np.array([1.5, -0.4, 0.9])
    run = kt.simulate(
        FREE, q0, v0, duration=1.0, dt=0.05, integrator="dopri5", control=geometric, tolerance=1e-10
    )
    error = run.v - np.sin(run.t[:, None] + np.arange(3))
    energy = np.einsum("ti,tij,tj->t", error, kt.mass_matrix(FREE, run.q), error) / 2
    np.testing.assert_allclose(energy, energy[0] * np.exp(-2 * RATE * run.t), rtol=1e-6)


@pytest.mark.parametrize("name", ["puma560", "arm7"])
def test_velocity_gradients_are_christoffel_symbols(name):
    """CTL-6: dtau_i/dv_j = (Gamma_ijk + Gamma_ikj) v_k; tau is quadratic in v: differences are exact."""
    model = getattr(kt.zoo, name)()
    rng = np.random.default_rng(1)
    q, v = model.random_state(rng)
    a = rng.normal(size=model.nv)
    gamma = kt.christoffel_symbols(model, q)
    by_symbols = (gamma + gamma.transpose(0, 2, 1)) @ v
    eye = np.eye(model.nv)
    ahead, behind = (kt.inverse_dynamics(model, q, v + s * eye, a) for s in (1.0, -1.0))
    by_differences = ((ahead - behind) / 2).T
    analytic = kt.inverse_dynamics_derivatives(model, q, v, a)[1]
    scale = np.abs(analytic).max()
    assert np.abs(by_symbols - by_differences).max() < 1e-11 * scale
    assert np.abs(analytic - by_differences).max() < 1e-11 * scale


def test_a_motion_is_found_by_its_gradients():
    """CTL-6: shooting. Torques that lead a pendulum to a given state, by Gauss-Newton on linearisations."""
    model, steps, dt = kt.zoo.double_pendulum(), 20, 0.02
    goal = np.array([1.2, -0.7, 0.0, 0.0])
    tau = np.zeros((steps, 2))
    misses = []
    for _ in range(12):
        q, v = np.zeros(2), np.zeros(2)
        slope = np.zeros((4, 2 * steps))
        for k in range(steps):
            A, B = kt.linearize(model, q, v, tau[k], dt=dt, integrator="rk4")
            slope = A @ slope
            slope[:, 2 * k : 2 * k + 2] = B
            q, v = kt.step(model, q, v, tau[k], dt=dt, integrator="rk4")
        miss = goal - np.r_[q, v]
        misses.append(np.abs(miss).max())
        tau += np.linalg.lstsq(slope, miss, rcond=None)[0].reshape(steps, 2)
    assert misses[0] > 0.1
    assert misses[-1] < 1e-12
    run = kt.simulate(
        model,
        np.zeros(2),
        np.zeros(2),
        duration=steps * dt,
        dt=dt,
        integrator="rk4",
        control=tau,
        limits=False,
    )
    assert np.abs(np.r_[run.q[-1], run.v[-1]] - goal).max() < 1e-9


def test_a_control_cycle_is_a_fixed_and_small_number_of_operations(tmp_path):
    """CTL-7: what a 1 kHz loop on seven joints computes, at one operation a nanosecond, is below 50 us; the C
    has no allocation, and no loop whose length depends on numbers."""
    arm = kt.zoo.arm7()
    frame = arm.frame_names[-1]
    laws = {
        "torque": kt.control.ComputedTorque(arm, np.zeros(7), kp=100.0, kd=20.0),
        "observer": kt.control.MomentumObserver(arm, 50.0, dt=1e-3),
        "space": kt.control.OperationalSpace(arm, frame, (0.4, 0.0, 0.5), kp=50.0, kd=14.0, posture_kd=1.0),
    }
    total = 0
    for name, controller in laws.items():
        paths = controller.export_c(tmp_path, prefix=name)
        code = next(p for p in paths if p.name == f"{name}.c").read_text()
        assert not any(word in code for word in ("malloc", "while", "goto"))
        total += sum(code.count(f" {sign} ") for sign in "+-*/")
    assert 500 < total < 50_000
