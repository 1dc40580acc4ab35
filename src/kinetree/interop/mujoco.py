"""kinetree models in MuJoCo, and the maps between their coordinates.

MuJoCo puts the scalar part of quaternions first and position before attitude, and gives the linear velocity
of a free joint in world axes. It has four joints (free, ball, slide, hinge), and a body may have several.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinetree import functions
from kinetree.errors import ModelError
from kinetree.interop.charts import BALL, Array, Chart, FreeWorld
from kinetree.interop.loop_maps import closing, notes_of
from kinetree.interop.maps import Maps, Piece
from kinetree.interop.twin import Twin, imported
from kinetree.io.description import Names
from kinetree.io.notes import Notes
from kinetree.io.save_mjcf import leader, names_of, steps_of, written
from kinetree.model import Model
from kinetree.spatial.pose import Pose

POSITIONS = {"free": 7, "ball": 4, "slide": 1, "hinge": 1}
VELOCITIES = {"free": 6, "ball": 3, "slide": 1, "hinge": 1}
TYPES = ("free", "ball", "slide", "hinge")  # in the order of MuJoCo's mjtJoint


def to_mujoco(model: Model, *, strict: bool = True) -> Twin:
    """The `mujoco.MjModel` of a kinetree model, and the maps between their coordinates.

    See `to_mjcf` for the conversion and for `strict`.

    Raises:
        ModelError: MuJoCo cannot represent the model, for example moving bodies without mass.
        KinetreeError: MuJoCo is not installed.
    """
    mujoco = imported("mujoco", "MuJoCo")
    notes = Notes(model.name, "MuJoCo", strict)
    text = written(model, notes)
    try:
        twin = mujoco.MjModel.from_xml_string(text)
    except ValueError as error:
        raise ModelError(f"model '{model.name}': MuJoCo refuses it: {' '.join(str(error).split())}") from None
    return Twin(twin, mujoco_maps(model, twin, notes))


def to_mjcf(model: Model, *, strict: bool = True) -> str:
    """The MJCF text of a kinetree model: bodies, joints and sites with its names, and its collision shapes.

    Universal, cylindrical, planar, helical and carried free joints j become several joints j/1, j/2, ... of
    one body. Mimic joints and the sliding part of helical ones have their own coordinates in MuJoCo, coupled
    by `equality joint` constraints. Loops become `connect`, `weld` and `joint` constraints. All of these are
    soft in MuJoCo.

    Args:
        strict: refuse what MuJoCo cannot represent exactly: rotors, and armatures that differ between the
            degrees of freedom of a ball or free joint. If False, approximate them.
    """
    return written(model, Notes(model.name, "MuJoCo", strict))


class There(NamedTuple):
    """A joint of a MuJoCo model."""

    kind: str
    q: range
    v: range
    body: int
    named: bool


def joints_there(mujoco: Any, twin: Any) -> dict[str, There]:
    """The joints of a MuJoCo model by name; unnamed ones are named after their bodies."""
    names = [mujoco.mj_id2name(twin, mujoco.mjtObj.mjOBJ_JOINT, j) for j in range(twin.njnt)]
    free = Names(filter(None, names))
    out = {}
    for j, name in enumerate(names):
        kind, q, v = TYPES[twin.jnt_type[j]], int(twin.jnt_qposadr[j]), int(twin.jnt_dofadr[j])
        body, places = int(twin.jnt_bodyid[j]), range(q, q + POSITIONS[kind])
        there = There(kind, places, range(v, v + VELOCITIES[kind]), body, bool(name))
        out[name or free.claim(f"{body_name(mujoco, twin, body)}_joint")] = there
    return out


def paired(model: Model, there: dict[str, There]) -> dict[str, There]:
    """The joints of a MuJoCo model by our names; joints that are unnamed there are paired in order."""
    ours = [name for body in model.bodies for name in _joint_names(body, there)]
    free = [label for label, joint in there.items() if not joint.named and label not in ours]
    wanted = [name for name in ours if name not in there]
    if len(free) != len(wanted):
        return there
    called = dict(zip(free, wanted))
    return {called.get(label, label): joint for label, joint in there.items()}


def _joint_names(body: Any, there: dict[str, There]) -> list[str]:
    """The names of the parts of a joint in MuJoCo; none if MuJoCo cannot represent it."""
    try:
        whole = not body.joint.is_free or body.joint_name in there
        return names_of(body, steps_of(body._replace(parent=0) if whole else body, "", whole))
    except ModelError:
        return []


def body_name(mujoco: Any, twin: Any, b: int) -> str:
    """The name of a MuJoCo body, or one generated from its index."""
    return mujoco.mj_id2name(twin, mujoco.mjtObj.mjOBJ_BODY, b) or f"body{b}"


def mujoco_maps(model: Model, twin: Any, notes: Any = ()) -> Maps:
    """The maps between a kinetree model and a `mujoco.MjModel` whose joints have the same names.

    Both may come from the same robot file. Joints of the same name must be the same joints, with the same
    zero. Joints without a name in MuJoCo are paired with the remaining joints here, in order.

    Raises:
        ModelError: a joint exists on one side only, or has another type there.
    """
    if model.loops:
        return closing(model, mujoco_maps(model.spanning_tree, twin, (*notes, *notes_of(model, "MuJoCo"))))
    mujoco = imported("mujoco", "MuJoCo")
    there, pieces, joints = paired(model, joints_there(mujoco, twin)), [], {}
    for i, body in enumerate(model.bodies, 1):
        owner = f"model '{model.name}': joint '{body.joint_name}'"
        whole = not body.joint.is_free or body.joint_name in there
        steps = steps_of(body._replace(parent=0) if whole else body, owner, whole)
        names = names_of(body, steps)
        kinds = [there[name].kind if name in there else None for name in names]
        if kinds != [step.kind for step in steps]:
            wanted = ", ".join(f"{name} ({step.kind})" for name, step in zip(names, steps))
            raise ModelError(f"{owner} needs {wanted} among MuJoCo's joints {sorted(there)[:8]} ...")
        joints[body.joint_name] = tuple(names)
        rule = model.layout.follows.get(i)
        followed = model.joint_names[(rule.leader if rule else i) - 1]
        q, v = model.position_index(followed), model.coordinate_index(followed)
        if body.joint.is_free:
            q_there, v_there = (
                tuple(k for name in names for k in getattr(there[name], of)) for of in ("q", "v")
            )
            at = body.placement if body.parent == 0 else Pose.identity()
            pieces.append(Piece(FreeWorld(at), q, v, q_there, v_there))
            continue
        factor, offset = (float(rule.multiplier), float(rule.offset)) if rule else (1.0, 0.0)
        for k, (name, step) in enumerate(zip(names, steps, strict=True)):
            place = there[name]
            pieces.append(
                Piece(
                    Chart() if step.axis else BALL, _part(q, step.positions), _part(v, step.velocities),
                    tuple(place.q), tuple(place.v), step.ratio * factor, step.ratio * offset,
                    leader(steps, k) == k and rule is None,
                )
            )  # fmt: skip
    missing = sorted(set(there) - {name for names in joints.values() for name in names})
    if missing:
        raise ModelError(f"model '{model.name}' has no joints {missing[:8]} that MuJoCo has")
    return Maps((model.nq, model.nv), (twin.nq, twin.nv), pieces, twin.qpos0, joints, tuple(notes))


def _part(whole: slice, places: tuple[int, ...]) -> slice:
    """The slice of adjacent coordinates of a joint, among those of the model."""
    return slice(whole.start + places[0], whole.start + places[-1] + 1)


def mujoco_wrenches(model: Model, twin: Any, q: Any, f_ext: Any) -> Array:
    """MuJoCo's `xfrc_applied` (nbody, 6), from the wrenches `f_ext` (nb, 6) on our bodies at `q`.

    MuJoCo expects [force; torque] in world axes about the centre of mass of each body. Bodies are matched by
    name, or by their joints if they have no name in MuJoCo.
    """
    mujoco = imported("mujoco", "MuJoCo")
    there = paired(model, joints_there(mujoco, twin))
    out = np.zeros((twin.nbody, 6))
    placements = np.asarray(functions.placements(model, np.asarray(q, dtype=float), target="eager"))
    for body, T, wrench in zip(model.bodies, placements, np.asarray(f_ext, dtype=float), strict=True):
        b = mujoco.mj_name2id(twin, mujoco.mjtObj.mjOBJ_BODY, body.name)
        if b < 0 and (joint := there.get((_joint_names(body, there) or [""])[-1])) is not None:
            unnamed = not mujoco.mj_id2name(twin, mujoco.mjtObj.mjOBJ_BODY, joint.body)
            b = joint.body if unnamed else b
        if b < 0 and not wrench.any():
            continue  # a massless body between two joints of one body
        if b < 0:
            raise ModelError(f"model '{model.name}': MuJoCo has no body '{body.name}'")
        moment = wrench[:3] - np.cross(twin.body_ipos[b], wrench[3:])
        out[b] = np.concatenate([T[:3, :3] @ wrench[3:], T[:3, :3] @ moment])
    return out


def mass_matrix_of(mujoco: Any, twin: Any, data: Any) -> Array:
    """The dense mass matrix (nv, nv) in MuJoCo's coordinates, after `mj_forward`."""
    M = np.zeros((twin.nv, twin.nv))
    if hasattr(data, "qM"):
        mujoco.mj_fullM(twin, M, data.qM)
    else:
        mujoco.mj_fullM(twin, data, M)
    return M
