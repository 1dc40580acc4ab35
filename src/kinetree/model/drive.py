"""What each coordinate feels at its own joint: armature, damping, friction, springs and limits, as vectors.

A joint that mimics another is felt by the coordinate that it follows: if q' = m q + b, its armature,
damping and stiffness count m^2 times, its friction |m| times, and a limit on q' is a limit on q.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree import ops
from kinetree.model.parts import Body, Limits

if TYPE_CHECKING:
    from kinetree.model.model import Model


def _felt(model: Model) -> Iterator[tuple[Body, int, int, Any, Any]]:
    """(body, place in v, degree of freedom, multiplier, offset) of every degree of freedom of every joint."""
    for i, body in enumerate(model.bodies, 1):
        rule = model.layout.follows.get(i)
        leader, multiplier, offset = rule if rule is not None else (i, 1, 0)
        for k in range(body.joint.nv):
            yield body, model.layout.v_start[leader] + k, k, multiplier, offset


def summed(model: Model, field: str) -> np.ndarray:
    """(nv,) armature, damping, friction or stiffness along each velocity."""
    total: list[Any] = [0.0] * model.nv
    for body, place, k, multiplier, _ in _felt(model):
        weight = ops.abs(multiplier) if field == "friction" else multiplier * multiplier
        total[place] = total[place] + weight * getattr(body, field)[k]
    return np.array(total)


def spring_reference(model: Model) -> np.ndarray:
    """(nq,) the position at which the springs of each joint, together, are relaxed."""
    reference = [x for body in model.bodies if body.mimic is None for x in body.spring_reference]
    for i, rule in model.layout.follows.items():
        follower, leader = model.bodies[i - 1], model.bodies[rule.leader - 1]
        place, k = model.layout.q_start[rule.leader], follower.stiffness[0]
        if ops.is_literal(k) and k == 0:
            continue
        total = leader.stiffness[0] + rule.multiplier * rule.multiplier * k
        pull = rule.multiplier * k * (follower.spring_reference[0] - rule.offset)
        reference[place] = (leader.stiffness[0] * reference[place] + pull) / total
    return np.array(reference)


def limits(model: Model) -> Limits:
    """Limits with an array (nv,) in each field; infinite where there is none."""
    result = Limits(*([x] * model.nv for x in Limits()))
    for body, place, k, multiplier, offset in _felt(model):
        low, high, velocity, effort = (values[k] for values in body.limits)
        if body.mimic is not None:
            if not ops.is_literal(multiplier) or multiplier == 0:
                continue
            low, high = sorted(((low - offset) / multiplier, (high - offset) / multiplier))
            velocity, effort = velocity / abs(multiplier), math.inf
        result.lower[place] = ops.max(result.lower[place], low)
        result.upper[place] = ops.min(result.upper[place], high)
        result.velocity[place] = ops.min(result.velocity[place], velocity)
        result.effort[place] = ops.min(result.effort[place], effort)
    return Limits(*map(np.array, result))
