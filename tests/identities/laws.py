"""The laws that tie the algorithms together; each names the algorithms that it would catch lying."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.identities.case import Case
from tests.reference.lagrangian import hat

Law = Callable[[Case], None]
LAWS: dict[str, Law] = {}
COVERED: dict[str, list[str]] = {}
COSTLY: set[str] = set()


def law(*names: str, costly: bool = False) -> Callable[[Law], Law]:
    """Declare a law and the algorithms that it tests; a costly one takes differences of many states."""

    def declare(function: Law) -> Law:
        LAWS[function.__name__] = function
        if costly:
            COSTLY.add(function.__name__)
        for name in names:
            COVERED.setdefault(name, []).append(function.__name__)
        return function

    return declare


# -- the mass matrix -------------------------------------------------------------------------------


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


@law("inverse_mass_matrix")
def inverse_of_the_mass_matrix(c: Case) -> None:
    inverse = c.of("inverse_mass_matrix")
    c.expect(inverse, inverse.T, 1e-14 * c.condition)
    c.expect(c.M @ inverse, np.eye(c.n), 1e-14 * c.condition + 1e-13)


@law("mass_matrix", "inverse_dynamics", "partial_velocities", "gravity_force")
def mass_matrix_by_other_routes(c: Case) -> None:
    """Column k is what accelerates v_k alone; and M = sum J^T I J, where bodies are all there is."""
    columns = [c.run("inverse_dynamics", c.q, 0 * c.v, e) - c.of("gravity_force") for e in np.eye(c.n)]
    size = max(float(np.abs(c.of("gravity_force")).max(initial=0)), float(np.abs(c.M).max(initial=0)))
    c.expect(np.array(columns).reshape(c.n, c.n).T, c.M, 1e-13, size)
    if not has_geared_masses(c):
        J = c.of("partial_velocities")
        total = sum((j.T @ dense(b.inertia) @ j for j, b in zip(J, c.model.bodies, strict=True)), 0 * c.M)
        c.expect(total, c.M, 1e-12)


def has_geared_masses(c: Case) -> bool:
    """The model has rotors or armatures."""
    return bool(c.model.rotors) or any(np.any(np.asarray(b.armature, float)) for b in c.model.bodies)


def dense(inertia: Any) -> np.ndarray:
    """The 6x6 matrix of a spatial inertia, from its ten parameters."""
    m, x, y, z, xx, yy, zz, xy, xz, yz = (float(p) for p in inertia.parameters)
    h = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    second = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return np.block([[second, h], [-h, m * np.eye(3)]])


@law("gravity_force", "inverse_dynamics")
def gravity_is_a_force_at_every_centre_of_mass(c: Case) -> None:
    """Weights as external wrenches do what the acceleration of the world does (rotors have no wrench)."""
    if c.model.rotors:
        return
    weights = np.zeros((c.nb, 6))
    for b, (T, body) in enumerate(zip(c.of("placements"), c.model.bodies, strict=True)):
        pull = T[:3, :3].T @ np.array(c.model.gravity, float)
        moment = np.array([float(h) for h in body.inertia.first_moment])
        weights[b] = np.concatenate([np.cross(moment, pull), float(body.inertia.mass) * pull])
    light = Case.run_on(c.model.replace(gravity=(0.0, 0.0, 0.0)), "inverse_dynamics", c.target)
    held = light(c.q, 0 * c.v, 0 * c.a, weights)
    c.expect(held, c.of("gravity_force"), 1e-13, c.force_size)


# -- motion ----------------------------------------------------------------------------------------


@law("forward_dynamics", "inverse_dynamics")
def forward_dynamics_undoes_inverse_dynamics(c: Case) -> None:
    back = c.run("forward_dynamics", c.q, c.v, c.tau, c.f_ext)
    spread = c.force_size / np.abs(c.M).max(initial=1e-300) if c.n else 1.0
    c.expect(back, c.a, 1e-14 * c.condition + 1e-13, spread)


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
    spread = c.force_size / np.abs(c.M).max(initial=1e-300) if c.n else 1.0
    c.expect(a, c.a, 1e-13 * c.condition + 1e-13, spread)
    c.expect(found, tau, 1e-13 * c.condition + 1e-13, c.force_size)


def index_of(c: Case, joint: str) -> np.ndarray:
    """Where the velocities of a joint that has its own stand in v; empty for fixed and mimic joints."""
    index = c.model.coordinate_index(joint)
    return np.arange(c.n)[index] if isinstance(index, slice) else np.array(list(index), dtype=int)


# -- velocity-dependent terms ----------------------------------------------------------------------


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


# -- energy and momentum ---------------------------------------------------------------------------


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


def floats(c: Case) -> bool:
    """The model has one root, on a free joint."""
    return sum(p == 0 for p in c.model.parents) == 1 and len(index_of(c, c.model.joint_names[0])) == 6


# -- kinematics ------------------------------------------------------------------------------------


@law("placements")
def placements_are_poses(c: Case) -> None:
    T = c.of("placements")
    R = T[:, :3, :3]
    c.expect(R @ R.swapaxes(1, 2), np.broadcast_to(np.eye(3), R.shape), 1e-13)
    c.expect(T[:, 3], np.broadcast_to([0, 0, 0, 1.0], T[:, 3].shape), 0.0)
    c.expect(np.linalg.det(R), np.ones(c.nb), 1e-13)


@law("placements", "body_velocities", costly=True)
def body_velocities_move_the_placements(c: Case) -> None:
    T, V = c.of("placements"), c.of("body_velocities")
    found = c.rate(lambda q: c.run("placements", q))
    c.expect(found, np.array([t @ hat(w) for t, w in zip(T, V, strict=True)]), 1e-8, np.abs(V).max(initial=1))


@law("frame_placement", "placements")
def a_body_is_a_frame(c: Case) -> None:
    found = c.run("frame_placement", c.q, frame=c.model.body_names[c.body])
    c.expect(found, c.of("placements")[c.body], 1e-14)


@law("jacobian", "body_velocities")
def jacobian_gives_velocities(c: Case) -> None:
    name, T, V = c.model.body_names[c.body], c.of("placements")[c.body], c.of("body_velocities")[c.body]
    R, p = T[:3, :3], T[:3, 3]
    w, u = R @ V[:3], R @ V[3:]
    expected = {
        "body": V,
        "aligned": np.concatenate([w, u]),
        "world": np.concatenate([w, u + np.cross(p, w)]),
    }
    for reference, motion in expected.items():
        J = c.run("jacobian", c.q, frame=name, reference=reference)
        c.expect(J @ c.v, motion, 1e-13, np.abs(J).max(initial=1), reference)


@law("jacobian_rate", "body_accelerations", "jacobian")
def jacobian_rate_gives_accelerations(c: Case) -> None:
    name = c.model.body_names[c.body]
    A = c.run("body_accelerations", c.q, c.v, c.a)[c.body]
    J, rate = c.run("jacobian", c.q, frame=name), c.run("jacobian_rate", c.q, c.v, frame=name)
    c.expect(J @ c.a + rate @ c.v, A, 1e-13, np.abs(rate).max(initial=1) + np.abs(J).max(initial=1))


@law("jacobian_rate", "jacobian", costly=True)
def jacobian_rate_is_a_derivative(c: Case) -> None:
    name = c.model.body_names[c.body]
    for reference in ("world", "aligned"):
        found = c.rate(lambda q, r=reference: c.run("jacobian", q, frame=name, reference=r))
        rate = c.run("jacobian_rate", c.q, c.v, frame=name, reference=reference)
        c.expect(rate, found, 1e-8, np.abs(rate).max(initial=1), reference)


# -- inertias and forces ---------------------------------------------------------------------------


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


def shift(T: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """A wrench given in the frame at pose T, in the frame that T is given in."""
    force = T[:3, :3] @ wrench[3:]
    return np.concatenate([T[:3, :3] @ wrench[:3] + np.cross(T[:3, 3], force), force])


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


def path_to(c: Case, b: int) -> list[int]:
    """Body `b` and its ancestors, counted from 0."""
    path = []
    while b >= 0:
        path.append(b)
        b = c.model.parents[b] - 1
    return path


# -- the same quantity by another route --------------------------------------------------------------


@law("mass_matrix_logdet", "mass_matrix_trace", "mass_matrix")
def determinant_and_trace_of_the_mass_matrix(c: Case) -> None:
    c.expect(c.of("mass_matrix_trace"), np.trace(c.M), 1e-13)
    size = max(1.0, abs(float(c.of("mass_matrix_logdet"))))
    c.expect(c.of("mass_matrix_logdet"), np.linalg.slogdet(c.M)[1], 1e-14 * c.condition + 1e-13, size)


@law("coriolis_matrices")
def one_sweep_gives_all_three(c: Case) -> None:
    M, rate, C = c.run("coriolis_matrices", c.q, c.v)
    c.expect(M, c.M, 1e-14)
    c.expect(rate, c.of("mass_matrix_rate"), 1e-13, c.rate_size)
    c.expect(C, c.of("coriolis_matrix"), 1e-13, c.rate_size)


@law("partial_velocities", "jacobian", "body_velocities")
def partial_velocities_are_the_jacobians(c: Case) -> None:
    J = c.of("partial_velocities")
    size = float(np.abs(J).max(initial=1))
    c.expect(J @ c.v, c.of("body_velocities"), 1e-13, size)
    c.expect(J[c.body], c.run("jacobian", c.q, frame=c.model.body_names[c.body]), 1e-13, size)


@law("frame_velocity", "frame_acceleration", "body_velocities", "body_accelerations")
def frames_move_with_their_bodies(c: Case) -> None:
    name, point = c.model.body_names[c.body], c.f_ext[c.body][:3]
    V, A = c.of("body_velocities")[c.body], c.run("body_accelerations", c.q, c.v, c.a)[c.body]
    size = float(np.abs(A).max() + np.abs(V).max() ** 2 + 1)
    c.expect(c.run("frame_velocity", c.q, c.v, frame=name), V, 1e-13, size)
    c.expect(c.run("frame_acceleration", c.q, c.v, c.a, frame=name), A, 1e-13, size)
    there = np.concatenate([V[:3], V[3:] + np.cross(V[:3], point)])
    moved = np.concatenate([A[:3], A[3:] + np.cross(A[:3], point)])
    c.expect(c.run("frame_velocity", c.q, c.v, frame=name, point=point), there, 1e-13, size)
    c.expect(c.run("frame_acceleration", c.q, c.v, c.a, frame=name, point=point), moved, 1e-13, size)
    classical = moved + np.concatenate([np.zeros(3), np.cross(there[:3], there[3:])])
    options = {"frame": name, "point": point, "kind": "classical"}
    c.expect(c.run("frame_acceleration", c.q, c.v, c.a, **options), classical, 1e-13, size)


@law("center_of_mass_velocity", "center_of_mass_jacobian", "momentum")
def velocity_of_the_centre_of_mass(c: Case) -> None:
    velocity, J = c.run("center_of_mass_velocity", c.q, c.v), c.of("center_of_mass_jacobian")
    size = float(np.abs(J).max(initial=1))
    c.expect(c.model.total_mass * velocity, c.of("momentum")[3:], 1e-13, np.abs(c.of("momentum")).max())
    c.expect(J @ c.v, velocity, 1e-13, size)


@law("centroidal_momentum_matrix_rate", "centroidal_momentum_matrix", "centroidal_momentum", costly=True)
def centroidal_matrix_rate_is_a_derivative(c: Case) -> None:
    rate, A = c.run("centroidal_momentum_matrix_rate", c.q, c.v), c.of("centroidal_momentum_matrix")
    size = float(np.abs(A).max(initial=1) + np.abs(rate).max(initial=1))
    c.expect(rate, c.rate(lambda q: c.run("centroidal_momentum_matrix", q)), 1e-8, size)
    changed = c.rate_of_state(lambda q, v: c.run("centroidal_momentum", q, v))
    c.expect(rate @ c.v + A @ c.a, changed, 1e-8, size)
