"""Models with loops in time: closed to rounding, with all integrators, and with what acts at their joints."""

from __future__ import annotations

import numpy as np
import pytest
from tests.loops.mechanisms import ALL, HINGE, at, four_bar, link, platform, spatial_linkage
from tests.loops.test_positions import openings

import kinetree as kt
from kinetree.errors import AssemblyError, ModelError

FIXED_STEPS = ["discrete", "rk4", "variational"]


@pytest.fixture(scope="module")
def falling():
    model = four_bar()
    return model, model.positions({"crank": 0.3})


def test_energy_of_a_falling_four_bar(falling):
    """10 s of rk4 at 1 ms, and 90 s more: no drift, and closed to rounding after 10^5 steps."""
    model, q = falling
    run = kt.simulate(model, q, [0.0], duration=100.0, dt=1e-3, integrator="rk4", record=10)
    error = np.abs(run.energy - run.energy[0])
    assert np.ptp(run.v) > 5.0
    assert error[:1001].max() < 1e-9
    assert error.max() < 1e-9
    assert np.abs(openings(model, run.q)).max() < 1e-14


@pytest.mark.parametrize("integrator", [*FIXED_STEPS, "dopri5"])
@pytest.mark.parametrize("name", ["slider_crank", pytest.param("ankle", marks=pytest.mark.long)])
def test_all_integrators_keep_loops_closed(name, integrator):
    model = ALL[name]()
    q, v = model.random_state(3)
    steps = 20 if integrator == "dopri5" else 200
    run = kt.simulate(model, q, 0.3 * v, duration=1e-3 * steps, dt=1e-3, integrator=integrator, passive=False)
    assert not run.failed
    assert np.abs(openings(model, run.q)).max() < 1e-14
    allowed = 1.0 if integrator == "discrete" else 1e-4
    assert np.abs(run.energy - run.energy[0]).max() < allowed * np.abs(run.kinetic_energy).max()


@pytest.mark.parametrize(("integrator", "order"), [("discrete", 1), ("rk4", 4), ("variational", 2)])
@pytest.mark.parametrize(
    "make", [four_bar, platform, pytest.param(spatial_linkage, marks=pytest.mark.long)]
)
def test_orders(make, integrator, order):
    """Also where a loop leaves one velocity of a ball free, and ties the others."""
    model = make()
    q, v = model.random_state(3)

    def end(steps):
        run = kt.simulate(
            model, q, 0.3 * v, duration=0.064, dt=0.064 / steps, integrator=integrator, record=16
        )
        return np.concatenate([run.q[-1], run.v[-1]])

    exact = kt.simulate(model, q, 0.3 * v, duration=0.064, dt=0.064 / 256, integrator="rk4", record=16)
    exact = np.concatenate([exact.q[-1], exact.v[-1]])
    errors = [np.abs(end(n) - exact).max() for n in (16, 32)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize(("integrator", "name"), [
    ("discrete", "ankle"), ("rk4", "platform"), ("variational", "slider_crank"),
])  # fmt: skip
def test_steps_are_the_same_everywhere(integrator, name):
    model = ALL[name]()
    q, v = model.random_state(4, 3)
    tau = np.full((3, model.nv), 0.1)
    fast = kt.step(model, q, v, tau, dt=1e-3, integrator=integrator)
    slow = kt.step(model, q, v, tau, dt=1e-3, integrator=integrator, target="eager")
    for a, b in zip(fast, slow, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-10)


def test_stiff_dampers_and_springs_of_dependent_joints_are_stable():
    """Far stiffer than what an explicit step could take, at a dependent joint."""
    b = kt.ModelBuilder("damped")
    b.add_body("crank", None, HINGE, at(), link(0.3))
    b.add_body("coupler", "crank", HINGE, at(0.3), link(0.8), damping=1e4)
    b.add_body("rocker", None, HINGE, at(0.7), link(0.6), stiffness=1e5, spring_reference=1.4)
    b.add_loop("coupler", "rocker", HINGE, at(0.8), at(0.6), "crank")
    model = b.build()
    q = model.positions({"crank": 0.9})
    run = kt.simulate(model, q, [1.0], duration=20.0, dt=5e-3)
    assert not run.failed and np.abs(run.v[-1]).max() < 1e-3
    rest = model.spanning(run.q[-1], run.v[-1])["rocker"].position
    balance = kt.gravity_force(model, run.q[-1]) - kt.passive_force(model, run.q[-1], 0 * run.v[-1])
    assert np.abs(balance).max() < 1e-2 * 1e5 * abs(rest[0] - q[2])
    assert np.all(np.diff(run.energy) < 1e-6)


def test_implicit_steps_know_all_freedoms_of_a_loop():
    """(M + h G^T D G) a = tau - G^T D u - bias, for a loop with several degrees of freedom."""
    b = kt.ModelBuilder("damped ankle")
    ball = kt.Universal((0, 1, 0), (1, 0, 0))
    b.add_body("foot", None, ball, at(0, 0, -0.3), link(0.2), damping=(3.0, 5.0))
    for side, y in (("left", 0.05), ("right", -0.05)):
        b.add_body(side, None, HINGE, at(-0.04, y, -0.05), link(0.06), damping=0.7)
        b.add_distance(side, "foot", 0.26, (-0.05, 0, 0), (-0.08, y, 0.02))
    model = b.build()
    assert model.nv == 2
    q, v = model.random_state(0)
    tau, h = np.array([0.3, -0.2]), 0.05
    G, D = kt.loop_matrix(model, q), model.spanning_tree.damping
    M = kt.mass_matrix(model, q) + h * G.T @ (D[:, None] * G)
    a = np.linalg.solve(M, tau - G.T @ (D * (G @ v)) - kt.bias_force(model, q, v))
    _, after = kt.step(model, q, v, tau, dt=h)
    np.testing.assert_allclose(after, v + h * a, atol=1e-12 * np.linalg.cond(M))


def test_stops_of_dependent_joints():
    b = kt.ModelBuilder("stopped")
    b.add_body("crank", None, HINGE, at(), link(0.3))
    b.add_body("coupler", "crank", HINGE, at(0.3), link(0.8))
    b.add_body("rocker", None, HINGE, at(0.7), link(0.6), limits=(-4.0, 1.9))
    b.add_loop("coupler", "rocker", HINGE, at(0.8), at(0.6), "crank")
    model = b.build()
    q = model.positions({"crank": 0.3})
    free = kt.simulate(model, q, [6.0], duration=1.0, dt=1e-3, limits=False)
    assert free.q[:, 2].max() > 2.0
    run = kt.simulate(model, q, [6.0], duration=1.0, dt=1e-3)
    assert run.q[:, 2].max() < 1.91
    with pytest.warns(UserWarning, match="'rocker' went beyond the limits"):
        kt.simulate(model, q, [6.0], duration=0.5, dt=1e-3, integrator="rk4")


def test_servos_hold_independent_joints():
    model = four_bar()
    q = model.positions({"crank": [0.3, 0.6]})
    goal = model.positions({"crank": 0.8})
    run = kt.simulate(model, q, np.zeros((2, 1)), duration=2.0, dt=2e-3, kp=[1e5], kd=[2e3], setpoint=goal)
    np.testing.assert_allclose(run.q[:, -1], [goal, goal], atol=1e-3)


def test_records_files_and_times(tmp_path, falling):
    model, q = falling
    run = kt.simulate(model, q, [0.0], duration=0.2, dt=1e-3, record=20)
    assert run.q.shape == (11, 3) and run.v.shape == (11, 1) and run.joint_wrenches.shape == (11, 3, 6)
    between, _ = run.at(np.linspace(0, 0.2, 37))
    assert np.abs(openings(model, between)).max() < 1e-13
    for name in ("run.npz", "run.csv"):
        run.save(tmp_path / name)
        again = kt.Trajectory.load(tmp_path / name)
        np.testing.assert_array_equal(again.q, run.q)
        assert again.model.loops == model.loops
    head = (tmp_path / "run.csv").read_text()
    assert "coupler" in head
    np.testing.assert_allclose(run.energy_error, 0, atol=0.05 * np.abs(run.kinetic_energy).max())


def test_energy_is_what_springs_and_dampers_of_all_joints_leave():
    model = four_bar(damping=0.3, stiffness=3.0)
    q = model.positions({"crank": 0.3})
    run = kt.simulate(model, q, [2.0], duration=1.0, dt=1e-3, integrator="rk4")
    assert run.energy[-1] < run.energy[0] - 0.1
    np.testing.assert_allclose(run.energy_error, 0, atol=1e-5)


def test_open_starts_are_refused(falling):
    model, q = falling
    start = np.stack([q, q + [0.0, 0.01, 0.0]])
    (failure,) = kt.simulate(model, start, [0.0], duration=0.01, dt=1e-3).failed
    assert failure.state == (1,) and failure.time == 0.0
    assert "loop 'four_bar'" in failure.reason and "model.assemble(q)" in failure.reason
    for target in ("cpu", "eager"):
        with pytest.raises(AssemblyError, match="four_bar"):
            kt.step(model, start[1], [0.0], [0.0], dt=1e-3, target=target)


def test_single_precision_stays_closed(falling):
    model, q = falling
    run = kt.simulate(model, q.astype(np.float32), np.zeros(1, np.float32), duration=2.0, dt=1e-3, record=20)
    assert run.q.dtype == np.float32 and not run.failed
    assert np.abs(openings(model, run.q.astype(float))).max() < 1e-6


def test_a_run_into_a_dead_point_fails_alone():
    model = four_bar(independent=("rocker",))
    q = np.stack([model.positions({"rocker": 1.5})] * 2)
    run = kt.simulate(model, q, [[0.0], [40.0]], duration=0.2, dt=1e-3, integrator="rk4")
    assert [failure.state for failure in run.failed] == [(1,)]
    assert np.isfinite(run.q[0]).all() and np.isnan(run.q[1, -1]).any()


def test_results_of_a_run_that_left_its_loop_are_nan_for_it_alone(falling):
    model, q = falling
    start = np.stack([q, q + [0.0, 0.01, 0.0]])
    run = kt.simulate(model, start, [0.0], duration=0.01, dt=1e-3)
    alone = kt.simulate(model, q, [0.0], duration=0.01, dt=1e-3)
    names = "energy momentum joint_force acceleration power joint_wrenches energy_error"
    for name in names.split():
        found = getattr(run, name)
        assert np.array_equal(found[0], getattr(alone, name)), name
        assert np.isnan(found[1]).reshape(11, -1).any(-1).all(), name
    with pytest.raises(AssemblyError, match="four_bar"):  # without a failure on record there is no excuse
        kt.Trajectory(model, run.t, np.stack([start] * 11, 1), np.zeros((2, 11, 1))).energy


def off_axis_linkage():
    b = kt.ModelBuilder("off_axis")  # the free velocity of the ball is not about the line of the rod
    b.add_body("crank", None, kt.Revolute((0, 0, 1)), at(), link(0.2))
    b.add_body("rod", "crank", kt.Spherical(), at(0.2), link(0.6))
    b.add_body("rocker", None, kt.Revolute((0, 1, 0)), at(0.5, 0.5, 0.0), link(0.4))
    b.add_loop("rod", "rocker", kt.Spherical(), at(0.36, 0.48), at(0.4), "crank", "ball")
    return b.build()


def test_increments_of_a_split_ball_turn_with_it():
    """The upper left part of A against positions that are carried along with one velocity."""
    model = off_axis_linkage()
    q, v = model.random_state(3)
    A, _ = kt.linearize(model, q, v, [0.3, -0.2], target="eager")
    places = [model.spanning_tree.coordinate_index("crank").start, 2]  # the crank, and y of the ball

    def carried(q, v, parts=16):
        for _ in range(parts):
            middle = model.assemble(q + model.rate(q, v) / (2 * parts))
            q = model.assemble(q + model.rate(middle, v) / parts)
        return q

    h, eps = 1e-2, 1e-3
    for column, e in zip(A[:2, :2].T, np.eye(2), strict=True):
        there = [carried(q, s * eps * e) for s in (1, -1)]
        ends = []
        for t in (h, -h):
            base = carried(q, t * v)
            gaps = [model.spanning_tree.difference(base, carried(x, t * v))[places] for x in there]
            ends.append((gaps[0] - gaps[1]) / (2 * eps))
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * h), column, atol=1e-3)
    assert np.abs(A[:2, :2]).max() > 0.5


@pytest.mark.long
@pytest.mark.parametrize("integrator", ["rk4", "discrete"])
def test_linear_equations_of_split_balls(integrator):
    """In continuous time, against short steps."""
    model = off_axis_linkage()
    q, v = model.random_state(3)
    tau = np.array([0.3, -0.2])
    A, B = kt.linearize(model, q, v, tau)

    def rates(h):
        step = kt.linearize(model, q, v, tau, dt=h, integrator=integrator)
        return (step.A - np.eye(4)) / h, step.B / h

    h = 1e-4
    for found, once, twice in zip((A, B), rates(h), rates(2 * h), strict=True):
        np.testing.assert_allclose(found, 2 * once - twice, atol=1e-5 * np.abs(found).max())


def test_variational_steps_of_split_balls_keep_energy():
    """Order 2, and energy that comes back: 10^4 steps are no worse than the first hundredth of them."""
    model = off_axis_linkage()
    q, v = model.random_state(3)
    exact = kt.simulate(model, q, 0.5 * v, duration=0.064, dt=1e-3, integrator="rk4")
    errors = []
    for dt in (4e-3, 2e-3):
        run = kt.simulate(model, q, 0.5 * v, duration=0.064, dt=dt, integrator="variational")
        errors.append(np.abs(run.v[-1] - exact.v[-1]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    kept = {"integrator": "variational", "passive": False, "record": 20}
    run = kt.simulate(model, q, 0.5 * v, duration=20.0, dt=2e-3, **kept)
    assert not run.failed and np.abs(openings(model, run.q)).max() < 1e-14
    error = np.abs(run.energy - run.energy[0])
    assert error.max() < 1e-3 * run.kinetic_energy.max()
    assert np.ptp(run.energy[250:]) < 2 * np.ptp(run.energy[:250])


# --- rods with balls at both ends


def rod_linkage(spin, **joint):
    b = kt.ModelBuilder("rod_linkage")
    b.add_body("crank", None, kt.Revolute((0, 0, 1)), at(), link(0.2))
    thin = kt.Inertia(1.0, (0.18, 0.24, 0.0), np.diag([1e-8, 0.02, 0.02]))
    turn = np.array([[0.6, -0.8, 0], [0.8, 0.6, 0], [0, 0, 1]])  # the rod lies along no axis of its frame
    moment = turn @ np.diag([1e-8, 0.02, 0.02]) @ turn.T
    thin = kt.Inertia(1.0, (0.18, 0.24, 0.0), moment)
    b.add_body("rod", "crank", kt.Spherical(), at(0.2), thin, **joint)
    b.add_body("rocker", None, kt.Revolute((0, 1, 0)), at(0.5, 0.5, 0.0), link(0.4))
    b.add_loop("rod", "rocker", kt.Spherical(), at(0.36, 0.48), at(0.4), "crank", "ball", spin=spin)
    return b.build()


def test_spin_of_a_thin_rod_is_kept_or_locked():
    kept, locked = rod_linkage("keep"), rod_linkage("lock")
    assert (kept.nv, locked.nv) == (2, 1) and (kept.nq, locked.nq) == (6, 4)
    assert locked.bodies[1].joint.type_name == "universal"
    crank = locked.neutral()[0]
    q = kept.positions({"crank": crank, "rocker": locked.neutral()[-1]})
    found = kt.forward_dynamics(locked, locked.neutral(), [0.0], [0.3])
    both = kt.forward_dynamics(kept, q, [0.0, 0.0], [0.3, 0.0])
    assert both[0] == pytest.approx(found[0], rel=1e-6)


def test_spin_of_what_is_no_rod():
    b = kt.ModelBuilder("x")
    b.add_body("a", None, HINGE, at(), link(0.3))
    b.add_body("b", None, HINGE, at(0.5), link(0.3))
    wrong = (("lock", kt.Spherical(), "rod with balls"), ("stay", HINGE, "'keep' or 'lock'"))
    for spin, joint, words in wrong:
        with pytest.raises(ModelError, match=words):
            b.add_loop("a", "b", joint, spin=spin)
    with pytest.raises(ModelError, match="stiffness"):
        rod_linkage("lock", stiffness=1.0)
    with pytest.raises(ModelError, match="limits"):
        rod_linkage("lock", limits=(-1.0, 1.0))
