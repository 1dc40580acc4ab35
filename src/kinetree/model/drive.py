"""Joint properties as vectors over the coordinates: armature, damping, friction, springs and limits.

A mimic joint acts on the coordinate that it follows (its `Coupling` says which, and by what factor): if
q' = m q + b, its armature, damping and stiffness count m^2 times, its friction |m| times, and a limit on q'
is a limit on q. A joint that depends on others through a loop is in none of these vectors: its effect depends
on the position.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree import ops
from kinetree.joints import CoordinateJoint
from kinetree.model.coupling import InLoop
from kinetree.model.layout import followed_limits
from kinetree.model.parts import Body, Limits, Rotor

if TYPE_CHECKING:
    from kinetree.model.model import Model


def _felt(model: Model) -> Iterator[tuple[Body, int, int, Any, Any]]:
    """(body, place in v, degree of freedom, multiplier, offset) of every degree of freedom of every joint."""
    rest = (0,) * model.nq
    for body, coupling in zip(model.bodies, model.layout.couplings[1:], strict=True):
        if isinstance(coupling, InLoop):
            continue
        offsets = coupling.positions(rest)
        for k, row in enumerate(coupling.G(rest)):
            for place, multiplier in row:
                yield body, place, k, multiplier, offsets[k]


def summed(model: Model, field: str) -> np.ndarray:
    """(nv,) armature, damping, friction or stiffness along each velocity."""
    total: list[Any] = [0.0] * model.nv
    for body, place, k, multiplier, _ in _felt(model):
        weight = ops.abs(multiplier) if field == "friction" else multiplier * multiplier
        total[place] = total[place] + weight * getattr(body, field)[k]
    return np.array(total)


def spring_reference(model: Model) -> np.ndarray:
    """(nq,) the position at which the combined springs of each joint are relaxed."""
    reference = [x for body in model.bodies if body.mimic is None for x in body.spring_reference]
    total: list[Any] = [0] * model.nv  # springs on one coordinate balance: sum m^2 k (q - q_0) = 0
    pull: list[Any] = [0] * model.nv
    shared = set()
    for body, place, k, multiplier, offset in _felt(model):
        if isinstance(body.joint, CoordinateJoint):
            force = multiplier * body.stiffness[k]
            total[place] = total[place] + multiplier * force
            pull[place] = pull[place] + force * (body.spring_reference[k] - offset)
            if body.mimic is not None:
                shared.add(place)
    coordinates, _ = model.coordinate_places
    for i, place in zip(coordinates["q"], coordinates["v"], strict=True):
        if place in shared and not (ops.is_literal(total[place]) and total[place] == 0):
            reference[i] = pull[place] / total[place]
    return np.array(reference)


def limits(model: Model) -> Limits:
    """Limits with an array (nv,) in each field; infinite where there is none."""
    result = Limits(*([x] * model.nv for x in Limits()))
    for body, place, k, multiplier, offset in _felt(model):
        low, high, velocity, effort = (values[k] for values in body.limits)
        if body.mimic is not None:
            if not ops.is_literal(multiplier) or multiplier == 0:
                continue
            low, high = followed_limits(low, high, multiplier, offset)
            velocity, effort = velocity / abs(multiplier), math.inf
        result.lower[place] = ops.max(result.lower[place], low)
        result.upper[place] = ops.min(result.upper[place], high)
        result.velocity[place] = ops.min(result.velocity[place], velocity)
        result.effort[place] = ops.min(result.effort[place], effort)
    return Limits(*map(np.array, result))


def parameters(model: Model) -> np.ndarray:
    """(nb, 10): the inertial parameters of all bodies; see `Model.parameters`."""
    rows = np.array([body.inertia.parameters for body in model.bodies])
    return rows.reshape(-1, 10) if rows.dtype == object else rows.astype(float).reshape(-1, 10)


def total_mass(model: Model) -> Any:
    """The mass of all bodies and rotors."""
    parts: tuple[Body | Rotor, ...] = (*model.bodies, *model.rotors)
    return sum(part.inertia.mass for part in parts)
