"""Functions made of others: geometry of the mass matrix, momentum, operational space, joints, rotors."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.lagrangian import Lagrangian, homogeneous, to_body
from tests.reference.measure import assert_close
from tests.reference.random_mechanism import random_mechanism

import kinetree as kt
from kinetree import alternatives

EAGER = {"target": "eager"}


@pytest.fixture(params=range(12))
def mechanism(request):
    rng = np.random.default_rng([request.param, 30])
    m = random_mechanism(rng, 1 + request.param % 6)
    return m, m.build(), *m.random_state(rng), rng


def test_partials_of_the_mass_matrix(mechanism):
    m, model, q, v, _ = mechanism
    partials = kt.mass_matrix_partials(model, q, **EAGER)
    assert_close(partials @ v, Lagrangian(m, q).mass_rate(v), 1e-12, 1.0)


def test_second_kind_gives_the_geodesics(mechanism):
    """Without forces and gravity a = -Gamma^i_jk v_j v_k."""
    _, model, q, v, _ = mechanism
    model = model.replace(gravity=(0, 0, 0))
    gamma = kt.christoffel_symbols_second_kind(model, q, **EAGER)
    free = kt.forward_dynamics(model, q, v, 0 * v, **EAGER)
    condition = np.linalg.cond(kt.mass_matrix(model, q, **EAGER)) if len(v) else 1.0
    assert_close(-np.einsum("ijk,j,k->i", gamma, v, v), free, 1e-13 * condition, 1.0)


def test_hessian_of_the_bias(mechanism):
    _, model, q, v, _ = mechanism
    hessian = kt.bias_force_hessian(model, q, **EAGER)
    weightless = model.replace(gravity=(0, 0, 0))
    expected = kt.bias_force(weightless, q, v, **EAGER)
    assert_close(np.einsum("ijk,j,k->i", hessian, v, v) / 2, expected, 1e-12, 1.0)


def test_admissibility_tells_the_matrices_apart(rng):
    arm = kt.zoo.puma560()
    q, v = arm.random_state(rng)
    C = kt.coriolis_matrix(arm, q, v)
    assert max(kt.admissibility(arm, q, v, C)) < 1e-13
    # adding a skew matrix that annihilates v keeps the matrix admissible, but not Christoffel's
    w, u = rng.normal(size=(2, arm.nv))
    w, u = (x - x @ v / (v @ v) * v for x in (w, u))
    found = kt.admissibility(arm, q, v, C + np.outer(w, u) - np.outer(u, w))
    assert found.bias_error < 1e-12 and found.skew_error < 1e-12 and found.christoffel_error > 1e-3
    assert kt.admissibility(arm, q, v, 2 * C).bias_error > 0.1


def test_momentum_is_set(rng):
    craft = kt.zoo.spacecraft()
    q, v = craft.random_state(rng, (4,))
    wanted = rng.normal(size=(4, 6))
    assert_close(kt.momentum(craft, q, kt.nullify_momentum(craft, q, v)), np.zeros((4, 6)), 1e-11, 1.0)
    assert_close(kt.momentum(craft, q, kt.nullify_momentum(craft, q, v, wanted)), wanted, 1e-11, 1.0)


def test_a_fixed_base_has_no_momentum_to_nullify():
    arm = kt.zoo.arm7()
    with pytest.raises(kt.errors.ModelError, match="free joint"):
        kt.nullify_momentum(arm, arm.neutral(), np.zeros(arm.nv))


def test_operational_space_of_several_frames(rng):
    robot = kt.zoo.quadruped()
    q, _ = robot.random_state(rng, (3,))
    frames = robot.body_names[-2:]
    Lambda, inverse = kt.operational_space_inertia(robot, q, frames)
    assert Lambda.shape == inverse.shape == (3, 12, 12)
    J = np.concatenate([kt.jacobian(robot, q, frame) for frame in frames], axis=-2)
    M = kt.mass_matrix(robot, q)
    assert_close(inverse, J @ np.linalg.solve(M, J.swapaxes(-1, -2)), 1e-10)
    assert_close(inverse @ Lambda @ inverse, inverse, 1e-9)


def test_an_impulse_changes_the_momentum_by_itself(rng):
    robot = kt.zoo.spacecraft()
    q, _ = robot.random_state(rng)
    impulse = rng.normal(size=6)
    change = kt.impulse_response(robot, q, robot.body_names[-1], impulse, reference="world")
    assert_close(kt.momentum(robot, q, change), impulse, 1e-11)


def test_passive_forces():
    builder = kt.ModelBuilder("slider")
    body = kt.Inertia(2.0)
    builder.add_body(
        "a", None, kt.Prismatic((1, 0, 0)), inertia=body, damping=3.0, friction=0.5, stiffness=7.0
    )
    model = builder.build()
    q, v = np.array([[0.2], [-0.1], [0.0]]), np.array([[1.0], [-2.0], [0.0]])
    expected = -3.0 * v - 0.5 * np.sign(v) - 7.0 * q
    assert_close(kt.passive_force(model, q, v), expected, 1e-14)
    smooth = -3.0 * v - 0.5 * np.tanh(v / 0.1) - 7.0 * q
    assert_close(kt.passive_force(model, q, v, smoothing=0.1), smooth, 1e-14)
    assert_close(kt.spring_energy(model, q), 3.5 * q[:, 0] ** 2, 1e-14)


def test_rotor_wrenches_are_those_of_free_bodies(mechanism):
    m, model, q, v, rng = mechanism
    a = rng.normal(size=m.nv)
    truth = Lagrangian(m, q)
    found = kt.rotor_wrenches(model, q, v, a, **EAGER)
    push = truth.acceleration(v, a)
    push[:, :3, 3] -= np.array(m.gravity)
    n = truth.T @ truth.P @ push.swapaxes(1, 2)
    moment = np.stack([n[:, 1, 2] - n[:, 2, 1], n[:, 2, 0] - n[:, 0, 2], n[:, 0, 1] - n[:, 1, 0]], -1)
    needed = np.concatenate([moment, n[:, 3, :3]], -1)
    assert found.shape == (len(m.rotors), 6)
    for k, rotor in enumerate(m.rotors):
        carrier = m.bodies[rotor.body].parent
        mount = homogeneous(rotor.rotation, rotor.position)
        world = truth.T[carrier] @ mount if carrier >= 0 else mount
        assert_close(found[k], to_body(world, needed[len(m.bodies) + k]), 1e-12, 1.0, f"rotor {k}")


def test_motor_torques_make_the_joint_forces(rng):
    builder = kt.ModelBuilder("differential")
    builder.add_body(
        "a", None, kt.Universal((1, 0, 0), (0, 1, 0)), inertia=kt.Inertia(1.0, (0, 0, 0.1), (0.1,) * 3)
    )
    rotor = kt.Inertia(0.1, (0, 0, 0), (1e-4, 1e-4, 2e-4))
    builder.add_rotor("a", rotor, axis=(0, 1, 0), ratio=(10.0, 5.0))
    builder.add_rotor("a", rotor, axis=(0, 1, 0), ratio=(10.0, -5.0))
    model = builder.build()
    tau = rng.normal(size=(5, 2))
    assert_close(kt.motor_torques(model, tau) @ kt.rotor_ratios(model), tau, 1e-14)


def test_rotor_error_orders_the_approximations(rng):
    builder = kt.ModelBuilder("arm")
    link = kt.Inertia(1.0, (0.5, 0, 0), (0.01, 0.1, 0.1))
    rotor = kt.Inertia(0.5, (0, 0, 0), (1e-3, 1e-3, 2e-3))
    for k, parent in enumerate((None, "b0", "b1")):
        pose = kt.Pose(kt.Rotation.identity().as_matrix(), (float(k > 0), 0, 0))
        builder.add_body(f"b{k}", parent, kt.Revolute((0, 0, 1)), placement=pose, inertia=link)
        builder.add_rotor(f"b{k}", rotor, ratio=5.0)
    model = builder.build()
    q, v = model.random_state(rng)
    reflected = kt.rotor_error(model, q, v, v, "reflected")
    lumped = kt.rotor_error(model, q, v, v, "lumped")
    none = kt.rotor_error(model, q, v, v, "none")
    assert 0 < reflected.mass_matrix < lumped.mass_matrix < none.mass_matrix
    assert 0 < reflected.acceleration < none.acceleration
    assert max(kt.rotor_error(model, q, v, v, "exact")) == 0


@pytest.mark.parametrize("rotors", ["reflected", "lumped", "none"])
def test_a_map_of_rotor_errors(rotors, rng):
    """ROT-9: each point is `rotor_error` of a robot with those gears and rotors, at the worst state."""
    ratios, inertias = np.array([0.5, 7.0, 90.0]), np.array([1e-5, 2e-3])

    def arm(ratio: float, axial: float) -> kt.Model:
        builder = kt.ModelBuilder("arm")
        link, scale = kt.Inertia(1.0, (0.5, 0, 0), (0.01, 0.1, 0.1)), axial / 2e-3
        rotor = kt.Inertia(0.5 * scale, (0.01, 0, 0), (1e-3 * scale, 1.5e-3 * scale, axial - 5e-5 * scale))
        for k, parent in enumerate((None, "b0", "b1")):
            axis, pose = ((0, 0, 1), (0, 1, 0))[k % 2], kt.Pose(p=(float(k > 0), 0, 0))
            builder.add_body(f"b{k}", parent, kt.Revolute(axis), placement=pose, inertia=link)
            builder.add_rotor(f"b{k}", rotor, kt.Pose(p=(0, 0, 0.1)), ratio=-ratio if k == 1 else ratio)
        return builder.build()

    model = arm(5.0, 2e-3)
    q, v = model.random_state(rng, (4,))
    tau = rng.normal(size=v.shape)
    found = kt.rotor_error_map(model, ratios, inertias, rotors, (q, v, tau))
    for i, ratio in enumerate(ratios):
        for j, axial in enumerate(inertias):
            one = kt.rotor_error(arm(ratio, axial), q, v, tau, rotors, target="eager")
            for name in ("mass_matrix", "bias", "acceleration"):
                expected = np.max(getattr(one, name))
                assert getattr(found, name)[i, j] == pytest.approx(expected, rel=1e-9), (name, ratio, axial)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda m: kt.rotor_error_map(kt.zoo.pendulum(), [1], [1]), kt.errors.ModelError, "no rotors"),
        (lambda m: kt.rotor_error_map(m, [0.0], [1]), kt.errors.ArgumentError, "ratios must be positive"),
        (lambda m: kt.rotor_error_map(m, [1.0], [np.nan]), kt.errors.ArgumentError, "inertias must be"),
        (lambda m: kt.rotor_error_map(m, [1.0], [1.0], "glued"), kt.errors.ModelError, "lumped"),
    ],
)
def test_maps_that_cannot_be(make, error, message):
    with pytest.raises(error, match=message):
        make(kt.zoo.puma560(rotors=True))


def test_wrenches_on_frames_add_up(rng):
    builder = kt.ModelBuilder("arm")
    link = kt.Inertia(1.0, (0.5, 0, 0), (0.01, 0.1, 0.1))
    builder.add_body("a", None, kt.Spherical(), inertia=link)
    builder.add_body("b", "a", kt.Revolute((0, 1, 0)), placement=kt.Pose(p=(1.0, 0, 0)), inertia=link)
    tip = kt.Pose(kt.Rotation.from_axis_angle((0, 0, 1), 0.3), (1.0, 0.2, 0))
    builder.add_frame("tip", "b", tip)
    model = builder.build()
    q, _ = model.random_state(rng, (3,))
    push, pull = rng.normal(size=(3, 6)), rng.normal(size=6)
    still = np.zeros(model.nv)
    for reference in ("body", "world", "aligned"):
        f_ext = kt.external_wrenches(model, q, {"tip": push, "a": pull}, reference=reference)
        felt = kt.gravity_force(model, q) - kt.bias_force(model, q, still, f_ext)
        J = kt.jacobian(model, q, "tip", reference)
        K = kt.jacobian(model, q, "a", reference)
        expected = np.einsum("...ij,...i->...j", J, push) + np.einsum("...ij,i->...j", K, pull)
        assert_close(felt, expected, 1e-13, 1.0, reference)


def test_system_velocity_is_that_of_a_rigid_body(rng):
    craft = kt.zoo.spacecraft()
    q, _ = craft.random_state(rng)
    base = rng.normal(size=6)
    v = np.zeros(craft.nv)
    v[craft.coordinate_index(craft.joint_names[0])] = base
    R, p = np.split(kt.placements(craft, q)[0][:3], [3], axis=1)
    turn, move = R @ base[:3], R @ base[3:]
    arm = kt.center_of_mass(craft, q) - p[:, 0]
    assert_close(kt.system_velocity(craft, q, v), np.concatenate([turn, move + np.cross(turn, arm)]), 1e-12)


def test_two_admissible_coriolis_matrices(mechanism):
    """The natural factor V x* I is admissible too, but gives another matrix than the Christoffel symbols."""
    _, model, q, v, _ = mechanism
    system = alternatives.System(model, q, v)
    C = kt.coriolis_matrix(model, q, v, **EAGER)
    size = float(np.abs(C).max(initial=0)) or 1.0
    assert_close(alternatives.coriolis_matrix_dense(system), C, 1e-12, size)
    natural = kt.admissibility(model, q, v, alternatives.coriolis_matrix_dense(system, "natural"), **EAGER)
    assert natural.bias_error < 1e-11 and natural.skew_error < 1e-11


def test_innovations(mechanism):
    _, model, q, _, _ = mechanism
    L, D = alternatives.innovations_factors(alternatives.System(model, q))
    M = kt.mass_matrix(model, q, **EAGER)
    assert_close(L @ D @ L.T, M, 1e-12)
    assert_close(
        np.linalg.slogdet(D)[1] if len(D) else 0.0, kt.mass_matrix_logdet(model, q, **EAGER), 1e-10, 1.0
    )
