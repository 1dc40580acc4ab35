"""Kernels for XLA: handlers of its foreign function interface that run machine code without Python."""

from __future__ import annotations

import ctypes
import hashlib
import re
from typing import Any

import numpy as np

from kinetree.compiler.emit.llvm.xla import Api, Facts, define_handler
from kinetree.compiler.runtime import native
from kinetree.compiler.runtime import threads as pool
from kinetree.compiler.runtime.kernel import BLOCK, Kernel
from kinetree.compiler.runtime.machine import host
from kinetree.errors import CompileError

TABLE = 48  # bytes in XLA's table before its first function


class Handler:
    """A function that XLA calls to run a kernel: for one state, or for a batch.

    XLA never forgets a handler, so handlers are kept for the life of the process.
    """

    def __init__(self, kernel: Kernel, single: bool, api: Api):
        self.kernel, self.single = kernel, single
        self.loaded = kernel.single if single else kernel.batch
        self.library = native.copy(define_handler(api), host(), _memory_functions())
        self.address = self.library.address("handler")
        refused = (
            f"{kernel.name}: a state was refused: its mass matrix is singular, or a quaternion is far from "
            "unit length. The same call outside of JAX names the state and the joint"
        )
        texts = {
            Facts.REFUSED: refused,
            Facts.MISFIT: f"{kernel.name}: the compiled program does not fit this kernel",
            Facts.MEMORY: f"{kernel.name}: out of memory",
        }
        self._texts = {word: ctypes.create_string_buffer(text.encode()) for word, text in texts.items()}
        cores = (*kernel.inputs, *kernel.outputs)
        self._facts = np.zeros(Facts.SPECS + 2 * len(cores), np.int64)
        variant = self.loaded.variant
        cost, lanes = variant.nanoseconds, variant.lanes
        self._write(Facts.FUNCTION, self.loaded.address)
        self._write(Facts.HELP, 0 if single else self.loaded.library.address("help"))
        self._write(Facts.TABLES, self.loaded.tables)
        self._write(Facts.WORKSPACE, variant.workspace_bytes)
        self._write(Facts.INPUTS, len(kernel.inputs))
        self._write(Facts.OUTPUTS, len(kernel.outputs))
        self._write(Facts.WORTH, max(1, int(pool.WORTH / cost)))
        self._write(Facts.BLOCK, max(lanes, int(BLOCK / cost) // lanes * lanes))
        for word, text in self._texts.items():
            self._write(word, ctypes.addressof(text))
        for k, core in enumerate(cores):
            self._write(Facts.SPECS + 2 * k, len(core.shape))
            self._write(Facts.SPECS + 2 * k + 1, core.size * kernel.dtype.itemsize)
        self.on_threads()
        pool.follow(self)
        place = ctypes.c_void_p.from_address(self.library.variable("facts"))
        place.value = self._facts.__array_interface__["data"][0]

    def _write(self, word: int, value: int) -> None:
        self._facts[word] = np.uint64(value).astype(np.int64)

    def on_threads(self) -> None:
        """Update which batches are worth more than one thread."""
        limit = self.kernel.threads
        self._write(Facts.ALONE, pool.longest_alone(self.loaded.variant.nanoseconds, limit))
        self._write(Facts.MOST, min(limit or pool.thread_limit(), self.loaded.most_threads))


def name_of(kernel: Kernel, single: bool) -> str:
    """The name of a kernel's handler in XLA: the same in every process."""
    variant = "one" if single else "run"
    digest = hashlib.sha256(kernel.text(variant).encode() + kernel.artifact.tables)
    return f"kinetree_{kernel.name}_{variant}_{digest.hexdigest()[:32]}"


def api_of(header: str) -> Api:
    """The interface described by the text of XLA's C header."""
    version = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", header) for part in ("MAJOR", "MINOR")]
    functions = re.findall(r"_STRUCT_FIELD\(XLA_FFI_(\w+)\)", header)
    needed = ("Error_Create", "Error_Destroy", "ThreadPool_Schedule", "ThreadPool_NumThreads", "Stream_Get")
    if None in version or not set(needed) <= set(functions):
        raise CompileError("this version of JAX has another foreign function interface: use target='eager'")
    numbers: list[Any] = [found and int(found[1]) for found in version]
    return Api(*numbers, *(TABLE + 8 * functions.index(name) for name in needed))


def _memory_functions() -> dict[str, int]:
    library = ctypes.CDLL("msvcrt" if "windows" in host().triple else None)
    return {n: ctypes.cast(library[n], ctypes.c_void_p).value or 0 for n in ("malloc", "calloc", "free")}


__all__ = ["Handler", "api_of", "name_of"]
