"""Loops in functions of your own: a body that runs a fixed number of times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from kinetree.ops import functions as fn
from kinetree.ops.expr import Expr

TRUSTED = 1e300  # a guard that nothing has lowered yet


def repeat(count: int, body: Callable[..., Any], *state: Any) -> Any:
    """The state after `body` has been applied `count` times: state = body(*state).

    The state is some arrays or numbers; the body returns as many, of the same shapes (a tuple if there are
    several). With floats it is a Python loop. In a trace it is recorded once, as a loop, so the length of the
    program does not grow with `count`.
    """
    graph = next((x.graph for part in state for x in np.asarray(part).flat if type(x) is Expr), None)
    if graph is None or count < 1:
        for _ in range(count):
            state = _parts(body(*state), len(state))
        return state if len(state) > 1 else state[0]
    kept = [Kept(graph, part) for part in state]
    with loop(graph, count):
        for place, part in zip(kept, _parts(body(*(k.load() for k in kept)), len(kept)), strict=True):
            place.store(part)
    found = tuple(k.load() for k in kept)
    return found if len(found) > 1 else found[0]


class Kept:
    """An array of numbers that is kept in memory while a loop of a trace changes it."""

    def __init__(self, graph: Any, value: Any):
        self.graph, self.shape = graph, np.shape(value)
        self.array = graph.array(f"kept_{len(graph.arrays)}", "work", int(np.prod(self.shape)))
        self.store(value)

    def store(self, value: Any) -> None:
        """Write all numbers; they are all read before, so a value may be made of the numbers kept here."""
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
def loop(graph: Any, count: int) -> Iterator[Expr]:
    """A loop of a trace; what its body guards is one guard after the loop. Yields the counter."""
    least = graph.array(f"least_{len(graph.arrays)}", "work", 1)
    graph.store(least, 0, TRUSTED)
    outer, graph.guards = graph.guards, []
    with graph.loop(count) as counter:
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
