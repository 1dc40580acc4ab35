"""Forces at the joints: damping, friction, springs, servos and stops.

An implicit time step takes them as forces that decrease with the velocity at the end of the step,

    tau(v+) = offset - slope v+        v+ = v + h a

with one slope for each velocity, so that they add to the diagonal of the inertia: (M + h slope) a = ... An
explicit step takes them as they are now. The velocities are those of all joints, u = G v if loops make some
depend on others: (M + h G^T slope G) a = ...
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from kinetree import ops
from kinetree.algorithms.contact_joints import Bounds
from kinetree.algorithms.contact_law import STICTION
from kinetree.derived import passive_force
from kinetree.model import Model
from kinetree.spanning import Span, among_all, independent, spanned
from kinetree.stages.own import function
from kinetree.sweep.bounds import inertia_bounds

Array = np.ndarray

SMOOTHING = 1e-3  # rad/s or m/s: smoothing of the sign change of friction in explicit steps
STOP = 10.0  # stiffness of a stop, in units of (the inertia that it can feel) / (step length)^2
LEAVING = 1.0  # rad/s or m/s: the highest speed at which a stop pushes back a joint that is beyond it


class Servo(NamedTuple):
    """A drive that holds a position: kp (setpoint - q) - kd v."""

    kp: Any = None
    kd: Any = None
    setpoint: Any = None

    @property
    def is_there(self) -> bool:
        return self.kp is not None or self.kd is not None

    @staticmethod
    def among(acting: Mapping[str, Any]) -> Servo:
        """The servo among the inputs of a step, by name."""
        return Servo(*(acting.get(name) for name in Servo._fields))


def effort_limits(model: Model) -> dict[int, Any]:
    """The effort limits of the drives, by coordinate.

    A limit of 0 is ignored: programs that know no limit write 0 into their files.
    """
    efforts = enumerate(model.limits.effort)
    return {k: x for k, x in efforts if not ops.is_literal(x) or 0 < x < np.inf}


def within_efforts(model: Model, tau: Array) -> tuple[Array, Array]:
    """Generalised forces (..., nv) clipped to the effort limits, and 1 for each that was clipped, else 0.

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
    """The generalised forces of forces at all joints, including those that loops make dependent.

        tau = G^T efforts

    So a motor may drive any joint of a loop. `efforts` are in the order of `model.spanning_tree`. With
    `limits`, each is clipped to the effort limit of its joint. Cost as for `loop_matrix`.
    """
    span = spanned(model, q)
    return span.force(within_efforts(span.tree, efforts)[0] if limits else efforts)


class Bounded(NamedTuple):
    """A force offset - slope u along the velocity u of a joint, clipped to bounds (None: unbounded); or, for
    a stop (`beyond`), the part of it outside the bounds.

    It decreases with u, so it is a term of a convex minimisation.
    """

    place: int  # index among the velocities of all joints
    offset: Any
    slope: Any
    low: Any
    high: Any
    beyond: bool = False

    @property
    def kind(self) -> Bounds:
        """The structure, known without numbers."""
        return self.place, self.low is not None, self.high is not None, self.beyond

    @property
    def numbers(self) -> list[Any]:
        """The numbers; 0 for a missing bound."""
        return [self.offset, self.slope, *(0.0 if x is None else x for x in (self.low, self.high))]

    def line(self, u: Any) -> tuple[Any, Any]:
        """Offset and slope of the line that the force follows at u; a stop also acts while its joint is
        beyond it, unless the joint leaves faster than stops push.
        """
        offset: Any = 0.0 if self.beyond else self.offset
        slope: Any = 0.0 if self.beyond else self.slope
        for bound, side in ((self.low, 1.0), (self.high, -1.0)):
            if bound is None:
                continue
            at, into = u, side * u
            if self.beyond:
                at = side * ops.where(ops.less(into, -LEAVING), into, ops.max(into, 0.0))
            is_out = ops.less(side * (self.offset - self.slope * at), side * bound)
            there = (self.offset - bound, self.slope) if self.beyond else (bound, 0.0)
            offset, slope = (ops.where(is_out, x, y) for x, y in zip(there, (offset, slope), strict=True))
        return offset, slope


class JointForces(NamedTuple):
    """The forces at all joints at the end of a step: offset - slope u, plus forces with bounds."""

    span: Span
    tau: Array  # generalised forces that do not depend on the velocities
    offset: Array
    slope: Array
    bounded: tuple[Bounded, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """True if there is only `tau`."""
        flat = all(ops.is_literal(x) and x == 0 for x in (*self.offset, *self.slope))
        return flat and not self.bounded

    def straightened(self, v: Array, kept: Collection[int] | None = None) -> JointForces:
        """The same forces, each bounded one replaced by the line it follows at the velocities v of the model.
        If `kept` is given, stops along the velocities in it, and all drives, stay as they are.
        """
        u, offset, slope = self.span.velocities(v), self.offset.copy(), self.slope.copy()
        left = []
        for part in self.bounded:
            if kept is not None and (part.place in kept or not part.beyond):
                left.append(part)
                continue
            a, b = part.line(u[part.place])
            offset[part.place], slope[part.place] = offset[part.place] + a, slope[part.place] + b
        return self._replace(offset=offset, slope=slope, bounded=tuple(left))


def joint_forces(
    model: Model, q: Array, v: Array, h: Any, tau: Array, servo: Servo, passive: bool, limits: bool,
    rubs: bool = True,
) -> JointForces:  # fmt: skip
    """The forces at all joints at the end of a step of length h.

    Springs and servo gains act on the position at the end of the step, q + h v+. Friction is lagged: the
    force f v / sqrt(v^2 + s^2), with the denominator from the beginning of the step, opposes motion and never
    reverses it; `rubs=False` leaves it out. With `limits`, a drive (servo plus `tau`) gives no more than its
    effort limit, and a stop pushes back a joint that would pass it.
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
    bounded: list[Bounded] = []
    if servo.is_there:
        held, falls = _servo(model, tree, q, h, servo)
        tau = np.array(tau)
        for own, effort in effort_limits(model).items() if limits else ():
            at = int(independent(model)[own])
            bounded.append(Bounded(at, held[at] + tau[own], falls[at], -effort, effort))
            held[at], falls[at], tau[own] = 0.0, 0.0, 0.0
        offset, slope = offset + held, slope + falls
    elif limits:
        tau = within_efforts(model, tau)[0]
    if limits:
        bounded += _stops(tree, q, h)
    return JointForces(span, tau, offset, slope, tuple(bounded))


def _servo(model: Model, tree: Model, q: Array, h: Any, servo: Servo) -> tuple[Array, Array]:
    """Offset and slope of a servo, along the velocities of all joints."""
    held: Array = np.zeros(tree.nv, np.result_type(q, float))
    falls = held.copy()
    if servo.kp is not None:
        setpoint = model.neutral() if servo.setpoint is None else servo.setpoint
        held, falls = _spring(tree, q, setpoint, among_all(model, servo.kp), h, held, falls)
    if servo.kd is not None:
        falls = falls + among_all(model, servo.kd)
    return held, falls


def _spring(tree: Model, q: Array, rest: Any, k: Any, h: Any, offset: Array, slope: Array) -> Any:
    return offset + k * tree.difference(q, rest), slope + k * h


def _stops(tree: Model, q: Array, h: Any) -> Iterator[Bounded]:
    """Stops as one-sided springs, almost rigid over one step; a joint beyond its limit returns slowly."""
    limits, inertia = tree.limits, inertia_bounds(tree)
    places, _ = tree.coordinate_places
    for i, k in zip(places["q"], places["v"], strict=True):
        stiffness = STOP * float(inertia[k]) / (h * h)

        def reach(room: Any, limit: Any, side: float, stiffness: Any = stiffness) -> Any:
            if ops.is_literal(limit) and not np.isfinite(limit):
                return None
            return side * stiffness * ops.max(room, -h * LEAVING)

        low = reach(limits.upper[k] - q[i], limits.upper[k], -1.0)
        high = reach(q[i] - limits.lower[k], limits.lower[k], 1.0)
        if low is not None or high is not None:
            yield Bounded(int(k), 0.0, stiffness * h, low, high, True)


def carrying(model: Model, bodies: Iterable[int], joints: Iterable[int]) -> set[int]:
    """The velocities of all joints on the paths from some bodies, or from some joints, to the root."""
    found: set[int] = set()
    nodes = {model.location(body)[0] for body in bodies if body}
    wanted = set(joints)
    nodes |= {k for k, node in enumerate(model.nodes) if not wanted.isdisjoint(node.u_index)}
    for k in nodes:
        while k >= 0 and not found.issuperset(model.nodes[k].u_index):
            found.update(model.nodes[k].u_index)
            k = model.nodes[k].predecessor[0]
    return found


def explicit(
    model: Model, q: Array, v: Array, tau: Array, servo: Servo, passive: bool, limits: bool
) -> Array:
    """The generalised forces at the joints as they are now: `tau` and servo within the effort limits, plus
    passive forces; no stops.
    """
    tree, total = model.spanning_tree, driven(model, q, v, tau, servo)
    total = within_efforts(model, total)[0] if limits else total
    if passive and (np.any(tree.damping) or np.any(tree.friction) or np.any(tree.stiffness)):
        total = total + passive_force(model, q, v, smoothing=SMOOTHING)
    return total


def driven(model: Model, q: Array, v: Array, tau: Any, servo: Servo) -> Any:
    """The force asked of the drives: `tau` plus that of the servo."""
    total = tau
    if servo.kp is not None:
        setpoint = model.neutral() if servo.setpoint is None else servo.setpoint
        gap = model.spanning_tree.difference(q, np.broadcast_to(setpoint, np.shape(q)))
        total = total + servo.kp * (gap[..., independent(model)] if model.loops else gap)
    return total if servo.kd is None else total - servo.kd * v


def linear_slope(model: Model, h: Any, servo: Servo, passive: bool) -> Array | None:
    """The slope of the joint forces over a velocity that lasts for the time h; None if it is zero."""
    tree = model.spanning_tree
    parts = [tree.damping, tree.stiffness * h] if passive else []
    parts += [among_all(model, servo.kp) * h] if servo.kp is not None else []
    parts += [among_all(model, servo.kd)] if servo.kd is not None else []
    total: Any = sum(part + np.zeros(tree.nv) for part in parts)
    return None if all(ops.is_literal(x) and x == 0 for x in np.ravel(total)) else total
