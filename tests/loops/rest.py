"""The functions of a model with loops that `Checked.all` leaves, against the open tree and multipliers."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.loops.checks import Checked

from kinetree.model.closures import JointClosure, RodClosure

Array = np.ndarray


def check_the_rest(c: Checked) -> None:
    """Note the errors of all that follows from what the tree, G and multipliers say."""
    _as_in_the_tree(c)
    _forces(c)
    _solutions(c)
    _wrenches(c)


def _as_in_the_tree(c: Checked) -> None:
    """What does not ask which velocities are independent."""
    t, q, nb, v, a = c.truth, c.q, c.model.nbodies, c.v, c.a
    frame, base = c.model.body_names[c.body], c.model.body_names[0]
    expect = c.expect
    expect("loop_matrix", c.run("loop_matrix", q), t.G[: t.welded.n])
    moved = np.abs(t.run("body_velocities", t.q, np.abs(t.u))).max(initial=1.0)
    bent = np.abs(t.run("body_accelerations", t.q, t.u, t.du)).max(initial=1.0) + moved**2
    expect(
        "frame_placement",
        c.run("frame_placement", q, frame=frame),
        t.run("frame_placement", t.q, frame=frame),
    )
    found = c.run("frame_velocity", q, v, frame=frame)
    expect("frame_velocity", found, t.run("frame_velocity", t.q, t.u, frame=frame), moved)
    found = c.run("frame_acceleration", q, v, a, frame=frame)
    expect("frame_acceleration", found, t.run("frame_acceleration", t.q, t.u, t.du, frame=frame), bent)
    ends: dict[str, Any] = {"frame": frame, "base": base}
    expect(
        "relative_placement", c.run("relative_placement", q, **ends), t.run("relative_placement", t.q, **ends)
    )
    found = c.run("relative_velocity", q, v, **ends)
    expect("relative_velocity", found, t.run("relative_velocity", t.q, t.u, **ends), moved)
    found = c.run("relative_acceleration", q, v, a, **ends)
    expect("relative_acceleration", found, t.run("relative_acceleration", t.q, t.u, t.du, **ends), bent)
    expect("system_velocity", c.run("system_velocity", q, v), t.run("system_velocity", t.q, t.u), moved)
    for name in ("composite_moments", "composite_moments_walker_orin"):
        for part, truth in zip(c.run(name, q), t.run(name, t.q), strict=True):
            expect(name, part, np.asarray(truth)[:nb], 1.0)
    for name, wide in (
        ("momentum_regressor", moved),
        ("energy_regressor", moved**2 + 10 * np.abs(t.q).sum()),
    ):
        found, truth = c.run(name, q, v), t.run(name, t.q, t.u)
        pairs = zip(found, truth, strict=True) if isinstance(found, tuple) else [(found, truth)]
        for part, whole in pairs:
            expect(name, part, np.asarray(whole)[..., : 10 * nb], wide)
    expect("spring_energy", c.run("spring_energy", q), t.run("spring_energy", t.q), 1e-9)
    force = t.run("base_reaction", t.q, t.u, t.du, t.f_ext)
    weight = np.abs(t.run("joint_wrenches", t.q, t.u, t.du, t.f_ext)).max(initial=1.0)
    expect("base_reaction", c.run("base_reaction", q, v, a, c.f_ext), force, weight)
    if c.model.rotors:
        found = c.run("rotor_wrenches", q, v, a)
        expect("rotor_wrenches", found, t.run("rotor_wrenches", t.q, t.u, t.du), bent)


def _forces(c: Checked) -> None:
    """Generalised forces: G^T of the tree's, by all routes."""
    t, q, v, a, G = c.truth, c.q, c.v, c.a, np.abs(c.truth.G)
    tree = np.abs(t.wrench_tree).max(initial=0) + np.abs(t.run("inverse_dynamics", t.q, t.u, t.du)).max(
        initial=0
    )
    tree += np.abs(t.M_tree).max(initial=0) * np.abs(t.du).max(initial=0)
    tree += np.abs(t.run("joint_wrenches", t.q, t.u, t.du, t.f_ext)).max(initial=0)
    size = G.max(initial=0.0) * len(G) * tree
    tau = t.G.T @ t.wrench_tree
    for name in ("inverse_dynamics_composite", "inverse_dynamics_inertial"):
        expect = c.run(name, q, v, a, c.f_ext)
        c.expect(name, expect, tau, size)
    c.expect(
        "gravity_force_composite",
        c.run("gravity_force_composite", q),
        t.G.T @ t.run("gravity_force", t.q),
        size,
    )
    c.expect("mass_matrix_inertial", c.run("mass_matrix_inertial", q), t.M, G.T @ np.abs(t.M_tree) @ G)
    Y = t.G.T @ t.run("torque_regressor", t.q, t.u, t.du)[:, : 10 * c.model.nbodies]
    wide = max(np.abs(t.run("torque_regressor", t.q, t.u, t.du)).max(initial=0) * G.max(initial=0), 1.0)
    c.expect("torque_regressor", c.run("torque_regressor", q, v, a), Y, wide)
    passive = t.run("passive_force", t.q, t.u, smoothing=0.1)
    found = c.run("passive_force", q, v, smoothing=0.1)
    c.expect("passive_force", found, t.G.T @ passive, G.T @ np.abs(passive), 1e-9)
    C = t.coriolis
    rates = np.abs(G.T @ np.abs(t.run("coriolis_matrix", t.q, t.u)) @ G).max(initial=0)
    rates += np.abs(G.T @ np.abs(t.M_tree) @ np.abs(t.Gdot)).max(initial=0)
    rates += (
        np.abs(t.run("composite_inertias", t.q)).max(initial=0) * np.abs(t.u).max(initial=1) * (G.T @ G).max()
    )
    for found, truth in zip(c.run("coriolis_matrices", q, v), (t.M, t.M_partials @ v, C), strict=True):
        c.expect("coriolis_matrices", found, truth, rates)
    c.expect("coriolis_product", c.run("coriolis_product", q, v, a), C @ a, rates * np.abs(a).sum())
    found = c.run("coriolis_transpose_product", q, v, a)
    c.expect("coriolis_transpose_product", found, C.T @ a, rates * np.abs(a).sum())


def _solutions(c: Checked) -> None:
    """What is made of the inverse of M."""
    t, q, v = c.truth, c.q, c.v
    stiff = 1.0 + np.linalg.cond(t.M)
    inverse, tau = np.linalg.inv(t.M), t.G.T @ t.wrench_tree
    spread = (
        np.abs(inverse).max(initial=0.0)
        * np.abs(t.wrench_tree).max(initial=0)
        * np.abs(t.G).sum(axis=0).max()
    )
    c.expect(
        "forward_dynamics_concurrent", c.run("forward_dynamics_concurrent", q, v, tau, c.f_ext), c.a, spread,
        times=stiff,
    )  # fmt: skip
    added = np.linspace(0.5, 1.5, t.welded.n) * np.abs(np.diag(t.M)).mean()
    G = t.G[: t.welded.n]
    M, bias = t.M + G.T @ (added[:, None] * G), tau - t.M @ c.a
    truth = np.linalg.solve(M, tau - bias)
    found = c.run("augmented_dynamics", q, v, tau, added, c.f_ext)
    c.expect("augmented_dynamics", found, truth, spread, times=stiff)
    x = c.a
    for name, more, A in (("", (), t.M), ("augmented_", (added,), M)):
        e, answer = c.run(f"{name}innovations", q, x, *more)
        y = np.linalg.solve(A, x)
        c.expect(f"{name}innovations", e @ answer, x @ y, np.abs(x) @ np.abs(y), times=stiff)
        found = c.run(f"{name}innovations_response", q, e, *more)
        c.expect(f"{name}innovations_response", found, y, times=stiff)
    known = t.M @ c.a
    c.expect(
        "mass_matrix_logdet", c.run("mass_matrix_logdet", q), np.linalg.slogdet(t.M)[1], 1.0, times=stiff
    )
    c.expect("mass_matrix_trace", c.run("mass_matrix_trace", q), np.trace(t.M), np.abs(t.M_tree).max(), known)
    frame = c.model.body_names[c.body]
    J = t.run("jacobian", t.q, frame=frame) @ t.G
    _, found = c.run("operational_space_inertia", q, frames=(frame,))
    c.expect("operational_space_inertia", found, J @ inverse @ J.T, times=stiff)
    J = t.run("jacobian", t.q, frame=frame, reference="aligned") @ t.G
    blow = np.arange(1.0, 7.0)
    found, truth = c.run("impulse_response", q, frame, blow), inverse @ J.T @ blow
    c.expect("impulse_response", found, truth, np.abs(inverse) @ np.abs(J.T) @ blow, times=stiff)


def _wrenches(c: Checked) -> None:
    """The tree is in balance with the wrenches of its closures; these do no work, and dependent joints rest.

    Relations between coordinates act on joints, not on bodies: then only the balance is left.
    """
    t, model, q = c.truth, c.model, c.q
    closures = [closure for loop in model.loops for closure in loop.closures]
    given = c.run("loop_wrenches", q, c.v, c.a, c.f_ext)
    T = t.run("placements", t.q)
    total = np.array(c.f_ext)

    def at(body: int) -> tuple[Array, Array]:
        return (T[body - 1, :3, :3], T[body - 1, :3, 3]) if body else (np.eye(3), np.zeros(3))

    for closure, wrench in zip(closures, given, strict=True):
        R, p = at(closure.other)
        force = R @ wrench[3:]
        moment = R @ wrench[:3] + np.cross(p, force)
        for body, sign in ((closure.body, -1), (closure.other, 1)):
            if body:
                R, p = at(body)
                total[body - 1] += sign * np.concatenate([R.T @ (moment - np.cross(p, force)), R.T @ force])
        _does_no_work(c, closure, at, moment, force)
    wide = np.concatenate([total, np.zeros((t.welded.tree.nbodies - model.nbodies, 6))])
    held = t.run("joint_wrenches", t.q, t.u, t.du, wide)[: model.nbodies]
    size = np.abs(held).max(initial=0) + np.abs(total).max(initial=0)
    c.expect("joint_wrenches", c.run("joint_wrenches", q, c.v, c.a, c.f_ext), held, size, times=10)
    if all(isinstance(closure, JointClosure | RodClosure) for closure in closures):
        tau, expected = t.run("inverse_dynamics", t.q, t.u, t.du, wide), np.zeros(t.welded.wide)
        expected[t.welded.independent] = t.G.T @ t.wrench_tree
        # points that meet but for what their file leaves open are pulled at from two sides
        arm = max((loop.slack * loop.size for loop in model.loops), default=0.0)
        c.expect("loop_wrenches", tau, expected, size, times=10 + 10 * arm / c.tolerance)


def _does_no_work(c: Checked, closure: Any, at: Any, moment: Array, force: Array) -> None:
    """Of a wrench about the origin of the world: nothing along the motions that a closing joint leaves."""
    if not isinstance(closure, JointClosure) or closure.joint.nv == 0:
        return
    name = f"closing{[x for loop in c.model.loops for x in loop.closures].index(closure)}"
    tree = c.truth.welded.tree
    if name not in tree.body_names:  # points that meet
        R, p = at(closure.other)
        arm = p + R @ np.array(closure.other_placement.p, float)
        c.expect(
            "work of closures", moment - np.cross(arm, force), np.zeros(3), np.abs(moment), np.abs(force)
        )
        return
    own = tree.coordinate_index(tree.bodies[tree.body_names.index(name)].joint_name)
    J = c.truth.run("jacobian", c.truth.q, frame=name, reference="world")[:, own]
    size = np.abs(moment).max() + np.abs(force).max()
    c.expect("work of closures", J.T @ np.concatenate([moment, force]), np.zeros(J.shape[1]), size)
