"""NVIDIA's driver through ctypes: no toolkit, no package, nothing loaded until first use.

Uses the primary contexts of the devices, so that PyTorch, JAX and CuPy can be used alongside.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from kinetree.compiler.runtime import dlpack
from kinetree.compiler.runtime.on_device import CUDA
from kinetree.errors import KinetreeError

LEAST = (7, 0)  # compute capability
NEWEST = (9, 0)  # requested of LLVM: newer devices run its code too
SMALL, KEPT = 1 << 20, 32  # largest block of memory kept for reuse; how many of one size
OUT_OF_MEMORY = 2
LEAST_DRIVER = 11000  # CUDA 11.0, in the driver's numbering
_pointer, _size, _int, _number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_uint64
SIGNATURES = {
    "cuLaunchKernel": (_pointer, *(_int,) * 7, _pointer, _pointer, _pointer),
    "cuLaunchKernelEx": (_pointer, _pointer, _pointer, _pointer),
    "cuCtxPushCurrent_v2": (_pointer,),
    "cuCtxPopCurrent_v2": (_pointer,),
    "cuStreamSynchronize": (_pointer,),
    "cuStreamCreate": (_pointer, _int),
    "cuMemAlloc_v2": (_pointer, _size),
    "cuMemFree_v2": (_number,),
    "cuMemHostAlloc": (_pointer, _size, _int),
    "cuMemFreeHost": (_pointer,),
    "cuMemcpyHtoD_v2": (_number, _pointer, _size),
    "cuMemcpyDtoH_v2": (_pointer, _number, _size),
    "cuMemcpyHtoDAsync_v2": (_number, _pointer, _size, _pointer),
    "cuMemcpyDtoHAsync_v2": (_pointer, _number, _size, _pointer),
    "cuMemsetD32Async": (_number, _int, _size, _pointer),
    "cuMemcpy2DAsync_v2": (_pointer, _pointer),
    "cuPointerGetAttribute": (_pointer, ctypes.c_int, _number),
}
_lock = threading.RLock()


class CudaError(KinetreeError, RuntimeError):
    """The graphics driver could not do what was requested."""


@cache
def driver() -> Any:
    """The driver's library, initialised; CudaError if there is none."""
    library = _opened()
    status = library.cuInit(0)
    if status:
        raise CudaError(
            f"the graphics driver finds no device it can use (cuInit says {status}): use target='cpu'"
        )
    version = _version(library)
    if version < LEAST_DRIVER:
        raise CudaError(
            f"the graphics driver is too old: it knows CUDA {_dotted(version)}, but "
            f"{_dotted(LEAST_DRIVER)} is needed: install a newer one, or use target='cpu'"
        )
    for name, types in SIGNATURES.items():
        with suppress(AttributeError):  # functions newer than the driver are not called
            getattr(library, name).argtypes = types
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forbid)
    return library


def _opened() -> Any:
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        return ctypes.CDLL(name)
    except OSError:
        raise CudaError(
            f"target 'cuda' needs an NVIDIA graphics driver ({name} is not there): install one, or use "
            "target='cpu'"
        ) from None


def _version(library: Any) -> int:
    version = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    return version.value


@cache
def driver_version() -> int:
    """The CUDA version of the driver, in its own numbering: 12040 is 12.4."""
    return _version(driver())


def _dotted(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


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
        remedy = ": use smaller batches, or free memory on the device" if status == OUT_OF_MEMORY else ""
        raise CudaError(f"{what}: {reason}{remedy}")


def is_available() -> bool:
    """True if there is a GPU that kernels can run on."""
    try:
        return device_count() > 0
    except CudaError:
        return False


def device_count() -> int:
    """The number of devices."""
    count = ctypes.c_int()
    check(driver().cuDeviceGetCount(ctypes.byref(count)), "counting devices")
    return count.value


class Device:
    """One GPU and its primary context."""

    def __init__(self, number: int):
        self.number, self.library = number, driver()
        self.kept: dict[int, list[int]] = {}  # unused small blocks of memory, by size
        self.streams: list[int] = []  # unused ones
        handle = ctypes.c_int()
        check(driver().cuDeviceGet(ctypes.byref(handle), number), f"device {number}")
        self.capability = tuple(self._attribute(handle, k) for k in (75, 76))
        self.processors = self._attribute(handle, 16)
        self.shared = self._attribute(handle, 97)  # bytes per block, at most
        self.bandwidth = 2e3 * self._attribute(handle, 36) * self._attribute(handle, 37) / 8  # bytes/s
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
        """The architecture requested of LLVM."""
        major, minor = min(self.capability, NEWEST)
        return f"sm_{major}{minor}"

    def current(self) -> Device:
        """Within `with device.current():`, driver calls apply to this device."""
        return self

    def __enter__(self) -> None:
        if _forked:
            raise CudaError("a GPU cannot be used in a forked process: start processes with 'spawn'")
        check(self.library.cuCtxPushCurrent_v2(self.context), f"device {self.number}")

    def __exit__(self, *_: object) -> None:
        self.library.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))

    def give_back(self) -> None:
        """Free the unused blocks of memory."""
        kept, self.kept = self.kept, {}
        for pointers in kept.values():
            for pointer in pointers:
                self.release("cuMemFree_v2", pointer)

    def release(self, how: str, what: Any) -> None:
        """Release a resource of this device, unless the device is already gone."""
        if what and not _forked and sys is not None and not sys.is_finalizing():
            with self.current():
                getattr(self.library, how)(what)


@cache
def device(number: int = 0) -> Device:
    """The device of this number."""
    with _lock:
        return Device(number)


class Memory:
    """Device memory, freed with its last reference.

    Small blocks are kept for reuse, since the driver is slow to allocate and free. Blocks that a kernel may
    still be using (`kept` is False) go back to the driver, which waits before it frees them.
    """

    def __init__(self, where: Device, size: int, kept: bool = True):
        self.device, self.size, self.kept = where, size, kept
        self._room = max(256, 1 << (size - 1).bit_length()) if size <= SMALL else size
        with suppress(KeyError, IndexError):  # another thread may be faster
            self.pointer = where.kept[self._room].pop()
            return
        pointer = ctypes.c_uint64()
        with where.current():
            status = driver().cuMemAlloc_v2(ctypes.byref(pointer), self._room)
        if status == OUT_OF_MEMORY and where.kept:
            where.give_back()
            with where.current():
                status = driver().cuMemAlloc_v2(ctypes.byref(pointer), self._room)
        check(status, f"{size} bytes")
        self.pointer = pointer.value

    def __del__(self, small: int = SMALL, most: int = KEPT) -> None:  # at exit, globals are gone
        pointer = getattr(self, "pointer", 0)
        if pointer and self.kept and self._room <= small and not _forked:
            kept = self.device.kept.setdefault(self._room, [])
            if len(kept) < most:
                kept.append(pointer)
                return
        self.device.release("cuMemFree_v2", pointer)

    def put(self, array: np.ndarray) -> None:
        """Copy an array from the host. When this returns the copy is visible to streams of all kinds.

        The driver returns once it has read the array; streams that do not synchronise with the default one
        could otherwise overtake the transfer.
        """
        if array.nbytes:
            with self.device.current():
                status = driver().cuMemcpyHtoD_v2(self.pointer, array.ctypes.data, array.nbytes)
                check(status or driver().cuStreamSynchronize(0), "copying to the device")

    def get(self, array: np.ndarray) -> np.ndarray:
        """Copy to a host array."""
        if array.nbytes:
            with self.device.current():
                status = driver().cuMemcpyDtoH_v2(array.ctypes.data, self.pointer, array.nbytes)
                check(status, "copying from the device")
        return array


class DeviceArray:
    """An array in the memory of a GPU; other libraries take it by `__cuda_array_interface__` or DLPack.

    `order`: the axes from the outermost in memory to the innermost, if that is not their own order.
    """

    is_cuda = True  # as in PyTorch's tensors

    def __init__(self, shape: tuple[int, ...], dtype: Any, where: Device, order: Sequence[int] = ()):
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.order = tuple(order)
        self.view: Any = None  # the `View` that kernels use, made on first use
        self.memory = Memory(where, math.prod(self.shape) * self.dtype.itemsize)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """For other libraries, which may use the memory after this object is gone."""
        self.memory.kept = False
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self.memory.pointer, False),
            "strides": self.strides if self.order else None, "version": 3,
        }  # fmt: skip

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """In bytes, as in NumPy."""
        steps, size = [0] * len(self.shape), self.dtype.itemsize
        for axis in reversed(self.order or range(len(self.shape))):
            steps[axis] = size
            size *= self.shape[axis]
        return tuple(steps)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.memory.device.number

    def __dlpack__(self, **_: Any) -> Any:
        """A DLPack capsule; the data are complete, since calls that make such arrays wait for them."""
        self.memory.kept = False
        steps = tuple(s // self.dtype.itemsize for s in self.strides)
        return dlpack.capsule(
            self, self.memory.pointer, self.shape, steps, self.dtype, self.memory.device.number
        )

    def numpy(self) -> np.ndarray:
        """The array on the host."""
        if not self.order:
            return self.memory.get(np.empty(self.shape, self.dtype))
        flat = np.empty(tuple(self.shape[k] for k in self.order), self.dtype)
        return self.memory.get(flat).transpose(np.argsort(self.order))

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


@cache
def only_one() -> bool:
    """Whether there is no second device."""
    return device_count() == 1


def free_bytes(number: int = 0) -> int:
    """The free memory of a device."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    with device(number).current():
        check(driver().cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)), "asking the device")
    return free.value


def device_of(pointer: int) -> int:
    """The number of the device that holds an address."""
    if only_one() or not pointer:
        return 0
    ordinal = ctypes.c_int()
    check(
        driver().cuPointerGetAttribute(ctypes.byref(ordinal), 9, pointer),
        "an array's device",
    )
    return ordinal.value
