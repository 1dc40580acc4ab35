"""Joints whose forces have bounds, as terms of a minimum: stops, and drives with a largest effort."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kinetree import ops
from kinetree.algorithms.contact_law import Law, Numbers
from kinetree.algorithms.contact_terms import Terms
from kinetree.sweep import Sweep

# A velocity among those of all joints; whether there is a bound below, and above; whether what is beyond the
# bounds acts (a stop), or what is within them (a drive).
Bounds = tuple[int, bool, bool, bool]


class Bounded(Terms):
    """Velocities of joints along which forces offset - slope u act, within bounds or beyond them.

    One row for each velocity: (node, place among all joints of the node, velocity, what acts along it). Laws
    are cheap: nothing of them is kept.
    """

    duals, kept = 0, 0

    def __init__(self, tree: Sweep, joints: Sequence[tuple[Any, int, Any, list[Any]]], h: Any):
        super().__init__(tree, len(joints), h, False)
        self.joints = joints
        self.start = [[u] for _, _, u, _ in joints]
        self.w = self.known = self.tried = [()] * self.count

    def law(self, k: Any, u: Numbers) -> Law:
        force: Any = 0
        slope: Any = 0
        for part in self.joints[k][3]:
            f, s = _felt(u[0], *part)
            force, slope = force + f, slope + s
        return Law((force,), (), 0, 1, slope)

    def pack(self, law: Law) -> list[Any]:
        return []

    def unpack(self, k: Any, u: Numbers, row: Numbers) -> Law:
        return self.law(k, u)

    def along(self, sweep: Any, k: Any) -> Numbers:
        node, place, *_ = self.joints[k]
        return (sweep.spread(node)[place],)

    def load(self, sweep: Any) -> None:
        for k, (node, place, *_) in enumerate(self.joints):
            law = self.now(k)
            sweep.brake(node, place, self.h * law.slope, self.h * (law.force[0] - self.z[k][0]))


def _felt(u: Any, offset: Any, slope: Any, low: Any, high: Any, beyond: bool) -> tuple[Any, Any]:
    """A force at a velocity, and by how much it falls there; no bound where it is None."""
    line = offset - slope * u
    cut = line if low is None else ops.max(line, low)
    cut = cut if high is None else ops.min(cut, high)
    rest = line - cut
    is_within = ops.less_equal(ops.abs(rest), 0.0)
    if beyond:
        return rest, ops.where(is_within, 0.0, slope)
    return cut, ops.where(is_within, slope, 0.0)


def bounded_joints(
    tree: Sweep, nodes: Iterable[Any], q: Any, v: Any, bounded: Sequence[Bounds], pulls: Any
) -> list[tuple[Any, int, Any, list[Any]]]:
    """The velocities along which `bounded` forces act, in the order of the nodes."""
    found: dict[int, list[Any]] = {}
    for (place, below, above, beyond), (offset, slope, low, high) in zip(bounded, pulls):
        part = (offset, slope, low if below else None, high if above else None, beyond)
        found.setdefault(place, []).append(part)
    joints = []
    for i in nodes:
        for k in tree.places_among(i, found):
            u = tree.spread(i, q[i], v[i])[k]
            joints.append((i, k, u, found[tree.node(i).u_index[k]]))
    return joints
