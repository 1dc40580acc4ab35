"""The number of threads for a batch, and the thread pool.

A batch is divided into blocks that threads take from a common counter, so a delayed thread does not delay the
others. The result of a state does not depend on the thread that computes it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Protocol

WORTH = 60e3  # nanoseconds of work that justify waking a thread
ALWAYS = 1 << 62  # more states than any batch has

_lock = threading.Lock()
_limit: int | None = None
_followers: weakref.WeakSet[Follower] = weakref.WeakSet()
_inbox: SimpleQueue[Callable[[], object]] = SimpleQueue()
_pool: list[threading.Thread] = []  # threads that wait at the inbox


def available() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def thread_limit() -> int:
    """How many threads a large batch may use: all processors unless set by `set_threads`."""
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
    """Notify `follower`, as long as it lives, when the number of threads changes."""
    _followers.add(follower)


def longest_alone(nanoseconds: float, limit: int | None) -> int:
    """The longest batch that one thread should do alone, given the time per state."""
    return ALWAYS if (limit or thread_limit()) == 1 else max(2, int(2 * WORTH / nanoseconds))


def offer(work: Callable[[], object], helpers: int) -> None:
    """Let up to `helpers` other threads call `work` too, now or when they are free."""
    with _lock:
        for number in range(len(_pool), helpers):
            thread = threading.Thread(target=_serve, args=(_inbox,), name=f"kinetree-{number}", daemon=True)
            thread.start()
            _pool.append(thread)
        inbox = _inbox
    for _ in range(helpers):
        inbox.put(work)


def _serve(inbox: SimpleQueue[Callable[[], object]]) -> None:
    while True:
        try:
            inbox.get()()
        except MemoryError:  # no memory for another workspace: the others do all the work
            continue


def _start_again() -> None:
    """A forked child has the queue and the lock of its parent, but not the threads."""
    global _lock, _inbox, _pool
    _lock, _inbox, _pool = threading.Lock(), SimpleQueue(), []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_again)
