"""Every joint keeps the contract of `Joint`: the same axioms for every type, axis and kind of number."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.joints.samples import JOINTS, samples
from tests.spatial.kinds import KINDS, TOLERANCE, derivative, residual

from kinetree.joints import CoordinateJoint, Joint, Spin
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Motion
from kinetree.textbook.se3 import se3_exp

pytestmark = pytest.mark.parametrize("joint", JOINTS.values(), ids=JOINTS.keys())


def split(joint: Joint, row: tuple) -> tuple[tuple, tuple]:
    return tuple(row[: joint.nq]), tuple(row[joint.nq :])


def columns(subspace) -> np.ndarray:
    """The 6 x k matrix of a subspace."""
    return np.array([column.components for column in subspace.columns], dtype=float).reshape(-1, 6).T


def cross_matrix(V: Motion) -> np.ndarray:
    return np.array([V.cross(Motion.from_components(e)).components for e in np.eye(6)], dtype=float).T


def tangent(joint: Joint, q, k: int) -> list[float]:
    """The rates of q along the k-th velocity."""
    return list(joint.rate(q, tuple(float(k == j) for j in range(joint.nv))))


def test_sizes(joint: Joint):
    q = joint.neutral()
    assert len(q) == joint.nq
    assert len(joint.subspace(q)) == joint.nv
    assert len(joint.complement(q)) == 6 - joint.nv
    assert len(joint.rate(q, (0.0,) * joint.nv)) == joint.nq
    assert isinstance(joint, CoordinateJoint) == (joint.brackets() == ())


def test_neutral_position_is_the_identity(joint: Joint):
    assert np.array_equal(np.array(joint.placement(joint.neutral()).matrix(), dtype=float), np.eye(6))


def test_placement_differentiates_to_subspace(joint: Joint):
    """dX/dt = -(S v) x X."""
    for row in samples(joint, 10):
        q, v = split(joint, row)
        X = np.array(joint.placement(q).matrix(), dtype=float)
        rate = derivative(lambda *q: joint.placement(q).matrix(), q, joint.rate(q, v)).reshape(6, 6)
        assert np.allclose(rate, -cross_matrix(joint.subspace(q) @ v) @ X, atol=1e-14)


def test_apparent_derivative(joint: Joint):
    """The derivative of the components of S along each velocity is what subspace_partials says."""
    for row in samples(joint, 10):
        q, _ = split(joint, row)
        for k in range(joint.nv):
            rate = derivative(
                lambda *q: tuple(c.components for c in joint.subspace(q).columns), q, tangent(joint, q, k)
            )
            partials = joint.subspace_partials(q)
            expected = columns(partials[k]).T if partials else np.zeros((joint.nv, 6))
            assert np.allclose(rate.reshape(joint.nv, 6), expected, atol=1e-14)


def test_brackets_are_lie_brackets(joint: Joint):
    """[X_j, X_k] = (D X_k) X_j - (D X_j) X_k = sum_l c X_l, for the fields X_k(q) = A(q) e_k."""
    c = np.array(joint.brackets() or np.zeros((joint.nv,) * 3), dtype=float)
    for row in samples(joint, 3):
        q, _ = split(joint, row)
        fields = [tangent(joint, q, k) for k in range(joint.nv)]

        def change(k: int, j: int, q=q, fields=fields) -> np.ndarray:
            return derivative(lambda *q: tuple(tangent(joint, q, k)), q, fields[j])

        for j in range(joint.nv):
            for k in range(joint.nv):
                expected = sum(c[j, k, m] * np.array(fields[m]) for m in range(joint.nv))
                assert np.allclose(change(k, j) - change(j, k), expected, atol=1e-14)


def test_maurer_cartan(joint: Joint):
    """S_k x S_j + d_k S_j - d_j S_k = sum_l c[k][j][l] S_l: subspace, partials and brackets fit together."""
    n = joint.nv
    c = np.array(joint.brackets() or np.zeros((n, n, n)), dtype=float)
    for row in samples(joint, 3):
        q, _ = split(joint, row)
        S = joint.subspace(q).columns
        partials = joint.subspace_partials(q)
        d = np.array([columns(p) for p in partials]) if partials else np.zeros((n, 6, n))
        for j in range(n):
            for k in range(n):
                left = np.array(S[k].cross(S[j]).components, dtype=float) + d[k][:, j] - d[j][:, k]
                assert np.allclose(left, columns(joint.subspace(q)) @ c[k, j], atol=1e-14)


def test_integrate_starts_with_the_rate(joint: Joint):
    for row in samples(joint, 10):
        q, v = split(joint, row)
        start = derivative(lambda s, q=q, v=v: joint.integrate(q, tuple(s * x for x in v)), [0.0], [1.0])
        assert np.allclose(start, joint.rate(q, v), atol=1e-14)


def test_tiny_and_no_steps(joint: Joint):
    for row in samples(joint, 5):
        q, v = split(joint, row)
        assert np.allclose(joint.integrate(q, (0.0,) * joint.nv), q, atol=1e-15)
        tiny = tuple(1e-9 * x for x in v)
        assert np.allclose(joint.difference(q, joint.integrate(q, tiny)), tiny, atol=1e-15)


@pytest.mark.parametrize("angle", [np.pi / 2, np.pi - 1e-3, np.pi - 1e-8])
def test_steps_of_almost_half_a_turn(joint: Joint, angle: float):
    for row in samples(joint, 5):
        q, v = split(joint, row)
        if not v or np.linalg.norm(v[:3]) == 0:
            continue
        v = tuple(x * angle / np.linalg.norm(v[:3]) for x in v)
        assert np.allclose(joint.difference(q, joint.integrate(q, v)), v, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_difference_undoes_integrate(joint: Joint, kind: str):
    def defect(*row):
        q, v = split(joint, row)
        return tuple(a - b for a, b in zip(joint.difference(q, joint.integrate(q, v)), v)) or (0.0,)

    assert residual(kind, defect, unit_rows(joint, kind)) <= allowed(joint, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_constant_velocity_is_a_screw(joint: Joint, kind: str):
    """X(q (+) dv) = Ad(exp(S dv))^-1 X(q) where S is constant."""
    if joint.subspace_partials(joint.neutral()) or joint.nv == 0:
        pytest.skip("S is not constant")

    def defect(*row):
        q, v = split(joint, row)
        moved = joint.placement(joint.integrate(q, v)).matrix()
        screw = (se3_exp(joint.subspace(q) @ v).transform() @ joint.placement(q)).matrix()
        return tuple(a - b for left, right in zip(moved, screw) for a, b in zip(left, right))

    assert residual(kind, defect, unit_rows(joint, kind)) <= allowed(joint, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_complement_is_orthonormal_and_orthogonal_to_subspace(joint: Joint, kind: str):
    def defect(*row):
        q, _ = split(joint, row)
        S = [c.components for c in joint.subspace(q).columns]
        C = [c.components for c in joint.complement(q).columns]
        across = [sum(a * b for a, b in zip(s, c)) for s in S for c in C]
        own = [
            sum(a * b for a, b in zip(C[i], C[j])) - int(i == j) for i in range(len(C)) for j in range(len(C))
        ]
        return (*across, *own, 0.0)

    assert residual(kind, defect, unit_rows(joint, kind)) <= allowed(joint, kind)


def test_forces_split_along_subspace_and_complement(joint: Joint, rng):
    """F = S (S^T S)^-1 tau + complement f, with tau = S^T F and f = complement^T F."""
    for row in samples(joint, 3):
        q, _ = split(joint, row)
        S, C = columns(joint.subspace(q)), columns(joint.complement(q))
        F = rng.standard_normal(6)
        along = S @ np.linalg.solve(S.T @ S, S.T @ F) if joint.nv else np.zeros(6)
        assert np.allclose(along + C @ (C.T @ F), F, atol=1e-13)


def test_unfelt_part_is_not_felt(joint: Joint, rng):
    """D S = 0 and X^T D X = D: the part of the inertia that may be moved across the joint."""
    inertia = random_inertia(rng)
    D = joint.unfelt(inertia)
    for row in samples(joint, 5):
        q, _ = split(joint, row)
        X = joint.placement(q)
        assert np.allclose(np.array(D.matrix(), dtype=float) @ columns(joint.subspace(q)), 0.0, atol=1e-15)
        moved = D.congruence(X)
        assert np.allclose(moved.parameters, D.parameters, atol=1e-14)


def test_values(joint: Joint):
    """Equal if type and numbers are; hashable; immutable; loss-free through pickle and with_parameters."""
    twin = pickle.loads(pickle.dumps(joint))
    assert twin == joint and hash(twin) == hash(joint)
    assert joint.with_parameters(joint.parameters) == joint
    assert joint != Spin() and joint != "joint"
    assert repr(joint).startswith(type(joint).__name__ + "(")
    assert eval(repr(joint), {c.__name__: c for c in (type(joint),)}) == joint
    with pytest.raises(AttributeError, match="immutable"):
        joint.parameters = ()


@pytest.mark.parametrize("kind", ["float", "complex", "mpmath", "sympy", "expr"])
def test_parameters_of_any_kind(joint: Joint, kind: str):
    """The numbers of a joint may be of another kind too: the placement is the same."""
    if not joint.parameters:
        pytest.skip("no parameters")
    q = joint.random(np.random.default_rng(1))
    expected = [x for row in joint.placement(q).matrix() for x in row]

    def defect(*parameters):
        twin = joint.with_parameters(parameters)
        found = [x for row in twin.placement(q).matrix() for x in row]
        return tuple(a - b for a, b in zip(found, expected))

    assert residual(kind, defect, [joint.parameters]) < 1e-14


def allowed(joint: Joint, kind: str) -> float:
    """Rounding of the kind of number, and of an axis whose doubles are a unit vector to 16 digits only."""
    exact = all(isinstance(x, int) for x in joint.parameters)
    return 20 * TOLERANCE[kind] if exact else max(20 * TOLERANCE[kind], 1e-15)


def unit_rows(joint: Joint, kind: str) -> np.ndarray:
    """Samples; a random quaternion of doubles has no unit norm to 50 digits, so one that has is taken."""
    rows = samples(joint, 2 if kind in ("sympy", "mpmath") else 8)
    if joint.nq != joint.nv and kind in ("sympy", "mpmath"):
        rows[:, :4] = (0.5, -0.5, 0.5, 0.5)
    return rows


def random_inertia(rng) -> Inertia:
    A = rng.standard_normal((3, 3))
    return Inertia(1.3, tuple(rng.standard_normal(3)), (A @ A.T).tolist())
