"""Constraints between frames and on joints, as values.

A constraint is a few rows: a residual phi(q) that is zero where it is satisfied, its rate J(q) v, and its
acceleration J a + J' v. A new kind is one class with these three.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree import ops
from kinetree.constraints.gaps import frame_pose, gap_acceleration, gap_jacobian, is_world, position
from kinetree.errors import ArgumentError, ModelError
from kinetree.joints import Fixed, Joint
from kinetree.model import Model
from kinetree.model.validate import WORLD, numbers, pose, shown
from kinetree.spanning import motions, spanned
from kinetree.spatial import Transform
from kinetree.spatial.pose import Pose
from kinetree.spatial.quaternion import quaternion_from_matrix, quaternion_log

Array = np.ndarray
ORIGIN = (0.0, 0.0, 0.0)
FIXED = Fixed()


class Constraint(ABC):
    """Rows that forbid motions; see the module docstring."""

    @abstractmethod
    def rows(self, model: Model) -> int:
        """The number of motions it forbids."""

    def to_dict(self) -> dict[str, Any]:
        """Its kind and arguments as strings, numbers and lists, ready for JSON."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}  # type: ignore[attr-defined]
        if "joint" in values and isinstance(self, LoopConstraint):
            values |= {"joint": [self.joint.type_name, *self.joint.parameters]}
            values |= {"placement": np.array(self.placement.as_matrix(), float).tolist()}
        return {"kind": type(self).__name__, **values}

    @staticmethod
    def from_dict(data: Any) -> Constraint:
        """The constraint of a dictionary from `to_dict`."""
        kinds: dict[str, Any] = {kind.__name__: kind for kind in _KINDS}
        if not isinstance(data, dict) or data.get("kind") not in kinds:
            raise ArgumentError(f"a constraint needs a kind, one of {', '.join(kinds)}; got {shown(data)}")
        values = {name: tuple(x) if isinstance(x, list) else x for name, x in data.items() if name != "kind"}
        if data["kind"] in ("LoopConstraint", "FrameConstraint"):
            joint_type, *parameters = values["joint"]
            values["joint"] = Joint.named(joint_type).from_parameters(parameters)
            values["placement"] = Pose.from_matrix(data["placement"])
        return kinds[data["kind"]](**values)

    @abstractmethod
    def residual(self, model: Model, q: Array) -> Array:
        """phi(q), zero where the constraint is satisfied."""

    @abstractmethod
    def jacobian(self, model: Model, q: Array) -> Array:
        """J (rows, nv), the rate of the residual per unit of each velocity."""

    @abstractmethod
    def acceleration(self, model: Model, q: Array, v: Array, a: Array) -> Array:
        """J a + J' v, the second derivative of the residual."""

    def _turn(self, model: Model, q: Array) -> Array | None:
        """The rotation R from the axes in which its rows are cheapest to the axes of its rows, or None."""
        return None

    def _own_jacobian(self, model: Model, q: Array) -> Array:
        """R^T J."""
        return self.jacobian(model, q)

    def _own_acceleration(self, model: Model, q: Array, v: Array, a: Array) -> Array:
        """R^T (J a + J' v)."""
        return self.acceleration(model, q, v, a)


@dataclass(frozen=True)
class PointConstraint(Constraint):
    """A point of a frame coincides with a point of another: three rows, along world axes.

    Its force acts on `frame` at the point, in world axes, and the opposite force on `other`.

    Args:
        frame: name of a frame or body.
        other: the frame or body that holds it; the world by default.
        point: in the axes of `frame`, m.
        other_point: in the axes of `other`, m; None for wherever the point is now, only with the world as
            `other`: its velocity is then zero, and its position is not constrained.
    """

    frame: str
    other: str = WORLD
    point: tuple[float, float, float] = ORIGIN
    other_point: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        _set(self, point=_vector(self, "point"))
        if self.other_point is not None:
            _set(self, other_point=_vector(self, "other_point"))
        elif self.other != WORLD:
            raise ArgumentError(
                f"PointConstraint of '{self.frame}': say other_point, in the axes of '{self.other}'"
            )

    def rows(self, model: Model) -> int:
        return 3

    def residual(self, model: Model, q: Array) -> Array:
        if self.other_point is None:
            return np.zeros(3)
        return position(model, q, self.frame, self.point) - position(model, q, self.other, self.other_point)

    def jacobian(self, model: Model, q: Array) -> Array:
        return gap_jacobian(model, q, self.frame, self.point, self.other, self.other_point)

    def acceleration(self, model: Model, q: Array, v: Array, a: Array) -> Array:
        return gap_acceleration(model, q, v, a, self.frame, self.point, self.other, self.other_point)

    def _turn(self, model: Model, q: Array) -> Array | None:
        return frame_pose(model, q, self.frame)[:3, :3] if is_world(model, self.other) else None

    def _own_jacobian(self, model: Model, q: Array) -> Array:
        if not is_world(model, self.other):
            return self.jacobian(model, q)
        return of.jacobian(model, q, frame=self.frame, point=np.array(self.point))[3:]

    def _own_acceleration(self, model: Model, q: Array, v: Array, a: Array) -> Array:
        if not is_world(model, self.other):
            return self.acceleration(model, q, v, a)
        return of.frame_acceleration(
            model, q, v, a, frame=self.frame, kind="classical", point=np.array(self.point)
        )[3:]


@dataclass(frozen=True)
class DistanceConstraint(Constraint):
    """Two points at a constant distance, as by a massless rod: one row.

    Its force is the push of the rod, N: positive if it keeps the points apart.

    Args:
        frame, other: names of frames or bodies.
        length: m, positive.
        point, other_point: in the axes of `frame` and of `other`, m.
    """

    frame: str
    other: str
    length: float
    point: tuple[float, float, float] = ORIGIN
    other_point: tuple[float, float, float] = ORIGIN

    def __post_init__(self) -> None:
        _set(self, point=_vector(self, "point"), other_point=_vector(self, "other_point"))
        if not (isinstance(self.length, (int, float)) and 0 < self.length < np.inf):
            raise ArgumentError(
                f"DistanceConstraint of '{self.frame}': the length must be a positive number of metres, got "
                f"{shown(self.length)}: use PointConstraint for points that coincide"
            )

    def rows(self, model: Model) -> int:
        return 1

    def _gap(self, model: Model, q: Array) -> tuple[Array, Any]:
        gap = position(model, q, self.frame, self.point) - position(model, q, self.other, self.other_point)
        distance = ops.norm(gap)
        ops.require(
            distance / (1e-9 * self.length),
            f"DistanceConstraint: the points on '{self.frame}' and '{self.other}' of model '{model.name}' "
            "coincide: the rod has no direction",
        )
        return gap / distance, distance

    def residual(self, model: Model, q: Array) -> Array:
        return np.array([self._gap(model, q)[1] - self.length])

    def jacobian(self, model: Model, q: Array) -> Array:
        along, _ = self._gap(model, q)
        return (along @ gap_jacobian(model, q, self.frame, self.point, self.other, self.other_point))[None]

    def acceleration(self, model: Model, q: Array, v: Array, a: Array) -> Array:
        along, distance = self._gap(model, q)
        ends = self.frame, self.point, self.other, self.other_point
        rate = gap_jacobian(model, q, *ends) @ v
        across = rate - ops.dot(along, rate) * along
        return np.array([
            ops.dot(along, gap_acceleration(model, q, v, a, *ends)) + ops.dot(across, across) / distance
        ])  # fmt: skip


@dataclass(frozen=True)
class JointConstraint(Constraint):
    """A joint of the model is held: one row for each of its velocities.

    Its force is the generalised force that holds it.

    Args:
        joint: name of a joint that has coordinates of its own.
        position: where it is held, as many numbers as it has in q; None for wherever it is.
    """

    joint: str
    position: Any = None

    def __post_init__(self) -> None:
        if self.position is not None:
            _set(self, position=tuple(float(x) for x in np.ravel(self.position)))

    def _place(self, model: Model) -> slice:
        place = model.spanning_tree.coordinate_index(self.joint)
        if place.start == place.stop:
            raise ModelError(
                f"JointConstraint: joint '{self.joint}' of model '{model.name}' owns no coordinates: name "
                "the joint that it follows, or one that moves"
            )
        return place

    def rows(self, model: Model) -> int:
        place = self._place(model)
        return place.stop - place.start

    def residual(self, model: Model, q: Array) -> Array:
        place = self._place(model)
        if self.position is None:
            return np.zeros(place.stop - place.start)
        tree = model.spanning_tree
        return tree.difference(tree.positions({self.joint: self.position}), q)[place]

    def jacobian(self, model: Model, q: Array) -> Array:
        G = spanned(model, q).G
        return (np.eye(model.nv) if G is None else G)[self._place(model)]

    def acceleration(self, model: Model, q: Array, v: Array, a: Array) -> Array:
        return motions(model, q, v, a)[2][self._place(model)]


@dataclass(frozen=True)
class LoopConstraint(Constraint):
    """A frame is connected to another by a joint, in addition to the joints of the tree.

    It forbids what the joint forbids: a revolute joint five motions, a spherical one three. Its force is what
    the joint carries along its constrained directions (`joint.complement`), acting on `frame`.

    Args:
        frame: name of a frame or body, the successor side of the joint.
        other: likewise, the predecessor side; the world by default.
        joint: a joint whose free motions have axes that are fixed in `frame`: any but a universal joint.
        placement: `Pose` of the predecessor side in `other`; None for the identity.
    """

    frame: str
    other: str = WORLD
    joint: Joint = FIXED
    placement: Any = None

    def __post_init__(self) -> None:
        what = f"{type(self).__name__} of '{self.frame}'"
        _set(self, placement=pose(self.placement, f"{what}: placement"))
        if not isinstance(self.joint, Joint):
            raise ArgumentError(
                f"{what}: joint must be a joint, as in kt.Revolute((0, 0, 1)), got {shown(self.joint)}"
            )
        if self.joint.is_free or not _holds_still(self.joint):
            raise ArgumentError(
                f"{what}: a {self.joint.type_name} joint cannot close a loop: add a body between two simpler "
                "joints"
            )

    def rows(self, model: Model) -> int:
        return 6 - self.joint.nv

    def _forbidden(self) -> Array:
        """The constrained directions as rows, in the axes of the frame."""
        return _complement(self.joint, self.joint.neutral())

    def residual(self, model: Model, q: Array) -> Array:
        ours, theirs = of.frame_placement(model, q, frame=self.frame), frame_pose(model, q, self.other)
        base = theirs @ np.array(self.placement.as_matrix(), float)
        free = self.joint.neutral()
        for _ in range(3 if self.joint.nv else 0):  # find the nearest position of the joint
            S = self.joint.subspace(free)
            left = _left(base, self.joint.placement(free), ours)
            columns = [column.components for column in S.columns]
            free = self.joint.integrate(free, tuple(ops.dot(c, left) / ops.dot(c, c) for c in columns))
        return self._forbidden() @ _left(base, self.joint.placement(free), ours)

    def jacobian(self, model: Model, q: Array) -> Array:
        ours = of.jacobian(model, q, frame=self.frame)
        if is_world(model, self.other):
            return self._forbidden() @ ours
        return self._forbidden() @ (ours - self._across(model, q) @ of.jacobian(model, q, frame=self.other))

    def acceleration(self, model: Model, q: Array, v: Array, a: Array) -> Array:
        ours = of.frame_acceleration(model, q, v, a, frame=self.frame)
        if is_world(model, self.other):
            return self._forbidden() @ ours
        X = self._across(model, q)
        carried = X @ of.frame_velocity(model, q, v, frame=self.other)
        relative = of.frame_velocity(model, q, v, frame=self.frame) - carried
        theirs = X @ of.frame_acceleration(model, q, v, a, frame=self.other)
        turned = np.concatenate([
            ops.cross(relative[:3], carried[:3]),
            ops.cross(relative[:3], carried[3:]) + ops.cross(relative[3:], carried[:3]),
        ])  # fmt: skip
        return self._forbidden() @ (ours - theirs + turned)

    def _across(self, model: Model, q: Array) -> Array:
        """The transform of motions from the axes of `other` to those of `frame`."""
        ours, theirs = of.frame_placement(model, q, frame=self.frame), frame_pose(model, q, self.other)
        R, p = ours[:3, :3].T @ theirs[:3, :3], ours[:3, :3].T @ (theirs[:3, 3] - ours[:3, 3])
        shifted = np.stack([ops.cross(p, column) for column in R.T], axis=1)
        return np.block([[R, np.zeros((3, 3))], [shifted, R]])


@dataclass(frozen=True)
class FrameConstraint(LoopConstraint):
    """A frame is fixed to another frame, or to the world: six rows.

    Its force is the wrench on `frame`, in the axes of the frame, about its origin. Arguments as for
    `LoopConstraint`, whose joint is fixed.
    """

    def _forbidden(self) -> Array:
        return np.eye(6)


_KINDS = (PointConstraint, DistanceConstraint, JointConstraint, LoopConstraint, FrameConstraint)


def _left(base: Array, moved: Transform, ours: Array) -> Array:
    """[rotation vector; translation] from where the joint has moved a frame to where it is, in its axes."""
    T = base @ np.array(moved.pose())
    turned = quaternion_log(quaternion_from_matrix((T[:3, :3].T @ ours[:3, :3]).tolist()))
    return np.array([*turned, *(ours[:3, :3].T @ (ours[:3, 3] - T[:3, 3]))])


def _complement(joint: Joint, q: Any) -> Array:
    """The directions that a joint constrains, as rows."""
    columns = joint.complement(q).columns
    return np.array([column.components for column in columns], float).reshape(-1, 6)


def _holds_still(joint: Joint) -> bool:
    """Whether the directions that a joint constrains are the same at every position."""
    elsewhere = _complement(joint, joint.random(np.random.default_rng(0)))
    return bool(np.allclose(elsewhere, _complement(joint, joint.neutral()), rtol=0, atol=1e-12))


def _vector(constraint: Any, name: str) -> tuple[float, ...]:
    what = f"{type(constraint).__name__} of '{constraint.frame}': {name}"
    return tuple(float(x) for x in numbers(getattr(constraint, name), 3, what))


def _set(constraint: Any, **values: Any) -> None:
    """Set fields of a frozen value during construction."""
    for name, value in values.items():
        object.__setattr__(constraint, name, value)


__all__ = [
    "Constraint", "DistanceConstraint", "FrameConstraint", "JointConstraint", "LoopConstraint",
    "PointConstraint",
]  # fmt: skip
