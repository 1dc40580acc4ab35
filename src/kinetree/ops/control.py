"""Loops in functions of your own: a body that runs a fixed number of times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from kinetree.ops import functions as fn
from kinetree.ops.expr import Expr

TRUSTED = 1e300  # the initial value of a guard


def repeat(
    count: int, body: Callable[..., Any], *state: Any, until: Callable[..., Any] | None = None
) -> Any:
    """The state after `body` has been applied `count` times: state = body(*state).

    The state is one or several arrays or numbers; the body returns as many, of the same shapes (a tuple if
    there are several). With floats it is a Python loop. In a trace the body is recorded once, as a loop, so
    the length of the program does not grow with `count`.

    `until(*state)`, if given, returns a truth (`ops.less` and the like). A state for which it holds no longer
    changes, however long other states of the batch take. The loop ends once it holds for all states that run
    side by side.
    """
    graph = next((x.graph for part in state for x in np.asarray(part).flat if type(x) is Expr), None)
    return repeated(graph, count, body, state, until)


def repeated(
    graph: Any, count: int, body: Callable[..., Any], state: tuple, until: Callable[..., Any] | None
) -> Any:
    """`repeat`, recorded in `graph`; if that is None, run as long as its end is known."""
    if graph is None or count < 1:
        for turn in range(count):
            done = until is not None and until(*state)
            if type(done) is Expr:
                return repeated(done.graph, count - turn, body, state, until)
            if np.all(done):
                break
            new = _parts(body(*state), len(state))
            state = tuple(_chosen(done, *both) for both in zip(state, new)) if np.any(done) else new
        return state if len(state) > 1 else state[0]
    kept = [Kept(graph, part) for part in state]
    over = None if until is None else Kept(graph, _flag(until(*state)))
    with loop(graph, count, over):
        now = [k.load() for k in kept]
        done = None if over is None else fn.less_equal(1.0, over.load())
        new = _parts(body(*now), len(kept))
        if over is not None and until is not None:
            new = tuple(_chosen(done, *both) for both in zip(now, new))
            graph.guards = [fn.where(done, TRUSTED, _least(graph.guards))] if graph.guards else []
        for place, part in zip(kept, new, strict=True):
            place.store(part)
        if over is not None and until is not None:
            over.store(_flag(until(*new)))
    found = tuple(k.load() for k in kept)
    return found if len(found) > 1 else found[0]


def _least(guards: list[Any]) -> Any:
    """The smallest guard, reduced in pairs: a long chain of comparisons would be slow."""
    while len(guards) > 1:
        pairs = zip(guards[::2], guards[1::2])
        guards = [*(fn.min(a, b) for a, b in pairs), *guards[len(guards) & ~1 :]]
    return guards[0]


def _flag(truth: Any) -> Any:
    return fn.where(truth, 1.0, 0.0)


def _chosen(done: Any, old: Any, new: Any) -> Any:
    """The old numbers where `done`, else the new ones. A number of a sweep may be a batch."""
    if isinstance(new, np.ndarray) and (new.dtype == object or np.ndim(done) == 0):
        old = np.broadcast_to(np.asarray(old, object), new.shape)
        return np.array([fn.where(done, a, b) for a, b in zip(old.flat, new.flat)]).reshape(new.shape)
    if isinstance(new, (list, tuple)):
        return [_chosen(done, a, b) for a, b in zip(old, new, strict=True)]
    return fn.where(done, old, new)


def trust(*parts: Any) -> Any:
    """The smallest guard that the trace of these numbers has recorded so far.

    Below 1, something in the trace cannot be trusted. These guards are then a result and raise no error any
    more. With floats, which raise their own errors, it is a large number.
    """
    graph = next((x.graph for part in parts for x in np.asarray(part).flat if type(x) is Expr), None)
    least: Any = TRUSTED
    if graph is not None:
        for guard in graph.guards:
            least = fn.min(least, guard)
        graph.guards = []
    return least


class Kept:
    """An array of numbers that is kept in memory while a loop of a trace changes it."""

    def __init__(self, graph: Any, value: Any):
        self.graph, self.shape = graph, np.shape(value)
        self.array = graph.array(f"kept_{len(graph.arrays)}", "work", int(np.prod(self.shape)))
        self.store(value)

    def store(self, value: Any) -> None:
        """Write all numbers. All are read first, so the value may be computed from the numbers kept here."""
        if np.shape(value) != self.shape:
            raise ValueError(f"a loop changed the shape of its state from {self.shape} to {np.shape(value)}")
        for k, x in enumerate(np.asarray(value, object).flat):
            self.graph.store(self.array, k, x if type(x) is Expr else float(x))

    def load(self) -> Any:
        """The numbers as they are now."""
        loads = np.empty(self.array.size, object)
        loads[:] = [self.graph.load(self.array, k) for k in range(self.array.size)]
        return loads.reshape(self.shape) if self.shape else loads[0]


@contextmanager
def loop(graph: Any, count: int, until: Kept | None = None) -> Iterator[Expr]:
    """A loop of a trace; yields the counter. The guards of its body become one guard after the loop."""
    least = graph.array(f"least_{len(graph.arrays)}", "work", 1)
    graph.store(least, 0, TRUSTED)
    outer, graph.guards = graph.guards, []
    with graph.loop(count, until=None if until is None else until.array) as counter:
        yield counter
        found = graph.guards
        if found:
            smallest = graph.load(least, 0)
            for guard in found:
                smallest = fn.min(smallest, guard)
            graph.store(least, 0, smallest)
    graph.guards = outer
    if found:
        graph.guards.append(graph.load(least, 0))


def _parts(value: Any, count: int) -> tuple:
    return tuple(value) if count > 1 else (value,)
