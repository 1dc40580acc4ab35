"""Closures of loops: a joint between two bodies of one tree, a rod, or a relation between two coordinates.

A closure is a few rows phi(q) = 0. `ties` writes them for the members of a node: each row is a product of
points and directions fixed in members, or a polynomial of coordinates (`ties.py`). With `axes`, fixed in the
body that carries the loop, the coincidence of two points is written along these axes, which is cheapest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kinetree.errors import ModelError
from kinetree.joints import Joint
from kinetree.joints.axis import perpendiculars
from kinetree.model.carried import PREDECESSOR, Carried
from kinetree.model.coupling import Coupling
from kinetree.model.ties import Angle, Offset, Polynomial, Rod, Tie
from kinetree.model.topology import Topology
from kinetree.spatial import vector as vec
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Matrix, Vector

Locate = Callable[[int], int]  # body -> member of the node, or its predecessor
Place = Callable[
    [int], tuple[int, Pose | None]
]  # body -> its new number, and pose in the body of that number
AXES = vec.IDENTITY


@dataclass(frozen=True, slots=True)
class JointClosure:
    """A joint from `placement` in one body to `other_placement` in the other: the two frames can only move
    relative to each other as its predecessor and successor sides do."""

    name: str
    body: int
    other: int
    joint: Joint
    placement: Pose
    other_placement: Pose

    @property
    def bodies(self) -> tuple[int, int]:
        return self.body, self.other

    @property
    def kind(self) -> str:
        """What it is, for messages."""
        return f"{self.joint.type_name} joint"

    @property
    def count(self) -> int:
        return 6 - self.joint.nv

    @property
    def arms(self) -> list[Vector]:
        return [self.placement.p, self.other_placement.p]

    def meeting(self, topology: Topology) -> int:
        return topology.common_ancestor(self.body, self.other)

    def placed(self, place: Place, prefix: str = "") -> JointClosure:
        """The same closure between bodies with other numbers, its name prefixed."""
        (body, at), (other, there) = place(self.body), place(self.other)
        pose = self.placement if at is None else at @ self.placement
        pose_b = self.other_placement if there is None else there @ self.other_placement
        return JointClosure(prefix + self.name, body, other, self.joint, pose, pose_b)

    def ties(
        self, locate: Locate, coupling: Mapping[int, Coupling], size: float, axes: Matrix | None = None
    ) -> list[Tie]:
        turns, slides = freedoms(self.joint)
        a, b = locate(self.body), locate(self.other)
        A, B = self.placement, self.other_placement
        here, there = Carried(a, A.p, True), Carried(b, B.p, True)
        if axes is not None and not slides:
            along = tuple(Carried(PREDECESSOR, c) for c in axes)
            rows: list[Tie] = [Offset((*along, here, there), (), size, k) for k in range(3)]
        else:
            across = (Carried(a, _turned(A, c)) for c in _across(slides))
            rows = [Offset((c, here, there), (), size) for c in across]
        for c, d, cosine in _right_angles(turns):
            rows.append(Angle((Carried(a, _turned(A, c)), Carried(b, _turned(B, d))), (cosine,), 1.0))
        return rows


@dataclass(frozen=True, slots=True)
class RodClosure:
    """Two points, one in each of two bodies, at a constant distance: a massless rod."""

    name: str
    body: int
    other: int
    length: Any
    point: Vector
    other_point: Vector

    @property
    def bodies(self) -> tuple[int, int]:
        return self.body, self.other

    @property
    def kind(self) -> str:
        return "rod"

    @property
    def count(self) -> int:
        return 1

    @property
    def arms(self) -> list[Vector]:
        return [self.point, self.other_point, (self.length, 0, 0)]

    def meeting(self, topology: Topology) -> int:
        return topology.common_ancestor(self.body, self.other)

    def placed(self, place: Place, prefix: str = "") -> RodClosure:
        """As `JointClosure.placed`."""
        (body, at), (other, there) = place(self.body), place(self.other)
        point = self.point if at is None else at.apply(self.point)
        point_b = self.other_point if there is None else there.apply(self.other_point)
        return RodClosure(prefix + self.name, body, other, self.length, point, point_b)

    def ties(
        self, locate: Locate, coupling: Mapping[int, Coupling], size: float, axes: Matrix | None = None
    ) -> list[Tie]:
        ends = (
            Carried(locate(self.body), self.point, True),
            Carried(locate(self.other), self.other_point, True),
        )
        return [Rod(ends, (self.length,), size)]


@dataclass(frozen=True, slots=True)
class RelationClosure:
    """A coordinate that is a polynomial of another: x = c_0 + c_1 y + c_2 y^2 + ..."""

    name: str
    body: int  # whose joint has the coordinate x
    other: int  # whose joint has the coordinate y
    coefficients: tuple[Any, ...]

    @property
    def bodies(self) -> tuple[int, int]:
        return self.body, self.other

    @property
    def kind(self) -> str:
        return f"polynomial of {len(self.coefficients)} terms"

    @property
    def count(self) -> int:
        return 1

    @property
    def arms(self) -> list[Vector]:
        return []

    def meeting(self, topology: Topology) -> int:
        return topology.common_ancestor(topology.parent(self.body), topology.parent(self.other))

    def placed(self, place: Place, prefix: str = "") -> RelationClosure:
        """As `JointClosure.placed`."""
        return RelationClosure(
            prefix + self.name, place(self.body)[0], place(self.other)[0], self.coefficients
        )

    def ties(
        self, locate: Locate, coupling: Mapping[int, Coupling], size: float, axes: Matrix | None = None
    ) -> list[Tie]:
        return [Polynomial((), self.coefficients, 1.0, coupling[self.body], coupling[self.other])]


Closure = JointClosure | RodClosure | RelationClosure


def freedoms(joint: Joint) -> tuple[list[Vector] | None, list[Vector]]:
    """(rotation axes, slide directions) of a joint; None as the axes of a ball joint.

    TypeError if it is not made of slides in predecessor axes and rotations that do not move these.
    """
    steps = joint.steps if joint.nv else ()
    if steps is None or len({step.positions for step in steps}) < len(steps):
        raise TypeError(f"a {joint.type_name} joint closes a loop by a body of its own")
    turns: list[Vector] | None = []
    slides: list[Vector] = []
    for step in steps:
        if step.axis is None:
            turns = None
        elif step.kind == "slide":
            if turns is None or any(math.hypot(*vec.cross(t, step.axis)) > 1e-12 for t in turns):
                raise TypeError(f"a {joint.type_name} joint closes a loop by a body of its own")
            slides.append(step.axis)
        elif turns is not None:
            turns.append(step.axis)
    return turns, slides


def has_rows(joint: Joint) -> bool:
    """Whether rows can be written for a joint that closes a loop."""
    try:
        freedoms(joint)
    except TypeError:
        return False
    return True


def _across(slides: list[Vector]) -> list[Vector]:
    """Directions perpendicular to all slides, in the axes of the predecessor."""
    if not slides:
        return list(AXES)
    if len(slides) == 1:
        return list(perpendiculars(slides[0]))
    if len(slides) == 2:
        normal = vec.cross(*slides)
        return [vec.divide(normal, math.hypot(*normal))]
    return []


def _right_angles(turns: list[Vector] | None) -> list[tuple[Vector, Vector, Any]]:
    """Pairs of directions, one on either side, whose angle the rotations leave constant, and its cosine."""
    if turns is None or len(turns) > 2:
        return []
    if not turns:
        x, y, z = AXES
        return [(x, z, 0), (y, z, 0), (x, y, 0)]
    if len(turns) == 1:
        return [(c, turns[0], 0) for c in perpendiculars(turns[0])]
    first, second = turns
    return [(first, second, vec.dot(first, second))]


def _turned(pose: Pose, a: Vector) -> Vector:
    """A direction of a frame in the axes of the body that carries it."""
    return vec.mat_vec(pose.R, a)


def refuse_useless(joint: Joint, owner: str) -> None:
    """ModelError if a joint closes nothing."""
    if joint.nv >= 6:
        raise ModelError(f"{owner}: a {joint.type_name} joint leaves all motions free and closes no loop")


__all__ = ["Closure", "JointClosure", "RelationClosure", "RodClosure", "freedoms", "has_rows"]
