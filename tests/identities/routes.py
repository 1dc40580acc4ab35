"""Laws of other routes: formulations of the documents that must give what the main algorithms give."""

from __future__ import annotations

import numpy as np
from tests.identities.case import Case
from tests.identities.laws import law, shift

import kinetree as kt
from kinetree import alternatives as other


@law("mass_matrix_inertial", "mass_matrix")
def the_mass_matrix_by_six_routes(c: Case) -> None:
    system = other.System(c.model, c.q)
    routes = {
        "inertial": c.run("mass_matrix_inertial", c.q),
        "Newton-Euler factors": other.mass_matrix_newton_euler(system),
        "inverse dynamics": other.mass_matrix_by_inverse_dynamics(c.model, c.q, target=c.target),
        "Jacobians": other.mass_matrix_from_jacobians(system),
        "composite decomposition": other.mass_matrix_decomposed(system),
    }
    for name, found in routes.items():
        c.expect(found, c.M, 1e-13, what=name)


@law("inverse_dynamics_composite", "inverse_dynamics_inertial", "inverse_dynamics")
def inverse_dynamics_by_four_routes(c: Case) -> None:
    for name in ("inverse_dynamics_composite", "inverse_dynamics_inertial"):
        c.expect(c.run(name, c.q, c.v, c.a, c.f_ext), c.tau, 1e-12, c.force_size, name)
    dense = other.System(c.model, c.q, c.v, c.f_ext).inverse_dynamics(c.a)
    c.expect(dense, c.tau, 1e-12, c.force_size, "dense operators")


@law("forward_dynamics_concurrent", "forward_dynamics")
def forward_dynamics_by_five_routes(c: Case) -> None:
    system = other.System(c.model, c.q, c.v, c.f_ext)
    accelerations, forces = other.forward_dynamics_gauss(system, c.tau)
    routes = {
        "concurrent": c.run("forward_dynamics_concurrent", c.q, c.v, c.tau, c.f_ext),
        "dense": other.forward_dynamics_dense(system, c.tau),
        "Gauss": accelerations,
        "operators": other.forward_dynamics_operators(system, c.tau),
    }
    spread = c.force_size / np.abs(c.M).max(initial=1e-300) if c.n else 1.0
    for name, found in routes.items():
        c.expect(found, c.a, 1e-13 * c.condition + 1e-12, spread, name)
    # the multipliers of the constraints are the forces through the joints
    size = float(np.abs(forces).max(initial=1))
    c.expect(forces, system.forces(accelerations), 1e-13 * c.condition + 1e-12, size, "multipliers")


@law("gravity_force_composite", "gravity_force")
def gravity_pulls_as_a_force_and_as_an_acceleration(c: Case) -> None:
    c.expect(c.run("gravity_force_composite", c.q), c.of("gravity_force"), 1e-12, c.force_size)


@law("composite_wrenches", "articulated_wrenches", "joint_wrenches")
def joint_wrenches_fall_into_parts(c: Case) -> None:
    """f = R alpha + y = P (alpha - c) + z = P+ alpha+ + z+; the rest z depends on no acceleration."""
    f = c.run("joint_wrenches", c.q, c.v, c.a, c.f_ext)
    size, tolerance = float(np.abs(f).max(initial=1)), 1e-13 * c.condition + 1e-12
    c.expect(sum(c.run("composite_wrenches", c.q, c.v, c.a, c.f_ext)), f, 1e-12, size)
    for side in ("outboard", "inboard"):
        parts = c.run("articulated_wrenches", c.q, c.v, c.tau, side=side, f_ext=c.f_ext)
        c.expect(sum(parts), f, tolerance, max(size, float(np.abs(parts).max())), side)


@law("composite_moments", "composite_moments_walker_orin", "composite_inertias")
def composite_inertias_by_components(c: Case) -> None:
    found = c.run("composite_moments", c.q)
    for one, two in zip(found, c.run("composite_moments_walker_orin", c.q), strict=True):
        c.expect(one, two, 1e-12, 1.0)
    for I, m, com, J in zip(c.of("composite_inertias"), *found, strict=True):
        inertia = np.array(kt.Inertia(m, com, J).matrix(), float)
        c.expect(inertia, I, 1e-12, 1.0)


@law("base_reaction", "joint_wrenches")
def the_ground_holds_what_the_roots_carry(c: Case) -> None:
    if c.model.rotors:
        return  # a rotor on a root's drive stands on the world itself
    found, T = c.run("joint_wrenches", c.q, c.v, c.a, c.f_ext), c.of("placements")
    total = sum((shift(T[i], found[i]) for i, p in enumerate(c.model.parents) if p == 0), np.zeros(6))
    c.expect(c.run("base_reaction", c.q, c.v, c.a, c.f_ext), total, 1e-12, np.abs(found).max(initial=1))


@law("partial_velocities", "jacobian")
def partial_velocities_are_all_jacobians(c: Case) -> None:
    J = c.run("jacobian", c.q, frame=c.model.body_names[c.body])
    c.expect(c.of("partial_velocities")[c.body], J, 1e-13, 1.0)


@law("coriolis_matrices", "coriolis_matrix", "mass_matrix_rate", "mass_matrix")
def one_sweep_gives_three_matrices(c: Case) -> None:
    M, rate, C = c.run("coriolis_matrices", c.q, c.v)
    c.expect(M, c.M, 1e-13)
    c.expect(rate, c.of("mass_matrix_rate"), 1e-13, np.abs(C).max(initial=0))
    c.expect(C, c.of("coriolis_matrix"), 1e-13, np.abs(C).max(initial=0))
