"""Explicit constraints against dense equations, complex steps, closed forms and Pinocchio."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from tests.conftest import scale
from tests.derivatives.cases import STEP, Case, error, tree

import kinetree as kt
from kinetree.constraints import Constraint
from kinetree.stages.target import preferring

TREES = max(10, round(50 * scale()))
JOINTS = (
    kt.Revolute((0, 0.6, 0.8)), kt.Prismatic((1, 0, 0)), kt.Spherical(), kt.Cylindrical((0, 0, 1)),
    kt.Fixed(), kt.Helical((0, 1, 0), 0.1), kt.Planar(),
)  # fmt: skip


def some(case: Case, rng: np.random.Generator) -> tuple[Constraint, ...]:
    """A few constraints of every kind that the state keeps, fewer rows than velocities."""
    model, names = case.model, ("world", *case.model.body_names)
    poses = dict(zip(names[1:], case.run("placements", case.q), strict=True)) | {"world": np.eye(4)}
    movable = [b.joint_name for b in model.bodies if b.mimic is None and b.joint.nv]
    found: list[Constraint] = []
    rows = 0
    for _ in range(6):
        one, other = str(rng.choice(names[1:])), "world"
        if rng.random() < 0.3 and len(names) > 2:
            other = str(rng.choice([name for name in names if name != one]))
        point = tuple(rng.normal(size=3))
        there = poses[one][:3, :3] @ point + poses[one][:3, 3]
        here = poses[other][:3, :3].T @ (there - poses[other][:3, 3])
        kind = rng.integers(5)
        constraint: Constraint
        if kind == 0:
            constraint = kt.PointConstraint(one, other, point, tuple(here))
        elif kind == 1:
            far = here + rng.normal(size=3)
            length = float(np.linalg.norm(far - here))
            constraint = kt.DistanceConstraint(one, other, length, point, tuple(far))
        elif kind == 2:
            constraint = kt.JointConstraint(str(rng.choice(movable)))
        else:
            relative = np.linalg.inv(poses[other]) @ poses[one]
            joint = JOINTS[rng.integers(len(JOINTS))]
            moved = joint.random(rng)
            across = np.array(joint.placement(moved).pose(), float)
            placement = kt.Pose.from_matrix(relative @ np.linalg.inv(across))
            constraint = kt.LoopConstraint(one, other, joint, placement)
        if rows + constraint.rows(model) <= max(1, model.nv // 2):
            rows += constraint.rows(model)
            found.append(constraint)
    return tuple(found)


@functools.cache
def cases() -> list[tuple[Case, tuple[Constraint, ...]]]:
    found = []
    for seed in range(TREES):
        case = tree(seed, 6, roots=0.3)
        if case.n > 1:
            found.append((case, some(case, np.random.default_rng([seed, 77]))))
    return found


def dense(case: Case, constraints: tuple[Constraint, ...], v: Any) -> tuple[Any, Any, Any]:
    """a and lambda by the whole system of equations, and its condition."""
    model, n = case.model, case.n
    M, b = case.run("mass_matrix", case.q), case.run("bias_force", case.q, v, case.f_ext)
    J = case.run("constraint_jacobian", case.q, constraints)
    drift = np.concatenate([c.acceleration(model, case.q, v, np.zeros(n)) for c in constraints])
    K = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
    x = np.linalg.lstsq(K, np.concatenate([case.tau - b, -drift]), rcond=1e-11)[0]
    return x[:n], x[n:], J


@pytest.fixture
def plainly() -> Any:
    """All functions in plain Python: many small models, each called once."""
    with preferring("eager"):
        yield


def test_residuals_jacobians_and_accelerations_are_derivatives_of_each_other(plainly):
    seen = set()
    for case, constraints in cases():
        model, q, v, a = case.model, case.q, case.v, case.a
        moved = q + 1j * STEP * model.rate(q, v)
        for c in constraints:
            seen.add(type(c).__name__)
            J = c.jacobian(model, q)
            assert J.shape == (c.rows(model), case.n)
            assert abs(c.residual(model, q)).max(initial=0) < 1e-12 * (1 + abs(J).max(initial=0))
            if not isinstance(c, kt.JointConstraint):
                assert error(J @ v, np.imag(c.residual(model, moved)) / STEP, J) < 1e-11
            truth = J @ a + np.imag(c.jacobian(model, moved) @ v) / STEP
            assert error(c.acceleration(model, q, v, a), truth, J @ a) < 1e-11
    assert len(seen) == 4


def test_delassus_is_the_inverse_inertia_along_the_rows(plainly):
    for case, constraints in cases():
        J = case.run("constraint_jacobian", case.q, constraints)
        truth = J @ np.linalg.inv(case.run("mass_matrix", case.q)) @ J.T
        assert error(kt.delassus(case.model, case.q, constraints, target="eager"), truth) < 1e-9


def kept(case: Case, constraints: tuple[Constraint, ...]) -> Any:
    """A velocity that keeps the constraints."""
    J = case.run("constraint_jacobian", case.q, constraints)
    return case.v - np.linalg.pinv(J, 1e-9) @ (J @ case.v)


def test_accelerations_and_forces_solve_the_dense_equations(plainly):
    alone = redundant = 0
    for case, constraints in cases():
        J, v = case.run("constraint_jacobian", case.q, constraints), kept(case, constraints)
        A = J @ np.linalg.solve(case.run("mass_matrix", case.q), J.T)
        size = np.sqrt(np.diag(A).clip(1e-300))
        values = np.linalg.eigvalsh(A / np.outer(size, size))
        if ((values > 1e-12) & (values < 1e-3)).any() or (np.diag(A) < 1e-12).any():
            continue  # between redundant and not
        a, force = kt.constrained_dynamics(
            case.model, case.q, v, case.tau, constraints, case.f_ext, target="eager"
        )
        truth = dense(case, constraints, v)
        assert error(a, truth[0]) < 1e-8
        assert abs((J @ v) @ force) < 1e-9 * (1 + abs(force).max(initial=0))  # they do no work
        if values.min(initial=1) > 1e-3:
            assert error(force, truth[1]) < 1e-10
            alone += 1
        else:
            redundant += 1
    assert alone > 2
    assert redundant > 0


def test_fifty_digits():
    import mpmath

    model, loop = four_bar()
    q, v = kt.project(model, [-1.0, 0.3, -1.5], [1.0, 0.0, 0.0], loop, steps=20)
    found = kt.constrained_dynamics(model, q, v, [0.3, 0.2, 0.1], loop)
    with mpmath.workdps(50):
        many = [[mpmath.mpf(float(x)) for x in array] for array in (q, v, (0.3, 0.2, 0.1))]
        truth = kt.constrained_dynamics(model, *many, loop, target="eager")
    for f, t in zip(found, truth, strict=True):
        assert error(f, np.array(t, float)) < 1e-9


@pytest.fixture(scope="module")
def quadruped() -> Any:
    model = kt.zoo.quadruped()
    return model, tuple(kt.PointConstraint(foot) for foot in model.frame_names)


def test_batches_have_the_bits_of_single_states_and_the_values_of_plain_python(quadruped, rng):
    model, feet = quadruped
    q, v = model.random_state(rng, 40)
    tau = rng.normal(size=(40, model.nv))
    a, force = kt.constrained_dynamics(model, q, v, tau, feet)
    one = kt.constrained_dynamics(model, q[7], v[7], tau[7], feet)
    assert one.acceleration.tobytes() == a[7].tobytes()
    assert one.force.tobytes() == force[7].tobytes()
    plain = kt.constrained_dynamics(model, q[:3], v[:3], tau[:3], feet, target="eager")
    assert error(a[:3], plain.acceleration) < 1e-11


def test_pinocchio_agrees_on_standing_feet(quadruped, rng):
    pin = pytest.importorskip("pinocchio")
    model, feet = quadruped
    other, maps = pin_model(model)
    data = other.createData()
    q, v = model.random_state(rng)
    tau = rng.normal(size=model.nv)
    contacts = [
        pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D, other, other.frames[k].parentJoint, other.frames[k].placement,
            pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
        )
        for k in (other.getFrameId(name) for name in model.frame_names)
    ]  # fmt: skip
    contacts = pin.StdVec_RigidConstraintModel(contacts)
    datas = pin.StdVec_RigidConstraintData([contact.createData() for contact in contacts])
    pin.initConstraintDynamics(other, data, contacts, datas)
    settings = pin.ProximalSettings(1e-14, 1e-12, 20)
    state = maps.q(q), maps.v(q, v), maps.tau(q, tau)
    a = pin.constraintDynamics(other, data, *state, contacts, datas, settings)
    found = kt.constrained_dynamics(model, q, v, tau, feet)
    assert error(maps.a(q, v, found.acceleration), a) < 1e-7


def pin_model(model: kt.Model) -> Any:
    twin = kt.interop.to_pinocchio(model)
    return twin.model, twin.maps


def test_a_constraint_given_twice_shares_its_force(quadruped, rng):
    model, feet = quadruped
    q, v = model.random_state(rng)
    tau = rng.normal(size=model.nv)
    once = kt.constrained_dynamics(model, q, v, tau, feet)
    twice = kt.constrained_dynamics(model, q, v, tau, (*feet, *feet))
    assert error(twice.acceleration, once.acceleration) < 1e-9
    assert error(twice.force, np.tile(once.force / 2, 2)) < 1e-6


def test_constraints_that_contradict_each_other_are_an_error(rng):
    model = kt.zoo.pendulum()
    tip = kt.PointConstraint(model.body_names[0], point=(0.0, 0.0, -1.0))
    off = kt.PointConstraint(model.body_names[0], point=(0.0, 0.0, -2.0))
    still = kt.constrained_dynamics(model, [0.3], [0.0], [0.0], (tip, off))
    assert np.allclose(still.acceleration, 0)
    with pytest.raises(kt.errors.SingularError, match="contradict"):
        kt.constrained_dynamics(model, [0.3], [1.0], [0.0], (tip,))  # its own circle cannot be stopped


def test_impact(quadruped, rng):
    model, feet = quadruped
    q, v = model.random_state(rng)
    J = kt.constraint_jacobian(model, q, feet)
    for e in (None, 0.0, 0.5, 1.0):
        after, impulse = kt.impact(model, q, v, feet) if e is None else kt.impact(model, q, v, feet, e)
        assert error(J @ after, -(e or 0.0) * (J @ v)) < 1e-11
        assert error(kt.mass_matrix_product(model, q, after - v), J.T @ impulse) < 1e-10
        lost = kt.kinetic_energy(model, q, v) - kt.kinetic_energy(model, q, after)
        assert lost > -1e-10 if e != 1.0 else abs(lost) < 1e-9


def test_inverse_dynamics_under_constraints_brings_the_accelerations_back(quadruped, rng):
    model, feet = quadruped
    q, v = model.random_state(rng)
    v = kt.impact(model, q, v, feet).velocity
    a = kt.constrained_dynamics(model, q, v, rng.normal(size=model.nv), feet).acceleration
    tau, force = kt.constrained_inverse_dynamics(model, q, v, a, feet)
    assert not tau[:6].any()
    total = tau + kt.constraint_jacobian(model, q, feet).T @ force
    assert error(total, kt.inverse_dynamics(model, q, v, a)) < 1e-10
    assert error(kt.constrained_dynamics(model, q, v, tau, feet).acceleration, a) < 1e-9


def test_baumgarte_pulls_back(quadruped, rng):
    model, _ = quadruped
    q, v = model.random_state(rng)
    foot = kt.PointConstraint(model.frame_names[0], other_point=(0.1, 0.2, 0.3))
    found = kt.constrained_dynamics(model, q, v, np.zeros(model.nv), (foot,), period=0.1)
    phi, rate = kt.constraint_residual(model, q, foot), kt.constraint_jacobian(model, q, foot) @ v
    assert error(foot.acceleration(model, q, v, found.acceleration), -20 * rate - 100 * phi) < 1e-9


def test_derivatives_come_from_the_pass(rng):
    model, loop = four_bar()
    q, v = kt.project(model, [-1.0, 0.3, -1.5], [1.0, 0.0, 0.0], loop, steps=20)
    tau = rng.normal(size=3)
    slopes = kt.jacobian_of(kt.constrained_dynamics, of="acceleration")(model, q, v, tau, constraints=loop)
    for k, slope in enumerate(slopes):
        state = [q, v, tau]

        def moved(x, k=k, state=state):
            changed = [*state[:k], x, *state[k + 1 :]]
            return kt.constrained_dynamics(model, *changed, loop, target="eager").acceleration

        truth = [(moved(state[k] + h) - moved(state[k] - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        assert error(slope, np.array(truth).T) < 1e-7


def four_bar() -> tuple[kt.Model, kt.Constraint]:
    def rod(length: float) -> kt.Inertia:
        J = length**3 / 3
        return kt.Inertia.from_moments(length, (length**2 / 2, 0, 0), (1e-4, J, J, 0, 0, 0))

    builder = kt.ModelBuilder("four_bar")
    builder.add_body("crank", None, kt.Revolute((0, 1, 0)), inertia=rod(0.3))
    builder.add_body("coupler", "crank", kt.Revolute((0, 1, 0)), kt.Pose(p=(0.3, 0, 0)), inertia=rod(0.8))
    builder.add_body("rocker", None, kt.Revolute((0, 1, 0)), kt.Pose(p=(0.7, 0, 0)), inertia=rod(0.6))
    builder.add_frame("tip", "coupler", kt.Pose(p=(0.8, 0, 0)))
    return builder.build(), kt.PointConstraint("tip", "rocker", other_point=(0.6, 0, 0))


@pytest.mark.parametrize("integrator", ["rk4", "discrete"])
def test_a_falling_four_bar_stays_closed(integrator):
    model, loop = four_bar()
    q, v = kt.project(model, [-1.0, 0.3, -1.5], np.zeros(3), loop, steps=20)
    run = kt.simulate(model, q, v, duration=2.0, dt=1e-3, integrator=integrator, constraints=[loop])
    assert abs(kt.constraint_residual(model, run.q, loop)).max() < 1e-12
    assert abs(np.einsum("trj,tj->tr", kt.constraint_jacobian(model, run.q, loop), run.v)).max() < 1e-12
    assert np.ptp(run.energy) < (1e-7 if integrator == "rk4" else 0.1)
    assert error(loop.acceleration(model, run.q[9], run.v[9], run.acceleration[9]), np.zeros(3)) < 1e-9
    assert run.constraint_force.shape == (2001, 3)


def test_a_slider_crank_follows_its_closed_form():
    """x = r cos u + sqrt(l^2 - r^2 sin^2 u): the pin of the crank drags the slider by a rod without mass."""
    r, length = 0.2, 0.7
    builder = kt.ModelBuilder("slider_crank", gravity=(0, 0, 0))
    builder.add_body("crank", None, kt.Revolute((0, 1, 0)), inertia=kt.Inertia(1.0, (0, 0, 0), np.eye(3)))
    builder.add_body("slider", None, kt.Prismatic((1, 0, 0)), inertia=kt.Inertia(2.0, (0, 0, 0), np.eye(3)))
    model = builder.build()
    rod = kt.DistanceConstraint("slider", "crank", length, other_point=(r, 0, 0))
    q, v = kt.project(model, [0.4, 0.85], [3.0, 0.0], rod, steps=30)
    run = kt.simulate(model, q, v, duration=1.0, dt=1e-3, integrator="rk4", constraints=[rod])
    angle = run.q[:, 0]
    assert error(run.q[:, 1], r * np.cos(angle) + np.sqrt(length**2 - r**2 * np.sin(angle) ** 2)) < 1e-12
    assert np.ptp(run.kinetic_energy) < 1e-8
    assert abs(run.q[-1, 0]) > 1


def test_trajectories_with_constraints_go_to_files_and_back(tmp_path):
    model, point = four_bar()
    loop = kt.LoopConstraint("tip", "rocker", kt.Revolute((0, 1, 0)), kt.Pose(p=(0.6, 0, 0)))
    q, v = kt.project(model, [-1.0, 0.3, -1.5], np.zeros(3), loop, steps=20)
    run = kt.simulate(model, q, v, duration=0.01, dt=1e-3, constraints=[loop])
    run.save(tmp_path / "run.npz")
    again = kt.Trajectory.load(tmp_path / "run.npz")
    assert again.constraints == (loop,)
    assert (again.constraint_force == run.constraint_force).all()
    for c in (point, loop, kt.JointConstraint("crank", [0.1]), kt.FrameConstraint("tip"),
              kt.DistanceConstraint("tip", "world", 0.3)):  # fmt: skip
        assert Constraint.from_dict(c.to_dict()) == c


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: kt.PointConstraint("tip", "rocker"), "other_point"),
        (lambda: kt.PointConstraint("tip", point=(1, 2)), "point"),
        (lambda: kt.DistanceConstraint("tip", "rocker", -1.0), "length"),
        (lambda: kt.LoopConstraint("tip", "rocker", kt.Universal((1, 0, 0), (0, 1, 0))), "universal"),
        (lambda: kt.LoopConstraint("tip", "rocker", "revolute"), "must be a joint"),
    ],
)
def test_wrong_constraints_are_refused(make, words):
    with pytest.raises(kt.errors.KinetreeError, match=words):
        make()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (kt.PointConstraint("tpi"), "tip"),
        (kt.JointConstraint("crnk"), "crank"),
        ("tip", "must be constraints"),
        ((kt.PointConstraint("tip"), 3), "must be constraints"),
    ],
)
def test_wrong_uses_are_refused(given, words):
    model, _ = four_bar()
    with pytest.raises(kt.errors.KinetreeError, match=words):
        kt.constrained_dynamics(model, *np.zeros((3, 3)), given)


def test_integrators_without_constraints_say_so():
    model, loop = four_bar()
    for integrator in ("variational", "dopri5"):
        with pytest.raises(kt.errors.KinetreeError, match="takes no constraints"):
            kt.simulate(model, [0] * 3, [0] * 3, duration=1, dt=1, integrator=integrator, constraints=[loop])


def test_exported_c_keeps_them_too(tmp_path):
    model, loop = four_bar()
    kernel = kt.compile(kt.constrained_dynamics, model, target="c", constraints=(loop,))
    q, v = kt.project(model, [-1.0, 0.3, -1.5], [1.0, 0.0, 0.0], loop, steps=20)
    native = kt.constrained_dynamics(model, q, v, np.ones(3), loop)
    for found, truth in zip(kernel(q, v, np.ones(3)), native, strict=True):
        assert error(found, truth) < 1e-11


def test_constraints_in_a_list_are_what_is_in_it_now():
    """Calls of a known form remember what a list held, not the list."""
    robot = kt.zoo.quadruped()
    q, v = robot.random_state(2)
    feet = [kt.PointConstraint(name) for name in robot.frame_names]
    for count in (4, 4, 4, 2, 2, 4):
        given = feet[:count]
        expected = kt.constrained_dynamics(robot, q, v, v, tuple(given))
        for _ in range(3):
            found = kt.constrained_dynamics(robot, q, v, v, given)
            np.testing.assert_array_equal(found.acceleration, expected.acceleration)
        given.pop()
        fewer = kt.constrained_dynamics(robot, q, v, v, given)
        assert len(fewer.force) == 3 * (count - 1)
