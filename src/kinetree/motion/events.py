"""Events: zeros of functions of time and state, located during a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from kinetree.errors import ArgumentError, SimulationError
from kinetree.model import Model
from kinetree.model.validate import shown
from kinetree.motion.rollout import NEXT
from kinetree.motion.run import Run, alone
from kinetree.motion.trajectory import Event
from kinetree.stages.function import Function

Array = np.ndarray


class Hit(NamedTuple):
    """A sign change of an event function within one step of one state."""

    number: int
    state: tuple[int, ...]
    row: int  # the step within the piece
    before: float  # the value at the beginning of the step
    q: Array  # the state at the beginning of the piece
    v: Array


class Events:
    """The event functions of a run."""

    def __init__(self, functions: Any, model: Model):
        self.model = model
        several = isinstance(functions, Iterable) and not callable(functions)
        self.functions = tuple(functions) if several else (functions,)
        for number, function in enumerate(self.functions):
            if not callable(function):
                raise ArgumentError(f"simulate: an event must be a function g(t, q, v), not {function!r}")
            if isinstance(function, Function):
                _check(f"simulate: events[{number}] is the function {function.name}, which", function)

    def __bool__(self) -> bool:
        return bool(self.functions)

    def is_terminal(self, number: int) -> bool:
        return bool(getattr(self.functions[number], "terminal", False))

    def value(self, number: int, t: Any, q: Array, v: Array) -> Any:
        """An event function of one state, or of many with the batch axes of q and v."""
        function = self.functions[number]
        if isinstance(function, Function):
            seen = {"t": t, "q": q, "v": v}
            taken = {a.name: seen[a.name] for a in function.own_inputs if a.name in seen}
            return self._called(number, self.model, **taken)
        if q.ndim == 1:
            return self._number(number, float(t), q, v)
        times = np.broadcast_to(t, q.shape[:-1])
        found = np.full(q.shape[:-1], np.nan)
        for k in np.ndindex(found.shape):
            if np.isfinite(q[k]).all():  # stopped states are skipped
                found[k] = self._number(number, float(times[k]), q[k], v[k])
        return found

    def _called(self, number: int, *args: Any, **named: Any) -> Any:
        """What an event function returns."""
        try:
            return self.functions[number](*args, **named)
        except Exception as error:
            raise SimulationError(
                f"simulate: an event function raised {type(error).__name__}: {error} (events[{number}], "
                f"{_name(self.functions[number])})"
            ) from error

    def _number(self, number: int, t: float, q: Array, v: Array) -> float:
        """The value of a Python function of one state."""
        value = self._called(number, t, q, v)
        try:
            return float(np.asarray(value).item() if np.ndim(value) else value)
        except (TypeError, ValueError):
            raise SimulationError(
                f"simulate: events[{number}] ({_name(self.functions[number])}) gave {shown(value)} at t = "
                f"{t:g} s, not one number"
            ) from None

    def between(self, times: Array, q: Array, v: Array, Q: Array, V: Array, alive: Array) -> list[Hit]:
        """The sign changes between a state and its successors, step by step and state by state."""
        all_q = np.concatenate([np.broadcast_to(q, Q.shape[:-2] + q.shape[-1:])[..., None, :], Q], -2)
        all_v = np.concatenate([np.broadcast_to(v, V.shape[:-2] + v.shape[-1:])[..., None, :], V], -2)
        hits = []
        for number in range(len(self.functions)):
            g = np.broadcast_to(self.value(number, times, all_q, all_v), all_q.shape[:-1])
            direction = float(getattr(self.functions[number], "direction", 0))
            changed = crossing(g[..., :-1], g[..., 1:], direction) & alive[..., None]
            for place in map(tuple, np.argwhere(changed)):
                *index, row = (int(k) for k in place)
                start = all_q[(*index, 0)], all_v[(*index, 0)]
                hits.append(Hit(number, tuple(index), row, float(g[place]), *start))
        return sorted(hits, key=_step)

    def happened(
        self, hits: list[Hit], run: Run, memory: dict[str, Array], start: int
    ) -> Iterator[tuple[int, Event]]:
        """The events of a piece with their rows: within a step in the order of time, and for each state
        up to its first terminal one."""
        ended = set()
        for (row, state), together in groupby(hits, _step):
            if state in ended:
                continue
            found = [self.located(hit, run, memory, start) for hit in together]
            for event in sorted(found, key=lambda event: event.time):
                yield row, event
                if event.terminal:
                    ended.add(state)
                    break

    def located(self, hit: Hit, run: Run, memory: dict[str, Array], start: int) -> Event:
        """The event itself: the zero within the step is located by steps of other lengths."""
        single, memory = alone(run, hit.state, memory)
        q, v = hit.q, hit.v
        for k in range(start, start + hit.row):
            found = single.advance(q, v, memory, k, 1, 1)
            q, v = found["q"][0], found["v"][0]
            memory = {name: found[name + NEXT] for name in memory}
        k, whole = start + hit.row, run.dt
        t = run.t0 + whole * k

        def after(fraction: float) -> tuple[Array, Array]:
            single.dt = whole * fraction
            found = single.advance(q, v, memory, k, 1, 1, t)
            return found["q"][0], found["v"][0]

        fraction = zero(lambda s: self.value(hit.number, t + s * whole, *after(s)), hit.before)
        at = after(fraction)
        return Event(hit.number, hit.state, float(t + fraction * whole), *at, self.is_terminal(hit.number))


def _check(said: str, function: Function) -> None:
    """Refuse a function of a model that is not a number for each time and state."""
    cores = [f"({', '.join(map(str, a.shape))})" if a.shape else "" for a in function.outputs]
    gives = ", ".join(a.name + core for a, core in zip(function.outputs, cores, strict=True))
    if len(function.outputs) != 1 or function.outputs[0].shape:
        raise ArgumentError(f"{said} gives {gives}: an event gives one number, as in 't, q, v -> g'")
    others = [a.name for a in function.own_inputs if a.name not in ("t", "q", "v") and not a.optional]
    if others:
        raise ArgumentError(
            f"{said} takes {', '.join(others)}: an event takes t, q and v. Give the rest in a Python "
            f"function: lambda t, q, v: {function.name}(model, ...)"
        )


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _step(hit: Hit) -> tuple[int, tuple[int, ...]]:
    """The step and the state of a hit."""
    return hit.row, hit.state


def crossing(before: Any, after: Any, direction: float) -> Any:
    """Whether a function changes sign in the wanted direction."""
    rising, falling = (before < 0) & (after >= 0), (before > 0) & (after <= 0)
    return rising if direction > 0 else falling if direction < 0 else rising | falling


def zero(function: Callable[[float], float], before: float) -> float:
    """Where in [0, 1] a function changes sign, by false position (Illinois); `before` is its value at 0."""
    a, fa, b, fb = 0.0, before, 1.0, function(1.0)
    for _ in range(100):
        if fb == 0.0 or b - a < 4e-16:
            break
        c = (a * fb - b * fa) / (fb - fa)
        if not a < c < b:
            c = (a + b) / 2
        fc = function(c)
        if abs(fc) <= 1e-15 * max(abs(before), abs(fb)):
            return c
        if (fc > 0) == (fb > 0):
            b, fb, fa = c, fc, fa / 2
        else:
            a, fa, fb = c, fc, fb / 2
    return b
