"""First derivatives of inverse and forward dynamics, against differences that do not cancel and Pinocchio."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from tests.conftest import scale, share
from tests.derivatives.cases import Case, error, robot, size_of, tree
from tests.reference.precise import exact

import kinetree as kt
from kinetree.compiler.emit import python
from kinetree.interop import pinocchio_wrenches, to_pinocchio
from kinetree.interpreters import eager
from kinetree.stages import sweeps
from kinetree.sweep import REGISTRY

ZOO = ("pendulum", "cart_pole", "puma560", "arm7", "quadruped", "spacecraft")
TREES = max(1, round(24 * scale()))


def held(case: Case, hold: str) -> Any:
    """f_ext as a function of q: constant in the axes of the bodies, or in those of the world."""
    if hold == "body":
        return lambda q: case.f_ext
    parts = case.f_ext.reshape(-1, 2, 3)
    world = np.einsum("bij,bkj->bki", case.run("placements", case.q)[:, :3, :3], parts)

    def turned(q: Any) -> Any:
        R = case.run("placements", q)[:, :3, :3]
        return np.einsum("bji,bkj->bki", R, world).reshape(-1, 6)

    return turned


def inverse_by_steps(c: Case, hold: str = "body") -> tuple:
    wrench = held(c, hold)
    dq = c.along_q(lambda q: c.run("inverse_dynamics", q, c.v, c.a, wrench(q)))
    dv = c.along(lambda v: c.run("inverse_dynamics", c.q, v, c.a, c.f_ext), c.v)
    return dq, dv, c.run("mass_matrix", c.q)


def forward_by_steps(c: Case, hold: str = "body") -> tuple:
    wrench = held(c, hold)
    dq = c.along_q(lambda q: c.run("forward_dynamics", q, c.v, c.tau, wrench(q)))
    dv = c.along(lambda v: c.run("forward_dynamics", c.q, v, c.tau, c.f_ext), c.v)
    return dq, dv, np.linalg.inv(c.run("mass_matrix", c.q))


def check(c: Case, hold: str) -> None:
    """Both derivatives of one case agree with complex steps."""
    truth = inverse_by_steps(c, hold)
    found = c.run("inverse_dynamics_derivatives", c.q, c.v, c.a, c.f_ext, hold)
    worst = max(error(f, t, *truth) for f, t in zip(found, truth, strict=True))
    assert worst < 1e-12, f"inverse dynamics: {worst:.1e}"
    truth = forward_by_steps(c, hold)
    found = c.run("forward_dynamics_derivatives", c.q, c.v, c.tau, c.f_ext, hold)
    condition = np.linalg.cond(c.run("mass_matrix", c.q))
    worst = max(error(f, t, *truth) for f, t in zip(found, truth, strict=True))
    assert worst < 1e-12 + 1e-14 * condition, (
        f"forward dynamics: {worst:.1e} at a condition of {condition:.0e}"
    )


@pytest.mark.parametrize("name", share(ZOO, 2))
def test_derivatives_of_robots(name):
    for hold in ("body", "world"):
        check(robot(name), hold)


@pytest.mark.parametrize("seed", range(TREES))
def test_derivatives_of_random_trees(seed):
    case = tree(seed)
    if case.n:
        check(case, "world" if seed % 3 == 0 else "body")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1300))
def test_derivatives_of_three_hundred_trees(seed):
    case = tree(seed)
    if case.n:
        check(case, "body")
        check(case, "world")


@pytest.mark.parametrize("seed", range(TREES))
def test_common_frames_know_where_gravity_and_wrenches_are(seed):
    """In one common frame the result is that in body frames: roots tilt, and wrenches are turned."""
    c = tree(seed, roots=0.3)
    values = {"q": c.q, "v": c.v, "a": c.a, "f_ext": c.f_ext}
    for hold in ("body", "world"):
        here = c.run("inverse_dynamics_derivatives", *values.values(), hold)
        entry = REGISTRY["inverse_dynamics_derivatives"]
        lists = {name: array.tolist() for name, array in values.items()}
        _, outputs = eager.run(entry, c.model, lists, {"hold": hold}, frames="common")
        there = [eager.assembled(output) for output in outputs]
        size = size_of(*here)
        assert max(error(t, h, [size]) for t, h in zip(there, here, strict=True)) < 1e-12


@pytest.mark.parametrize(("seed", "hold", "mode"), [(3, "body", "unrolled"), (5, "world", "looped")])
def test_compiled_derivatives(seed, hold, mode):
    """Machine code, straight and with loops, with wrenches and without."""
    c = tree(seed, 3)
    for name, x in (("inverse_dynamics_derivatives", c.a), ("forward_dynamics_derivatives", c.tau)):
        kernel = kt.compile(getattr(kt, name), c.model, mode=mode, inputs=("f_ext",), hold=hold)
        truth = c.run(name, c.q, c.v, x, c.f_ext, hold)
        found = kernel(c.q, c.v, x, c.f_ext)
        assert max(error(f, t, *truth) for f, t in zip(found, truth, strict=True)) < 1e-11
        kernel = kt.compile(getattr(kt, name), c.model, mode=mode)
        truth = c.run(name, c.q, c.v, x)
        found = kernel(c.q, c.v, x)
        assert max(error(f, t, *truth) for f, t in zip(found, truth, strict=True)) < 1e-11


def test_a_large_robot_keeps_the_loops_over_columns(monkeypatch):
    """The program is straight but for the columns, which are solved for in loops."""
    monkeypatch.setattr(sweeps, "SOLVED_OPERATIONS", 100.0)
    for c in (robot("chain", 6), robot("spacecraft")):
        c.f_ext = 0 * c.f_ext
        entry = REGISTRY["forward_dynamics_derivatives"]
        program = sweeps.lower(entry, c.model, ("q", "v", "tau"), {"hold": "body"})
        assert not program.is_straight
        found, refused = python.run(program, c.q, c.v, c.tau)
        truth = forward_by_steps(c)
        condition = np.linalg.cond(truth[2])
        assert not refused
        for f, t in zip(found, truth, strict=True):
            assert error(f.reshape(t.shape), t, *truth) < 1e-12 + 1e-14 * condition


@pytest.mark.parametrize("length", [20, 40])
def test_long_chains_are_looped(length):
    """Deeper than 32 bodies the inverse mass matrix is found by columns; both ways agree with M."""
    c = robot("chain", length)
    M, condition = c.run("mass_matrix", c.q), np.linalg.cond(c.run("mass_matrix", c.q))
    for mode in ("looped", None):
        inverse = kt.compile(kt.inverse_mass_matrix, c.model, mode=mode)(c.q)
        assert error(inverse @ M, np.eye(length)) < 1e-15 * condition + 1e-12


def right_angled() -> kt.Model:
    """Joints of several types whose constant rotations are exact in every precision."""
    builder = kt.ModelBuilder("right angles")
    inertia = kt.Inertia(2.0, (0.25, -0.5, 0.125), ((1.0, 0.25, 0.0), (0.25, 1.5, 0.125), (0.0, 0.125, 2.0)))
    turn = ((0, -1, 0), (1, 0, 0), (0, 0, 1))
    joints = [kt.Universal(), kt.Planar(), kt.Helical((1, 0, 0), 0.25), kt.Spherical()]
    for k, joint in enumerate(joints):
        parent = f"b{k - 1}" if k else "world"
        builder.add_body(f"b{k}", parent, joint, kt.Pose(turn, (0.5, 0.25 * k, -0.125)), inertia)
    return builder.build()


def test_fifty_digits():
    """Differences of numbers with many digits, not of the same formulas on complex numbers."""
    c = Case(right_angled(), np.random.default_rng(1))
    h = mpmath.mpf(10) ** -20
    with mpmath.workdps(60):
        q, v, a = exact(c.q), exact(c.v), exact(c.a)
        found = c.run("inverse_dynamics_derivatives", q, v, a)
        for k in range(c.n):
            e = np.array([mpmath.mpf(int(k == j)) for j in range(c.n)], object)
            ahead, behind = (c.run("inverse_dynamics", c.model.integrate(q, e * s), v, a) for s in (h, -h))
            truth = (ahead - behind) / (2 * h)
            assert max(abs(x) for x in found[0][:, k] - truth) < 1e-30


@pytest.mark.parametrize("seed", range(8))
def test_pinocchio(seed):
    pinocchio = pytest.importorskip("pinocchio")
    types = ("revolute", "prismatic", "spherical", "free")  # their velocities there are constant combinations
    c = tree(seed, types=types, rotors=0, mimics=0, armatures=0)
    twin = to_pinocchio(c.model)
    q, T = twin.maps.q(c.q), twin.maps.velocity_map(c.q)
    wrenches = pinocchio_wrenches(c.model, twin.model, c.f_ext)
    data = twin.model.createData()
    pinocchio.computeRNEADerivatives(twin.model, data, q, T @ c.v, T @ c.a, wrenches)
    truth = T.T @ data.dtau_dq @ T, T.T @ data.dtau_dv @ T
    found = c.run("inverse_dynamics_derivatives", c.q, c.v, c.a, c.f_ext)
    assert max(error(f, t, *truth) for f, t in zip(found, truth, strict=False)) < 1e-12
    pinocchio.computeABADerivatives(twin.model, data, q, T @ c.v, T @ c.tau, wrenches)
    truth = tuple(T.T @ x @ T for x in (data.ddq_dq, data.ddq_dv, data.Minv))
    found = c.run("forward_dynamics_derivatives", c.q, c.v, c.tau, c.f_ext)
    condition = np.linalg.cond(c.run("mass_matrix", c.q))
    assert max(error(f, t, *truth) for f, t in zip(found, truth, strict=True)) < 1e-12 + 1e-14 * condition


def test_results_have_names():
    c = robot("arm7")
    found = kt.inverse_dynamics_derivatives(c.model, c.q, c.v, c.a)
    assert found._fields == ("dtau_dq", "dtau_dv", "dtau_da")
    found = kt.forward_dynamics_derivatives(c.model, c.q, c.v, c.tau)
    assert found._fields == ("da_dq", "da_dv", "da_dtau")


def test_axes_that_are_not_there():
    c = robot("pendulum")
    with pytest.raises(kt.errors.KinetreeError, match=r"hold must be one of 'body', 'world', not 'moon'"):
        kt.inverse_dynamics_derivatives(c.model, c.q, c.v, c.a, hold="moon")
