"""How many threads share a batch, and the pool of them.

A batch is cut into blocks that threads take from a common counter, so a thread that is held up does not
hold up the others. What a state's result is does not depend on who computes it.
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
_inbox: SimpleQueue[_Job] = SimpleQueue()
_owner = 0  # the process whose threads wait at the inbox
_started = 0


def available() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def thread_limit() -> int:
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
    return ALWAYS if (limit or thread_limit()) == 1 else max(2, int(2 * WORTH / nanoseconds))


class _Job:
    """Work that several threads may do at once; who comes after its end does nothing."""

    def __init__(self, work: Callable[[], int]):
        self.work = work
        self.results: SimpleQueue[int | BaseException] = SimpleQueue()
        self._lock = threading.Lock()
        self._open = True
        self._helpers = 0

    def help(self) -> None:
        with self._lock:
            if not self._open:
                return
            self._helpers += 1
        try:
            self.results.put(self.work())
        except BaseException as error:
            self.results.put(error)

    def close(self) -> list[int]:
        """Wait for those who help; what they found."""
        with self._lock:
            self._open = False
        found = [self.results.get() for _ in range(self._helpers)]
        for result in found:
            if isinstance(result, BaseException):
                raise result
        return [result for result in found if isinstance(result, int)]


def run(work: Callable[[], int], count: int) -> list[int]:
    """Call `work` in up to `count` threads at once, this one included; what the calls returned.

    A thread that has not begun when this one is done is not waited for: there is nothing left to do.
    """
    if count <= 1:
        return [work()]
    job = _Job(work)
    inbox = _helpers(count - 1)
    for _ in range(count - 1):
        inbox.put(job)
    try:
        results = [work()]
    finally:  # the arrays must outlive every thread
        others = job.close()
    return results + others


def _helpers(count: int) -> SimpleQueue[_Job]:
    """Where at least `count` threads wait for jobs."""
    global _inbox, _owner, _started
    with _lock:
        if _owner != os.getpid():  # a forked child has the queue but not the threads
            _inbox, _owner, _started = SimpleQueue(), os.getpid(), 0
        while _started < count:
            _started += 1
            threading.Thread(target=_serve, args=(_inbox,), name=f"kinetree-{_started}", daemon=True).start()
        return _inbox


def _serve(inbox: SimpleQueue[_Job]) -> None:
    while True:
        inbox.get().help()
