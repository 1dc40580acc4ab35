"""NVIDIA's driver, called by ctypes: no toolkit, no package, nothing touched until it is first used.

Contexts are the primary ones of their devices, so that PyTorch, JAX and CuPy live beside.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from kinetree.compiler.emit.llvm.gpu import NVIDIA, THREADS
from kinetree.compiler.runtime import machine, native
from kinetree.errors import KinetreeError

LEAST = (7, 0)  # compute capability
NEWEST = (9, 0)  # that LLVM is asked for: newer devices run its code too
_lock = threading.RLock()


class CudaError(KinetreeError, RuntimeError):
    """The graphics driver cannot do what it was asked."""


@cache
def driver() -> Any:
    """The driver's library, initialised; CudaError if there is none."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        library = ctypes.CDLL(name)
    except OSError:
        raise CudaError(
            f"target 'cuda' needs an NVIDIA graphics driver ({name} is not there): install one, or use "
            "target='cpu'"
        ) from None
    status = library.cuInit(0)
    if status:
        raise CudaError(
            f"the graphics driver finds no device it can use (cuInit says {status}): use target='cpu'"
        )
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forbid)
    return library


_forked = False


def _forbid() -> None:
    global _forked
    _forked = True


def check(status: int, what: str) -> None:
    """Raise CudaError for a status other than success."""
    if status:
        text = ctypes.c_char_p()
        driver().cuGetErrorString(status, ctypes.byref(text))
        reason = text.value.decode() if text.value else f"error {status}"
        remedy = ": use smaller batches, or free memory on the device" if status == 2 else ""
        raise CudaError(f"{what}: {reason}{remedy}")


def is_available() -> bool:
    """True if there is a GPU that kernels can run on."""
    try:
        return device_count() > 0
    except CudaError:
        return False


def device_count() -> int:
    """How many devices there are."""
    count = ctypes.c_int()
    check(driver().cuDeviceGetCount(ctypes.byref(count)), "counting devices")
    return count.value


class Device:
    """One GPU and its primary context."""

    def __init__(self, number: int):
        self.number = number
        handle = ctypes.c_int()
        check(driver().cuDeviceGet(ctypes.byref(handle), number), f"device {number}")
        self.capability = tuple(self._attribute(handle, k) for k in (75, 76))
        self.processors = self._attribute(handle, 16)
        if self.capability < LEAST:
            raise CudaError(
                f"device {number} has compute capability {self.capability[0]}.{self.capability[1]}, but "
                f"{LEAST[0]}.{LEAST[1]} is needed: use target='cpu'"
            )
        self.context = ctypes.c_void_p()
        check(driver().cuDevicePrimaryCtxRetain(ctypes.byref(self.context), handle), f"device {number}")

    @staticmethod
    def _attribute(handle: ctypes.c_int, which: int) -> int:
        value = ctypes.c_int()
        check(driver().cuDeviceGetAttribute(ctypes.byref(value), which, handle), "asking the device")
        return value.value

    @property
    def architecture(self) -> str:
        """What LLVM is asked to write for."""
        major, minor = min(self.capability, NEWEST)
        return f"sm_{major}{minor}"

    @contextmanager
    def current(self) -> Iterator[None]:
        """Within this block, the driver works on this device."""
        if _forked:
            raise CudaError("a GPU cannot be used in a forked process: start processes with 'spawn'")
        check(driver().cuCtxPushCurrent_v2(self.context), f"device {self.number}")
        try:
            yield
        finally:
            driver().cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


@cache
def device(number: int = 0) -> Device:
    """The device of this number."""
    with _lock:
        return Device(number)


class Memory:
    """Memory of a device, freed with its last reference."""

    def __init__(self, where: Device, size: int):
        self.device, self.size = where, size
        pointer = ctypes.c_uint64()
        with where.current():
            check(
                driver().cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(max(size, 16))), f"{size} bytes"
            )
        self.pointer = pointer.value

    def __del__(self) -> None:
        pointer = getattr(self, "pointer", None)
        if pointer and not _forked and not sys.is_finalizing():
            with self.device.current():
                driver().cuMemFree_v2(ctypes.c_uint64(pointer))

    def put(self, array: np.ndarray) -> None:
        """Copy an array from the host."""
        if array.nbytes:
            with self.device.current():
                check(
                    driver().cuMemcpyHtoD_v2(
                        ctypes.c_uint64(self.pointer), _address(array), ctypes.c_size_t(array.nbytes)
                    ),
                    "copying to the device",
                )

    def get(self, array: np.ndarray) -> np.ndarray:
        """Copy to an array of the host."""
        if array.nbytes:
            with self.device.current():
                check(
                    driver().cuMemcpyDtoH_v2(
                        _address(array), ctypes.c_uint64(self.pointer), ctypes.c_size_t(array.nbytes)
                    ),
                    "copying from the device",
                )
        return array


def _address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


class DeviceArray:
    """An array in the memory of a GPU, in rows; other libraries take it by `__cuda_array_interface__`."""

    def __init__(self, shape: tuple[int, ...], dtype: Any, where: Device):
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.memory = Memory(where, int(np.prod(self.shape, dtype=int)) * self.dtype.itemsize)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        data = (self.memory.pointer, False)
        return {"shape": self.shape, "typestr": self.dtype.str, "data": data, "version": 3, "strides": None}

    def numpy(self) -> np.ndarray:
        """The array on the host."""
        return self.memory.get(np.empty(self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"<{self.dtype} array {self.shape} on device {self.memory.device.number}>"


def array(x: Any, number: int = 0) -> DeviceArray:
    """The numbers `x` as an array on a device."""
    host = np.ascontiguousarray(x)
    if host.dtype not in (np.float64, np.float32):
        host = host.astype(np.float64)
    result = DeviceArray(host.shape, host.dtype, device(number))
    result.memory.put(host)
    return result


def assemble(text: str, architecture: str) -> str:
    """PTX of an LLVM module, optimised."""
    with machine.lock:
        _initialise()
        target = llvm.Target.from_triple(NVIDIA.triple)
        made = target.create_target_machine(cpu=architecture, opt=3)
        head = f'target triple = "{NVIDIA.triple}"\ntarget datalayout = "{made.target_data}"\n'
        module = llvm.parse_assembly(head + text)
        module.verify()
        return made.emit_assembly(native.optimised(module, made, 3))


@cache
def _initialise() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


class Launcher:
    """PTX loaded on one device: `launch(arguments, states, stream)`."""

    def __init__(self, ptx: str, where: Device, level: int = 4):
        self.device = where
        log = ctypes.create_string_buffer(4096)
        options = (ctypes.c_int * 3)(7, 5, 6)  # optimisation level, error log, its size
        values = (ctypes.c_void_p * 3)(level, ctypes.cast(log, ctypes.c_void_p), len(log))
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        with where.current():
            status = driver().cuModuleLoadDataEx(
                ctypes.byref(self.module), ctypes.c_char_p(ptx.encode()), 3, options, values
            )
            check(status, f"the driver refuses a kernel ({log.value.decode(errors='replace').strip()})")
            check(
                driver().cuModuleGetFunction(ctypes.byref(self.function), self.module, b"states"), "a kernel"
            )

    def __del__(self) -> None:
        if getattr(self, "module", None) and not _forked and not sys.is_finalizing():
            with self.device.current():
                driver().cuModuleUnload(self.module)

    def launch(self, arguments: Sequence[int], blocks: int, stream: int = 0) -> None:
        """Start the kernel; `arguments` are 64 bits each."""
        numbers = [ctypes.c_uint64(a & (2**64 - 1)) for a in arguments]
        pointers = (ctypes.c_void_p * len(numbers))(*(ctypes.addressof(n) for n in numbers))
        with self.device.current():
            status = driver().cuLaunchKernel(
                self.function, blocks, 1, 1, THREADS, 1, 1, 0, ctypes.c_void_p(stream), pointers, None
            )
            check(status, "starting a kernel")

    def reset(self, notes: Memory, far: int = 0, stream: int = 0) -> None:
        """Before a launch: nothing is refused; `far`: whether large angles are to be expected."""
        with self.device.current():
            for offset, value, count in ((0, 2**32 - 1, 2), (8, far, 1)):
                place = ctypes.c_uint64(notes.pointer + offset)
                status = driver().cuMemsetD32Async(
                    place, ctypes.c_uint(value), ctypes.c_size_t(count), ctypes.c_void_p(stream)
                )
                check(status, "preparing a kernel")

    def wait(self, stream: int = 0) -> None:
        """Until everything on a stream is done."""
        with self.device.current():
            check(driver().cuStreamSynchronize(ctypes.c_void_p(stream)), "a kernel failed on the device")


def device_of(pointer: int) -> int:
    """The number of the device on which memory stands."""
    ordinal = ctypes.c_int()
    check(
        driver().cuPointerGetAttribute(ctypes.byref(ordinal), 9, ctypes.c_uint64(pointer)),
        "an array's device",
    )
    return ordinal.value
