"""MuJoCo models in kinetree."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from kinetree.errors import AssemblyError, FileWarning, ModelError
from kinetree.interop.mujoco import TYPES, VELOCITIES, body_name, joints_there, mujoco_maps
from kinetree.interop.mujoco_loops import Closures
from kinetree.interop.twin import Twin, from_there, imported, pose
from kinetree.io.description import Names
from kinetree.io.loops import CHOICES
from kinetree.io.mjcf_joint import TYPES as JOINTS
from kinetree.io.mjcf_joint import unbounded
from kinetree.io.notes import parts_of
from kinetree.joints import Joint
from kinetree.joints.made_of import made_of
from kinetree.model import Limits, Model, ModelBuilder
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose
from kinetree.spatial.rotation import Rotation


def from_mujoco(twin: Any, *, name: str = "model", loops: str = "close") -> Twin:
    """The kinetree model of a `mujoco.MjModel`, and the maps between their coordinates.

    Several joints of one body become a chain with massless bodies in between, called body@joint; joints j/1,
    j/2, ... written by `to_mjcf` become the joint j again. A body whose last joint has a non-zero position is
    attached to that joint by a fixed joint. A free joint is measured from the body's initial pose, so that
    `neutral()` is MuJoCo's qpos0. Sites become frames, keyframes become configurations, and linear
    `equality joint` constraints become mimic joints; other polynomials, `connect` and `weld` close loops.
    Contacts, tendons and actuators are not converted. Other features that affect the motion, such as
    polynomial damping, are listed in `maps.notes`, as are loops that cannot be closed.

    Args:
        name: the name of the model.
        loops: "close" or "ignore", as for `kinetree.load`.

    Warns:
        FileWarning: once, if something that affects the motion is left out.
    """
    mujoco = imported("mujoco", "MuJoCo")
    if loops not in CHOICES:
        raise ModelError(f"from_mujoco: loops is {loops!r}, expected one of {', '.join(CHOICES)}")
    reader = _Reader(mujoco, twin, name)
    model = reader.read(loops == "close")
    notes = left_out(mujoco, twin) + reader.notes
    if notes:
        more = f" and {len(notes) - 1} more" if len(notes) > 1 else ""
        warnings.warn(f"from_mujoco: {notes[0]}{more}; see maps.notes", FileWarning, stacklevel=2)
    maps = mujoco_maps(model, twin, notes)
    labels = [mujoco.mj_id2name(twin, mujoco.mjtObj.mjOBJ_KEY, k) or f"key{k}" for k in range(twin.nkey)]
    keys = {label: model.normalize(maps.q_back(q)) for label, q in zip(labels, twin.key_qpos)}
    return Twin(model.replace(configurations=_closed(model, keys)), maps)


def _closed(model: Model, keys: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The configurations with loops closed, by moving joints if need be; those that cannot be are dropped."""
    found = {}
    for label, q in keys.items():
        try:
            found[label] = model.assemble(q) if model.loops else q
        except AssemblyError:
            continue
    return found


def left_out(mujoco: Any, twin: Any) -> list[str]:
    """What affects the motion in MuJoCo but is not part of a model, in sentences."""
    joints = list(joints_there(mujoco, twin))
    owners = [joints[j] for j in twin.dof_jntid]
    found = [
        ("polynomial damping beyond its linear part", owners, getattr(twin, "dof_dampingpoly", [])),
        ("polynomial stiffness beyond its linear part", joints, getattr(twin, "jnt_stiffnesspoly", [])),
        ("springs that yield", joints, getattr(twin, "jnt_springyield", [])),
        ("stiffness of a free joint", joints, np.where(twin.jnt_type == 0, twin.jnt_stiffness, 0.0)),
        ("gravity compensation", [body_name(mujoco, twin, b) for b in range(twin.nbody)], twin.body_gravcomp),
    ]
    for kind, article, count in (("tendon", "a", twin.ntendon), ("actuator", "an", twin.nu)):
        labels = [f"{kind} {k}" for k in range(count)]
        for field in ("stiffness", "damping", "armature", "frictionloss"):
            found.append((f"{field} of {article} {kind}", labels, getattr(twin, f"{kind}_{field}", [])))
    notes = []
    for what, labels, values in found:
        named = dict.fromkeys(label for label, value in zip(labels, values) if np.any(value))
        if named:
            notes.append(f"{what}: {', '.join(list(named)[:8])}{', ...' if len(named) > 8 else ''}")
    if twin.opt.density or twin.opt.viscosity:
        notes.append("fluid forces")
    return notes


class _Reader:
    """Reads one MuJoCo model into a builder."""

    def __init__(self, mujoco: Any, twin: Any, name: str) -> None:
        self.mujoco, self.twin = mujoco, twin
        gravity = np.zeros(3) if self._off("GRAVITY") else np.array(twin.opt.gravity)
        self.builder = ModelBuilder(name, tuple(gravity.tolist()))
        self.labels = list(joints_there(mujoco, twin))
        self.bodies = ["world"] + [body_name(mujoco, twin, b) for b in range(1, twin.nbody)]
        self.names, self.joints = Names(self.bodies), Names(self.labels)
        self.ties = self._equalities()
        self.notes: list[str] = []

    def _off(self, *names: str) -> bool:
        """Whether the options turn something off."""
        bits = (getattr(self.mujoco.mjtDisableBit, f"mjDSBL_{name}", None) for name in names)
        return any(bit is not None and self.twin.opt.disableflags & int(bit) for bit in bits)

    def read(self, close: bool) -> Model:
        twin = self.twin
        for b in range(1, twin.nbody):
            self._add_body(b)
        for s in range(twin.nsite):
            name = self.mujoco.mj_id2name(twin, self.mujoco.mjtObj.mjOBJ_SITE, s)
            if name:
                where = _pose(twin.site_pos[s], twin.site_quat[s])
                self.builder.add_frame(self.names.claim(name), self.bodies[twin.site_bodyid[s]], where)
        if not close or self._off("EQUALITY", "CONSTRAINT"):
            return self.builder.build(check="finite")
        closures = Closures(self.mujoco, twin, self.builder, self.bodies, self.labels, self.ties)
        model = closures.closed()
        self.notes = closures.notes
        return model

    def _equalities(self) -> dict[int, tuple[int, float, float]]:
        """Follower -> (leader, multiplier, offset), for active linear constraints."""
        twin, out = self.twin, {}
        for e in range(0 if self._off("EQUALITY", "CONSTRAINT") else twin.neq):
            follower, leader = int(twin.eq_obj1id[e]), int(twin.eq_obj2id[e])
            a = np.array(twin.eq_data[e][:5])
            is_joint = twin.eq_type[e] == self.mujoco.mjtEq.mjEQ_JOINT and twin.eq_active0[e]
            if is_joint and leader >= 0 and not a[2:].any():
                y0, x0 = (float(twin.qpos0[twin.jnt_qposadr[j]]) for j in (follower, leader))
                out[follower] = leader, float(a[1]), y0 + float(a[0]) - float(a[1]) * x0
        return out

    def _add_body(self, b: int) -> None:
        twin, name = self.twin, self.bodies[b]
        parent, here = self.bodies[twin.body_parentid[b]], _pose(twin.body_pos[b], twin.body_quat[b])
        inertia = _inertia(twin, b)
        groups = self._groups(range(twin.body_jntadr[b], twin.body_jntadr[b] + twin.body_jntnum[b]))
        for k, (label, joints, kind) in enumerate(groups):
            turns = TYPES[twin.jnt_type[joints[0]]] in ("hinge", "ball")
            anchor = np.array(twin.jnt_pos[joints[0]]) if turns else np.zeros(3)
            last = k == len(groups) - 1 and not np.any(anchor)
            body = name if last else self.names.claim(f"{name}@{label}")
            shift = Pose(p=tuple(anchor.tolist()))
            placement = here @ shift @ self._undone(joints, kind)
            given = self._drive(joints, kind) | {"mimic": self._mimic(joints)}
            self.builder.add_body(body, parent, kind, placement, inertia if last else None, label, **given)
            parent, here = body, shift.inverse()
        if parent != name:
            self.builder.add_body(name, parent, None, here, inertia, self.joints.claim(name))

    # --- joints ---
    def _groups(self, joints: range) -> list[tuple[str, list[int], Joint]]:
        """(name, MuJoCo joints, joint here): the parts j/1, j/2, ... of one joint are reassembled."""
        out: list[tuple[str, list[int], Joint]] = []
        at = 0
        while at < len(joints):
            base = self.labels[joints[at]].removesuffix("/1")
            for count in (4, 3, 2):
                together = list(joints[at : at + count])
                fused = None
                if [self.labels[j] for j in together] == parts_of(base, count):
                    fused = self._fused(together)
                if fused is not None and base not in self.labels:
                    out.append((base, together, fused))
                    at += count
                    break
            else:
                out.append((self.labels[joints[at]], [joints[at]], self._joint(joints[at])))
                at += 1
        return out

    def _joint(self, j: int) -> Joint:
        kind, axis = TYPES[self.twin.jnt_type[j]], tuple(np.array(self.twin.jnt_axis[j]).tolist())
        return JOINTS[kind](axis) if kind in ("hinge", "slide") else JOINTS[kind]()

    def _fused(self, joints: list[int]) -> Joint | None:
        """The joint that these parts make up; None if there is none."""
        steps = []
        for k, j in enumerate(joints):
            (step,) = self._joint(j).steps or (None,)
            moved = step is not None and step.axis is not None and self.twin.qpos0[self.twin.jnt_qposadr[j]]
            if step is None or moved or np.any(self.twin.jnt_pos[j]):
                return None
            leader, ratio, offset = self.ties.get(j, (j, 1.0, 0.0))
            tied = k > 0 and leader == joints[0] and offset == 0.0
            steps.append(step._replace(positions=(0 if tied else k,), ratio=ratio if tied else 1))
        return made_of(steps)

    def _undone(self, joints: list[int], kind: Joint) -> Pose:
        """The pose that undoes the reference position of a hinge or slide, so that q is MuJoCo's qpos."""
        reference = float(self.twin.qpos0[self.twin.jnt_qposadr[joints[0]]])
        if len(joints) == 1 and kind.nq == 1 and reference:
            return Pose.from_transform(kind.placement((-reference,)))
        return Pose.identity()

    def _mimic(self, joints: list[int]) -> tuple[str, float, float] | None:
        tie = self.ties.get(joints[0])
        if tie is None:
            return None
        leader, factor, offset = tie
        label = self.labels[leader]
        base = label.removesuffix("/1")
        return (base if base != label and base not in self.labels else label), factor, offset

    def _drive(self, joints: list[int], kind: Joint) -> dict[str, Any]:
        """Armature, damping, friction, springs and limits, in our order."""
        if kind.nv == 0 or (self._mimic(joints) is not None and kind.nv != 1):
            return {}
        twin = self.twin
        dofs = [int(twin.jnt_dofadr[j]) + k for j in joints for k in range(_width(twin, j))]
        owner = [j for j in joints for _ in range(_width(twin, j))]
        order = from_there(kind)
        at, by = [dofs[k] for k in order], [owner[k] for k in order]
        named = (("armature", "armature"), ("damping", "damping"), ("friction", "frictionloss"))
        out: dict[str, Any] = {
            name: tuple(np.array(getattr(twin, f"dof_{there}"))[at].tolist()) for name, there in named
        }
        if self._off("DAMPER", "PASSIVE"):
            out["damping"] = (0.0,) * kind.nv
        if self._off("FRICTIONLOSS", "CONSTRAINT"):
            out["friction"] = (0.0,) * kind.nv
        if kind.nq == kind.nv:
            ranges = [_range(twin, j) for j in by]
            bounds = [float(np.abs(twin.jnt_actfrcrange[j]).max()) for j in by]
            efforts = [bound if twin.jnt_actfrclimited[j] else np.inf for j, bound in zip(by, bounds)]
            lower, upper = tuple(r[0] for r in ranges), tuple(r[1] for r in ranges)
            out["limits"] = Limits(lower, upper, (np.inf,) * kind.nv, tuple(efforts))
            out["stiffness"] = tuple(float(twin.jnt_stiffness[j]) for j in by)
            out["spring_reference"] = tuple(float(twin.qpos_spring[twin.jnt_qposadr[j]]) for j in by)
        elif len(joints) == 1 and not kind.is_free:  # a ball: one spring for all directions
            (j,) = joints
            w, x, y, z = (float(a) for a in twin.qpos_spring[twin.jnt_qposadr[j] : twin.jnt_qposadr[j] + 4])
            out["stiffness"], out["spring_reference"] = float(twin.jnt_stiffness[j]), (x, y, z, w)
        if self._off("SPRING", "PASSIVE"):
            out["stiffness"] = 0.0
        return out


def _width(twin: Any, j: int) -> int:
    return VELOCITIES[TYPES[twin.jnt_type[j]]]


def _range(twin: Any, j: int) -> tuple[float, float]:
    if not twin.jnt_limited[j]:
        return -np.inf, np.inf
    low, high = (unbounded(float(x)) for x in twin.jnt_range[j])
    return low, high


def _rotation(quaternion: Any) -> np.ndarray:
    w, x, y, z = np.asarray(quaternion, dtype=float)
    return np.array(Rotation.from_quaternion((x, y, z, w)).rows, dtype=float)


def _pose(position: Any, quaternion: Any) -> Pose:
    return pose(_rotation(quaternion), position)


def _inertia(twin: Any, b: int) -> Inertia | None:
    """The inertia of a body; None without mass and moments."""
    if twin.body_mass[b] == 0.0 and not np.any(twin.body_inertia[b]):
        return None
    R = _rotation(twin.body_iquat[b])
    moments = R @ np.diag(twin.body_inertia[b]) @ R.T
    center = tuple(twin.body_ipos[b].tolist())
    return Inertia(float(twin.body_mass[b]), center, (0.5 * (moments + moments.T)).tolist())
