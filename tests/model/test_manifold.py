"""Where two shapes touch, and how far they are apart."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import share

import kinetree as kt
from kinetree.model.boxes import overlap
from kinetree.model.distance import between, outside
from kinetree.model.manifold import count, touches

mujoco = pytest.importorskip("mujoco")

SHAPES = {
    "sphere": kt.Sphere(0.1), "capsule": kt.Capsule(0.05, 0.2), "box": kt.Box((0.1, 0.2, 0.15)),
    "cylinder": kt.Cylinder(0.1, 0.2),
}  # fmt: skip


def geom(kind: str, pose: kt.Pose) -> str:
    x, y, z, w = pose.rotation.as_quaternion()
    size, pos = " ".join(map(str, SHAPES[kind].size)), " ".join(map(str, pose.p))
    return f'<geom type="{kind}" size="{size}" pos="{pos}" quat="{w} {x} {y} {z}"/>'


def distance(a: str, at: kt.Pose, b: str, to: kt.Pose) -> float:
    """By MuJoCo."""
    mass = '<freejoint/><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>'
    option = '<option ccd_iterations="1000" ccd_tolerance="1e-10"/>'
    world = f"<worldbody>{geom(a, at)}<body>{geom(b, to)}{mass}</body></worldbody>"
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{option}{world}</mujoco>")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return mujoco.mj_geomDistance(model, data, 0, 1, 10.0, None)


@pytest.mark.parametrize("a, b", share([("box", "box"), ("box", "cylinder"), ("capsule", "box")], 3))
def test_distances_of_solids_are_those_of_a_peer(a, b):
    rng, apart = np.random.default_rng(0), 0
    for _ in range(15):
        at, to = (kt.Pose(kt.Rotation.random(rng), 0.3 * rng.normal(size=3)) for _ in range(2))
        found, wanted = between(SHAPES[a], at, SHAPES[b], to), distance(a, at, b, to)
        if wanted > 0:
            apart += 1
            assert abs(found.gap - wanted) < 1e-8
            assert np.allclose(np.subtract(found.point, found.other), found.gap * np.array(found.normal))
        elif (a, b) == ("box", "box"):
            assert abs(found.gap - wanted) < 2e-3  # edges count only where they are clearly less deep
    assert apart > 3


def test_points_of_two_boxes_lie_in_both_and_reach_the_deepest():
    rng, reached, seen = np.random.default_rng(1), 0, 0
    for _ in range(150):
        half = [tuple(x) for x in rng.uniform(0.05, 0.5, (2, 3))]
        at, to = kt.Pose(kt.Rotation.random(rng), 0.4 * rng.normal(size=3)), kt.Pose(kt.Rotation.random(rng))
        found = overlap(half[0], at, half[1], to)
        away = np.array(found.normal) * (found.depth - 0.005)
        at = kt.Pose(at.R, np.array(at.p) + away)  # 5 mm deep
        found = overlap(half[0], at, half[1], to)
        if found.depth <= 0:
            continue
        points = touches(kt.Box(half[0]), at, kt.Box(half[1]), to)
        assert len(points) == count(kt.Box(half[0]), kt.Box(half[1])) == 9
        assert min(p.gap for p in points) > -found.depth - 1e-12
        seen += 1
        reached += min(p.gap for p in points) < -0.8 * found.depth
        for p in points:
            if p.gap < 0:
                for h, pose in zip(half, (at, to), strict=True):
                    assert outside(kt.Box(h), pose.inverse().apply(p.point))[0] < 0.004
    assert seen > 100 and reached > 0.93 * seen


def test_points_move_without_jumps():
    """Two boxes that slide and turn over each other: what they feel together changes little by little."""
    a, b = kt.Box((0.1, 0.06, 0.05)), kt.Box((0.08, 0.08, 0.05))
    before = None
    for s in np.linspace(0, 1, 400):
        turn = kt.Rotation.from_rotation_vector((1e-3 * s, 0, 1.5 * s))
        points = touches(a, kt.Pose(turn, (0.1 * s, 0.02, 0.099)), b, kt.Pose())
        force = np.array([max(0.0, -p.gap) * p.share for p in points])
        center = force @ np.array([p.point for p in points]) / force.sum()
        if before is not None:
            assert np.abs(center - before).max() < 4e-3
        before = center


def test_vertices_that_are_a_box_are_far_from_a_point_as_the_box_is():
    half = (0.1, 0.2, 0.15)
    cloud = kt.Vertices([(x, y, z) for x in (-0.1, 0.1) for y in (-0.2, 0.2) for z in (-0.15, 0.15)])
    rng = np.random.default_rng(2)
    for point in 0.2 * rng.normal(size=(30, 3)):
        (gap, normal), (other, wanted) = (outside(s, tuple(point)) for s in (cloud, kt.Box(half)))
        assert abs(gap - other) < 1e-14 and np.allclose(normal, wanted)


def test_shapes_without_volume_are_refused():
    flat = kt.Vertices([(0, 0, 0), (1, 0, 0), (0, 1, 0)])
    with pytest.raises(kt.errors.ModelError, match="one plane"):
        count(flat, kt.Box((1, 1, 1)))
