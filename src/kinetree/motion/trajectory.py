"""The result of a simulation: states over time, and everything that follows from them."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kinetree import derived
from kinetree import functions as of
from kinetree.constraints import Constraint, constrained_dynamics
from kinetree.errors import ArgumentError
from kinetree.model import Model
from kinetree.motion import contact, group
from kinetree.motion.joint_forces import SMOOTHING, Servo, driven, within_efforts
from kinetree.motion.touching import Touching
from kinetree.spanning import loop_matrix

Array = np.ndarray


class Failure(NamedTuple):
    """A state of the batch that failed."""

    state: tuple[int, ...]  # its index in the batch; () for a single run
    time: float  # of its last good state, s
    joint: str  # the joint that moved fastest then, or first became infinite
    reason: str
    q: Array  # the last good state
    v: Array


class Event(NamedTuple):
    """A zero of an event function."""

    number: int  # index of the event function
    state: tuple[int, ...]  # index of its state in the batch
    time: float
    q: Array
    v: Array
    terminal: bool


class Trajectory(Touching):
    """States over time: `t` (T+1,), `q` (..., T+1, nq), `v` (..., T+1, nv); batch axes lead.

    Units and frames are those of the model's functions. Quantities that follow from the states (energy,
    momentum, joint wrenches, ...) are computed on demand. A state of the batch that failed, or was ended by
    an event, is NaN from there on; `failed` and `events` say when, and hold its last state. If all states
    ended early, the records end with the last of them.

    Attributes:
        model: the robot.
        t: times of the records, s.
        q, v: positions and velocities.
        tau: generalised forces commanded by the control from each record on, (..., T+1, nv); zeros without a
            control. The force that acts, within the effort limits, is `joint_force`.
        f_ext: external wrenches from each record on, (..., T+1, nb, 6), or None.
        extra: other outputs of the controls, by name, (..., T+1, ...); and with effort limits "saturated"
            (..., T+1, nv): in how many steps from each record on the control asked for more (with error
            control: 1 if it does at the record).
        failed, events: failures and events, in the order of time.
        settings: how the run was made (integrator, dt, passive, limits, ...).
        parameters, gravity: values that replaced the model's own, or None.
        interrupted: True if the run was interrupted and ends early.
    """

    def __init__(
        self,
        model: Model,
        t: Array,
        q: Array,
        v: Array,
        tau: Array | None = None,
        *,
        f_ext: Array | None = None,
        extra: dict[str, Array] | None = None,
        failed: tuple[Failure, ...] = (),
        events: tuple[Event, ...] = (),
        settings: dict[str, Any] | None = None,
        parameters: Array | None = None,
        gravity: Array | None = None,
        interrupted: bool = False,
    ):
        self.model, self.t, self.q, self.v = model, t, q, v
        self.tau = np.zeros(v.shape, v.dtype) if tau is None else tau  # takes no memory until it is read
        self.f_ext, self.extra = f_ext, dict(extra or {})
        self.failed, self.events = tuple(failed), tuple(events)
        self.settings = dict(settings or {})
        self.parameters, self.gravity, self.interrupted = parameters, gravity, interrupted

    # -- its parts

    @property
    def batch(self) -> tuple[int, ...]:
        """The batch axes; () for a single run."""
        return self.q.shape[:-2]

    @property
    def shape(self) -> tuple[int, ...]:
        """The batch axes and the number of records: the shape that an index into the trajectory refers to."""
        return self.q.shape[:-1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Trajectory:
        """A part: states of the batch, then a slice of the records, as for an array of this `shape`."""
        index = index if isinstance(index, tuple) else (index,)
        dots = [place for place, part in enumerate(index) if part is Ellipsis]
        if dots:
            place = dots[0]
            fill = (slice(None),) * (len(self.shape) - len(index) + 1)
            index = (*index[:place], *fill, *index[place + 1 :])
        index = (*index, *(slice(None),) * (len(self.shape) - len(index)))
        *states, records = index
        if len(index) > len(self.shape) or not isinstance(records, slice):
            raise ArgumentError(
                f"a trajectory of shape {self.shape} (batch, records) is indexed by states of the batch and "
                f"a slice of the records, not by {index}; use run.q, run.v or run.at(t) for single records"
            )

        def part(array: Array | None, core: int) -> Any:
            if array is None:
                return None
            full = np.broadcast_to(array, self.shape + array.shape[array.ndim - core :])
            return full[(*states, records)]

        numbers = np.arange(int(np.prod(self.batch))).reshape(self.batch)[tuple(states)]
        kept = {
            tuple(map(int, np.unravel_index(n, self.batch))): place for place, n in np.ndenumerate(numbers)
        }
        failed = [f._replace(state=kept[f.state]) for f in self.failed if f.state in kept]
        events = [e._replace(state=kept[e.state]) for e in self.events if e.state in kept]
        given = {name: self._given(name, tuple(states)) for name in ("parameters", "gravity")}
        return Trajectory(
            self.model,
            self.t[records],
            part(self.q, 1),
            part(self.v, 1),
            part(self.tau, 1),
            f_ext=part(self.f_ext, 2),
            extra={n: x[(*states, records)] for n, x in self.extra.items()},
            failed=tuple(failed),
            events=tuple(events),
            settings=self.settings,
            interrupted=self.interrupted,
            **given,
        )

    def _given(self, name: str, states: tuple) -> Array | None:
        array = getattr(self, name)
        core = 2 if name == "parameters" else 1
        if array is None or array.ndim == core:
            return array
        return np.broadcast_to(array, self.batch + array.shape[array.ndim - core :])[states]

    def at(self, t: Any) -> tuple[Array, Array]:
        """(q, v) at any time within the run, for one time or an array of times (the axis before the last).

        Positions follow the cubic on the group through the positions and velocities of both records;
        velocities are interpolated linearly.
        """
        try:
            times = np.atleast_1d(np.asarray(t, float))
        except (TypeError, ValueError):
            times = np.array([np.nan])
        if times.ndim > 1 or not np.all((times >= self.t[0]) & (times <= self.t[-1])):
            raise ArgumentError(
                f"at: times must be numbers from {self.t[0]:g} to {self.t[-1]:g} s, where the run is; got {t}"
            )
        k = np.clip(np.searchsorted(self.t, times, "right") - 1, 0, max(len(self.t) - 2, 0))
        last = np.minimum(k + 1, len(self.t) - 1)
        h = np.where(last > k, self.t[last] - self.t[k], 1.0)[:, None]
        s = (times[:, None] - self.t[k][:, None]) / h
        q0, q1, v0, v1 = self.q[..., k, :], self.q[..., last, :], self.v[..., k, :], self.v[..., last, :]
        d = self.model.difference(q0, q1)
        ending = np.moveaxis(group.rates(self.model, np.moveaxis(d, -1, 0), np.moveaxis(v1, -1, 0), 3), 0, -1)
        u = (3 - 2 * s) * s**2 * d + s * (1 - s) * h * ((1 - s) * v0 - s * ending)
        q, v = self.model.integrate(q0, u), v0 + s * (v1 - v0)
        q, v = (  # at a record it is that record, even if the other one is NaN
            np.where(s == 0, before, np.where(s == 1, after, x))
            for x, before, after in ((q, q0, q1), (v, v0, v1))
        )
        return (q, v) if np.ndim(t) else (q[..., 0, :], v[..., 0, :])

    # -- what follows from the states

    def _model_inputs(self, names: tuple[str, ...] = ("parameters", "gravity")) -> dict[str, Any]:
        """Values that replaced the model's own, with an axis for the records."""
        given = {"parameters": (self.parameters, 2), "gravity": (self.gravity, 1)}
        return {
            name: np.expand_dims(array, array.ndim - core)
            for name, (array, core) in given.items()
            if array is not None and name in names
        }

    @cached_property
    def kinetic_energy(self) -> Array:
        """(..., T+1): the kinetic energy, J."""
        return self._evaluated(of.kinetic_energy, self.v, **self._model_inputs())

    @cached_property
    def potential_energy(self) -> Array:
        """(..., T+1): the potential energy of gravity, and of the joints' springs if they acted, J."""
        height = self._evaluated(of.potential_energy, **self._model_inputs())
        springs = self.settings.get("passive", True) and np.any(self.model.spanning_tree.stiffness)
        return height + self._evaluated(derived.spring_energy) if springs else height

    @cached_property
    def energy(self) -> Array:
        """(..., T+1): kinetic plus potential energy, J."""
        return self.kinetic_energy + self.potential_energy

    @cached_property
    def momentum(self) -> Array:
        """(..., T+1, 6): the momentum [angular; linear] about the world origin, world axes, N m s and N s."""
        return self._evaluated(of.momentum, self.v, **self._model_inputs())

    @cached_property
    def joint_force(self) -> Array:
        """(..., T+1, nv): all generalised forces at the joints: control and servos within the effort limits,
        damping, friction, springs.

        Stops at joint limits are not included: they act within a step.
        """
        total = driven(self.model, self.q, self.v, self.tau, Servo.among(self.extra))
        total = within_efforts(self.model, total)[0] if self.settings.get("limits", True) else total
        if self.settings.get("passive", True):
            total = total + self._evaluated(derived.passive_force, self.v, smoothing=SMOOTHING)
        return total

    @cached_property
    def acceleration(self) -> Array:
        """(..., T+1, nv): accelerations under the forces of each record."""
        if self.constraints:
            return self._constrained.acceleration
        args = (self.v, self.joint_force)
        return self._evaluated(of.forward_dynamics, *args, f_ext=self._wrenches, **self._model_inputs())

    @property
    def _wrenches(self) -> Array | None:
        """All wrenches on the bodies except those of the joints."""
        if not self.ground:
            return self.f_ext
        found = self._evaluated(contact.contact_wrenches, self.contact_force, ground=self.ground)
        return found if self.f_ext is None else found + self.f_ext

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints of the run."""
        return tuple(self.settings.get("constraints", ()))

    @cached_property
    def constraint_force(self) -> Array:
        """(..., T+1, rows): the forces of the constraints, each in the axes of its constraint."""
        return self._constrained.force

    @cached_property
    def _constrained(self) -> Any:
        args = (self.v, self.joint_force, self.constraints)
        return self._evaluated(constrained_dynamics, *args, f_ext=self.f_ext, **self._model_inputs())

    @cached_property
    def power(self) -> Array:
        """(..., T+1): the power of all forces except gravity and springs, W; what changes the energy.

        Ground forces, which act within a step, are multiplied by the velocities at its beginning.
        """
        total = np.sum(self.v * self.joint_force, -1)
        tree = self.model.spanning_tree
        if self.settings.get("passive", True) and np.any(tree.stiffness):
            rest = np.broadcast_to(tree.spring_reference, self.q.shape)
            u = (self._evaluated(loop_matrix) @ self.v[..., None])[..., 0] if self.model.loops else self.v
            total = total - np.sum(u * tree.stiffness * tree.difference(self.q, rest), -1)
        if self._wrenches is not None:
            total = total + np.sum(self._wrenches * self._evaluated(of.body_velocities, self.v), (-2, -1))
        return total

    @cached_property
    def energy_error(self) -> Array:
        """(..., T+1): the energy less its first value and the work done since (by the trapezoidal rule), J.

        Zero except for the errors of the integrator and the trapezoidal rule, as long as no stop was hit.
        """
        work = np.cumsum((self.power[..., 1:] + self.power[..., :-1]) / 2 * np.diff(self.t), -1)
        work = np.concatenate([np.zeros((*self.batch, 1)), work], -1)
        return self.energy - self.energy[..., :1] - work

    @cached_property
    def joint_wrenches(self) -> Array:
        """(..., T+1, nb, 6): the wrench through each joint on its body, body axes, N m and N."""
        args = (self.v, self.acceleration)
        return self._evaluated(of.joint_wrenches, *args, f_ext=self._wrenches, **self._model_inputs())

    # -- pictures, tables and files

    def plot(self, *args: Any, **options: Any) -> Any:
        """Positions, velocities, energy and momentum over time, as a matplotlib figure."""
        from kinetree import pictures

        return pictures.plot(self, *args, **options)

    def show(self, *args: Any, **options: Any) -> Any:
        """The motion in the browser."""
        from kinetree import pictures

        return pictures.show(self, *args, **options)

    def save(self, path: str | Path) -> Path:
        """Write everything to a file: `.npz`, `.csv`, or `.parquet` (which needs pyarrow).

        The file includes the model. It is written to a temporary file first: after an error, an existing file
        is unchanged.
        """
        from kinetree.motion.files import save

        return save(self, path)

    @staticmethod
    def load(path: str | Path) -> Trajectory:
        """Read a trajectory that `save` wrote."""
        from kinetree.motion.files import load

        return load(path)

    def to_pandas(self) -> Any:
        """A pandas table with a row for each record of each state."""
        from kinetree.motion.files import to_pandas

        return to_pandas(self)

    def to_xarray(self) -> Any:
        """An xarray dataset with the axes batch..., time, and position or velocity by name."""
        from kinetree.motion.files import to_xarray

        return to_xarray(self)

    def _repr_html_(self) -> str:
        from kinetree.motion.html import html_of

        return html_of(self)

    def __repr__(self) -> str:
        states = f"{int(np.prod(self.batch))} states of " if self.batch else ""
        lines = [f"Trajectory of {states}{self.model.name!r}: {self.t[0]:g} to {self.t[-1]:g} s"]
        lines.append(f"{len(self.t)} records, {self.settings.get('integrator', 'unknown')} integrator")
        if self.failed:
            first = self.failed[0]
            lines.append(f"{len(self.failed)} failed, first at {first.time:g} s: {first.reason}")
        if self.events:
            lines.append(f"{len(self.events)} events, first at {self.events[0].time:g} s")
        if self.interrupted:
            lines.append("interrupted")
        return ", ".join(lines)


__all__ = ["Event", "Failure", "Trajectory"]
