"""Points of one body that can touch the ground."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinetree import ops
from kinetree.algorithms import contact_law as laws
from kinetree.algorithms.contact_law import AROUND, Law, Numbers, axes_along, leaving_of, pressure
from kinetree.algorithms.contact_terms import Terms
from kinetree.model.ground import Ground, NoGround
from kinetree.model.shapes import offset
from kinetree.spatial import Force
from kinetree.spatial import vector as vec
from kinetree.spatial.articulated import ArticulatedInertia
from kinetree.spatial.factors import Factor
from kinetree.spatial.transform import Transform
from kinetree.sweep import Sweep

FEW, MANY = 8, 24  # up to FEW points of a body are unrolled, if the model has at most MANY


class Patch(Terms):
    """Contact points of one body. Velocities are in the axes (t1, t2, n) of the ground."""

    width, duals, kept = 3, 2, 3
    E: Any = None  # the axes of the ground, if they are the same everywhere
    turns: tuple[Factor, ...] = ()  # the same axes as two turns, for Newton steps
    turn = Transform()  # from the body to axes shared by several points

    def __init__(
        self, tree: Sweep, body: Any, points: Sequence[Any], given: Sequence[Any], P: Any, V: Any,
        ground: Any, creep: Any, h: Any,
    ):  # fmt: skip
        super().__init__(tree, len(points), len(points) > (FEW if len(tree.contacts) <= MANY else 1))
        self.body, self.creep, self.h, self.pose = body, creep, h, P[body]
        known = tree.constants([(*p.support.numbers, *x) for p, x in zip(points, given)], self.loops)
        self.facts, self.start = tree.rows(self.count, 5), tree.rows(self.count, 3)
        if is_level := isinstance(ground, Ground):
            self.turns = laws.upright(self.pose.turned(ground.normal))
            turn = Transform.from_factors(vec.ZERO, self.turns)
            self.E = tuple(laws.held(self.pose, axis) for axis in turn.rotation)
            self.turn = turn if self.count > 1 else self.turn
        self.places, self.levers = tree.rows(self.count, 3 if is_level else 12), tree.rows(self.count, 3)
        for k in self.each():
            *shape, stiffness, dissipation, friction = known[k]
            center = (shape[0], shape[1], shape[2])
            at = vec.add(self.pose.translation, self.pose.turned_back(center))
            gap, normal = ground.at(at)
            up = self.pose.turned(normal)
            aside = offset(shape, up)
            r = vec.add(center, aside)
            depth = -(gap + vec.dot(up, aside))
            own = () if is_level else tuple(self.pose.turned(axis) for axis in axes_along(normal))
            self.places[k], self.levers[k] = [*r, *(x for axis in own for x in axis)], self.turn.turned(r)
            self.start[k] = u = (self.way(k) @ V[body]).linear
            pressing = (depth, h * stiffness, dissipation, leaving_of(depth, dissipation))
            self.facts[k] = [*pressing, friction * pressure(*pressing, u[2], 0)[0]]

    def apart(self) -> Patch:
        """A copy for derivatives, without `turns`: theirs would be large and cancel."""
        other: Any = super().apart()
        other.turns, other.turn = (), Transform()
        return other

    def way(self, k: Any) -> Transform:
        """The transform from the body to a point, in the axes of the ground."""
        x, y, z, *E = self.places[k]
        return Transform((tuple(E[:3]), tuple(E[3:6]), tuple(E[6:])) if E else self.E, (x, y, z))

    def reach(self, k: Any) -> Transform:
        """The transform to a point after `turn`, which all points share."""
        if not self.turns:
            return self.way(k)
        x, y, z = self.levers[k]
        return Transform.from_factors((x, y, z), self.turns if self.count == 1 else ())

    def law(self, k: Any, u: Numbers) -> Law:
        *pressing, bound = self.facts[k]
        return laws.touched(u, pressing, bound, self.creep, self.h)

    def pack(self, law: Law) -> list[Any]:
        return [law.inverse, law.force[2], law.slope]

    def unpack(self, k: Any, u: Numbers, row: Numbers) -> Law:
        return laws.gripped(u, self.facts[k][-1], *row)

    def along(self, sweep: Any, k: Any) -> Numbers:
        return (self.reach(k) @ (self.turn @ sweep.A[self.body])).linear

    def load(self, sweep: Any) -> None:
        self.lay(sweep, self.loads())

    def loads(self) -> Any:
        """X^T G X (21 numbers), and X^T (z - f), of all points."""
        total = self.tree.totals(27, self.loops)
        for k in self.each():
            law, way = self.now(k), self.reach(k)
            (xx, xy), (_, yy) = law.across(self.w[k])
            G = (xx, yy, law.slope, xy, 0, 0)
            pull = tuple(z - f for f, z in zip(law.force, self.z[k]))
            inertia, force = way.T @ ArticulatedInertia(M=G) @ way, way.T @ Force(vec.ZERO, pull)
            total.add(*inertia.parts, *force.components)
        numbers, turn = total.values(), self.turn
        inertia = turn.T @ ArticulatedInertia().with_parts(numbers[:21]) @ turn
        return [*inertia.parts, *(turn.T @ Force.from_components(numbers[21:])).components]

    def lay(self, sweep: Any, loads: Sequence[Any]) -> None:
        frame = self.pose.target
        sweep.I.add(self.body, ArticulatedInertia().with_parts(loads[:21]).tagged(frame))
        sweep.p.add(self.body, Force.from_components(loads[21:], frame))

    def calm(self, velocities: Sequence[Any], flag: Any) -> Any:
        for k, u in enumerate(velocities):
            flag = ops.where(ops.less(self.facts[k][0], self.h * (u - AROUND)), flag, 0.0)
        return flag

    def end(self, sweep: Any, k: Any) -> Numbers:
        """The velocity in the solution; without friction, its tangential part is that of the body."""
        *across, normal = super().end(sweep, k)
        holds = ops.less(0.0, self.facts[k][-1])
        moved = self.moved_from_start(sweep, k)
        return [*(ops.where(holds, x, y) for x, y in zip(across, moved)), normal]

    def worldly(self, k: int, vector: Sequence[Any]) -> Any:
        """A vector at a point, in world axes."""
        return self.pose.turned_back(self.way(k).turned_back(tuple(vector)))


def patches_of(tree: Sweep, given: Sequence[Any], *more: Any) -> list[tuple[Patch, list[int]]]:
    """The contact points, grouped by body, and their places among all."""
    if more[2] == NoGround():
        return []
    groups: dict[Any, list[int]] = {}
    for place, (body, point) in enumerate(tree.contacts):
        groups.setdefault((body, point.rim is None), []).append(place)
    found = []
    for (body, _), places in groups.items():
        points = [tree.contacts[k][1] for k in places]
        patch = Patch(tree, body, points, [given[k] for k in places], *more)
        others = tree.paths([other for other, _ in groups if other != body])
        patch.mostly_calm = not patch.loops and body._replace(member=None) in others  # a trunk, not a foot
        found.append((patch, places))
    return found
