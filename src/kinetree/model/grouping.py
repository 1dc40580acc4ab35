"""Grouping of bodies, rotors and mimic joints into the nodes that a sweep visits.

A node is a set of bodies moved by one set of independent coordinates; usually it is one body. A mimic joint
joins all bodies on the tree paths between it and the joint that it follows. A rotor is one more member of the
node whose joint drives it; so is an armature, a spinning mass that does not interact with any other body.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.joints import CoordinateJoint, Joint, Revolute, Spin
from kinetree.model.layout import Layout
from kinetree.model.loops import closed
from kinetree.model.node import NOTHING, PREDECESSOR, Member, Node
from kinetree.model.parts import Body, Loop, Rotor
from kinetree.model.topology import Topology
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.transform import Transform
from kinetree.spatial.vector import IDENTITY, cross, dot, scale, sub, sym_vec

Location = tuple[int, int]  # node index, member index
WORLD_LOCATION: Location = (-1, 0)


class Grouping:
    """The nodes of a model, predecessors first, and the place of each body in them."""

    def __init__(
        self,
        bodies: Sequence[Body],
        rotors: Sequence[tuple[int, Rotor]],
        topology: Topology,
        layout: Layout,
        loops: Sequence[Loop] = (),
    ):
        self.bodies, self.topology, self.layout, self.loops = bodies, topology, layout, loops
        self.rotors: dict[int, list[Rotor]] = {}
        for joint, rotor in rotors:
            self.rotors.setdefault(joint, []).append(rotor)
        self.locations: list[Location] = [WORLD_LOCATION] * (len(bodies) + 1)
        groups = self._groups()
        spanning = [self._node(index, group) for index, group in enumerate(groups)]
        self.nodes, self.layout = closed(spanning, loops, self) if loops else (tuple(spanning), layout)

    def _groups(self) -> list[tuple[int, ...]]:
        """The sets of bodies that form a node, ordered by their first body."""
        if not self.layout.follows and not self.loops:
            return [(i,) for i in range(1, len(self.bodies) + 1)]
        first = list(range(len(self.bodies) + 1))  # union-find: the representative is the smallest body
        top = first.copy()  # likewise, along joints: the highest body known to be in the same group

        def root(of: list[int], i: int) -> int:
            while of[i] != i:
                of[i] = i = of[of[i]]
            return i

        parent, depths = self.topology.parent, self.topology.depths
        for ends, meeting in self._ties():
            for i in ends:  # both ends, and all bodies up to where their paths meet
                while True:
                    a, b = sorted((root(first, i), root(first, ends[0])))
                    first[b] = a
                    i = root(top, i)
                    if depths[i] <= depths[meeting] + 1:
                        break
                    top[i] = i = parent(i)
        groups: dict[int, list[int]] = {}
        for i in range(1, len(self.bodies) + 1):
            groups.setdefault(root(first, i), []).append(i)
        return [tuple(group) for group in groups.values()]

    def _ties(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """Pairs of bodies in one node, and the body where their paths meet, which may be outside the node."""
        parent, common = self.topology.parent, self.topology.common_ancestor
        for follower, rule in self.layout.follows.items():
            yield (follower, rule.leader), common(parent(follower), parent(rule.leader))
        for loop in self.loops:
            for closure in loop.closures:
                meeting = closure.meeting(self.topology)
                yield tuple(i for i in closure.bodies if i != meeting), meeting

    def _node(self, index: int, group: tuple[int, ...]) -> Node:
        places = _Places(group, self.bodies, self.layout)
        members: list[Member] = []
        for i in group:
            self.locations[i] = (index, len(members))
            members.append(self._link(i, self._carrier(i, index)))
        for i in group:
            for rotor in self.rotors.get(i, ()):
                members.append(self._rotor(i, rotor, self._carrier(i, index)))
            members.extend(self._armatures(i))
        members = [m._replace(coupling=m.coupling.among(places.of_q, places.of_v)) for m in members]
        outside = self.topology.parent(group[0])
        q_index, v_index = tuple(places.of_q), tuple(places.of_v)
        return Node(index, self.locations[outside], tuple(members), q_index, v_index, v_index)

    def _carrier(self, i: int, node: int) -> int:
        """The member of the node that carries body `i` and its rotors, or the node's predecessor."""
        where = self.locations[self.topology.parent(i)]
        return where[1] if where[0] == node else PREDECESSOR

    def _link(self, i: int, carrier: int) -> Member:
        body, coupling = self.bodies[i - 1], self.layout.couplings[i]
        return Member(i, carrier, body.placement.transform(), body.joint, coupling, body.inertia)

    def _rotor(self, i: int, rotor: Rotor, carrier: int) -> Member:
        axis: Any = rotor.axis
        joint: Joint = Spin(axis) if is_axisymmetric(rotor.inertia, axis) else Revolute(axis)
        coupling = self.layout.couplings[i].combined(rotor.ratio)
        return Member(0, carrier, rotor.placement.transform(), joint, coupling, rotor.inertia)

    def _armatures(self, i: int) -> list[Member]:
        """Spinning masses that interact with no other body: the kinetic energy of an armature."""
        body, coupling = self.bodies[i - 1], self.layout.couplings[i]
        if all(ops.is_literal(a) and a == 0 for a in body.armature):
            return []
        still = Transform.identity()
        if not isinstance(body.joint, CoordinateJoint):
            return [Member(0, NOTHING, still, body.joint, coupling, _quasi_armature(body))]
        members = []
        for k, armature in enumerate(body.armature):
            if ops.is_literal(armature) and armature == 0:
                continue
            one = tuple(int(k == j) for j in range(body.joint.nv))
            spinning = Inertia.from_moments(0, (0, 0, 0), (0, 0, armature, 0, 0, 0))
            members.append(Member(0, NOTHING, still, Spin(), coupling.combined(one), spinning))
        return members


class _Places:
    """The coordinates of a node: maps from index in q and v to place in the node."""

    def __init__(self, group: tuple[int, ...], bodies: Sequence[Body], layout: Layout):
        self.of_q: dict[int, int] = {}
        self.of_v: dict[int, int] = {}
        for i in group:
            if i not in layout.follows:
                joint = bodies[i - 1].joint
                for k in range(joint.nq):
                    self.of_q[layout.q_start[i] + k] = len(self.of_q)
                for k in range(joint.nv):
                    self.of_v[layout.v_start[i] + k] = len(self.of_v)


def is_axisymmetric(inertia: Inertia, axis: Any) -> bool:
    """True if the inertia of a body is symmetric about `axis` through its origin.

    Its centre of mass lies on the axis, and J = A (1 - a a^T) + C a a^T, to rounding of 1e-14 of the largest
    moment. The symmetry must be certain: symbols are never axisymmetric unless zero.
    """
    if not all(ops.is_literal(x) for x in (*inertia.parameters, *axis)):
        return False
    off_axis = cross(inertia.first_moment, axis)
    size = max(abs(x) for x in inertia.first_moment)
    if any(abs(x) > 1e-14 * size for x in off_axis):
        return False
    J = inertia.second
    axial = dot(axis, sym_vec(J, axis))
    across = (J[0] + J[1] + J[2] - axial) / 2
    largest = max(abs(x) for x in J)
    for k in range(3):
        e = IDENTITY[k]
        expected = sub(scale(e, across), scale(axis, (across - axial) * axis[k]))
        if any(abs(x) > 1e-14 * largest for x in sub(sym_vec(J, e), expected)):
            return False
    return True


def _quasi_armature(body: Body) -> Inertia:
    """The inertia whose kinetic energy, in the velocities of the joint, is that of the armature.

    A sum of squares of quasi-velocities is the energy of a rigid body, so the gyroscopic forces of that body
    are included.
    """
    columns = body.joint.subspace(body.joint.neutral()).columns
    along = {S.components.index(1): a for S, a in zip(columns, body.armature, strict=True)}
    x, y, z = (along.get(k, 0) for k in range(3))
    linear = [a for k, a in along.items() if k >= 3]
    mass = linear[0] if linear else 0
    if any(a != mass for a in linear):
        raise ModelError(
            f"joint '{body.joint_name}': the armature of a {body.joint.type_name} joint must be the same "
            f"along all axes, got {tuple(linear)}: give one number for the translations"
        )
    return Inertia.from_moments(mass, (0, 0, 0), (x, y, z, 0, 0, 0))


def refuse_undrivable(joint: Joint, name: str, owner: str) -> None:
    """ModelError if a rotor cannot be geared to this joint."""
    if joint.nv == 0:
        raise ModelError(
            f"{owner}: joint '{name}' is fixed and drives nothing: put the rotor's inertia on a body"
        )
    if not isinstance(joint, CoordinateJoint):
        raise ModelError(
            f"{owner}: a rotor cannot be geared to the {joint.type_name} joint '{name}', whose velocities "
            "are not rates of angles: use three revolute joints in sequence, or armature on this joint"
        )
