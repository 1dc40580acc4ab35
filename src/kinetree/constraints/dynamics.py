"""Dynamics under explicit constraints: accelerations, forces, impacts, and projection onto the constraints.

Everything rests on the Delassus matrix J M^-1 J^T, the inverse inertia that the constraints feel. It is
computed from innovations of the rows of J (one inward pass each), never from M^-1. Rows may be redundant: a
small regularisation, removed again by a correction (a proximal step), finds the least-squares forces.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinetree import functions as of
from kinetree import ops
from kinetree.constraints.kinds import Constraint
from kinetree.errors import ArgumentError, SingularError
from kinetree.model import Model
from kinetree.model.validate import shown
from kinetree.spatial import Factored, Matrix
from kinetree.stages import function

Array = np.ndarray
Constraints = tuple[Constraint, ...]

REGULARISATION = 1e-9  # of the Delassus matrix, relative to its diagonal
KEPT = 1e-4  # fraction of the rows' demand that may be left before the correction; its square after it
NOISE = 1e-9  # fraction of the motion itself: rows with a smaller demand are satisfied already


class Constrained(NamedTuple):
    """The accelerations under constraints, and the constraint forces."""

    acceleration: Any  # (..., nv)
    force: Any  # (..., rows): see each constraint for its axes


class Impact(NamedTuple):
    """The velocity after an impact, and the impulses of the constraints."""

    velocity: Any  # (..., nv)
    impulse: Any  # (..., rows)


class Projected(NamedTuple):
    """The nearest state that satisfies the constraints."""

    position: Any  # (..., nq)
    velocity: Any  # (..., nv)


@function("q -> J(constraints, nv)")
def constraint_jacobian(model: Model, q: Array, constraints: Constraints) -> Array:
    """The Jacobian J of one or several constraints, stacked.

        d phi / dt = J v

    Cost O(d) for each row, and O(N).
    """
    return _stacked(model, constraints, (0, model.nv), "jacobian", q)


@function("q -> phi(constraints)")
def constraint_residual(model: Model, q: Array, constraints: Constraints) -> Array:
    """The residuals of constraints, m and rad; zero for those that hold wherever the mechanism is.

        phi(q)        its rate is J(q) v

    Cost O(N).
    """
    return _stacked(model, constraints, (0,), "residual", q)


@function("q -> Delassus(constraints, constraints)")
def delassus(model: Model, q: Array, constraints: Constraints) -> Array:
    """The Delassus matrix: the accelerations of constraint rows per unit of their forces.

        J M^-1 J^T = E^T D^-1 E        E = (1 - H psi K) J^T

    Its inverse is the inertia that the constraints feel. It is singular if rows are redundant. Cost
    O(N + m d + m^2 d) for m rows.

    Reference: Delassus (1917); Jain (2024) part 4 (innovations); Featherstone (2008) section 8.
    """
    return Felt(model, q, constraint_jacobian(model, q, constraints)).delassus


@function("q, v, tau, f_ext?, added?, period? -> acceleration(nv), force(constraints)", result=Constrained)
def constrained_dynamics(
    model: Model, q: Array, v: Array, tau: Array, constraints: Constraints, f_ext: Any = None,
    added: Any = None, period: Any = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Accelerations and constraint forces of a mechanism under constraints.

        M a + C v + g = tau + J^T lambda        J a + J' v = 0

    Each constraint defines the axes of its forces. Redundant constraints are allowed: of all possible forces,
    the result is the one with the least squares. A state in which no forces satisfy the constraints raises a
    SingularError: they contradict each other. With `period` (s), drift is pulled back within about that time
    (Baumgarte stabilisation), J a + J' v = -2 J v / period - phi / period^2; it should be several steps long.
    Without it, drift is not corrected: `kt.project` puts a state back exactly. `added` is inertia along each
    velocity, as in `augmented_dynamics`. Cost O(N + m d + m^2 d + m^3).

    Reference: Featherstone (2008) section 8; Baumgarte (1972); Parikh and Boyd (2014) for the proximal step.
    """
    J = _stacked(model, constraints, (0, model.nv), "_own_jacobian", q)
    felt = Felt(model, q, J, added)
    driven, answer = felt.innovated(tau - of.bias_force(model, q, v, f_ext))
    drift = _stacked(model, constraints, (0,), "_own_acceleration", q, v, np.zeros(model.nv))
    excess = felt.innovations @ answer + drift
    if period is not None:
        phi = _turned(model, q, constraints, constraint_residual(model, q, constraints), back=True)
        excess = excess + 2 / period * (J @ v) + phi / (period * period)
    force = felt.forces(excess, np.concatenate([answer, v]))
    return felt.response(force, driven), _turned(model, q, constraints, force)


@function("q, v, restitution? -> velocity(nv), impulse(constraints)", result=Impact)
def impact(
    model: Model, q: Array, v: Array, constraints: Constraints, restitution: Any = None
) -> tuple[Array, Array]:
    """The velocity right after an impact that makes constraints hold, and their impulses.

        M (v+ - v) = J^T p        J v+ = -e J v

    with the restitution e, zero if left out: the constraints then hold from now on. All constraints act at
    once, including those that would pull; energy never grows for e between 0 and 1. Cost
    O(N + m d + m^2 d + m^3).

    Reference: Featherstone (2008) section 11.7; Moreau (1988).
    """
    J = _stacked(model, constraints, (0, model.nv), "_own_jacobian", q)
    change = J @ v if restitution is None else (1 + restitution) * (J @ v)
    felt = Felt(model, q, J)
    impulse = felt.forces(change, v)
    return v + felt.response(impulse), _turned(model, q, constraints, impulse)


@function("q, v -> position(nq), velocity(nv)", result=Projected)
def project(
    model: Model, q: Array, v: Array, constraints: Constraints, *, steps: int = 3
) -> tuple[Array, Array]:
    """The state projected onto the constraints: the nearest one in the metric of the mass matrix.

        q <- q (+) -M^-1 J^T (J M^-1 J^T)^-1 phi        v <- v - M^-1 J^T (J M^-1 J^T)^-1 J v

    The position takes `steps` Newton steps, each of which squares the error: starting from the error of one
    time step, two reach rounding. Points held wherever they are, and joints without a position, stay where
    they are.

    Reference: Hairer, Lubich and Wanner (2006) section IV.4.
    """
    for _ in range(steps):
        felt = Felt(model, q, _stacked(model, constraints, (0, model.nv), "_own_jacobian", q))
        phi = _turned(model, q, constraints, constraint_residual(model, q, constraints), back=True)
        force = felt.forces(phi, np.ones(1))
        q = model.integrate(q, felt.response(force))
    return q, impact(model, q, v, constraints)[0]


@function("q, v, a, f_ext? -> tau, force(constraints)")
def constrained_inverse_dynamics(
    model: Model, q: Array, v: Array, a: Array, constraints: Constraints, f_ext: Any = None,
    *, unactuated: tuple[str, ...] | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Generalised forces and constraint forces that together produce the accelerations `a`.

        tau + J^T lambda = M a + C v + g        tau = 0 for joints without a motor

    `unactuated`: the joints without a motor; the free joints of the model if None. Of all constraint forces
    that replace their motors, the result has the least squares; without such joints the constraints carry
    nothing. A motion that the constraints cannot support raises a SingularError. Cost O(N + m d + m^3).
    """
    total = of.inverse_dynamics(model, q, v, a, f_ext)
    if unactuated is None:
        unactuated = tuple(body.joint_name for body in model.bodies if body.joint.is_free)
    places = [k for name in unactuated for k in range(model.nv)[model.coordinate_index(name)]]
    if not places:
        return total, np.zeros(sum(c.rows(model) for c in _checked(constraints)))
    J = constraint_jacobian(model, q, constraints)
    pulled = J.T[places]
    load = _least(pulled @ pulled.T, -total[places], total, model)
    force = pulled.T @ load
    tau = total - J.T @ force
    tau[places] = 0.0
    return tau, force


def _stacked(
    model: Model, constraints: Constraints, shape: tuple[int, ...], part: str, *state: Array
) -> Array:
    """One part of all constraints, stacked."""
    found = [getattr(constraint, part)(model, *state) for constraint in _checked(constraints)]
    return np.concatenate(found) if found else np.zeros(shape)


def _turned(model: Model, q: Array, constraints: Constraints, x: Array, back: bool = False) -> Array:
    """Numbers of constraint rows, from the rows' cheapest axes to the axes of their forces, or back."""
    found, start = [], 0
    for constraint in constraints:
        stop = start + constraint.rows(model)
        R = constraint._turn(model, q)
        found.append(x[start:stop] if R is None else (R.T if back else R) @ x[start:stop])
        start = stop
    return np.concatenate(found) if found else x


def _checked(constraints: Any) -> Constraints:
    for constraint in constraints:
        if not isinstance(constraint, Constraint):
            raise ArgumentError(
                f"constraints must be constraints, as in kt.PointConstraint('foot'), got {shown(constraint)}"
            )
    return constraints


class Felt:
    """A mechanism as seen by the rows of a Jacobian: forces along them, and the motion these produce."""

    def __init__(self, model: Model, q: Array, J: Array, added: Any = None):
        self.model, self.q, self.added = model, q, added
        parts = [self.innovated(row) for row in J]
        self.innovations = np.array([e for e, _ in parts]).reshape(len(J), model.nv)
        answers = [answer for _, answer in parts]
        self.delassus = np.zeros((len(J), len(J)), self.innovations.dtype)
        for i, e in enumerate(self.innovations):
            for j in range(i + 1):
                self.delassus[i, j] = self.delassus[j, i] = ops.dot(e, answers[j])

    def innovated(self, x: Array) -> tuple[Array, Array]:
        """The innovations of generalised forces, and the responses to them."""
        if self.added is None:
            return of.innovations(self.model, self.q, x)
        return of.augmented_innovations(self.model, self.q, x, self.added)

    def forces(self, excess: Array, motion: Array) -> Array:
        """Forces along the rows that cancel an excess; `motion` sets the scale for rounding."""
        return _least(self.delassus, excess, motion, self.model)

    def response(self, forces: Array, driven: Array | None = None) -> Array:
        """M^-1 J^T times the forces, plus the response to `driven`, the innovations of others."""
        if not len(forces) and driven is None:
            return np.zeros(self.model.nv)
        total = forces @ self.innovations if driven is None else driven + forces @ self.innovations
        if self.added is None:
            return of.innovations_response(self.model, self.q, total)
        return of.augmented_innovations_response(self.model, self.q, total, self.added)


def _least(A: Array, excess: Array, motion: Array, model: Model) -> Array:
    """The least-squares x with A x = -excess, for a positive semidefinite A; SingularError if there is none.

    (A + s) x_0 = -excess, x = x_0 - (A + s)^-1 (A x_0 + excess), with a small s.
    """
    m = len(A)
    if m == 0:
        return np.zeros(0)
    diagonal = [ops.where(ops.less(0.0, x), REGULARISATION * x, 1.0) for x in np.diagonal(A)]
    rows = [[x + diagonal[i] if i == j else x for j, x in enumerate(row)] for i, row in enumerate(A.tolist())]
    factor = Factored(Matrix(rows))

    def solved(b: Array) -> Array:
        x = np.empty(m, object)
        x[:] = list(factor.solve(b.tolist()))
        return x if A.dtype == object else x.astype(A.dtype)

    x = solved(-excess)
    left = -np.array(diagonal) * x  # A x + excess
    asked = ops.largest(excess) + NOISE * ops.largest(motion)
    kept = ops.where(ops.less_equal(ops.largest(left), KEPT * asked), 2.0, 0.0)
    ops.require(
        ops.where(ops.less(asked, np.inf), kept, 2.0),
        f"no forces keep the constraints of model {model.name!r} here: they contradict each other, "
        "or the mechanism is at a pose in which they cannot act. Leave one out, or move away from that pose",
        SingularError,
    )
    return x - solved(left)
