"""What the decompositions of interbody forces mean (FRC-3), and constraint forces by projection (FRC-4)."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.measure import assert_close
from tests.soa.mechanisms import NAMES, UNGROUPED, path, run, state


@pytest.mark.parametrize("name", NAMES)
def test_z_ignores_all_accelerations(name):
    """f = P (alpha - a) + z: z follows from q, v, tau and f_ext. Another gravity changes every acceleration
    and not z, bit for bit."""
    s = state(name)
    tau, f_ext = s.rng.normal(size=s.model.nv), s.rng.normal(size=(s.model.nbodies, 6))
    for side in ("outboard", "inboard"):
        parts = [
            run(s._replace(model=s.model.replace(gravity=fall)), "articulated_wrenches", s.q, s.v, tau,
                f_ext=f_ext, side=side)
            for fall in ((0.0, 0.0, -9.81), (3.0, -2.0, 5.0))
        ]  # fmt: skip
        assert np.array_equal(parts[0][1], parts[1][1])
        if any(body.parent == 0 and not body.joint.is_free for body in s.model.bodies):
            assert not np.allclose(parts[0][0], parts[1][0])  # what floats falls freely


@pytest.mark.parametrize("name", UNGROUPED)
def test_y_sees_accelerations_outboard_alone(name):
    """f = R alpha + y: y_i changes by R_j S_j of a joint j outboard of body i, carried to i, and by no other;
    what carries body i is felt by R alpha alone."""
    s, op = state(name), state(name).op
    a = s.rng.normal(size=s.model.nv)
    inertial, y = run(s, "composite_wrenches", s.q, s.v, a)
    for j, node in enumerate(s.model.nodes, 1):
        if not node.v_index:
            continue
        moved = a.copy()
        moved[node.v_index[0]] += 1.0
        other, after = run(s, "composite_wrenches", s.q, s.v, moved)
        push = (op.R @ (op.H.T @ (moved - a))).reshape(-1, 6)[j - 1]
        for i in range(1, len(s.model.nodes) + 1):
            size = float(np.abs(y).max(initial=1))
            expected = op.phi(i, j) @ push if i != j and i in path(s, j) else np.zeros(6)
            assert_close(after[i - 1] - y[i - 1], expected, 1e-12, size)
            if j in path(s, i):
                shift = op.phi.T(i, j) @ (op.H.T @ (moved - a)).reshape(-1, 6)[j - 1]
                assert_close(other[i - 1] - inertial[i - 1], op.R(i, i) @ shift, 1e-12, size)


@pytest.mark.parametrize("name", UNGROUPED)
def test_own_inertia_and_the_rest(name):
    """f = M alpha + rest: the rest of a body is what its children hand on, and gyroscopic forces."""
    s, op = state(name), state(name).op
    a = s.rng.normal(size=s.model.nv)
    wrenches = run(s, "joint_wrenches", s.q, s.v, a).ravel()
    g = np.concatenate([np.zeros(3), -np.array(s.model.gravity, float)])
    alpha = op.phi.T @ (op.H.T @ a + op.a + op.E.T @ g)
    rest = op.phi_tilde @ (op.M @ alpha + op.b) + op.b
    assert_close(op.M @ alpha + rest, wrenches, 1e-12, float(np.abs(wrenches).max(initial=1)))


@pytest.mark.parametrize("name", UNGROUPED)
def test_constraint_forces_by_projection(name):
    """FRC-4, E:C9: f^c = N^T F, and F = S (S^T S)^-1 f + N f^c with N a basis of what the joint blocks."""
    s, op = state(name), state(name).op
    a = s.rng.normal(size=s.model.nv)
    F, found = run(s, "joint_wrenches", s.q, s.v, a), run(s, "constraint_forces", s.q, s.v, a)
    tau = run(s, "inverse_dynamics", s.q, s.v, a)
    for node, wrench, along, S in zip(s.model.nodes, F, found, op.blocks.S, strict=True):
        N = complement(s, node)
        assert not along[N.shape[1] :].any()
        assert_close(N.T @ wrench, along[: N.shape[1]], 1e-12, float(np.abs(F).max(initial=1)))
        f = tau[list(node.v_index)]
        whole = S @ np.linalg.solve(S.T @ S, f) + N @ along[: N.shape[1]]
        assert_close(whole, wrench, 1e-11, float(np.abs(F).max(initial=1)))


def complement(s, node):
    """The directions that the joint of a node blocks, as columns."""
    (member,) = node.members
    positions = member.coupling.positions([s.q[k] for k in node.q_index])
    columns = [column.components for column in member.joint.complement(positions).columns]
    return np.array(columns, float).reshape(-1, 6).T
