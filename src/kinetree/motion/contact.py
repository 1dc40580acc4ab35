"""Steps with contact: contacts, joint forces and drives are terms of one convex minimisation."""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from kinetree import functions as of
from kinetree import ops
from kinetree.algorithms.contact import contact_response
from kinetree.errors import ArgumentError
from kinetree.model import Model
from kinetree.model.geometry import Geometry
from kinetree.model.ground import Ground, Heightfield, NoGround
from kinetree.model.manifold import Touch, touches
from kinetree.model.shapes import Shape
from kinetree.motion import flight
from kinetree.motion.joint_forces import Servo, carrying, joint_forces
from kinetree.spatial import vector as vec
from kinetree.spatial.pose import Pose
from kinetree.stages import SweepFunction, function
from kinetree.sweep.signature import SIZES

Array = np.ndarray

_response = SweepFunction(contact_response)
CREEP = 1e-4  # m/s: below about this speed, touching points stick
ACCURACY = 1e-4  # share of all contact forces that may be missing
_SERVO_AND_CONTACT = (
    "kp?, kd?, setpoint?, "
    "contact_stiffness?, contact_dissipation?, contact_friction?, creep?, contact_accuracy?"
)
SIGNATURE = f"q, v, tau, f_ext?, dt, {_SERVO_AND_CONTACT}"
INPUTS = ("contact_stiffness", "contact_dissipation", "contact_friction", "creep", "contact_accuracy")
PLANE = Ground()
STEEP = 0.1  # of the upward part of a normal: surfaces below this are walls, or ceilings


class Contact(NamedTuple):
    """The ground of a model, and its contact parameters."""

    ground: Any
    stiffness: Any = None
    dissipation: Any = None
    friction: Any = None
    creep: Any = None
    accuracy: Any = None
    newton_limit: int | None = None

    def numbers(self, model: Model) -> list[Any]:
        """Stiffness, dissipation and friction of each point, the creep speed, and the accuracy."""
        for name, value in zip(INPUTS, self[1:]):
            if value is not None:
                refuse_wrong(name, value)
        points = (*model.contact_points, *model.pair_points)
        own = [[getattr(p, name) for p in points] for name in ("stiffness", "dissipation", "friction")]
        given = (self.stiffness, self.dissipation, self.friction)
        found: list[Any] = [np.array(a) if x is None else x for a, x in zip(own, given, strict=True)]
        creep = CREEP if self.creep is None else self.creep
        return [*found, creep, ACCURACY if self.accuracy is None else self.accuracy]


def refuse_wrong(name: str, given: Any, who: str = "") -> None:
    """ArgumentError if a contact parameter is outside its range; in a trace, a guard."""
    numbers = np.ravel(given)
    lowest: Any = reduce(ops.min, numbers) if len(numbers) else 1.0
    if name == "contact_accuracy":  # one number
        kind, is_wrong = "be between 0 and 1", ops.less(0.5, ops.abs(lowest - 0.5))
    elif name == "creep":
        kind, is_wrong = "be positive", ops.less_equal(lowest, 0.0)
    else:
        kind, is_wrong = "not be negative", ops.less(lowest, 0.0)
    ops.require(ops.where(is_wrong, 0.0, 2.0), f"{who}{name} must {kind}, got {lowest}", ArgumentError)


def resolved(model: Model, ground: Any, integrator: str, who: str, constraints: Any = ()) -> Any:
    """The ground that a model stands on; `NoGround` if only its bodies touch each other; None without
    contact.

    Contact and constraints exclude each other: with constraints, asking for a ground is an error.
    """
    if ground is not None and not isinstance(ground, (bool, Ground, Heightfield, NoGround)):
        raise ArgumentError(
            f"{who}: ground must be a kt.Ground or kt.Heightfield, True for the model's own, or False or "
            f"None for none, got {ground!r}"
        )
    asked = isinstance(ground, (Ground, Heightfield))
    if asked and constraints:
        raise ArgumentError(f"{who}: no ground together with constraints: give ground=False")
    if asked and integrator != "discrete":
        raise ArgumentError(f"{who}: {integrator} knows no ground: use integrator='discrete'")
    if constraints or integrator != "discrete":
        return None
    below = own_ground(model) if ground is True else ground if asked else None
    if below is None or not model.contact_points:
        return NoGround() if model.pairs else None
    return below


def own_ground(model: Model) -> Ground | Heightfield | None:
    """The ground of a model: its own, or the plane z = 0 if it could fall on it."""
    return (model.ground or (PLANE if _floats(model) else None)) if model.contact_points else None


def _floats(model: Model) -> bool:
    """True if a contact point belongs to a floating base."""
    for body in {point.body for point in model.contact_points}:
        while body:
            if model.bodies[body - 1].joint.is_free:
                return True
            body = model.bodies[body - 1].parent
    return False


def sunk(model: Model, q: Array, ground: Ground | Heightfield) -> dict[int, float]:
    """How far each robot that floats must be raised to be out of the ground, m, by the number of its root.

    Walls and ceilings do not count: raising a robot does not help there.
    """
    poses, found = of.placements(model, q), dict[int, float]()
    for point in model.contact_points:
        pose, root = Pose(poses[point.body - 1]), point.body
        while model.bodies[root - 1].parent:
            root = model.bodies[root - 1].parent
        if model.bodies[root - 1].joint.is_free:
            _, normal = ground.at(pose.apply(point.position))
            low = pose.apply(point.touching(pose.rotation.inverse().apply(normal)))
            gap, normal = ground.at(low)
            if normal[2] > STEEP:
                found[root] = max(found.get(root, 0.0), -float(gap / normal[2]))
    return found


def limit_of(given: Any) -> int | None:
    """The limit on Newton steps, checked; None for no limit."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 1:
        raise ArgumentError(
            "newton_limit must be a whole number of Newton steps, at least 1, or None for as many as are "
            f"needed, got {given!r}"
        )
    return int(given)


def _points(model: Model) -> int:
    """The number of contact points: with the ground and between bodies."""
    return SIZES["points"](model)


def refuse_unfelt(who: str, *felt: Any) -> None:
    """ArgumentError if the caller gave contact parameters although nothing can touch."""
    for name, value in zip(INPUTS, felt):
        if value is not None:
            raise ArgumentError(f"{who}: {name} is given, but nothing touches: there is no ground")


def given(model: Model, ground: Any, *felt: Any) -> dict[str, Any]:
    """Contact parameters given by the caller, by name: one number for all points, or one for each."""
    found = {}
    if ground is None:
        refuse_unfelt("simulate", *felt)
    for name, value in zip(INPUTS, felt):
        if value is not None:
            is_one = isinstance(value, (int, float, np.number, np.ndarray)) and not np.ndim(value)
            found[name] = np.full(_points(model), value) if is_one else value
    return found


def touching_step(
    model: Model, q: Array, v: Array, tau: Array, f_ext: Any, h: Any, servo: Servo, passive: bool,
    limits: bool, contact: Contact,
) -> tuple[Array, ...]:  # fmt: skip
    """(q, v) after a step, the forces and velocities (points, 3) of the contact points, and the number of
    Newton steps.

    The velocities of floating bases are taken in fixed axes: accelerations are counted from `steady`.
    """
    ops.require(ops.where(ops.less(0.0, h), 2.0, 0.0), f"dt must be positive, got {h}", ArgumentError)
    joints = joint_forces(model, q, v, h, tau, servo, passive, limits, rubs=False)
    bodies = [point.body for point in model.contact_points] if contact.ground is not None else []
    drives = [part.place for part in joints.bounded if not part.beyond]
    joints = joints.straightened(v, carrying(model, bodies, drives))
    span, tau, offset, slope, bounded = joints
    force = tau + flight.gyroscopic_difference(model, v, h)
    tree, more = model.spanning_tree, dict[str, Any](newton_limit=limit_of(contact.newton_limit))
    if not joints.is_nothing:
        force = force + span.force(offset - slope * span.velocities(v))
        more["added"] = slope * h
    if bounded:
        more["bounded"] = tuple(part.kind for part in bounded)
        more["pulls"] = np.array([part.numbers for part in bounded])
    rubbing = tuple(int(k) for k in np.flatnonzero(tree.friction)) if passive else ()
    if rubbing:
        more["rub"] = tree.friction
    start = flight.steady(model, v)
    x = h * (force - of.inverse_dynamics(model, q, v, start, f_ext))
    change, *felt = _response(
        model, q, v, x, h, *contact.numbers(model), **more, ground=contact.ground, rubbing=rubbing
    )
    return *flight.advanced(model, q, v, change * (1.0 / h) + start, h), *felt


@function(f"{SIGNATURE} -> q, v, force(points, 3), velocity(points, 3), newton_steps")
def contact_step(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    f_ext: Array | None = None,
    *,
    dt: Any,
    kp: Array | None = None,
    kd: Array | None = None,
    setpoint: Array | None = None,
    passive: bool = True,
    limits: bool = True,
    ground: Any = True,
    contact_stiffness: Array | None = None,
    contact_dissipation: Array | None = None,
    contact_friction: Array | None = None,
    creep: Any = None,
    contact_accuracy: Any = None,
    newton_limit: int | None = None,
) -> tuple[Array, ...]:
    """`kt.step` with contact; also the forces and velocities of the contact points in world axes, and the
    number of Newton steps.
    """
    below = resolved(model, ground, "discrete", "contact_step")
    if below is None:
        raise ArgumentError(f"model {model.name!r} touches nothing: it needs geometry, and a ground")
    felt = Contact(
        below, contact_stiffness, contact_dissipation, contact_friction, creep, contact_accuracy, newton_limit
    )
    return touching_step(model, q, v, tau, f_ext, dt, Servo(kp, kd, setpoint), passive, limits, felt)


@function("q, force(points, 3) -> f_ext(nb, 6)")
def contact_wrenches(model: Model, q: Array, force: Array, ground: Any = True) -> Array:
    """The wrench on each body, in its own axes, of forces (world axes) at the contact points."""
    below = resolved(model, ground, "discrete", "contact_wrenches") or PLANE
    poses = of.placements(model, q)
    total = np.zeros((model.nbodies, 6), poses.dtype)
    if not isinstance(below, NoGround):
        for point, f in zip(model.contact_points, force):
            R, p = poses[point.body - 1, :3, :3], poses[point.body - 1, :3, 3]
            _, normal = below.at(tuple(p + R @ np.array(point.position)))
            at = p + R @ np.array(point.touching(tuple(R.T @ np.array(normal))))
            _press(total, poses, point.body, at, f)
    rest = force[len(model.contact_points) :]
    for pair, touch, f in zip(model.pair_points, pair_touches(model, poses), rest):
        _press(total, poses, pair.body, np.array(touch.point), f)
        _press(total, poses, pair.other_body, np.array(touch.point), -f)
    return total


def _press(total: Array, poses: Array, body: int, at: Array, f: Array) -> None:
    """Add a force at a point of the world to the wrench on a body."""
    if body:
        R, p = poses[body - 1, :3, :3], poses[body - 1, :3, 3]
        r, pull = R.T @ (at - p), R.T @ f
        moment = np.array(vec.cross(tuple(r), tuple(pull)))
        total[body - 1] = total[body - 1] + np.concatenate([moment, pull])


def pair_touches(model: Model, poses: Array) -> list[Touch]:
    """Where pairs of bodies touch, in the world, given the placements (..., nb, 4, 4) of the bodies."""
    parts = {part.name: part for part in model.geometries}
    found: list[Touch] = []
    for pair in model.pairs:
        a, b = (_posed(poses, parts[name]) for name in pair[:2])
        found += touches(*a, *b)
    return found


def _posed(poses: Array, part: Geometry) -> tuple[Shape, Pose]:
    """A shape and its pose in the world."""
    if not part.body:
        return part.shape, part.placement
    T = poses[..., part.body - 1, :, :]
    R = tuple(tuple(T[..., i, j][()] for j in range(3)) for i in range(3))
    p = tuple(T[..., i, 3][()] for i in range(3))
    return part.shape, Pose._given(R, p) @ part.placement  # type: ignore[arg-type]


@function(f"q, v, tau, dt, f_ext?, {_SERVO_AND_CONTACT} -> force(points, 3)")
def contact_forces(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    dt: Any,
    f_ext: Array | None = None,
    *,
    kp: Array | None = None,
    kd: Array | None = None,
    setpoint: Array | None = None,
    passive: bool = True,
    limits: bool = True,
    ground: Any = True,
    contact_stiffness: Array | None = None,
    contact_dissipation: Array | None = None,
    contact_friction: Array | None = None,
    creep: Any = None,
    contact_accuracy: Any = None,
    newton_limit: int | None = None,
) -> Array:
    """The force of the ground on each point of `model.contact_points` during a step, in world axes.

        f_n = k (depth - h u_n)_+ (1 - d u_n)_+        f_t = -mu f0 u_t / sqrt(|u_t|^2 + v_s^2)

    u is the velocity of the point at the end of the step and f0 its normal force at the beginning; k, d and
    mu are its stiffness, dissipation and friction (the model's own, or given as contact_stiffness and so on),
    and v_s = `creep`. The new velocities minimise one convex function:

        1/2 |v+ - v*|_M^2 + h sum (N(u_n) + mu f0 sqrt(|u_t|^2 + v_s^2)) + h sum P(v_j)

    with v* the velocities without contact, N' = -f_n, and P for the forces at the joints: damping, springs,
    servos, dry friction, stops. The step and its arguments are those of `kt.step`, but `dt` comes before
    `f_ext`. Forces are zero where nothing touches. After the points of `model.contact_points` come those of
    `model.pair_points`, with the force on the first geometry of the pair.

    Reference: Castro and others (2023).
    """
    if resolved(model, ground, "discrete", "contact_forces") is None:
        return np.zeros((_points(model), 3))
    given: dict[str, Any] = {"kp": kp, "kd": kd, "setpoint": setpoint, "contact_stiffness": contact_stiffness}
    given |= {"contact_dissipation": contact_dissipation, "contact_friction": contact_friction}
    more = {"creep": creep, "contact_accuracy": contact_accuracy}
    given = {name: x for name, x in {**given, **more, "f_ext": f_ext}.items() if x is not None}
    options = {"passive": passive, "limits": limits, "ground": ground, "newton_limit": newton_limit}
    return contact_step(model, q, v, tau, dt=dt, **given, **options)[2]
