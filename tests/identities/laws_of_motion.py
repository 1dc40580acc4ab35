"""Laws of forces, accelerations, energy and momentum."""

from __future__ import annotations

import numpy as np
import pytest
from tests.identities.case import Case
from tests.identities.declare import law
from tests.identities.facts import carriers, dense, floats, index_of, leader, relative, shift

import kinetree as kt


@law("forward_dynamics", "inverse_dynamics")
def forward_dynamics_undoes_inverse_dynamics(c: Case) -> None:
    back = c.run("forward_dynamics", c.q, c.v, c.tau, c.f_ext)
    c.expect(back, c.a, 1e-14 * c.condition + 1e-13, c.acceleration_size)


@law("forward_dynamics", "bias_force")
def forward_dynamics_solves_the_equation_of_motion(c: Case) -> None:
    a = c.run("forward_dynamics", c.q, c.v, c.x)
    size = max(c.force_size, float(np.abs(c.M @ a).max(initial=0)))
    c.expect(c.M @ a + c.of("bias_force"), c.x, 1e-14 * c.condition + 1e-13, size)


@law("augmented_dynamics", "bias_force", "mass_matrix")
def augmented_dynamics_adds_inertia_to_the_diagonal(c: Case) -> None:
    """(M + G^T diag(extra) G) a + bias = tau; without extra inertia it is forward dynamics."""
    G = c.run("loop_matrix", c.q)
    extra = np.abs(np.sin(1 + np.arange(len(G)))) * float(np.abs(np.diag(c.M)).max(initial=1))
    a = c.run("augmented_dynamics", c.q, c.v, c.tau, extra, c.f_ext)
    pull = G.T @ (extra * (G @ a))
    size = max(c.force_size, float(np.abs(c.M @ a).max(initial=0)), float(np.abs(pull).max(initial=0)))
    bias = c.run("bias_force", c.q, c.v, c.f_ext)
    c.expect(c.M @ a + pull + bias, c.tau, 1e-13 * c.condition + 1e-13, size)
    plain = c.run("augmented_dynamics", c.q, c.v, c.tau, 0 * extra, c.f_ext)
    c.expect(plain, c.a, 1e-13 * c.condition + 1e-13, c.acceleration_size)


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


@law("inverse_dynamics", "mass_matrix", "mass_matrix_rate", "gravity_force")
def power_changes_the_inertia_and_the_speed(c: Case) -> None:
    """v.(tau - gravity) = v.M a + v.(dM/dt) v / 2."""
    free = c.run("inverse_dynamics", c.q, c.v, c.a)
    power = c.v @ (free - c.of("gravity_force"))
    found = c.v @ c.M @ c.a + 0.5 * c.v @ c.of("mass_matrix_rate") @ c.v
    c.expect(found, power, 1e-12, c.force_size * float(np.abs(c.v).sum()))


@law("kinetic_energy", "potential_energy", "inverse_dynamics", costly=True)
def power_is_the_rate_of_the_energy(c: Case) -> None:
    """v.tau = d/dt (kinetic + potential energy)."""
    power = c.v @ c.run("inverse_dynamics", c.q, c.v, c.a)
    found = c.rate_of_state(lambda q, v: c.run("kinetic_energy", q, v) + c.run("potential_energy", q))
    size = abs(float(c.of("kinetic_energy"))) + abs(float(c.of("potential_energy")))
    c.expect(found, power, 1e-8, size + c.force_size * float(np.abs(c.v).sum()))


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
    """The one free root moves so that the whole has no momentum, the joints go on; else there is an error."""
    if not floats(c):
        with pytest.raises(kt.errors.ModelError, match="does not float"):
            c.of("nullify_momentum")
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
        assert np.linalg.eigvalsh(one - two)[0] >= -1e-12 * size * c.condition, f"{c.label}: body {body}"
        assert np.linalg.eigvalsh(two)[0] >= -1e-12 * size * c.condition, f"{c.label}: body {body}"


@law("composite_inertias")
def composite_inertias_of_the_roots_hold_all_mass(c: Case) -> None:
    """All mass is outboard of the roots, but for rotors that stand on the world."""
    composite = c.of("composite_inertias")
    outboard = sum(composite[i][5, 5] for i, parent in enumerate(c.model.parents) if parent == 0)
    rotors = zip(c.model.rotors, carriers(c), strict=True)
    standing = sum(float(rotor.inertia.mass) for rotor, carrier in rotors if carrier == 0)
    c.expect(outboard + standing, c.model.total_mass, 1e-13)


@law("joint_wrenches", "body_velocities", "body_accelerations", "placements", "rotor_wrenches")
def joint_wrenches_balance_every_body(c: Case) -> None:
    """I A + V x* I V = wrench from the parent + external + weight - wrenches on children and on rotors."""
    f = c.run("joint_wrenches", c.q, c.v, c.a, c.f_ext)
    T, V, A = c.of("placements"), c.of("body_velocities"), c.run("body_accelerations", c.q, c.v, c.a)
    acting = f + c.f_ext
    for child, parent in enumerate(c.model.parents):
        if parent:
            acting[parent - 1] -= shift(np.linalg.inv(T[parent - 1]) @ T[child], f[child])
    loads = c.run("rotor_wrenches", c.q, c.v, c.a)
    for rotor, carrier, load in zip(c.model.rotors, carriers(c), loads, strict=True):
        if carrier:
            acting[carrier - 1] -= shift(np.array(rotor.placement.as_matrix(), float), load)
    size = c.wrench_size + float(np.abs(acting).max(initial=0)) + float(np.abs(loads).max(initial=0))
    for b, body in enumerate(c.model.bodies):
        I, w, u = dense(body.inertia), V[b][:3], V[b][3:]
        fall = np.concatenate([np.zeros(3), T[b][:3, :3].T @ np.array(c.model.gravity, float)])
        h = I @ V[b]
        turning = np.concatenate([np.cross(w, h[:3]) + np.cross(u, h[3:]), np.cross(w, h[3:])])
        c.expect(acting[b] + I @ fall, I @ A[b] + turning, 1e-12, size, f"body {b}")


@law("joint_wrenches", "inverse_dynamics", "jacobian")
def external_wrenches_pass_through_the_joints(c: Case) -> None:
    """A wrench on a body unloads every joint inboard of it, and pushes the joints by J^T f."""
    found = c.run("joint_wrenches", c.q, c.v, c.a, c.f_ext)
    unpushed = c.run("joint_wrenches", c.q, c.v, c.a)
    inward, T = c.f_ext.copy(), c.of("placements")
    for i in reversed(range(c.nb)):
        p = c.model.parents[i] - 1
        if p >= 0:
            inward[p] += shift(np.linalg.inv(T[p]) @ T[i], inward[i])
    c.expect(unpushed - found, inward, 1e-11, np.abs(found).max(initial=1))
    V = [c.run("jacobian", c.q, frame=name) for name in c.model.body_names]
    pushed = sum((J.T @ f for J, f in zip(V, c.f_ext, strict=True)), np.zeros(c.n))
    free = c.run("inverse_dynamics", c.q, c.v, c.a)
    c.expect(free - c.tau, pushed, 1e-12, c.force_size)


@law("operational_space_inertia", "jacobian")
def operational_space_inertia_is_what_a_frame_feels(c: Case) -> None:
    name = c.model.body_names[c.body]
    J = c.run("jacobian", c.q, frame=name)
    inertia, inverse = c.run("operational_space_inertia", c.q, frames=[name])
    expected = J @ np.linalg.solve(c.M, J.T) if c.n else np.zeros((6, 6))
    c.expect(inverse, expected, 1e-13 * c.condition, 1e-300)
    felt = np.linalg.pinv(expected, rcond=1e-11, hermitian=True)
    sizes = np.abs(np.linalg.eigvalsh(expected))
    worst = sizes.max() / min(sizes[sizes > 1e-11 * sizes.max()], default=1.0)  # among those that are kept
    c.expect(inertia, felt, (1e-12 + 1e-15 * worst) * c.condition, 1e-300)


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
    for b, (f, part, S) in enumerate(zip(wrenches, found, relative(c), strict=True)):
        S = S[:, leader(c, b)[0]]  # a multiple of S for a joint that follows another
        rest = f - S @ np.linalg.lstsq(S, f, rcond=None)[0]
        size = float(np.abs(f).max())
        c.expect(np.linalg.norm(part), np.linalg.norm(rest), 1e-12, size, f"body {b}")
        assert not part[6 - S.shape[1] :].any(), f"{c.label}: body {b} has too many components"
