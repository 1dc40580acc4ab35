"""Positions of frames and their points, and their relative motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree.model import Model

Array = np.ndarray


def is_world(model: Model, frame: str) -> bool:
    return model.frame(frame)[0] == 0


def frame_pose(model: Model, q: Array, frame: str) -> Array:
    """The world pose (4, 4) of a frame."""
    body, placement = model.frame(frame)
    return np.array(placement.pose(), float) if body == 0 else of.frame_placement(model, q, frame=frame)


def position(model: Model, q: Array, frame: str, point: Any) -> Array:
    """The world position of a point of a frame."""
    T = frame_pose(model, q, frame)
    return T[:3, 3] + T[:3, :3] @ np.array(point)


def gap_jacobian(model: Model, q: Array, frame: str, point: Any, other: str, other_point: Any) -> Array:
    """The velocity of one point minus that of another, in world axes, per unit of each velocity."""
    J = of.jacobian(model, q, frame=frame, reference="aligned", point=np.array(point))[3:]
    if is_world(model, other):
        return J
    return J - of.jacobian(model, q, frame=other, reference="aligned", point=np.array(other_point))[3:]


def gap_acceleration(
    model: Model, q: Array, v: Array, a: Array, frame: str, point: Any, other: str, other_point: Any
) -> Array:
    """The acceleration of one point minus that of another, in world axes."""

    def of_point(frame: str, point: Any) -> Array:
        return of.frame_acceleration(
            model, q, v, a, frame=frame, reference="aligned", kind="classical", point=np.array(point)
        )[3:]

    found = of_point(frame, point)
    return found if is_world(model, other) else found - of_point(other, other_point)
