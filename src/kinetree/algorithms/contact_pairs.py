"""Points at which two bodies can touch each other.

Velocities are those of the first body relative to the second: a pair enters as J_a - J_b. A few points of two
bodies enter one by one, each with three velocities; many together give one matrix G for six.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kinetree.algorithms.contact_law import axes_along, leaving_of, pressure
from kinetree.algorithms.contact_patch import Patch
from kinetree.algorithms.contact_terms import Terms
from kinetree.model.manifold import touches
from kinetree.spatial import Force, Motion
from kinetree.spatial import vector as vec
from kinetree.spatial.articulated import ArticulatedInertia
from kinetree.spatial.pose import Pose
from kinetree.spatial.transform import Transform
from kinetree.sweep import Sweep

FEW = 4  # up to this many points of two bodies are unrolled, and enter one by one


class Grip(NamedTuple):
    """A force -(pull + G u) of the second body on the first."""

    way: Transform  # u = way @ (the motion of the first body relative to the second)
    stiff: ArticulatedInertia  # G
    pull: Force


class PairPatch(Patch):
    """Contact points of two bodies, in the frame of the first."""

    def __init__(
        self, tree: Sweep, bodies: tuple[Any, Any], shapes: Sequence[Any], given: Sequence[Any], X: Any,
        S: Any, P: Any, V: Any, creep: Any, h: Any,
    ):  # fmt: skip
        a, b = bodies
        Terms.__init__(self, tree, len(given), len(given) > FEW)
        self.bodies, self.creep, self.h, self.pose = bodies, creep, h, P[a]
        self.across = P[a] @ P[b].inverse()  # from the second body to the first
        self.columns = relative(tree, a, b, X, S, self.across)
        self.facts, self.start = tree.rows(self.count, 5), tree.rows(self.count, 3)
        self.places = tree.rows(self.count, 12)
        where = Pose.from_transform(self.across.inverse())  # of the second body in the first
        found = [t for one, at, other, to in shapes for t in touches(one, at, other, where @ to)]
        velocity = V[a] - self.across @ V[b]
        for k, (touch, numbers) in enumerate(zip(found, given, strict=True)):
            stiffness, dissipation, friction = numbers
            self.places[k] = [*touch.point, *(x for axis in axes_along(touch.normal) for x in axis)]
            self.start[k] = u = (self.way(k) @ velocity).linear
            depth = -touch.gap
            pressing = (depth, h * stiffness * touch.share, dissipation, leaving_of(depth, dissipation))
            self.facts[k] = [*pressing, friction * pressure(*pressing, u[2], 0)[0]]

    @property
    def acts_on(self) -> list[Any]:
        return list(self.bodies)

    def moving(self, sweep: Any) -> Motion:
        """The motion of the first body relative to the second in a step."""
        a, b = self.bodies
        return sweep.A[a] - self.across @ sweep.A[b]

    def moved(self, sweep: Any) -> tuple[Any, Any]:
        self.moving(sweep)  # computed before the loop over the points
        sums = super().moved(sweep)
        for k, found in sweep.forces.get(self.bodies, {}).items():  # G du, but for rounding errors of du
            self.left[k] = [z - f for z, f in zip(self.z[k], found)]
        return sums

    def along(self, sweep: Any, k: Any) -> Any:
        return (self.way(k) @ self.moving(sweep)).linear

    def load(self, sweep: Any) -> None:
        if self.loops:
            super().load(sweep)
        else:
            sweep.grips[self.bodies] = [self.grip(k) for k in self.each()]

    def grip(self, k: Any) -> Grip:
        """What one point does in a Newton step."""
        law = self.now(k)
        (xx, xy), (_, yy) = law.across(self.w[k])
        pull = tuple(z - f for f, z in zip(law.force, self.z[k]))
        stiff = ArticulatedInertia(M=(xx, yy, law.slope, xy, 0, 0))
        return Grip(self.way(k), stiff, Force(vec.ZERO, pull))

    def lay(self, sweep: Any, loads: Sequence[Any]) -> None:
        stiff = ArticulatedInertia().with_parts(loads[:21])
        sweep.grips[self.bodies] = [Grip(Transform(), stiff, Force.from_components(loads[21:]))]


def relative(tree: Sweep, a: Any, b: Any, X: Any, S: Any, across: Transform) -> dict[Any, Any]:
    """The motion of body a relative to b per velocity of each node, up to the body that carries both."""
    frame = across.target
    here = list(tree.path(X, a, Transform().between(frame, frame)))
    there = list(tree.path(X, b, across))
    shared = {i for i, _ in here} & {i for i, _ in there}
    columns: dict[Any, Any] = {}
    for i, Y in here:
        if i in shared:
            break
        columns[i._replace(member=None)] = Y @ S[i]
    for i, Y in there:
        if i in shared:
            break
        node, J = i._replace(member=None), Y @ S[i]
        columns[node] = columns[node] - J if node in columns else -J
    return columns


def pair_patches(
    tree: Sweep, given: Sequence[Any], X: Any, S: Any, *more: Any
) -> list[tuple[PairPatch, list[int]]]:
    """The pairs of the model, grouped by their two bodies, and the places of their points among all."""
    groups: dict[Any, tuple[list[Any], list[int]]] = {}
    place = len(tree.contacts)
    for a, b, shapes, count in tree.pairs:
        own = groups.setdefault((a, b), ([], []))
        own[0].append(shapes)
        own[1].extend(range(place, place + count))
        place += count
    return [
        (PairPatch(tree, bodies, shapes, [given[k] for k in places], X, S, *more), places)
        for bodies, (shapes, places) in groups.items()
    ]
