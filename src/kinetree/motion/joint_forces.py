"""What acts at the joints themselves: damping, friction, springs, servos and stops.

A time step that is implicit takes them as forces that fall with the velocity at its end,

    tau(v+) = offset - slope v+        v+ = v + h a

one slope for each velocity, so that they become inertia on the diagonal: (M + h slope) a = ... An explicit
one takes them as they are now. The velocities are those of all joints, u = G v where loops make some depend
on others: (M + h G^T slope G) a = ...
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinetree import ops
from kinetree.algorithms.contact_law import STICTION
from kinetree.derived import passive_force
from kinetree.model import Model
from kinetree.spanning import Span, among_all, independent, spanned
from kinetree.stages.own import function
from kinetree.sweep.bounds import inertia_bounds

Array = np.ndarray

SMOOTHING = 1e-3  # rad/s or m/s: where friction changes its sign in explicit steps
STOP = 10.0  # stiffness of a joint's stop, in units of (the inertia that it can feel) / (step length)^2


class Servo(NamedTuple):
    """A drive that holds a position: kp (setpoint - q) - kd v."""

    kp: Any = None
    kd: Any = None
    setpoint: Any = None

    @property
    def is_there(self) -> bool:
        return self.kp is not None or self.kd is not None


def effort_limits(model: Model) -> dict[int, Any]:
    """The effort limits of the drives, by coordinate.

    0 is what programs write into a file that know no limit: it does not count.
    """
    efforts = enumerate(model.limits.effort)
    return {k: x for k, x in efforts if not ops.is_literal(x) or 0 < x < np.inf}


def within_efforts(model: Model, tau: Array) -> tuple[Array, Array]:
    """Generalised forces (..., nv) cut off at the effort limits, and 1 for each that is, else 0.

    NaN stays NaN.
    """
    given = np.moveaxis(np.asarray(tau), -1, 0)
    force, over = list(given), [np.zeros(np.shape(x))[()] for x in given]
    for k, effort in effort_limits(model).items():
        beyond = ops.less(effort, ops.abs(given[k]))
        over[k] = ops.where(beyond, 1.0, 0.0)
        force[k] = ops.where(beyond, ops.where(ops.less(0.0, given[k]), effort, -effort), given[k])
    return np.moveaxis(np.array(force), 0, -1), np.moveaxis(np.array(over), 0, -1)


@function("q, efforts(nu) -> tau")
def loop_force(model: Model, q: Array, efforts: Array, *, limits: bool = True) -> Array:
    """The generalised forces that forces at all joints amount to, those included that loops make dependent.

        tau = G^T efforts

    So a motor may drive any joint of a loop. `efforts` in the order of `model.spanning_tree`; `limits`: each
    is cut off at the effort limit of its joint. Cost as for `loop_matrix`.
    """
    span = spanned(model, q)
    return span.force(within_efforts(span.tree, efforts)[0] if limits else efforts)


def slopes(
    model: Model, q: Array, v: Array, h: Any, servo: Servo, passive: bool, limits: bool, rubs: bool = True
) -> tuple[Span, Array, Array] | None:
    """(span, offset, slope) of the forces at all joints; None if there are none.

    Springs and gains act on the position at the end of the step, q + h v+. Friction is lagged: the force
    f v / sqrt(v^2 + s^2) with the denominator from the beginning of the step opposes every motion and never
    more than stops it; not if `rubs` is false. A stop acts if the joint is beyond it, or would be at the end
    of the step.
    """
    span = spanned(model, q)
    tree, q, v = span.tree, span.q, span.velocities(v)
    offset: Array = np.zeros(tree.nv, np.result_type(q, v, float))
    slope = offset.copy()
    if passive:
        if np.any(tree.stiffness):
            offset, slope = _spring(tree, q, tree.spring_reference, tree.stiffness, h, offset, slope)
        slope = slope + tree.damping
        for k in np.flatnonzero(tree.friction) if rubs else ():
            slope[k] = slope[k] + tree.friction[k] / ops.sqrt(v[k] * v[k] + STICTION**2)
    if servo.kp is not None:
        setpoint = model.neutral() if servo.setpoint is None else servo.setpoint
        offset, slope = _spring(tree, q, setpoint, among_all(model, servo.kp), h, offset, slope)
    if servo.kd is not None:
        slope = slope + among_all(model, servo.kd)
    if limits:
        offset, slope = _stops(tree, q, v, h, offset, slope)
    nothing = all(ops.is_literal(x) and x == 0 for x in (*offset, *slope))
    return None if nothing else (span, offset, slope)


def _spring(tree: Model, q: Array, rest: Any, k: Any, h: Any, offset: Array, slope: Array) -> Any:
    return offset + k * tree.difference(q, rest), slope + k * h


def _stops(tree: Model, q: Array, v: Array, h: Any, offset: Array, slope: Array) -> tuple[Array, Array]:
    """Springs that are all but rigid over one step, where a joint is at a limit."""
    limits, inertia = tree.limits, inertia_bounds(tree)
    places, _ = tree.coordinate_places
    for i, k in zip(places["q"], places["v"], strict=True):
        for limit, side in ((limits.upper[k], 1.0), (limits.lower[k], -1.0)):
            if ops.is_literal(limit) and not np.isfinite(limit):
                continue
            beyond = ops.max(side * (q[i] - limit), side * (q[i] + h * v[k] - limit))
            stiffness = ops.where(ops.less(0.0, beyond), STOP * float(inertia[k]) / (h * h), 0.0)
            offset[k] = offset[k] + stiffness * (limit - q[i])
            slope[k] = slope[k] + stiffness * h
    return offset, slope


def explicit(model: Model, q: Array, v: Array, servo: Servo, passive: bool) -> Any:
    """The forces at the joints as they are now, without stops; 0 if there are none."""
    total: Any = 0.0
    tree = model.spanning_tree
    if passive and (np.any(tree.damping) or np.any(tree.friction) or np.any(tree.stiffness)):
        total = passive_force(model, q, v, smoothing=SMOOTHING)
    if servo.kp is not None:
        setpoint = model.neutral() if servo.setpoint is None else servo.setpoint
        gap = tree.difference(q, setpoint)
        total = total + servo.kp * (gap[independent(model)] if model.loops else gap)
    return total if servo.kd is None else total - servo.kd * v


def linear_slope(model: Model, h: Any, servo: Servo, passive: bool) -> Array | None:
    """By how much the forces at the joints fall with a velocity that lasts for the time h; None: not at
    all."""
    tree = model.spanning_tree
    parts = [tree.damping, tree.stiffness * h] if passive else []
    parts += [among_all(model, servo.kp) * h] if servo.kp is not None else []
    parts += [among_all(model, servo.kd)] if servo.kd is not None else []
    total: Any = sum(part + np.zeros(tree.nv) for part in parts)
    return None if all(ops.is_literal(x) and x == 0 for x in np.ravel(total)) else total
