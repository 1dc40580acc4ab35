"""The machine that programs are compiled for: its processor and vector width."""

from __future__ import annotations

import os
import threading
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi

FLOAT_BYTES = {"float64": 8, "float32": 4}

# Held while LLVM is in use, whose contexts are shared by the process. A process is forked only while it is
# free: otherwise the child would inherit unfinished work, and a lock that none of its threads would ever
# release. llvmlite has its own lock, which is held without ours while garbage collection frees LLVM objects.
lock = threading.RLock()
_theirs: Any = getattr(ffi.lib, "_lock", nullcontext())
_held: list[Any] = []  # locks held for a fork; an interrupt may come in between


def _before_fork() -> None:
    for each in (lock, _theirs):
        each.__enter__()
        _held.append(each)


def _after_fork() -> None:
    while _held:
        _held.pop().__exit__(None, None, None)


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
    with lock:
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
