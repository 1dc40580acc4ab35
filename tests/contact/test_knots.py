"""Knots solved for forces or for velocities: both find the minimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.contact.pair_scenes import points, things
from tests.contact.test_pairs import agrees, crowded, numbers
from tests.derivatives.cases import tree
from tests.loops.mechanisms import ankle, four_bar

import kinetree as kt
from kinetree.algorithms import knots, knotted
from kinetree.algorithms.knot_forces import ByForces
from kinetree.algorithms.knot_velocities import ByVelocities
from kinetree.model.ground import NoGround
from kinetree.motion.contact import _response
from kinetree.stages import sweeps

NAMES = ("q", "v", "x", "dt", "contact_stiffness", "contact_dissipation", "contact_friction", "creep")


@pytest.fixture(params=[0.0, np.inf], ids=["forces", "velocities"])
def way(request, monkeypatch) -> type:
    """All knots without loops over points are solved in one way, in eager execution."""
    monkeypatch.setattr(knots, "LONG", request.param)
    return ByVelocities if request.param else ByForces


@pytest.fixture
def used(monkeypatch) -> list[type]:
    """How the knots of each sweep are solved."""
    found: list[type] = []
    make = knotted.Knotted.__init__

    def noted(self: Any, *given: Any) -> None:
        make(self, *given)
        found.extend(type(knot) for knot in self.knots.values())

    monkeypatch.setattr(knotted.Knotted, "__init__", noted)
    return found


def touching_feet(joints: int, seed: int, depth: float = 5e-3) -> tuple[kt.Model, Any, Any, Any]:
    """Two legs with balls on their ends, so deep in each other; q, v and forces times the step."""
    model, rng = kt.zoo.legged(2, joints), np.random.default_rng(seed)
    q = model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv))
    place = rng.normal(size=3)
    for k in (0, 1):
        name = f"leg{k + 1}_{joints}"
        pose = kt.Pose(kt.placements(model, q)[model.body_index(name) - 1]).inverse()
        at = kt.Pose(p=pose.apply(place + k * np.array([0.0, 0.1 - depth, 0.0])))
        model = model.add_geometry(name, kt.Sphere(0.05), at, name=f"ball_{k}", stiffness=3e4)
    x = 0.01 * rng.normal(size=model.nv)
    return model.add_pair("ball_0", "ball_1"), q, 0.3 * rng.normal(size=model.nv), x


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 30), marks=pytest.mark.long)])
def test_rotors_mimic_joints_armature_and_deep_trees(seeds, way, used):
    pressed = 0
    for seed in seeds:
        model, rng = tree(seed).model, np.random.default_rng(seed)
        q, v = model.random_state(rng)
        bodies = rng.choice(model.nbodies, min(3, model.nbodies), replace=False) + 1
        model = crowded(model, q, bodies, rng)
        x, ground = 0.1 * rng.normal(size=model.nv), kt.Ground(height=-0.02)
        pressed += np.count_nonzero(agrees(model, q, v, x, ground=ground, target="eager"))
    assert pressed and set(used) == {way}


@pytest.mark.parametrize("make", [four_bar, ankle])
def test_loops(make, way, used):
    model, rng = make(), np.random.default_rng(4)
    q, v = model.random_state(rng)
    model = crowded(model, q, range(1, model.nbodies + 1), rng)
    model = model.add_geometry(None, kt.Sphere(0.1), name="ball of the world").add_pair(
        "ball of the world", "ball_0"
    )
    agrees(model, q, v, 0.1 * rng.normal(size=model.nv), target="eager")
    assert set(used) == {way}


def test_the_cheaper_way_is_taken(used):
    """Few points on many velocities: forces. Many points, or few velocities: velocities."""
    balls = things((kt.Sphere(0.1), 1.0), (kt.Sphere(0.1), 1.0))
    boxes = things((kt.Box((0.1, 0.1, 0.1)), 1.0), (kt.Box((0.1, 0.1, 0.1)), 1.0))
    for model, wanted in ((balls, ByForces), (boxes, ByVelocities), (touching_feet(3, 0)[0], ByVelocities)):
        used.clear()
        operations(model, NoGround())
        assert set(used) == {wanted}


def operations(model: kt.Model, ground: Any = kt.Ground()) -> int:
    """The operations in the text of a step."""
    options = {**_response.options, "ground": ground}
    return sweeps.lower(_response.algorithm, model, (*NAMES, "contact_accuracy"), options).ops["flops"]


def test_contact_between_long_limbs_costs_no_more_than_their_sweep():
    for joints in (8, 16):
        model = touching_feet(joints, 0)[0]
        assert operations(model) < 2 * operations(model.replace(pairs=()))


@pytest.mark.parametrize("ground", [None, kt.Ground(height=-1.0)])
def test_feet_in_machine_code(ground, used):
    model, q, v, x = touching_feet(6, 1)
    assert np.count_nonzero(agrees(model, q, v, x, ground=ground))
    operations(model, ground or NoGround())  # traced again: the kernel may come from the cache
    assert set(used) == {ByForces}


def test_the_same_bits_in_any_batch():
    model, q, v, x = touching_feet(5, 2)
    rng = np.random.default_rng(3)
    q = model.integrate(q, 0.02 * rng.normal(size=(21, model.nv)))
    given = (2e-3, *numbers(model), 1e-4, 1e-8)
    together = _response(model, q, v, x, *given, ground=NoGround())
    assert 3 < np.count_nonzero(together[1][:, -1, 0]) < 21
    for i in (0, 5, 20):
        alone = _response(model, q[i], v, x, *given, ground=NoGround())
        assert all(np.array_equal(a[i], b) for a, b in zip(together, alone, strict=True))


@pytest.mark.parametrize("apart", [0.0, 0.3])
def test_derivatives(apart):
    model, q, v, tau = touching_feet(5, 4)
    rng = np.random.default_rng(5)
    q = model.integrate(q, apart * rng.normal(size=model.nv))
    options = {"dt": 1e-3, "creep": 0.05, "ground": False, "contact_accuracy": 1e-12}
    d, b, e = rng.normal(size=model.nv), rng.normal(size=model.nv), 1e-6

    def after(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return kt.step(model, q, v, tau, **options)[1]

    change = kt.jvp_of(kt.step)(model, q, v, tau, d_v=d, **options)[3]
    wanted = (after(q, v + e * d) - after(q, v - e * d)) / (2 * e)
    assert abs(change - wanted).max() < 1e-6 * (1 + abs(wanted).max())
    change = kt.jvp_of(kt.step)(model, q, v, tau, d_q=d, **options)[3]
    wanted = (after(model.integrate(q, e * d), v) - after(model.integrate(q, -e * d), v)) / (2 * e)
    assert abs(change - wanted).max() < 1e-6 * (1 + abs(wanted).max())
    gv = kt.vjp_of(kt.step)(model, q, v, tau, b_v_out=b, **options)[3]
    forward = kt.jvp_of(kt.step)(model, q, v, tau, d_v=d, **options)[3]
    assert abs(gv @ d - b @ forward) < 1e-9 * (1 + abs(b) @ abs(forward))


@pytest.mark.parametrize("hardness", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_stiff_contact_of_light_feet(hardness, dtype):
    """The equation of motion with the forces found, for stiffness times the squared step of so many kg."""
    h = 2e-3
    model, q, v, x = touching_feet(6, 1, 50 * h**2 / hardness)
    k = numbers(model)
    given = (h, 0 * k[0] + hardness / h**2, *k[1:], 2e-6, 1e-4)
    run = kt.compile(_response, model, dtype=dtype, ground=NoGround(), newton_limit=30)
    change, force, _, count = run(*(np.asarray(x, dtype) for x in (q, v, x, *given)))
    J, axes, _ = points(model, q, None)
    momentum = h * sum(j.T @ (R @ f) for j, R, f in zip(J, axes, force, strict=True))
    M = kt.mass_matrix(model, q)
    assert abs(momentum).max() > 0 and count < 12
    assert abs(M @ change - x - momentum).max() < 3e-4 * abs(momentum).max()
