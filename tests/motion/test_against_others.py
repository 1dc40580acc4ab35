"""Motions that others know: closed forms, hand-derived equations solved by SciPy, MuJoCo; and long runs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.conftest import share
from tests.motion.robots import box, distance, state

import kinetree as kt

G = 9.81


def test_released_pendulum_is_an_elliptic_function():
    """sin(theta / 2) = k sn(K - w t | k^2), k = sin(theta_0 / 2), released at rest."""
    special = pytest.importorskip("scipy.special")
    model = kt.zoo.pendulum()
    start, w = 2.0, np.sqrt(G / 1.0)
    k = np.sin(start / 2)
    for integrator, tolerance in (("rk4", 1e-9), ("dopri5", 1e-9), ("variational", 2e-5)):
        run = kt.simulate(
            model, [start], [0.0], duration=4.0, dt=1e-3, integrator=integrator, tolerance=1e-12, record=50
        )
        sn, *_ = special.ellipj(special.ellipk(k**2) - w * run.t, k**2)
        assert np.abs(run.q[:, 0] - 2 * np.arcsin(k * sn)).max() < tolerance, integrator


def solved(rate, y0, times):
    integrate = pytest.importorskip("scipy.integrate")
    found = integrate.solve_ivp(rate, (0, times[-1]), y0, "DOP853", times, rtol=1e-13, atol=1e-13)
    return found.y.T


@pytest.mark.parametrize("integrator", ["rk4", "dopri5", "DOP853"])
def test_example_1_of_concurrent_dynamics(integrator):
    """SIM-1, SIM-6, EXA-1: a pendulum with a body of its own: (I + m L^2) theta'' = tau - m g L sin theta."""
    m, L, I = 2.0, 0.7, 0.03
    builder = kt.ModelBuilder("example 1")
    body = kt.Inertia(m, (0.0, -L, 0.0), np.diag([0.02, 0.02, I]))
    builder.add_body("link", "world", kt.Revolute((0, 0, 1)), inertia=body)
    model = builder.build().replace(gravity=(0.0, -G, 0.0))
    tau = 0.8
    run = kt.simulate(
        model, [0.3], [1.5], duration=3.0, dt=1e-3, record=100, integrator=integrator, control=[tau],
        tolerance=1e-12,
    )  # fmt: skip
    hand = solved(lambda t, y: [y[1], (tau - m * G * L * np.sin(y[0])) / (I + m * L**2)], [0.3, 1.5], run.t)
    assert np.abs(np.c_[run.q, run.v] - hand).max() < 1e-9


@pytest.mark.parametrize("integrator", ["rk4", "dopri5", "DOP853"])
def test_example_2_of_concurrent_dynamics(integrator):
    """SIM-1, SIM-6, EXA-2: a pendulum on a moving base.

    [m1 + m2, m2 L c; m2 L c, I + m2 L^2] [x''; theta''] = [f + m2 L s theta'^2; -m2 g L s]
    """
    m1, m2, L, I = 3.0, 1.2, 0.5, 0.04
    builder = kt.ModelBuilder("example 2")
    builder.add_body("base", "world", kt.Prismatic((1, 0, 0)), inertia=kt.Inertia(m1, (0, 0, 0), np.eye(3)))
    bob = kt.Inertia(m2, (0.0, -L, 0.0), np.diag([0.02, 0.03, I]))
    builder.add_body("bob", "base", kt.Revolute((0, 0, 1)), inertia=bob)
    model = builder.build().replace(gravity=(0.0, -G, 0.0))
    f = 1.7

    def rate(t, y):
        c, s = np.cos(y[1]), np.sin(y[1])
        M = [[m1 + m2, m2 * L * c], [m2 * L * c, I + m2 * L**2]]
        return [y[2], y[3], *np.linalg.solve(M, [f + m2 * L * s * y[3] ** 2, -m2 * G * L * s])]

    q0, v0 = [0.1, 0.9], [-0.2, 2.0]
    run = kt.simulate(
        model, q0, v0, duration=3.0, dt=1e-3, record=100, integrator=integrator, control=[f, 0.0],
        tolerance=1e-12,
    )  # fmt: skip
    assert np.abs(np.c_[run.q, run.v] - solved(rate, [*q0, *v0], run.t)).max() < 1e-9


@pytest.mark.parametrize("integrator", ["rk4", "dopri5"])
def test_control_springs_and_wrenches_act_in_every_step(integrator):
    """SIM-3: a pendulum with a spring, a damper, torques by step and a force on its bob, by hand.

    (I + m L^2) theta'' = tau_k - k (theta - theta_0) - d theta' - m g L sin theta + L F cos theta
    """
    m, L, I, k, rest, d, F = 1.3, 0.7, 0.05, 4.0, 0.2, 0.3, 2.5
    builder = kt.ModelBuilder("pendulum")
    bob = kt.Inertia(m, (0.0, -L, 0.0), np.diag([0.02, 0.03, I]))
    builder.add_body("bob", "world", kt.Revolute((0, 0, 1)), inertia=bob, damping=d)
    model = builder.build().replace(
        gravity=(0.0, -G, 0.0), stiffness={"bob": k}, spring_reference={"bob": rest}
    )
    torques = np.random.default_rng(2).normal(size=(100, 1))

    @kt.function("q -> f_ext")
    def push(model, q):
        """F along the world's x axis, at the bob: in axes of the body, about its origin."""
        c, s = kt.ops.cos(q[0]), kt.ops.sin(q[0])
        return np.array([[0.0, 0.0, L * F * c, F * c, -F * s, 0.0]])

    run = kt.simulate(
        model, [0.4], [1.0], duration=1.0, dt=0.01, control=torques, f_ext=push, integrator=integrator,
        tolerance=1e-11,
    )  # fmt: skip
    y, held = np.array([0.4, 1.0]), [F * L * np.cos(0.4)]
    for tau in torques[:, 0]:
        held[0] = F * L * np.cos(y[0])  # fixed steps hold forces; error control does not

        def rate(t, y, tau=tau):
            arm = held[0] if integrator == "rk4" else F * L * np.cos(y[0])
            force = tau - k * (y[0] - rest) - d * y[1] - m * G * L * np.sin(y[0]) + arm
            return [y[1], force / (I + m * L**2)]

        y = solved(rate, y, np.array([0.0, 0.01]))[-1]
    assert np.abs(np.r_[run.q[-1], run.v[-1]] - y).max() < (1e-6 if integrator == "rk4" else 1e-8)


def test_joint_wrenches_along_a_run_carry_the_rate_of_momentum():
    """SIM-7: through the first joint of an arm goes all that changes its momentum, less its weight."""
    model = kt.zoo.puma560()
    q, v = state(model, 3, speed=0.5)
    run = kt.simulate(model, q, v, duration=0.1, dt=1e-3, integrator="rk4", limits=False, passive=False)
    h = run.momentum
    rate = (8 * (h[3:-1] - h[1:-3]) - (h[4:] - h[:-4])) / (12 * 1e-3)  # [angular; linear], world origin
    poses = kt.placements(model, run.q)[2:-2, 0]
    R, p = poses[:, :3, :3], poses[:, :3, 3]
    moment, force = np.split(run.joint_wrenches[2:-2, 0], 2, -1)
    force = np.einsum("tij,tj->ti", R, force)
    moment = np.einsum("tij,tj->ti", R, moment) + np.cross(p, force)
    weight = model.total_mass * np.asarray(model.gravity)
    about = np.cross(kt.center_of_mass(model, run.q)[2:-2], weight)
    assert np.abs(force + weight - rate[:, 3:]).max() < 1e-6 * np.abs(force).max()
    assert np.abs(moment + about - rate[:, :3]).max() < 1e-6 * np.abs(moment).max()


MUJOCO = {
    "chain": lambda: kt.zoo.chain(6),
    "tree": lambda: kt.zoo.tree(10, 2),
    "star": lambda: kt.zoo.star(5),
    "auto_tree": lambda: kt.zoo.auto_tree(8, 2, 1.0, 0.95),
    "arm7": kt.zoo.arm7,
    "quadruped": kt.zoo.quadruped,
    "biped": kt.zoo.biped,
    "humanoid": kt.zoo.humanoid,
    "spacecraft": kt.zoo.spacecraft,
}  # MuJoCo refuses point masses (pendulums, cart and pole) and incomplete inertias (puma560)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long) if n == "humanoid" else n for n in share(MUJOCO, 2)]
)
def test_mujoco_goes_the_same_way(name):
    """Runge-Kutta steps of 1 ms for one second, without contacts and limits."""
    mujoco = pytest.importorskip("mujoco")
    from kinetree.interop import to_mujoco

    model = MUJOCO[name]()
    q, v = state(model, 3, speed=0.3)
    twin, maps = to_mujoco(model)
    twin.opt.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    twin.opt.integrator, twin.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-3
    data = mujoco.MjData(twin)
    data.qpos, data.qvel = maps.q(q), maps.v(q, v)
    for _ in range(1000):
        mujoco.mj_step(twin, data)
    there = maps.q_back(data.qpos), maps.v_back(data.qpos, data.qvel)
    run = kt.simulate(model, q, v, duration=1.0, dt=1e-3, integrator="rk4", limits=False, record=1000)
    assert distance(model, (run.q[-1], run.v[-1]), there) < 1e-9


def slope(t, energy):
    """The slope of the straight line through energies over time."""
    return np.polyfit(t, energy, 1)[0]


def chain_energy(integrator, steps, record):
    """Of a chain of six links, released straight and aslope."""
    model = kt.zoo.chain(6)
    q = np.array([0.8, 0.0, 0.0, 0.0, 0.0, 0.0])
    return kt.simulate(model, q, 0 * q, duration=steps * 1e-3, dt=1e-3, integrator=integrator, record=record)


def test_energy_of_a_chain():
    run = chain_energy("rk4", 30_000, 100)
    scale = np.ptp(run.potential_energy)
    assert np.abs(run.energy - run.energy[0]).max() < 1e-6 * scale
    run = chain_energy("variational", 100_000, 50)
    assert np.abs(run.energy - run.energy[0]).max() < 1e-5 * scale  # it swings, and does not drift
    assert abs(slope(run.t, run.energy)) * 1e-3 < 1e-12 * scale


@pytest.mark.long
def test_energy_of_a_chain_for_a_million_steps():
    run = chain_energy("variational", 1_000_000, 50)
    scale = np.ptp(run.potential_energy)
    assert abs(slope(run.t, run.energy)) * 1e-3 < 1e-12 * scale
    assert not run.failed


@pytest.mark.parametrize(
    ("reset", "integrator"), share(product([False, True], ["rk4", "variational", "discrete"]), 3)
)
def test_a_spacecraft_keeps_its_momentum(integrator, reset):
    """MOM-7, SIM-5, EXA-9: the drift of what is conserved, with and without reset."""
    model = kt.zoo.spacecraft()
    q, v = state(model, 4, (4,), 0.3)
    run = kt.simulate(
        model, q, v, duration=1.0, dt=1e-3, integrator=integrator, reset_momentum=reset, gravity=np.zeros(3)
    )
    drift = np.abs(run.momentum - run.momentum[:, :1]).max() / np.abs(run.momentum).max()
    assert drift < (1e-12 if reset or integrator != "discrete" else 1e-3)


def test_momentum_is_reset_to_what_is_asked_for():
    """SIM-5, MOM-5."""
    model = kt.zoo.spacecraft()
    q, v = state(model, 5)
    still = kt.nullify_momentum(model, q, v)
    run = kt.simulate(model, q, still, duration=0.1, dt=1e-3, reset_momentum=np.zeros(6), gravity=np.zeros(3))
    assert np.abs(run.momentum).max() < 1e-12


def test_a_free_body_spins_as_euler_says():
    """SRB-5: torque-free, momentum and energy are constant; about the middle axis it turns over."""
    model = box(com=(0.0, 0.0, 0.0))
    v = np.array([0.01, 10.0, 0.01, 0.0, 0.0, 0.0])
    run = kt.simulate(model, model.neutral(), v, duration=5.0, dt=1e-3, integrator="variational", record=10)
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-12 * np.abs(run.momentum).max()
    assert np.ptp(run.energy) < 1e-5 * run.energy[0]
    assert run.v[:, 1].min() < -9.0
