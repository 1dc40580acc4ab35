"""Fixed-step simulation: pieces of the run as rollouts, and the diagnosis of failures."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.errors import KinetreeError, SingularError
from kinetree.model import Model
from kinetree.motion.inputs import Acting
from kinetree.motion.joint_forces import effort_limits
from kinetree.motion.rollout import NEXT, SERIES, Rollout, rollout
from kinetree.motion.steps import step
from kinetree.motion.trajectory import Failure
from kinetree.stages.job import Job
from kinetree.stages.target import TARGETS, preferring

Array = np.ndarray

PIECE, NUMBERS = 64, 8192  # per kernel call and state of a batch: most steps, most recorded numbers
LONG_PIECE, LONG_NUMBERS = 1024, 1 << 17  # for a single state


class Run:
    """States that advance together, with everything that acts on them."""

    def __init__(
        self,
        model: Model,
        acting: Acting,
        options: dict[str, Any],
        dt: float,
        t0: float,
        target: str,
        dtype: str,
    ):
        self.model, self.acting, self.options = model, acting, options
        self.dt, self.t0, self.target, self.dtype = dt, t0, target, dtype
        self._kernels: dict[Any, tuple[tuple[str, ...], Any]] = {}
        self.watched = bool(options["limits"] and acting.drives and effort_limits(model))
        self.timed = any(a.name == "t" for f in acting.functions for a in f.own_inputs)

    def piece(self, records: int, record: int, states: int) -> int:
        """How many records one call should make: a power of two, so that few kernels serve all runs.

        A single state needs few calls; for a batch, the records of one call should fit the caches.
        """
        width = self.model.nq + self.model.nv
        width += self.model.nv if self.watched else 0
        width += sum(a.length(self.model) for f in self.acting.functions for a in f.outputs)
        long = states == 1 or self.target.startswith("cuda")  # copied anyway: caches do not matter
        steps, numbers = (LONG_PIECE, LONG_NUMBERS) if long else (PIECE, NUMBERS)
        most = max(1, min(steps // record, numbers // max(1, width)))
        return 1 << min(most.bit_length() - 1, (records - 1).bit_length())

    def advance(
        self,
        q: Array,
        v: Array,
        memory: dict[str, Array],
        start: int,
        records: int,
        record: int,
        time: float | None = None,
        places: list[Array] | None = None,
    ) -> dict[str, Array]:
        """The records after `records` groups of `record` steps, from step `start` at `time` on, by name.

        Series that end earlier are padded with zeros: results beyond the end are discarded. q and v are
        written to `places`, if given.
        """
        function = rollout(tuple(self.acting.functions), records, record, self.watched)
        n = records * record
        given: dict[str, Any] = {"q": q, "v": v, "dt": self.dt} | self.acting.constant | memory
        if self.timed:
            grid = self.t0 + self.dt * np.arange(start, start + n)
            given["each_t"] = grid if time is None else time + self.dt * np.arange(n)
        for name, array in self.acting.series.items():
            given[SERIES + name] = _rows(array, start, n, _core(function, name))
        return self._call(function, given, places)

    def _call(
        self, function: Rollout, given: dict[str, Any], places: list[Array] | None = None
    ) -> dict[str, Array]:
        key = function, tuple(given)
        if key not in self._kernels:
            present = function.present(key[1])
            job = Job(function, self.model, present, function.chosen(**self.options), self.dtype)
            self._kernels[key] = present, TARGETS[self.target].executable(job)
        present, executable = self._kernels[key]
        arrays = [np.asarray(given[name], self.dtype) for name in present]
        if places is None or self.target != "cpu":
            results = executable(*arrays)
        else:
            batch, others = places[0].shape[:-2], function.outputs[len(places) :]
            out = [*places, *(np.empty(batch + a.sizes(self.model), self.dtype) for a in others)]
            results = executable(*arrays, out=tuple(out))
        return {a.name: x for a, x in zip(function.outputs, results, strict=True)}

    def explained(
        self, index: tuple[int, ...], q: Array, v: Array, memory: dict[str, Array], start: int, steps: int
    ) -> Failure | None:
        """Why one state fails within a piece: its steps are repeated one by one.

        `q`, `v` and `memory` are those of the state at step `start`.
        """
        single, memory = alone(self, index, memory)
        for k in range(start, start + steps):
            found = single.advance(q, v, memory, k, 1, 1)
            after = found["q"][0], found["v"][0]
            fine = np.isfinite(after[0]).all() and np.isfinite(after[1]).all()
            if not fine or not found["trust"] >= 1:
                joint, reason = self._cause(single, q, v, memory, k, found, fine)
                return Failure(index, self.t0 + self.dt * k, joint, reason, np.array(q), np.array(v))
            memory = {name: found[name + NEXT] for name in memory}
            q, v = after
        return None  # it fails only beyond the end of the run

    def _cause(
        self,
        run: Run,
        q: Array,
        v: Array,
        memory: dict[str, Array],
        k: int,
        found: dict[str, Array],
        fine: bool,
    ) -> tuple[str, str]:
        """The joint and the reason."""
        joint = fastest(self.model, v)
        for name, value in found.items():
            if name.startswith("control") and not name.endswith(NEXT) and not np.isfinite(value).all():
                own = name.partition("_")[2]
                place = int(np.flatnonzero(~np.isfinite(value[0].ravel()))[0])
                joint = owner(self.model, place) if own in ("tau", "kp", "kd") else joint
                return joint, f"the control gives {own} = {value[0].ravel()[place]} at joint {joint!r}"
        acting: dict[str, Any] = {n: x for n, x in run.acting.constant.items() if not n.startswith("control")}
        acting |= {n: x[k] for n, x in run.acting.series.items()}
        acting |= {
            n.partition("_")[2]: x[0]
            for n, x in found.items()
            if n.partition("_")[2] in ("tau", "f_ext", "kp", "kd", "setpoint")
        }
        acting.pop("momentum", None)
        acting.setdefault("tau", np.zeros(self.model.nv))
        error = self._refusal(q, v, acting)
        if isinstance(error, SingularError) and not isinstance(
            self._refusal(q, np.zeros_like(v), acting), SingularError
        ):
            error = None  # it has inertia at rest: the speeds are too large for the digits of the numbers
        if error is not None:
            return joint, str(error).removeprefix("step: ")
        if not fine:
            bad = np.flatnonzero(~np.isfinite(found["v"][0]))
            joint = owner(self.model, int(bad[0])) if len(bad) and len(bad) < self.model.nv else joint
        speed = float(np.abs(v).max(initial=0.0))
        return joint, f"the motion diverges: joint {joint!r} moves fastest, with {speed:.3g} rad/s or m/s"

    def _refusal(self, q: Array, v: Array, acting: dict[str, Any]) -> KinetreeError | None:
        """The error of a step from this state, if it has one."""
        try:
            with preferring("cpu"), np.errstate(all="ignore"):
                step(self.model, q, v, dt=self.dt, **acting, **self.options)
        except KinetreeError as error:
            return error
        return None


def alone(run: Run, index: tuple[int, ...], memory: dict[str, Array]) -> tuple[Run, dict[str, Array]]:
    """The run of one state of a batch, and the memory of its controls."""
    acting = run.acting
    function = rollout(tuple(acting.functions), 1, 1)
    constant = {n: _one(a, index, _core(function, n)) for n, a in acting.constant.items()}
    series = {n: _one(a, index, _core(function, n) + 1) for n, a in acting.series.items()}
    single = Acting(constant, series, acting.functions, {})
    remembered = {n: _one(a, index, _core(function, n)) for n, a in memory.items()}
    target = "cpu" if run.target.startswith("cuda") else run.target
    return Run(run.model, single, run.options, run.dt, run.t0, target, run.dtype), remembered


def _one(array: Array, index: tuple[int, ...], core: int) -> Array:
    """The part of an array that belongs to one state of the batch it broadcasts to."""
    batch = array.ndim - core
    place = tuple(
        k if n > 1 else 0 for k, n in zip(index[len(index) - batch :], array.shape[:batch], strict=True)
    )
    return array[place]


def _core(function: Rollout, name: str) -> int:
    return next(len(a.shape) for a in function.inputs if a.name == name)


def _rows(array: Array, start: int, count: int, core: int) -> Array:
    """Rows of a series, with zeros beyond its end."""
    axis = array.ndim - core - 1
    rows = np.take(array, range(start, min(start + count, array.shape[axis])), axis)
    missing = count - rows.shape[axis]
    if not missing:
        return rows
    shape = list(rows.shape)
    shape[axis] = missing
    return np.concatenate([rows, np.zeros(shape)], axis)


def fastest(model: Model, v: Array) -> str:
    """The joint with the largest velocity."""
    return owner(model, int(np.argmax(np.abs(v)))) if model.nv else ""


def owner(model: Model, place: int) -> str:
    """The joint that a velocity belongs to."""
    for name in model.joint_names:
        at = model.coordinate_index(name)
        if at.start <= place < at.stop:
            return name
    return ""
