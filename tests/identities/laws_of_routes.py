"""The same quantity by every route that the documents take."""

from __future__ import annotations

import numpy as np
from tests.identities.case import Case
from tests.identities.declare import law
from tests.identities.facts import armature_force, relative

import kinetree as kt
from kinetree import alternatives as other


@law("mass_matrix", "mass_matrix_inertial")
def mass_matrix_by_six_routes(c: Case) -> None:
    system = other.System(c.model, c.q)
    c.expect(c.of("mass_matrix_inertial"), c.M, 1e-12)
    for route in (
        other.mass_matrix_newton_euler,
        other.mass_matrix_from_jacobians,
        other.mass_matrix_decomposed,
    ):
        c.expect(route(system), c.M, 1e-12, what=route.__name__)
    found = other.mass_matrix_by_inverse_dynamics(c.model, c.q, target=c.target)
    c.expect(found, c.M, 1e-12, what="by inverse dynamics")


@law("loop_matrix")
def mass_matrix_of_the_tree_with_loops_cut(c: Case) -> None:
    G = c.of("loop_matrix")
    open_tree = c.run_on(c.model.spanning_tree, "mass_matrix", c.target)(c.q)
    c.expect(G.T @ open_tree @ G, c.M, 1e-12)


@law("inverse_dynamics", "inverse_dynamics_composite", "inverse_dynamics_inertial")
def inverse_dynamics_by_three_routes(c: Case) -> None:
    for name in ("inverse_dynamics_composite", "inverse_dynamics_inertial"):
        c.expect(c.run(name, c.q, c.v, c.a, c.f_ext), c.tau, 1e-12, c.wrench_size, name)


@law("forward_dynamics", "forward_dynamics_concurrent")
def forward_dynamics_by_five_routes(c: Case) -> None:
    """Recursion, concurrent dynamics (19b), dense solve, operators and the principle of Gauss."""
    a = c.run("forward_dynamics", c.q, c.v, c.tau, c.f_ext)
    tolerance, spread = 1e-13 * c.condition + 1e-12, c.acceleration_size
    system = other.System(c.model, c.q, c.v, c.f_ext)
    gauss, multipliers = other.forward_dynamics_gauss(system, c.tau)
    for name, found in {
        "19b": c.run("forward_dynamics_concurrent", c.q, c.v, c.tau, c.f_ext),
        "dense": other.forward_dynamics_dense(system, c.tau),
        "operators": other.forward_dynamics_operators(system, c.tau),
        "gauss": gauss,
    }.items():
        c.expect(found, a, tolerance, spread, name)
    c.expect(multipliers, system.forces(c.a), tolerance, c.wrench_size, "wrenches by Gauss")
    through = c.run("joint_wrenches", c.q, c.v, c.a, c.f_ext)
    parts = [(node, member) for node in c.model.nodes for member in node.members]
    for (node, member), found in zip(parts, multipliers.reshape(-1, 6), strict=True):
        if len(node.members) == 1 and node.closing is None:  # in groups, a wrench counts what else is carried
            c.expect(found, through[member.body - 1], tolerance, c.wrench_size, "joint wrenches by Gauss")


@law("gravity_force", "gravity_force_composite")
def gravity_from_the_weights(c: Case) -> None:
    c.expect(c.of("gravity_force_composite"), c.of("gravity_force"), 1e-13, c.wrench_size)


@law("composite_wrenches", "articulated_wrenches", "joint_wrenches")
def wrenches_in_three_decompositions(c: Case) -> None:
    """f = R alpha + y = P (alpha - c) + z = P+ alpha+ + z+."""
    f = c.run("joint_wrenches", c.q, c.v, c.a, c.f_ext)
    found = sum(c.run("composite_wrenches", c.q, c.v, c.a, c.f_ext))
    c.expect(found, f, 1e-12, c.wrench_size, "R alpha + y")
    for side in ("outboard", "inboard"):
        found = sum(c.run("articulated_wrenches", c.q, c.v, c.tau, f_ext=c.f_ext, side=side))
        c.expect(found, f, 1e-13 * c.condition + 1e-12, c.wrench_size, side)


@law("composite_moments", "composite_moments_walker_orin", "composite_inertias")
def composite_bodies_in_components(c: Case) -> None:
    mass, com, inertia = c.run("composite_moments", c.q)
    for value, same in zip((mass, com, inertia), c.run("composite_moments_walker_orin", c.q), strict=True):
        c.expect(same, value, 1e-12, 1e-12)
    for b, I in enumerate(c.of("composite_inertias")):
        h = np.array([I[2, 4], I[0, 5], I[1, 3]])
        c.expect(mass[b], I[5, 5], 1e-14, what=f"body {b}")
        c.expect(mass[b] * com[b], h, 1e-13, np.abs(I).max(), f"body {b}")
        s = np.array([[0, -com[b, 2], com[b, 1]], [com[b, 2], 0, -com[b, 0]], [-com[b, 1], com[b, 0], 0]])
        c.expect(inertia[b] - mass[b] * s @ s, I[:3, :3], 1e-13, np.abs(I).max(), f"body {b}")


@law("christoffel_symbols_second_kind", "mass_matrix_partials", "bias_force_hessian", costly=True)
def what_follows_from_the_christoffel_symbols(c: Case) -> None:
    gamma, dM = c.of("christoffel_symbols"), c.of("mass_matrix_partials")
    second = c.of("christoffel_symbols_second_kind")
    size = max(float(np.abs(gamma).max(initial=0)), c.rate_size)
    c.expect(np.einsum("il,ljk->ijk", c.M, second), gamma, 1e-14 * c.condition + 1e-13, size)
    c.expect(dM @ c.v, c.of("mass_matrix_rate"), 1e-13, size)
    twice = np.einsum("ijk,j,k->i", c.of("bias_force_hessian"), c.v, c.v)
    pulled = 2 * (c.of("bias_force") - c.of("gravity_force"))
    c.expect(twice, pulled, 1e-12, max(size, c.force_size))


@law("christoffel_values", "christoffel_symbols")
def christoffel_symbols_without_their_zeros(c: Case) -> None:
    """COR-16: each triple of velocities on one path once, with its value; all others are zero, exactly."""
    triples, dense = c.model.christoffel_sparsity(), c.of("christoffel_symbols").copy()
    assert len({tuple(t) for t in triples.tolist()}) == len(triples) == c.of("christoffel_values").size
    size = float(np.abs(dense).max(initial=0))
    c.expect(c.of("christoffel_values"), dense[tuple(triples.T)], 1e-14, size)
    dense[tuple(triples.T)] = 0
    assert not np.any(dense), f"{c.label}: symbols off the pattern"
    related = c.model.mass_sparsity()
    assert all(related[i, j] and related[j, k] and related[i, k] for i, j, k in triples.tolist())


@law("impulse_response")
def an_impulse_changes_the_velocity(c: Case) -> None:
    """M dv = J^T p."""
    name, push = c.model.body_names[c.body], c.f_ext[c.body]
    jump = c.run("impulse_response", c.q, name, push)
    J = c.run("jacobian", c.q, frame=name, reference="aligned")
    size = float(np.abs(J.T @ push).max(initial=0)) + float(np.abs(c.M @ jump).max(initial=0))
    c.expect(c.M @ jump, J.T @ push, 1e-14 * c.condition + 1e-13, size or 1.0)


@law("admissibility", "coriolis_matrix")
def coriolis_matrix_is_admissible(c: Case) -> None:
    C = c.of("coriolis_matrix")
    verdict = c.run("admissibility", c.q, c.v, C)
    assert max(verdict) < 1e-12 * max(1.0, c.rate_size / (float(np.abs(C).max(initial=0)) or c.rate_size)), (
        f"{c.label}: {verdict}"
    )


@law("coriolis_matrix", "coriolis_product")
def coriolis_matrix_by_columns(c: Case) -> None:
    """A modified Newton-Euler recursion for each column, as De Luca and Ferrajoli do."""
    found = other.coriolis_matrix_by_newton_euler(c.model, c.q, c.v, target=c.target)
    c.expect(found, c.of("coriolis_matrix"), 1e-12, c.rate_size)
    c.expect(found @ c.x, c.run("coriolis_product", c.q, c.v, c.x), 1e-12, c.rate_size)


@law("rotor_wrenches", "motor_torques", "rotor_ratios", "inverse_dynamics", "joint_wrenches")
def rotors_share_the_force_of_their_joint(c: Case) -> None:
    """tau = sum of S^T f + moments on rotors times their ratios + what accelerates the armatures."""
    ratios = kt.rotor_ratios(c.model)
    assert ratios.shape == (len(c.model.rotors), c.n)
    loads, wrenches = c.run("rotor_wrenches", c.q, c.v, c.a), c.run("joint_wrenches", c.q, c.v, c.a)
    axes = np.array([[float(x) for x in r.axis] for r in c.model.rotors]).reshape(-1, 3)
    driven = ratios.T @ np.einsum("rx,rx->r", axes, loads[:, :3])
    carried = np.einsum("bxn,bx->n", relative(c), wrenches)
    found = c.run("inverse_dynamics", c.q, c.v, c.a)
    c.expect(driven + carried + armature_force(c), found, 1e-12, c.wrench_size)
    c.expect(ratios.T @ c.run("motor_torques", driven), driven, 1e-12, c.wrench_size)
