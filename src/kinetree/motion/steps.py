"""One time step as a function of a model, with a choice of integrators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kinetree import functions as of
from kinetree import ops
from kinetree.constraints import Constraint, constrained_dynamics, project
from kinetree.errors import ArgumentError, SimulationError
from kinetree.model import Model
from kinetree.motion import contact, flight, group
from kinetree.motion.contact import Contact
from kinetree.motion.joint_forces import Servo, effort_limits, explicit, joint_forces, linear_slope
from kinetree.spanning import among_all
from kinetree.stages import function
from kinetree.sweep import choice

Array = np.ndarray

INTEGRATORS = ("discrete", "rk4", "variational")
ITERATIONS = 12  # of the variational step
CONVERGED = 1e-10  # largest relative change of the velocity in the last iteration


@function(f"{contact.SIGNATURE} -> q, v")
def step(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    f_ext: Array | None = None,
    *,
    dt: Any,
    integrator: str = "discrete",
    kp: Array | None = None,
    kd: Array | None = None,
    setpoint: Array | None = None,
    passive: bool = True,
    limits: bool = True,
    constraints: tuple[Constraint, ...] = (),
    ground: Any = True,
    contact_stiffness: Array | None = None,
    contact_dissipation: Array | None = None,
    contact_friction: Array | None = None,
    creep: Any = None,
    contact_accuracy: Any = None,
    newton_limit: int | None = None,
) -> tuple[Array, Array]:
    """The state (q, v) after a step of `dt` seconds, with `tau` and `f_ext` constant during the step.

        discrete      (M + h slope) a = tau + offset - slope v - C v - g,  v+ = v + h a,  q+ = q (+) h v+
        rk4           the classical method of Runge and Kutta for (q, v)' on the group of positions
        variational   the stationary point of the sum of h L(q_m, v_m), q_m = q (+) h/2 v_m,  q+ = q (+) h v_m

    "discrete" (order 1) is implicit in damping, springs, servos, joint friction and stops at joint limits,
    and stable at any step length however stiff they are. "rk4" (order 4) is the most accurate for smooth
    motion. "variational" (order 2) conserves momentum to rounding and its energy does not drift; its equation
    is solved to rounding, and a step for which that fails raises SimulationError. "rk4" takes passive forces
    and servos explicitly, "variational" at the middle of the step; neither has stops.

    A servo kp (setpoint - q) - kd v is part of the step. `passive`: include damping, friction and springs of
    the joints. `limits`: include stops at the joint limits (discrete only), which absorb all the energy of an
    impact; and drives, `tau` plus servo, give no more than the effort limits of their joints. With a ground,
    or a servo with effort limits, all of these are terms of one convex minimisation (`kt.contact_forces`);
    otherwise the active stops are those that the velocity at the beginning leads to. `constraints` hold to
    rounding: the step uses `constrained_dynamics`, and the state is then projected back (`project`).
    Quaternions stay on the unit sphere. Cost: 1, 4 and about 20 forward dynamics.

    `ground`: what the points of the model touch (discrete only): a `kt.Ground` or `kt.Heightfield`, False for
    nothing, or True for the model's own ground; a model with a floating base and no ground of its own gets
    the plane z = 0. With contact the step minimises one convex function (see `kt.contact_forces`) by a few
    Newton steps, each at the cost of a forward dynamics; `newton_limit` is the most there may be (None: as
    many as needed); the step then lacks what they have not found of the forces.

    Reference: discrete steps, Castro and others (2023); Munthe-Kaas (1998) for Runge-Kutta
    methods on groups; Marsden and West (2001), Lee and others (2016) for variational integrators.
    """
    method = _METHODS[choice("integrator", integrator, *INTEGRATORS)]
    below = contact.resolved(model, ground, integrator, "step", constraints)
    servo = Servo(kp, kd, setpoint)
    has_bounds = limits and servo.is_there and integrator == "discrete" and bool(effort_limits(model))
    felt = contact_stiffness, contact_dissipation, contact_friction, creep
    if below is None and model.contact_points:
        contact.refuse_unfelt("step", *felt)
    if below is not None or (has_bounds and not constraints):
        touch = Contact(below, *felt, contact_accuracy, newton_limit)
        after = contact.touching_step(model, q, v, tau, f_ext, dt, servo, passive, limits, touch)
        return after[0], after[1]
    acting = Forces(tau, f_ext, servo, passive, limits, constraints)
    if not constraints:
        return method(model, q, v, dt, acting)
    if method is _variational:
        raise ArgumentError("the variational step takes no constraints: use integrator='discrete' or 'rk4'")
    return project(model, *method(model, q, v, dt, acting), constraints, steps=2)


class Forces(NamedTuple):
    """What acts during a step: given forces, and which joint forces are included."""

    tau: Array
    f_ext: Any
    servo: Servo
    passive: bool
    limits: bool
    constraints: tuple[Constraint, ...]

    def accelerations(self, model: Model, q: Array, v: Array, tau: Array, added: Any = None) -> Array:
        """Forward dynamics with all that acts besides `tau`; `added` is inertia along each velocity."""
        if self.constraints:
            return constrained_dynamics(model, q, v, tau, self.constraints, self.f_ext, added)[0]
        if added is None:
            return of.forward_dynamics(model, q, v, tau, self.f_ext)
        return of.augmented_dynamics(model, q, v, tau, added, self.f_ext)


def _discrete(model: Model, q: Array, v: Array, h: Any, acting: Forces) -> tuple[Array, Array]:
    joints = joint_forces(model, q, v, h, acting.tau, acting.servo, acting.passive, acting.limits)
    span, tau, offset, slope, _ = joints.straightened(v)
    force = tau + flight.gyroscopic_difference(model, v, h)
    if joints.is_nothing:
        a = acting.accelerations(model, q, v, force)
    else:
        pull = span.force(slope * span.velocities(v))
        a = acting.accelerations(model, q, v, force + span.force(offset) - pull, slope * h)
    return flight.advanced(model, q, v, a, h)


def _rk4(model: Model, q: Array, v: Array, h: Any, acting: Forces) -> tuple[Array, Array]:
    chart = group.chart(model, q, 1)

    def slope(u: Any, x: Array) -> tuple[Array, Array]:
        """(u', v') at the position q (+) u and the velocity x."""
        at = q if u is None else chart.position(u)
        force = explicit(model, at, x, acting.tau, acting.servo, acting.passive, acting.limits)
        a = acting.accelerations(model, at, x, force)
        return chart.rates(u, at, x), a

    u1, a1 = slope(None, v)
    u2, a2 = slope(h / 2 * u1, v + h / 2 * a1)
    u3, a3 = slope(h / 2 * u2, v + h / 2 * a2)
    u4, a4 = slope(h * u3, v + h * a3)
    turned = chart.position(h / 6 * (u1 + 2 * (u2 + u3) + u4))
    return turned, v + h / 6 * (a1 + 2 * (a2 + a3) + a4)


def _variational(model: Model, q: Array, v: Array, h: Any, acting: Forces) -> tuple[Array, Array]:
    """Variational step: p = M v at both ends, x the velocity in between; u = h x and z = ad_u on the group.

    p_0 = (z / (e^z - 1))^T M x - h/2 (1 - tanh(z/4))^T Q        Q = C^T x - ad_x^T M x - g + tau
    p_1 = (z / (1 - e^-z))^T M x + h/2 (1 + tanh(z/4))^T Q

    The first is solved for x by x <- x - (M + h/2 slope)^-1 (p_0(x) - p_0), with the slope of the joint
    forces: each iteration gains a factor of about h |x|. If a loop leaves some velocities of a ball joint
    free and fixes others, they are not those of a group, and everything is computed on the open tree: x leads
    to a closed end position, increments of all joints lead to the same one, and p is G^T times the momentum
    of the tree.
    """
    span = group.spanned(model, q)
    tree, start = span.tree, of.mass_matrix_product(model, q, v)
    slope = linear_slope(model, h / 2, acting.servo, acting.passive)
    extra = None if slope is None else h / 2 * slope

    def terms(x: Array) -> tuple[Array, Array, Array, Array]:
        """The middle position, the velocity of the tree, and M x and Q there."""
        at = middle = model.integrate(q, h / 2 * x)
        force = explicit(model, middle, x, acting.tau, acting.servo, acting.passive, acting.limits)
        u = x
        if span.G is not None:
            u = tree.difference(span.q, model.integrate(q, h * x)) / h
            at, force = tree.integrate(span.q, h / 2 * u), among_all(model, force)
        p = of.mass_matrix_product(tree, at, u)
        if acting.f_ext is None:
            force = force - of.gravity_force(tree, at)
        else:
            force = force - of.bias_force(tree, at, 0 * u, acting.f_ext)
        turning = of.coriolis_transpose_product(tree, at, u, u) - group.coadjoint(tree, u, p)
        return middle, u, p, force + turning

    def improved(x: Array, before: Array) -> tuple[Array, Array]:
        middle, u, p, Q = terms(x)
        leaving = group.momenta(tree, -h * u, p) - h / 2 * group.shares(tree, -h * u, Q)
        excess = span.force(leaving) - start
        if extra is None:
            return x - of.mass_matrix_solve(model, middle, excess), x
        still, weightless = np.zeros(model.nv), np.zeros(3)
        return x - of.augmented_dynamics(model, middle, still, excess, extra, gravity=weightless), x

    x, before = ops.repeat(ITERATIONS, improved, v, v)
    change, size = ops.largest(x - before), ops.largest(x) + ops.largest(v)
    given = sum(ops.dot(x, x) for x in (q, v, acting.tau))  # not finite: neither is the result
    hopeless = ops.where(ops.less(given, np.inf), 0.0, 2.0)
    fine = ops.where(ops.less_equal(change, CONVERGED * size), 2.0, hopeless)
    ops.require(
        fine,
        f"the variational step of model {model.name!r} does not converge: the step is too long for the "
        "motion or for the stiffness of its springs and gains; shorten dt, or use integrator='discrete'",
        SimulationError,
    )
    _, u, p, Q = terms(x)
    end = model.integrate(q, h * x)
    arriving = group.momenta(tree, h * u, p) + h / 2 * group.shares(tree, h * u, Q)
    return end, of.mass_matrix_solve(model, end, group.spanned(model, end).force(arriving))


_METHODS: dict[str, Callable[..., tuple[Array, Array]]] = {
    "discrete": _discrete, "rk4": _rk4, "variational": _variational
}  # fmt: skip
