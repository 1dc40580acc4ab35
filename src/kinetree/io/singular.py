"""Joints that move nothing: where forward dynamics would divide by zero, found before it does.

Articulated inertias are swept from the tips to the base at one generic configuration. A joint whose
articulated inertia along its own motion vanishes makes the mass matrix singular, so the joint is named, and
under repair the link behind it gets a small mass.
"""

from __future__ import annotations

import numpy as np

from kinetree.io.description import Description
from kinetree.io.report import Log
from kinetree.model import Model
from kinetree.model.coupling import Own
from kinetree.model.node import Node
from kinetree.soa.kinematics import Array, node_kinematics
from kinetree.spatial.inertia import Inertia

_VANISHED = 1e-11  # of the composite inertia along the motion: what is left is rounding
_NOTHING = 1e-16  # of the largest composite inertia of the robot
_RADIUS = 0.02  # m, radius of gyration of the small mass that repair adds
_BODIES = 5_000  # beyond this many the check would take longer than loading


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite counts as vanished
def check_motion(robot: Description, model: Model, log: Log) -> bool:
    """Record every joint along which the mechanism has no inertia; True if links of the robot got some."""
    if not model.nv or model.nbodies > _BODIES:
        return False
    added = _small_inertia(model)
    q = 0.4 + 1.1 * (np.arange(model.nq) * 0.6180339887498949 % 1.0)  # of no particular symmetry
    kinematics = [_kinematics(node, q) for node in model.nodes]
    composite = [np.array([m.inertia.matrix() for m in node.members], float) for node in model.nodes]
    articulated = [I.copy() for I in composite]
    whole = []  # composite inertia along each node's motion: what the articulated one is made of
    for node, (X, S) in zip(model.nodes[::-1], kinematics[::-1], strict=True):
        I = composite[node.number]
        whole.append(_between(S, I, S))
        _carry(composite, node, _between(X, I, X))
    largest = max(float(W.diagonal().max()) for W in whole if W.size)
    bodies: list[int] = []
    for node, (X, S), W in zip(model.nodes[::-1], kinematics[::-1], whole, strict=True):
        I = articulated[node.number]
        for k in sorted({_owner(node, v) for v in _vanished(_between(S, I, S), W, largest)}):
            bodies.append(node.members[k].body)
            if log.repair:
                I[k] += np.array(added.matrix(), float)
        U = _between(X, I, S)
        _carry(articulated, node, _between(X, I, X) - U @ _inverse(_between(S, I, S)) @ U.T)
    return any([_report(robot, model, body, added, log) for body in bodies])


def _kinematics(node: Node, q: Array) -> tuple[Array, Array]:
    """X (k x 6 x 6) and S (k x 6 x n) of the k members of a node."""
    X, S = node_kinematics(node, q)
    count = len(node.members)
    return X.reshape(count, 6, 6), S.reshape(count, 6, S.shape[1])


def _between(A: Array, I: Array, B: Array) -> Array:
    """A^T I B, summed over the members of a node: their inertias do not touch each other."""
    return (A.swapaxes(1, 2) @ I @ B).sum(axis=0)


def _carry(inertias: list[Array], node: Node, inertia: Array) -> None:
    """Add the inertia of a node to the body that carries it."""
    where, member = node.predecessor
    if where >= 0:
        inertias[where][member] += inertia


def _owner(node: Node, velocity: int) -> int:
    """The member whose own joint moves with a velocity of the node."""
    own = ((k, m.coupling) for k, m in enumerate(node.members) if m.body and isinstance(m.coupling, Own))
    return next(k for k, of in own if of.v_start <= velocity < of.v_start + of.nv)


def _vanished(D: Array, whole: Array, largest: float) -> list[int]:
    """The velocities along which the inertia is zero, or only rounding of what it was made of."""
    scale = np.sqrt(np.abs(whole.diagonal()))
    alive = np.flatnonzero(scale * scale > _NOTHING * largest)
    dead = sorted(set(range(len(D))) - set(alive.tolist()))
    scaled = D[np.ix_(alive, alive)] / np.outer(scale[alive], scale[alive])
    if not np.all(np.isfinite(scaled)):
        return list(range(len(D)))
    values, vectors = np.linalg.eigh(scaled) if len(scaled) > 1 else (scaled.diagonal(), np.ones((1, 1)))
    gone = np.flatnonzero(values <= _VANISHED)
    return dead + [int(alive[np.argmax(np.abs(vectors[:, k]))]) for k in gone]


def _inverse(D: Array) -> Array:
    """The inverse of an inertia along a motion, zero along directions in which it vanishes."""
    if D.shape == (1, 1):
        return 1 / D if np.isfinite(1 / D[0, 0]) else 0 * D
    return np.asarray(np.linalg.pinv(D, rcond=1e-13, hermitian=True)) if np.all(np.isfinite(D)) else 0 * D


def _report(robot: Description, model: Model, body: int, added: Inertia, log: Log) -> bool:
    joint = robot.joints[model.joint_names[body - 1]]
    link = robot.links[joint.child]
    if link.virtual:  # made up: the mass belongs to the link of the file that is fixed to it
        rigid = (j.child for j in robot.joints.values() if j.is_fixed and j.parent == link.name)
        link = robot.links[next(rigid, link.name)]
    problem = f"the joint moves {joint.child!r}, and neither it nor anything behind it resists the motion"
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
