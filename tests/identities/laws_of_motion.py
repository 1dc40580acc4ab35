"""Laws of forces, accelerations, energy and momentum."""

from __future__ import annotations

import numpy as np
from tests.identities.case import Case
from tests.identities.declare import law
from tests.identities.facts import floats, index_of, path_to, shift


@law("forward_dynamics", "inverse_dynamics")
def forward_dynamics_undoes_inverse_dynamics(c: Case) -> None:
    back = c.run("forward_dynamics", c.q, c.v, c.tau, c.f_ext)
    c.expect(back, c.a, 1e-14 * c.condition + 1e-13, c.acceleration_size)


@law("forward_dynamics", "bias_force")
def forward_dynamics_solves_the_equation_of_motion(c: Case) -> None:
    a = c.run("forward_dynamics", c.q, c.v, c.x)
    size = max(c.force_size, float(np.abs(c.M @ a).max(initial=0)))
    c.expect(c.M @ a + c.of("bias_force"), c.x, 1e-14 * c.condition + 1e-13, size)


@law("hybrid_dynamics")
def hybrid_dynamics_meets_both_sides(c: Case) -> None:
    """Some joints accelerate as told, the others as their forces make them; all obey one equation."""
    # joints that mimic joints couple share a node and are told together
    nodes = {j: c.model.location(b + 1)[0] for b, j in enumerate(c.model.joint_names)}
    told = [j for j in c.model.joint_names if nodes[j] % 2 and len(index_of(c, j))]
    known, tau = c.tau.copy(), c.tau
    for j in told:
        known[index_of(c, j)] = c.a[index_of(c, j)]
    a, found = c.run("hybrid_dynamics", c.q, c.v, known, accelerate=told, f_ext=c.f_ext)
    c.expect(a, c.a, 1e-13 * c.condition + 1e-13, c.acceleration_size)
    c.expect(found, tau, 1e-13 * c.condition + 1e-13, c.force_size)


@law("kinetic_energy", "mass_matrix")
def kinetic_energy_is_half_the_square(c: Case) -> None:
    c.expect(c.of("kinetic_energy"), 0.5 * c.v @ c.M @ c.v, 1e-13)


@law("potential_energy", "gravity_force", costly=True)
def gravity_force_is_the_slope_of_the_potential(c: Case) -> None:
    found = c.rate(lambda q: c.run("potential_energy", q))
    size = abs(float(c.of("potential_energy"))) + float(np.abs(c.of("gravity_force")).max(initial=0))
    c.expect(found, c.of("gravity_force") @ c.v, 1e-9, size)


@law("kinetic_energy", "inverse_dynamics", "mass_matrix_rate")
def energy_rate_is_power(c: Case) -> None:
    """v.(tau + wrenches - gravity) = v.M a + v.(dM/dt) v / 2."""
    free = c.run("inverse_dynamics", c.q, c.v, c.a)
    power = c.v @ (free - c.of("gravity_force"))
    found = c.v @ c.M @ c.a + 0.5 * c.v @ c.of("mass_matrix_rate") @ c.v
    c.expect(found, power, 1e-12, c.force_size * float(np.abs(c.v).sum()))


@law("center_of_mass", "momentum", costly=True)
def linear_momentum_is_mass_times_velocity(c: Case) -> None:
    h = c.of("momentum")
    found = c.model.total_mass * c.rate(lambda q: c.run("center_of_mass", q))
    c.expect(found, h[3:], 1e-9, np.abs(h).max() + c.model.total_mass)


@law("momentum", "centroidal_momentum", "center_of_mass")
def centroidal_momentum_is_momentum_about_the_centre(c: Case) -> None:
    h, about = c.of("momentum").copy(), c.of("center_of_mass")
    h[:3] -= np.cross(about, h[3:])
    c.expect(c.of("centroidal_momentum"), h, 1e-13, np.abs(c.of("momentum")).max())


@law("centroidal_momentum_matrix", "centroidal_momentum")
def centroidal_matrix_times_velocity(c: Case) -> None:
    A = c.of("centroidal_momentum_matrix")
    c.expect(A @ c.v, c.of("centroidal_momentum"), 1e-13, np.abs(A).max(initial=1))


@law("nullify_momentum", "momentum")
def nullified_velocity_has_no_momentum(c: Case) -> None:
    """If the one root is free: the base moves so that the whole has no momentum, the joints go on."""
    if not floats(c):
        return
    still = c.of("nullify_momentum")
    c.expect(c.run("momentum", c.q, still), np.zeros(6), 1e-12 * c.condition, np.abs(c.of("momentum")).max())
    base = index_of(c, c.model.joint_names[0])
    rest = np.setdiff1d(np.arange(c.n), base)
    c.expect(still[rest], c.v[rest], 1e-15)


@law("composite_inertias", "articulated_inertias")
def a_body_is_lighter_with_free_joints(c: Case) -> None:
    composite, articulated = c.of("composite_inertias"), c.of("articulated_inertias")
    for body, (one, two) in enumerate(zip(composite, articulated, strict=True)):
        size = np.abs(one).max()
        c.expect(one, one.T, 1e-14, what=f"body {body}")
        c.expect(two, two.T, 1e-13, size, f"body {body}")
        assert np.linalg.eigvalsh(one - two)[0] > -1e-12 * size * c.condition, f"{c.label}: body {body}"
        assert np.linalg.eigvalsh(two)[0] > -1e-12 * size * c.condition, f"{c.label}: body {body}"


@law("composite_inertias", "momentum")
def composite_inertias_of_the_roots_hold_all_mass(c: Case) -> None:
    composite = c.of("composite_inertias")
    roots = [i for i, p in enumerate(c.model.parents) if p == 0]
    carried = c.model.total_mass - sum(composite[i][5, 5] for i in roots)
    assert carried > -1e-12 * c.model.total_mass, f"{c.label}: branches outweigh the whole by {-carried}"


@law("joint_wrenches", "inverse_dynamics", "jacobian")
def joint_wrenches_balance_every_body(c: Case) -> None:
    """The wrenches through the roots push the whole: rate of momentum = reactions + gravity + wrenches."""
    found = c.run("joint_wrenches", c.q, c.v, c.a, c.f_ext)
    unpushed = c.run("joint_wrenches", c.q, c.v, c.a)
    V = [c.run("jacobian", c.q, frame=name) for name in c.model.body_names]
    # wrenches on bodies pass inward unchanged: their work is the same through any joint on the way
    inward = np.zeros((c.nb, 6))
    T = c.of("placements")
    for i in reversed(range(c.nb)):
        inward[i] += c.f_ext[i]
        p = c.model.parents[i] - 1
        if p >= 0:
            inward[p] += shift(np.linalg.inv(T[p]) @ T[i], inward[i])
    c.expect(unpushed - found, inward, 1e-11, np.abs(found).max(initial=1))
    pushed = sum((J.T @ f for J, f in zip(V, c.f_ext, strict=True)), np.zeros(c.n))
    free = c.run("inverse_dynamics", c.q, c.v, c.a)
    c.expect(free - c.tau, pushed, 1e-12, c.force_size)


@law("operational_space_inertia", "jacobian")
def operational_space_inertia_is_what_a_frame_feels(c: Case) -> None:
    name = c.model.body_names[c.body]
    J = c.run("jacobian", c.q, frame=name)
    _, inverse = c.run("operational_space_inertia", c.q, frames=[name])
    expected = J @ np.linalg.solve(c.M, J.T) if c.n else np.zeros((6, 6))
    c.expect(np.reshape(inverse, (6, 6)), expected, 1e-13 * c.condition, 1e-300)


@law("base_reaction", "momentum", costly=True)
def base_reaction_changes_the_momentum(c: Case) -> None:
    """Rate of the momentum = reaction of the ground + weight + wrenches."""
    found = c.run("base_reaction", c.q, c.v, c.a, c.f_ext)
    rate = c.rate_of_state(lambda q, v: c.run("momentum", q, v))
    pull = c.model.total_mass * np.array(c.model.gravity, float)
    weight = np.concatenate([np.cross(c.of("center_of_mass"), pull), pull])
    pushed = sum(shift(T, f) for T, f in zip(c.of("placements"), c.f_ext, strict=True))
    size = np.abs(rate).max() + np.abs(weight).max() + np.abs(pushed).max()
    c.expect(found + weight + pushed, rate, 1e-8, size)


@law("constraint_forces", "joint_wrenches", "partial_velocities")
def constraint_forces_are_what_the_joint_does_not_move_along(c: Case) -> None:
    """|N^T f|^2 = |f|^2 - |part of f along S|^2, since N is an orthonormal basis of what S leaves out."""
    wrenches = c.run("joint_wrenches", c.q, c.v, c.a, c.f_ext)
    found = c.run("constraint_forces", c.q, c.v, c.a, c.f_ext)
    J = c.of("partial_velocities")
    for b, (f, part) in enumerate(zip(wrenches, found, strict=True)):
        if any(c.model.bodies[k].mimic for k in path_to(c, b)):
            continue  # the velocity of the joint moves more than the joint
        S = J[b][:, index_of(c, c.model.joint_names[b])]
        rest = f - S @ np.linalg.lstsq(S, f, rcond=None)[0]
        size = float(np.abs(f).max())
        c.expect(np.linalg.norm(part), np.linalg.norm(rest), 1e-12, size, f"body {b}")
        assert not part[6 - S.shape[1] :].any(), f"{c.label}: body {b} has too many components"
