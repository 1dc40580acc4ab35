"""Functions of one's own: traced, compiled, batched, exported, nested, and told apart from what cannot be."""

from __future__ import annotations

import pickle
from itertools import product

import mpmath
import numpy as np
import pytest
from tests.conftest import share

import kinetree as kt
from kinetree import ops
from kinetree.errors import ShapeError, SingularError, TraceError


@kt.function("q, v, goal(3), gain -> tau")
def reach(model, q, v, goal, gain):
    """A spring between the last body and a goal, with gravity compensation."""
    last = model.body_names[-1]
    J = kt.jacobian(model, q, last, "aligned")[3:]
    p = kt.frame_placement(model, q, last)[:3, 3]
    return J.T @ (gain * (goal - p)) + kt.gravity_force(model, q) - 2.0 * v


@kt.function("q, v, tau, goal(3) -> a, energy, K(6, nv)")
def several(model, q, v, tau, goal, *, factor=1.0):
    """Three results, one of them made of another function of one's own."""
    a = kt.forward_dynamics(model, q, v, factor * tau + reach(model, q, v, goal, 3.0))
    return a, kt.kinetic_energy(model, q, v), kt.jacobian(model, q, model.body_names[-1]) * factor


def reference(model, q, v, tau, goal, factor):
    J = kt.jacobian(model, q, model.body_names[-1], "aligned")[3:]
    p = kt.frame_placement(model, q, model.body_names[-1])[:3, 3]
    pull = J.T @ (3.0 * (goal - p)) + kt.gravity_force(model, q) - 2.0 * v
    a = kt.forward_dynamics(model, q, v, factor * tau + pull)
    return a, kt.kinetic_energy(model, q, v), kt.jacobian(model, q, model.body_names[-1]) * factor


ROBOTS = {"arm7": kt.zoo.arm7, "quadruped": kt.zoo.quadruped, "chain": lambda: kt.zoo.chain(90)}


@pytest.fixture(params=share(ROBOTS, 2))
def robot(request):
    return ROBOTS[request.param]()


def state(model, seed, batch=()):
    rng = np.random.default_rng(seed)
    q, v = model.random_state(rng, batch)
    return q, v, rng.normal(size=(*batch, model.nv)), rng.normal(size=(*batch, 3))


def assert_equal_results(found, expected, scale=1.0):
    for ours, theirs in zip(found, expected, strict=True):
        size = scale * max(1.0, float(np.abs(theirs).max()))
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11 * size)


def test_equals_the_same_in_numpy(robot):
    q, v, tau, goal = state(robot, 0)
    assert_equal_results(several(robot, q, v, tau, goal, factor=2.0), reference(robot, q, v, tau, goal, 2.0))


@pytest.mark.parametrize(
    ("make", "target"), share(product([kt.zoo.arm7, kt.zoo.spacecraft], ["eager", "c"]), 2)
)
def test_on_other_targets(make, target):
    model = make()
    q, v, tau, goal = state(model, 1, (2,))
    assert_equal_results(several(model, q, v, tau, goal, target=target), several(model, q, v, tau, goal))


def test_batches_and_out(robot):
    q, v, tau, goal = state(robot, 2, (3, 2))
    found = several(robot, q, v, tau, goal[0, 0])
    assert [part.shape for part in found] == [(3, 2, robot.nv), (3, 2), (3, 2, 6, robot.nv)]
    single = [several(robot, q[i], v[i], tau[i], goal[0, 0]) for i in np.ndindex(3, 2)]
    for k, part in enumerate(found):
        np.testing.assert_array_equal(part.reshape(6, *part.shape[2:]), np.array([s[k] for s in single]))
    out = tuple(np.empty_like(part) for part in found)
    assert several(robot, q, v, tau, goal[0, 0], out=out)[0] is out[0]
    np.testing.assert_array_equal(out[2], found[2])


def test_many_digits():
    model = kt.zoo.puma560()
    q, v, _, goal = state(model, 3)
    with mpmath.workdps(40):
        exact = reach(
            model, *(np.array([mpmath.mpf(x) for x in y], object) for y in (q, v, goal)), mpmath.mpf(2)
        )
    np.testing.assert_allclose(reach(model, q, v, goal, 2.0), exact.astype(float), atol=1e-12)


def test_exports_and_compiles(tmp_path):
    model = kt.zoo.arm7()
    paths = kt.export_c(
        [reach, kt.passive_force, (kt.operational_space_inertia, {"frames": ("link7",)})], model, tmp_path
    )
    assert "arm7_reach(" in paths[0].read_text()
    kernel = kt.compile(reach, model)
    q, v, _, goal = state(model, 4)
    np.testing.assert_array_equal(kernel(q, v, goal, np.array(5.0)), reach(model, q, v, goal, 5.0))
    assert kernel.ops["flops"] < 500


def test_costs_no_more_than_its_parts():
    """Whatever two functions share is computed once, and canonical frames are used inside."""
    model = kt.zoo.humanoid()

    @kt.function("q, v, a -> tau, M(nv, nv)")
    def both(model, q, v, a):
        return kt.inverse_dynamics(model, q, v, a), kt.mass_matrix(model, q)

    parts = [kt.compile(f, model).ops for f in (kt.inverse_dynamics, kt.mass_matrix)]
    whole = kt.compile(both, model).ops
    assert whole["flops"] <= sum(p["flops"] for p in parts)
    assert whole["sincos"] == max(p["sincos"] for p in parts)


def test_functions_and_kernels_pickle():
    model = kt.zoo.puma560()
    q, _ = model.random_state(5)
    assert pickle.loads(pickle.dumps(kt.inverse_dynamics)) is kt.inverse_dynamics
    assert pickle.loads(pickle.dumps(kt.passive_force)) is kt.passive_force
    kernel = pickle.loads(pickle.dumps(kt.compile(kt.mass_matrix, model)))
    np.testing.assert_array_equal(kernel(q), kt.mass_matrix(model, q))


def test_a_non_finite_input_spoils_the_state():
    model = kt.zoo.arm7()
    q, v, _, goal = state(model, 6, (4,))
    goal[2, 1] = np.nan
    for target in (None, "eager"):
        found = reach(model, q, v, goal, 1.0, target=target)
        assert np.isnan(found[2]).all() and np.isfinite(found[[0, 1, 3]]).all()


def test_small_algebra(rng):
    @kt.function("q, A(4, 4), b(4), c(4, 2) -> x(4), y(4, 2), P(4, 4), n")
    def algebra(model, q, A, b, c):
        return ops.solve(A, b), ops.solve(A, c), ops.pseudo_inverse(A @ A.T, 1e-12), ops.norm(b)

    model = kt.zoo.pendulum()
    A, b, c = rng.normal(size=(5, 4, 4)), rng.normal(size=4), rng.normal(size=(4, 2))
    A[0, 0, 0] = 0.0  # needs a pivot
    x, y, P, n = algebra(model, np.zeros(1), A, b, c)
    np.testing.assert_allclose(A @ x[..., None], np.broadcast_to(b[:, None], (5, 4, 1)), atol=1e-11)
    np.testing.assert_allclose(A @ y, np.broadcast_to(c, (5, 4, 2)), atol=1e-11)
    size = np.linalg.cond(A) ** 2
    for k in range(5):
        expected = np.linalg.pinv(A[k] @ A[k].T)
        np.testing.assert_allclose(P[k], expected, atol=1e-14 * size[k] * np.abs(expected).max())
    np.testing.assert_allclose(n, np.linalg.norm(b))
    flat = np.outer(b, b)  # of rank one
    np.testing.assert_allclose(ops.pseudo_inverse(flat, 1e-12), np.linalg.pinv(flat), atol=1e-13)
    with pytest.raises(SingularError, match="the matrix is singular"):
        algebra(model, np.zeros(1), flat, b, c)
    with pytest.raises(SingularError, match="the matrix is singular"):
        algebra(model, np.zeros(1), flat, b, c, target="eager")


def test_what_cannot_be_traced_is_said():
    model = kt.zoo.pendulum()

    @kt.function("q, v -> tau")
    def branching(model, q, v):
        return q if q[0] > 0 else v

    @kt.function("q -> y(3)")
    def misshapen(model, q):
        return np.concatenate([q, q])

    @kt.function("q -> y, z")
    def forgetful(model, q):
        return q[0]

    with pytest.raises(TraceError, match=r"ops\.where"):
        branching(model, np.zeros(1), np.zeros(1))
    with pytest.raises(ShapeError, match=r"result y has shape \(2,\), but its signature says \(..., 3\)"):
        misshapen(model, np.zeros(1))
    with pytest.raises(ShapeError, match="returns 1 results, but its signature names y, z"):
        forgetful(model, np.zeros(1))
    with pytest.raises(TypeError, match="no parameter v"):
        kt.function("q, v -> tau")(lambda model, q: q)
    with pytest.raises(TypeError, match="names no result"):
        kt.function("q, v")(lambda model, q, v: q)


def test_conditions_are_ones_and_zeros():
    @kt.function("q -> flags(4), inside")
    def sides(model, q):
        inside = (q[0] > -1.0) & (q[0] < 1.0)
        either = (q[0] < -1.0) | (q[0] > 1.0)
        return np.array([q[0] > 0, inside, either, np.float64(1.0) > 0]), inside

    @kt.function("q -> count")
    def counted(model, q):
        return sum(sides(model, q)[0]) + sides(model, q)[1]

    robot = kt.zoo.pendulum()
    for x, wanted in ((-2.0, [0, 0, 1, 1]), (0.5, [1, 1, 0, 1])):
        for target in ("cpu", "eager"):
            flags, inside = kt.compile(sides, robot, target=target)(np.array([x]))
            np.testing.assert_array_equal(flags, wanted)
            assert inside == wanted[1]
        assert counted(robot, [x]) == sum(wanted) + wanted[1]


def test_code_without_a_module():
    space = {"kt": kt}
    exec("@kt.function('q -> twice(nq)')\ndef twice(model, q):\n    return 2 * q", space)
    np.testing.assert_array_equal(space["twice"](kt.zoo.pendulum(), [0.5]), [1.0])
