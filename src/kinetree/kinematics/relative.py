"""Frames of a model relative to each other.

Only the joints between two frames matter. Everything is therefore computed in the part of the model that is
carried by the nearest common ancestor of the two, with that ancestor at rest: no digits are lost to the place
of the robot in the world, and nothing else is computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree.kinematics.moving import Moving
from kinetree.model import Model
from kinetree.model.edit import standing
from kinetree.spatial.motion import Motion
from kinetree.stages import function
from kinetree.sweep.numbers import origin

Array = np.ndarray


def _part(model: Model, carrier: int) -> tuple[Model, Array, Array]:
    """What a body carries, as a model of its own, and the indices of its coordinates in q and v."""

    def make() -> tuple[Model, Array, Array]:
        part = model if model.loops else standing(model, carrier)  # taking a part would cut loops
        if part is model:
            return model, np.arange(model.nq), np.arange(model.nv)
        q = [np.arange(model.nq)[model.position_index(name)] for name in part.joint_names[1:]]
        v = [np.arange(model.nv)[model.coordinate_index(name)] for name in part.joint_names[1:]]
        return part, np.concatenate([[], *q]).astype(int), np.concatenate([[], *v]).astype(int)

    return model.memo(("standing on", carrier), make)


def _moving(model: Model, frame: str, base: str, q: Array, v: Any = None, a: Any = None) -> Moving:
    """The motion of a frame relative to another one; at rest without v, uniform without a."""
    model, _ = origin(model)
    part, at, along = _part(model, model.common_ancestor(model.frame(frame)[0], model.frame(base)[0]))

    def in_part(name: str) -> Moving:
        T = of.frame_placement(part, q[at], name)
        V = None if v is None else of.frame_velocity(part, q[at], v[along], name)
        A = None if a is None else of.frame_acceleration(part, q[at], v[along], a[along], name)
        return Moving.of(T, V, A)

    return in_part(base).inverse() @ in_part(frame)


def _in_axes(model: Model, q: Array, x: Motion, frame: str, axes: str | None) -> Array:
    """A motion given in the axes of a frame, expressed in those of another."""
    if axes is None:
        return np.array(x.components)
    turn = _moving(model, frame, axes, q).X
    return np.array((*turn.turned_back(x.angular), *turn.turned_back(x.linear)))


@function("q -> T(4, 4)")
def relative_placement(model: Model, q: Array, frame: str, base: str) -> Array:
    """The pose of a frame in another frame, as [R p; 0 1]: a body, a named frame, or the world.

        T = T_base^-1 T_frame

    Cost O(d), of the joints between the two.

    Reference: Jain (2024) part 1 (poses between arbitrary frames).
    """
    return np.array(_moving(model, frame, base, q).X.pose())


@function("q, v -> V(6)")
def relative_velocity(
    model: Model, q: Array, v: Array, frame: str, base: str, axes: str | None = None
) -> Array:
    """The spatial velocity [omega; v] of a frame seen from another frame, at the frame's own origin.

        V(b, f) = V(f) - X_fb V(b)

    In the axes of the frame, or of a third frame `axes`. Cost O(d), of the joints between the frames.

    Reference: Jain (2024) part 1 (propagation and reversal of spatial velocities).
    """
    return _in_axes(model, q, _moving(model, frame, base, q, v).V, frame, axes)


@function("q, v, a -> A(6)")
def relative_acceleration(
    model: Model, q: Array, v: Array, a: Array, frame: str, base: str, axes: str | None = None,
    seen_from: str | None = None,
) -> Array:  # fmt: skip
    """The acceleration of a frame relative to another one: the derivative of `relative_velocity`.

        d_s V = d_f V + omega(s, f) x V        on both halves of V = V(b, f)

    A derivative depends on the frame of the observer. Seen from the frame f itself, the default, it is the
    spatial acceleration; with seen_from=base its second half is the second derivative of the position of f in
    b. It is given in the axes of the frame, or of a third frame `axes`, which does not affect the derivative.
    Without gravity. Cost O(d).

    Reference: Jain (2024) part 1 (derivative and representation frames; Coriolis terms, corrected).
    """
    moving = _moving(model, frame, base, q, v, a)
    A = moving.A
    if seen_from is not None:
        A = moving.acceleration(_moving(model, frame, seen_from, q, v).V.angular)
    return _in_axes(model, q, A, frame, axes)
