"""Couplings: G is the derivative of positions, and nodes are right for couplings of any kind."""

from __future__ import annotations

import numpy as np
import pytest
from tests.joints.samples import SLANTED, Gimbal

import kinetree as kt
from kinetree import ops
from kinetree.joints import CoordinateJoint, Prismatic, Revolute, Universal
from kinetree.joints.axis import rotation_about
from kinetree.model.coupling import Coupling, Linear, Own
from kinetree.model.node import PREDECESSOR, Member, Node
from kinetree.spatial import Inertia, Motion, Pose, Rotation, Stack, Subspace, Transform

STEP = 1e-30


class Linkage(Coupling):
    """Two dependent coordinates, nonlinear in three: x = (sin(q0) q1, q2^2 + q0)."""

    structure = ("linkage",)

    def positions(self, q):
        return ops.sin(q[0]) * q[1], q[2] * q[2] + q[0]

    def G(self, q):
        return ((0, ops.cos(q[0]) * q[1]), (1, ops.sin(q[0]))), ((2, 2 * q[2]), (0, 1))

    def G_partials(self, q):
        c, s = ops.cos(q[0]), ops.sin(q[0])
        return (((0, -s * q[1]), (1, c)), ()), (((0, c),), ()), ((), ((2, 2),))

    def among(self, q_place, v_place):
        raise NotImplementedError


class Wobble(CoordinateJoint):
    """A turn about x by q and about y by q^2: a joint of one degree of freedom whose S depends on q."""

    type_name, coordinates = "wobble", ("angle",)

    def placement(self, q):
        return rotation_about((0, 1, 0), q[0] * q[0]) @ rotation_about((1, 0, 0), q[0])

    def subspace(self, q):
        c, s = ops.cos(q[0] * q[0]), ops.sin(q[0] * q[0])
        return Subspace((Motion((c, 2 * q[0], s), (0, 0, 0)),))

    def subspace_partials(self, q):
        c, s = ops.cos(q[0] * q[0]), ops.sin(q[0] * q[0])
        return (Subspace((Motion((-2 * q[0] * s, 2, 2 * q[0] * c), (0, 0, 0)),)),)

    def complement(self, q):
        raise NotImplementedError


COUPLINGS = {
    "own": Own(0, 2, 0, 2),
    "linear": Linear(((0, 0, 2.0), (2, 2, -0.5)), 0.3),
    "nonlinear": Linkage(),
}


def dense(rows, width: int) -> np.ndarray:
    out = np.zeros(
        (len(rows), width), dtype=np.result_type(*(np.asarray(f) for row in rows for _, f in row), 0.0)
    )
    for row, entries in zip(out, rows):
        for index, factor in entries:
            row[index] += factor
    return out


def along(function, q: np.ndarray, k: int) -> np.ndarray:
    """The derivative of a function of q along coordinate k, by a complex step."""
    moved = q.astype(complex)
    moved[k] += 1j * STEP
    return np.asarray(function(moved.tolist())).imag / STEP


@pytest.mark.parametrize("coupling", COUPLINGS.values(), ids=COUPLINGS.keys())
def test_rates_are_derivatives(coupling: Coupling, rng):
    q, v = rng.normal(size=(2, 3))
    J = np.stack([along(coupling.positions, q, k) for k in range(3)], axis=-1)
    G = dense(coupling.G(q.tolist()), 3)
    assert np.allclose(G, J, rtol=1e-14, atol=1e-14)
    assert np.allclose(coupling.velocities(q.tolist(), v.tolist()), J @ v, rtol=1e-14)
    changes = [along(lambda q: dense(coupling.G(q), 3), q, k) for k in range(3)]
    for given, change in zip(coupling.G_partials(q.tolist()), changes):
        assert np.allclose(dense(given, 3), change, rtol=1e-14)
    rate = coupling.G_rate(q.tolist(), v.tolist())
    total = sum(x * change for x, change in zip(v, changes))
    assert np.allclose(dense(rate, 3) if rate else 0.0, total, rtol=1e-14, atol=1e-14)


def pose(rng) -> Transform:
    x, y, z, w = rng.normal(size=4)
    unit = np.array([x, y, z, w]) / np.linalg.norm([x, y, z, w])
    return Pose(Rotation.from_quaternion(unit), rng.normal(size=3)).transform()


def member(k: int, carrier: int, joint, coupling: Coupling, rng) -> Member:
    return Member(k, carrier, pose(rng), joint, coupling, Inertia.zero())


@pytest.fixture
def node(rng) -> Node:
    members = (
        member(1, PREDECESSOR, Gimbal(), Own(0, 3, 0, 3), rng),
        member(2, 0, Universal((1, 0, 0), SLANTED), Linkage(), rng),
        member(3, 1, Wobble(), Linear(((0, 0, 0.7), (1, 1, -0.4)), 0.1), rng),
        member(4, 0, Prismatic(SLANTED), Linear(((2, 2, 1.5),)), rng),
    )
    return Node(0, (-1, 0), members, (0, 1, 2), (0, 1, 2), (0, 1, 2))


def matrices(X: Stack) -> np.ndarray:
    return np.array([x.matrix() for x in X.values])


def columns(S: Stack) -> np.ndarray:
    return np.array([[column.components for column in s.columns] for s in S.values]).swapaxes(1, 2)


def cross(V: np.ndarray) -> np.ndarray:
    basis = np.eye(6).tolist()
    return np.array([Motion.from_components(V).cross(Motion.from_components(e)).components for e in basis]).T


def test_subspaces_are_the_motion_of_the_members(node: Node, rng):
    """dX/dq_k X^-1 = -(S_k x) for every member and coordinate."""
    q = rng.normal(size=3)
    X, S = node.kinematics(q.tolist())
    for k in range(3):
        change = along(lambda q: matrices(node.kinematics(q)[0]), q, k)
        for m, turning in enumerate(change @ np.linalg.inv(matrices(X))):
            assert np.allclose(turning, -cross(columns(S)[m][:, k]), atol=1e-12)


def test_partials_and_ring_are_derivatives_of_the_subspaces(node: Node, rng):
    q, v = rng.normal(size=(2, 3))
    changes = [along(lambda q: columns(node.kinematics(q)[1]), q, k) for k in range(3)]
    for found, change in zip(node.partials(q.tolist()), changes, strict=True):
        assert np.allclose(columns(found), change, atol=1e-12)
    ring = columns(node.ring(q.tolist(), v.tolist()))
    assert np.allclose(ring, sum(x * change for x, change in zip(v, changes)), atol=1e-12)


def test_a_mimic_joint_may_have_a_varying_subspace(rng):
    """Mdot - 2C is skew and C v is the bias, which needs the derivative of the follower's S."""
    link = Inertia(1.5, (0.1, 0.2, -0.3), np.diag([0.4, 0.5, 0.6]))
    builder = kt.ModelBuilder("wobbling").add_body("a", None, Revolute(SLANTED), inertia=link)
    builder.add_body("b", "a", Wobble(), Pose(p=(0.1, 0.4, 0.2)), link, mimic=("a", 0.8, 0.2))
    model = builder.build()
    q, v = rng.normal(size=(2, model.nv))
    M = lambda q: kt.mass_matrix(model, q, target="eager")  # noqa: E731
    rate = (M(q + 1j * STEP * v)).imag / STEP
    C = kt.coriolis_matrix(model, q, v, target="eager")
    assert np.allclose(rate, C + C.T, atol=1e-13)
    bias = kt.bias_force(model, q, v, target="eager") - kt.gravity_force(model, q, target="eager")
    assert np.allclose(C @ v, bias, atol=1e-13)


def test_springs_on_one_coordinate_are_relaxed_together():
    """The sum of all spring forces vanishes at the common reference, for any number of followers."""
    builder = kt.ModelBuilder("springs")
    link = Inertia(1.0, (0.1, 0, 0), np.eye(3))
    builder.add_body("a", None, Revolute(), inertia=link, stiffness=2.0, spring_reference=0.3)
    builder.add_body(
        "b", "a", Revolute(), inertia=link, stiffness=5.0, spring_reference=-0.4, mimic=("a", 3.0, 0.1)
    )
    builder.add_body(
        "c", "a", Revolute(), inertia=link, stiffness=7.0, spring_reference=0.9, mimic=("a", -2.0, 0.5)
    )
    model = builder.build()
    (x,) = model.spring_reference
    force = 2.0 * (x - 0.3) + 3.0 * 5.0 * (3.0 * x + 0.1 + 0.4) - 2.0 * 7.0 * (-2.0 * x + 0.5 - 0.9)
    assert abs(force) <= 1e-13
    assert model.stiffness == pytest.approx([2.0 + 9 * 5.0 + 4 * 7.0])


@pytest.mark.parametrize("limits", [(0.5, 0.6), (-0.1, 0.3)])
def test_limits_of_a_mimic_joint_that_contradict_those_of_its_leader_are_refused(limits):
    """follower = -2 leader + 0.05, leader between 0.1 and 0.2: the follower is between -0.35 and -0.15."""
    builder = kt.ModelBuilder("pair")
    builder.add_body("leader", None, kt.Revolute((0, 0, 1)), inertia=kt.Inertia(1.0), limits=(0.1, 0.2))
    hinge = kt.Revolute((0, 0, 1))
    builder.add_body("follower", "leader", hinge, limits=limits, mimic=("leader", -2.0, 0.05))
    message = "no position is within the limits of mimic joint 'follower'"
    with pytest.raises(kt.errors.ModelError, match=message):
        builder.build(check="finite")
