"""Device time by the device's own clock, without the overhead of calls from Python."""

from __future__ import annotations

import ctypes
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kinetree.compiler.runtime import cuda, cuda_kernels

ROUNDS, TURNS = 7, 10
ONE_THREAD = 1  # capture mode, in the driver's numbering
Work = Callable[[int], Any]  # starts something on a stream


class Clock:
    """Times work on its own stream: captured as a graph, which the device then replays."""

    def __init__(self, where: cuda.Device):
        self.device, self._own = where, cuda_kernels.Stream(where)
        self.stream = self._own.handle
        self._handle = ctypes.c_void_p(self.stream)
        self._events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in self._events:
            self._call("cuEventCreate", ctypes.byref(event), 0)

    def _call(self, name: str, *arguments: Any) -> None:
        with self.device.current():
            cuda.check(getattr(cuda.driver(), name)(*arguments), name)

    def seconds(self, work: Work, turns: int = TURNS) -> float:
        """The time of one repetition: the median of several rounds."""
        work(self.stream)  # includes all one-time work
        cuda_kernels.wait(self.device, self.stream)
        with self._recorded(work, turns) as graph:
            return self._median(lambda: self._call("cuGraphLaunch", graph, self._handle)) / turns

    def seconds_of_copies(self, copy: Work) -> float:
        """The same for one copy; in a graph the device would copy in another, slower way."""
        return self._median(lambda: copy(self.stream))

    def _median(self, start: Callable[[], Any]) -> float:
        return statistics.median([self._round(start) for _ in range(ROUNDS + 1)][1:])

    @contextmanager
    def _recorded(self, work: Work, turns: int) -> Iterator[ctypes.c_void_p]:
        """Several repetitions as a graph."""
        graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuStreamBeginCapture_v2", self._handle, ONE_THREAD)
        try:
            for _ in range(turns):
                work(self.stream)
        finally:
            self._call("cuStreamEndCapture", self._handle, ctypes.byref(graph))
        self._call("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph, ctypes.c_uint64(0))
        try:
            yield ready
        finally:
            self._call("cuGraphExecDestroy", ready)
            self._call("cuGraphDestroy", graph)

    def _round(self, start: Callable[[], Any]) -> float:
        self._call("cuEventRecord", self._events[0], self._handle)
        start()
        self._call("cuEventRecord", self._events[1], self._handle)
        self._call("cuEventSynchronize", self._events[1])
        elapsed = ctypes.c_float()
        self._call("cuEventElapsedTime", ctypes.byref(elapsed), *self._events)
        return elapsed.value / 1e3
