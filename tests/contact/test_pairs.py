"""The minimum that a step finds when bodies touch each other, against dense Newton steps."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from tests.conftest import share
from tests.contact.pair_scenes import G, dense, placed, things
from tests.derivatives.cases import tree
from tests.loops.mechanisms import ankle, four_bar

import kinetree as kt
from kinetree.model.ground import NoGround
from kinetree.motion.contact import _response

PLANE = kt.Ground()


def numbers(model: kt.Model) -> np.ndarray:
    felt = [*model.contact_points, *model.pair_points]
    return np.array([[p.stiffness, p.dissipation, p.friction] for p in felt]).T


def agrees(
    model, q, v, x, h=2e-3, ground=None, creep=1e-4, added=None, target="cpu", place=0.0
) -> np.ndarray:
    """The forces, which are those of dense steps; `place` is what a search leaves of where points are, m."""
    more = {} if added is None else {"added": added}
    given = (model, q, v, x, h, *numbers(model), creep, 1e-12)
    change, force, velocity, _ = _response(*given, ground=ground or NoGround(), target=target, **more)
    wanted, forces = dense(model, q, v, x, h, ground, creep, added)
    scale = 1 + abs(wanted).max() + abs(v).max()
    k, _, mu = numbers(model)
    steepest = k.max() * h + mu.max() * abs(forces).max() / creep + 1  # N for each m/s
    M = kt.mass_matrix(model, q) + np.diag(np.zeros(model.nv) if added is None else added)
    stiff = steepest * h / M.diagonal().min()
    assert abs(change - wanted).max() < (1e-12 + 2e-16 * stiff + 10 * place) * scale
    assert abs(force - forces).max() < (1e-12 + 2e-16 * stiff + 10 * place) * steepest * scale
    assert velocity.shape == force.shape
    return forces


@pytest.mark.parametrize("target", ["cpu", "eager"])
def test_balls_that_fly(target):
    model = things((kt.Sphere(0.1), 1.0), (kt.Sphere(0.2), 5.0), (kt.Sphere(0.1), 0.1), stiffness=1e5)
    rng, pressed = np.random.default_rng(0), 0
    for _ in range(4):
        q = placed(model, *(0.09 * rng.normal(size=3) for _ in range(3)))
        forces = agrees(model, q, rng.normal(size=18), 0.1 * rng.normal(size=18), target=target)
        pressed += np.count_nonzero(forces[-3:])
    assert pressed


def crowded(model: kt.Model, q: np.ndarray, bodies: Any, rng: np.random.Generator) -> kt.Model:
    """A model whose bodies have balls that all meet at one point in a position, and may touch each other."""
    T = kt.placements(model, q)
    for k, body in enumerate(bodies):
        pose = kt.Pose(T[body - 1])
        at = pose.inverse().apply(0.04 * rng.normal(size=3))
        model = model.add_geometry(
            model.body_names[body - 1], kt.Sphere(0.05), kt.Pose(p=at), name=f"ball_{k}", stiffness=3e4
        )
    return model.replace(pairs=[pair for pair in model.contact_pairs if all("ball" in x for x in pair)])


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 30), marks=pytest.mark.long)])
def test_rotors_mimic_joints_armature_and_deep_trees(seeds):
    pressed = []
    for seed in seeds:
        model, rng = tree(seed).model, np.random.default_rng(seed)
        q, v = model.random_state(rng)
        bodies = rng.choice(model.nbodies, min(3, model.nbodies), replace=False) + 1
        model = crowded(model, q, bodies, rng)
        if model.pairs:
            forces = agrees(model, q, v, 0.1 * rng.normal(size=model.nv), ground=kt.Ground(height=-0.02))
            pressed.append(bool(np.count_nonzero(forces)))
    assert pressed and np.mean(pressed) > 0.8  # some balls are apart


@pytest.mark.parametrize("make", [four_bar, ankle])
def test_loops(make):
    model, rng = make(), np.random.default_rng(4)
    q, v = model.random_state(rng)
    model = crowded(model, q, range(1, model.nbodies + 1), rng)
    model = model.add_geometry(None, kt.Sphere(0.1), name="ball of the world")
    model = model.add_pair("ball of the world", "ball_0")
    agrees(model, q, v, 0.1 * rng.normal(size=model.nv))


def test_a_robot_and_things_beside_it():
    """Pairs within one limb, between limbs, with the base, with a free body, and with the world."""
    rng = np.random.default_rng(5)
    model = kt.zoo.quadruped().attach(things((kt.Sphere(0.1), 0.5), pairs=()))
    q, v = model.random_state(rng)
    names = model.body_names
    bodies = [1, 4, 7, names.index("thing_0") + 1]
    model = crowded(model, q, bodies, rng)
    added = rng.uniform(0, 0.1, model.nv)
    agrees(model, q, v, 0.1 * rng.normal(size=model.nv), added=added)
    foot = model.replace(pairs=[("ball_1", "ball_2")])  # a knot that a free body carries
    agrees(foot, q, v, 0.1 * rng.normal(size=model.nv), ground=PLANE)


def test_the_same_bits_in_any_batch_and_single_numbers():
    model = things((kt.Sphere(0.1), 1.0), (kt.Sphere(0.2), 5.0), stiffness=1e5)
    rng = np.random.default_rng(6)
    q = np.array([placed(model, *(0.1 * rng.normal(size=3) for _ in range(2))) for _ in range(21)])
    v, x = rng.normal(size=(2, 21, 12)) * np.array([1.0, 0.01])[:, None, None]
    given = (2e-3, *numbers(model), 1e-4, 1e-8)
    together = _response(model, q, v, x, *given, ground=PLANE)
    for i in (0, 5, 20):
        alone = _response(model, q[i], v[i], x[i], *given, ground=PLANE)
        assert all(np.array_equal(a[i], b) for a, b in zip(together, alone, strict=True))
    # Friction that holds is a slope of f0 / creep: single numbers resolve it if they resolve the creep.
    given = (*given[:-2], 1e-2, 1e-8)
    single = kt.compile(_response, model, dtype="float32", ground=PLANE)
    change = single(*(np.float32(x) for x in (q, v, x, *given)))[0]
    exact = _response(model, q, v, x, *given, ground=PLANE)[0]
    assert abs(change - exact).max() < 1e-3 * abs(exact).max()


SHAPES = {
    "ball": kt.Sphere(0.1), "capsule": kt.Capsule(0.06, 0.1), "box": kt.Box((0.1, 0.12, 0.08)),
    "can": kt.Cylinder(0.1, 0.1), "prism": kt.Vertices([(x, y, z) for z in (-0.1, 0.1)
                                                        for x, y in ((0.1, 0), (-0.1, 0.1), (-0.1, -0.1))]),
}  # fmt: skip
COUPLES = [(a, b) for k, a in enumerate(SHAPES) for b in list(SHAPES)[k:]]


@pytest.mark.parametrize("couple", share(COUPLES, 5))
def test_every_two_shapes(couple):
    model = things(*((SHAPES[name], 1.0 + k) for k, name in enumerate(couple)), stiffness=2e4, friction=0.5)
    rng, pressed = np.random.default_rng(7), 0
    place = 1e-8 if couple in (("capsule", "can"), ("capsule", "prism")) else 0.0
    for _ in range(4):
        q = placed(model, (0, 0, 0), 0.12 * rng.normal(size=3) / 3**0.5 + (0, 0, 0.1))
        q[7:11] = rng.normal(size=4)
        q = model.normalize(q)
        forces = agrees(model, q, rng.normal(size=12), 0.01 * rng.normal(size=12), place=place)
        pressed += np.count_nonzero(forces)
    assert pressed


def test_boxes_that_are_far_apart_fall_freely_in_single_precision_too():
    model = things((kt.Box((0.01, 0.02, 0.03)), 1.0), (kt.Box((0.05, 0.04, 0.06)), 2.0))
    rng = np.random.default_rng(9)
    far = rng.normal(size=(60, 3))
    far *= np.geomspace(0.2, 100.0, 60)[:, None] / np.linalg.norm(far, axis=1)[:, None]
    q = np.array([placed(model, (0, 0, 0), place) for place in far])
    q[::2, 7:11] = rng.normal(size=(30, 4))  # the others are parallel
    q, none = model.normalize(q).astype(np.float32), np.zeros((60, 12), np.float32)
    _, v = kt.step(model, q, none, none, dt=np.float32(2e-3), ground=False)
    falls = np.linalg.norm(v.reshape(60, 2, 2, 3), axis=-1)
    assert abs(falls - [0.0, 2e-3 * G]).max() < 1e-7


@pytest.mark.parametrize("name", share(list(SHAPES), 2))
def test_shapes_of_the_world(name):
    """A body on a shape that stands still, and its twin on one that cannot be moved."""
    shape = SHAPES[name]
    model = things((kt.Box((0.05, 0.05, 0.05)), 1.0), pairs=(), stiffness=2e4)
    model = model.add_geometry(None, shape, name="still").add_pair("still", "thing_0", friction=0.7)
    assert model.pair_points[0].stiffness == 2e4 and model.pair_points[0].friction == 0.7
    rng = np.random.default_rng(8)
    q = placed(model, (0.01, 0.02, 0.125 if name != "box" else 0.12))
    agrees(model, q, 0.2 * rng.normal(size=6), 0.01 * rng.normal(size=6))


@pytest.mark.parametrize("target", ["cpu", "eager"])
def test_bodies_on_fixed_joints(target):
    """Bodies without velocities in the middle of a knot, at its end, and on the world."""
    builder, rng = kt.ModelBuilder("fixed"), np.random.default_rng(9)
    inertia = kt.Inertia(1.0, inertia=(0.1, 0.1, 0.1))
    builder.add_body("post", None, kt.Fixed(), inertia=inertia)
    for k, joint in enumerate((kt.Revolute((0, 1, 0)), kt.Fixed(), kt.Revolute((1, 0, 0)), kt.Fixed())):
        above = "post" if k == 0 else f"link_{k - 1}"
        builder.add_body(f"link_{k}", above, joint, kt.Pose(p=(0.1, 0, 0.1)), inertia)
    builder.add_body("stone", None, kt.Free(), inertia=inertia)
    model = builder.build()
    q, v = model.random_state(rng)
    T = kt.placements(model, q)
    for body in ("post", "link_3", "stone"):
        at = kt.Pose(T[model.body_index(body) - 1]).inverse().apply(0.03 * rng.normal(size=3))
        model = model.add_geometry(body, kt.Sphere(0.05), kt.Pose(p=at), stiffness=2e4)
    model = model.replace(pairs="all")
    assert len(model.pairs) == 3
    x = 0.01 * rng.normal(size=model.nv)
    if target == "eager":
        agrees(model, q, v, x, target=target)
    else:
        f_ext = np.zeros((model.nbodies, 6))  # then the bodies are those of the model, as they are
        tau, h = np.zeros(model.nv), 1e-3
        given = {"dt": h, "ground": False, "contact_accuracy": 1e-12}
        one, other = kt.step(model, q, v, tau, f_ext, **given), kt.step(model, q, v, tau, **given)
        np.testing.assert_allclose(one[1], other[1], atol=1e-9)
        agrees(model, q, v, x)


@pytest.mark.parametrize("more", [{"integrator": "rk4"}, {"constraints": kt.FrameConstraint("thing_0")}])
def test_pairs_without_an_effect_are_not_silent(more):
    model = things((kt.Sphere(0.1), 1.0), (kt.Sphere(0.1), 1.0))
    q = placed(model, (0, 0, 0), (0, 0, 0.5))
    given = {"duration": 0.002, "dt": 1e-3, "ground": False}
    with pytest.warns(UserWarning, match="bodies of 'things' pass through each other"):
        kt.simulate(model, q, np.zeros(12), **given, **more)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kt.simulate(model.replace(pairs=()), q, np.zeros(12), **given, **more)
        kt.simulate(model, q, np.zeros(12), **given)
