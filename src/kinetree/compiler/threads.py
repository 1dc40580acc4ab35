"""How many threads share a batch, and the pool of them.

A batch is cut into blocks that threads take from a common counter, so a thread that is held up does not
hold up the others. What a state's result is does not depend on who computes it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

WORTH = 60e3  # nanoseconds of work that justify waking a thread
ALWAYS = 1 << 62  # more states than any batch has

_lock = threading.Lock()
_limit: int | None = None
_followers: weakref.WeakSet[Follower] = weakref.WeakSet()
_pool: ThreadPoolExecutor | None = None
_pool_owner = 0  # the process that made the pool: a forked child has the object but not the threads


def available() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def get_threads() -> int:
    """How many threads a large batch may use: all processors unless `set_threads` said otherwise."""
    return _limit if _limit is not None else available()


def set_threads(count: int | None) -> None:
    """Let large batches use at most `count` threads; None: one per processor."""
    global _limit
    if count is not None and (not isinstance(count, int) or count < 1):
        raise ValueError(f"threads must be a positive integer or None, not {count!r}")
    _limit = count
    for follower in list(_followers):
        follower.on_threads()


class Follower(Protocol):
    """Something that depends on the number of threads."""

    def on_threads(self) -> None: ...


def follow(follower: Follower) -> None:
    """Tell `follower`, as long as it lives, whenever the number of threads changes."""
    _followers.add(follower)


def longest_alone(nanoseconds: float, limit: int | None) -> int:
    """The longest batch that one thread should do alone, if a state takes so long."""
    return ALWAYS if (limit or get_threads()) == 1 else max(2, int(2 * WORTH / nanoseconds))


def run(work: Callable[[], int], count: int) -> list[int]:
    """Call `work` in `count` threads at once, this one included; what the calls returned."""
    if count <= 1:
        return [work()]
    pool = _shared_pool(count - 1)
    futures: list[Future[int]] = [pool.submit(work) for _ in range(count - 1)]
    try:
        results = [work()]
    finally:  # the arrays must outlive every thread
        others = [future.result() for future in futures]
    return results + others


def _shared_pool(workers: int) -> ThreadPoolExecutor:
    global _pool, _pool_owner
    with _lock:
        if _pool is None or _pool_owner != os.getpid() or _pool._max_workers < workers:
            _pool = ThreadPoolExecutor(max(workers, available() - 1, 1), thread_name_prefix="kinetree")
            _pool_owner = os.getpid()
        return _pool
