"""Laws of the mass matrix, its rate and the Coriolis terms."""

from __future__ import annotations

import numpy as np
from tests.identities.case import Case
from tests.identities.declare import law
from tests.identities.facts import carriers, dense, has_geared_masses, motion_matrix, semidefinite


@law("mass_matrix")
def mass_matrix_is_symmetric_positive_definite(c: Case) -> None:
    c.expect(c.M, c.M.T, 1e-15)
    values = np.linalg.eigvalsh(c.M) if c.n else np.ones(1)
    assert values[0] > 0, f"{c.label}: M has the eigenvalues {values}"


@law("mass_matrix", "inverse_dynamics", "bias_force")
def inverse_dynamics_is_linear_in_acceleration(c: Case) -> None:
    found = c.run("inverse_dynamics", c.q, c.v, c.a)
    c.expect(c.M @ c.a + c.of("bias_force"), found, 1e-13, c.force_size)


@law("mass_matrix_product", "mass_matrix")
def product_with_the_mass_matrix(c: Case) -> None:
    c.expect(c.run("mass_matrix_product", c.q, c.x), c.M @ c.x, 1e-13, np.abs(c.M).max(initial=0))


@law("mass_matrix_solve")
def solve_with_the_mass_matrix(c: Case) -> None:
    c.expect(c.run("mass_matrix_solve", c.q, c.M @ c.x), c.x, 1e-14 * c.condition + 1e-13)


@law("innovations", "innovations_response")
def innovations_are_half_of_a_solution(c: Case) -> None:
    """x^T M^-1 y = e(x) . answer(y), and a response to e(x) is M^-1 x."""
    (e, _), (_, answer) = (c.run("innovations", c.q, x) for x in (c.x, c.a))
    solved = np.linalg.solve(c.M, c.x) if c.n else c.x
    tight = 1e-13 * c.condition + 1e-12
    c.expect(e @ answer, solved @ c.a, tight, float(np.abs(solved).max(initial=0) * np.abs(c.a).sum()))
    c.expect(c.run("innovations_response", c.q, e), solved, tight)


@law("augmented_innovations", "augmented_innovations_response")
def innovations_with_added_inertia(c: Case) -> None:
    """On every joint, also on those that follow others by loops."""
    G = c.run("loop_matrix", c.q)
    added = 0.1 + np.abs(np.sin(np.arange(len(G))))
    (e, _), (_, answer) = (c.run("augmented_innovations", c.q, x, added) for x in (c.x, c.a))
    solved = np.linalg.solve(c.M + G.T @ np.diag(added) @ G, c.x) if c.n else c.x
    tight = 1e-13 * c.condition + 1e-12
    c.expect(e @ answer, solved @ c.a, tight, float(np.abs(solved).max(initial=0) * np.abs(c.a).sum()))
    c.expect(c.run("augmented_innovations_response", c.q, e, added), solved, tight)


@law("inverse_mass_matrix")
def inverse_of_the_mass_matrix(c: Case) -> None:
    inverse = c.of("inverse_mass_matrix")
    c.expect(inverse, inverse.T, 1e-14 * c.condition)
    c.expect(c.M @ inverse, np.eye(c.n), 1e-14 * c.condition + 1e-13)


@law("mass_matrix", "inverse_dynamics", "partial_velocities", "gravity_force")
def mass_matrix_by_other_routes(c: Case) -> None:
    """Column k is what accelerates v_k alone; and M = sum J^T I J, to which rotors and armatures add."""
    columns = [c.run("inverse_dynamics", c.q, 0 * c.v, e) - c.of("gravity_force") for e in np.eye(c.n)]
    size = max(float(np.abs(c.of("gravity_force")).max(initial=0)), float(np.abs(c.M).max(initial=0)))
    c.expect(np.array(columns).reshape(c.n, c.n).T, c.M, 1e-13, size)
    J = c.of("partial_velocities")
    total = sum((j.T @ dense(b.inertia) @ j for j, b in zip(J, c.model.bodies, strict=True)), 0 * c.M)
    if has_geared_masses(c):
        assert semidefinite(c.M - total, size), f"{c.label}: geared masses take inertia away"
    else:
        c.expect(total, c.M, 1e-12)


@law("gravity_force", "inverse_dynamics")
def gravity_is_a_force_at_every_centre_of_mass(c: Case) -> None:
    """Weights as external wrenches do what the acceleration of the world does; without rotors, which no
    wrench acts on.
    """
    model = c.model.replace(rotors="none")
    weights = np.zeros((c.nb, 6))
    for b, (T, body) in enumerate(zip(c.of("placements"), c.model.bodies, strict=True)):
        pull = T[:3, :3].T @ np.array(c.model.gravity, float)
        moment = np.array([float(h) for h in body.inertia.first_moment])
        weights[b] = np.concatenate([np.cross(moment, pull), float(body.inertia.mass) * pull])
    light = Case.run_on(model.replace(gravity=(0.0, 0.0, 0.0)), "inverse_dynamics", c.target)
    held = light(c.q, 0 * c.v, 0 * c.a, weights)
    c.expect(held, Case.run_on(model, "gravity_force", c.target)(c.q), 1e-13, c.force_size)


@law("coriolis_matrix", "bias_force", "gravity_force")
def coriolis_matrix_gives_the_bias(c: Case) -> None:
    found = c.of("coriolis_matrix") @ c.v + c.of("gravity_force")
    c.expect(found, c.of("bias_force"), 1e-13, c.force_size)


@law("gravity_force", "bias_force")
def gravity_force_is_the_bias_at_rest(c: Case) -> None:
    still = c.run("bias_force", c.q, 0 * c.v)
    c.expect(still, c.of("gravity_force"), 1e-14, c.force_size)


@law("mass_matrix_rate", "coriolis_matrix")
def mass_matrix_rate_is_twice_the_symmetric_part(c: Case) -> None:
    C = c.of("coriolis_matrix")
    c.expect(C + C.T, c.of("mass_matrix_rate"), 1e-13, c.rate_size)


@law("mass_matrix_rate", "mass_matrix", costly=True)
def mass_matrix_rate_is_a_derivative(c: Case) -> None:
    found = c.rate(lambda q: c.run("mass_matrix", q))
    size = max(np.abs(c.M).max(initial=0), np.abs(c.of("mass_matrix_rate")).max(initial=0))
    c.expect(c.of("mass_matrix_rate"), found, 1e-8, size)


@law("coriolis_product", "coriolis_transpose_product")
def products_with_the_coriolis_matrix(c: Case) -> None:
    C = c.of("coriolis_matrix")
    c.expect(c.run("coriolis_product", c.q, c.v, c.x), C @ c.x, 1e-13, c.rate_size)
    c.expect(c.run("coriolis_transpose_product", c.q, c.v, c.x), C.T @ c.x, 1e-13, c.rate_size)


@law("christoffel_symbols", "coriolis_matrix")
def christoffel_symbols_make_the_coriolis_matrix(c: Case) -> None:
    gamma = c.of("christoffel_symbols")
    c.expect(gamma @ c.v, c.of("coriolis_matrix"), 1e-13, c.rate_size)


@law("christoffel_symbols", "mass_matrix_rate")
def christoffel_symbols_make_the_mass_matrix_rate(c: Case) -> None:
    gamma = c.of("christoffel_symbols")
    found = (gamma + gamma.transpose(1, 0, 2)) @ c.v
    c.expect(found, c.of("mass_matrix_rate"), 1e-13, c.rate_size)


@law("system_inertia", "system_velocity", "composite_inertias", "center_of_mass", "centroidal_momentum")
def the_whole_locked_is_one_body(c: Case) -> None:
    """Its inertia is that of the roots seen at the centre of mass; moving as one body it has all momentum."""
    I, about, T = c.of("system_inertia"), c.of("center_of_mass"), c.of("placements")
    c.expect(I @ c.run("system_velocity", c.q, c.v), c.run("centroidal_momentum", c.q, c.v), 1e-10, 1.0)
    total = np.zeros((6, 6))
    for i, composite in enumerate(c.of("composite_inertias")):
        if c.model.parents[i] == 0:
            there = T[i].copy()
            there[:3, 3] -= about
            X = motion_matrix(np.linalg.inv(there))
            total += X.T @ composite @ X
    size = np.abs(total).max(initial=1)
    if 0 in carriers(c):  # the rotor of a root's drive stands on the world itself
        assert semidefinite(I - total, size), f"{c.label}: rotors take inertia away"
    else:
        c.expect(I, total, 1e-12, size)
    c.expect(I[5, 5], c.model.total_mass, 1e-13)


@law("external_wrenches", "jacobian", "bias_force")
def wrenches_on_frames_push_the_joints(c: Case) -> None:
    name, push = c.model.body_names[c.body], c.f_ext[c.body]
    for reference in ("body", "world", "aligned"):
        f_ext = c.run("external_wrenches", c.q, {name: push}, reference=reference)
        felt = c.of("bias_force") - c.run("bias_force", c.q, c.v, f_ext)
        J = c.run("jacobian", c.q, frame=name, reference=reference)
        c.expect(felt, J.T @ push, 1e-12, c.force_size, reference)
