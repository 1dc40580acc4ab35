"""Machine code in this process, with its workspace."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kinetree.compiler.runtime import threads as pool
from kinetree.compiler.runtime.native import Library

ALIGNMENT = 64
KEPT = 1 << 26  # bytes: larger workspaces are freed after a call
MOST = 1 << 29  # bytes of workspace for all threads of a call
CLOSED = 1 << 62  # the next state of a batch that has not begun: no batch is that long

_ONE = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3)
_RUN = ctypes.CFUNCTYPE(
    ctypes.c_int64, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64
)


@dataclass(frozen=True)
class Variant:
    """The facts about a program's code for one state ("one") or for a batch ("run")."""

    name: str  # also of the function to call
    lanes: int
    workspace_bytes: int  # per thread; zeroed before first use, since results take their zeros from it
    nanoseconds: float  # estimated time per state; used only to decide on threads


class Loaded:
    """One variant of a program with its tables. Calls through it release the GIL."""

    def __init__(self, library: Library, variant: Variant, tables: bytes):
        self.library = library
        self.variant = variant
        self.address = library.address(variant.name)
        self._tables = _aligned(np.frombuffer(tables, np.uint8))
        self.tables = _data(self._tables)
        if variant.name == "one":
            self._one = _ONE(self.address)
        else:
            self._run, self._help = _RUN(self.address), _RUN(library.address("help"))
        self._workspaces: list[np.ndarray] = []

    @property
    def most_threads(self) -> int:
        return max(1, MOST // max(1, self.variant.workspace_bytes))

    def workspace(self) -> np.ndarray:
        """Memory for one thread; return it with `keep`."""
        try:
            return self._workspaces.pop()
        except IndexError:
            return aligned_bytes(self.variant.workspace_bytes)

    def keep(self, workspace: np.ndarray) -> None:
        if workspace.nbytes <= KEPT:
            self._workspaces.append(workspace)

    def one(self, addresses: list[int]) -> int:
        """Run one state; 0 if it is singular, else -1."""
        workspace = self.workspace()
        result = self._one((ctypes.c_void_p * len(addresses))(*addresses), self.tables, _data(workspace))
        self.keep(workspace)
        return result

    def run(self, addresses: list[int], strides: list[int], count: int, threads: int, block: int) -> int:
        """Run equally spaced states in at most this many threads; returns the first singular one, or -1.

        This thread's machine code opens the batch to the others, and returns when all states are done and no
        thread is working on one. So an interrupt (Ctrl-C) leaves no thread behind that writes to the arrays.
        """
        arguments = (ctypes.c_void_p * len(addresses))(*addresses)
        steps = (ctypes.c_int64 * len(strides))(*strides)
        progress = (ctypes.c_int64 * 3)(CLOSED)  # next state, number done, first singular one

        def work(function: Callable[..., int]) -> int:
            workspace = self.workspace()
            result = function(arguments, steps, self.tables, count, _data(workspace), progress, block)
            self.keep(workspace)
            return result

        if threads > 1:
            pool.offer(lambda: work(self._help), threads - 1)
        return work(self._run)


def aligned_bytes(size: int) -> np.ndarray:
    """Zeroed memory, aligned to `ALIGNMENT`."""
    raw = np.zeros(size + ALIGNMENT, np.uint8)
    start = -_data(raw) % ALIGNMENT
    return raw[start : start + max(size, 1)]


def _aligned(data: np.ndarray) -> np.ndarray:
    result = aligned_bytes(data.nbytes)
    result[: data.nbytes] = data
    return result


def _data(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]
