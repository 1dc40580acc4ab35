"""Adaptive control (Slotine and Li): the inertial parameters are learnt while the robot moves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinetree.control import reference as references
from kinetree.control.controller import Controller
from kinetree.control.joints import compensated
from kinetree.control.passivity import sliding, slotine_li
from kinetree.model import Model
from kinetree.stages import function
from kinetree.stages.function import Function
from kinetree.stages.transforms import vjp_of

Array = np.ndarray

_gradient = vjp_of(slotine_li, wrt="parameters")


class Adapted(NamedTuple):
    """The result of the adaptive law."""

    tau: Any
    estimate: Any  # (..., nb, 10), for the next step


@function(
    "t?, q, v, estimate(nb, 10), bandwidth(nv), kd, rate(nb, 10), dt, goal_q?(nq), goal_v?(nv), goal_a?(nv) "
    "-> tau, estimate(nb, 10)",
    result=Adapted,
)
def adaptive_control(
    model: Model,
    t: Any,
    q: Array,
    v: Array,
    estimate: Array,
    bandwidth: Array,
    kd: Array,
    rate: Array,
    dt: Any,
    goal_q: Array | None = None,
    goal_v: Array | None = None,
    goal_a: Array | None = None,
    *,
    reference: Function | None = None,
    passive: bool = True,
) -> tuple[Array, Array]:
    """Slotine and Li's adaptive control, and the estimated parameters after a step of dt.

        tau = Y pi - kd s        pi' = -rate Y^T s        Y pi = M a_r + C v_r + g with the parameters pi

    Y is the regressor of `slotine_li`. It is never formed: Y^T s is the gradient of s . Y pi. The sum of
    s^T M s / 2 and the squared parameter errors, weighted with 1 / rate, never grows. Cost O(N).

    Reference: Slotine and Li (1987), On the adaptive control of robot manipulators.
    """
    goal = references.desired(model, t, goal_q, goal_v, goal_a, reference)
    s, v_r, a_r = sliding(model, q, v, bandwidth, goal)
    tau, gradient = _gradient(model, q, v, v_r, a_r, parameters=estimate, b_tau=s)
    return tau - kd * s + compensated(model, q, v, passive), estimate - dt * rate * gradient


class Adaptive(Controller):
    """Passivity-based control that learns inertial parameters: tau = Y pi - kd s, pi' = -rate Y^T s.

    It tracks without knowing the parameters. They converge to the true ones as far as the motion excites
    them; parameters that are not identifiable or not excited keep their values.

    Called directly, it takes the estimate and returns (tau, estimate for the next step); `start` gives the
    first estimate. In a simulation `run.extra["estimate"]` holds the parameters over time.

    Args:
        model: the robot; its parameters are the first estimate.
        reference: what to follow: a position (..., nq), a tuple (q, v, a), or a function "t -> q".
        bandwidth: 1/s, (nv,) or one number.
        kd: gain (nv,) or one number.
        rate: adaptation gain, (nb, 10) like `model.parameters` or one number; 0 for known parameters.
        dt: time between calls, s.
        passive: compensate damping, friction and springs of the joints.
    """

    def __init__(
        self,
        model: Model,
        reference: Any,
        *,
        bandwidth: Any,
        kd: Any,
        rate: Any,
        dt: float,
        passive: bool = True,
    ):
        numbers, options = references.read("Adaptive", reference)
        numbers |= {"bandwidth": bandwidth, "kd": kd, "rate": rate, "dt": dt}
        super().__init__(model, adaptive_control, numbers, options | {"passive": passive})

    def start(self, q: Any = None, v: Any = None) -> dict[str, Any]:
        """The model's own parameters, as the first estimate."""
        return {"estimate": self.model.parameters}
