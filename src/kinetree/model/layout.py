"""The layout of q and v: which numbers belong to which joint.

Joints own coordinates in the order in which their bodies were added. Fixed joints own none, and neither do
mimic joints: they are functions of the coordinate that they follow.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.joints import CoordinateJoint
from kinetree.model.coupling import Coupling, InLoop, Linear, Own
from kinetree.model.parts import Body
from kinetree.model.validate import unknown

ROUNDING = 1e-9  # rad or m: limits of joints that move together may contradict each other by so much


class Follow(NamedTuple):
    """A mimic joint in terms of an independent one: q = multiplier * q[leader] + offset."""

    leader: int  # index of the body whose joint is followed
    multiplier: Any
    offset: Any

    def followed(self, multiplier: Any, offset: Any) -> Follow:
        """The rule of a joint that follows this one: multipliers multiply, offsets compose."""
        return Follow(self.leader, multiplier * self.multiplier, offset + multiplier * self.offset)


class Layout(NamedTuple):
    """Where the coordinates of each joint start; entries are indexed by body, including the world (0)."""

    nq: int
    nv: int
    q_start: tuple[int, ...]
    v_start: tuple[int, ...]
    follows: dict[int, Follow]  # by body, for mimic joints only
    couplings: tuple[Coupling, ...]  # the coordinates of each joint in terms of q
    widths: tuple[int, ...]  # number of velocities of each joint in v

    def among(self, independent: Sequence[int]) -> Layout:
        """The layout of a model with loops, from that of all its joints: v has only the independent ones."""
        place = {j: k for k, j in enumerate(independent)}
        starts = tuple(bisect_left(independent, start) for start in self.v_start)
        ranges = [range(start, start + width) for start, width in zip(self.v_start, self.widths, strict=True)]
        widths = tuple(sum(j in place for j in own) for own in ranges)
        couplings: list[Coupling] = []
        for i, coupling in enumerate(self.couplings):
            own = ranges[self.follows[i].leader if i in self.follows else i]
            free = all(j in place for j in own)
            identity = {k: k for k in range(self.nq)}
            places = () if i in self.follows else tuple(place.get(j) for j in own)
            couplings.append(coupling.among(identity, place) if free else InLoop(coupling, places))
        return self._replace(
            nv=len(independent), v_start=starts, couplings=tuple(couplings), widths=widths
        )


def layout_of(bodies: Sequence[Body], joint_index: dict[str, int], model: str) -> Layout:
    """The layout of q and v; ModelError if a mimic joint has no joint that it can follow."""
    q_start, v_start = [0], [0]
    nq = nv = 0
    for body in bodies:
        q_start.append(nq)
        v_start.append(nv)
        if body.mimic is None:
            nq += body.joint.nq
            nv += body.joint.nv
    follows: dict[int, Follow] = {}
    for i, body in enumerate(bodies, 1):
        if body.mimic is not None and i not in follows:
            _resolve(i, bodies, joint_index, model, follows)
    follows = dict(sorted(follows.items()))
    _refuse_contradictions(bodies, follows, model)
    couplings: list[Coupling] = [Own(0, 0, 0, 0)]
    for i, body in enumerate(bodies, 1):
        if i in follows:
            leader, multiplier, offset = follows[i]
            couplings.append(Linear(((q_start[leader], v_start[leader], multiplier),), offset))
        else:
            couplings.append(Own(q_start[i], body.joint.nq, v_start[i], body.joint.nv))
    widths = (0, *(0 if body.mimic is not None else body.joint.nv for body in bodies))
    return Layout(nq, nv, tuple(q_start), tuple(v_start), follows, tuple(couplings), widths)


def _resolve(
    i: int, bodies: Sequence[Body], joint_index: dict[str, int], model: str, follows: dict[int, Follow]
) -> None:
    """Find the independent joint at the end of a chain of mimic joints, for all not yet in `follows`."""
    chain: dict[int, None] = {}  # in order
    while i not in follows and bodies[i - 1].mimic is not None:
        chain[i] = None
        i = _leader(i, bodies, joint_index, model)
        if i in chain:
            names = [bodies[k - 1].joint_name for k in chain]
            cycle = " -> ".join([*names[list(chain).index(i) :], bodies[i - 1].joint_name])
            raise ModelError(
                f"model '{model}': mimic joint '{names[-1]}' follows itself ({cycle}): one joint of them "
                "must be independent"
            )
    known = follows.get(i, Follow(i, 1, 0))
    for k in reversed(chain):
        rule = bodies[k - 1].mimic
        assert rule is not None
        known = follows[k] = known.followed(rule.multiplier, rule.offset)


def _leader(i: int, bodies: Sequence[Body], joint_index: dict[str, int], model: str) -> int:
    """The body whose joint the joint of body `i` follows directly."""
    owner, rule = f"model '{model}': mimic joint '{bodies[i - 1].joint_name}'", bodies[i - 1].mimic
    assert rule is not None
    if rule.joint not in joint_index:
        raise unknown(rule.joint, "joint", joint_index, owner)
    leader = bodies[joint_index[rule.joint] - 1].joint
    if leader.nv != 1:
        raise ModelError(
            f"{owner} cannot follow '{rule.joint}', a {leader.type_name} joint with {leader.nv} degrees "
            "of freedom: only joints with one can be followed"
        )
    return joint_index[rule.joint]


def followed_limits(low: Any, high: Any, multiplier: Any, offset: Any) -> tuple[Any, Any]:
    """Limits of a mimic joint as limits of the joint that it follows."""
    if not ops.is_literal(multiplier) or multiplier == 0:
        return -math.inf, math.inf
    low, high = (low - offset) / multiplier, (high - offset) / multiplier
    return (low, high) if multiplier > 0 else (high, low)


def _refuse_contradictions(bodies: Sequence[Body], follows: Mapping[int, Follow], model: str) -> None:
    """ModelError if no position is within the limits of a mimic joint and of those that it moves with."""
    common: dict[int, tuple[Any, Any]] = {}
    for i, (leader, multiplier, offset) in follows.items():
        limits, above = bodies[i - 1].limits, bodies[leader - 1].limits
        own = followed_limits(limits.lower[0], limits.upper[0], multiplier, offset)
        low, high = common.get(leader, (above.lower[0], above.upper[0]))
        common[leader] = low, high = ops.max(low, own[0]), ops.min(high, own[1])
        if ops.is_literal(low) and ops.is_literal(high) and low > high + ROUNDING:
            raise ModelError(
                f"model '{model}': no position is within the limits of mimic joint "
                f"'{bodies[i - 1].joint_name}' and of '{bodies[leader - 1].joint_name}', which it follows: "
                f"'{bodies[leader - 1].joint_name}' would be above {low:g} and below {high:g}"
            )


def coordinate_places(bodies: Sequence[Body], layout: Layout) -> tuple[dict[str, np.ndarray], list]:
    """Places in "q" and "v" that correspond one to one; (body, places) of all other joints."""
    vector: dict[str, list[int]] = {"q": [], "v": []}
    others = []
    for i, body in enumerate(bodies, 1):
        if body.mimic is not None or isinstance(layout.couplings[i], InLoop):
            continue
        joint = body.joint
        place = {
            "q": range(layout.q_start[i], layout.q_start[i] + joint.nq),
            "v": range(layout.v_start[i], layout.v_start[i] + joint.nv),
        }
        if isinstance(joint, CoordinateJoint):
            vector["q"].extend(place["q"])
            vector["v"].extend(place["v"])
        else:
            others.append((body, place))
    return {space: np.array(places, dtype=int) for space, places in vector.items()}, others


def described(bodies: Sequence[Body], layout: Layout, velocities: bool) -> str:
    """Which joints take how many numbers, as in "free joint 'root' takes 7, 12 revolute joints 1 each"."""
    counts: Counter[tuple[str, int]] = Counter()
    names: dict[tuple[str, int], str] = {}
    dependent = 0
    for i, body in enumerate(bodies, 1):
        width = layout.widths[i] if velocities else body.joint.nq
        if body.mimic is None and body.joint.nv:
            dependent += width < body.joint.nv if velocities else 0
            if width:
                counts[body.joint.type_name, width] += 1
                names.setdefault((body.joint.type_name, width), body.joint_name)
    parts = []
    for (kind, width), n in counts.items():
        one, several = f"{kind} joint '{names[kind, width]}' takes {width}", f"{n} {kind} joints"
        parts.append(one if n == 1 else f"{several} {width} each")
    if dependent:
        parts.append(f"{dependent} more depend{'s' * (dependent == 1)} on these by loops")
    return ", ".join(parts) or "no joint moves"
