"""Machine code in this process, with the memory that it works in."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from kinetree.compiler.runtime.entry import Entry
from kinetree.compiler.runtime.native import Library

ALIGNMENT = 64
KEPT = 1 << 26  # bytes: larger workspaces are given back after a call
MOST = 1 << 29  # bytes of workspace for all threads of a call

_ONE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_RUN = ctypes.CFUNCTYPE(
    ctypes.c_int64, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64
)


class Loaded:
    """The function of one object file. Calls through it release the interpreter's lock."""

    def __init__(self, entry: Entry):
        self.description = entry.description
        self.code_bytes = len(entry.code)
        self.library = Library(entry.code)
        self.address = self.library.address(entry.description.variant)
        self._tables = (
            _aligned(np.frombuffer(entry.tables, np.uint8)) if entry.tables else np.empty(0, np.uint8)
        )
        self.tables = _data(self._tables) if entry.tables else 0
        self._function = (_RUN if entry.description.variant == "run" else _ONE)(self.address)
        self._workspaces: list[np.ndarray] = []

    @property
    def most_threads(self) -> int:
        return max(1, MOST // max(1, self.description.workspace_bytes))

    def workspace(self) -> np.ndarray:
        """Memory for one thread; hand it back with `keep`."""
        try:
            return self._workspaces.pop()
        except IndexError:
            return aligned_bytes(self.description.workspace_bytes)

    def keep(self, workspace: np.ndarray) -> None:
        if workspace.nbytes <= KEPT:
            self._workspaces.append(workspace)

    def call(self, addresses: list[int]) -> int:
        """Run one state; 0 if it is singular, else -1."""
        workspace = self.workspace()
        arguments = (ctypes.c_void_p * len(addresses))(*addresses)
        result = self._function(arguments, self.tables, _data(workspace))
        self.keep(workspace)
        return result

    def worker(
        self, addresses: list[int], strides: list[int], count: int, counter: ctypes.c_int64, block: int
    ) -> Callable[[], int]:
        """A function that runs blocks of states until `counter` is past all; threads may call it at once."""
        arguments = (ctypes.c_void_p * len(addresses))(*addresses)
        steps = (ctypes.c_int64 * len(strides))(*strides)

        def work() -> int:
            workspace = self.workspace()
            place = ctypes.byref(counter)
            result = self._function(arguments, steps, self.tables, count, _data(workspace), place, block)
            self.keep(workspace)
            return result

        return work


def aligned_bytes(size: int) -> np.ndarray:
    """Zeroed memory that starts at a multiple of `ALIGNMENT`."""
    raw = np.zeros(size + ALIGNMENT, np.uint8)
    start = -_data(raw) % ALIGNMENT
    return raw[start : start + max(size, 1)]


def _aligned(data: np.ndarray) -> np.ndarray:
    result = aligned_bytes(data.nbytes)
    result[: data.nbytes] = data
    return result


def _data(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]
