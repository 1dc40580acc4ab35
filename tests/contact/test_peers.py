"""A trotting quadruped beside MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.scenes import gains, quadruped, standing

import kinetree as kt

STEPS, H = 1000, 2e-3


def trot(model: kt.Model, q: np.ndarray) -> np.ndarray:
    """Targets (steps, nq) of two pairs of legs that swing in turn, twice a second."""
    phase = 2 * np.pi * 2.0 * H * np.arange(STEPS)
    goal = np.tile(q, (STEPS, 1))
    for name in model.joint_names[1:]:
        place = model.position_index(name).start
        turn = phase + (0.0 if name.startswith(("front_left", "rear_right")) else np.pi)
        if "thigh" in name:
            goal[:, place] += 0.15 * np.sin(turn)
        if "shank" in name:
            goal[:, place] -= 0.3 * np.maximum(0.0, np.cos(turn))
    return goal


def mujoco_twin(model: kt.Model, tmp_path) -> object:
    """The same robot: its points are spheres of 1 mm, and its servos position actuators."""
    mujoco = pytest.importorskip("mujoco")
    bare = model.replace(geometries=dict.fromkeys(model.geometry_names))
    spec = mujoco.MjSpec.from_file(str(kt.save(bare, tmp_path / "bare.xml")))
    spec.option.timestep = H
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE
    how = {"friction": (0.8, 0.0, 0.0), "solref": (0.005, 1.0)}
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=(0, 0, 1), conaffinity=1, contype=0, **how)
    for point in model.contact_points:
        body = spec.body(model.body_names[point.body - 1])
        place = np.array(point.position) + (0, 0, 1e-3)
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE, size=(1e-3, 0, 0), pos=place, contype=1, conaffinity=0, **how
        )
    for name in model.joint_names[1:]:
        drive = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        drive.set_to_position(kp=100.0, kv=3.0)
    return spec.compile()


def test_the_trunk_of_a_trotting_quadruped_is_within_centimetres_of_mujocos(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    model = quadruped(True, stiffness=4e4, dissipation=0.1)
    start = standing(model)
    goal = trot(model, start)
    run = kt.simulate(model, start, np.zeros(18), duration=STEPS * H, dt=H, setpoint=goal, **gains(model))
    twin = mujoco_twin(model, tmp_path)
    data = mujoco.MjData(twin)
    order = [twin.actuator(name).id for name in model.joint_names[1:]]
    mujoco_q = np.array([*start[4:7], start[3], *start[:3], *start[7:]])
    data.qpos[:] = mujoco_q
    path = [data.qpos[:3].copy()]
    for row in goal:
        data.ctrl[order] = row[7:]
        mujoco.mj_step(twin, data)
        path.append(data.qpos[:3].copy())
    ours, theirs = run.q[:, 4:7], np.array(path)
    assert ours[-1, 0] ** 2 + ours[-1, 1] ** 2 > 0.05**2  # it walks
    assert np.linalg.norm(ours[-1] - theirs[-1]) < 0.05, (ours[-1], theirs[-1])
    assert np.sqrt(np.mean((ours[:, 2] - theirs[:, 2]) ** 2)) < 0.005
