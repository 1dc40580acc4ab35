"""The machine that programs are compiled for: its processor and vector width."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from types import FrameType
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi

FLOAT_BYTES = {"float64": 8, "float32": 4}

# Held while LLVM is in use, whose contexts are shared by the process. A process is forked only while it is
# free: otherwise the child would inherit unfinished work, and a lock that none of its threads would ever
# release. llvmlite has its own lock, which is held without ours while garbage collection frees LLVM objects.
lock = threading.RLock()
_theirs: Any = getattr(getattr(ffi.lib, "_lock", None), "_lock", None) or threading.RLock()
_held: list[Any] = []  # locks held for a fork; an interrupt may come in between
PATIENCE = 0.1  # seconds


@contextmanager
def using_llvm() -> Iterator[None]:
    """LLVM is used by this thread alone."""
    with lock:
        _wait_for_theirs()
        with _theirs:
            yield


def _wait_for_theirs() -> None:
    """Wait for llvmlite's lock, while ours is held. It is released if no thread is in llvmlite.

    An interrupt (Ctrl-C) between two lines of llvmlite can leave it locked forever.
    """
    idle = 0
    while not _theirs.acquire(timeout=PATIENCE):
        idle = 0 if any(map(_is_in_llvmlite, sys._current_frames().values())) else idle + 1
        if idle >= 3:  # a thread may just have left, or come
            with suppress(RuntimeError):
                _theirs._release_save()
    _theirs.release()


def _is_in_llvmlite(frame: FrameType | None) -> bool:
    """Whether a thread is in llvmlite, and does not wait for its lock."""
    while frame is not None and frame.f_code.co_filename != ffi.__file__:
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name != "__enter__"


def _before_fork() -> None:
    lock.acquire()
    _held.append(lock)
    _wait_for_theirs()
    _theirs.acquire()
    _held.append(_theirs)


def _after_fork() -> None:
    while _held:
        _held.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


@dataclass(frozen=True)
class Target:
    """A processor as LLVM names it, with the properties that the printer needs."""

    triple: str
    cpu: str
    features: str
    vector_bytes: int
    has_fma: bool

    def lanes(self, dtype: str) -> int:
        """How many `dtype` numbers a vector holds."""
        return self.vector_bytes // FLOAT_BYTES[dtype]

    def machine(self, opt: int = 2) -> Any:
        """An LLVM target machine for code that is loaded into this process."""
        _initialise()
        target = llvm.Target.from_triple(self.triple)
        return target.create_target_machine(cpu=self.cpu, features=self.features, opt=opt, jit=True)

    @property
    def registers(self) -> int:
        """The number of vector registers."""
        if self.triple.partition("-")[0].lower() in ("i386", "i686"):
            return 8
        return 16 if self.vector_bytes < 64 and "86" in self.triple.partition("-")[0] else 32

    @property
    def window(self) -> int:
        """How many bytes the shortest address displacement covers; 0 if that does not matter."""
        is_x86 = self.triple.partition("-")[0].lower() in ("x86_64", "amd64")
        return 256 if is_x86 and self.vector_bytes < 64 else 0

    @property
    def asks_ahead(self) -> bool:
        """Whether stores to memory outside the caches stall unless it is prefetched.

        Where they do, prefetching saves a fifth to a third of the time of small programs with many results.
        On Zen it is not needed, and costs three percent.
        """
        is_x86 = self.triple.partition("-")[0].lower() in ("x86_64", "amd64")
        return is_x86 and not self.cpu.startswith("znver")

    @property
    def yielding(self) -> str:
        """The C function that yields to other threads: no arguments, returns an int."""
        return "SwitchToThread" if "windows" in self.triple else "sched_yield"

    @property
    def key(self) -> str:
        """Everything that determines the machine code and whether it runs here."""
        return "|".join((self.triple, self.cpu, self.features, str(self.vector_bytes), str(self.has_fma)))


@lru_cache(maxsize=1)
def _initialise() -> None:
    if llvm.llvm_version_info[0] < 20:
        llvm.initialize()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@lru_cache(maxsize=1)
def host() -> Target:
    """The machine that this process runs on."""
    with using_llvm():
        _initialise()
        triple = llvm.get_process_triple()
        try:
            known = llvm.get_host_cpu_features()
        except RuntimeError:  # LLVM cannot tell: use the baseline of the architecture
            return describe(triple, "", {})
        return describe(triple, llvm.get_host_cpu_name(), known, known.flatten())


def describe(triple: str, cpu: str, known: dict[str, bool], features: str = "") -> Target:
    """The target with LLVM's feature names in `known`: AVX-512, AVX2 with FMA, NEON, or 128-bit vectors."""
    architecture = triple.partition("-")[0].lower()
    if architecture in ("x86_64", "amd64", "i386", "i686"):
        if known.get("avx512f") and known.get("avx512dq") and known.get("avx512vl"):
            width, fma = 64, True
        elif known.get("avx2") and known.get("fma"):
            width, fma = 32, True
        else:
            width, fma = 16, False
    else:
        width, fma = 16, architecture in ("aarch64", "arm64", "arm64e")
    return Target(triple, cpu, features, width, fma)
