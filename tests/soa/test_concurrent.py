"""IDY-11: the stacked equations of Concurrent Dynamics, of velocities, forces and constraints."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.measure import assert_close, condition
from tests.soa.mechanisms import NAMES, UNGROUPED, run, state

import kinetree as kt
from kinetree.alternatives import ConcurrentEquations
from kinetree.errors import ShapeError
from kinetree.textbook.adapters import concurrent as notation


def case(name):
    s = state(name)
    rng = np.random.default_rng(len(name))
    f_ext, points = rng.normal(size=(s.model.nbodies, 6)), rng.normal(size=(s.model.nbodies, 3))
    equations = ConcurrentEquations(s.model, s.q, s.v, f_ext, points)
    return s, rng.normal(size=s.model.nv), f_ext, points, equations


def about_origins(f_ext, points):
    """The same wrenches about the origins of the bodies."""
    found = f_ext.copy()
    found[:, :3] += np.cross(points, f_ext[:, 3:])
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_equation_holds(name):
    _, a, _, _, equations = case(name)
    found = equations.equations(a)
    assert [e.number for e in found] == [str(k) for k in range(1, 19)]
    for equation in found:
        assert equation.residual <= 1e-11, repr(equation)


@pytest.mark.parametrize("name", NAMES)
def test_against_the_library(name):
    """Inverse dynamics, mass matrix, bias and constraint forces are those of the recursions."""
    s, a, f_ext, points, equations = case(name)
    moved = about_origins(f_ext, points)
    size = float(np.abs(equations.forces(a)).max(initial=1))
    assert_close(equations.actuation(a), run(s, "inverse_dynamics", s.q, s.v, a, moved), 1e-11, size)
    assert_close(equations.forces_about_com(a), equations.forces(a), 1e-12, size)
    mass = run(s, "mass_matrix", s.q)
    assert_close(equations.mass_matrix, mass, 1e-12)
    tau = s.rng.normal(size=s.model.nv)
    truth = run(s, "forward_dynamics", s.q, s.v, tau, moved)
    assert_close(equations.solve(tau), truth, 1e-12 * max(10.0, condition(mass)), size)
    held = run(s, "constraint_forces", s.q, s.v, a, moved)
    assert_close(equations.constraint_forces(a), held, 1e-11, size)


@pytest.mark.parametrize("name", UNGROUPED)
def test_velocities_and_accelerations(name):
    """v and v' are those of the bodies in inertial axes; v' is classical; v-bar' of the centres of mass."""
    s, a, _, _, equations = case(name)
    poses, V = run(s, "placements", s.q), run(s, "body_velocities", s.q, s.v)
    A = run(s, "body_accelerations", s.q, s.v, a)
    dv, dv_bar = (x.reshape(-1, 6) for x in (equations.accelerations(a), equations.accelerations_of_com(a)))
    for k, body in enumerate(s.model.bodies):
        R, c = poses[k, :3, :3], np.array(body.inertia.com, float)
        omega, spin = V[k, :3], A[k, :3]
        joint = A[k, 3:] + np.cross(omega, V[k, 3:])
        center = joint + np.cross(spin, c) + np.cross(omega, np.cross(omega, c))
        size = float(np.abs(A).max() + np.abs(V).max() ** 2 + 1)
        assert_close(equations.v.reshape(-1, 6)[k], np.concatenate([R @ omega, R @ V[k, 3:]]), 1e-12, size)
        assert_close(dv[k], np.concatenate([R @ spin, R @ joint]), 1e-12, size)
        assert_close(dv_bar[k], np.concatenate([R @ spin, R @ center]), 1e-12, size)


@pytest.mark.parametrize("name", [n for n in UNGROUPED if n.startswith(("chain", "tree"))])
def test_nonlinear_accelerations(name):
    """(5a) of the document for revolute joints, and its correction for prismatic ones (E:C7)."""
    s, _, _, _, equations = case(name)
    poses = run(s, "placements", s.q)
    for k, body in enumerate(s.model.bodies):
        if body.parent == 0:
            continue
        omega = tuple(equations.v.reshape(-1, 6)[body.parent - 1, :3])
        d = tuple(poses[k, :3, 3] - poses[body.parent - 1, :3, 3])
        G = equations.G.reshape(-1, 6, s.model.nv)[k]
        column = int(np.flatnonzero(np.abs(G).any(axis=0))[0])
        turning = body.joint.type_name == "revolute"
        axis = tuple(G[:3, column] if turning else G[3:, column])
        made = notation.revolute_acceleration if turning else notation.prismatic_acceleration
        expected = np.array(made(omega, d, axis, s.v[column]).components)
        assert_close(equations.A.reshape(-1, 6)[k], expected, 1e-11, float(np.abs(s.v).max() ** 2 + 1))


def test_the_printed_moment_balance_is_wrong():
    """E:C3: with s of the child in place of s_i, (9) does not hold."""
    _, a, _, _, equations = case("arm7")
    F = equations.forces(a)
    moments = next(e for e in equations.equations(a) if e.number == "9")
    assert moments.residual < 1e-12
    coms = [np.array(b.inertias[0].com, float) for b in equations._bodies]
    handed = (equations.Phi_D.T @ F).reshape(-1, 6)
    wrong = moments.right.reshape(-1, 3).copy()
    for k in range(len(wrong) - 1):
        wrong[k] += np.cross(coms[k] - coms[k + 1], handed[k, 3:])
    assert np.abs(wrong.ravel() - moments.left).max() > 1e-2 * np.abs(moments.left).max()


def test_one_component():
    """FRC-5: the force along z that holds a pendulum hinged about x, by its column of G^."""
    builder = kt.ModelBuilder("hinge")
    builder.add_body("bob", None, kt.Revolute((1, 0, 0)), inertia=kt.Inertia(2.0, (0, 0, -0.5), np.eye(3)))
    model = builder.build()
    equations = ConcurrentEquations(model, [0.0], [0.0])
    F = equations.forces([0.0])
    assert np.allclose([0, 0, 0, 0, 0, 1] @ F, 2.0 * 9.81, rtol=1e-3)
    assert np.isclose(np.abs(equations.constraint_forces([0.0])).max(), abs(F[5]))
    assert "hinge" in repr(equations) and "(18)" in repr(equations.equations([0.0])[-1])


def test_refusals():
    model = kt.zoo.arm7()
    with pytest.raises(ShapeError, match=r"q has shape \(3,\)"):
        ConcurrentEquations(model, np.zeros(3))
    with pytest.raises(ShapeError, match=r"points has shape"):
        ConcurrentEquations(model, np.zeros(7), points=np.zeros(3))
    with pytest.raises(ShapeError, match=r"a has shape \(2,\)"):
        ConcurrentEquations(model, np.zeros(7)).forces([1.0, 2.0])
