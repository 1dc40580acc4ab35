"""A node of the tree: one or several bodies that one set of coordinates moves.

Most nodes hold one link. A node with several members holds what moves together with it: rotors behind gears,
joints that mimic another one, armatures. The kinematics below turn the coordinates of the node into the
placement X, the motion subspace S and its partial derivatives for every member, relative to the one body that
carries the node; algorithms see stacks of them and nothing of how they came about.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kinetree import ops
from kinetree.joints.base import Joint
from kinetree.spatial import Detached, Inertia, Motion, Stack, Subspace, Transform
from kinetree.spatial.factors import Dense, Factor, Turn
from kinetree.spatial.vector import Number

PREDECESSOR = -1  # the carrier of a member that sits on the node's predecessor
NOTHING = -2  # the carrier of a member that feels no other body (an armature)


class Member(NamedTuple):
    """One body of a node: a link, a rotor, or an armature.

    body: index in the model (1 ...), 0 for rotors and armatures.
    carrier: index of the member that carries it, or PREDECESSOR, or NOTHING.
    placement: carrier -> predecessor side of the joint (constant).
    coupling: empty if the joint moves by its own coordinates, which start at q_start and v_start in the node;
        else pairs (velocity of the node, multiplier) that give the one coordinate of the joint.
    offset: a constant that is added to the (first) coordinate of the joint.
    """

    body: int
    carrier: int
    placement: Transform
    joint: Joint
    coupling: tuple[tuple[int, Number], ...]
    offset: Number
    q_start: int
    v_start: int
    inertia: Inertia


class Node(NamedTuple):
    """Bodies moved by one set of coordinates.

    number: place among the nodes of the model.
    predecessor: (node, member) of the body that carries it; (-1, 0) for the world.
    q_index, v_index: where its coordinates and velocities stand in q and v.
    """

    number: int
    predecessor: tuple[int, int]
    members: tuple[Member, ...]
    q_index: tuple[int, ...]
    v_index: tuple[int, ...]

    @property
    def structure(self) -> tuple:
        """What is left of the node without its numbers: nodes of equal structure are computed by the same
        text.
        """
        return (
            self.predecessor[0] < 0,
            tuple(
                (
                    m.body > 0, m.carrier, type(m.joint), tuple(map(_pattern, m.joint.parameters)),
                    tuple(_shape(f) for f in m.placement.factors),
                    m.q_start, m.v_start, tuple(index for index, _ in m.coupling),
                )
                for m in self.members
            ),
            len(self.q_index),
            len(self.v_index),
        )  # fmt: skip

    @property
    def parameters(self) -> tuple[Number, ...]:
        """All numbers of the node, in the order in which `with_parameters` takes them."""
        numbers: list[Number] = []
        for m in self.members:
            numbers.extend(m.placement.translation)
            for factor in m.placement.factors:
                numbers.extend(factor[1:] if isinstance(factor, Turn) else sum(factor.E, ()))
            numbers.extend(m.joint.parameters)
            numbers.extend(multiplier for _, multiplier in m.coupling)
            numbers.append(m.offset)
            numbers.extend(m.inertia.parameters)
        return tuple(numbers)

    def with_parameters(self, numbers: Sequence[Number]) -> Node:
        """A node of the same structure with other numbers, which may be expressions."""
        rest = iter(numbers)

        def take(count: int) -> tuple[Any, ...]:
            return tuple(next(rest) for _ in range(count))

        members = []
        for m in self.members:
            r = take(3)
            parts: list[Factor] = []
            for factor in m.placement.factors:
                if isinstance(factor, Turn):
                    parts.append(Turn(factor.axis, *take(2)))
                else:
                    parts.append(Dense((take(3), take(3), take(3))))  # type: ignore[arg-type]
            placement = Transform.from_factors(r, tuple(parts))  # type: ignore[arg-type]
            joint = m.joint.with_parameters(take(len(m.joint.parameters)))
            coupling = tuple((index, next(rest)) for index, _ in m.coupling)
            offset = next(rest)
            inertia = Inertia.from_parameters(take(10))
            members.append(
                m._replace(
                    placement=placement, joint=joint, coupling=coupling, offset=offset, inertia=inertia
                )
            )
        return self._replace(members=tuple(members))

    def kinematics(self, q: Sequence[Number]) -> tuple[Any, Any]:
        """X and S of the node (stacks if it has several members): motions relative to the predecessor."""
        placements: list[Any] = []
        subspaces: list[Subspace] = []
        for m in self.members:
            own = self.member_coordinates(m, q)
            motion = self.own_subspace(m, own)
            if m.carrier == NOTHING:
                placements.append(Detached())
                subspaces.append(motion)
                continue
            step = m.joint.placement(own).following(m.placement)
            if m.carrier == PREDECESSOR:
                placements.append(step)
                subspaces.append(motion)
            else:
                placements.append(step @ placements[m.carrier])
                subspaces.append(step @ subspaces[m.carrier] + motion)
        return stacked(placements), stacked(subspaces)

    def partials(self, q: Sequence[Number]) -> tuple[Any, ...]:
        """The derivative of S along each velocity (apparent: of its components); () if S is constant.

        A member carried by another one of the node sees its carrier's columns through its own moving joint:
        d(step S_c) = step dS_c - S_own x step S_c.
        """
        if all(self._has_constant_subspace(m) for m in self.members):
            return ()
        width = len(self.v_index)
        found: list[list[Subspace]] = []
        subspaces: list[Subspace] = []
        zero = Subspace(Motion() for _ in range(width))
        for m in self.members:
            own = self.member_coordinates(m, q)
            motion = self.own_subspace(m, own)
            partials = [zero] * width
            if not m.coupling:
                for k, partial in enumerate(m.joint.subspace_partials(own)):
                    partials[m.v_start + k] = self._widened(m, partial)
            if m.carrier < 0:
                subspaces.append(motion)
            else:
                step = m.joint.placement(own).following(m.placement)
                carried = step @ subspaces[m.carrier]
                subspaces.append(carried + motion)
                for k in range(width):
                    turning = carried.cross_from(-motion.columns[k])
                    partials[k] = step @ found[m.carrier][k] + turning + partials[k]
            found.append(partials)
        return tuple(stacked([partials[k] for partials in found]) for k in range(width))

    def member_coordinates(self, m: Member, q: Sequence[Number]) -> tuple[Number, ...]:
        """The coordinates of one member's joint; an offset adds to the first of them."""
        if not m.coupling:
            own = tuple(q[m.q_start : m.q_start + m.joint.nq])
            return own if ops.is_literal(m.offset) and m.offset == 0 else (own[0] + m.offset, *own[1:])
        position = self.positions
        total = m.offset
        for index, multiplier in m.coupling:
            total = total + q[position[index]] * multiplier
        return (total,)

    @property
    def positions(self) -> dict[int, int]:
        """Where in the node's q the coordinate stands whose rate is a velocity (joints with nq = nv)."""
        return {
            m.v_start + k: m.q_start + k
            for m in self.members
            if not m.coupling and m.joint.nq == m.joint.nv
            for k in range(m.joint.nv)
        }

    def own_subspace(self, m: Member, own: Sequence[Number]) -> Subspace:
        """The motion of a member relative to its carrier, as columns for all velocities of the node."""
        return self._widened(m, m.joint.subspace(tuple(own)))

    def _widened(self, m: Member, S: Subspace) -> Subspace:
        """The columns of one member's joint as columns for all velocities of the node."""
        if not m.coupling and len(self.v_index) == len(S):
            return S
        columns = [Motion()] * len(self.v_index)
        if m.coupling:
            for index, multiplier in m.coupling:
                columns[index] = S.columns[0] * multiplier
        else:
            columns[m.v_start : m.v_start + len(S)] = S.columns
        return Subspace(columns)

    def _has_constant_subspace(self, m: Member) -> bool:
        carried = m.carrier >= 0 and (m.coupling or m.joint.nv) and len(self.v_index) > 0
        constant = type(m.joint).subspace_partials is Joint.subspace_partials
        return not carried and (bool(m.coupling) or constant)


def stacked(values: Sequence[Any]) -> Any:
    """The value itself for one body, a `Stack` for several."""
    return values[0] if len(values) == 1 else Stack(values)


def _pattern(number: Number) -> int | None:
    """0, 1 or -1 if a number is exactly that, as in an axis along x: then it is part of the structure."""
    return int(number) if ops.is_literal(number) and number in (0, 1, -1) else None


def _shape(factor: Factor) -> int:
    """The axis of a turn, -1 for a general rotation."""
    return factor.axis if isinstance(factor, Turn) else -1
