"""The operators say what the algorithms say: mass matrix, dynamics, inertias, momentum, Jacobians."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.measure import assert_close, condition
from tests.soa.mechanisms import NAMES, UNGROUPED, State, run, state

import kinetree as kt
from kinetree.soa import InfluenceMatrix


def gravity(s: State) -> np.ndarray:
    """The acceleration of the world that stands for gravity."""
    return np.concatenate([np.zeros(3), -np.array(s.model.gravity, float)])


def bodies(s: State):
    """The node map of all bodies: its transpose leaves the rotors out."""
    return s.op.B(s.model.body_names)


@pytest.mark.parametrize("name", NAMES)
def test_mass_matrix_and_inverse(name):
    s, M = state(name), run(state(name), "mass_matrix", state(name).q)
    op = s.op
    assert_close((op.H @ op.phi @ op.M @ op.phi.T @ op.H.T).dense(), M, 1e-13)
    assert_close(op.mass_matrix.dense(), M, 1e-13)
    inverse = run(s, "inverse_mass_matrix", s.q)
    assert_close(op.inverse_mass_matrix.dense(), inverse, 1e-14 * max(10.0, condition(M)))
    x = s.rng.normal(size=s.model.nv)
    assert_close(op.mass_matrix @ x, run(s, "mass_matrix_product", s.q, x), 1e-13, np.abs(M).max(initial=0))


@pytest.mark.parametrize("name", NAMES)
def test_determinant_and_factors(name):
    """ABI-4, ABI-6: unit diagonal blocks, triangular; the determinant is that of D."""
    s, op = state(name), state(name).op
    logdet = sum(np.linalg.slogdet(D)[1] for D in op.D.blocks)
    assert_close(logdet, run(s, "mass_matrix_logdet", s.q), 1e-12, 1.0)
    L = (1 + op.H @ op.phi @ op.K).dense()
    for i, one in enumerate(s.model.nodes):
        assert np.array_equal(L[np.ix_(one.v_index, one.v_index)], np.eye(len(one.v_index)))
        for two in s.model.nodes[:i]:
            assert not L[np.ix_(one.v_index, two.v_index)].any()


@pytest.mark.parametrize("name", NAMES)
def test_velocities_and_inverse_dynamics(name):
    """OPR-8: the implicit and the explicit equations of the system, and what the recursions give."""
    s, op, B = state(name), state(name).op, bodies(state(name))
    assert_close(op.V, op.E_phi.T @ op.V + op.H.T @ s.v, 1e-13, 1.0)
    assert_close((B.T @ op.V).reshape(-1, 6), run(s, "body_velocities", s.q, s.v), 1e-13, 1.0)
    a, f_ext = s.rng.normal(size=s.model.nv), s.rng.normal(size=(s.model.nbodies, 6))
    alpha = op.phi.T @ (op.H.T @ a + op.a)
    assert_close((B.T @ alpha).reshape(-1, 6), run(s, "body_accelerations", s.q, s.v, a), 1e-12, 1.0)
    pseudo = alpha + op.phi.T @ (op.E.T @ gravity(s))
    assert_close(pseudo, op.E_phi.T @ pseudo + op.H.T @ a + op.a + op.E.T @ gravity(s), 1e-13, 1.0)
    loads = op.M @ pseudo + op.b - B @ f_ext.ravel()
    f = op.phi @ loads
    size = float(np.abs(f).max(initial=1))
    assert_close(f, op.E_phi @ f + loads, 1e-13, size)
    assert_close(op.H @ f, run(s, "inverse_dynamics", s.q, s.v, a, f_ext), 1e-13, size)


@pytest.mark.parametrize("name", NAMES)
def test_forward_dynamics(name):
    """The innovations recursion, O(N): z = psi (K tau + P a + b), eps = tau - H z, then outward."""
    s, op = state(name), state(name).op
    tau, f_ext = s.rng.normal(size=s.model.nv), s.rng.normal(size=(s.model.nbodies, 6))
    a, b = op.a + op.E.T @ gravity(s), op.b - bodies(s) @ f_ext.ravel()
    z = op.psi @ (op.K @ tau + op.P @ a + b)
    nu = op.D.inverse @ (tau - op.H @ z)
    found = (1 - op.H @ op.psi @ op.K).T @ nu - op.K.T @ (op.psi.T @ a)
    truth = run(s, "forward_dynamics", s.q, s.v, tau, f_ext)
    assert_close(found, truth, 1e-13 * max(10.0, condition(op.mass_matrix.dense())))
    bias = op.H @ (op.phi @ (op.M @ (op.phi.T @ a) + b))
    size = 1e-13 * max(10.0, condition(op.mass_matrix.dense()))
    assert_close(op.inverse_mass_matrix @ (tau - bias), truth, size, float(np.abs(bias).max(initial=1)))


@pytest.mark.parametrize("name", NAMES)
def test_articulated_inertias(name):
    """ABI-1, ABI-3: the blocks of P, which are symmetric."""
    s = state(name)
    truth = run(s, "articulated_inertias", s.q)
    for body in range(1, s.model.nbodies + 1):
        node, member = s.model.location(body)
        block = s.op.P.blocks[node][6 * member : 6 * member + 6, 6 * member : 6 * member + 6]
        assert_close(block, truth[body - 1], 1e-12)
    for P in s.op.P.blocks:
        assert_close(P, P.T, 1e-14)


@pytest.mark.parametrize("name", UNGROUPED)
def test_composite_inertias_and_joint_wrenches(name):
    """Where every node is one body: R against the algorithm, ABI-7 (I^A <= I^C), f through the joints."""
    s, op = state(name), state(name).op
    assert_close(np.array(op.R.blocks), run(s, "composite_inertias", s.q), 1e-13)
    for R, P, M in zip(op.R.blocks, op.P.blocks, op.M.blocks):
        assert np.linalg.eigvalsh(R - P).min() >= -1e-12 * np.abs(R).max()
        assert np.linalg.eigvalsh(P - M).min() >= -1e-12 * np.abs(R).max()
    a = s.rng.normal(size=s.model.nv)
    alpha = op.phi.T @ (op.H.T @ a + op.a + op.E.T @ gravity(s))
    f = op.phi @ (op.M @ alpha + op.b)
    size = float(np.abs(f).max(initial=1))
    assert_close(f.reshape(-1, 6), run(s, "joint_wrenches", s.q, s.v, a), 1e-13, size)


@pytest.mark.parametrize("name", NAMES)
def test_whole_system(name):
    """The root bodies, picked off: momentum E phi M V and inertia E R E^T of everything, in the world."""
    s, op = state(name), state(name).op
    h = op.E @ (op.phi @ (op.M @ op.V))
    assert_close(h, run(s, "momentum", s.q, s.v), 1e-13, float(np.abs(op.M @ op.V).max(initial=1)))
    whole = (op.E @ op.R @ op.E.T).dense()
    x, y, z = run(s, "center_of_mass", s.q)
    X = np.eye(6)
    X[3:, :3] = [[0, z, -y], [-z, 0, x], [y, -x, 0]]  # from the world to the centre of mass
    assert_close(whole, X.T @ run(s, "system_inertia", s.q) @ X, 1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_frames(name):
    """OPR-7: the node map gives the Jacobian of a frame."""
    s, op = state(name), state(name).op
    frame = [*s.model.frame_names, *s.model.body_names][-1]
    J = (op.B(frame).T @ op.phi.T @ op.H.T).dense()
    assert_close(J, run(s, "jacobian", s.q, frame=frame), 1e-13, 1.0)
    assert not op.B("world").dense().any()


@pytest.mark.parametrize("name", NAMES)
def test_names_of_concurrent_dynamics(name):
    """ABI-8, E:C13: J = P, R = D, K = G; beta = (e - G K^T) D; eq. 19b needs Phi_D before K."""
    s, op = state(name), state(name).op
    edges = [np.zeros((len(S.T), 6)) for S in op.H.blocks]
    for i, node in enumerate(s.model.nodes):
        if node.predecessor[0] >= 0:
            edges[i] = op.E_phi(node.predecessor[0] + 1, i + 1).T
    parents = [node.predecessor[0] + 1 for node in s.model.nodes]
    Phi_D = InfluenceMatrix(parents, edges).Phi.dense()
    beta = [(np.eye(len(S.T)) - S.T @ G.T) @ X for S, G, X in zip(op.H.blocks, op.G.blocks, edges)]
    Psi_beta, H, G = InfluenceMatrix(parents, beta).Psi.dense(), op.H.dense(), op.G.dense()
    one, R_inverse = np.eye(s.model.nv), op.D.inverse.dense()
    W = one - H @ Psi_beta.T @ Phi_D.T @ G
    truth = op.inverse_mass_matrix.dense()
    assert_close(W.T @ R_inverse @ W, truth, 1e-13 * max(10.0, condition(op.mass_matrix.dense())))
    if any(parents):
        misread = one - H @ Psi_beta.T @ G
        assert np.abs(misread.T @ R_inverse @ misread - truth).max() > 1e-3 * np.abs(truth).max()


def test_ball_in_a_pipe():
    """ABI-2, E:B5: a ball free to slide along z: I^A = I_1 + I_2 - I_2 S (S^T I_2 S)^-1 S^T I_2."""
    builder = kt.ModelBuilder("pipe")
    builder.add_body("pipe", None, kt.Free(), inertia=kt.Inertia(2.0, (0, 0, 0), np.eye(3)))
    builder.add_body("ball", "pipe", kt.Prismatic((0, 0, 1)), inertia=kt.Inertia(0.5, (0, 0, 0), np.eye(3)))
    model = builder.build()
    op = kt.operators(model, model.neutral())
    assert np.allclose(op.P.blocks[0][3:, 3:], np.diag([2.5, 2.5, 2.0]), rtol=0, atol=1e-15)


def test_coordinates_of_a_group_need_not_be_neighbours():
    """A mimic joint ties bodies whose coordinates stand on both sides of another one's in v."""
    inertia = kt.Inertia(1.0, (0.1, 0.2, 0.3), np.eye(3))
    builder = kt.ModelBuilder("interleaved")
    parents = {"a": None, "b": None, "c": "a", "d": "c"}
    for body, parent in parents.items():
        mimic = ("a", 2.0, 0.1) if body == "d" else None
        builder.add_body(body, parent, kt.Revolute((0, 1, 0)), kt.Pose(p=(0.3, 0, 0)), inertia, mimic=mimic)
    turn = kt.Rotation.from_axis_angle((1, 0, 0), 0.4)
    builder.add_frame("tool", "d", kt.Pose(turn, (0.1, 0.2, 0.3)))
    model = builder.build()
    assert model.nodes[0].v_index == (0, 2) and model.nodes[1].v_index == (1,)
    q = np.array([0.3, -0.7, 1.1])
    op = kt.operators(model, q)
    M = kt.mass_matrix(model, q, target="eager")
    assert_close((op.H @ op.phi @ op.M @ op.phi.T @ op.H.T).dense(), M, 1e-14)
    assert_close((op.inverse_mass_matrix @ op.mass_matrix).dense(), np.eye(3), 1e-13)
    J = (op.B(["tool", "b"]).T @ op.phi.T @ op.H.T).dense()
    assert_close(J[:6], kt.jacobian(model, q, frame="tool", target="eager"), 1e-14)
    truth = kt.operational_space_inertia(model, q, ["tool", "b"], target="eager")[1]
    assert_close(op.Omega.between(op.B(["tool", "b"])), truth, 1e-13)
