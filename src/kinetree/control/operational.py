"""Operational-space control: a frame follows its goal, and the rest of the robot moves in the null space."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree.control.controller import Controller
from kinetree.control.joints import compensated
from kinetree.errors import ArgumentError, ShapeError
from kinetree.model import Model
from kinetree.spatial import Factored, Matrix
from kinetree.spatial.quaternion import quaternion_from_matrix
from kinetree.stages import function
from kinetree.stages.function import Function

Array = np.ndarray


@function(
    "t?, q, v, kp(6), kd(6), damping, goal_pose?(4, 4), goal_velocity?(6), goal_acceleration?(6), "
    "posture?(nq), posture_kp?(nv), posture_kd?(nv) -> tau"
)
def operational_space(
    model: Model,
    t: Any,
    q: Array,
    v: Array,
    kp: Array,
    kd: Array,
    damping: Any,
    goal_pose: Array | None = None,
    goal_velocity: Array | None = None,
    goal_acceleration: Array | None = None,
    posture: Array | None = None,
    posture_kp: Array | None = None,
    posture_kd: Array | None = None,
    *,
    frame: str,
    point: bool = False,
    reference: Function | None = None,
    passive: bool = True,
) -> Array:
    """Khatib's control of the pose x of a frame, or with `point` of its position.

        tau = J^T Lambda (x''_d + kd (x'_d - x') + kp (x_d - x) - J' v) + C v + g + N^T tau_0
        Lambda = (J M^-1 J^T + damping^2)^-1        N^T = 1 - J^T Lambda J M^-1

    World axes at the origin of the frame; [rotation; position]. The rotation error is 2 sin(angle / 2) times
    the axis. tau_0 = M (posture_kp (q_p - q) - posture_kd v) holds a posture and does not accelerate the
    frame. Cost O(N) for each of 6 rows.

    Reference: Khatib (1987), A unified approach for motion and force control.
    """
    rows = slice(3, 6) if point else slice(0, 6)
    goal, rate, acceleration = _desired(model, t, goal_pose, goal_velocity, goal_acceleration, reference)
    pose = of.frame_placement(model, q, frame=frame)
    J = of.jacobian(model, q, frame=frame, reference="aligned")[rows]
    drift = of.jacobian_rate(model, q, v, frame=frame, reference="aligned")[rows] @ v
    turn = quaternion_from_matrix(goal[:3, :3] @ pose[:3, :3].T)
    error = np.array([2 * turn[0], 2 * turn[1], 2 * turn[2], *(goal[:3, 3] - pose[:3, 3])])[rows]
    wanted = acceleration[rows] + kd[rows] * (rate[rows] - J @ v) + kp[rows] * error - drift

    response = np.stack([of.mass_matrix_solve(model, q, row) for row in J])  # J M^-1
    mobility = Factored(Matrix((response @ J.T + damping * damping * np.eye(len(J))).tolist()))
    pull = _posture_pull(model, q, v, posture, posture_kp, posture_kd)
    force = np.array(mobility.solve((wanted - J @ pull).tolist()))
    return J.T @ force + of.inverse_dynamics(model, q, v, pull) + compensated(model, q, v, passive)


def _desired(
    model: Model, t: Any, pose: Any, velocity: Any, acceleration: Any, reference: Function | None
) -> tuple[Array, Array, Array]:
    """The pose, velocity and acceleration to follow."""
    if reference is not None:
        pose, velocity, acceleration = reference(model, t)
    elif pose is None:
        raise ArgumentError(
            "there is nothing to follow: give goal_pose=..., or make the controller with a goal"
        )
    still = np.zeros(6)
    return pose, still if velocity is None else velocity, still if acceleration is None else acceleration


def _posture_pull(model: Model, q: Array, v: Array, posture: Any, kp: Any, kd: Any) -> Array:
    """The acceleration towards the posture; zero without gains."""
    pull = np.zeros(model.nv)
    if kp is not None:
        pull = pull + kp * model.difference(q, model.neutral() if posture is None else posture)
    return pull if kd is None else pull - kd * v


class OperationalSpace(Controller):
    """A frame follows a pose or a position as if it were a unit mass; a posture is held in the null space.

    Args:
        model: the robot.
        frame: the frame or body to control.
        goal: a world pose (..., 4, 4), a position (..., 3), or a function of a model
            "t -> pose(4, 4), velocity(6), acceleration(6)", [angular; linear] in world axes.
        kp, kd: gains, 1/s^2 and 1/s: one number or 6, [rotation; position].
        posture: a position (nq,) to hold in the null space; the neutral one if left out.
        posture_kp, posture_kd: its gains, 1/s^2 and 1/s, (nv,) or one number; no posture control if left out.
        damping: bounds the forces near singular postures; 0 for exact decoupling everywhere else.
        passive: compensate damping, friction and springs of the joints.
        point: control the position only (implied by a goal of three numbers).
    """

    def __init__(
        self,
        model: Model,
        frame: str,
        goal: Any,
        *,
        kp: Any,
        kd: Any,
        posture: Any = None,
        posture_kp: Any = None,
        posture_kd: Any = None,
        damping: float = 1e-4,
        passive: bool = True,
        point: bool = False,
    ):
        numbers: dict[str, Any] = {"kp": kp, "kd": kd, "damping": damping}
        numbers |= {"posture": posture, "posture_kp": posture_kp, "posture_kd": posture_kd}
        options: dict[str, Any] = {"frame": frame, "passive": passive}
        if isinstance(goal, Function):
            _check_reference(goal)
            options["reference"] = goal
        else:
            numbers["goal_pose"], is_point = _pose(goal)
            point = point or is_point
        super().__init__(model, operational_space, numbers, options | {"point": point})
        model.frame(frame)


def _check_reference(goal: Function) -> None:
    taken, shapes = [a.name for a in goal.own_inputs], [a.shape for a in goal.outputs]
    if taken != ["t"] or shapes != [(4, 4), (6,), (6,)]:
        raise ArgumentError(
            f"OperationalSpace: the goal {goal.name} takes {', '.join(taken)} and gives {shapes}, but "
            '"t -> pose(4, 4), velocity(6), acceleration(6)" is needed'
        )


def _pose(goal: Any) -> tuple[Array, bool]:
    """The goal as a pose, and whether it is a position only."""
    target = np.asarray(goal, float)
    if target.shape[-2:] == (4, 4):
        return target, False
    if target.shape[-1:] != (3,):
        raise ShapeError(
            f"OperationalSpace: the goal has shape {target.shape}, but (..., 4, 4) or (..., 3) is needed"
        )
    pose = np.zeros((*target.shape[:-1], 4, 4))
    pose[..., :, :] = np.eye(4)
    pose[..., :3, 3] = target
    return pose, True
