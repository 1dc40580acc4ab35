"""Steps per second with contact: robots that move on the ground, and MuJoCo's `rollout`."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np

import kinetree as kt
from benchmarks.measure import Call, race
from kinetree.interop import to_mujoco
from kinetree.model import Model

STEP, STEPS = 2e-3, 64
STATES, PEERS = 1024, 16  # MuJoCo runs only PEERS of them: the time per state is the same in any batch
FEW = 4  # Newton steps per step, where limited
STIFF, DAMPED, SWING = 100.0, 3.0, 0.3  # servo gains, and the spread of the targets, rad

HEAD = """\
| robot | points | numbers | us a step | at most 4 Newton steps | MuJoCo | ratio |
|---|--:|---|--:|--:|--:|--:|"""


def quadruped(trunk: bool) -> Model:
    """A quadruped that stands with bent knees."""
    model = kt.zoo.quadruped()
    return model.add_geometry("trunk", kt.Box((0.2, 0.1, 0.06))) if trunk else model


ROBOTS = {
    "quadruped": lambda: quadruped(False),
    "quadruped with a trunk": lambda: quadruped(True),
    "humanoid": kt.zoo.humanoid,
}


def standing(model: Model) -> np.ndarray:
    """A posture whose lowest point touches the ground."""
    q = model.neutral()
    for name in model.joint_names:
        if "thigh" in name or "shank" in name:
            q[model.position_index(name)] = 0.8 if "thigh" in name else -1.6
    q = q if model.name == "quadruped" else model.neutral()
    poses = kt.placements(model, q)
    q[6] -= min(poses[p.body - 1][2] @ (*p.position, 1.0) for p in model.contact_points)
    return q


def moving(model: Model, dtype: str, count: int) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """States of robots whose servos follow random targets, and the options of a run with new targets."""
    start = standing(model)
    rng = np.random.default_rng(0)
    target = np.tile(start, (count, 1))
    target[:, 7:] += rng.uniform(-SWING, SWING, (count, model.nq - 7))
    driven = np.arange(model.nv) >= 6
    q, v = np.tile(start, (count, 1)).astype(dtype), np.zeros((count, model.nv), dtype)
    servo = {"kp": STIFF * driven, "kd": DAMPED * driven, "setpoint": target, "dt": STEP, "progress": False}
    settled = kt.simulate(model, q, v, duration=50 * STEP, record=50, **servo)
    target = target.copy()
    target[:, 7:] += rng.uniform(-SWING, SWING, (count, model.nq - 7))
    return settled.q[:, -1], settled.v[:, -1], servo | {"setpoint": target}


def row(robot: str, dtype: str, seconds: float) -> dict[str, Any]:
    """The time per step of robots whose servos follow random targets, in one thread."""
    model = ROBOTS[robot]()
    q, v, servo = moving(model, dtype, STATES)
    options = servo | {"duration": STEPS * STEP, "record": STEPS}
    contestants = {"ours": Call(kt.simulate, [model, q, v], options)}
    contestants["few"] = Call(kt.simulate, [model, q, v], options | {"newton_limit": FEW})
    theirs = _mujoco(model, q, v, servo["setpoint"]) if dtype == "float64" else None
    if theirs is not None:
        contestants["mujoco"] = theirs
    timings = race(contestants, seconds)
    counts = {"mujoco": PEERS * STEPS}
    each = {n: (timing / counts.get(n, STATES * STEPS))._asdict() for n, timing in timings.items()}
    return {"robot": robot, "points": len(model.contact_points), "dtype": dtype, "step": each}


def _mujoco(model: Model, q: Any, v: Any, target: Any) -> Call | None:
    """MuJoCo's rollout of the same states on the same points, as spheres of 1 mm, with elliptic cones."""
    try:
        import mujoco
        from mujoco import rollout
    except ImportError:
        return None
    _, maps = to_mujoco(model, strict=False)
    peer = mujoco.MjModel.from_xml_string(_scene(model))
    data = mujoco.MjData(peer)
    size = mujoco.mj_stateSize(peer, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start = np.zeros((PEERS, size))
    for k in range(PEERS):
        data.qpos, data.qvel = maps.q(q[k]), maps.v(q[k], v[k])
        mujoco.mj_getState(peer, data, start[k], mujoco.mjtState.mjSTATE_FULLPHYSICS)
    control = np.repeat(target[:PEERS, None, 7:], STEPS, 1)
    return Call(rollout.rollout, [peer, [data], start, control], {"nstep": STEPS})


def _scene(model: Model) -> str:
    """The robot as MJCF with a floor, feet and servos."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    bare = model.replace(geometries=dict.fromkeys(model.geometry_names))
    with TemporaryDirectory() as folder:
        root = ElementTree.parse(kt.save(bare, Path(folder) / "robot.xml")).getroot()
    option = root.find("option")
    option = ElementTree.SubElement(root, "option") if option is None else option
    option.attrib |= {"timestep": str(STEP), "integrator": "implicitfast", "cone": "elliptic"}
    world = root.find("worldbody")
    assert world is not None
    solid = {"solref": "0.005 1", "friction": "0.8 0 0", "condim": "3"}
    ElementTree.SubElement(world, "geom", {"type": "plane", "size": "50 50 1", **solid})
    bodies = {body.get("name"): body for body in root.iter("body")}
    for point in model.contact_points:
        place = " ".join(map(str, point.position))
        kind = {"type": "sphere", "size": "0.001", "pos": place, "contype": "0", "conaffinity": "1"}
        body = bodies[model.body_names[point.body - 1]]
        ElementTree.SubElement(body, "geom", {**kind, "mass": "0", **solid})
    drives = ElementTree.SubElement(root, "actuator")
    for name in model.joint_names[1:]:
        ElementTree.SubElement(drives, "position", {"joint": name, "kp": str(STIFF), "kv": str(DAMPED)})
    return ElementTree.tostring(root, encoding="unicode")


def line(result: dict[str, Any]) -> str:
    """A row of the table."""
    step = result["step"]
    ours, theirs = step["ours"]["median"], step.get("mujoco", {}).get("median")
    cells = [
        result["robot"],
        str(result["points"]),
        result["dtype"],
        f"{ours / 1e3:.2f}",
        f"{step['few']['median'] / 1e3:.2f}",
        f"{theirs / 1e3:.1f}" if theirs else "",
        f"{theirs / ours:.1f}" if theirs else "",
    ]
    return "| " + " | ".join(cells) + " |"
