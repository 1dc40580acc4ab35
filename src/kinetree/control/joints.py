"""Joint control: gravity compensation, PD with gravity compensation, computed torque."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree.control import reference as references
from kinetree.control.controller import Controller
from kinetree.derived import passive_force
from kinetree.model import Model
from kinetree.stages import function
from kinetree.stages.function import Function

Array = np.ndarray

SMOOTHING = 1e-3  # rad/s or m/s: smoothing of the sign change of compensated friction


def compensated(model: Model, q: Array, v: Array, passive: bool) -> Any:
    """Minus the forces of damping, friction and springs; 0 if there are none or they are not compensated."""
    tree = model.spanning_tree
    acts = np.any(tree.damping) or np.any(tree.friction) or np.any(tree.stiffness)
    return -passive_force(model, q, v, smoothing=SMOOTHING) if passive and acts else 0.0


@function("q, v, kd?(nv) -> tau")
def gravity_compensation(model: Model, q: Array, v: Array, kd: Array | None = None) -> Array:
    """The force that holds the robot against gravity, with damping: tau = g(q) - kd v. Cost O(N)."""
    held = of.gravity_force(model, q)
    return held if kd is None else held - kd * v


@function("t?, q, v, kp, kd, goal_q?(nq), goal_v?(nv), goal_a?(nv) -> tau")
def pd_control(
    model: Model,
    t: Any,
    q: Array,
    v: Array,
    kp: Array,
    kd: Array,
    goal_q: Array | None = None,
    goal_v: Array | None = None,
    goal_a: Array | None = None,
    *,
    reference: Function | None = None,
) -> Array:
    """PD control with gravity compensation: tau = kp (q_d - q) + kd (v_d - v) + g(q). Cost O(N)."""
    q_d, v_d, _ = references.desired(model, t, goal_q, goal_v, goal_a, reference)
    return kp * model.difference(q, q_d) + kd * (v_d - v) + of.gravity_force(model, q)


@function("t?, q, v, kp, kd, goal_q?(nq), goal_v?(nv), goal_a?(nv) -> tau")
def computed_torque(
    model: Model,
    t: Any,
    q: Array,
    v: Array,
    kp: Array,
    kd: Array,
    goal_q: Array | None = None,
    goal_v: Array | None = None,
    goal_a: Array | None = None,
    *,
    reference: Function | None = None,
    passive: bool = True,
) -> Array:
    """Computed torque: tau = M (a_d + kd (v_d - v) + kp (q_d - q)) + C v + g. Cost O(N).

    The error obeys e'' + kd e' + kp e = 0, joint by joint. `passive`: compensate damping, friction and
    springs of the joints.
    """
    q_d, v_d, a_d = references.desired(model, t, goal_q, goal_v, goal_a, reference)
    a = a_d + kd * (v_d - v) + kp * model.difference(q, q_d)
    return of.inverse_dynamics(model, q, v, a) + compensated(model, q, v, passive)


class GravityCompensation(Controller):
    """tau = g(q) - kd v: the robot floats, and can be guided by hand.

    Args:
        model: the robot.
        kd: damping (nv,) or one number; no damping if left out.
    """

    def __init__(self, model: Model, kd: Any = None):
        super().__init__(model, gravity_compensation, {"kd": kd})


class PD(Controller):
    """tau = kp (q_d - q) + kd (v_d - v) + g(q): holds a posture; robust, but inexact in motion.

    The energy of the error, v^T M v / 2 + (q_d - q)^T kp (q_d - q) / 2, never grows.

    Args:
        model: the robot.
        reference: what to follow: a position (..., nq), a tuple (q, v), or a function of a model "t -> q".
        kp, kd: gains (nv,) or one number, N m/rad and N m s/rad (N/m and N s/m).
    """

    def __init__(self, model: Model, reference: Any, *, kp: Any, kd: Any):
        numbers, options = references.read("PD", reference)
        super().__init__(model, pd_control, {"kp": kp, "kd": kd} | numbers, options)


class ComputedTorque(Controller):
    """tau = M (a_d + kd e' + kp e) + C v + g: follows a motion, with e'' + kd e' + kp e = 0.

    Args:
        model: the robot.
        reference: what to follow: a position (..., nq), a tuple (q, v, a), or a function "t -> q".
        kp, kd: gains (nv,) or one number, 1/s^2 and 1/s: kp = w^2, kd = 2 w for a bandwidth of w.
        passive: compensate damping, friction and springs of the joints.
    """

    def __init__(self, model: Model, reference: Any, *, kp: Any, kd: Any, passive: bool = True):
        numbers, options = references.read("ComputedTorque", reference)
        super().__init__(
            model, computed_torque, {"kp": kp, "kd": kd} | numbers, options | {"passive": passive}
        )
