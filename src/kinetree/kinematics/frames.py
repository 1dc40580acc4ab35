"""Frames that move by a given law of time, in one network with the frames of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.errors import ArgumentError, ModelError, TraceError
from kinetree.kinematics.moving import Moving
from kinetree.kinematics.relative import relative_acceleration, relative_placement, relative_velocity
from kinetree.model import Model, ModelBuilder
from kinetree.model.validate import WORLD, new_frame, unknown
from kinetree.spatial.motion import Motion
from kinetree.spatial.pose import Pose
from kinetree.spatial.reading import stacked
from kinetree.spatial.transform import Transform
from kinetree.stages import Function, function
from kinetree.stages.transforms import jvp_of
from kinetree.textbook.se3 import pose_acceleration, pose_velocity

Array = np.ndarray


class Frames:
    """Frames in addition to those of a model, each placed in another one by a law of time.

    A law is a function of time that returns a `Pose` (or a 4x4 matrix) and computes with `kinetree.ops`; its
    derivatives are automatic. A pose instead of a law is constant. Networks are immutable: `add` returns
    another one. Any two frames, of the network or of the model, have a pose, a velocity and an acceleration
    relative to each other; the motion of a common parent does not enter and costs no digits.

    Args:
        model: a robot whose bodies and frames belong to the network; None for the world alone.
    """

    def __init__(self, model: Model | None = None):
        if model is not None and not isinstance(model, Model):
            raise ArgumentError(f"Frames: the model must be a kinetree Model, got a {type(model).__name__}")
        self.model = ModelBuilder("no robot").build() if model is None else model
        self._parents: dict[str, str] = {}
        self._laws: dict[str, Any] = {}  # a constant motion, or a function of time

    @property
    def names(self) -> tuple[str, ...]:
        """The frames that were added, parents first."""
        return tuple(self._parents)

    def add(self, name: str, parent: str = WORLD, law: Any = None) -> Frames:
        """The network with one more frame.

        Args:
            name: of the frame.
            parent: a frame of the network or of the model, a body, or "world".
            law: its pose in the parent: a function of time, or a constant; None for the identity.
        """
        new_frame(name, (*self._parents, *self.model.frame_names), self.model.body_names, self.model.name)
        self._known(parent)
        result = Frames(self.model)
        result._parents = self._parents | {name: parent}
        moving = law if callable(law) else Moving(Transform() if law is None else _pose(law).transform())
        result._laws = self._laws | {name: moving}
        return result

    def at(self, t: Any = 0.0, q: Any = None, v: Any = None, a: Any = None) -> Instant:
        """The network at a time and in a state of the model, or in batches of both, which broadcast.

        Args:
            t: the time, s.
            q, v, a: of the model; v and a default to zero; q is needed where a result depends on the model.
        """
        return Instant(self, t, q, v, a)

    def _known(self, name: Any) -> str:
        if name not in self._parents:
            try:
                self.model.frame(name)
            except ModelError:
                known = (*self._parents, *self.model.frame_names, *self.model.body_names, WORLD)
                raise unknown(name, "frame", known, "this network of frames") from None
        return name

    def _upwards(self, name: str) -> list[str]:
        """A frame, its parent, and so on up to a frame of the model or the world."""
        path = [self._known(name)]
        while path[-1] in self._parents:
            path.append(self._parents[path[-1]])
        return path

    def __repr__(self) -> str:
        rows = ", ".join(f"{name} in {parent}" for name, parent in self._parents.items())
        return f"<frames of {self.model.name}: {rows or 'none of its own'}>"


class Instant:
    """A network of frames at one time and state: poses, velocities and accelerations between any two."""

    def __init__(self, frames: Frames, t: Any, q: Any, v: Any, a: Any):
        self.frames, self.t, self.q = frames, t, q
        still = np.zeros(frames.model.nv)
        self.v, self.a = (still if x is None else x for x in (v, a))

    def placement(self, frame: str, base: str = WORLD) -> Array:
        """The pose (..., 4, 4) of a frame in another one."""
        return stacked(self._moving(frame, base).X.pose())

    def velocity(self, frame: str, base: str = WORLD, axes: str | None = None) -> Array:
        """The velocity (..., 6) of a frame seen from another one, at its origin; as `relative_velocity`."""
        return self._in_axes(self._moving(frame, base).V, frame, axes)

    def acceleration(
        self, frame: str, base: str = WORLD, axes: str | None = None, seen_from: str | None = None
    ) -> Array:
        """The acceleration (..., 6) of a frame relative to another one; as `relative_acceleration`."""
        moving = self._moving(frame, base)
        watched = frame if seen_from is None else seen_from
        return self._in_axes(moving.acceleration(self._moving(frame, watched).V.angular), frame, axes)

    def _in_axes(self, x: Motion, frame: str, axes: str | None) -> Array:
        turn = self._moving(frame, frame if axes is None else axes).X
        return stacked((*turn.turned_back(x.angular), *turn.turned_back(x.linear)))

    def _moving(self, frame: str, base: str) -> Moving:
        """The motion of a frame relative to another, by their nearest common parent or else the model."""
        outer, inner = self.frames._upwards(frame), self.frames._upwards(base)
        shared = [name for name in outer if name in inner]
        if shared:
            between = Moving(Transform())
            outer, inner = outer[: outer.index(shared[0])], inner[: inner.index(shared[0])]
        else:
            between = self._of_the_model(outer.pop(), inner.pop())
        return self._down(inner).inverse() @ between @ self._down(outer)

    def _down(self, path: list[str]) -> Moving:
        """The first frame of a path relative to the parent of the last one."""
        moving = Moving(Transform())
        for name in reversed(path):
            law = self.frames._laws[name]
            moving = moving @ (law if isinstance(law, Moving) else _by_law(law, self.frames.model, self.t))
        return moving

    def _of_the_model(self, frame: str, base: str) -> Moving:
        model = self.frames.model
        if self.q is None:
            if model.nq:
                raise ArgumentError(
                    f"model '{model.name}': '{frame}' relative to '{base}' depends on q: give at(t, q)"
                )
            self.q = np.zeros(0)
        T = relative_placement(model, self.q, frame, base)
        V = relative_velocity(model, self.q, self.v, frame, base)
        return Moving.of(T, V, relative_acceleration(model, self.q, self.v, self.a, frame, base))


@function("t -> T(4, 4)")
def prescribed_placement(model: Model, t: Any, law: Callable[..., Any]) -> Array:
    """The pose that a law prescribes at a time."""
    try:
        found = law(model, t) if isinstance(law, Function) else law(t)
    except TypeError as error:
        raise TraceError(
            f"the law of a frame cannot be derived: {error}. Use kinetree.ops (ops.cos for numpy.cos)"
        ) from error
    return np.array(_pose(found).as_matrix())


def _pose(given: Any) -> Pose:
    return given if isinstance(given, Pose) else Pose(given)


def _by_law(law: Callable[..., Any], model: Model, t: Any) -> Moving:
    """The motion that a law prescribes at a time, with its derivatives."""
    twice = jvp_of(jvp_of(prescribed_placement))
    T, rate, _, second = twice(model, t, law=law, d_t=1.0, d2_t=1.0)
    X = Moving.of(T).X
    pose = Pose.from_transform(X)
    return Moving(X, pose_velocity(pose, rate), pose_acceleration(pose, rate, second))
