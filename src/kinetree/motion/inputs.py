"""The inputs of `simulate`, checked once: states, and what acts on them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinetree.compiler.runtime.on_device import is_on_device
from kinetree.errors import ArgumentError, ShapeError
from kinetree.model import Model
from kinetree.motion.contact import refuse_wrong
from kinetree.motion.rollout import ACTIONS, CONTACT, RESTART, SERIES, STATE, given_name
from kinetree.motion.steps import step
from kinetree.stages.function import Function

Array = np.ndarray
Callback = Callable[[float, Array, Array], Any]


@dataclass
class Acting:
    """Everything that acts during a run, sorted by how it is given."""

    constant: dict[str, Array] = field(default_factory=dict)  # one value (..., core) for the whole run
    series: dict[str, Array] = field(default_factory=dict)  # (..., steps, core), one value per step
    functions: list[Function] = field(default_factory=list)  # compiled into the loop
    callbacks: dict[str, Callback] = field(default_factory=dict)  # called from Python at every step

    def batches(self, model: Model) -> list[tuple[int, ...]]:
        """The batch axes of all arrays."""
        found = [a.shape[: a.ndim - self._core(model, n)] for n, a in self.constant.items()]
        return found + [a.shape[: a.ndim - self._core(model, n) - 1] for n, a in self.series.items()]

    def batch(self, model: Model, state: tuple[Array, Array] | None) -> tuple[int, ...]:
        """The batch axes of the states and all arrays."""
        starts = [tuple(x.shape[:-1]) for x in state or ()]
        try:
            return np.broadcast_shapes(*starts, *self.batches(model))
        except ValueError:
            raise ArgumentError(
                "simulate: the batch axes of the states and of what acts on them do not broadcast"
            ) from None

    @property
    def restarts(self) -> bool:
        """True if a control can restart states."""
        return any(a.name == RESTART[0] for function in self.functions for a in function.outputs)

    @property
    def drives(self) -> bool:
        """True if a control gives tau or there is a servo."""
        given = {a.name for function in self.functions for a in function.outputs}
        given |= {*self.constant, *self.series, *self.callbacks}
        return not given.isdisjoint(("tau", "kp", "kd"))

    def _core(self, model: Model, name: str) -> int:
        if name in CORES:
            return CORES[name]
        number, _, own = name.removeprefix("control").partition("_")
        return len(next(a for a in self.functions[int(number)].own_inputs if a.name == own).shape)


TIMED = ("tau", "f_ext", "setpoint")  # what may change from step to step
CORES = {a.name: len(a.shape) for a in step.inputs if a.name in (*ACTIONS, *CONTACT)} | {
    "parameters": 2, "gravity": 1, "momentum": 1, "dt": 0, "t": 0,
}  # fmt: skip


def read(
    model: Model,
    steps: int,
    given: dict[str, Any],
    state: tuple[Array, Array] | None = None,
    limits: bool = True,
) -> Acting:
    """Sort the inputs: numbers, functions of a model, Python functions. `given` is by name; None means
    absent.

    `state` (q, v) is where controllers with memory start; `limits` says whether effort limits act.
    """
    acting = Acting()
    for name, values in sorted(given.items(), key=lambda item: item[0] == "setpoint"):  # that one last
        for value in _several(values):
            if hasattr(value, "in_loop"):
                value = value.in_loop(model, *state, limits=limits) if state else value
            function = value.func if isinstance(value, functools.partial) else value
            if isinstance(function, Function):
                keywords = value.keywords if isinstance(value, functools.partial) else {}
                _add_function(acting, model, name, function, keywords)
                continue
            if name in acting.callbacks or name in acting.constant or name in acting.series:
                said = "control" if name == "tau" else name
                raise ArgumentError(
                    f"simulate: of several parts of {said}, one may be an array or a Python function; the "
                    "others must be functions of a model or controllers"
                )
            if not callable(value):
                batch = acting.batch(model, state) if name == "setpoint" else ()
                _add_numbers(acting, model, steps, name, value, batch)
            elif name in ("tau", "f_ext"):
                acting.callbacks[name] = value
            else:
                raise ArgumentError(f"simulate: {name} cannot be a Python function; control and f_ext can")
    return acting


def _several(value: Any) -> list[Any]:
    """The parts of an input: a list if some of it are functions, else one value; none for None."""
    if isinstance(value, (list, tuple)) and any(callable(part) for part in value):
        return list(value)
    return [] if value is None else [value]


def _add_function(acting: Acting, model: Model, name: str, function: Function, keywords: dict) -> None:
    """Add a function of a model that runs inside the loop, with its inputs besides t, q and v."""
    number = len(acting.functions)
    gives = [a.name for a in function.outputs]
    said = "control" if name == "tau" else name
    remembered = {a.name for a in function.own_inputs} & set(gives)
    starts = {a.name: a.sizes(model) for a in function.outputs if a.name in RESTART}
    if starts and starts != dict(zip(RESTART, ((), (model.nq,), (model.nv,)), strict=True)):
        raise ArgumentError(
            f"simulate: {said} is the function {function.name}, which gives {', '.join(starts)}: a state "
            "starts again with all of over, q_start(nq) and v_start(nv)"
        )
    if not set(gives) & {*ACTIONS, *RESTART} and not remembered:
        raise ArgumentError(
            f"simulate: {said} is the function {function.name}, which gives {', '.join(gives)}: one of its "
            f"results must be {', '.join(ACTIONS)}, or have the name of an input, for the next step"
        )
    acting.functions.append(function)
    for argument in function.own_inputs:
        if argument.name in STATE:
            continue
        value = keywords.get(argument.name)
        if value is None:
            if argument.optional:
                continue
            raise ArgumentError(
                f"simulate: {said} is the function {function.name}, which also takes {argument.name!r}: give "
                f"it as functools.partial({function.name}, {argument.name}=...)"
            )
        core = argument.sizes(model)
        array = _finite(argument.name, value)
        if array.shape[array.ndim - len(core) :] != core or array.ndim < len(core):
            raise ShapeError(
                f"simulate: {argument.name} of {function.name} has shape {array.shape}, but (..., "
                f"{', '.join(map(str, core))}) is needed"
            )
        acting.constant[given_name(number, argument.name)] = array
    unknown = set(keywords) - {a.name for a in function.own_inputs}
    if unknown:
        raise ArgumentError(f"simulate: {function.name} has no input {', '.join(sorted(unknown))}")


def _add_numbers(
    acting: Acting, model: Model, steps: int, name: str, value: Any, batch: tuple[int, ...]
) -> None:
    """Add an array: constant, or with an axis of steps before the core axes."""
    said = "control" if name == "tau" else name
    core = next((a.sizes(model) for a in step.inputs if a.name == name), (6,))
    array = _finite(said, value)
    if name in CONTACT and not is_on_device(array):
        for extreme in (array.min(initial=1.0), array.max(initial=1.0)):
            refuse_wrong(name, extreme, "simulate: ")
    fits = array.ndim >= len(core) and array.shape[array.ndim - len(core) :] == core
    in_time = name in TIMED and array.ndim > len(core) and array.shape[-len(core) - 1] == steps
    held = name not in TIMED or array.ndim == len(core)
    if fits and name == "setpoint":
        _add_goals(acting, steps, array, batch)
    elif fits and in_time:
        acting.series[name] = array
    elif fits and held:
        acting.constant[name] = array
    else:
        sizes = ", ".join(map(str, core))
        timed = f" or (..., {steps}, {sizes}), a row for each step," if name in TIMED else ""
        raise ShapeError(f"simulate: {said} has shape {array.shape}, but ({sizes}){timed} is needed")


def _add_goals(acting: Acting, steps: int, array: Array, batch: tuple[int, ...]) -> None:
    """Add a setpoint: a goal for each state (..., nq), or for each step, or for all of them (..., 1, nq).

    `batch` is that of the states and of all other inputs.
    """
    *states, rows = array.shape[:-1] or (0,)
    for_states, for_steps = _fits(array.shape[:-1], batch), _fits(tuple(states), batch)
    if rows == steps and for_states and for_steps and not _is_one_row(array):
        n = array.shape[-1]
        raise ArgumentError(
            f"simulate: setpoint has shape {array.shape}: for {batch} states and {steps} steps it may be a "
            f"goal for each state or one for each step. Give the shape {(*batch, 1, n)} for a goal for each "
            f"state, or {(*(1 for _ in batch), steps, n)} for a goal for each step"
        )
    if rows == steps and (for_steps or not for_states):
        acting.series["setpoint"] = array
    elif rows == 1 and for_steps and not for_states:
        acting.constant["setpoint"] = array[..., 0, :]
    else:
        acting.constant["setpoint"] = array


def _fits(shape: tuple[int, ...], batch: tuple[int, ...]) -> bool:
    """True if an array with these axes broadcasts to a batch, which stays as it is."""
    try:
        return np.broadcast_shapes(shape, batch) == tuple(batch)
    except ValueError:
        return False


def _is_one_row(array: Array) -> bool:
    """True if all rows of an array on the host are equal."""
    return not is_on_device(array) and bool((array == array[(0,) * (array.ndim - 1)]).all())


def _finite(name: str, value: Any) -> Array:
    if is_on_device(value):
        return value  # not checked here: a value that is not finite makes its state NaN
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"simulate: {name} is a {type(value).__name__}: give numbers, a function of a model, or "
            "any f(t, q, v)"
        ) from None
    if not np.all(np.isfinite(array)):
        place = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise ShapeError(f"simulate: {name} is {array[place]} at {place}: all numbers must be finite")
    return array


def read_state(model: Model, q0: Any, v0: Any) -> tuple[Array, Array]:
    """The initial states as arrays, float32 if both are."""
    q0, v0 = np.asarray(q0), np.asarray(v0)
    kind = np.float32 if q0.dtype == v0.dtype == np.float32 else np.float64
    for name, array, width in (("q0", q0, model.nq), ("v0", v0, model.nv)):
        if array.dtype.kind not in "fiu":
            raise ShapeError(
                f"simulate: {name} holds {array.dtype} values, but real numbers are needed: give an array of "
                "floats or integers"
            )
        if array.ndim < 1 or array.shape[-1] != width:
            velocities = name == "v0"
            raise ShapeError(
                f"simulate: {name} has shape {array.shape} but model {model.name!r} needs (..., {width}): "
                f"{model.describe_coordinates(velocities)}."
            )
        if not np.all(np.isfinite(array)):
            raise ShapeError(f"simulate: {name} holds NaN or infinity: all numbers must be finite")
    return q0.astype(kind), v0.astype(kind)


def whole_steps(duration: Any, dt: Any, record: Any) -> tuple[int, float]:
    """The number of steps of a run, and the length of a step."""
    for name, value in (("duration", duration), ("dt", dt)):
        if not isinstance(value, (int, float, np.floating, np.integer)) or not 0 < value < np.inf:
            raise ArgumentError(f"simulate: {name} must be a positive number of seconds, got {value!r}")
    if isinstance(record, bool) or not isinstance(record, (int, np.integer)) or record < 1:
        raise ArgumentError(f"simulate: record must be a positive whole number of steps, got {record!r}")
    steps = round(duration / dt)
    if steps < 1 or abs(steps * dt - duration) > 1e-6 * dt * max(1, steps) ** 0.5 + 1e-9 * duration:
        raise ArgumentError(f"simulate: duration {duration} s is not a whole number of steps of dt = {dt} s")
    if steps % record:
        raise ArgumentError(
            f"simulate: {steps} steps cannot be recorded every {record}: record must divide their number"
        )
    return steps, float(dt)


__all__ = ["SERIES", "Acting", "read", "read_state", "whole_steps"]
