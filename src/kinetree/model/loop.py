"""A node with loops: its coordinates are those of all its joints, its velocities the independent ones.

    K(q) = d phi / d u,   K u = 0        u = G v,   G = [1; -K_d^-1 K_i]

with u the velocities of all joints, in any order: the independent ones and the dependent ones, as many as
there are kept rows. The motion subspaces are then S G, and the rest of the dynamics follows (`Through`). The
rates of G come from K G = 0:

    G_w = -K_d^-1 (K_w G)               G_uw = -K_d^-1 (K_uw G + K_w G_u + K_u G_w)

q need not be closed to the last digit: Newton steps q_d -= K_d^-1 phi are part of the kinematics, so every
result is a function of the independent coordinates alone, with exact derivatives (`steps` Newton steps for
derivatives up to order 2^steps - 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kinetree import ops
from kinetree.joints.base import CoordinateJoint
from kinetree.model.carried import Carried, without_noise
from kinetree.model.closed import Closed, Through, Wide, own_joints
from kinetree.model.node import PREDECESSOR, Member, Node
from kinetree.model.ties import Tie
from kinetree.spatial import Matrix
from kinetree.spatial import vector as vec
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import Number

# A loop that is open by more than this, in units of its size, is not accepted as closed up to rounding.
OPEN_TOLERANCE = 1e-6
# A pivot of K_d below this, relative to its usual size, means a dead point.
DEAD_TOLERANCE = 1e-7
# Newton steps that close a position after an integration step.
INTEGRATION_STEPS = 3
# From this number of velocities on, S = S_span G is cheaper as two factors than by its columns.
MANY = 2


@dataclass(frozen=True)
class Closing:
    """The closures of a node, and how they are solved.

    name: for messages.
    rows: the kept rows, in the order of elimination.
    independent, dependent: places among the velocities of all joints, the latter in the order of elimination.
    pivots: the usual sizes of the pivots.
    reference: a closed position of all joints of the node.
    size: a characteristic length, m.
    steps: number of Newton steps that close a position.
    steady: members with a ball or free joint whose velocities are solved for along fixed axes, and these axes
        in the body that carries the node.
    pins: pairs of points, fixed in two bodies, that coincide exactly in all closed positions.
    has_matrix: whether velocities and forces go through G, or are solved for, which is cheaper for a few.
    """

    name: str
    rows: tuple[Tie, ...]
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    pivots: tuple[float, ...]
    reference: tuple[float, ...]
    size: float = 1.0
    steps: int = 1
    steady: tuple[tuple[int, vec.Matrix], ...] = ()
    pins: tuple[tuple[Carried, Carried], ...] = ()
    has_matrix: bool = True

    def changed(self, member: int, C: Transform) -> Closing:
        """The same after the frame of a member was changed by C."""
        rows, steady = tuple(tie.changed(member, C) for tie in self.rows), self.steady
        if member == PREDECESSOR:
            steady = tuple((k, tuple(without_noise(C.turned(axis)) for axis in axes)) for k, axes in steady)  # type: ignore[misc]
        pins = tuple((a.changed(member, C), b.changed(member, C)) for a, b in self.pins)
        return replace(self, rows=rows, steady=steady, pins=pins)

    def recent(self, members: tuple[Member, ...], q: Sequence[Number]) -> dict[int | None, Closed]:
        """Cached results for the last position, by number of Newton steps; functions need them several times.

        Arrays and tensors are mutable, so nothing is cached for them.
        """
        key, known = self.__dict__.get("_recent", ((), {}))
        asked = (members, *q)
        if len(key) != len(asked) or any(a is not b for a, b in zip(key, asked, strict=True)):
            known = {}
            if not any(hasattr(x, "shape") for x in q):
                self.__dict__["_recent"] = asked, known
        return known

    @property
    def width(self) -> int:
        """The number of velocities of all joints."""
        return len(self.independent) + len(self.dependent)


class LoopNode(Node):
    """A node whose `closing` is not None; its members are coupled to the velocities of all joints."""

    __slots__ = ()

    @property
    def solution(self) -> Closing:
        """Its `closing`."""
        assert self.closing is not None
        return self.closing

    @property
    def spanning(self) -> Node:
        """The same node with its loops cut: its velocities are those of all joints."""
        width = tuple(range(self.solution.width))
        return Node(*self[:4], width, self.u_index)

    @property
    def reference(self) -> tuple[Number, ...]:
        return self.solution.reference

    def at(self, q: Sequence[Number]) -> Node:
        """The node at q: an ordinary node whose couplings go through the loops."""
        closed = self.closed(q)
        members = tuple(m._replace(coupling=Through(m.coupling, closed)) for m in self.members)
        kind = Wide if self.is_wide else Node
        return kind(self.number, self.predecessor, members, self.q_index, self.v_index, self.u_index)

    @property
    def is_wide(self) -> bool:
        """Whether S is kept as factors."""
        return len(self.v_index) >= MANY and len(self.members) > 1

    @property
    def without_matrix(self) -> Node:
        """The same node, without G for velocities and forces."""
        return self._replace(closing=replace(self.solution, has_matrix=False))

    def closed(self, q: Sequence[Number], steps: int | None = None) -> Closed:
        """The position after Newton steps from q, and what belongs to it.

        steps: their number; None for those that are part of every function, of which the last is a small one.
        """
        known = self.solution.recent(self.members, q)
        if steps not in known:
            count = self.solution.steps if steps is None else steps
            before = self.closed(q, count - 1) if count else None
            start = before.stepped(is_small=steps is None) if before else q
            known[steps] = Closed(self.spanning, self.solution, start, before if steps is None else None)
        return known[steps]

    @property
    def structure(self) -> tuple:
        ties = tuple(tie.structure for tie in self.solution.rows)
        chosen = self.solution.independent, self.solution.dependent, self.solution.steps, self.solution.pivots
        return (*super().structure, ties, chosen, self.solution.steady)

    @property
    def parameters(self) -> tuple[Number, ...]:
        return (*super().parameters, *(x for tie in self.solution.rows for x in tie.parameters))

    def with_parameters(self, numbers: Sequence[Number]) -> Node:
        rest = list(numbers)
        count = len(super().parameters)
        node, rows = super().with_parameters(rest[:count]), []
        for tie in self.solution.rows:
            width = len(tie.parameters)
            rows.append(tie.with_parameters(rest[count : count + width]))
            count += width
        return node._replace(closing=replace(self.solution, rows=tuple(rows)))

    def kinematics(self, q: Sequence[Number]) -> tuple[Any, Any]:
        return self.at(q).kinematics(q)

    def motion(self, m: Member, q: Sequence[Number]) -> Any:
        node = self.at(q)
        return node.motion(node.members[self.members.index(m)], q)

    def partials(self, q: Sequence[Number]) -> tuple[Any, ...]:
        return self.at(q).partials(q)

    def ring(self, q: Sequence[Number], v: Sequence[Number]) -> Any:
        return self.at(q).ring(q, v)

    def slopes(self, q: Sequence[Number], v: Sequence[Number]) -> tuple[Any, ...]:
        return self.at(q).slopes(q, v)

    def soundness(self, q: Sequence[Number]) -> list[Number]:
        return [*super().soundness(q), *self.openness(q), *self.deadness(q)]

    def openness(self, q: Sequence[Number]) -> list[Number]:
        """A number that is at least 1 if the loops are closed at q."""
        by_unit: dict[float, Number] = {}
        for tie, value in zip(self.solution.rows, self.closed(q, 0).phi, strict=True):
            by_unit[tie.unit] = by_unit.get(tie.unit, 0) + value * value
        total: Number = 0
        for unit, square in by_unit.items():
            total = total + square * (1.0 / (OPEN_TOLERANCE * unit) ** 2)
        return [2 - total]

    def deadness(self, q: Sequence[Number]) -> list[Number]:
        """Numbers that are at least 1 if the dependent velocities follow from the independent ones at q."""
        found = self.closed(q, 0).factors.lively(self.solution.pivots)
        return [ops.abs(x * (1.0 / DEAD_TOLERANCE)) for x in found]

    def reflected(self, q: Sequence[Number], x: Sequence[Number]) -> Matrix:
        rows, width = self.closed(q).G, len(self.v_index)
        total: list[list[Number]] = [[0] * width for _ in range(width)]
        for row, weight in zip(rows, x, strict=True):
            for i, a in row:
                for k, b in row:
                    total[i][k] = total[i][k] + a * b * weight
        return Matrix(total)

    @property
    def has_whole_joints(self) -> bool:
        """True if no joint with quasi-velocities has both independent and dependent ones."""
        for m, own in own_joints(self):
            free = sum(j in self.solution.independent for j in own.places)
            if 0 < free < own.nv and not isinstance(m.joint, CoordinateJoint):
                return False
        return True

    def integrate(self, q: Sequence[Number], dv: Sequence[Number]) -> Sequence[Number]:
        """The closed position reached from q by moving at velocity dv for a unit of time."""
        start = self.closed(q)
        return self.closed(start.moved(start.velocities(dv)), INTEGRATION_STEPS).q

    def difference(self, q0: Sequence[Number], q1: Sequence[Number]) -> Sequence[Number]:
        """The velocity that leads from q0 to q1: the differences of the independent joints."""
        found: dict[int, Number] = {}
        for m, own in own_joints(self):
            found |= enumerate(m.joint.difference(own.positions(q0), own.positions(q1)), own.v_start)
        return [found[j] for j in self.solution.independent]

    def rate(self, q: Sequence[Number], v: Sequence[Number]) -> Sequence[Number]:
        """The rates of the coordinates of all joints."""
        closed, found = self.closed(q), list(q)
        u = closed.velocities(v)
        for m, own in own_joints(self):
            rates = m.joint.rate(own.positions(closed.q), tuple(u[own.v_start : own.v_start + own.nv]))
            found[own.q_start : own.q_start + own.nq] = rates
        return found
