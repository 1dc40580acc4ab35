"""The stick figure of a robot: a line from each body to its children, to its frames, and to the points where
loops close."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinetree import functions as of
from kinetree.model import Model
from kinetree.model.closures import JointClosure, RodClosure

Array = np.ndarray


class Sticks(NamedTuple):
    """World coordinates in one posture."""

    lines: Array  # (n, 2, 3): from, to
    bodies: Array  # (n,): the body that each line belongs to; 0 is the world
    joints: Array  # (nb, 3): where the joints are
    centers: Array  # (nb, 3): centres of mass


def poses(model: Model, q: Any) -> Array:
    """(nb + 1, 4, 4): the poses of the world and of all bodies in the world."""
    return np.concatenate([np.eye(4)[None], of.placements(model, q)])


def at(T: Array, point: Any) -> Array:
    """The world coordinates of a point of a body."""
    return T[:3, :3] @ np.asarray(point, float) + T[:3, 3]


def sticks(model: Model, q: Any) -> Sticks:
    """The stick figure in the posture `q` (nq,)."""
    T = poses(model, q)
    lines, owners = [], []

    def add(body: int, end: Array) -> None:
        lines.append((T[body][:3, 3], end))
        owners.append(body)

    centers = np.array([at(T[i], body.inertia.com) for i, body in enumerate(model.bodies, 1)])
    closing = [end for loop in model.loops for closure in loop.closures for end in _ends(closure)]
    ends = {frame.body for frame in model.frames} | {body for body, _ in closing}
    for i, parent in enumerate(model.parents, 1):
        if parent or not _floats(model, i):
            add(parent, T[i][:3, 3])
        if not model.children(i) and i not in ends:  # a tip: the line ends at twice the centre of mass
            add(i, 2 * centers[i - 1] - T[i][:3, 3])
    for frame in model.frames:
        if frame.body and not model.children(frame.body):
            add(frame.body, at(T[frame.body], frame.placement.p))
    for body, point in closing:
        if body:
            add(body, at(T[body], point))
    for closure in (c for loop in model.loops for c in loop.closures if isinstance(c, RodClosure)):
        start, end = (at(T[body], point) for body, point in _ends(closure))
        lines.append((start, end))
        owners.append(max(closure.bodies))
    shape = (len(lines), 2, 3)
    return Sticks(np.array(lines).reshape(shape), np.array(owners, int), T[1:, :3, 3], centers.reshape(-1, 3))


def _ends(closure: Any) -> list[tuple[int, Any]]:
    """The points, each in a body, that a closure connects."""
    if isinstance(closure, JointClosure):
        return [(closure.body, closure.placement.p), (closure.other, closure.other_placement.p)]
    if isinstance(closure, RodClosure):
        return [(closure.body, closure.point), (closure.other, closure.other_point)]
    return []


def _floats(model: Model, body: int) -> bool:
    """Whether a body floats, so that no line leads to it."""
    return model.bodies[body - 1].joint.nv == 6


def size(model: Model, q: Any = None) -> float:
    """The size of the robot, m, by which pictures are scaled: the length of its longest branch."""
    found = sticks(model, model.neutral() if q is None else q)
    lengths = np.linalg.norm(found.lines[:, 1] - found.lines[:, 0], axis=-1)
    reach = np.zeros(model.nbodies + 1)
    inner = dict(zip(map(tuple, np.round(found.lines[:, 1], 9)), lengths))
    for i, parent in enumerate(model.parents, 1):
        reach[i] = reach[parent] + inner.get(tuple(np.round(found.joints[i - 1], 9)), 0.0)
    for length, body in zip(lengths, found.bodies):
        if not model.children(body):
            reach[body] += length
    longest = float(reach.max(initial=0.0))
    return longest if longest > 0 else 1.0


__all__ = ["Sticks", "at", "poses", "size", "sticks"]
