"""Damped least-squares steps towards the poses of frames: the compiled part of inverse kinematics."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree import ops
from kinetree.model import Model
from kinetree.model.closed_positions import loop_nodes, units_of
from kinetree.model.configuration import ahead, snapped
from kinetree.spanning import independent, spanned
from kinetree.spatial import Factored, Matrix
from kinetree.spatial.quaternion import quaternion_from_matrix
from kinetree.stages import function

Array = np.ndarray

INSIDE, HARD = 2e-6, 1e3  # rad or m: distance from a limit at which a joint of a loop is held, and its weight
LONGEST = 0.25  # longest step of a joint in a loop, rad or sizes of the loop
SHORTER, LONGER = 0.25, 2.0  # factors of the longest step after one that tears a loop, and after others
CLOSED, ALIVE = 1.5, 2.0  # a position counts as sound from these numbers on; functions refuse those below 1
LEAST = 1e-12  # least damping, as a fraction of the trace of J J^T, for a step even in a singular posture


@function("q, goals(frames, 4, 4), weights(frames, 2), damping -> q, error(frames)")
def pose_descent(
    model: Model,
    q: Array,
    goals: Array,
    weights: Array,
    damping: Any,
    frames: tuple[str, ...],
    *,
    points: tuple[bool, ...] = (),
    limits: bool = True,
    iterations: int = 10,
) -> tuple[Array, Array]:
    """The position after damped Gauss-Newton steps towards the goals of frames.

        dq = W J^T (J W J^T + (damping |e|^2 + eps) 1)^-1 e        q <- clip(q (+) dq)

    with the error e of all frames, in their own axes: w_r 2 sin(angle / 2) axis of the remaining rotation
    (unless the goal is a point) and w_p times the displacement. Damping proportional to the squared error
    makes steps short far from the goal and Newton-like near it. W excludes joints that are at a limit and
    would exceed it. A joint that depends on others through a loop and is beyond a limit contributes one more
    error, with its row of G. `weights` are (w_r, w_p); `error` is |e| of each frame at the end, including
    that of such joints.

    A step that would move a joint of a loop far is shortened. One that would tear a loop, or lead to a dead
    point, is not taken, and the next ones are shorter: the loops stay closed.

    Reference: Sugihara (2011), solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method.
    """
    points = points or (False,) * len(frames)
    low, high = _limits(model) if limits else ({}, {})

    def towards(q: Array) -> Array:
        e, J = _errors(model, q, goals, weights, frames, points)
        if limits and model.loops:
            beyond, rows = _beyond(model, q, INSIDE, J.T @ e)
            e, J = np.concatenate([e, beyond]), np.concatenate([J, rows])
        added = damping * ops.dot(e, e) + LEAST * ops.dot(J, J) + 1e-300
        return _step(e, J * _free(model, q, J.T @ e, low, high), added)

    def improved(q: Array) -> Array:
        return _clipped(model.integrate(q, towards(q)), low, high)

    def closed(q: Array, longest: Any) -> tuple[Array, Any]:
        step = towards(q)
        part = longest / ops.max(longest, _length(model, q, step))
        end, is_sound = _kept(model, _clipped(ahead(model, q, part * step), low, high), q)
        return end, ops.where(is_sound, ops.min(LONGEST, LONGER * longest), SHORTER * longest)

    if model.loops:
        q, _ = ops.repeat(iterations, closed, q, LONGEST)
        q, _ = _kept(model, q, q)
    elif model.nv:
        q = ops.repeat(iterations, improved, q)
    e, _ = _errors(model, q, goals, weights, frames, points)
    ends = np.cumsum([3 if is_point else 6 for is_point in points])[:-1]
    rest = _beyond(model, q, 0.0, np.zeros(model.nv))[0] if limits and model.loops else e[:0]
    return q, np.array([ops.norm(np.concatenate([part, rest])) for part in np.split(e, ends)])


def _errors(
    model: Model, q: Array, goals: Array, weights: Array, frames: tuple[str, ...], points: tuple[bool, ...]
) -> tuple[Array, Array]:
    """The weighted error (m,), and the Jacobian (m, nv) of the motion that removes it."""
    errors: list[Any] = []
    rows: list[Array] = []
    for name, is_point, goal, (turning, moving) in zip(frames, points, goals, weights, strict=True):
        pose, J = of.frame_placement(model, q, frame=name), of.jacobian(model, q, frame=name)
        R, p = pose[:3, :3], pose[:3, 3]
        if not is_point:
            errors += [2 * turning * x for x in quaternion_from_matrix(R.T @ goal[:3, :3])[:3]]
            rows += [turning * row for row in J[:3]]
        errors += list(moving * (R.T @ (goal[:3, 3] - p)))
        rows += [moving * row for row in J[3:]]
    return np.array(errors), np.array(rows)


def _length(model: Model, q: Array, step: Array) -> Any:
    """The largest motion of a joint in a loop during a step, rad or sizes of the loop."""
    parts: list[Any] = []
    for node in loop_nodes(model):
        u = node.closed([q[k] for k in node.q_index]).velocities([step[k] for k in node.v_index])
        parts += [x / unit for x, unit in zip(u, units_of(node), strict=True)]
    return ops.largest(np.array(parts))


def _kept(model: Model, q: Array, before: Array) -> tuple[Array, Any]:
    """The position with its loops closed, or the one before where they cannot be; and whether they can."""
    end = snapped(model, q)
    sound: Any = 1.0
    for node in loop_nodes(model):
        own = [end[k] for k in node.q_index]
        for numbers, least in ((node.openness(own), CLOSED), (node.deadness(own), ALIVE)):
            for number in numbers:
                sound = ops.where(ops.less_equal(least, number), sound, 0.0)  # NaN is not sound
    is_sound = ops.less_equal(1.0, sound)
    return np.array([ops.where(is_sound, a, b) for a, b in zip(end, before, strict=True)]), is_sound


def _step(e: Array, J: Array, damping: Any) -> Array:
    """The damped step, from the smaller of the two equivalent systems of equations."""
    if len(e) <= J.shape[1]:
        return J.T @ _solved(J @ J.T, damping, e)
    return _solved(J.T @ J, damping, J.T @ e)


def _solved(A: Array, damping: Any, b: Array) -> Array:
    damped = A + damping * np.eye(len(A))
    return np.array(Factored(Matrix(damped.tolist())).solve(b.tolist()))


def _limits(model: Model) -> tuple[dict[int, tuple[int, float]], dict[int, tuple[int, float]]]:
    """The finite lower and upper limits: {place in q: (place in v, limit)}."""
    places, _ = model.coordinate_places
    low, high = model.limits.lower, model.limits.upper
    pairs = list(zip(places["q"], places["v"], strict=True))
    return tuple({i: (k, side[k]) for i, k in pairs if np.isfinite(side[k])} for side in (low, high))  # type: ignore[return-value]


def _beyond(model: Model, q: Array, inside: float, pull: Array) -> tuple[Array, Array]:
    """How far dependent joints are beyond their limits, weighted, and the rows of G that correct it.

    A joint near its limit that `pull` would bring back is left alone.
    """
    span = spanned(model, q)
    assert span.G is not None
    tree, free = span.tree, {int(k) for k in independent(model)}
    places, _ = tree.coordinate_places
    errors: list[Any] = []
    rows: list[Array] = []
    for i, k in zip(places["q"], places["v"], strict=True):
        for limit, side in ((tree.limits.lower[k], -1.0), (tree.limits.upper[k], 1.0)):
            if k not in free and np.isfinite(limit):
                over = side * (q[i] - limit) + inside
                outward = side * (span.G[k] @ pull)
                held = ops.less(0.0, ops.max(over - inside, ops.min(over, outward)))
                errors.append(ops.where(held, -side * HARD * over, 0.0))
                rows.append(ops.where(held, HARD, 0.0) * span.G[k])
    return np.array(errors), np.array(rows).reshape(len(errors), model.nv)


def _free(model: Model, q: Array, pull: Array, low: dict, high: dict) -> Array:
    """1 for velocities that may change, 0 for those at a limit that `pull` would move beyond it."""
    free = np.ones(model.nv, pull.dtype)
    for limits, side in ((low, -1.0), (high, 1.0)):
        for i, (k, limit) in limits.items():
            inside = ops.less(side * q[i], side * limit)
            free[k] = ops.where(inside, free[k], ops.where(ops.less(side * pull[k], 0.0), free[k], 0.0))
    return free


def _clipped(q: Array, low: dict, high: dict) -> Array:
    for i, (_, limit) in low.items():
        q[i] = ops.max(q[i], limit)
    for i, (_, limit) in high.items():
        q[i] = ops.min(q[i], limit)
    return q
