"""Equivalent bodies and frames with the same dynamics, chosen for the cheapest computation.

The dynamics of a mechanism in its coordinates (M, C, gravity forces, accelerations) does not depend on how
its bodies are described. So before a program is made for results that depend on the coordinates alone, the
nodes are rewritten, exactly:

1. fixed joints are removed: the inertia goes to the body that carries them;
2. every axis becomes the z axis of its body's frame;
3. frames are turned about z and moved along z until the transform to one child of each body is a shift along
   x and a turn about x (Denavit and Hartenberg), with at most a constant turn before the child's own. The two
   turns are composed, so that no digits of a large angle are lost, as they would be in q + constant;
4. the part of an inertia that a joint does not feel (`Joint.unfelt`) moves to the body that carries the joint
   (base parameters): masses and moments become zeros that fold away. Deep trees are exempt, since digits
   would be lost;
5. where a loop pins two bodies to each other, a point mass moves from one to the other if that leaves it no
   first moment towards the pin (`pins.py`): then the coupler of a four-bar, or a rod, only resists turning.

References: Khalil and Dombre (2002) ch. 9 for base parameters; Craig (2005) ch. 3 for the frames.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from kinetree.joints import Joint
from kinetree.model.carried import without_noise
from kinetree.model.node import NOTHING, PREDECESSOR, Member, Node
from kinetree.model.pins import move_to_pins
from kinetree.spatial import Inertia, Transform
from kinetree.spatial import vector as vec
from kinetree.spatial.factors import Turn, factors
from kinetree.spatial.vector import Matrix, Vector

Place = tuple[int, int]  # node index, member index
# The common normal of nearly parallel axes is far away, where rounding errors grow: frames stay in place.
_LEAST_SINE = 0.05
# Inertia that moves inwards accumulates: in a deep tree the moments become large compared with what forward
# dynamics makes of them, and their differences lose digits (two at a depth of 100).
REGROUPED_DEPTH = 32


Homes = dict[Place, tuple[Place, Transform]]  # body -> its representative, and the transform from that


def canonical(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Nodes with the same generalised dynamics and the cheapest frames and inertias."""
    return canonical_with_homes(nodes)[0]


def canonical_with_homes(
    nodes: Sequence[Node], kept: Collection[Place] = ()
) -> tuple[tuple[Node, ...], Homes]:
    """Canonical nodes, and for each body the place of its representative and the transform from that frame.

    The transform leads from the representative's new frame to the body's own. `kept` are bodies that must
    stay where they are, even if the dynamics does not depend on it.
    """
    moving, homes = _without_fixed(nodes)
    work = Rewriting(moving, {homes[place][0] for place in kept})
    for place in work.places():
        work.turn_axis_to_z(place)
    for place in work.places():
        work.place_frame(place)
    regrouped = max(depths(work.nodes), default=0) <= REGROUPED_DEPTH
    if regrouped:
        work.move_all_unfelt()
        if move_to_pins(work):
            work.move_all_unfelt()
    for place in reversed(work.places()):
        work.simplify_placement(place)
    return tuple(work.nodes), {
        old: (new, way @ work.changes[new].inverse() if new in work.changes else way)
        for old, (new, way) in homes.items()
    }


def depths(nodes: Sequence[Node]) -> list[int]:
    """The number of nodes from the world to each node, itself included."""
    found: list[int] = []
    for node in nodes:
        above = node.predecessor[0]
        found.append(1 if above < 0 else found[above] + 1)
    return found


def _without_fixed(nodes: Sequence[Node]) -> tuple[list[Node], Homes]:
    """The nodes without those that have no coordinates; what these carry moves to their own carrier."""
    moved: dict[Place, tuple[Place, Transform]] = {}  # removed body -> its new place, transform to it
    extra: dict[Place, list[Inertia]] = {}
    kept: list[Node] = []
    number: dict[int, int] = {-1: -1}
    for node in nodes:
        home, way = moved.get(node.predecessor, (node.predecessor, None))
        members = tuple(
            m if way is None or m.carrier != PREDECESSOR else m._replace(placement=m.placement @ way)
            for m in node.members
        )
        if len(members) == 1 and members[0].joint.nv == 0:
            way = members[0].joint.placement(()) @ members[0].placement
            moved[node.number, 0] = (home, way)
            extra.setdefault(home, []).append(members[0].inertia.congruence(way))
        else:
            number[node.number] = len(kept)
            moved_on = node if way is None else _on_changed(node, way.inverse())
            kept.append(moved_on._replace(predecessor=home, members=members))
    # what removed bodies carried themselves is entered under their new place
    result = []
    for index, node in enumerate(kept):
        members = tuple(
            m._replace(inertia=sum(extra.get((node.number, k), []), m.inertia))
            for k, m in enumerate(node.members)
        )
        home = (number[node.predecessor[0]], node.predecessor[1])
        result.append(node._replace(number=index, predecessor=home, members=members))
    homes: Homes = {}
    for node in nodes:
        for k in range(len(node.members)):
            place, way = moved.get((node.number, k), ((node.number, k), Transform()))
            homes[node.number, k] = (number[place[0]], place[1]), way
    return result, homes


def _on_changed(node: Node, C: Transform) -> Node:
    """The node after the frame of its carrier was changed by C; its loops refer to points of that body."""
    if node.closing is None:
        return node
    return node._replace(closing=node.closing.changed(PREDECESSOR, C))


class Rewriting:
    """Nodes that are being rewritten, and which body carries which."""

    def __init__(self, nodes: list[Node], kept: Collection[Place] = ()):
        self.nodes, self.kept = nodes, kept
        self.changes: dict[Place, Transform] = {}  # from the original frame of a body to its new one
        self.carried: dict[Place, list[Place]] = {}
        for place in self.places():
            self.carried.setdefault(self.carrier(place), []).append(place)

    def places(self) -> list[Place]:
        return [(n.number, k) for n in self.nodes for k in range(len(n.members))]

    def member(self, place: Place) -> Member:
        return self.nodes[place[0]].members[place[1]]

    def carrier(self, place: Place) -> Place:
        node, m = self.nodes[place[0]], self.member(place)
        return node.predecessor if m.carrier < 0 else (place[0], m.carrier)

    def set(self, place: Place, member: Member) -> None:
        node = self.nodes[place[0]]
        members = list(node.members)
        members[place[1]] = member
        self.nodes[place[0]] = node._replace(members=tuple(members))

    def change_frame(self, place: Place, C: Transform, joint: Joint | None = None) -> None:
        """Express a body, and the predecessor side of its joint, in the frame that C leads to.

        The joint must look the same from both pairs of frames (C commutes with its motion), unless a new one
        is given.
        """
        m = self.member(place)
        inverse = C.inverse()
        self.changes[place] = C @ self.changes[place] if place in self.changes else C
        placement, inertia = _cleaned(C @ m.placement), _without_noise(m.inertia.congruence(inverse))
        self.set(place, m._replace(placement=placement, inertia=inertia, joint=joint or m.joint))
        for child in self.carried.get(place, []):
            c = self.member(child)
            if c.carrier != NOTHING:
                self.set(child, c._replace(placement=_cleaned(c.placement @ inverse)))
        self._change_loops(place, C)

    def _change_loops(self, place: Place, C: Transform) -> None:
        """Update the loops that contain, or are carried by, a body whose frame is changed."""
        node = self.nodes[place[0]]
        if node.closing is not None:
            self.nodes[place[0]] = node._replace(closing=node.closing.changed(place[1], C))
        for other in {child[0] for child in self.carried.get(place, [])} - {place[0]}:
            self.nodes[other] = _on_changed(self.nodes[other], C)

    def turn_axis_to_z(self, place: Place) -> None:
        """Step 2, for joints with a first axis."""
        m = self.member(place)
        straight = m.joint.straightened()
        if straight is not None and straight[1] != m.joint and m.carrier != NOTHING:
            self.change_frame(place, Transform(straight[0]), straight[1])

    def place_frame(self, place: Place) -> None:
        """Step 3: turn and move the frame of one body to suit the first body that it carries."""
        m = self.member(place)
        if m.joint.axis is None or m.carrier == NOTHING:
            return
        if m.joint.is_translation:  # its frame may be put anywhere
            self.change_frame(place, Transform(r=self.best_origin(place)))
            *_, last = _zxz(self.member(place).placement.rotation)
            if last and not self.carried.get(place):
                self.change_frame(place, Transform.from_factors(vec.ZERO, (last[0].inverse(),)))
        for child in self.carried.get(place, []):
            c = self.member(child)
            if c.joint.first_axis is not None and c.carrier != NOTHING:
                (x, y), slide = _normal(c.placement)
                if m.joint.is_translation:
                    slide = 0.0
                # of the two directions of the normal, take the one that turns the frame less
                if self._last_cosine(place, -x, -y) > self._last_cosine(place, x, y):
                    x, y = -x, -y
                if (x, y) != (1.0, 0.0) or slide != 0.0:
                    self.change_frame(place, Transform(_around_z((x, y)), (0, 0, slide)))
                return
        self.turn_to_anchor(place)

    def best_origin(self, place: Place) -> Vector:
        """For a body that slides: its centre of mass or, if it carries others, the carrier's origin."""
        m = self.member(place)
        mass, h = m.inertia.mass, m.inertia.first_moment
        is_real = vec.dot(h, h) <= 2 * mass * sum(m.inertia.second[:3])  # else it may lie far away
        if mass > 0 and is_real and not self.carried.get(place):
            return vec.divide(h, mass)
        return vec.neg(m.placement.turned(m.placement.translation))

    def turn_to_anchor(self, place: Place) -> None:
        """Turn the frame so that x points to the anchor of the body's closure, if it has one."""
        closing = self.nodes[place[0]].closing
        if closing is None or self.member(place).joint.is_translation:
            return
        points = {
            c.vector for tie in closing.rows for c in tie.carried if c.member == place[1] and c.is_point
        }
        for x, y, _ in points if len(points) == 1 else ():
            length = math.hypot(x, y)
            if length > 0.0 and 0 not in (x, y):
                self.change_frame(place, Transform(_around_z((x / length, y / length))))

    def _last_cosine(self, place: Place, x: float, y: float) -> float:
        """The cosine of the last of the three turns to a body if its frame is turned about z to (x, y)."""
        *_, last = _zxz((Transform(_around_z((x, y))) @ self.member(place).placement).rotation)
        return last[0].cos if last else 1.0

    def simplify_placement(self, place: Place) -> None:
        """Write the rotation to a body as turns about z, x and z; the last merges with the joint's own."""
        m = self.member(place)
        if m.carrier == NOTHING or m.joint.first_axis is None:
            return
        weightless = m.inertia.mass == 0 and not any(m.inertia.first_moment)
        if weightless and not self.carried.get(place) and not self.is_tied(place):
            # pure rotational inertia: its place does not matter
            m = m._replace(placement=Transform.from_factors(vec.ZERO, m.placement.factors))
        E = m.placement.rotation
        parts = sum(_zxz(E), ())
        own = m.joint.placement(m.joint.neutral()).factors
        merges = bool(own) and isinstance(own[0], Turn) and own[0].axis == 2
        cheap = parts if len(parts) < 3 or merges else factors(E)
        self.set(place, m._replace(placement=Transform.from_factors(m.placement.translation, cheap)))

    def is_tied(self, place: Place) -> bool:
        """Whether the place of a body matters: a closure acts on a point of it, or it is kept."""
        if place in self.kept:
            return True
        closing = self.nodes[place[0]].closing
        return closing is not None and any(c.member == place[1] for tie in closing.rows for c in tie.carried)

    def move_all_unfelt(self) -> None:
        """Step 4."""
        for place in reversed(self.places()):
            self.move_unfelt(place)

    def move_unfelt(self, place: Place) -> None:
        """Step 4, for one body; the parts from outboard have arrived already."""
        m = self.member(place)
        if m.carrier == NOTHING:
            return
        part = m.joint.unfelt(m.inertia)
        if not any(part.parameters):
            return
        rest = Inertia.from_parameters(
            0 if abs(w - p) <= 1e-15 * abs(w) else w - p
            for w, p in zip(m.inertia.parameters, part.parameters, strict=True)
        )
        self.set(place, m._replace(inertia=rest))
        home = self.carrier(place)
        if home[0] >= 0:
            # the joint position does not matter, so the constant placement is enough
            carrier = self.member(home)
            total = _without_noise(carrier.inertia + part.congruence(m.placement))
            self.set(home, carrier._replace(inertia=total))


def _normal(way: Transform) -> tuple[tuple[float, float], float]:
    """The common normal of the z axes of two frames: its direction (cos, sin) about z, and its height."""
    E, r = way.rotation, way.translation
    z = E[2]  # the other z axis
    sine = math.hypot(z[0], z[1])
    if sine == 0.0:
        length = math.hypot(r[0], r[1])
        turn = (r[0] / length, r[1] / length) if length > 0.0 else (1.0, 0.0)
        return turn, r[2]
    # the normal is z_p x z_c = (-z_y, z_x, 0)
    turn = (-z[1] / sine, z[0] / sine)
    if sine < _LEAST_SINE:
        return turn, 0.0
    # the point of the parent's axis nearest to the child's: minimise |r + t z - s e_z|
    along = (z[0] * r[0] + z[1] * r[1]) / sine**2
    return turn, r[2] - along * z[2]


def _around_z(turn: tuple[float, float]) -> Matrix:
    c, s = turn
    return ((c, s, 0), (-s, c, 0), (0, 0, 1))


def _zxz(E: Matrix) -> tuple[tuple[Turn, ...], tuple[Turn, ...], tuple[Turn, ...]]:
    """E as turns about z, x and z, each left out if zero: E = Z(last) X Z(first)."""
    z = E[2]
    sine = math.hypot(z[0], z[1])
    if sine < 1e-15:
        if z[2] > 0:
            return (), (), _turn(2, E[0][0], E[0][1])
        return (), (Turn(0, -1, 0),), _turn(2, E[0][0], -E[0][1])
    c1, s1 = -z[1] / sine, z[0] / sine
    if c1 < 0.0 or (c1 == 0.0 and s1 < 0.0):
        c1, s1, sine = -c1, -s1, -sine
    # rows of Z(first) are (c1, s1, 0), (-s1, c1, 0): after it, E = Z(last) X
    return (
        _turn(2, c1, s1),
        _turn(0, z[2], sine),
        _turn(2, E[0][0] * c1 + E[0][1] * s1, -(E[1][0] * c1 + E[1][1] * s1)),
    )


def _turn(axis: int, c: float, s: float) -> tuple[Turn, ...]:
    c, s = (0 if abs(x) < 1e-15 else x for x in (c, s))
    if c == 0:
        s = 1 if s > 0 else -1
    if s == 0:
        c = 1 if c > 0 else -1
    return () if c == 1 and s == 0 else (Turn(axis, c, s),)


def _cleaned(X: Transform) -> Transform:
    """The transform without the rounding noise of turning a frame back and forth."""
    size = max(1.0, *(abs(x) for x in X.translation))
    r = tuple(0 if abs(x) < 1e-15 * size else x for x in X.translation)
    E = X.rotation
    if any(0 < abs(x) < 1e-15 for row in E for x in row):
        E = tuple(tuple(_snapped(x) for x in row) for row in E)  # type: ignore[assignment]
    return Transform.from_factors(r, factors(E))  # type: ignore[arg-type]


def _without_noise(inertia: Inertia) -> Inertia:
    """The inertia without such rounding noise."""
    h, second = without_noise(inertia.first_moment), without_noise(inertia.second)
    return Inertia.from_moments(inertia.mass, h, second)


def _snapped(x: float) -> float:
    """A direction cosine, rounded to 0, 1 or -1 if it differs from that by rounding alone."""
    nearest = float(round(x))
    return nearest if abs(x - nearest) < 1e-15 else x
