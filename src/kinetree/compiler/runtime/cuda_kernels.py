"""Kernels on NVIDIA GPUs: PTX made by LLVM, loaded and launched by the driver; streams and copies."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from kinetree.compiler.emit.llvm.gpu import NVIDIA
from kinetree.compiler.runtime import machine, native
from kinetree.compiler.runtime.cuda import Device, check, driver

FREE_SHARED = 47 << 10  # bytes of shared memory available without opting in, less a few for the kernel itself
FOLLOWS = "griddepcontrol.wait"  # in the PTX of a kernel that waits for the previous one
WHOLE = "+ptx80"  # the PTX version that copies whole rows of a tile
_pointer, _size, _int, _number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_uint64


def assemble(text: str, architecture: str) -> str:
    """PTX of an LLVM module, optimised."""
    with machine.using_llvm():
        made = _machine(architecture, WHOLE if NVIDIA.whole in text else "")
        head = f'target triple = "{NVIDIA.triple}"\ntarget datalayout = "{made.target_data}"\n'
        module = native.parsed(head + text)
        module.verify()
        return made.emit_assembly(native.optimised(module, made, 3))


@cache
def _machine(architecture: str, features: str) -> Any:
    """LLVM's target machine for a device."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(NVIDIA.triple)
    return target.create_target_machine(cpu=architecture, features=features, opt=3)


class _Attribute(ctypes.Structure):
    """One attribute of a launch (CUlaunchAttribute)."""

    _fields_ = [("id", ctypes.c_uint64), ("value", ctypes.c_int), ("unused", ctypes.c_char * 60)]


class _Launch(ctypes.Structure):
    """The configuration of a launch (CUlaunchConfig)."""

    _fields_ = [
        *((name, _int) for name in ("x", "y", "z", "threads", "threads_y", "threads_z", "shared")),
        ("stream", _pointer), ("attributes", ctypes.POINTER(_Attribute)), ("count", _int),
    ]  # fmt: skip


_EARLY = ctypes.pointer(_Attribute(6, 1))  # programmatic stream serialization is allowed


class Launcher:
    """PTX loaded on one device: `launch(arguments, blocks, stream)`."""

    def __init__(self, ptx: str, where: Device, level: int, threads: int, shared: int):
        self.device, self.threads, self.shared = where, threads, shared
        self._early = FOLLOWS in ptx  # may start while the previous kernel ends: it waits itself
        log = ctypes.create_string_buffer(4096)
        options = (ctypes.c_int * 3)(7, 5, 6)  # optimisation level, error log, its size
        values = (ctypes.c_void_p * 3)(level, ctypes.cast(log, ctypes.c_void_p), len(log))
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self._lock = threading.Lock()
        self._arguments: Any = None
        self._pointers: Any = None
        with where.current():
            status = driver().cuModuleLoadDataEx(
                ctypes.byref(self.module), ctypes.c_char_p(ptx.encode()), 3, options, values
            )
            check(status, f"the driver refuses a kernel ({log.value.decode(errors='replace').strip()})")
            check(
                driver().cuModuleGetFunction(ctypes.byref(self.function), self.module, b"states"), "a kernel"
            )
            if shared > FREE_SHARED:
                check(driver().cuFuncSetAttribute(self.function, 8, shared), f"{shared} shared bytes")

    def __del__(self) -> None:
        self.device.release("cuModuleUnload", getattr(self, "module", None))

    def facts(self) -> dict[str, int]:
        """Registers per thread, and spilled bytes."""
        found = {}
        for name, number in (("registers", 4), ("local_bytes", 3)):
            value = ctypes.c_int()
            with self.device.current():
                check(driver().cuFuncGetAttribute(ctypes.byref(value), number, self.function), "a kernel")
            found[name] = value.value
        return found

    def resident(self) -> int:
        """How many blocks are resident on a multiprocessor."""
        count = ctypes.c_int()
        with self.device.current():
            status = driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
                ctypes.byref(count), self.function, self.threads, ctypes.c_size_t(self.shared)
            )
            check(status, "a kernel")
        return max(1, count.value)

    def launch(self, arguments: Sequence[int], blocks: int, stream: int = 0, threads: int = 0) -> None:
        """Launch the kernel; `arguments` are 64 bits each. The device must be current.

        `threads` per block, if not as many as it was made for.
        """
        threads = threads or self.threads
        with self._lock:  # the arguments are copied before the launch returns
            if self._arguments is None:
                self._arguments = (ctypes.c_int64 * len(arguments))()
                first = ctypes.addressof(self._arguments)
                self._pointers = (ctypes.c_void_p * len(arguments))(
                    *(first + 8 * k for k in range(len(arguments)))
                )
            self._arguments[:] = arguments
            if self._early:
                facts = _Launch(blocks, 1, 1, threads, 1, 1, self.shared, stream, _EARLY, 1)
                status = driver().cuLaunchKernelEx(
                    ctypes.byref(facts), self.function, self._pointers, None
                )
            else:
                status = driver().cuLaunchKernel(
                    self.function, blocks, 1, 1, threads, 1, 1, self.shared, stream, self._pointers, None
                )
        if status:
            check(status, "starting a kernel")


def wait(where: Device, stream: int = 0) -> None:
    """Wait until everything on a stream is done."""
    with where.current():
        check(driver().cuStreamSynchronize(stream), "a kernel failed on the device")


class _Copy(ctypes.Structure):
    """The parameters of a copy of rows (CUDA_MEMCPY2D)."""

    _fields_ = [
        ("source_x", _size), ("source_y", _size), ("source_kind", _int), ("source_host", _pointer),
        ("source", _number), ("source_array", _pointer), ("source_pitch", _size),
        ("target_x", _size), ("target_y", _size), ("target_kind", _int), ("target_host", _pointer),
        ("target", _number), ("target_array", _pointer), ("target_pitch", _size),
        ("width", _size), ("height", _size),
    ]  # fmt: skip


def copy_rows(
    where: Device, source: tuple[int, int], target: tuple[int, int], width: int, rows: int, stream: int
) -> None:
    """Copy rows of `width` bytes within a device; `source` and `target` are addresses and pitches."""
    if not width or not rows:
        return
    pitches = [max(pitch, width) for _, pitch in (source, target)]
    facts = _Copy(
        source_kind=2, source=source[0], source_pitch=pitches[0], target_kind=2, target=target[0],
        target_pitch=pitches[1], width=width, height=rows,
    )  # fmt: skip
    with where.current():
        check(driver().cuMemcpy2DAsync_v2(ctypes.byref(facts), stream), "copying within the device")


class Stream:
    """Work of a device that runs in order, concurrently with other streams. The driver's streams are reused.

    So they stay few, and data kept per stream (notes of kernels) do not grow with the number of calls.
    """

    def __init__(self, where: Device):
        self.device, handle = where, ctypes.c_void_p()
        with suppress(IndexError):  # another thread may be faster
            self.handle = where.streams.pop()
            return
        with where.current():
            check(driver().cuStreamCreate(ctypes.byref(handle), 1), "a stream")
        self.handle = handle.value or 0

    def __del__(self) -> None:
        handle = getattr(self, "handle", 0)
        if handle:
            self.device.streams.append(handle)


class Pinned:
    """Host memory that a device accesses directly."""

    def __init__(self, where: Device, size: int):
        self.device, pointer = where, ctypes.c_void_p()
        with where.current():
            check(
                driver().cuMemHostAlloc(ctypes.byref(pointer), max(size, 16), 1), f"{size} bytes of the host"
            )
        self.pointer, self.size = pointer.value or 0, size
        self.bytes = np.ctypeslib.as_array((ctypes.c_uint8 * max(size, 16)).from_address(self.pointer))

    def __del__(self) -> None:
        self.device.release("cuMemFreeHost", getattr(self, "pointer", 0))
