"""Second derivatives of inverse dynamics, and linearised motion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.conftest import share
from tests.derivatives.cases import Case, error, robot, size_of, tree

import kinetree as kt
from kinetree.model.coupling import Own


def by_steps(c: Case) -> tuple[Any, ...]:
    """The four tensors by complex steps of the first derivatives."""

    def first(q: Any, v: Any) -> Any:
        return c.run("inverse_dynamics_derivatives", q, v, c.a, c.f_ext)

    along_q = [c.along_q(lambda q, k=k: first(q, c.v)[k]) for k in range(3)]
    along_v = [c.along(lambda v, k=k: first(c.q + 0j, v)[k], c.v) for k in range(2)]
    return along_q[0], along_v[1], along_v[0], along_q[2]


def check(c: Case) -> None:
    truth = by_steps(c)
    found = c.run("inverse_dynamics_second_derivatives", c.q, c.v, c.a, c.f_ext)
    size = size_of(*truth)
    assert max(error(f, t, [size]) for f, t in zip(found, truth, strict=True)) < 1e-12
    blocks = c.run("inverse_dynamics_hessian", c.q, c.v, c.a, c.tau, c.f_ext)
    for block, tensor in zip(blocks, truth, strict=True):
        assert error(block, np.tensordot(c.tau, tensor, 1), [size]) < 1e-12


@pytest.mark.parametrize("seed", range(2))
def test_random_trees(seed):
    c = tree(seed, 3)
    if c.n:
        check(c)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2000, 2100))
def test_a_hundred_trees(seed):
    c = tree(seed, 4)
    if c.n:
        check(c)


@pytest.mark.parametrize(
    "name", ["double_pendulum", "flying", pytest.param("spacecraft", marks=pytest.mark.long)]
)
def test_robots(name):
    check(robot(name))


@pytest.mark.parametrize("name", ["flying", pytest.param("arm7", marks=pytest.mark.long)])
def test_compiled(name):
    c = robot(name)
    found = kt.inverse_dynamics_second_derivatives(c.model, c.q, c.v, c.a)
    c.f_ext = 0 * c.f_ext
    for f, t in zip(found, by_steps(c), strict=True):
        assert error(f, t) < 1e-13
    blocks = kt.inverse_dynamics_hessian(c.model, c.q, c.v, c.a, c.tau)
    for block, tensor in zip(blocks, found, strict=True):
        assert error(block, np.tensordot(c.tau, tensor, 1)) < 1e-13


def test_increments_that_turn_do_not_commute():
    """d2_dqdq[i, j, k] - d2_dqdq[i, k, j] = sum_l c[k][j][l] dtau_i / dq_l."""
    c = robot("flying")
    c.model = c.model.replace(gravity=(1.0, 2.0, -9.81))
    bends = c.run("inverse_dynamics_second_derivatives", c.q, c.v, c.a).d2_dqdq
    slope = c.run("inverse_dynamics_derivatives", c.q, c.v, c.a).dtau_dq
    structure = np.zeros((c.n, c.n, c.n))
    for body, coupling in zip(c.model.bodies, c.model.layout.couplings[1:], strict=True):
        if isinstance(coupling, Own) and body.joint.brackets():
            place = np.arange(coupling.v_start, coupling.v_start + coupling.nv)
            structure[np.ix_(place, place, place)] = body.joint.brackets()
    truth = np.einsum("kjl,il->ijk", structure, slope)
    assert np.abs(truth).max() > 0.1
    assert error(bends - np.swapaxes(bends, 1, 2), truth, bends) < 1e-13


@pytest.mark.parametrize(("name", "integrator"), [
    *share([("cart_pole", "rk4"), ("turning", "rk4"), ("turning", "discrete"), ("cart_pole", "discrete")], 2),
    *(pytest.param("flying", integrator, marks=pytest.mark.long) for integrator in ("rk4", "discrete")),
])  # fmt: skip
def test_discrete_linearization_is_exact_for_the_step(name, integrator):
    c, dt = robot(name), 0.01

    def step(q: Any, v: Any, tau: Any) -> Any:
        return np.concatenate(c.run("step", q, v, tau, dt=dt, integrator=integrator))

    after = step(c.q, c.v, c.tau)[: c.model.nq]
    turn = np.linalg.pinv(np.stack([c.model.rate(after, e) for e in np.eye(c.n)], axis=1))
    columns = [
        c.along_q(lambda q: step(q, c.v, c.tau)),
        c.along(lambda v: step(c.q + 0j, v, c.tau), c.v),
        c.along(lambda u: step(c.q + 0j, c.v, u), c.tau),
    ]
    nq = c.model.nq
    q_rows, v_rows = [turn @ x[:nq] for x in columns], [x[nq:] for x in columns]
    A, B = kt.linearize(c.model, c.q, c.v, c.tau, dt, integrator)
    assert error(A, np.block([q_rows[:2], v_rows[:2]])) < 1e-12
    assert error(B, np.concatenate([q_rows[2], v_rows[2]])) < 1e-12


@pytest.mark.parametrize("name", share(["cart_pole", "flying"], 2))
def test_continuous_linearization_is_the_limit_of_short_steps(name):
    """Richardson's extrapolation of (A(h) - 1) / h leaves an error of order h^2."""
    c = robot(name)
    n, h = c.n, 1e-3
    A, B = kt.linearize(c.model, c.q, c.v, c.tau)
    assert (kt.linearize(c.model, c.q, c.v, c.tau, passive=False)[0] != A).any() == bool(
        c.model.damping.any()
    )
    rates = []
    for step in (h, h / 2, h / 4):
        Ad, Bd = kt.linearize(c.model, c.q, c.v, c.tau, step)
        rates.append(((Ad - np.eye(2 * n)) / step, Bd / step))
    for k, truth in enumerate((A, B)):
        coarse, middle, fine = (rate[k] for rate in rates)
        limit = (coarse - 6 * middle + 8 * fine) / 3
        size = size_of(coarse - fine)
        assert np.abs(limit - truth).max() < 1e-2 * size * h / 1e-3 + 1e-6 * size_of(truth)
        assert np.abs(limit - truth).max() < 0.2 * np.abs(fine - truth).max() + 1e-7 * size_of(truth)
