"""Shapes on the ground as physics has them: what stands, tips, rolls and rests where."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kinetree as kt

THIRDS = [2 * math.pi * k / 3 for k in range(3)]
TETRAHEDRON = kt.Vertices(
    [(0.0, 0.0, 0.15), *((0.2 * math.cos(a), 0.2 * math.sin(a), -0.05) for a in THIRDS)]
)
CAN = kt.zoo.solid(kt.Cylinder(0.03, 0.06), mass=0.3)


def placed(model: kt.Model, height: float, angle: float = 0.0, axis=(1.0, 0.0, 0.0)) -> np.ndarray:
    q, axis = model.neutral(), np.array(axis) / np.linalg.norm(axis)
    q[:3], q[3], q[6] = math.sin(angle / 2) * axis, math.cos(angle / 2), height
    return q


def tilt(q: np.ndarray) -> float:
    return 2 * math.atan2(math.hypot(q[0], q[1]), math.hypot(q[2], q[3]))


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.3, 1.0, 0.0)])
def test_a_cylinder_tips_where_its_centre_passes_its_rim(axis):
    critical = math.atan2(0.03, 0.06)
    shares = np.array([0.5, 0.97, 1.03, 1.2])
    q = [placed(CAN, 0.06 * math.cos(a) + 0.03 * math.sin(a), a, axis) for a in critical * shares]
    run = kt.simulate(CAN, np.array(q), np.zeros((4, 6)), duration=2.0, dt=2e-3)
    ends = [tilt(state) for state in run.q[:, -1]]
    assert max(ends[:2]) < 0.2 * critical and ends[2:] == pytest.approx([math.pi / 2] * 2, abs=1e-3)


def test_a_cylinder_rolls_without_loss_and_a_ball_ends_rolling():
    q, v = placed(CAN, 0.03 - 2e-3, math.pi / 2), np.zeros(6)
    R = kt.placements(CAN, q)[0, :3, :3]
    v[:3], v[3:] = R.T @ (0.0, 1.0 / 0.03, 0.0), R.T @ (1.0, 0.0, 0.0)
    run = kt.simulate(CAN, q, v, duration=1.0, dt=2e-3)
    assert run.q[-1, 4] == pytest.approx(1.0, abs=1e-3) and np.ptp(run.q[:, 6]) < 1e-4
    ball = kt.zoo.solid(kt.Sphere(0.1), mass=1.0)
    q, v = placed(ball, 0.1), np.zeros(6)
    v[3] = 1.0
    run = kt.simulate(ball, q, v, duration=1.0, dt=2e-3)
    speed = kt.placements(ball, run.q[-1])[0, :3, :3] @ run.v[-1, 3:]
    assert speed[0] == pytest.approx(5 / 7, rel=1e-4)


@pytest.mark.parametrize(
    ("shape", "height", "points"),
    [
        (kt.Point(), 0.0, 1), (kt.Sphere(0.1), 0.1, 1), (kt.Box((0.1, 0.2, 0.05)), 0.05, 4),
        (kt.Cylinder(0.1, 0.05), 0.05, 3), (TETRAHEDRON, 0.05, 3),
    ],
    ids=lambda x: getattr(x, "kind", ""),
)  # fmt: skip
def test_bodies_sink_in_by_the_law(shape, height, points):
    model = kt.zoo.solid(shape, 2.0)
    if shape.kind == "point":
        model = model.replace(inertia={"body": kt.Inertia(2.0, inertia=(0.1, 0.1, 0.1))})
    run = kt.simulate(model, placed(model, height), np.zeros(6), duration=2.0, dt=2e-3)
    depth = 2.0 * 9.81 / (points * model.contact_points[0].stiffness)
    assert height - run.q[-1, 6] == pytest.approx(depth, rel=1e-3)


def test_a_file_rests_where_it_rests_in_mujoco():
    mujoco = pytest.importorskip("mujoco")
    text = (
        '<mujoco><option timestep="0.001"/><worldbody><geom type="plane" size="0 0 1"/><body pos="0 0 .1">'
        '<freejoint/><geom type="box" size=".1 .1 .1" mass="3" priority="1" solref="0.04 1" '
        'solimp="0.9 0.95 0.5"/></body></worldbody></mujoco>'
    )
    peer = mujoco.MjModel.from_xml_string(text)
    state = mujoco.MjData(peer)
    mujoco.mj_step(peer, state, 3000)
    model = kt.load(text)
    run = kt.simulate(model, placed(model, 0.1), np.zeros(6), duration=2.0, dt=2e-3)
    assert run.q[-1, 6] == pytest.approx(state.qpos[2], abs=1e-6)
