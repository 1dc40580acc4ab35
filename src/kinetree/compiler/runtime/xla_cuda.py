"""Kernels on NVIDIA GPUs for XLA: handlers of its foreign function interface that launch them."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kinetree.compiler.emit.llvm.xla_cuda import SYMBOLS, define_device_handler
from kinetree.compiler.emit.llvm.xla_cuda import Place as Word
from kinetree.compiler.emit.llvm.xla_parts import Api, Facts
from kinetree.compiler.runtime import cuda, native
from kinetree.compiler.runtime.machine import host

Shape = tuple[int, ...]


class Place(NamedTuple):
    """A kernel on one device: driver handles, device addresses, and the most blocks to launch."""

    context: int
    function: int
    large: int
    tables: int
    blocks: int
    tile: int
    threads: int
    shared: int


class DeviceHandler:
    """A function that XLA calls to launch a kernel on its stream, on any of several devices.

    Args:
        name: of the function that the kernel computes, for messages.
        inputs, outputs: the shapes of one state.
        symbols: addresses of the driver's functions; by default those of the installed driver.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Shape],
        outputs: Sequence[Shape],
        places: Sequence[Place],
        api: Api,
        symbols: Mapping[str, int] | None = None,
    ):
        self.library = native.copy(define_device_handler(api), host(), symbols or driver_functions())
        self.address = self.library.address("handler")
        texts = {
            Facts.MISFIT: f"{name}: the compiled program does not fit this kernel, or runs on another device",
            Facts.FAILED: f"{name}: the graphics driver cannot start the kernel",
        }
        self._texts = {word: ctypes.create_string_buffer(text.encode()) for word, text in texts.items()}
        cores = (*inputs, *outputs)
        self._places = np.array(places, np.uint64).reshape(len(places), Word.SIZE)
        self._facts = np.zeros(Facts.SPECS + 2 * len(cores), np.uint64)
        self._facts[Facts.INPUTS], self._facts[Facts.OUTPUTS] = len(inputs), len(outputs)
        self._facts[Facts.DEVICES], self._facts[Facts.PLACES] = len(places), self._places.ctypes.data
        for word, text in self._texts.items():
            self._facts[word] = ctypes.addressof(text)
        for k, core in enumerate(cores):
            at = Facts.SPECS + 2 * k
            self._facts[at], self._facts[at + 1] = len(core), int(np.prod(core, dtype=int))
        ctypes.c_void_p.from_address(self.library.variable("facts")).value = self._facts.ctypes.data


def driver_functions() -> dict[str, int]:
    """The addresses of the driver's functions that handlers call."""
    library = cuda.driver()
    return {name: ctypes.cast(library[name], ctypes.c_void_p).value or 0 for name in SYMBOLS}


__all__ = ["DeviceHandler", "Place", "driver_functions"]
