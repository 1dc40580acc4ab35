"""The momentum observer: external torques, such as those of contacts, without a sensor for them."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from kinetree import functions as of
from kinetree import ops
from kinetree.control.controller import Controller, nominal
from kinetree.control.joints import compensated
from kinetree.model import Model
from kinetree.motion.joint_forces import within_efforts
from kinetree.stages import function

Array = np.ndarray


class Observed(NamedTuple):
    """The result of the observer."""

    residual: Any  # (..., nv): the estimated external generalised force
    integral: Any  # (..., nv), for the next step


@function("q, v, tau, integral(nv), gain(nv), dt -> residual(nv), integral(nv)", result=Observed)
def momentum_observer(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    integral: Array,
    gain: Array,
    dt: Any,
    *,
    passive: bool = True,
    limits: bool = True,
) -> tuple[Array, Array]:
    """The external generalised force, from the momentum p = M v and without accelerations.

        r = K (p - p_0 - integral of (tau + C^T v - g + r) dt)        r' = K (tau_ext - r)

    `tau` acts until the next call, `dt` later. `integral` is p_0 plus the integral so far, without the last
    half of the trapezoid of C^T v - g. The gain that is used, (1 - exp(-K dt)) / dt, gives the exact decay
    between calls, so any K is stable. `passive`: damping, friction and springs of the joints count as known
    forces. `limits`: of `tau`, what exceeds the effort limits of the joints does not act. Cost O(N).

    Reference: De Luca and Mattone (2005); p' = tau + C^T v - g because M' = C + C^T.
    """
    exact = np.array([(1 - ops.exp(-k * dt)) / dt for k in gain])
    tau = within_efforts(model, tau)[0] if limits else tau
    half = dt / 2 * known_force(model, q, v, passive)
    residual = exact * (of.mass_matrix_product(model, q, v) - (integral + half))
    return residual, integral + half + dt * (tau + residual) + half


def known_force(model: Model, q: Array, v: Array, passive: bool) -> Array:
    """C^T v - g plus damping, friction and springs: what changes the momentum besides tau."""
    turning = of.coriolis_transpose_product(model, q, v, v)
    return turning - of.gravity_force(model, q) - compensated(model, q, v, passive)


class MomentumObserver(Controller):
    """The external torque, r' = K (tau_ext - r), from positions, velocities and the commanded torque.

    `observer(t, q, v, tau=..., integral=...)` returns (residual, integral for the next step); `start(q, v)`
    gives the first integral. In a simulation it follows a controller, `control=[law, observer]`, and
    `run.extra["residual"]` holds the result. It does not know the servo (`kp`, `kd`) of a simulation, whose
    torque counts as external.

    Args:
        model: the robot.
        gain: K, 1/s, (nv,) or one number: a step in torque is found to 95 % within 3 / K.
        dt: time between calls, s.
        passive: damping, friction and springs of the joints count as known forces.
        limits: of the commanded torque, what exceeds the effort limits of the joints does not act; ignored in
            a simulation with `limits=False`.
    """

    def __init__(self, model: Model, gain: Any, *, dt: float, passive: bool = True, limits: bool = True):
        options = {"passive": passive, "limits": limits}
        super().__init__(model, momentum_observer, {"gain": gain, "dt": dt}, options)

    def in_loop(self, model: Model, q: Any, v: Any, *, limits: bool = True) -> functools.partial:
        """The law as `kt.simulate` takes it: in a run without effort limits, all of the torque acts."""
        known = super().in_loop(model, q, v, limits=limits)
        options = {**self.law.options, "limits": limits and self.law.options["limits"]}
        return functools.partial(nominal(momentum_observer, tuple(options.items())), **known.keywords)

    def start(self, q: Any, v: Any) -> dict[str, Any]:
        """The initial momentum M v, less half a step of what changes it."""
        q, v = np.asarray(q, float), np.asarray(v, float)
        first = known_force(self.model, q, v, self.law.options["passive"])
        return {"integral": of.mass_matrix_product(self.model, q, v) - self.numbers["dt"] / 2 * first}
