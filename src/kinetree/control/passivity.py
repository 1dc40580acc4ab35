"""Passivity-based control (Slotine and Li): robust tracking that does not cancel the Coriolis forces."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree.control import reference as references
from kinetree.control.controller import Controller
from kinetree.control.joints import compensated
from kinetree.model import Model
from kinetree.stages import function
from kinetree.stages.function import Function

Array = np.ndarray


@function("q, v, v_r(nv), a_r(nv) -> tau")
def slotine_li(model: Model, q: Array, v: Array, v_r: Array, a_r: Array) -> Array:
    """M(q) a_r + C(q, v) v_r + g(q): the forces for a reference velocity and acceleration at a state.

    C is the matrix of the Christoffel symbols, so M' - 2 C is skew. Linear in the inertial parameters.
    Cost O(N).

    Reference: Slotine and Li (1987).
    """
    moving = of.mass_matrix_product(model, q, a_r) + of.coriolis_product(model, q, v, v_r)
    return moving + of.gravity_force(model, q)


def sliding(
    model: Model, q: Array, v: Array, bandwidth: Array, goal: tuple[Array, Array, Array]
) -> tuple[Array, Array, Array]:
    """(s, v_r, a_r): v_r = v_d + w (q_d - q), a_r = a_d + w (v_d - v), s = v - v_r."""
    q_d, v_d, a_d = goal
    v_r = v_d + bandwidth * model.difference(q, q_d)
    return v - v_r, v_r, a_d + bandwidth * (v_d - v)


@function("t?, q, v, bandwidth(nv), kd, goal_q?(nq), goal_v?(nv), goal_a?(nv) -> tau")
def passivity_based(
    model: Model,
    t: Any,
    q: Array,
    v: Array,
    bandwidth: Array,
    kd: Array,
    goal_q: Array | None = None,
    goal_v: Array | None = None,
    goal_a: Array | None = None,
    *,
    reference: Function | None = None,
    passive: bool = True,
) -> Array:
    """Slotine and Li's control: tau = M a_r + C v_r + g - kd s. Cost O(N).

    With s = v - v_r, the energy s^T M s / 2 decreases at the rate s^T kd s, because M' - 2 C is skew.
    """
    goal = references.desired(model, t, goal_q, goal_v, goal_a, reference)
    s, v_r, a_r = sliding(model, q, v, bandwidth, goal)
    return slotine_li(model, q, v, v_r, a_r) - kd * s + compensated(model, q, v, passive)


class PassivityBased(Controller):
    """tau = M a_r + C(q, v) v_r + g - kd (v - v_r), v_r = v_d + bandwidth (q_d - q).

    Args:
        model: the robot.
        reference: what to follow: a position (..., nq), a tuple (q, v, a), or a function "t -> q".
        bandwidth: 1/s, (nv,) or one number: how fast the error decays once v = v_r.
        kd: gain (nv,) or one number, N m s/rad (N s/m).
        passive: compensate damping, friction and springs of the joints.
    """

    def __init__(self, model: Model, reference: Any, *, bandwidth: Any, kd: Any, passive: bool = True):
        numbers, options = references.read("PassivityBased", reference)
        numbers |= {"bandwidth": bandwidth, "kd": kd}
        super().__init__(model, passivity_based, numbers, options | {"passive": passive})
