"""Groups of points that touch and joints that rub, as terms of a minimum: what they do in a Newton step.

What belongs to a point (its velocity u, what is known of its force z, its dual w) is kept in rows of memory,
so that many points on a body are a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinetree.algorithms.contact_law import (
    Law,
    Numbers,
    axes_along,
    dot,
    leaving_of,
    pressure,
    rubbed,
    touched,
)
from kinetree.model.shapes import on_rim
from kinetree.spatial import Force
from kinetree.spatial import vector as vec
from kinetree.spatial.articulated import ArticulatedInertia
from kinetree.spatial.transform import Transform
from kinetree.sweep import Sweep


FEW, MANY = 8, 24  # points of a body that are not worth a loop, if a model has no more


class Terms:
    """Terms that are alike. `width` numbers make the velocity of one, `duals` its dual."""

    width, duals = 1, 1

    start: Any  # rows: the velocities at the beginning

    def __init__(self, tree: Sweep, count: int, h: Any, loops: bool):
        self.tree, self.count, self.h, self.loops = tree, count, h, loops
        widths = (self.width, self.width, self.width, self.duals, self.width + self.duals + 3)
        self.u, self.z, self.du, self.w, self.laws = (tree.rows(count, n) for n in widths)

    def each(self) -> Any:
        """All of them, one after the other or in a loop."""
        return self.tree.each(self.count, self.loops)

    def law(self, k: Any, u: Numbers) -> Law:
        """What one feels at a velocity."""
        raise NotImplementedError

    def load(self, sweep: Any) -> None:
        """Add h G to inertias, and h (f - z) to what pulls."""
        raise NotImplementedError

    def along(self, sweep: Any, k: Any) -> Numbers:
        """How its velocity changes in a step."""
        raise NotImplementedError

    def begin(self) -> None:
        """Nothing is known yet."""
        for k in self.each():
            self.u[k] = self.start[k]
            self.z[k], self.w[k] = [0.0] * self.width, [0.0] * self.duals

    def now(self, k: Any) -> Law:
        """What it feels now, and keeps until the end of the Newton step."""
        law = self.law(k, self.u[k])
        self.laws[k] = [*law.force, *law.t, law.grip, law.inverse, law.slope]
        return law

    def kept(self, k: Any) -> Law:
        """What it felt at the beginning of the Newton step."""
        row, n = self.laws[k], self.width
        return Law(row[:n], row[n : n + self.duals], *row[n + self.duals :])

    def moved(self, sweep: Any) -> tuple[Any, Any]:
        """Note the steps of all; the sums of f . du and du . G du."""
        total = self.tree.totals(2, self.loops)
        for k in self.each():
            law, du = self.kept(k), self.along(sweep, k)
            self.du[k] = du
            total.add(dot(law.force, du), dot(law.fall(self.w[k], du), du))
        return total.values()

    def felt(self, a: Any) -> Any:
        """The sum of f . du after a part of the step."""
        total = self.tree.totals(1, self.loops)
        for k in self.each():
            u, du = self.u[k], self.du[k]
            total.add(dot(self.law(k, [x + a * y for x, y in zip(u, du)]).force, du))
        return total.values()[0]

    def advance(self, a: Any) -> tuple[Any, Any]:
        """Go a part of the step; the squares of what is missing in the forces, and of the forces."""
        total = self.tree.totals(2, self.loops)
        for k in self.each():
            law, du, w = self.kept(k), self.du[k], self.w[k]
            left = [f - g for f, g in zip(law.force, law.fall(w, du))]
            u = [x + a * y for x, y in zip(self.u[k], du)]
            z = [x + a * (y - x) for x, y in zip(self.z[k], left)]
            self.u[k], self.z[k], self.w[k] = u, z, law.dual(w, du)
            force = self.law(k, u).force
            missing = [f - x for f, x in zip(force, z)]
            total.add(dot(missing, missing), dot(force, force))
        return total.values()

    def settle(self, sweep: Any) -> None:
        """Stand at the end of a step from the beginning, with duals that are right there."""
        for k in self.each():
            u = [x + y for x, y in zip(self.start[k], self.along(sweep, k))]
            self.u[k], self.z[k], self.w[k] = u, [0.0] * self.width, list(self.law(k, u).t)


class Patch(Terms):
    """Points of one body that can touch. Velocities in the axes (t1, t2, n) of the ground."""

    width, duals = 3, 2

    def __init__(
        self, tree: Sweep, body: Any, points: Sequence[Any], given: Sequence[Any], P: Any, V: Any, ground: Any,
        creep: Any, h: Any,
    ):  # fmt: skip
        super().__init__(tree, len(points), h, len(points) > (FEW if len(tree.contacts) <= MANY else 1))
        self.body, self.creep, self.pose = body, creep, P[body]
        known = tree.constants([(*_shape(p), *x) for p, x in zip(points, given)], self.loops)
        self.facts, self.start = tree.rows(self.count, 5), tree.rows(self.count, 3)
        self.places = tree.rows(self.count, 12)
        for k in self.each():
            *shape, stiffness, dissipation, friction = known[k]
            center, radius, rim = (shape[0], shape[1], shape[2]), shape[3], shape[4:]
            at = vec.add(self.pose.translation, self.pose.turned_back(center))
            gap, normal = ground.at(at)
            E = tuple(self.pose.turned(axis) for axis in axes_along(normal))
            offset = vec.scale(E[2], -radius)
            if rim:
                offset = vec.add(offset, on_rim(tuple(rim[:3]), tuple(rim[3:6]), tuple(rim[6:]), E[2]))  # type: ignore[arg-type]
            r = vec.add(center, offset)
            depth = -(gap + vec.dot(E[2], offset))
            self.places[k] = [*r, *E[0], *E[1], *E[2]]
            self.start[k] = u = (self.way(k) @ V[body]).linear
            pressing = (depth, stiffness, dissipation, leaving_of(depth, dissipation))
            self.facts[k] = [*pressing, friction * pressure(*pressing, u[2], 0)[0]]

    def way(self, k: Any) -> Transform:
        """From the body to a point, in the axes of the ground."""
        x = self.places[k]
        E = (tuple(x[3:6]), tuple(x[6:9]), tuple(x[9:12]))
        return Transform(E, tuple(x[:3])).between(self.pose.target, None)  # type: ignore[arg-type]

    def law(self, k: Any, u: Numbers) -> Law:
        *pressing, bound = self.facts[k]
        return touched(u, pressing, bound, self.creep, self.h)

    def along(self, sweep: Any, k: Any) -> Numbers:
        return (self.way(k) @ sweep.A[self.body]).linear

    def load(self, sweep: Any) -> None:
        total = self.tree.totals(27, self.loops)
        for k in self.each():
            law, (a, b), way = self.now(k), self.w[k], self.way(k)
            (x, y), grip = law.t, self.h * law.grip
            G = (grip * (1 - a * x), grip * (1 - b * y), self.h * law.slope, -0.5 * grip * (a * y + b * x), 0, 0)
            pull = tuple(self.h * (z - f) for f, z in zip(law.force, self.z[k]))
            inertia, force = way.T @ ArticulatedInertia(M=G) @ way, way.T @ Force(vec.ZERO, pull)
            total.add(*inertia.parts, *force.components)
        values, frame = total.values(), self.pose.target
        sweep.I.add(self.body, ArticulatedInertia().with_parts(values[:21]).tagged(frame))
        sweep.p.add(self.body, Force.from_components(values[21:], frame))

    def worldly(self, k: int, vector: Sequence[Any]) -> Any:
        """A vector at a point in the axes of the world."""
        return self.pose.turned_back(self.way(k).turned_back(tuple(vector)))


def _shape(point: Any) -> tuple[Any, ...]:
    """The numbers that say where a point touches: of its ball, and of its rim if it has one."""
    rim = () if point.rim is None else (*point.rim.axis, *point.rim.start, *point.rim.reach)
    return (*point.position, point.radius, *rim)


class Rubs(Terms):
    """Velocities of joints with dry friction: (node, place among all joints of the node, velocity, bound)."""

    def __init__(self, tree: Sweep, joints: Sequence[tuple[Any, int, Any, Any]], h: Any):
        super().__init__(tree, len(joints), h, False)
        self.joints = joints
        self.start = [[u] for _, _, u, _ in joints]

    def law(self, k: Any, u: Numbers) -> Law:
        return rubbed(u[0], self.joints[k][3])

    def along(self, sweep: Any, k: Any) -> Numbers:
        node, place, *_ = self.joints[k]
        return (sweep.spread(node)[place],)

    def load(self, sweep: Any) -> None:
        for k, (node, place, *_) in enumerate(self.joints):
            law = self.now(k)
            slope, pull = law.fall(self.w[k], (1,))[0], law.force[0] - self.z[k][0]
            sweep.brake(node, place, self.h * slope, self.h * pull)
