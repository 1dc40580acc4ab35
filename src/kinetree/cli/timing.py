"""How long a call takes, as the least of many runs: what else runs on the computer disturbs that least."""

from __future__ import annotations

import time
from collections.abc import Callable


def best(call: Callable[[], object], seconds: float = 0.15) -> float:
    """Seconds that one call takes; the least over about `seconds` of trying, after one call to warm up."""
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
        if spent < 1e-3:  # too short for the clock: measure more calls at once
            repeat *= 4
