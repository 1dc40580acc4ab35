"""LQR: the linear feedback that holds a robot at an equilibrium with the least quadratic cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree.control.controller import Controller
from kinetree.control.riccati import continuous_riccati, discrete_riccati
from kinetree.derived import passive_force
from kinetree.differential import linearize
from kinetree.errors import ArgumentError, ShapeError
from kinetree.model import Model
from kinetree.stages import function

Array = np.ndarray

BALANCED = 1e-6  # share of the largest force that joints without a motor may lack at an equilibrium


@function("q, v, goal_q(nq), goal_v(nv), feedforward(nv), gain(nv, 2 nv) -> tau")
def linear_feedback(
    model: Model, q: Array, v: Array, goal_q: Array, goal_v: Array, feedforward: Array, gain: Array
) -> Array:
    """tau = feedforward - gain [q - q_0; v - v_0], with the position difference taken on the group."""
    return feedforward - gain @ np.concatenate([model.difference(goal_q, q), v - goal_v])


class LQR(Controller):
    """tau = tau_0 - K [q - q_0; v], with the K that minimises the integral of x^T Q x + u^T R u.

    Uses the linearisation about the equilibrium (q_0, 0, tau_0): x' = A x + B u, or with `dt` x+ = A x + B u
    for torques held constant for dt. Contact has no part in it.

    Args:
        model: the robot.
        q: the equilibrium position (nq,), stable or not.
        Q: weight of x = [increments of q; v], (2 nv, 2 nv), its diagonal (2 nv,), or one number.
        R: weight of the torques of the actuated velocities, a matrix, its diagonal, or one number.
        actuated: names of the joints that have motors; all if left out.
        dt: time between calls, s; None for continuous control.
        integrator: of the linearisation with `dt`, as for `kt.step`.

    Attributes:
        gain: K (nv, 2 nv), zero in rows of joints without motors.
        cost: P; x^T P x is the cost from x on.
        poles: eigenvalues of the closed loop.
    """

    def __init__(
        self,
        model: Model,
        q: Any,
        *,
        Q: Any = 1.0,
        R: Any = 1.0,
        actuated: Sequence[str] | None = None,
        dt: float | None = None,
        integrator: str = "rk4",
    ):
        q = np.asarray(q, float)
        if q.shape != (model.nq,):
            raise ShapeError(
                f"LQR: q has shape {q.shape} but model {model.name!r} needs ({model.nq},): "
                f"{model.describe_coordinates()}."
            )
        still = np.zeros(model.nv)
        tau = of.gravity_force(model, q) - passive_force(model, q, still)
        driven = _places(model, actuated)
        _check_balance(model, tau, driven)
        if dt is None:
            self.A, B = linearize(model, q, still, tau)
        else:
            self.A, B = linearize(model, q, still, tau, dt, integrator, ground=False)
        self.B = B[:, driven]
        Q, R = _weight("Q", Q, 2 * model.nv), _weight("R", R, len(driven))
        if dt is None:
            self.cost = continuous_riccati(self.A, self.B, Q, R)
            K = np.linalg.solve(R, self.B.T @ self.cost)
        else:
            self.cost = discrete_riccati(self.A, self.B, Q, R)
            K = np.linalg.solve(R + self.B.T @ self.cost @ self.B, self.B.T @ self.cost @ self.A)
        self.gain = np.zeros((model.nv, 2 * model.nv))
        self.gain[driven] = K
        self.poles = np.linalg.eigvals(self.A - self.B @ K)
        numbers = {"goal_q": q, "goal_v": still, "feedforward": tau, "gain": self.gain}
        super().__init__(model, linear_feedback, numbers)


def _places(model: Model, joints: Sequence[str] | None) -> Array:
    """The velocities of the actuated joints."""
    if joints is None:
        return np.arange(model.nv)
    names = [joints] if isinstance(joints, str) else list(joints)
    return np.concatenate([np.arange(model.nv)[model.coordinate_index(name)] for name in names])


def _check_balance(model: Model, tau: Array, driven: Array) -> None:
    """Raise unless joints without a motor are in equilibrium on their own."""
    lacking = np.abs(tau).copy()
    lacking[driven] = 0.0
    scale = max(model.total_mass * np.linalg.norm(np.asarray(model.gravity, float)), 1e-300)
    if model.nv and lacking.max() > BALANCED * scale:
        names = [n for n in model.joint_names if lacking[model.coordinate_index(n)].max(initial=0.0) > 0]
        raise ArgumentError(
            f"LQR: q is not an equilibrium: {', '.join(map(repr, names))} would need {lacking.max():.3g} N m "
            "or N, but is not among the actuated joints"
        )


def _weight(name: str, value: Any, size: int) -> Array:
    """A symmetric weight matrix from a matrix, a diagonal, or one number."""
    array = np.asarray(value, float)
    if array.ndim == 0:
        array = np.full(size, array)
    if array.shape == (size,):
        array = np.diag(array)
    least = -1e-12 if name == "Q" else 0.0
    if array.shape != (size, size) or not np.allclose(array, array.T) or not np.isfinite(array).all():
        raise ShapeError(
            f"LQR: {name} has shape {np.shape(value)}: give a symmetric matrix ({size}, {size}), its "
            f"diagonal ({size},), or one number"
        )
    values = np.linalg.eigvalsh(array)
    if size and not (values.min() > 0 if name == "R" else values.min() >= least * abs(values).max()):
        raise ArgumentError(f"LQR: {name} must be positive {'definite' if name == 'R' else 'semidefinite'}")
    return array
