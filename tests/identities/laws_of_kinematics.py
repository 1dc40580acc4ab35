"""Laws of poses, velocities, Jacobians and the centre of mass."""

from __future__ import annotations

import numpy as np
from tests.identities.case import Case
from tests.identities.declare import law
from tests.identities.facts import motion_matrix
from tests.reference.lagrangian import hat


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


@law("relative_placement", "relative_velocity", "relative_acceleration")
def any_frame_moves_relative_to_any_other(c: Case) -> None:
    """POS-2: T_bf = T_b^-1 T_f; V and A follow from those of both bodies in the world; loops close."""
    frame, base = c.model.body_names[c.body], c.model.body_names[(c.body * 7 + 3) % c.nb]
    third = c.model.body_names[(c.body * 5 + 1) % c.nb]
    T = c.of("placements")
    poses = {name: T[c.model.body_names.index(name)] for name in (frame, base, third)}
    V = {name: c.run("frame_velocity", c.q, c.v, frame=name) for name in poses}
    A = {name: c.run("frame_acceleration", c.q, c.v, c.a, frame=name) for name in poses}
    size = 1 + max(float(np.abs(x).max()) for x in (*A.values(), *V.values(), *poses.values())) ** 2
    expected = np.linalg.inv(poses[base]) @ poses[frame]
    c.expect(c.run("relative_placement", c.q, frame, base), expected, 1e-12, size)
    to_frame = motion_matrix(np.linalg.inv(expected))
    velocity = V[frame] - to_frame @ V[base]
    c.expect(c.run("relative_velocity", c.q, c.v, frame, base), velocity, 1e-12, size)
    w, u = np.split(V[frame], 2)
    drag = np.cross(w, velocity[3:]) + np.cross(u, velocity[:3])
    dragged = np.concatenate([np.cross(w, velocity[:3]), drag])
    spatial = A[frame] - to_frame @ A[base] - dragged
    c.expect(c.run("relative_acceleration", c.q, c.v, c.a, frame, base), spatial, 1e-12, size)
    spin = w - (motion_matrix(np.linalg.inv(poses[frame]) @ poses[third]) @ V[third])[:3]
    turn = poses[third][:3, :3].T @ poses[frame][:3, :3]
    seen = spatial + np.concatenate([np.cross(spin, velocity[:3]), np.cross(spin, velocity[3:])])
    found = c.run("relative_acceleration", c.q, c.v, c.a, frame, base, axes=third, seen_from=third)
    c.expect(found, np.concatenate([turn @ seen[:3], turn @ seen[3:]]), 1e-12, size)
    there = c.run("relative_velocity", c.q, c.v, frame, base, axes=third)
    c.expect(there, np.concatenate([turn @ velocity[:3], turn @ velocity[3:]]), 1e-12, size)


@law("relative_placement", "relative_velocity", "relative_acceleration", costly=True)
def relative_motion_is_a_derivative(c: Case) -> None:
    """POS-2, SRB: seen from the base, the origin of a frame has these first and second derivatives."""
    frame, base = c.model.body_names[c.body], c.model.body_names[(c.body * 7 + 3) % c.nb]

    def velocity(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return c.run("relative_velocity", q, v, frame, base, axes=base)

    V = velocity(c.q, c.v)
    moved = c.rate(lambda q: c.run("relative_placement", q, frame, base))
    turned = c.run("relative_placement", c.q, frame, base)[:3, :3]
    size = 1 + float(np.abs(V).max()) ** 2
    c.expect(moved[:3, 3], V[3:], 1e-8, size)
    c.expect(moved[:3, :3], hat(np.concatenate([V[:3], np.zeros(3)]))[:3, :3] @ turned, 1e-8, size)
    found = c.run("relative_acceleration", c.q, c.v, c.a, frame, base, axes=base, seen_from=base)
    c.expect(found, c.rate_of_state(velocity), 1e-8, size + float(np.abs(found).max()))


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
