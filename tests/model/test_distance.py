"""Distances of shapes against points strewn over their surfaces, and which geometries make pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ModelError
from kinetree.model.distance import ROUND, between, outside

SHAPES = (kt.Point(), kt.Sphere(0.4), kt.Capsule(0.2, 0.5), kt.Box((0.3, 0.5, 0.2)), kt.Cylinder(0.3, 0.4))
IDS = [shape.kind for shape in SHAPES]


def inside(shape, p: np.ndarray) -> np.ndarray:
    """Whether points are in a shape, from its definition."""
    x, y, z = np.moveaxis(p, -1, 0)
    match shape:
        case kt.Point():
            return np.zeros(x.shape, bool)
        case kt.Sphere():
            return x**2 + y**2 + z**2 < shape.radius**2
        case kt.Capsule():
            rest = np.maximum(np.abs(z) - shape.half_length, 0.0)
            return x**2 + y**2 + rest**2 < shape.radius**2
        case kt.Box():
            return (np.abs(p) < shape.half_extents).all(axis=-1)
    return (x**2 + y**2 < shape.radius**2) & (np.abs(z) < shape.half_length)


def skin(shape, count: int = 50) -> np.ndarray:
    """Points all over the surface of a shape."""
    u = np.linspace(-1, 1, count)
    turn = np.linspace(0, 2 * np.pi, 2 * count)
    ring = np.stack([np.cos(turn), np.sin(turn)], -1)
    a, b = np.meshgrid(u, turn, indexing="ij")
    ball = np.stack([np.sqrt(1 - a * a) * np.cos(b), np.sqrt(1 - a * a) * np.sin(b), a], -1).reshape(-1, 3)
    match shape:
        case kt.Point():
            return np.zeros((1, 3))
        case kt.Sphere():
            return shape.radius * ball
        case kt.Box():
            i, j = (x.ravel() for x in np.meshgrid(u, u))
            one = np.ones_like(i)
            faces = [np.roll(np.stack([s * one, i, j], -1), k, axis=1) for s in (-1, 1) for k in range(3)]
            return np.concatenate(faces) * shape.half_extents
    r, h = shape.radius, shape.half_length
    side = np.concatenate([np.column_stack([r * ring, np.full(len(ring), h * z)]) for z in u])
    if isinstance(shape, kt.Capsule):
        return np.concatenate([side, r * ball + np.where(ball[:, 2:] < 0, -1, 1) * (0, 0, h)])
    disc = np.concatenate([np.column_stack([r * x * ring, np.full(len(ring), h)]) for x in u[count // 2 :]])
    return np.concatenate([side, disc, disc * (1, 1, -1)])


@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
def test_a_point_and_a_shape(shape):
    rng = np.random.default_rng(0)
    surface = skin(shape)
    for p in rng.uniform(-1, 1, (60, 3)):
        gap, normal = outside(shape, tuple(p))
        wanted = np.linalg.norm(surface - p, axis=1).min()
        assert abs(gap) <= wanted + 1e-12 and abs(gap) == pytest.approx(wanted, abs=1.5e-2)
        assert (gap < 0) == inside(shape, p) and np.linalg.norm(normal) == pytest.approx(1)
        steps = [outside(shape, tuple(p + 1e-30j * e))[0] for e in np.eye(3)]
        assert np.allclose(np.imag(steps) / 1e-30, normal, atol=1e-12)  # the gradient of the gap
        foot = p - gap * np.array(normal)
        assert outside(shape, tuple(foot))[0] == pytest.approx(0, abs=1e-12)


def pairs_of_shapes():
    known = [
        (a, b) for a, b in itertools.product(SHAPES, SHAPES) if isinstance(a, ROUND) or isinstance(b, ROUND)
    ]
    return [pytest.param(a, b, id=f"{a.kind}-{b.kind}") for a, b in known]


def by_sampling(a, at, b, to) -> float:
    """The gap from many points of the line inside a round shape."""
    if not isinstance(a, ROUND):
        return by_sampling(b, to, a, at)
    half, radius = (a.half_length if a.kind == "capsule" else 0.0), (0.0 if a.kind == "point" else a.radius)
    line = np.linspace(-half, half, 301)[:, None] * np.array(at.R)[:, 2] + at.p
    return float(np.min(outside(b, tuple(((line - to.p) @ np.array(to.R)).T))[0])) - radius


@pytest.mark.parametrize(("a", "b"), pairs_of_shapes())
def test_two_shapes(a, b):
    rng = np.random.default_rng(1)
    seen = {"apart": 0, "deep": 0}
    for k in range(12):
        at, to = kt.Pose.random(rng), kt.Pose.random(rng)
        at = kt.Pose(at.R, np.array(to.p) + (0.2 if k % 2 else 1.0) * np.array(at.p))
        found = between(a, at, b, to)
        seen["deep" if found.gap < 0 else "apart"] += 1
        assert np.linalg.norm(found.normal) == pytest.approx(1)
        assert np.allclose(
            np.subtract(found.point, found.other), found.gap * np.array(found.normal), atol=1e-9
        )
        for shape, pose, point in ((a, at, found.point), (b, to, found.other)):
            assert k % 2 or outside(shape, pose.inverse().apply(point))[0] == pytest.approx(0, abs=1e-9)
        wanted = by_sampling(a, at, b, to)
        assert found.gap <= wanted + 1e-9 and found.gap == pytest.approx(wanted, abs=4e-3)
        if found.gap > 0:
            here, there = skin(a, 10) @ np.array(at.R).T + at.p, skin(b, 10) @ np.array(to.R).T + to.p
            apart = np.linalg.norm(here[:, None] - there[None], axis=2).min()
            assert found.gap <= apart + 1e-9 and found.gap == pytest.approx(apart, abs=0.12)
        assert between(b, to, a, at).gap == pytest.approx(found.gap, abs=1e-9)
    assert seen["apart"] > 2 and (seen["deep"] or "point" in (a.kind, b.kind))


@pytest.mark.parametrize("turn", [0.0, 1e-9, 1e-6])
def test_capsules_that_are_nearly_parallel(turn):
    a, b = kt.Capsule(0.1, 0.5), kt.Capsule(0.2, 0.7)
    tilted = kt.Pose(kt.Rotation.from_axis_angle((1, 0, 0), turn), (1.0, 0.0, 0.3))
    assert between(a, tilted, b, kt.Pose()).gap == pytest.approx(0.7, abs=1e-6)
    assert between(a, kt.Pose(p=(0, 0, 2)), b, kt.Pose()).gap == pytest.approx(2 - 1.2 - 0.3)


def test_traced_and_eager_agree():
    a, b, model = kt.Capsule(0.1, 0.5), kt.Box((0.3, 0.2, 0.1)), kt.zoo.pendulum()

    @kt.function("place(3), turn -> gap")
    def gap(model, place, turn):
        R = kt.Rotation.from_axis_angle((0.6, 0.8, 0.0), turn)
        return between(a, kt.Pose(R, tuple(place)), b, kt.Pose(p=(0.1, 0.2, 0.3))).gap

    rng = np.random.default_rng(2)
    places, turns = rng.uniform(-1, 1, (30, 3)), rng.uniform(-3, 3, 30)
    assert np.allclose(gap(model, places, turns), gap(model, places, turns, target="eager"), atol=1e-12)
    assert gap.lower(model, ("place", "turn"), {}).ops["flops"] < 400  # the search is a loop


def test_vertices_in_a_plane_are_refused():
    """They have no inside."""
    for other in SHAPES[1:]:
        with pytest.raises(ModelError, match="vertices that lie in one plane cannot touch bodies"):
            between(kt.Vertices(np.eye(3)), kt.Pose(), other, kt.Pose())
    with pytest.raises(ModelError, match="vertices that lie in one plane cannot touch bodies"):
        outside(kt.Vertices(np.eye(3)), (0, 0, 0))


def test_which_geometries_make_pairs():
    builder = kt.ModelBuilder("m")
    tree = {"a": None, "b": "a", "plate": "b", "c": "plate", "d": "a"}
    for name, parent in tree.items():
        joint = {"a": kt.Free(), "plate": kt.Fixed()}.get(name, kt.Revolute())
        builder.add_body(name, parent, joint).add_geometry(name, kt.Sphere(0.1))
    for carrier in (None, None, "a"):
        builder.add_geometry(carrier, kt.Sphere(1.0))
    found = {frozenset(pair) for pair in builder.build().contact_pairs}
    wanted = {("a", "c"), ("a_2", "c"), ("b", "d"), ("plate", "d"), ("c", "d")}
    moving = ("a", "a_2", "b", "plate", "c", "d")  # the world carries nothing that flies freely
    wanted |= {(name, world) for name in moving for world in ("world", "world_2")}
    assert found == {frozenset(pair) for pair in wanted}
