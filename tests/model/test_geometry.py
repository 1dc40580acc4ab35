"""Shapes, the points at which they touch, and what models do with them."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import kinetree as kt
from kinetree.compiler.ir.graph import Graph
from kinetree.errors import ModelError
from kinetree.model.geometry import ContactPoint
from kinetree.stages.job import model_digest

INERTIA = kt.Inertia(2.0, inertia=(0.1, 0.2, 0.3))
SHAPES = (
    kt.Point(), kt.Sphere(0.3), kt.Capsule(0.2, 0.5), kt.Box((0.1, 0.2, 0.3)), kt.Cylinder(0.2, 0.4),
    kt.Vertices([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]),
)  # fmt: skip


def robot(seed: int = 0) -> kt.Model:
    """Two bodies and the world, with a shape of each kind somewhere."""
    rng = np.random.default_rng(seed)
    builder = kt.ModelBuilder("robot")
    builder.add_body("base", None, kt.Free(), inertia=INERTIA)
    builder.add_body("arm", "base", kt.Revolute((0, 1, 0)), kt.Pose(p=(1, 0, 0)), INERTIA)
    for k, shape in enumerate(SHAPES):
        carrier = ("base", "arm", None)[k % 3]
        builder.add_geometry(
            carrier, shape, kt.Pose.random(rng), 0.1 * k, None if k % 2 else 1e3 * (k + 1), k / 4
        )
    return builder.add_ground(kt.Ground((0, 1, 2), 0.3)).build()


def surface(shape, rng, count: int = 20_000) -> np.ndarray:
    """Points all over a shape, dense enough to know how far it reaches in any direction."""
    n = rng.normal(size=(count, 3))
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    turn = rng.uniform(0, 2 * math.pi, count)
    around = np.stack([np.cos(turn), np.sin(turn), np.zeros(count)], 1)
    match shape:
        case kt.Point():
            return np.zeros((1, 3))
        case kt.Sphere():
            return shape.radius * n
        case kt.Capsule():
            return shape.radius * n + np.sign(n[:, 2:]) * (0, 0, shape.half_length)
        case kt.Cylinder():
            return shape.radius * around + np.sign(n[:, 2:]) * (0, 0, shape.half_length)
        case kt.Box():
            return np.sign(n) * shape.half_extents
    return np.array(shape.points)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.kind)
def test_the_lowest_point_touches(shape):
    """Along any normal, the points reach as far as the whole shape, and are on it."""
    rng = np.random.default_rng(1)
    cloud = surface(shape, rng)
    points = kt.zoo.solid(shape, 1.0).contact_points if shape.kind != "vertices" else None
    points = points or kt.ModelBuilder("m").add_body("b", None, kt.Free(), inertia=INERTIA).add_geometry(
        "b", shape).build().contact_points  # fmt: skip
    for _ in range(30):
        normal = rng.normal(size=3)
        normal /= np.linalg.norm(normal)
        found = np.array([point.touching(tuple(normal)) for point in points])
        lowest = (cloud @ normal).min()
        assert (found @ normal).min() == pytest.approx(lowest, abs=2e-3)
        assert (found @ normal).min() <= lowest + 1e-12
        farthest = np.linalg.norm(cloud, axis=1).max()
        assert np.linalg.norm(found, axis=1).max() <= farthest * (1 + 1e-3)


@pytest.mark.parametrize("tilt", [0.0, 1e-9, 1e-7, 1e-5, 1e-3])
def test_a_cylinder_stands_as_firmly_in_all_directions(tilt):
    """The moment that rights it does not depend on where its three points happen to be."""
    points = kt.zoo.solid(kt.Cylinder(0.2, 0.4)).contact_points[:3]
    stiffness = []
    for angle in np.linspace(0, 6, 7):
        normal = (math.sin(tilt) * math.cos(angle), math.sin(tilt) * math.sin(angle), math.cos(tilt))
        at = np.array([point.touching(normal) for point in points])
        assert np.allclose(np.hypot(at[:, 0], at[:, 1]), 0.2) and np.allclose(at[:, 2], -0.4)
        assert np.allclose(at[:, :2].sum(axis=0), 0, atol=1e-15)
        stiffness.append(at[:, :2].T @ at[:, :2])  # of tilting about x and y
    assert np.allclose(stiffness, 1.5 * 0.2**2 * np.eye(2), atol=1e-15)


def test_a_cylinder_on_its_side_rolls_without_bumps():
    points = kt.zoo.solid(kt.Cylinder(0.2, 0.4)).contact_points
    for angle in np.linspace(0, 2 * math.pi, 50):
        normal = (math.cos(angle), math.sin(angle), 0.0)
        heights = sorted(np.dot(point.touching(normal), normal) for point in points)
        assert heights[:2] == pytest.approx([-0.2, -0.2]) and heights[2] > -0.2 + 0.2


def test_touching_takes_any_kind_of_number():
    points = robot().contact_points
    batch = np.random.default_rng(0).normal(size=(3, 5))
    batch /= np.linalg.norm(batch, axis=0)
    graph = Graph()
    normal = graph.array("n", "input", 3)
    for point in points:
        together = np.stack([np.broadcast_to(x, 5) for x in point.touching(tuple(batch))])
        for k in range(5):
            one = point.touching(tuple(batch[:, k].tolist()))
            assert np.allclose(together[:, k], one, atol=1e-15)
            slopes = np.array(
                [np.imag(point.touching(tuple(batch[:, k] + 1e-30j * e))) / 1e-30 for e in np.eye(3)]
            )
            assert np.isfinite(slopes.astype(float)).all()
        point.touching(tuple(graph.load(normal, k) for k in range(3)))


def test_points_move_with_their_frame():
    rng = np.random.default_rng(2)
    for point in robot().contact_points:
        pose, normal = kt.Pose.random(rng), np.array(kt.Pose.random(rng).R)[0]
        moved = point.moved(pose, body=7)
        assert isinstance(moved, ContactPoint) and moved.body == 7 and moved.stiffness == point.stiffness
        turned = tuple(np.array(pose.R) @ normal)
        assert np.allclose(moved.touching(turned), pose.apply(point.touching(tuple(normal))), atol=1e-12)


def test_order_and_count():
    model = robot()
    assert model.geometry_names == ("base", "arm", "world", "base_2", "arm_2", "world_2")
    found = [point.geometry for point in model.contact_points]
    assert found == ["base"] + ["arm"] + ["base_2"] * 8 + ["arm_2"] * 6  # the world does not move
    assert [p.body for p in model.contact_points] == [1, 2] + [1] * 8 + [2] * 6
    assert model.contact_points is model.contact_points


@pytest.mark.parametrize(
    ("shape", "feet"), [(kt.Point(), 1), (kt.Capsule(0.1, 0.1), 2), (kt.Box((1, 1, 1)), 4)]
)
def test_stiffness_from_the_weight(shape, feet):
    model = kt.zoo.solid(shape, 3.0)
    assert [p.stiffness for p in model.contact_points] == pytest.approx(
        [3 * 9.81 / (feet * 1e-3)] * len(shape.supports)
    )
    lighter = model.replace(gravity=(0, 0, -1.62)).contact_points[0].stiffness
    assert lighter == pytest.approx(3 * 1.62 / (feet * 1e-3))
    assert model.replace(gravity=(0, 0, 0)).contact_points[0].stiffness == pytest.approx(3e3 * 9.81 / feet)


def test_two_robots_have_weights_of_their_own():
    light, heavy = kt.zoo.solid(kt.Sphere(0.1), 0.5), kt.zoo.solid(kt.Sphere(0.1), 50.0)
    both = light.attach(heavy, prefix="heavy_")
    assert [p.stiffness for p in both.contact_points] == pytest.approx([500 * 9.81, 50_000 * 9.81])


def test_the_weight_is_that_of_the_model_whatever_parameters_are_given():
    from kinetree.sweep.numbers import with_numbers

    model = kt.zoo.quadruped()
    other = with_numbers(model, parameters=(2 * model.parameters).tolist())
    assert other.contact_points == model.contact_points


def test_feet_of_the_zoo():
    counts = {"quadruped": 4, "humanoid": 8, "biped": 12, "legged": 4}
    for name, count in counts.items():
        model = getattr(kt.zoo, name)()
        assert len(model.contact_points) == count
        R = kt.placements(model, model.neutral())
        at = [R[p.body - 1] @ (*p.position, 1.0) for p in model.contact_points]
        assert np.allclose([x[2] for x in at], min(x[2] for x in at))  # all on one level


# --- models ---
def test_equality_hash_copies_and_pickles():
    model = robot()
    assert model == robot() and pickle.loads(pickle.dumps(model)) == model and copy.deepcopy(model) == model
    assert model != robot(1) and model != model.replace(ground=None)
    assert len({kt.Sphere(0.1), kt.Sphere(0.1), kt.Sphere(0.2), kt.Capsule(0.1, 0.2)}) == 3


def test_dictionaries():
    model = robot()
    assert kt.Model.from_dict(model.to_dict()) == model
    plain = kt.zoo.arm7()
    assert "geometries" not in plain.to_dict() and "ground" not in plain.to_dict()
    field = model.replace(ground=kt.Heightfield([[0, 1], [2, 3.5]], 0.1))
    assert kt.Model.from_dict(field.to_dict()) == field


def test_the_normal_of_a_ground_stays_as_it_is():
    for normal in np.random.default_rng(0).normal(size=(100, 3)):
        ground = kt.Ground(normal, 0.1)
        assert kt.Ground(ground.normal, 0.1) == ground
        assert abs(math.hypot(*ground.normal) - 1.0) < 2.3e-16


def test_kernels_are_kept_apart():
    model = robot()
    others = [
        model.replace(geometries={"base": {"friction": 0.7}}), model.replace(ground=None),
        model.replace(geometries={"world_2": {"shape": kt.Vertices(2 * np.eye(4, 3))}}),
    ]  # fmt: skip
    assert len({model_digest(m) for m in (model, *others)}) == 4
    assert model_digest(model) == model_digest(robot())


def test_dynamics_do_not_change():
    model, bare = robot(), robot().remade(geometries=(), ground=None)
    q, v = model.random_state(0)
    tau = np.ones(model.nv)
    assert np.array_equal(kt.forward_dynamics(model, q, v, tau), kt.forward_dynamics(bare, q, v, tau))


def test_edits_keep_shapes_where_they_are():
    model = robot()
    q = model.random_state(3)[0]
    at = kt.placements(model, q)

    def places(m, q):
        world = np.concatenate([np.eye(4)[None], kt.placements(m, q)])
        return {g.name: world[g.body] @ np.asarray(g.placement, float) for g in m.geometries}

    before = places(model, q)
    angle = q[model.position_index("arm")]
    locked = model.lock({"arm": angle})
    own = locked.positions({"base": q[model.position_index("base")]})
    for name, pose in places(locked, own).items():
        assert np.allclose(pose, before[name])
    seat = kt.Pose.random(np.random.default_rng(1))
    pair = model.attach(model, "arm", seat, prefix="other_")
    both = places(pair, pair.positions({"base": q[model.position_index("base")], "arm": angle}))
    assert np.allclose(both["other_world"], at[1] @ np.asarray(seat @ model.geometries[2].placement, float))
    assert len(pair.geometries) == 12 and pair.ground == model.ground
    part = model.subtree("arm")
    assert part.geometry_names == ("arm", "arm_2") and {g.body for g in part.geometries} == {1}
    builder = kt.ModelBuilder("ball").add_body("b", None, kt.Free())
    ball = builder.add_geometry("b", kt.Point(), name="arm").build()
    with pytest.raises(ModelError, match="both have a geometry named 'arm'"):
        model.attach(ball)


def test_replacing_and_adding():
    model = robot()
    other = model.replace(geometries={"base": {"friction": 0.25, "stiffness": None}, "arm": None})
    assert other.geometry_names == ("base", "world", "base_2", "arm_2", "world_2")
    assert other.geometries[0] == model.geometries[0]._replace(friction=0.25, stiffness=None)
    foot = kt.zoo.quadruped().add_geometry("front_left_foot", kt.Sphere(0.02), name="ball")
    assert foot.geometries[-1].placement.p == (0.0, 0.0, -0.21) and foot.geometries[-1].body == 4
    assert kt.zoo.quadruped().add_geometry(4, kt.Point()).geometry_names[-1] == "front_left_shank"
    other = foot.replace(geometries={"ball": {"shape": kt.Point()}})
    assert "shapes: 5 points; 5 contact points" in repr(other)


# --- hulls ---
def test_hulls_keep_what_is_outermost():
    rng = np.random.default_rng(0)
    corners = np.array(list(np.ndindex(2, 2, 2)), float)
    inside = np.concatenate([corners, rng.uniform(0.1, 0.9, (500, 3))])
    assert sorted(kt.Vertices.hull(inside).points) == sorted(map(tuple, corners.tolist()))
    ball = rng.normal(size=(3000, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    for most in (16, 64):
        kept = np.array(kt.Vertices.hull(ball, most).points)
        ways = rng.normal(size=(200, 3))
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
        gap = 1 - (kept @ ways.T).max(axis=0).min()
        assert len(kept) == most and gap < 6 / most
    flat = np.concatenate([corners[::2] * (1, 1, 0), rng.uniform(0.1, 0.9, (50, 3)) * (1, 1, 0)])
    assert len(kt.Vertices.hull(flat).points) == 4
    assert len(kt.Vertices.hull(np.outer(np.arange(9.0), (1, 2, 3))).points) == 2
    assert len(kt.Vertices.hull(np.ones((5, 3))).points) == 1


def test_lengths_of_a_box_may_come_one_by_one():
    assert kt.Box(x / 2 for x in (0.2, 0.4, 0.6)) == kt.Box((0.1, 0.2, 0.3))


# --- what is refused ---
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: kt.Sphere(-1.0), "Sphere: radius is -1.0: it must be a positive"),
        (lambda: kt.Sphere(float("nan")), "radius is nan"),
        (lambda: kt.Sphere("big"), "radius is 'big'"),
        (lambda: kt.Capsule(0.1, math.inf), "half_length is inf"),
        (lambda: kt.Box((1, 2)), "three lengths"),
        (lambda: kt.Box((1, 2, 0)), "half_extents is 0"),
        (lambda: kt.Vertices([]), "shape"),
        (lambda: kt.Vertices([(0, 0)]), "shape"),
        (lambda: kt.Vertices([(0, 0, math.nan)]), "not finite"),
        (lambda: kt.Vertices("abc"), "not an array"),
        (lambda: kt.Vertices(np.zeros((1000, 3))), r"Vertices.hull\(points\)"),
        (lambda: kt.Vertices.hull(np.eye(3), 2), "from 4 to 256"),
        (lambda: kt.zoo.solid(kt.Vertices(np.eye(3))), "no volume"),
        (lambda: kt.Ground((0, 0, 0)), "needs a direction"),
        (lambda: kt.Ground(height=math.nan), "height is nan"),
        (lambda: kt.Heightfield(np.zeros(3), 1), "at least 2"),
        (lambda: kt.Heightfield([[1, 2], [3, math.nan]], 1), "not finite"),
        (lambda: kt.Heightfield(np.zeros((2, 2)), 0.0), "positive"),
        (lambda: kt.Heightfield(np.zeros((2, 2)), 1, (0, 0, 0, 0)), "origin"),
        (lambda: kt.Heightfield("abc", 1), "not an array"),
    ],
)
def test_shapes_and_grounds_that_are_not(make, said):
    with pytest.raises(ModelError, match=said):
        make()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("rof", kt.Point()), "no body 'rof'; did you mean"),
        (("roof", kt.Sphere), "write Sphere"),
        (("roof", "box"), "as in Sphere"),
        (("roof", kt.Point(), "here"), "placement must be a Pose"),
        (("roof", kt.Point(), None, -0.1), "friction is -0.1: it must be finite and not negative"),
        (("roof", kt.Point(), None, 1.0, 0.0), "stiffness is 0.0: it must be finite and positive"),
        (("roof", kt.Point(), None, 1.0, None, math.inf), "dissipation is inf"),
        (("roof", kt.Point(), None, 1.0, None, 1.0, "taken"), "already contains a geometry named 'taken'"),
        (("roof", kt.Point(), None, 1.0, None, 1.0, ""), "non-empty string"),
    ],
)
def test_geometries_that_are_not(given, said):
    builder = kt.ModelBuilder("m").add_body("roof").add_geometry("roof", kt.Point(), name="taken")
    with pytest.raises(ModelError, match=said):
        builder.add_geometry(*given)
    with pytest.raises(ModelError, match=said.replace("no body", "no frame")):
        builder.build().add_geometry(*given)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"geometries": 3}, "takes a dict"),
        ({"geometries": {"bse": None}}, "no geometry 'bse'; did you mean 'base'"),
        ({"geometries": {"base": {"colour": 1}}}, "no entry 'colour'"),
        ({"geometries": {"base": 0.3}}, "needs a dict of what changes"),
        ({"ground": 3}, "must be a Ground or a Heightfield"),
    ],
)
def test_replacements_that_are_not(changes, said):
    with pytest.raises(ModelError, match=said):
        robot().replace(**changes)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"shape": "ball", "size": [1]}, "no shape 'ball'"),
        ({"shape": "sphere", "size": [1, 2]}, "a sphere cannot have 2 numbers"),
        ({"shape": "sphere", "size": "x"}, "list of numbers"),
        ({"shape": "sphere", "size": [-1]}, "positive"),
        ({"shape": "vertices", "size": [1, 2]}, "cannot have 2 numbers"),
        ({"shape": "point", "colour": 1}, "no entry 'colour'"),
    ],
)
def test_entries_that_are_not(entry, said):
    data = kt.zoo.pendulum().to_dict() | {"geometries": [{"body": "bob", **entry}]}
    with pytest.raises(ModelError, match=said):
        kt.Model.from_dict(data)


def test_there_is_one_ground():
    builder = kt.ModelBuilder("m").add_ground(kt.Ground())
    with pytest.raises(ModelError, match="has a ground already"):
        builder.add_ground(kt.Ground())
    with pytest.raises(ModelError, match="must be a Ground"):
        kt.ModelBuilder("m").add_ground(None)
