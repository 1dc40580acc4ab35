"""Joints whose forces have bounds, as terms of a minimum: stops, and drives with a largest effort."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from kinetree import ops
from kinetree.algorithms.contact_law import Law, Numbers
from kinetree.algorithms.contact_terms import Terms
from kinetree.sweep import Sweep

Bounds = tuple[
    int, bool, bool
]  # a velocity among those of all joints, and whether there is a bound below, above


class Bounded(Terms):
    """Velocities of joints along which forces offset - slope u act that are cut off at bounds.

    One row for each velocity: (node, place among all joints of the node, velocity, what acts along it).
    """

    duals, kept = 0, 2

    def __init__(self, tree: Sweep, joints: Sequence[tuple[Any, int, Any, list[Any]]], h: Any):
        super().__init__(tree, len(joints), h, False)
        self.joints = joints
        self.start = [[u] for _, _, u, _ in joints]
        self.w = [()] * self.count

    def law(self, k: Any, u: Numbers) -> Law:
        force: Any = 0
        slope: Any = 0
        for part in self.joints[k][3]:
            f, s = part(u[0])
            force, slope = force + f, slope + s
        return Law((force,), (), 0, 1, slope)

    def pack(self, law: Law) -> list[Any]:
        return [*law.force, law.slope]

    def unpack(self, k: Any, u: Numbers, row: Numbers) -> Law:
        return Law((row[0],), (), 0, 1, row[1])

    def along(self, sweep: Any, k: Any) -> Numbers:
        node, place, *_ = self.joints[k]
        return (sweep.spread(node)[place],)

    def load(self, sweep: Any) -> None:
        for k, (node, place, *_) in enumerate(self.joints):
            law = self.now(k)
            sweep.brake(node, place, self.h * law.slope, self.h * (law.force[0] - self.z[k][0]))


def _cut_off(offset: Any, slope: Any, low: Any, high: Any, u: Any) -> tuple[Any, Any]:
    """A force at a velocity, and by how much it falls there; no bound where it is None."""
    force = offset - slope * u
    if low is not None:
        slope, force = ops.where(ops.less(force, low), 0.0, slope), ops.max(force, low)
    if high is not None:
        slope, force = ops.where(ops.less(high, force), 0.0, slope), ops.min(force, high)
    return force, slope


def _stopped(lower: Any, upper: Any, slope: Any, u: Any) -> tuple[Any, Any]:
    """The same for stops on both sides of a joint: there is no force in between."""
    inside = slope * u
    force = ops.min(ops.max(inside, lower), upper) - inside
    return force, ops.where(ops.less(0.0, force * force), slope, 0.0)


def bounded_joints(
    tree: Sweep, nodes: Iterable[Any], q: Any, v: Any, bounded: Sequence[Bounds], pulls: Any
) -> list[tuple[Any, int, Any, list[Any]]]:
    """The velocities along which `bounded` forces act, in the order of the nodes.

    What has a bound on one side alone is a stop: it only pushes, and those of a joint are alike.
    """
    found: dict[int, list[Any]] = {}
    stops: dict[int, dict[bool, Any]] = {}
    for (place, below, above), (offset, slope, low, high) in zip(bounded, pulls):
        own = found.setdefault(place, [])
        if below and above:
            own.append(partial(_cut_off, offset, slope, low, high))
        else:
            stops.setdefault(place, {})[above] = offset, slope
    for place, sides in stops.items():
        if len(sides) == 2:
            found[place].append(partial(_stopped, sides[False][0], *sides[True]))
        else:
            ((above, side),) = sides.items()
            found[place].append(partial(_cut_off, *side, *((None, 0.0) if above else (0.0, None))))
    joints = []
    for i in nodes:
        for k in tree.places_among(i, found):
            u = tree.spread(i, q[i], v[i])[k]
            joints.append((i, k, u, found[tree.node(i).u_index[k]]))
    return joints
