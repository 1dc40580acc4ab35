"""Contact over a run: which points touch, how they slip, what they carry."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from kinetree import functions as of
from kinetree.errors import ArgumentError, SingularError, StateError
from kinetree.model import Model
from kinetree.model.ground import NoGround
from kinetree.motion import contact
from kinetree.sweep.signature import SIZES

Array = np.ndarray


class Touching:
    """Contact results of a trajectory; the attributes it needs come first."""

    model: Model
    t: Array
    q: Array
    v: Array
    tau: Array
    f_ext: Array | None
    extra: dict[str, Array]
    failed: tuple[Any, ...]
    settings: dict[str, Any]
    shape: Any

    def _model_inputs(self) -> dict[str, Any]:
        raise NotImplementedError

    @cached_property
    def _lost(self) -> Array:
        """(..., T+1): True at the records from which a step failed."""
        lost = np.zeros(self.shape, bool)
        for failure in self.failed:
            lost[failure.state] |= np.abs(self.t - failure.time) < self.settings.get("dt", 0.0) / 2
        return lost

    @property
    def _repeatable(self) -> Array:
        """The positions, NaN at the records from which a step failed."""
        if not self._lost.any():
            return self.q
        return np.where(self._lost[..., None], np.nan, self.q).astype(self.q.dtype)

    def _evaluated(self, function: Any, *args: Any, **given: Any) -> Any:
        """A function of the model, the positions and `args`. If it refuses the record from which a step
        failed, for the reason of the failure, the result is NaN there.
        """
        try:
            return function(self.model, self.q, *args, **given)
        except (SingularError, StateError):
            if not self._lost.any():
                raise
            return function(self.model, self._repeatable, *args, **given)

    @property
    def ground(self) -> Any:
        """What was touched: a `kt.Ground`, a `kt.Heightfield`, or False for nothing."""
        return self.settings.get("ground", False)

    @property
    def contact_force(self) -> Array:
        """(..., T+1, points, 3): contact forces, world axes, N; zero where nothing touches.

        The force of the ground on each point of `model.contact_points`, then the force on the first geometry
        at each point of `model.pair_points`, during the step that starts at each record. NaN if that step
        failed.
        """
        return self._touched[0]

    @property
    def contact_velocity(self) -> Array:
        """(..., T+1, points, 3): velocities of these points at the end of that step, world axes, m/s: their
        slip, where they touch.
        """
        return self._touched[1]

    @property
    def contact_power(self) -> Array:
        """(..., T+1, points): the power of these forces, W; summed over all steps, times dt: their work."""
        return np.sum(self.contact_force * self.contact_velocity, -1)

    @property
    def newton_steps(self) -> Array:
        """(..., T+1): how many Newton steps found the contact forces of that step; usually 3 or 4, and 0 if
        the step failed.
        """
        return np.nan_to_num(self._touched[2]).astype(int)

    @cached_property
    def _touched(self) -> tuple[Array, ...]:
        if not self.ground:
            nothing = np.zeros((*self.shape, SIZES["points"](self.model), 3))
            return nothing, nothing, np.zeros(self.shape)
        names = ("kp", "kd", "setpoint", *contact.INPUTS)
        given: dict[str, Any] = {name: self.extra[name] for name in names if name in self.extra}
        given |= self._model_inputs() | ({} if self.f_ext is None else {"f_ext": self.f_ext})
        chosen = {name: self.settings[name] for name in ("dt", "passive", "limits", "ground")}
        chosen["newton_limit"] = self.settings.get("newton_limit")
        return contact.contact_step(self.model, self._repeatable, self.v, self.tau, **given, **chosen)[2:]

    @property
    def touching(self) -> Array:
        """(..., T+1, points): True where a point is pressed during the step that starts at a record; False if
        that step failed.
        """
        return np.any(np.abs(self.contact_force) > 0, -1)

    @property
    def slip(self) -> Array:
        """(..., T+1, points): the sliding speed of the points that touch, m/s; zero for the others, NaN if
        that step failed.
        """
        u = self.contact_velocity
        along = u.copy()
        T = self._evaluated(of.placements)
        stands = self.ground and not isinstance(self.ground, NoGround)
        points = self.model.contact_points
        for k, point in enumerate(points if stands else ()):
            pose = T[..., point.body - 1, :3, :]
            place = pose @ np.array([*point.position, 1.0])
            normal = np.stack(np.broadcast_arrays(*self.ground.at(tuple(np.moveaxis(place, -1, 0)))[1]), -1)
            along[..., k, :] -= np.sum(u[..., k, :] * normal, -1, keepdims=True) * normal
        for k, touch in enumerate(contact.pair_touches(self.model, T), len(points)):
            normal = np.stack(np.broadcast_arrays(*touch.normal), -1)
            along[..., k, :] -= np.sum(u[..., k, :] * normal, -1, keepdims=True) * normal
        return np.where(np.any(self.contact_force != 0, -1), np.linalg.norm(along, axis=-1), 0.0)

    @property
    def contact_work(self) -> Array:
        """(..., T+1, points): the work of the contact forces since the first record, J; steps between records
        count with the power of the recorded ones.
        """
        work = np.cumsum(self.contact_power[..., :-1, :] * np.diff(self.t)[:, None], -2)
        return np.concatenate([np.zeros_like(self.contact_power[..., :1, :]), work], -2)

    def force_on(self, name: str) -> Array:
        """(..., T+1, 3): the total contact force on a body or a geometry, from the ground and other bodies,
        world axes, N: what a sensor in a foot measures. A name that both have means the body.
        """
        points, pairs = self.model.contact_points, self.model.pair_points
        bodies = ("", *self.model.body_names)
        is_body = name in bodies
        own = [(k, 1) for k, p in enumerate(points) if name == (bodies[p.body] if is_body else p.geometry)]
        for k, p in enumerate(pairs, len(points)):
            ends = (bodies[p.body], bodies[p.other_body]) if is_body else (p.geometry, p.other)
            own += [(k, sign) for end, sign in zip(ends, (1, -1)) if name == end]
        if not own:
            known = dict.fromkeys([p.geometry for p in points] + [x for p in pairs for x in p[:2]])
            raise ArgumentError(
                f"force_on: {name!r} is no geometry or body of model {self.model.name!r} that can "
                f"touch; there are {', '.join(map(repr, known)) or 'none'}"
            )
        places, signs = np.array(own).T
        return (self.contact_force[..., places, :] * signs[:, None]).sum(-2)
