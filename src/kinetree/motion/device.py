"""Simulation of states on a GPU: the whole run happens there, and its records stay there.

Each thread advances one state, which stays in its registers. A launch makes many records, and the next
launch continues from the last of them. Results have the same bits as on the CPU.
"""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from kinetree.compiler.runtime import cuda, cuda_kernels
from kinetree.compiler.runtime import cuda_arrays as arrays_of
from kinetree.compiler.runtime.cuda_arrays import View
from kinetree.compiler.runtime.on_device import is_on_device, kind_of
from kinetree.errors import ArgumentError, ShapeError
from kinetree.model import Model
from kinetree.motion.inputs import Acting
from kinetree.motion.joint_forces import effort_limits
from kinetree.motion.rollout import NEXT, OPTIONS, SATURATED, SERIES, Rollout, rollout
from kinetree.motion.simulation import recorded
from kinetree.motion.trajectory import Failure, Trajectory
from kinetree.stages.job import Job
from kinetree.stages.target import TARGETS

PIECE = 64  # records per launch, at most


class DeviceTrajectory:
    """States over time on a GPU: `t` (T+1,) on the host, `q` (..., T+1, nq), `v` (..., T+1, nv) on the
    device.

    A state that fails is NaN from then on. Functions of a model take `q` and `v` as they are; `numpy()`
    copies everything to the host, as a `Trajectory`.

    Attributes:
        model: the robot.
        t: times of the records, s.
        q, v: positions and velocities, as arrays of the library that the initial states came from.
        shown: outputs of the controls from each record on, (..., T+1, ...), named by the number of the
            control and the output: "control0_tau" and so on.
        acting: all other inputs of the run.
        settings: how the run was made.
    """

    def __init__(
        self,
        model: Model,
        t: np.ndarray,
        q: Any,
        v: Any,
        shown: dict[str, Any],
        acting: Acting,
        settings: dict[str, Any],
    ):
        self.model, self.t, self.q, self.v = model, t, q, v
        self.shown, self.acting, self.settings = shown, acting, settings

    @property
    def batch(self) -> tuple[int, ...]:
        """The batch axes."""
        return tuple(self.q.shape[:-2])

    @cached_property
    def failed(self) -> tuple[Failure, ...]:
        """The states that failed; this copies all records to the host."""
        return self.numpy().failed

    def numpy(self) -> Trajectory:
        """The run on the host."""
        q, v = to_host(self.q), to_host(self.v)
        shown = {name: to_host(x) for name, x in self.shown.items()}
        saturated = {SATURATED: shown.pop(SATURATED)} if SATURATED in shown else {}
        constant, series = (
            {n: to_host(x) for n, x in of.items()} for of in (self.acting.constant, self.acting.series)
        )
        record, steps = self.settings["record"], self.settings["record"] * (len(self.t) - 1)
        acting = Acting(constant, series, self.acting.functions)
        extra = recorded(shown, acting, self.batch, len(self.t), record, steps) | saturated
        tau, f_ext = extra.pop("tau", None), extra.pop("f_ext", None)
        given = {n: constant.get(n) for n in ("parameters", "gravity")}
        good = np.isfinite(q).all(-1) & np.isfinite(v).all(-1)
        failed = []
        for place in np.argwhere(~good[..., -1]):
            index = tuple(int(k) for k in place)
            last = int(good[index].sum()) - 1
            reason = f"the motion diverges or cannot be trusted after {self.t[last]:g} s"
            failed.append(Failure(index, float(self.t[last]), "", reason, q[index][last], v[index][last]))
        rest: dict[str, Any] = {"failed": tuple(failed), "settings": self.settings, **given}
        return Trajectory(self.model, self.t, q, v, tau, f_ext=f_ext, extra=extra, **rest)

    def __repr__(self) -> str:
        return (
            f"DeviceTrajectory of {prod(self.batch)} states of {self.model.name!r}: {self.t[0]:g} to "
            f"{self.t[-1]:g} s, {len(self.t)} records"
        )


def to_host(array: Any) -> np.ndarray:
    """An array of any library, on the host."""
    if isinstance(array, np.ndarray):
        return array
    for name in ("numpy", "get"):  # our own arrays, and CuPy's
        if hasattr(array, name) and arrays_of.library_of(array) != "torch":
            return getattr(array, name)()
    return array.cpu().numpy() if hasattr(array, "cpu") else np.asarray(array)


class Slab:
    """Records (..., rows, core) on a device."""

    def __init__(self, rows: int, core: tuple[int, ...], run: DeviceRun):
        self.batch, self.rows, self.core, self.dtype = run.batch, rows, core, run.dtype
        self.array = arrays_of.empty(run.library, run.batch, (rows, *core), run.dtype, run.where)
        self.pointer = View.of(self.array).pointer

    def part(self, first: int, count: int | None) -> View:
        """Some records; a single one, without the axis of records, if `count` is None."""
        width = prod(self.core)
        inner = [prod(self.core[k + 1 :]) for k in range(len(self.core))]
        outer = [self.rows * width * prod(self.batch[k + 1 :]) for k in range(len(self.batch))]
        middle, shape = ([], ()) if count is None else ([width], (count,))
        place = self.pointer + first * width * self.dtype.itemsize
        kind = self.dtype.str
        return View(place, (*self.batch, *shape, *self.core), (*outer, *middle, *inner), kind)

    def copy(self, source: View, first: int, run: DeviceRun) -> None:
        """Fill one record of all states from an array (..., core) with equally spaced states."""
        state, element = source.state(len(self.core), self.batch, "simulate: the initial state")
        width = prod(self.core) * self.dtype.itemsize
        if element != 1 or (state == 0 and prod(self.batch) > 1):
            raise ShapeError(
                "simulate: q0 and v0 on a device must have all batch axes, and rows without gaps: broadcast "
                "and copy them there first"
            )
        cuda_kernels.copy_rows(
            run.where,
            (source.pointer, state * self.dtype.itemsize),
            (self.part(first, None).pointer, self.rows * width),
            width,
            prod(self.batch),
            run.stream,
        )


class DeviceRun:
    """A simulation on a device."""

    def __init__(
        self,
        model: Model,
        q: Any,
        v: Any,
        acting: Acting,
        steps: int,
        settings: dict[str, Any],
        target: str = "cuda",
    ):
        self.model, self.acting, self.steps, self.settings = model, acting, steps, settings
        self.target = TARGETS[target]
        self.record, self.dt, self.t0 = settings["record"], settings["dt"], settings["t0"]
        self.dtype = _kind(q, v)
        self.where = arrays_of.device_of("simulate", (q, v))
        self.library = arrays_of.library_of(q)
        self.stream = arrays_of.stream_of(self.library, self.where)
        self.options = {name: settings[name] for name in OPTIONS}
        self.watched = bool(settings["limits"] and acting.drives and effort_limits(model))
        self.timed = any(a.name == "t" for f in acting.functions for a in f.own_inputs)
        self.start = [View.of(arrays_of.readable(x, self.stream)) for x in (q, v)]
        self.held: list[Any] = []  # kept alive until the device is done
        self.constant = {name: self._there(name, x) for name, x in acting.constant.items()}
        self.series = {name: self._there(name, x) for name, x in acting.series.items()}
        shapes = [x.shape[:-1] for x in self.start]
        shapes += [x.shape[: len(x.shape) - _core(acting, model, n)] for n, x in self.constant.items()]
        shapes += [x.shape[: len(x.shape) - _core(acting, model, n) - 1] for n, x in self.series.items()]
        try:
            self.batch = np.broadcast_shapes(*shapes)
        except ValueError:
            raise ArgumentError(
                "simulate: the batch axes of the states and of what acts on them do not broadcast"
            ) from None

    def _there(self, name: str, value: Any) -> View:
        """An input on the device; arrays may come from the host."""
        if is_on_device(value):
            found = arrays_of.readable(value, self.stream)
            view = View.of(found)
            if np.dtype(view.dtype) != self.dtype:
                raise ShapeError(f"simulate: {name} holds {np.dtype(view.dtype)}, but q0 and v0 {self.dtype}")
            self.held.append(found)
            return view
        host = np.asarray(value, self.dtype)
        self.held.append(cuda.array(host, self.where.number))
        return View.of(self.held[-1])

    def run(self) -> DeviceTrajectory:
        records = self.steps // self.record
        functions = tuple(self.acting.functions)
        shape = rollout(functions, 1, 1, self.watched, True)
        sizes = {a.name: a.sizes(self.model)[1:] for a in shape.outputs if not _is_single(a.name)}
        slabs = {name: Slab(records + 1, core, self) for name, core in sizes.items()}
        slabs["q"].copy(self.start[0], 0, self)
        slabs["v"].copy(self.start[1], 0, self)
        times = self._there("t", self.t0 + self.dt * np.arange(self.steps)) if self.timed else None
        self.length = self._there("dt", self.dt)
        memory = {name: self.constant[name] for name in shape.memory}
        first = 0
        for count in pieces(records):
            function = rollout(functions, count, self.record, self.watched, True)
            memory = self._piece(function, slabs, memory, times, first, count)
            first += count
        for name, slab in slabs.items():  # nothing acts after the last record: repeat what acted before it
            if name.startswith("control"):
                slab.copy(slab.part(records - 1, None), records, self)
            elif name == SATURATED:
                slab.copy(self._there(name, np.zeros((*self.batch, *slab.core))), records, self)
        cuda_kernels.wait(self.where, self.stream)  # what `held` keeps alive is in use until then
        arrays = {n: arrays_of.handed_over(self.library, slab.array) for n, slab in slabs.items()}
        t = self.t0 + self.dt * (self.record * np.arange(records + 1))
        q, v = arrays.pop("q"), arrays.pop("v")
        return DeviceTrajectory(self.model, t, q, v, arrays, self.acting, self.settings)

    def _piece(
        self,
        function: Rollout,
        slabs: dict[str, Slab],
        memory: dict[str, View],
        times: View | None,
        first: int,
        count: int,
    ) -> dict[str, View]:
        """Make some records, starting at record `first`; returns the memory of the controls afterwards."""
        given = self.constant | memory | {name: slabs[name].part(first, None) for name in ("q", "v")}
        given["dt"] = self.length
        row, n = first * self.record, count * self.record
        if times is not None:
            given["each_t"] = _rows(times, 0, row, n, self.dtype)
        for name, series in self.series.items():
            given[SERIES + name] = _rows(series, _core(self.acting, self.model, name), row, n, self.dtype)
        present = function.present(tuple(given))
        job = Job(function, self.model, present, function.chosen(**self.options), str(self.dtype))
        targets = []
        for a in function.outputs:
            if a.name in slabs:
                targets.append(slabs[a.name].part(first + (a.name in ("q", "v")), count))
            else:
                made = arrays_of.empty("", self.batch, a.sizes(self.model), self.dtype, self.where)
                self.held.append(made)
                targets.append(View.of(made))
        kernel = self.target.executable(job)
        kernel.start([given[name] for name in present], targets, self.where, self.stream)  # type: ignore[attr-defined]
        named = dict(zip((a.name for a in function.outputs), targets, strict=True))
        return {name: named[name + NEXT] for name in memory}


def _is_single(name: str) -> bool:
    return name == "trust" or name.endswith(NEXT)


def _core(acting: Acting, model: Model, name: str) -> int:
    return acting._core(model, name)


def _kind(q: Any, v: Any) -> np.dtype:
    kinds = {kind_of(q), kind_of(v)}
    if len(kinds) != 1 or not kinds <= {np.dtype(np.float32), np.dtype(np.float64)}:
        raise ShapeError(
            f"simulate: q0 and v0 hold {', '.join(sorted(map(str, kinds)))}: both must be float32 or float64"
        )
    return kinds.pop()


def _rows(series: View, core: int, first: int, count: int, dtype: np.dtype) -> View:
    """Some rows of a series (..., T, core)."""
    axis = len(series.shape) - core - 1
    shape = (*series.shape[:axis], count, *series.shape[axis + 1 :])
    place = series.pointer + first * series.steps[axis] * dtype.itemsize
    return View(place, shape, series.steps, series.dtype)


def pieces(records: int) -> list[int]:
    """The number of records of each launch; all equal where possible, so that one kernel serves them all."""
    good = max(k for k in range(1, min(records, PIECE) + 1) if records % k == 0)
    if 4 * good >= min(records, PIECE):
        return [good] * (records // good)
    whole, rest = divmod(records, PIECE)
    return [PIECE] * whole + [1 << k for k in reversed(range(rest.bit_length())) if rest >> k & 1]


__all__ = ["DeviceRun", "DeviceTrajectory", "pieces", "to_host"]
