"""The time of a call, as the minimum of many runs: other load affects the minimum least."""

from __future__ import annotations

import time
from collections.abc import Callable


def best(call: Callable[[], object], seconds: float = 0.15) -> float:
    """Seconds per call: the minimum over about `seconds` of repetitions, after one warm-up call."""
    call()
    repeat, least, end = 1, float("inf"), time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        for _ in range(repeat):
            call()
        spent = time.perf_counter() - start
        least = min(least, spent / repeat)
        if time.perf_counter() > end:
            return least
        if spent < 1e-3:  # too short for the clock: time more calls together
            repeat *= 4
