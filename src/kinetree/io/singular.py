"""Joints that move nothing: where forward dynamics would divide by zero, found before it does.

Articulated inertias are swept from the tips to the base at one generic configuration. A joint whose
articulated inertia along its own motion vanishes makes the mass matrix singular, so the joint is named, and
under repair the link behind it gets a small mass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinetree.io.description import FREEDOM, Description, Joint, Mass
from kinetree.io.placement import Placement, from_axis_angle, unit
from kinetree.io.report import Log

Array = NDArray[np.float64]

_VANISHED = 1e-11  # of the composite inertia along the motion: what is left is rounding
_NOTHING = 1e-16  # of the largest composite inertia of the robot
_RADIUS = 0.02  # m, radius of gyration of the small mass that repair adds
_BODIES = 5_000  # beyond this many the check would take longer than loading
_DENSE = 400  # joints up to which mimic joints are checked with a dense mass matrix


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite counts as vanished
def check_motion(robot: Description, log: Log) -> None:
    """Record every joint along which the mechanism has no inertia, and mend it where `log` says so."""
    order = robot.in_order()
    if not order or len(order) > _BODIES:
        return
    added = _small_mass(robot)
    generic = _generic_positions(robot, order)
    transforms = {joint.name: _transform(joint, generic[joint.name]) for joint in order}
    subspaces = {joint.name: _subspace(joint) for joint in order}
    composite = {joint.child: _spatial(robot.links[joint.child].mass) for joint in order}
    articulated = {name: inertia.copy() for name, inertia in composite.items()}
    whole = {}  # composite inertia along each joint: what the articulated one is made of
    for joint in reversed(order):
        S, X = subspaces[joint.name], transforms[joint.name]
        whole[joint.name] = S.T @ composite[joint.child] @ S + _armature(joint)
        if joint.parent in composite:
            composite[joint.parent] += X.T @ composite[joint.child] @ X
    largest = max((float(W.diagonal().max()) for W in whole.values() if W.size), default=0.0)
    suspects: dict[str, Joint] = {}
    for joint in reversed(order):
        S, X, I = subspaces[joint.name], transforms[joint.name], articulated[joint.child]
        D = S.T @ I @ S + _armature(joint)
        if _vanishes(D, whole[joint.name], largest):
            suspects[joint.name] = joint
            if log.repair:
                I = I + _spatial(added)
                D = S.T @ I @ S + _armature(joint)
        if joint.parent in articulated:
            U = I @ S
            articulated[joint.parent] += X.T @ (I - U @ _inverse(D) @ U.T) @ X
    _report(robot, _confirmed(robot, order, suspects, transforms), added, log)


def _inverse(D: Array) -> Array:
    """The inverse of an inertia along a motion, zero along directions in which it vanishes."""
    if D.shape == (1, 1):
        return 1 / D if np.isfinite(1 / D[0, 0]) else 0 * D
    return np.asarray(np.linalg.pinv(D, rcond=1e-13, hermitian=True)) if np.all(np.isfinite(D)) else 0 * D


def _report(robot: Description, singular: list[Joint], added: Mass, log: Log) -> None:
    rigid = {joint.parent: joint.child for joint in robot.joints.values() if joint.kind == "fixed"}
    for joint in singular:
        link = robot.links[joint.child]
        if link.virtual and link.name in rigid:  # made up: the mass belongs to the link of the file on it
            link = robot.links[rigid[link.name]]
        problem = f"the joint moves {joint.child!r}, and neither it nor anything behind it resists the motion"
        change = f"link {link.name!r} got {added.mass:.3g} kg and {added.inertia[0][0]:.3g} kg m^2"
        if log.mend("motion-massless", joint.where, problem, change):
            link.mass = (link.mass or Mass()) + added
            link.virtual = False


def _vanishes(D: Array, whole: Array, largest: float) -> bool:
    """Whether the inertia along the motion is zero, or only rounding of what it was made of."""
    if not D.size:
        return False
    scale = np.abs(whole.diagonal())
    if np.any(scale <= _NOTHING * largest) or (largest == 0.0 and not np.all(scale > 0)):
        return True
    if D.shape == (1, 1):
        return not D[0, 0] > _VANISHED * scale[0]
    s = np.sqrt(scale)
    scaled = D / np.outer(s, s)
    return not np.all(np.isfinite(scaled)) or bool(np.linalg.eigvalsh(scaled)[0] <= _VANISHED)


def _confirmed(
    robot: Description, order: list[Joint], suspects: dict[str, Joint], transforms: dict[str, Array]
) -> list[Joint]:
    """The suspects, without joints that a mimic group gives inertia to.

    Coordinates that follow others are q = G y. If the tree with all joints free is regular, so is G^T M G;
    only suspects in a robot with mimic joints need the mass matrix itself.
    """
    if not suspects or not any(joint.mimic for joint in order) or len(order) > _DENSE:
        return list(suspects.values())
    M, columns = _mass_matrix(robot, order, transforms)
    G, owner = _coupling(robot, order, columns)
    reduced = G.T @ M @ G
    scale = np.sqrt(np.abs(np.diag(reduced)))
    dead = {owner[k].name for k in range(len(owner)) if scale[k] == 0}
    alive = [k for k in range(len(owner)) if scale[k] > 0]
    unit_scaled = reduced[np.ix_(alive, alive)] / np.outer(scale[alive], scale[alive])
    values, vectors = np.linalg.eigh(unit_scaled) if alive else (np.zeros(0), np.zeros((0, 0)))
    for k in np.flatnonzero(values <= _VANISHED):
        dead.add(owner[alive[int(np.argmax(np.abs(vectors[:, k])))]].name)
    return [joint for joint in order if joint.name in dead]


def _mass_matrix(
    robot: Description, order: list[Joint], transforms: dict[str, Array]
) -> tuple[Array, dict[str, int]]:
    """The dense mass matrix with every joint free, and where each joint's columns start."""
    columns, total = {}, 0
    for joint in order:
        columns[joint.name] = total
        total += FREEDOM[joint.kind]
    M = np.zeros((total, total))
    jacobians: dict[str, Array] = {}
    for joint in order:
        J = (
            transforms[joint.name] @ jacobians[joint.parent]
            if joint.parent in jacobians
            else np.zeros((6, total))
        )
        start, count = columns[joint.name], FREEDOM[joint.kind]
        J[:, start : start + count] = _subspace(joint)
        jacobians[joint.child] = J
        M += J.T @ _spatial(robot.links[joint.child].mass) @ J
        M[start : start + count, start : start + count] += _armature(joint)
    return M, columns


def _coupling(robot: Description, order: list[Joint], columns: dict[str, int]) -> tuple[Array, list[Joint]]:
    """The matrix G of all velocities from the independent ones, and the joint that each column belongs to."""
    owner = [joint for joint in order if joint.mimic is None for _ in range(FREEDOM[joint.kind])]
    first = {joint.name: k for k, joint in reversed(list(enumerate(owner)))}
    total = sum(FREEDOM[joint.kind] for joint in order)
    G = np.zeros((total, len(owner)))
    for joint in order:
        leader, factor = joint, 1.0
        while leader.mimic is not None:
            factor *= leader.mimic.multiplier
            leader = robot.joints[leader.mimic.joint]
        for k in range(FREEDOM[joint.kind]):
            G[columns[joint.name] + k, first[leader.name] + k] = factor
    return G, owner


def _generic_positions(robot: Description, order: list[Joint]) -> dict[str, float]:
    """A position of no particular symmetry for each joint, mimic joints in step."""
    golden = 0.6180339887498949
    own = {joint.name: 0.4 + 1.1 * ((k * golden) % 1.0) for k, joint in enumerate(order)}
    positions = {}
    for joint in order:
        factor, offset, leader = 1.0, 0.0, joint
        while leader.mimic is not None:
            offset += factor * leader.mimic.offset
            factor *= leader.mimic.multiplier
            leader = robot.joints[leader.mimic.joint]
        positions[joint.name] = factor * own[leader.name] + offset
    return positions


def _transform(joint: Joint, position: float) -> Array:
    """The motion transform from parent to child coordinates."""
    if FREEDOM[joint.kind] == 1:
        pose = joint.at(position)
    elif joint.kind == "fixed":
        pose = joint.placement
    else:  # any generic pose serves
        pose = joint.placement @ Placement(from_axis_angle(unit((0.3, 0.5, 0.8)), position), (0.1, 0.2, 0.3))
    E: Array = np.array(pose.R).T
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = E
    X[3:, :3] = -E @ _skew(np.array(pose.p))
    return X


def _subspace(joint: Joint) -> Array:
    """The motion subspace in child coordinates at a generic position."""
    a = np.array(joint.axis)
    zero = np.zeros(3)
    columns = {
        "fixed": [],
        "revolute": [(a, zero)],
        "prismatic": [(zero, a)],
        "helical": [(a, joint.pitch * a)],
        "universal": [(a, zero), (np.array(joint.axis2), zero)],
        "planar": [(np.eye(3)[2], zero), (zero, np.eye(3)[0]), (zero, np.eye(3)[1])],
        "spherical": [(e, zero) for e in np.eye(3)],
        "free": [(e, zero) for e in np.eye(3)] + [(zero, e) for e in np.eye(3)],
    }[joint.kind]
    return np.array([np.concatenate(c) for c in columns]).reshape(-1, 6).T


def _armature(joint: Joint) -> Array:
    return np.diag(np.broadcast_to(np.asarray(joint.armature, dtype=float), (FREEDOM[joint.kind],)))


def _spatial(mass: Mass | None) -> Array:
    """The 6x6 inertia of a link about its origin."""
    I = np.zeros((6, 6))
    if mass is None:
        return I
    m, c = mass.mass, _skew(np.array(mass.com))
    I[:3, :3] = np.array(mass.inertia) - m * c @ c
    I[:3, 3:], I[3:, :3], I[3:, 3:] = m * c, -m * c, m * np.eye(3)
    return I


def _skew(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def _small_mass(robot: Description) -> Mass:
    """A thousandth of the mean mass of a link (a gram if nothing has mass), as a small ball."""
    masses = [link.mass.mass for link in robot.links.values() if link.mass is not None and link.mass.mass > 0]
    mass = 1e-3 * sum(masses) / len(masses) if masses else 1e-3
    moment = mass * _RADIUS**2
    return Mass(mass, (0.0, 0.0, 0.0), ((moment, 0.0, 0.0), (0.0, moment, 0.0), (0.0, 0.0, moment)))
