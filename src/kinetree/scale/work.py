"""The work on a chunk of runs: draw the varying inputs, call the function, collect its results as rows."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kinetree import ops
from kinetree.compiler.runtime.machine import host
from kinetree.errors import ArgumentError, KinetreeError
from kinetree.model import Model
from kinetree.model.validate import shown
from kinetree.motion import Trajectory, simulate
from kinetree.motion.joint_forces import SMOOTHING
from kinetree.scale import philox
from kinetree.scale.distributions import Given, Source
from kinetree.spanning import spanned
from kinetree.stages import Function, function

Array = np.ndarray
Rows = dict[str, Array]
# Fields of one body that may vary, with their shapes.
FIELDS: dict[str, tuple[int, ...]] = {"mass": (), "center": (3,), "inertia": (6,)}
RESISTANCES = ("friction", "damping")  # of one joint, in simulations
STARTS = {"q0": "nq", "v0": "nv"}  # of simulate
MODEL = {"parameters": ("nb", 10), "gravity": (3,)}


class Part(NamedTuple):
    """The results of consecutive runs."""

    start: int
    rows: Rows  # name -> (runs, ...), NaN where a run failed
    reasons: dict[int, str]  # run -> why it failed
    processor: str

    @property
    def failed(self) -> Array:
        """(runs,) True where a run failed."""
        found = np.zeros(len(next(iter(self.rows.values()))), bool)
        found[[run - self.start for run in self.reasons]] = True
        return found

    @property
    def stop(self) -> int:
        return self.start + len(self.failed)


@dataclass
class Work:
    """A function of a model, with its varying and its fixed inputs."""

    function: Any
    model: Model
    over: dict[str, Source]
    fixed: dict[str, Any]
    seed: int
    take: Callable[[Any], Any] | None = None
    shapes: dict[str, tuple[int, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self.shapes = {name: self._shape(name, source) for name, source in self.over.items()}

    def _shape(self, name: str, source: Source) -> tuple[int, ...]:
        """The shape of one value of a varying input."""
        field_name, slash, body = name.partition("/")
        if slash and field_name in RESISTANCES and self.function is simulate:
            place = self.model.spanning_tree.coordinate_index(body)
            return (place.stop - place.start,)
        if slash:
            if field_name not in FIELDS:
                known = ", ".join(FIELDS) + (
                    f"; of a joint {', '.join(RESISTANCES)}" if self.function is simulate else ""
                )
                raise ArgumentError(f"scale.map: '{name}': of a body one can vary {known}")
            self.model.body_index(body)
            return FIELDS[field_name]
        sizes = {"nq": self.model.nq, "nv": self.model.nv, "nb": self.model.nbodies}
        if name in MODEL:
            return tuple(sizes.get(d, d) for d in MODEL[name])  # type: ignore[misc,arg-type]
        if self.function is simulate and name in STARTS:
            return (sizes[STARTS[name]],)
        if isinstance(self.function, Function):
            inputs = {a.name: a for a in self.function.own_inputs}
            if name not in inputs:
                raise ArgumentError(
                    f"scale.map: {self.function.name} takes {', '.join(inputs)}, and no '{name}'"
                )
            return inputs[name].sizes(self.model, self.function.options | self.fixed)
        if isinstance(source, Given):
            return source.array.shape[1:]
        for attribute in ("low", "mean", "median", "options"):
            if hasattr(source, attribute):
                found = np.shape(getattr(source, attribute))
                return found[1:] if attribute == "options" else found
        return ()

    def drawn(self, start: int, stop: int) -> dict[str, Array]:
        """The varying inputs of some runs."""
        runs, found = np.arange(start, stop), {}
        for name, source in self.over.items():
            shape = self.shapes[name]
            values = np.asarray(source.values(runs, shape, philox.key_of(self.seed, name)))
            if values.shape != (stop - start, *shape):
                raise ArgumentError(
                    f"scale.map: '{name}' gives {values.shape[1:]} for a run, where {shape} is needed"
                )
            found[name] = values
        return self._with_bodies(found, stop - start)

    def _with_bodies(self, found: dict[str, Array], count: int) -> dict[str, Array]:
        """The varied fields of single bodies, as `parameters` of all bodies."""
        fields = {name: x for name, x in found.items() if name.partition("/")[0] in FIELDS and "/" in name}
        if not fields:
            return found
        rest = {name: x for name, x in found.items() if name not in fields}
        own = rest.pop("parameters", self.fixed.get("parameters", self.model.parameters))
        parameters = np.array(np.broadcast_to(own, (count, self.model.nbodies, 10)))
        for name, values in fields.items():
            what, _, body = name.partition("/")
            i = self.model.body_index(body) - 1
            parameters[:, i] = _changed(parameters[:, i], what, values)
        return rest | {"parameters": parameters}

    def __call__(self, start: int, stop: int) -> Part:
        """The results of some runs; those that fail are rows of NaN with a reason."""
        inputs = self.drawn(start, stop)
        reasons: dict[int, str] = {}
        rows = self._rows(inputs, start, stop, reasons)
        return Part(start, rows, reasons, processor())

    def _rows(self, inputs: dict[str, Array], start: int, stop: int, reasons: dict[int, str]) -> Rows:
        """Rows of results; if a batch raises, its halves are retried, so that only failing runs are lost."""
        try:
            rows = self._called(inputs, start, reasons)
        except KinetreeError as error:
            if isinstance(error, ArgumentError):
                raise  # affects all runs
            if stop - start == 1:
                reasons[start] = str(self._error(inputs) or error)
                return {}
            middle = (start + stop) // 2
            halves = []
            for first, last in ((start, middle), (middle, stop)):
                part = {name: x[first - start : last - start] for name, x in inputs.items()}
                halves.append((self._rows(part, first, last, reasons), last - first))
            return _joined(halves)
        for name, values in rows.items():
            if len(values) != stop - start:
                raise ArgumentError(f"scale.map: '{name}' has {len(values)} rows for {stop - start} runs")
        return rows

    def _error(self, inputs: dict[str, Array]) -> KinetreeError | None:
        """The error of a single run that failed, from a call without the axis of runs: it names no state."""
        if isinstance(self.function, Function):
            try:
                self.function(self.model, **self.fixed | {name: x[0] for name, x in inputs.items()})
            except KinetreeError as error:
                return error
        return None

    def _called(self, inputs: dict[str, Array], start: int, reasons: dict[int, str]) -> Rows:
        if self.function is simulate:
            return self._simulated(inputs, start, reasons)
        result = self.function(self.model, **self.fixed | inputs)
        if self.take is not None:
            result = self.take(result)
        if isinstance(result, Mapping):
            return {str(name): np.asarray(x) for name, x in result.items()}
        if isinstance(self.function, Function) and self.take is None:
            names = [a.name for a in self.function.outputs]
            return dict(zip(names, map(np.asarray, result if len(names) > 1 else (result,)), strict=True))
        fields = getattr(result, "_fields", None)
        parts = result if isinstance(result, tuple) else (result,)
        names = list(fields) if fields else [f"result{k}" if k else "result" for k in range(len(parts))]
        return dict(zip(names, map(np.asarray, parts), strict=True))

    def _simulated(self, inputs: dict[str, Array], start: int, reasons: dict[int, str]) -> Rows:
        model, arguments = self._resisting(self.fixed | inputs)
        q0, v0 = arguments.pop("q0"), arguments.pop("v0")
        if self.shapes.get("setpoint") == (model.nq,):  # a goal for each run, however many steps there are
            arguments["setpoint"] = arguments["setpoint"][:, None]
            q0 = np.broadcast_to(q0, (len(arguments["setpoint"]), model.nq))
        if self.take is None:
            arguments.setdefault("record", max(1, round(arguments["duration"] / arguments["dt"])))
        run = _whole(simulate(model, q0, v0, progress=False, **arguments), arguments["duration"])
        for failure in run.failed:
            reasons[start + int(failure.state[0])] = f"{failure.reason} at t = {failure.time:g} s"
        if self.take is not None:
            found = self.take(run)
            found = found if isinstance(found, Mapping) else {"result": found}
            return {str(name): np.asarray(x) for name, x in found.items()}
        return {"q": run.q[:, -1].copy(), "v": run.v[:, -1].copy()}

    def _resisting(self, arguments: dict[str, Any]) -> tuple[Model, dict[str, Any]]:
        """Varying friction and damping as a control law, and the model without its own."""
        varying = {name: x for name, x in arguments.items() if name.partition("/")[0] in RESISTANCES}
        if not varying:
            return self.model, arguments
        rest = {name: x for name, x in arguments.items() if name not in varying}
        count = len(next(iter(varying.values())))
        numbers = {what: np.zeros((count, self.model.nu)) for what in RESISTANCES}
        without: dict[str, dict[str, float]] = {}
        for name, values in varying.items():
            what, _, joint = name.partition("/")
            numbers[what][:, self.model.spanning_tree.coordinate_index(joint)] = values
            without.setdefault(what, {})[joint] = 0.0
        law: Any = resistance
        control = rest.get("control")
        others = [] if control is None else list(control) if isinstance(control, (list, tuple)) else [control]
        return self.model.replace(**without), rest | {"control": [*others, partial(law, **numbers)]}


@function("q, v, friction(nu), damping(nu) -> tau")
def resistance(model: Model, q: Array, v: Array, friction: Array, damping: Array) -> Array:
    """The force of joints with friction and damping given for each state.

    tau = -d v - f tanh(v / s)
    """
    span = spanned(model, q)
    u = span.velocities(v)
    slide = np.array([ops.tanh(x / SMOOTHING) for x in u], u.dtype)
    return span.force(-damping * u - friction * slide)


def _whole(run: Trajectory, duration: float) -> Trajectory:
    """The run with all records of its duration: NaN after the end of all its states, as in all chunks."""
    t0, dt, record = (run.settings[name] for name in ("t0", "dt", "record"))
    missing = round(duration / dt) // record + 1 - len(run.t)
    if not missing or run.interrupted:
        return run
    axis = len(run.batch)

    def longer(array: Array) -> Array:
        shape = (*array.shape[:axis], missing, *array.shape[axis + 1 :])
        return np.concatenate([array, np.full(shape, np.nan, array.dtype)], axis)

    return Trajectory(
        run.model,
        t0 + dt * (record * np.arange(len(run.t) + missing)),
        longer(run.q),
        longer(run.v),
        longer(run.tau),
        f_ext=None if run.f_ext is None else longer(run.f_ext),
        extra={name: longer(x) for name, x in run.extra.items()},
        failed=run.failed,
        events=run.events,
        settings=run.settings,
        parameters=run.parameters,
        gravity=run.gravity,
    )


def _changed(parameters: Array, what: str, values: Array) -> Array:
    """The parameters (runs, 10) of one body with a new mass, centre of mass, or inertia about that centre.

    A new mass scales the inertia about the centre, like a change of density.
    """
    mass, first, second = parameters[:, :1], parameters[:, 1:4], parameters[:, 4:]
    center = np.divide(first, mass, out=np.zeros_like(first), where=mass != 0)
    about = second - _steiner(mass, center)
    if what == "mass":
        about = about * np.divide(values[:, None], mass, out=np.ones_like(mass), where=mass != 0)
        mass = values[:, None]
    elif what == "center":
        center = values
    else:
        about = values
    return np.concatenate([mass, mass * center, about + _steiner(mass, center)], axis=1)


def _steiner(mass: Array, c: Array) -> Array:
    """m (c^2 1 - c c^T) as xx, yy, zz, xy, xz, yz."""
    x, y, z = c.T
    return mass * np.stack([y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -x * z, -y * z], -1)


def _joined(halves: list[tuple[Rows, int]]) -> Rows:
    """Rows stacked; NaN where a part has none."""
    names = {name: x for rows, _ in halves for name, x in rows.items()}
    return {
        name: np.concatenate([
            rows[name] if name in rows else np.full((count, *like.shape[1:]), np.nan)
            for rows, count in halves
        ])
        for name, like in names.items()
    }  # fmt: skip


def processor() -> str:
    """The processor, as far as the bits of results depend on it."""
    machine = host()
    return f"{machine.cpu} ({platform.machine()}, {hashlib.sha256(machine.key.encode()).hexdigest()[:8]})"


def read(model: Any, over: Any) -> dict[str, Source]:
    """The varying inputs, each as a source; an array holds one value per run."""
    if not isinstance(over, Mapping) or not over:
        raise ArgumentError(
            "scale.map: over is a dict of what varies, as in {'q': kt.scale.uniform(-1, 1)}, not "
            f"{shown(over)}"
        )
    found = {}
    for name, value in over.items():
        if not isinstance(value, Source):
            array = np.asarray(value)
            if array.ndim == 0 or array.dtype.kind not in "fiub":
                raise ArgumentError(
                    f"scale.map: '{name}' is {shown(value)}: give a distribution, or an array (n, ...)"
                )
            value = Given(array)
        found[str(name)] = value
    return found


__all__ = ["FIELDS", "Part", "Work", "processor", "read"]
