"""Pinocchio models in kinetree."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.errors import ModelError
from kinetree.interop.pinocchio import OWN, part_sizes, parts_there, pinocchio_maps
from kinetree.interop.twin import Twin, from_there, imported, pose
from kinetree.io.description import Names
from kinetree.io.notes import parts_of
from kinetree.joints import CoordinateJoint, Free, Helical, Planar, Prismatic, Revolute, Spherical, Universal
from kinetree.joints.base import Joint
from kinetree.joints.made_of import made_of
from kinetree.model import Limits, ModelBuilder
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose

AXES = np.eye(3)
SIMPLE: dict[str, type[Free | Spherical | Planar]] = {
    "JointModelFreeFlyer": Free,
    "JointModelSpherical": Spherical,
    "JointModelPlanar": Planar,
}


def from_pinocchio(twin: Any, *, name: str | None = None) -> Twin:
    """The kinetree model of a `pinocchio.Model`, and the maps between their coordinates.

    A body takes the name of the BODY frame at its joint, otherwise that of the joint. BODY frames behind a
    FIXED_JOINT frame become bodies on fixed joints; all other frames stay frames. A joint j that kinetree
    does not have (translation, Euler angles, composite) becomes a chain of joints j/1, j/2, ... on massless
    bodies; joints j/1 and j/2 written by `to_pinocchio` become the cylindrical joint j again.

    Args:
        name: the name of the model; Pinocchio's by default.

    Raises:
        ModelError: kinetree cannot represent a joint.
    """
    return _Reader(imported("pinocchio", "Pinocchio"), twin).read(name)


class _Reader:
    """Reads one Pinocchio model into a builder."""

    def __init__(self, pin: Any, twin: Any) -> None:
        self.pin, self.twin = pin, twin
        self.frames = list(twin.frames)
        self.on: list[list[int]] = [[] for _ in range(twin.njoints)]  # the frames of each joint
        for k, frame in enumerate(self.frames):
            self.on[frame.parentJoint].append(k)
        self.names = Names({"world"})
        self.joint_names = Names([*twin.names, *parts_there(twin)])
        self.hosts: dict[int, str] = {}  # BODY frame -> body here
        self.bodies = ["world"]  # of each Pinocchio joint
        self.split = [self._is_split(j) for j in range(twin.njoints)]

    def read(self, name: str | None) -> Twin:
        twin = self.twin
        gravity = tuple(np.asarray(twin.gravity.linear, dtype=float).tolist())
        self.builder = ModelBuilder(name or twin.name.strip() or "model", gravity)
        self.main: dict[int, int] = {}  # joint -> its own BODY frame
        for k, frame in enumerate(self.frames):
            if self._is_body(frame) and frame.parentJoint and frame.parentJoint not in self.main:
                if not self._is_fixed(frame) and np.array_equal(frame.placement.homogeneous, np.eye(4)):
                    self.main[frame.parentJoint] = k
        for j in range(twin.njoints):
            if j and len(self.bodies) <= j:
                self._add_joint(j)
            for k in self.on[j]:  # fixed bodies, in the order of the frames: parents first
                if self._is_body(self.frames[k]) and self._is_fixed(self.frames[k]):
                    self._add_fixed(k, self.frames[k])
        for k, frame in enumerate(self.frames[1:], 1):
            self._add_frame(k, frame)
        model = self.builder.build(check="finite")
        return Twin(model, pinocchio_maps(model, twin))

    # --- frames ---
    def _is_body(self, frame: Any) -> bool:
        return frame.type == self.pin.FrameType.BODY

    def _is_fixed(self, frame: Any) -> bool:
        """Whether a frame is behind a fixed joint; the universe is not."""
        before = frame.parentFrame
        return before > 0 and self.frames[before].type == self.pin.FrameType.FIXED_JOINT

    def _host(self, frame: Any) -> tuple[str, Pose]:
        """The body that carries a frame, and the frame's pose in it."""
        here = _pose(frame.placement)
        before = frame
        while before.parentFrame > 0:  # the nearest body before it on the same joint
            k = before.parentFrame
            before = self.frames[k]
            if k in self.hosts and before.parentJoint == frame.parentJoint:
                return self.hosts[k], _pose(before.placement).inverse() @ here
        return self.bodies[frame.parentJoint], here

    def _add_fixed(self, k: int, frame: Any) -> None:
        weld = self.frames[frame.parentFrame]
        body, where = self._host(weld)
        inner = _pose(weld.placement).inverse() @ _pose(frame.placement)
        name = self.names.claim(frame.name)
        inertia = _inertia(frame.inertia) if self.split[frame.parentJoint] else None
        self.builder.add_body(name, body, None, where @ inner, inertia, self.joint_names.claim(weld.name))
        self.hosts[k] = name

    def _add_frame(self, k: int, frame: Any) -> None:
        """Frames that are neither joints nor separate bodies stay frames."""
        kinds = self.pin.FrameType
        if frame.type in (kinds.JOINT, kinds.FIXED_JOINT) or k in self.hosts:
            return
        body, where = self._host(frame)
        self.builder.add_frame(self.names.claim(frame.name), body, where)

    # --- joints ---
    def _is_split(self, j: int) -> bool:
        """Whether the inertias of the frames of a joint add up to its inertia."""
        total = np.zeros((6, 6))
        for frame in (self.frames[k] for k in self.on[j]):
            total += frame.placement.act(frame.inertia).matrix()
        expected = self.twin.inertias[j].matrix()
        return j == 0 or bool(np.abs(total - expected).max() <= 1e-9 * np.abs(expected).max())

    def _rest(self, j: int) -> Inertia:
        """The inertia of the body at a joint, without the bodies fixed to it."""
        if not self.split[j]:
            return _inertia(self.twin.inertias[j])
        total = Inertia.zero()
        for k in self.on[j]:
            frame = self.frames[k]
            if not (self._is_body(frame) and self._is_fixed(frame)):
                if frame.inertia.mass or np.any(frame.inertia.inertia):
                    own = _inertia(frame.inertia)
                    at_joint = k == self.main.get(j)
                    total = total + (own if at_joint else own.congruence(_pose(frame.placement).transform()))
        return total

    def _add_joint(self, j: int) -> None:
        twin = self.twin
        joint, label = twin.joints[j], twin.names[j]
        parent, base = self._carrier(j)
        steps, sizes = self._steps(joint, j), part_sizes(joint)
        fused, count = self._fused(j)
        if fused is not None:
            label, steps, sizes = label[:-2], [(fused, Pose.identity())], [(fused.nq, fused.nv)]
            j += count - 1
        own = self.main.get(j)
        name = self.names.claim(self.frames[own].name if own is not None else label)
        names = parts_of(label, len(steps)) if len(steps) > 1 else [label]
        q, v = joint.idx_q, joint.idx_v
        for step, ((kind, placement), (nq, nv)) in enumerate(zip(steps, sizes, strict=True)):
            last = step == len(steps) - 1
            body = name if last else self.names.claim(f"{name}@{names[step]}")
            follows = joint.shortname() == "JointModelMimic"
            given = {"mimic": self._mimic(joint)} if follows else self._drive(kind, q, v, nq)
            inertia = self._rest(j) if last else None
            self.builder.add_body(body, parent, kind, base @ placement, inertia, names[step], **given)
            parent, base = body, Pose.identity()
            q, v = q + nq, v + nv
        self.bodies += [name] * (j + 1 - len(self.bodies))
        if own is not None:
            self.hosts[own] = name

    def _carrier(self, j: int) -> tuple[str, Pose]:
        """The body that carries a joint, possibly one on a fixed joint, and the placement in it."""
        twin, placement = self.twin, _pose(self.twin.jointPlacements[j])
        for frame in (self.frames[k] for k in self.on[j]):
            if frame.type == self.pin.FrameType.JOINT:
                before = self.frames[frame.parentFrame]
                if frame.parentFrame in self.hosts and before.parentJoint == twin.parents[j]:
                    return self.hosts[frame.parentFrame], _pose(before.placement).inverse() @ placement
        return self.bodies[twin.parents[j]], placement

    def _fused(self, j: int) -> tuple[Joint | None, int]:
        """The joint made up of the parts j/1, j/2, ... of `to_pinocchio`, and their number."""
        twin, label, steps = self.twin, self.twin.names[j], []
        for k in range(j, twin.njoints if label.endswith("/1") else j):
            if twin.names[k] != f"{label[:-1]}{k - j + 1}" or (k > j and not self._joined(k)):
                break
            (kind, _), *rest = self._steps(twin.joints[k], k)
            if rest or kind.steps is None or len(kind.steps) > 1 or kind.nq != twin.nqs[k]:
                break
            steps.append(kind.steps[0]._replace(positions=(k - j,)))
        fused = made_of(steps) if len(steps) > 1 else None
        return (None, 1) if fused is None or fused.type_name in OWN else (fused, len(steps))

    def _joined(self, k: int) -> bool:
        """Whether a joint coincides with the one before, with nothing in between."""
        twin, before = self.twin, k - 1
        alone = twin.parents[k] == before and len(twin.children[before]) == 1
        return alone and not twin.inertias[before].matrix().any() and twin.jointPlacements[k].isIdentity(0.0)

    def _steps(self, joint: Any, j: int) -> list[tuple[Joint, Pose]]:
        """The joints here that make up a Pinocchio joint, each with its placement after the one before."""
        here = Pose.identity()
        kind = joint.shortname()
        if kind in SIMPLE:
            return [(SIMPLE[kind](), here)]
        if kind == "JointModelUniversal":
            inner = joint.extract()
            return [(Universal(tuple(inner.axis1), tuple(inner.axis2)), here)]
        if kind == "JointModelTranslation":
            return [(Prismatic(tuple(axis)), here) for axis in AXES]
        if kind == "JointModelSphericalZYX":
            return [(Revolute(tuple(axis)), here) for axis in AXES[::-1]]
        if kind == "JointModelComposite":
            steps = []
            inner = joint.extract()
            for part, placement in zip(inner.joints, inner.jointPlacements):
                (first, offset), *rest = self._steps(part, j)
                steps += [(first, _pose(placement) @ offset), *rest]
            return steps
        if kind == "JointModelMimic":
            return [(self._followed_motion(joint, j), here)]
        if "JointModelH" in kind:
            inner = joint.extract()
            axis = inner.axis if hasattr(inner, "axis") else AXES["XYZ".index(kind[-1])]
            return [(Helical(tuple(axis.tolist()), float(inner.pitch)), here)]
        if joint.nv == 1:
            data = joint.createData()
            joint.calc(data, self.pin.neutral(self.twin))
            return [(_one_degree(np.array(data.S).ravel()), here)]
        raise ModelError(
            f"Pinocchio joint '{self.twin.names[j]}' is a {kind}, which kinetree does not have: replace it"
        )

    def _followed_motion(self, joint: Any, j: int) -> Joint:
        """The joint inside a mimic joint, from its placement at coordinate 1."""
        inner, q = joint.extract(), self.pin.neutral(self.twin)
        q[inner.idx_q] = (1.0 - inner.offset) / inner.scaling
        data = self.twin.createData()
        self.pin.forwardKinematics(self.twin, data, q)
        moved = self.twin.jointPlacements[j].inverse() * data.liMi[j]
        screw = self.pin.log6(moved).vector
        return _one_degree(np.where(np.abs(screw) < 1e-15, 0.0, screw))

    def _mimic(self, joint: Any) -> tuple[str, float, float]:
        inner = joint.extract()
        for k in range(1, self.twin.njoints):
            other = self.twin.joints[k]
            if other.nv and other.idx_v == inner.idx_v:
                return self.twin.names[k], inner.scaling, inner.offset
        raise ModelError("a mimic joint of Pinocchio follows no joint")

    def _drive(self, kind: Joint, q: int, v: int, nq: int) -> dict[str, Any]:
        """Armature, damping, friction and limits in our order, for `nq` positions there."""
        twin, nv = self.twin, kind.nv
        order = from_there(kind)
        at = [v + k for k in order]
        lower, upper = np.full(nv, -np.inf), np.full(nv, np.inf)
        for k, place in enumerate(order if isinstance(kind, CoordinateJoint) else ()):
            if nq == nv or kind.rates[k] == "length":  # angles may be stored as cosine and sine there
                lower[k], upper[k] = twin.lowerPositionLimit[q + place], twin.upperPositionLimit[q + place]
        limits = Limits(*map(_open, (lower, upper, twin.velocityLimit[at], twin.effortLimit[at])))
        same = ("armature", "damping", "friction")
        return {"limits": limits} | {name: tuple(getattr(twin, name)[at].tolist()) for name in same}


def _open(values: Any) -> tuple[float, ...]:
    """Limits with absurdly large values made infinite."""
    values = np.asarray(values, dtype=float)
    return tuple(np.where(np.abs(values) > 1e300, np.copysign(np.inf, values), values).tolist())


def _one_degree(screw: Any) -> Joint:
    """The joint with the motion subspace [linear; angular]."""
    linear, angular = screw[:3], screw[3:]
    if not angular.any():
        return Prismatic(tuple(linear.tolist()))
    pitch = float(linear @ angular)
    return Helical(tuple(angular.tolist()), pitch) if pitch else Revolute(tuple(angular.tolist()))


def _pose(placement: Any) -> Pose:
    return pose(placement.rotation, placement.translation)


def _inertia(inertia: Any) -> Inertia:
    return Inertia(float(inertia.mass), tuple(inertia.lever.tolist()), inertia.inertia.tolist())
