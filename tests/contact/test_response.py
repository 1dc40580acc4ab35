"""The minimum that a step with contact finds, against dense Newton steps."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import share
from tests.contact.scenes import box, dense, quadruped, solid, standing, thing
from tests.derivatives.cases import tree
from tests.loops.mechanisms import ankle, four_bar

import kinetree as kt
from kinetree.algorithms.contact_search import permitted, require_end
from kinetree.errors import ArgumentError, SimulationError
from kinetree.motion.contact import _response, contact_step

PLANE = kt.Ground()


def numbers(model: kt.Model) -> np.ndarray:
    found = [[p.stiffness, p.dissipation, p.friction] for p in model.contact_points]
    return np.array(found).reshape(-1, 3).T


def agrees(
    model, q, v, x, h=2e-3, ground=PLANE, added=None, rub=None, creep=1e-4, target="cpu", pulls=()
) -> np.ndarray:
    more = {name: value for name, value in {"added": added, "rub": rub}.items() if value is not None}
    if pulls:
        more["bounded"] = tuple((int(k), np.isfinite(a), np.isfinite(b), False) for k, _, _, a, b in pulls)
        more["pulls"] = np.nan_to_num(np.array(pulls)[:, 1:], posinf=0, neginf=0)
    rubbing = () if rub is None else tuple(int(k) for k in np.flatnonzero(rub))
    change, force, velocity, _ = _response(
        model,
        q,
        v,
        x,
        h,
        *numbers(model),
        creep,
        1e-12,
        ground=ground,
        rubbing=rubbing,
        target=target,
        **more,
    )
    wanted, forces = dense(model, q, v, x, h, creep, ground, added, rub, pulls=pulls)
    scale = 1 + abs(wanted).max() + abs(v).max()
    k, _, mu = numbers(model) if model.contact_points and ground else np.ones((3, 1))
    steepest = k.max() * h + mu.max() * abs(forces).max(initial=0) / creep + 1  # N for each m/s
    steepest += max((slope for _, _, slope, _, _ in pulls), default=0.0)
    stiff = (
        steepest
        * h
        / (kt.mass_matrix(model, q) + np.diag(np.zeros(model.nv) if added is None else added))
        .diagonal()
        .min()
    )
    assert abs(change - wanted).max() < (1e-12 + 2e-16 * stiff) * scale
    assert abs(force - forces).max(initial=0) < (1e-12 + 2e-16 * stiff) * steepest * scale
    assert velocity.shape == force.shape
    return v + change


@pytest.mark.parametrize("trunk", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_quadruped_that_falls_hard(trunk):
    model = quadruped(trunk, stiffness=4e4, dissipation=0.1)
    rng, start = np.random.default_rng(7), standing(model)
    for _ in range(8):
        q = model.integrate(start, 0.2 * rng.normal(size=model.nv))
        q[6] = start[6] + rng.uniform(-0.02, 0.01)
        agrees(model, q, 2 * rng.normal(size=18), 0.5 * rng.normal(size=18))


EXTREME = [(1e6, 1e-5, 5e-3), (1e7, 1e-4, 1e-3), (1e3, 1e-2, 1e-2)]


@pytest.mark.parametrize("stiffness, creep, h", share(EXTREME, 3))
def test_stiff_and_soft_ground(stiffness, creep, h):
    model = quadruped(stiffness=stiffness, dissipation=0.5)
    rng, start = np.random.default_rng(1), standing(model)
    for _ in range(4):
        q = model.integrate(start, 0.1 * rng.normal(size=model.nv))
        q[6] = start[6] - rng.uniform(0, 0.01)
        agrees(model, q, rng.normal(size=18), 0.2 * rng.normal(size=18), h, creep=creep)


def test_slopes_balls_and_rims():
    rng = np.random.default_rng(2)
    slope = kt.Ground((0.3, -0.2, 1.0), 0.1)
    for shape in (kt.Sphere(0.1), kt.Capsule(0.05, 0.1), kt.Cylinder(0.1, 0.1), kt.Box((0.1, 0.05, 0.08))):
        model = thing(shape, solid(2.0, (0.2, 0.1, 0.16)), friction=0.6)
        for _ in range(3):
            q, v = model.random_state(rng)
            q[4:] = np.array(slope.normal) * (slope.height + rng.uniform(0.02, 0.12))
            agrees(model, q, v, 0.5 * rng.normal(size=6), ground=slope)


LONG = [pytest.param(lean, marks=pytest.mark.long) for lean in (1e-13, 1e-4)]


@pytest.mark.parametrize("lean", [0.0, 1e-9, 0.3, *LONG])
@pytest.mark.parametrize("shape", [kt.Sphere(0.1), kt.Box((0.1, 0.1, 0.1))], ids=["one point", "several"])
def test_bodies_whose_x_axis_is_upright(shape, lean):
    """There, or nearly there, the axes of the ground may be turned about it at will: nothing tells."""
    rng = np.random.default_rng(6)
    model = thing(shape, solid(2.0, (0.2, 0.1, 0.16)), friction=0.6)
    turn = np.array([0.0, -np.sin(np.pi / 4 + lean), 0.0, np.cos(np.pi / 4 + lean)])
    flat = kt.Heightfield(np.zeros((3, 3)), 1.0)
    for side in (turn, turn * [1, -1, 1, 1]):
        q, (v, x, dq, dv) = np.array([*side, 0.0, 0.0, 0.095]), 0.3 * rng.normal(size=(4, 6))
        agrees(model, q, v, x)
        along = {"dt": 2e-3, "creep": 1e-2, "contact_accuracy": 1e-12, "d_q": dq, "d_v": dv}
        a, b = (kt.jvp_of(kt.step)(model, q, v, x, ground=ground, **along) for ground in (PLANE, flat))
        assert all(abs(m - n).max() < 1e-9 * (1 + abs(n).max()) for m, n in zip(a, b, strict=True))
        gradients = {"b_q_out": dq, "b_v_out": dv, "dt": 2e-3, "creep": 1e-2}
        back = kt.vjp_of(kt.step)(model, q, v, x, ground=PLANE, **gradients)
        assert all(np.isfinite(g).all() for g in back)


def test_inertia_added_and_dry_friction_of_joints():
    model = quadruped(stiffness=4e4)
    rng, start = np.random.default_rng(3), standing(model)
    added, rub = rng.uniform(0, 0.1, 18), np.where(np.arange(18) < 6, 0, rng.uniform(0, 2, 18))
    for speed in (0.0, 1e-4, 1.0):
        q = model.integrate(start, 0.1 * rng.normal(size=18))
        agrees(model, q, speed * rng.normal(size=18), 0.1 * rng.normal(size=18), added=added, rub=rub)


def random_pulls(rng, width: int) -> list[tuple]:
    """Stops on both sides and drives with bounds, some of them on the same joints."""
    inf, pulls = np.inf, []
    for k in rng.permutation(width)[: max(2, width // 2)]:
        stiff = 10 ** rng.uniform(2, 5)
        pulls.append((int(k), stiff * rng.uniform(-1e-3, 1e-3), stiff * 2e-3, -inf, 0.0))
        pulls.append((int(k), stiff * rng.uniform(-1e-3, 1e-3), stiff * 2e-3, 0.0, inf))
    for k in rng.permutation(width)[: max(2, width // 2)]:
        effort = rng.uniform(0.1, 5)
        pulls.append((int(k), rng.uniform(-10, 10), rng.uniform(0, 20), -effort, effort))
    return pulls


def test_stops_and_efforts_with_bounds():
    model = quadruped(stiffness=4e4)
    rng, start = np.random.default_rng(9), standing(model)
    rub = np.where(np.arange(18) < 6, 0, rng.uniform(0, 2, 18))
    for speed in (0.0, 0.1, 1.0, 5.0):
        q = model.integrate(start, 0.1 * rng.normal(size=18))
        pulls = [(6 + k, *more) for k, *more in random_pulls(rng, 12)]
        v, x = speed * rng.normal(size=18), 0.1 * rng.normal(size=18)
        after = agrees(model, q, v, x, added=rng.uniform(0, 0.1, 18), rub=rub, pulls=pulls)
        lines = [(offset - slope * after[k], low, high) for k, offset, slope, low, high in pulls]
        assert any(low < line < high for line, low, high in lines)
        assert any(line > high or line < low for line, low, high in lines)


@pytest.mark.parametrize("seeds", [range(40, 42), pytest.param(range(42, 60), marks=pytest.mark.long)])
def test_bounds_in_deep_trees_with_rotors_and_mimic_joints(seeds):
    for seed in seeds:
        rng, model = np.random.default_rng(seed), tree(seed).model
        q, v = model.random_state(rng)
        agrees(model, q, v, 0.1 * rng.normal(size=model.nv), ground=None, pulls=random_pulls(rng, model.nv))


@pytest.mark.parametrize("make", [four_bar, ankle])
def test_bounds_at_all_joints_of_a_loop(make):
    model = make()
    rng = np.random.default_rng(10)
    q, v = model.random_state(rng)
    pulls = random_pulls(rng, model.nu)
    agrees(model, q, v, 0.1 * rng.normal(size=model.nv), ground=None, pulls=pulls)
    agrees(model, q, v, 0.1 * rng.normal(size=model.nv), ground=None, pulls=pulls, target="eager")


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 40), marks=pytest.mark.long)])
def test_rotors_mimic_joints_armature_and_deep_trees(seeds):
    for seed in seeds:
        model = tree(seed).model
        rng = np.random.default_rng(seed)
        for name in rng.choice(model.body_names, 4):
            model = model.add_geometry(
                str(name), kt.Sphere(0.05), kt.Pose(p=rng.normal(size=3) * 0.3), stiffness=3e4
            )
        q, v = model.random_state(rng)
        T = kt.placements(model, q)
        heights = [T[p.body - 1][2] @ (*p.position, 1.0) for p in model.contact_points]
        ground = kt.Ground(height=float(np.sort(heights)[1]))
        agrees(model, q, v, 0.1 * rng.normal(size=model.nv), ground=ground)


@pytest.mark.parametrize("make", [four_bar, ankle])
def test_loops(make):
    model = make()
    rng = np.random.default_rng(4)
    for name in model.body_names[-2:]:
        model = model.add_geometry(name, kt.Point(), kt.Pose(p=(0.3, 0.0, -0.1)), stiffness=1e4)
    q, v = model.random_state(rng)
    T = kt.placements(model, q)
    ground = kt.Ground(
        height=float(np.mean([T[p.body - 1][2] @ (*p.position, 1.0) for p in model.contact_points]))
    )
    agrees(model, q, v, 0.1 * rng.normal(size=model.nv), ground=ground)


def test_the_same_in_plain_python_and_in_single_numbers():
    model = quadruped(stiffness=4e4)
    rng, q = np.random.default_rng(5), standing(model)
    q[6] -= 2e-3
    v, x = rng.normal(size=(5, 18)), 0.1 * rng.normal(size=(5, 18))
    agrees(model, q, v[0], x[0], target="eager")
    arguments = (q, v, x, 2e-3, *numbers(model), 1e-4, 1e-8)
    compiled = _response(model, *arguments, ground=PLANE)
    plain = _response(model, *arguments, ground=PLANE, target="eager")
    for a, b in zip(compiled, plain, strict=True):
        assert abs(a - b).max() < 1e-9 * (1 + abs(b).max())
    single = kt.compile(_response, model, dtype="float32", ground=PLANE)(*(np.float32(x) for x in arguments))
    assert abs(single[0] - compiled[0]).max() < 2e-3


def test_a_state_gives_the_same_bits_in_any_batch():
    model = quadruped(True, stiffness=4e4)
    rng, start = np.random.default_rng(6), standing(model)
    q = np.array([model.integrate(start, 0.2 * rng.normal(size=18)) for _ in range(37)])
    q[:, 6] = start[6] - 0.01
    v, x = rng.normal(size=(2, 37, 18))
    k = numbers(model)
    together = _response(model, q, v, x, 2e-3, *k, 1e-4, 1e-8, ground=PLANE)
    for i in (0, 5, 17, 36):
        alone = _response(model, q[i], v[i], x[i], 2e-3, *k, 1e-4, 1e-8, ground=PLANE)
        assert all(np.array_equal(a[i], b) for a, b in zip(together, alone, strict=True))
    backwards = _response(model, q[::-1], v[::-1], x[::-1], 2e-3, *k, 1e-4, 1e-8, ground=PLANE)
    assert all(np.array_equal(a[::-1], b) for a, b in zip(together, backwards, strict=True))


def test_nothing_but_flight_is_a_plain_step():
    model = box()
    q = model.neutral()
    q[6] = 1.0
    x = np.arange(6.0)
    change, force, *_ = _response(model, q, np.ones(6), x, 1e-3, *numbers(model), 1e-4, 1e-8, ground=PLANE)
    np.testing.assert_allclose(change, np.linalg.solve(kt.mass_matrix(model, q), x), rtol=1e-12)
    assert not force.any()


def test_many_points_of_a_body_are_a_loop():
    rng = np.random.default_rng(8)
    cloud = kt.Vertices(0.2 * rng.normal(size=(14, 3)))
    model = thing(cloud, solid(2.0, (0.2, 0.1, 0.16)), friction=0.6)
    model = model.add_geometry("thing", kt.Cylinder(0.1, 0.2)).add_geometry("thing", kt.Cylinder(0.05, 0.3))
    for _ in range(3):
        q, v = model.random_state(rng)
        q[4:] = 0.0, 0.0, rng.uniform(0.1, 0.3)
        agrees(model, q, v, 0.5 * rng.normal(size=6), ground=kt.Ground((0.1, 0.2, 1.0)))
        agrees(model, q, v, 0.5 * rng.normal(size=6), target="eager")


def test_what_may_be_missing_follows_from_the_numbers():
    assert 0.99e-16 < permitted(1e-8, np.float64(3.0)) < 1.01e-16
    assert 1e-12 < permitted(1e-8, np.float32(3.0)) < 1e-10


def test_forces_that_were_not_found_are_refused():
    model = kt.zoo.quadruped()
    require_end(1e-7, 1e-8, model)
    require_end(np.nan, 1e-8, model)  # not finite: then the result is not either
    with pytest.raises(SimulationError, match="contact forces of model 'quadruped' were not found"):
        require_end(1e-5, 1e-8, model)
    require_end(1e-5, 1e-4, model)  # as much as was allowed


CANS = (  # two leave the ground as fast as they may: beyond that the force ends at once; one begins to touch
    (
        [0.413630534, 0.462400149, 0.558468039, -0.55064447, 0.319170642, 0.127772536, 0.03024472],
        [-7.74261752, 3.83263016, 28.46581, 0.542638316, 0.788141848, 0.011580671],
        [0.0545547387, -0.0294255353, 0.032003225, -0.362647599, 0.0309859846, -0.738948837],
        [1.03777182, 0.351591107, 0.141205752, 0.501766731, 0.478620972, 0.721635668],
        [471465.707, 22116.6714, 16233.2797, 387700.946, 33800.9458, 26367.6437],
        [2.93522106, 1.26890702, 1.31159361, 0.767032138, 1.83231645, 3.00048548],
        1.46526052e-05, 0.216478199 / 0.4,
    ),
    (
        [0.247489607, -0.571039915, 0.698881469, 0.352458511, -0.102031061, -0.300948192, 0.0224607451],
        [0.297713779, 0.272418111, -8.84322222, -0.151013156, -0.444964788, 0.0282694539],
        [0.0124009843, -0.0575138085, 0.0166194325, 0.0338296396, 0.28287329, -0.205320398],
        [0.61142795, 0.214063546, 0.975413809, 0.204327637, 0.779024394, 0.530663216],
        [843910.044, 720913.346, 49294.2938, 418854.579, 24473.5556, 67598.6147],
        [3.3049752, 2.988182, 3.68050016, 4.65394755, 3.60509691, 3.59610659],
        9.1516884e-05, 0.627854171 / 0.4,
    ),
    (
        [0.472723169, -0.640204247, 0.605331873, 0.0156413498, -0.0132398159, 0.0215006499, 0.0358738346],
        [0.650838988, -1.09691332, 0.135468892, -0.104263663, 0.00450811527, 0.914584674],
        [0.0621826972, -0.0477348528, -0.0247137265, 0.280860373, -0.361748705, -0.356114974],
        [1.06143529, 0.270330446, 0.460234517, 0.678453657, 1.34690564, 1.3065116],
        [468420.342, 61496.6533, 27076.5658, 845398.027, 296399.775, 135316.628],
        [0.599862154, 3.0345365, 1.65091884, 3.57466622, 3.98641148, 1.0305228],
        0.00499799643, 0.215261729 / 0.4,
    ),
)  # fmt: skip


@pytest.mark.parametrize("can", CANS)
def test_where_forces_begin_steeply(can):
    """Steps that only come nearer and nearer to such a place would take hundreds."""
    q, v, tau, friction, stiffness, dissipation, creep, mass = can
    model = kt.zoo.solid(kt.Cylinder(0.05, 0.1), 0.4)
    given = {"contact_friction": friction, "contact_stiffness": stiffness, "contact_dissipation": dissipation}
    given = {name: np.array(x) for name, x in given.items()} | {"parameters": model.parameters * mass}
    *_, count = contact_step(model, np.array(q), np.array(v), np.array(tau), dt=5e-3, creep=creep, **given)
    assert count <= 10


WRONG = {
    ("contact_friction", -1e-9): "not be negative",
    ("contact_stiffness", -1.0): "not be negative",
    ("contact_dissipation", -0.5): "not be negative",
    ("creep", 0.0): "be positive",
    ("contact_accuracy", -1e-6): "be between 0 and 1",
    ("contact_accuracy", 2.0): "be between 0 and 1",
}


@pytest.mark.parametrize("name, value", WRONG)
def test_parameters_without_a_meaning_are_refused(name, value):
    """Friction that drives, ground that pulls: also where they are given for a state of a batch."""
    model = box()
    q, rest = model.neutral(), np.zeros(6)
    q[6] = 0.0999
    given = np.ones((3, 8) if "contact_" in name and name != "contact_accuracy" else 3)
    given[1] = value
    message = f"{name} must {WRONG[name, value]}, got {value}"
    with pytest.raises(ArgumentError, match=f"step: {message} .Found in state 1 of the batch"):
        kt.step(model, q, rest, rest, dt=1e-3, **{name: given})
    with pytest.raises(ArgumentError, match=f"simulate: {message}"):
        kt.simulate(model, q, rest, duration=0.01, dt=1e-3, **{name: given})
    nothing = np.zeros(given[0].shape)  # of friction, stiffness, ... is fine
    if name != "creep":
        assert all(np.isfinite(x).all() for x in kt.step(model, q, rest, rest, dt=1e-3, **{name: nothing}))


@pytest.mark.parametrize("name", ["contact_stiffness", "contact_dissipation", "contact_friction", "creep"])
def test_parameters_without_an_effect_are_refused(name):
    model = box()
    q, rest = model.neutral(), np.zeros(6)
    given = {name: 1e-3 if name == "creep" else np.ones(8), "dt": 1e-3}
    for options in ({"ground": False}, {"integrator": "rk4"}):
        with pytest.raises(ArgumentError, match=f"step: {name} is given, but nothing touches"):
            kt.step(model, q, rest, rest, **given, **options)
    assert kt.step(model, q, rest, rest, **given)[0].shape == (7,)


@pytest.mark.parametrize("dt", [0.0, -1e-3])
def test_a_step_with_contact_goes_forwards(dt):
    model = box()
    q, rest = model.neutral(), np.zeros(6)
    with pytest.raises(ArgumentError, match=f"step: dt must be positive, got {dt}"):
        kt.step(model, q, rest, rest, dt=dt)
    lengths = np.array([1e-3, dt, 1e-3])
    with pytest.raises(ArgumentError, match=r"contact_forces: dt must be positive.* in state 1 of the batch"):
        kt.contact_forces(model, q, rest, rest, lengths)
    assert np.isnan(kt.step(model, q, rest, rest, dt=np.nan)[0]).all()
