"""How long calls take: all contestants take turns in rounds, so that disturbances affect all alike.

Single-threaded work is timed by the thread's processor time, which excludes other programs on a shared
computer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np

ROUNDS = 9


class Timing(NamedTuple):
    """Nanoseconds: the median of all rounds, and half the interquartile range."""

    median: float
    spread: float

    def __truediv__(self, count: float) -> Timing:
        return Timing(self.median / count, self.spread / count)

    def minus(self, overhead: Timing) -> Timing:
        return Timing(max(self.median - overhead.median, 0.0), self.spread)


class Call(NamedTuple):
    """A call to be timed as a user would write it."""

    function: Callable
    arguments: Sequence[object] = ()
    keywords: Mapping[str, object] = {}

    def loop(self) -> Callable[[int], None]:
        """A function that makes the call this many times, with nothing else in the loop."""
        names = [f"a{k}" for k in range(len(self.arguments))]
        inside = ", ".join(names + [f"{name}=k_{name}" for name in self.keywords])
        text = f"def loop(turns):\n    for _ in repeat(None, turns):\n        f({inside})\n"
        scope = dict(zip(names, self.arguments)) | {f"k_{name}": x for name, x in self.keywords.items()}
        scope |= {"f": self.function, "repeat": repeat}
        parameters = ", ".join(f"{n}={n}" for n in scope)
        exec(text.replace("(turns)", f"(turns, {parameters})"), scope)
        return scope["loop"]  # type: ignore[return-value]


Clock = Callable[[], int]


def race(
    contestants: dict[str, Call], seconds: float = 0.4, clock: Clock = time.thread_time_ns
) -> dict[str, Timing]:
    """The time of one call of each contestant; each is repeated to fill about `seconds` in all."""
    loops = {name: call.loop() for name, call in contestants.items()}
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    turns = {}
    for name, loop in loops.items():
        loop(2)
        once = min(_clock(loop, 3, clock) for _ in range(3))
        turns[name] = max(1, int(seconds * 1e9 / ROUNDS / max(once, 20.0)))
    for _ in range(ROUNDS):
        for name, loop in loops.items():
            samples[name].append(_clock(loop, turns[name], clock))
    result = {}
    for name, values in samples.items():
        low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
        result[name] = Timing(float(middle), float(high - low) / 2)
    return result


def _clock(loop: Callable[[int], None], turns: int, clock: Clock) -> float:
    started = clock()
    loop(turns)
    return (clock() - started) / turns
