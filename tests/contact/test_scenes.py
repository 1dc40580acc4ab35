"""What contact does in rollouts, against what mechanics says."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.conftest import share
from tests.contact.scenes import G, box, energy, gains, quadruped, standing, thing, tilted

import kinetree as kt
from kinetree.errors import SingularError
from kinetree.motion.contact import contact_step


def at_rest(model: kt.Model, height: float) -> tuple[np.ndarray, np.ndarray]:
    q = model.neutral()
    q[6] = height
    return q, np.zeros(model.nv)


def test_a_standing_quadruped_carries_its_weight():
    model = quadruped(stiffness=4e4)
    q = standing(model)
    run = kt.simulate(model, q, np.zeros(18), duration=6.0, dt=2e-3, setpoint=q, record=20, **gains(model))
    assert not run.failed
    servo = {**gains(model), "setpoint": q}
    force = kt.contact_forces(model, run.q[-1], run.v[-1], np.zeros(18), dt=2e-3, **servo)
    weight = model.total_mass * G
    assert abs(force[:, 2].sum() / weight - 1) < 1e-6
    assert np.all(force[:, 2] > 0)
    assert abs(run.v[-1]).max() < 1e-4  # it creeps with less than v_s


def test_a_box_sinks_in_by_what_its_stiffness_says():
    model = box(10.0, stiffness=4e4)
    q, v = at_rest(model, 0.1)
    run = kt.simulate(model, q, v, duration=2.0, dt=1e-3, record=100)
    assert abs(run.q[-1, 6] - (0.1 - 10 * G / (4 * 4e4))) < 1e-6


@pytest.mark.parametrize("dt", share([1e-3, 2e-3, 5e-3], 3))
def test_a_box_slides_down_a_slope_as_it_should(dt):
    angle, mu = np.radians(10.0), 0.1
    model = box(10.0, stiffness=4e4, friction=mu)
    q, v = at_rest(model, 0.1 - 10 * G * np.cos(angle) / (4 * 4e4))
    run = kt.simulate(model, q, v, duration=2.0, dt=dt, gravity=tilted(angle), record=round(0.5 / dt))
    speed = (run.v[-1, 3:] - run.v[-2, 3:])[0] / 0.5
    assert abs(speed - G * (np.sin(angle) - mu * np.cos(angle))) < 1e-5


def test_a_box_on_a_slope_creeps_slower_than_said():
    angle, creep = np.radians(10.0), 1e-4
    model = box(10.0, stiffness=4e4, friction=0.8)
    q, v = at_rest(model, 0.1 - 10 * G * np.cos(angle) / (4 * 4e4))
    run = kt.simulate(model, q, v, duration=2.0, dt=2e-3, gravity=tilted(angle), record=100, creep=creep)
    share = np.tan(angle) / 0.8
    expected = creep * share / np.sqrt(1 - share * share)
    assert abs(np.linalg.norm(run.v[-1, 3:]) / expected - 1) < 1e-3
    slower = kt.simulate(model, q, v, duration=2.0, dt=2e-3, gravity=tilted(angle), record=100, creep=1e-5)
    assert abs(np.linalg.norm(slower.v[-1, 3:]) / expected * 10 - 1) < 1e-2


def test_a_slope_may_also_be_the_ground():
    angle = np.radians(20.0)
    model = box(10.0, stiffness=4e4, friction=0.2)
    normal = (np.sin(angle), 0.0, np.cos(angle))
    q = model.neutral()
    q[:4] = 0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2)
    q[4:] = (0.1 - 10 * G * np.cos(angle) / (4 * 4e4)) * np.array(normal)
    run = kt.simulate(model, q, np.zeros(6), duration=1.0, dt=2e-3, ground=kt.Ground(normal), record=250)
    speed = np.linalg.norm(run.v[-1, 3:]) - np.linalg.norm(run.v[-2, 3:])
    assert abs(speed / 0.5 - G * (np.sin(angle) - 0.2 * np.cos(angle))) < 1e-5


@pytest.mark.parametrize("mu", share([0.2, 1.0], 2))
def test_a_sliding_box_stops_where_it_should_and_does_not_glide(mu):
    model = box(10.0, (0.2, 0.2, 0.02), stiffness=4e4, friction=mu)
    q, v = at_rest(model, 0.02 - 10 * G / (4 * 4e4))
    v[3] = 2.0
    for dt in (1e-3, 5e-3):
        run = kt.simulate(model, q, v, duration=1.5, dt=dt)
        distance = run.q[-1, 4] / (2.0**2 / (2 * mu * G)) - 1
        assert abs(distance) < 1.2 * dt * mu * G / 2.0 + 1e-3
        assert run.q[:, 6].max() - run.q[0, 6] < 5e-5


def test_friction_stays_in_its_cone_and_opposes_slip():
    model = quadruped(stiffness=4e4, friction=0.6)
    start = standing(model)
    rng = np.random.default_rng(0)
    q = np.repeat(start[None], 20, 0)
    q[:, 6] += 0.05
    v = rng.normal(size=(20, 18))
    servo = {**gains(model), "setpoint": start}
    run = kt.simulate(model, q, v, duration=0.4, dt=2e-3, **servo)
    q, v = run.q[:, :-1].reshape(-1, 19), run.v[:, :-1].reshape(-1, 18)
    _, _, force, velocity, _ = contact_step(model, q, v, np.zeros(18), dt=2e-3, **servo)
    feet = model.frame_names
    depth = -np.stack([kt.frame_placement(model, q, frame=foot)[:, 2, 3] for foot in feet], -1)
    fall = np.stack([kt.frame_velocity(model, q, v, foot, "aligned")[:, 5] for foot in feet], -1)
    before = 4e4 * np.maximum(0, depth) * np.maximum(0, 1 - fall)  # f0
    normal, along, slip = force[..., 2], force[..., :2], velocity[..., :2]
    assert np.all(normal >= -1e-12 * normal.max())
    assert np.all(np.linalg.norm(along, axis=-1) <= 0.6 * before * (1 + 1e-9) + 1e-9)
    assert np.all((along * slip).sum(-1) <= 1e-12)
    sliding = np.linalg.norm(slip, axis=-1) > 1e-2
    bound = np.linalg.norm(along, axis=-1)[sliding]
    np.testing.assert_allclose(bound, 0.6 * before[sliding], rtol=1e-3, atol=1e-6)
    assert sliding.any() and (normal > 1).any() and (normal == 0).any()


@pytest.mark.parametrize("dt", share([1e-3, 2e-3, 5e-3], 3))
def test_a_tumbling_box_never_gains_energy(dt):
    model = box(10.0, (0.15, 0.1, 0.05), stiffness=4e4, dissipation=0.0)
    rng = np.random.default_rng(1)
    q, v = at_rest(model, 0.5)
    q = np.repeat(q[None], 32, 0)
    v = rng.normal(size=(32, 6)) * [8, 8, 8, 1, 1, 1]
    run = kt.simulate(model, q, v, duration=2.0, dt=dt, contact_accuracy=1e-8)
    assert not run.failed
    gain = np.diff(energy(model, run), axis=-1)
    assert gain.max() < 1e-12, gain.max()


def test_a_passive_quadruped_with_damped_joints_never_gains_energy():
    plain = quadruped(True, stiffness=4e4, dissipation=0.1)
    model = plain.replace(damping={name: 0.1 for name in plain.joint_names[1:]})
    rng = np.random.default_rng(2)
    q = np.repeat(standing(model)[None], 16, 0)
    q[:, 6] += 0.3
    v = rng.normal(size=(16, 18))
    for dt in (1e-3, 5e-3):
        run = kt.simulate(model, q, v, duration=1.0, dt=dt, limits=False, contact_accuracy=1e-8)
        assert not run.failed
        assert np.diff(energy(model, run), axis=-1).max() < 1e-12


def test_a_spinning_disc_stops_when_it_should():
    """All of its weight is on its rim: w' = -2 mu g / R; and nothing drives it away from its place."""
    radius, mu, spin = 0.1, 0.3, 20.0
    model = kt.zoo.solid(kt.Cylinder(radius, 0.01), 1.0)
    held = len(model.contact_points) // 2 * model.contact_points[0].stiffness
    q, v = at_rest(model, 0.01 - G / held)
    v[2] = spin
    run = kt.simulate(model, q, v, duration=0.5, dt=5e-4, contact_friction=mu)
    fall = 2 * mu * G / radius
    lasting = run.t < 0.9 * spin / fall
    assert abs(run.v[lasting, 2] - (spin - fall * run.t[lasting])).max() < 0.02 * spin
    stopped = run.t[np.argmax(run.v[:, 2] < 1e-2)]
    assert abs(stopped - spin / fall) < 0.02 * spin / fall
    assert abs(run.q[-1, 4:6]).max() < 1e-4 and abs(run.v[-1]).max() < 1e-2


def test_a_disc_that_slides_and_spins_does_both_to_the_end():
    """Friction turns against the motion of each point: slip and spin end together, and each lasts longer than
    it would alone."""
    radius, mu = 0.1, 0.3
    model = kt.zoo.solid(kt.Cylinder(radius, 0.01), 1.0)
    q, v = at_rest(model, 0.01)
    v[2], v[3] = 10.0, 0.7
    run = kt.simulate(model, q, v, duration=0.8, dt=5e-4, contact_friction=mu)
    slip, spin = np.hypot(run.v[:, 3], run.v[:, 4]), abs(run.v[:, 2]) * radius
    ends = [run.t[np.argmax(x < 0.01)] for x in (slip, spin)]
    assert abs(ends[0] - ends[1]) < 0.08 * ends[1]
    assert min(ends) > 1.05 * max(0.7 / (mu * G), 10.0 * radius / (2 * mu * G))


def test_what_presses_is_in_the_ground_at_the_end_of_the_step():
    """Complementarity: a point is free, or it is pressed in; where it leaves it does not pull."""
    model = quadruped(True, stiffness=4e4, dissipation=0.0)
    q = np.repeat(standing(model)[None], 8, 0)
    q[:, 6] += 0.1
    v = np.random.default_rng(5).normal(size=(8, 18))
    more = {"setpoint": standing(model), "contact_accuracy": 1e-12, **gains(model)}
    run = kt.simulate(model, q, v, duration=0.5, dt=2e-3, **more)
    T = kt.placements(model, run.q)
    heights = np.stack([T[..., p.body - 1, 2, :] @ (*p.position, 1.0) for p in model.contact_points], -1)
    end = heights + 2e-3 * run.contact_velocity[..., 2]
    normal = run.contact_force[..., 2]
    assert (normal > -1e-9).all()
    assert abs(normal[end > 1e-12]).max() < 1e-9 and (normal[end < -1e-9] > 0).all()
    shallow = heights > -0.01
    np.testing.assert_allclose(normal[shallow], 4e4 * np.maximum(0, -end)[shallow], rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("beyond", [-1.0, 1.0])
def test_a_box_tips_at_its_angle(beyond):
    half = (0.05, 0.1, 0.2)
    angle = np.arctan(half[0] / half[2]) + np.radians(beyond)
    model = box(5.0, half, stiffness=1e6, friction=1.0)
    q, v = at_rest(model, half[2])
    run = kt.simulate(model, q, v, duration=2.0, dt=2e-3, gravity=tilted(angle), record=10)
    fell = abs(run.q[-1, 1]) > 0.1
    assert fell == (beyond > 0)


def test_a_ball_rolls_down_without_slipping():
    angle, radius, mass = np.radians(15.0), 0.1, 2.0
    inertia = kt.Inertia(mass, (0, 0, 0), 0.4 * mass * radius**2 * np.eye(3))
    model = thing(kt.Sphere(radius), inertia, stiffness=4e4, friction=0.8)
    q, v = at_rest(model, radius - mass * G * np.cos(angle) / 4e4)
    run = kt.simulate(model, q, v, duration=1.0, dt=1e-3, gravity=tilted(angle), record=500)
    T = kt.placements(model, run.q)[:, 0, :3, :3]
    speed = np.einsum("tij,tj->ti", T, run.v[:, 3:])[:, 0]
    assert abs((speed[-1] - speed[-2]) / 0.5 / (G * np.sin(angle) / 1.4) - 1) < 1e-3
    spin = np.einsum("tij,tj->ti", T, run.v[:, :3])[:, 1]
    assert abs(speed[-1] - radius * spin[-1]) < 2e-3


def test_deep_in_the_ground_nothing_is_thrown():
    model = quadruped(True)
    q = standing(model)
    q[6] -= 0.15
    run = kt.simulate(model, q, np.zeros(18), duration=1.0, dt=2e-3, setpoint=q, **gains(model))
    assert not run.failed
    assert abs(run.v[:, 3:6]).max() < 1.5
    assert run.q[:, 6].max() < standing(model)[6] + 0.02


def test_painleves_rod_has_a_motion_that_converges():
    """A slender rod that slides on its end with so much friction that rigid bodies have no solution."""
    length, mass, angle = 1.0, 1.0, np.radians(60.0)
    builder = kt.ModelBuilder("rod")
    across = mass * length**2 / 12
    builder.add_body(
        "rod", joint=kt.Free(), inertia=kt.Inertia(mass, (0, 0, 0), np.diag([across, across, 1e-4]))
    )
    builder.add_geometry("rod", kt.Point(), kt.Pose(p=(0, 0, -length / 2)), friction=2.0, stiffness=1e5)
    model = builder.build()
    q = model.neutral()
    q[:4] = 0.0, np.sin((np.pi / 2 - angle) / 2), 0.0, np.cos((np.pi / 2 - angle) / 2)
    q[4:] = 0.0, 0.0, length / 2 * np.sin(angle)
    v = np.zeros(6)
    R = kt.placements(model, q)[0, :3, :3]
    v[3:] = R.T @ (1.0, 0.0, 0.0)
    ends = []
    for dt in (4e-4, 2e-4, 1e-4):
        run = kt.simulate(model, q, v, duration=0.08, dt=dt)
        assert not run.failed and abs(run.v).max() < 50
        ends.append(run.q[-1])
    first, second = abs(ends[1] - ends[0]).max(), abs(ends[2] - ends[1]).max()
    assert second < 0.75 * first and second < 5e-3


def test_parameters_by_state_and_the_same_bits_in_any_batch():
    model = box(10.0, stiffness=4e4)
    q, v = at_rest(model, 0.11)
    v[3] = 1.0
    mu = np.array([0.1, 0.3, 0.9])
    run = kt.simulate(
        model, np.repeat(q[None], 3, 0), np.repeat(v[None], 3, 0), duration=0.5, dt=2e-3,
        contact_friction=np.repeat(mu[:, None], 8, 1),
    )  # fmt: skip
    assert np.all(np.diff(run.q[:, -1, 4]) < -0.01)
    for one in (0.3, np.array(0.3)):
        alone = kt.simulate(model, q, v, duration=0.5, dt=2e-3, contact_friction=one)
        assert np.array_equal(alone.q, run.q[1]) and np.array_equal(alone.v, run.v[1])
    one = kt.step(model, q, v, np.zeros(6), dt=2e-3, contact_friction=np.full(8, 0.3))
    assert np.array_equal(one[0], alone.q[1]) and np.array_equal(one[1], alone.v[1])


def test_without_ground_it_falls():
    model = box()
    q, v = at_rest(model, 0.1)
    for ground in (False, None):
        run = kt.simulate(model, q, v, duration=0.5, dt=1e-2, ground=ground)
        assert run.q[-1, 6] < -1.0
    assert not kt.contact_forces(model, q, v, v, dt=1e-2, ground=False).any()


@pytest.mark.parametrize("ground", [1.0, 1, 0, 0.0, "plane", np.zeros(2)])
def test_a_ground_is_no_number(ground):
    model = box()
    q, v = at_rest(model, 0.1)
    with pytest.raises(kt.errors.ArgumentError, match=r"ground must be a kt\.Ground or .* for none, got"):
        kt.simulate(model, q, v, duration=0.02, dt=1e-2, ground=ground)


def test_contact_forces_take_the_step_by_position_or_name():
    model = box()
    q, v = at_rest(model, 0.099)
    push = np.zeros((model.nbodies, 6))
    push[0, 5] = -5.0
    tau = np.zeros(6)
    by_name = kt.contact_forces(model, q, v, tau, dt=2e-3, f_ext=push)
    assert np.array_equal(by_name, kt.contact_forces(model, q, v, tau, 2e-3, push, ground=kt.Ground()))
    kernel = kt.compile(kt.contact_forces, model, inputs=("q", "v", "tau", "dt", "f_ext"))
    assert np.array_equal(by_name, kernel(q, v, tau, 2e-3, push))
    assert np.array_equal(by_name, contact_step(model, q, v, tau, push, dt=2e-3)[2])
    lighter = kt.contact_forces(model, q, v, tau, 2e-3)
    assert (by_name - lighter)[:, 2].sum() > 0.1


@pytest.mark.parametrize("integrator", ["rk4", "variational", "dopri5"])
def test_integrators_without_a_ground_say_so(integrator):
    model = box()
    q, v = at_rest(model, 0.1)
    more = {"duration": 0.02, "dt": 1e-2, "integrator": integrator}
    with pytest.warns(UserWarning, match=f"{integrator} knows no ground: 'thing' falls through it"):
        kt.simulate(model, q, v, **more)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kt.simulate(model, q, v, ground=False, **more)
        kt.simulate(kt.zoo.pendulum(), [0.0], [0.0], **more)
    with pytest.raises(kt.errors.ArgumentError, match="knows no ground"):
        kt.simulate(model, q, v, ground=kt.Ground(), **more)


def test_a_ground_that_nothing_can_touch_is_not_silent():
    model = quadruped()
    bare = model.replace(geometries=dict.fromkeys(model.geometry_names))
    with pytest.warns(UserWarning, match="nothing touches the ground: .* has no contact points"):
        kt.simulate(bare, bare.neutral(), np.zeros(18), duration=2e-3, dt=1e-3, ground=kt.Ground())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kt.simulate(bare, bare.neutral(), np.zeros(18), duration=2e-3, dt=1e-3)


def test_a_trajectory_knows_its_contacts(tmp_path):
    model = quadruped(stiffness=4e4)
    q = standing(model)
    q[6] += 0.02
    run = kt.simulate(model, q, np.zeros(18), duration=0.3, dt=2e-3, setpoint=q, creep=1e-3, **gains(model))
    force, velocity = run.contact_force, run.contact_velocity
    assert force.shape == velocity.shape == (151, 4, 3)
    assert not force[:10].any() and (force[-1, :, 2] > 0).all()
    # momentum: what the ground gave is what changed
    gained = run.momentum[-1, 3:] - run.momentum[0, 3:] - model.total_mass * np.array(model.gravity) * 0.3
    np.testing.assert_allclose(force[:-1].sum((0, 1)) * 2e-3, gained, atol=1e-3 * abs(gained).max())
    # energy: of contact, only little is given back
    assert run.contact_power.shape == (151, 4)
    still = kt.forward_dynamics(model, run.q, run.v, run.joint_force)
    assert abs(run.acceleration - still)[:10].max() < 1e-9 and abs(run.acceleration - still)[-1].max() > 1
    assert np.array_equal(run.touching, force[..., 2] > 0)
    assert np.array_equal(run.slip > 0, run.touching & (run.slip > 0))
    np.testing.assert_allclose(run.slip[-1], np.hypot(velocity[-1, :, 0], velocity[-1, :, 1]), rtol=1e-12)
    assert abs(run.contact_work[-1] - (run.contact_power[:-1] * 2e-3).sum(0)).max() < 1e-12
    assert np.array_equal(
        run.force_on("rear_left_foot"), force[:, model.geometry_names.index("rear_left_foot")]
    )
    assert np.array_equal(run.force_on("rear_left_shank"), run.force_on("rear_left_foot"))
    with pytest.raises(kt.errors.ArgumentError, match="'tail' is no geometry"):
        run.force_on("tail")
    path = tmp_path / "run.npz"
    run.save(path)
    again = kt.Trajectory.load(path)
    assert again.ground == kt.Ground() and np.array_equal(again.contact_force, force)
    part = run[100:]
    assert np.array_equal(part.contact_force, force[100:])


def test_a_name_of_a_body_means_all_of_its_geometries():
    model = box(10.0).add_geometry("thing", kt.Sphere(0.01), kt.Pose(p=(0, 0, -0.1)), name="bump")
    assert "thing" in model.geometry_names  # the first one has the name of the body
    q, v = at_rest(model, 0.1)
    run = kt.simulate(model, q, v, duration=0.2, dt=2e-3)
    assert np.array_equal(run.force_on("thing"), run.contact_force.sum(-2))
    assert np.array_equal(run.force_on("bump"), run.contact_force[:, -1])
    assert run.force_on("bump")[-1, 2] > 1


def test_a_step_with_contact_has_derivatives():
    model = quadruped(stiffness=4e4)
    q = standing(model)
    q[6] -= 2e-3
    rng = np.random.default_rng(3)
    v, tau = 0.3 * rng.normal(size=18), rng.normal(size=18)
    dq, dv, dtau = rng.normal(size=(3, 18))
    more = {"dt": 2e-3, "creep": 1e-2, "contact_accuracy": 1e-12}
    after = kt.step(model, q, v, tau, **more)
    *_, change_q, change_v = kt.jvp_of(kt.step)(model, q, v, tau, **more, d_q=dq, d_v=dv, d_tau=dtau)

    def moved(e: float) -> tuple:
        return kt.step(model, model.integrate(q, e * dq), v + e * dv, tau + e * dtau, **more)

    e = 1e-5
    ahead, behind, far, back = moved(e), moved(-e), moved(2 * e), moved(-2 * e)
    slope = (8 * (ahead[1] - behind[1]) - (far[1] - back[1])) / (12 * e)
    assert abs(change_v - slope).max() < 1e-7 * abs(slope).max()
    turned = [model.difference(after[0], x[0]) for x in (ahead, behind, far, back)]
    slope = (8 * (turned[0] - turned[1]) - (turned[2] - turned[3])) / (12 * e)
    assert abs(change_q - slope).max() < 1e-7 * abs(slope).max()


@pytest.mark.parametrize("record", [1, 5])
def test_a_failed_state_leaves_the_contacts_of_the_others(record, tmp_path):
    model = kt.zoo.quadruped()
    v = np.zeros((3, 18))
    v[1] = 1e6
    start, more = standing(model), {"duration": 0.05, "dt": 1e-3, "record": record}
    run = kt.simulate(model, start, v, **more)
    (failure,) = run.failed
    assert failure.state == (1,)
    fine = kt.simulate(model, start, v[[0, 2]], **more)
    good = np.isfinite(run.q[1]).all(-1) & (np.abs(run.t - failure.time) > 1e-9)
    assert 0 < good.sum() < 3
    for name in ("contact_force", "contact_velocity", "contact_power", "slip", "acceleration", "power",
                 "joint_wrenches"):  # fmt: skip
        found = getattr(run, name)
        assert np.array_equal(found[[0, 2]], getattr(fine, name)), name
        assert np.isfinite(found[1, good]).all() and np.isnan(found[1, ~good]).any(-1).all(), name
    for name in ("touching", "newton_steps"):
        found = getattr(run, name)
        assert np.array_equal(found[[0, 2]], getattr(fine, name)), name
        assert not found[1, ~good].any(), name
    for name in ("contact_work", "energy_error"):
        assert np.array_equal(getattr(run, name)[[0, 2]], getattr(fine, name)), name
        assert np.isnan(getattr(run, name)[1, -1]).all(), name
    again = kt.Trajectory.load(run.save(tmp_path / "run.npz"))
    assert np.array_equal(again.contact_force, run.contact_force, equal_nan=True)
    alone = kt.simulate(model, start, v[1], **more)
    assert np.array_equal(alone.contact_force, run.contact_force[1, : len(alone.t)], equal_nan=True)
    run.plot()


def test_what_is_singular_only_in_single_precision_is_called_so():
    ball, none = kt.zoo.solid(kt.Sphere(0.05), mass=2.0), np.zeros(6)
    q = ball.neutral()
    q[:3], q[6] = (0.3, 0.2, 0.1), -1e4
    q = ball.normalize(q)
    assert np.isfinite(kt.step(ball, q, none, none, dt=2e-3)[1]).all()
    with pytest.raises(SingularError, match="singular in float32, though not in float64"):
        kt.step(ball, *(x.astype(np.float32) for x in (q, none, none)), dt=np.float32(2e-3))
