"""Joint forces as terms of the minimisation: dry friction, stops, and drives with limited effort."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kinetree import ops
from kinetree.algorithms.contact_law import AROUND, Law, Numbers, rubbed
from kinetree.algorithms.contact_terms import Terms
from kinetree.sweep import Sweep

# The place of a velocity among those of all joints; whether there is a lower and an upper bound; True if the
# part beyond the bounds acts (a stop), False if the part within them does (a drive).
Bounds = tuple[int, bool, bool, bool]


class AtJoints(Terms):
    """Terms along joint velocities: (node, place among all joints of the node, velocity, data of the law)."""

    def __init__(self, tree: Sweep, joints: Sequence[tuple[Any, int, Any, Any]]):
        super().__init__(tree, len(joints), False)
        self.joints = joints
        self.start = [[u] for _, _, u, _ in joints]

    @property
    def acts_on(self) -> list[Any]:
        return [node for node, *_ in self.joints]

    def along(self, sweep: Any, k: Any) -> Numbers:
        node, place, *_ = self.joints[k]
        return (sweep.spread(node)[place],)

    def load(self, sweep: Any) -> None:
        for k, (node, place, *_) in enumerate(self.joints):
            law = self.now(k)
            sweep.brake(node, place, law.fall(self.w[k], (1,))[0], law.force[0] - self.z[k][0])


class Rubs(AtJoints):
    """Dry friction of joints, each with its bound."""

    def law(self, k: Any, u: Numbers) -> Law:
        return rubbed(u[0], self.joints[k][3])


class Bounded(AtJoints):
    """Forces offset - slope u, within bounds or beyond them. The laws are cheap, so none are stored."""

    duals, kept = 0, 0

    def __init__(self, *given: Any):
        super().__init__(*given)
        self.mostly_calm = all(beyond for *_, parts in self.joints for *_, beyond in parts)

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

    def calm(self, velocities: Sequence[Any], flag: Any) -> Any:
        for (*_, parts), u in zip(self.joints, velocities):
            for offset, slope, low, high, _ in parts:
                line, around = offset - slope * u, AROUND * slope
                if low is not None:
                    flag = ops.where(ops.less(low + around, line), flag, 0.0)
                if high is not None:
                    flag = ops.where(ops.less(line, high - around), flag, 0.0)
        return flag


def _felt(u: Any, offset: Any, slope: Any, low: Any, high: Any, beyond: bool) -> tuple[Any, Any]:
    """The force at a velocity, and the rate at which it decreases; a bound of None does not apply."""
    line = offset - slope * u
    cut = line if low is None else ops.max(line, low)
    cut = cut if high is None else ops.min(cut, high)
    rest = line - cut
    is_within = ops.less_equal(ops.abs(rest), 0.0)
    if beyond:
        return rest, ops.where(is_within, 0.0, slope)
    return cut, ops.where(is_within, slope, 0.0)


def bounded_joints(
    tree: Sweep, nodes: Iterable[Any], q: Any, v: Any, bounded: Sequence[Bounds], pulls: Any, h: Any
) -> tuple[list[tuple[Any, int, Any, list[Any]]], ...]:
    """The velocities with `bounded` forces, in node order: those with stops only, and all others.

    `pulls` are forces; what is found are impulses in a step of length h.
    """
    found: dict[int, list[Any]] = {}
    for (place, below, above, beyond), (offset, slope, low, high) in zip(bounded, pulls):
        part = (h * offset, h * slope, h * low if below else None, h * high if above else None, beyond)
        found.setdefault(place, []).append(part)
    stopped: list[Any] = []
    driven: list[Any] = []
    for i in nodes:
        for k in tree.places_among(i, found):
            u = tree.spread(i, q[i], v[i])[k]
            parts = found[tree.node(i).u_index[k]]
            (stopped if all(beyond for *_, beyond in parts) else driven).append((i, k, u, parts))
    return stopped, driven
