"""Joints without inertia along their motion, where forward dynamics would divide by zero.

Articulated inertias are computed in one generic configuration. A joint along whose motion they vanish, by the
criterion of forward dynamics, is reported; repair gives the link behind it a small mass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.algorithms.articulation import articulated_inertias
from kinetree.interpreters.eager import EagerSweep, run
from kinetree.io.description import Description
from kinetree.io.report import Log
from kinetree.model import Model
from kinetree.model.closed_positions import loop_nodes
from kinetree.model.coupling import Own
from kinetree.spatial import Factored, Inertia, Matrix
from kinetree.sweep.bounds import NEGLIGIBLE, inertia_bounds

_RADIUS = 0.02  # m, radius of gyration of the small mass that repair adds
_BODIES = 5_000  # with more, the check would take longer than loading
_PASSES = 4  # of repair, from the tips to the base


def checked_motion(robot: Description, assemble: Callable[[Description], Model], log: Log) -> Model:
    """The model of a robot, after recording (or repairing) joints without inertia along their motion.

    A repaired link may suffice for the joints inboard of it, so repair starts at the tips.
    """
    model = assemble(robot)
    added = _small_inertia(model)
    for left in reversed(range(_PASSES)):
        found = _motionless(model)
        if log.repair and left:
            found = _outermost(model, found)
        if not any([_report(robot, model, body, added, log) for body in found]):
            break
        model = assemble(robot)
    return model


class _Probe(EagerSweep):
    """Collects the bodies whose joints have no inertia, and continues as if they had some."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.bodies: dict[int, None] = {}  # tips first

    def factored(self, i: Any, D: Matrix) -> Factored:
        node, stand_in = self.node(i), [0.0] * len(D.rows)
        bounds = inertia_bounds(self.model)[list(node.v_index)].tolist()
        while True:
            found = Factored(D + Matrix.diagonal(stand_in))
            pairs = enumerate(zip(found.pivots, bounds, strict=True))
            lost = [k for k, (pivot, bound) in pairs if not pivot > NEGLIGIBLE * bound and not stand_in[k]]
            if not lost:
                return found
            stand_in[lost[0]] = bounds[lost[0]]
            ends = ((m.body, m.coupling) for m in node.members if m.body and m.joint.nv)
            place = node.closing.independent[lost[0]] if node.closing else lost[0]
            owners = (body for body, own in ends if isinstance(own, Own) and place < own.v_start + own.nv)
            self.bodies[next(owners)] = None


def _motionless(model: Model) -> list[int]:
    """The bodies whose joints have no inertia along their motion, tips first."""
    if not model.nv or model.nbodies > _BODIES:
        return []
    q = model.normalize(0.4 + 1.1 * (np.arange(model.nq) * 0.6180339887498949 % 1.0))
    for node in loop_nodes(model):
        q[list(node.q_index)] = node.reference
    probe, _ = run(articulated_inertias, model, {"q": q.tolist()}, {}, kind=_Probe)
    assert isinstance(probe, _Probe)
    return list(probe.bodies)


def _outermost(model: Model, bodies: list[int]) -> list[int]:
    """The bodies, given tips first, that carry none of the others."""
    carrying: set[int] = set()
    kept = []
    for body in bodies:
        if body not in carrying:
            kept.append(body)
        while body and body not in carrying:
            carrying.add(body)
            body = model.parents[body - 1]
    return kept


def _report(robot: Description, model: Model, body: int, added: Inertia, log: Log) -> bool:
    joint = robot.joints[model.joint_names[body - 1]]
    link = robot.links[joint.child]
    if link.virtual:  # inserted: the mass belongs to the link of the file that is fixed to it
        rigid = (j.child for j in robot.joints.values() if j.is_fixed and j.parent == link.name)
        link = robot.links[next(rigid, link.name)]
    problem = f"neither {joint.child!r} nor anything outboard of it has inertia along the joint's motion"
    change = f"link {link.name!r} got {added.mass:.3g} kg and {added.second[0]:.3g} kg m^2"
    if not log.repairable("motion-massless", joint.where, problem, change):
        return False
    link.add(added)
    return True


def _small_inertia(model: Model) -> Inertia:
    """A thousandth of the mean mass of a body (a gram if nothing has mass), as a small ball."""
    masses = [body.inertia.mass for body in model.bodies if body.inertia.mass > 0]
    mass = 1e-3 * sum(masses) / len(masses) if masses else 1e-3
    return Inertia(mass, inertia=(mass * _RADIUS**2,) * 3)
