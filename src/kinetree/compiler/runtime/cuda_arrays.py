"""Device arrays of any library: their addresses, the strides of their states, and new arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kinetree.compiler.runtime import cuda, cuda_kernels, dlpack
from kinetree.errors import ShapeError

LIBRARIES = {"jaxlib": "jax", "numba_cuda": "numba"} | {k: k for k in ("torch", "cupy", "jax", "numba")}
TORCH = {"torch.float32": "<f4", "torch.float64": "<f8"}


class View(NamedTuple):
    """An array on a device: its address, its shape, and its strides in numbers."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: str

    @staticmethod
    def of(array: Any) -> View:
        if type(array).__module__ == "torch" and not array.requires_grad:  # the same in a tenth of the time
            kind = TORCH.get(str(array.dtype))
            if kind is not None:
                strides = None if array.is_contiguous() else array.stride()
                return View(array.data_ptr(), tuple(array.shape), strides, kind)
        if type(array) is cuda.DeviceArray:
            if array.view is None:
                size = array.dtype.itemsize
                own = tuple([s // size for s in array.strides]) if array.order else None
                array.view = View(array.memory.pointer, array.shape, own, array.dtype.str)
            return array.view
        facts = array.__cuda_array_interface__
        strides, kind = facts.get("strides"), facts["typestr"]
        if strides is not None:
            size = int(kind[2:])
            strides = tuple([s // size for s in strides])
        return View(facts["data"][0], tuple(facts["shape"]), strides, kind)

    @property
    def steps(self) -> tuple[int, ...]:
        """The strides, also for a contiguous array that does not state them."""
        if self.strides is not None:
            return self.strides
        return tuple(math.prod(self.shape[k + 1 :]) for k in range(len(self.shape)))

    def overlaps(self, other: View) -> bool:
        """True if the two may share memory."""
        (a, b), (c, d) = self._span(), other._span()
        return a < d and c < b

    def _span(self) -> tuple[int, int]:
        """The first address, and the one after the last."""
        if 0 in self.shape:
            return self.pointer, self.pointer
        ends = [(n - 1) * s for n, s in zip(self.shape, self.steps)]
        size = np.dtype(self.dtype).itemsize
        low, high = sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends) + 1
        return self.pointer + low * size, self.pointer + high * size

    def fetched(
        self, index: int, strides: tuple[int, int], size: int, dtype: np.dtype, where: cuda.Device
    ) -> np.ndarray:
        """The numbers of one state, on the host."""
        numbers = np.empty(size, dtype)
        for k in range(size):
            place = self.pointer + (index * strides[0] + k * strides[1]) * dtype.itemsize
            with where.current():
                status = cuda.driver().cuMemcpyDtoH_v2(numbers[k:].ctypes.data, place, dtype.itemsize)
            cuda.check(status, "copying from the device")
        return numbers

    def state(self, core: int, batch: tuple[int, ...], what: str) -> tuple[int, int]:
        """(state stride, element stride) of an array whose last `core` axes belong to a state."""
        split = len(self.shape) - core
        own, rest, strides = self.shape[:split], self.shape[split:], self.steps
        steps = [s for s, n in zip(strides[split:], rest) if n != 1]
        sizes = [n for n in rest if n != 1]
        element = steps[-1] if steps else 1
        if any(s != element * math.prod(sizes[k + 1 :]) for k, s in enumerate(steps)):
            raise ShapeError(
                f"{what}: the numbers of one state do not stand at equal distances: make it contiguous"
            )
        if all(n == 1 for n in own):
            return 0 if math.prod(batch) != 1 else math.prod(rest), element
        if own != batch[len(batch) - len(own) :] or any(n != 1 for n in batch[: len(batch) - len(own)]):
            raise ShapeError(
                f"{what}: batch axes {own} do not equal {batch}: broadcast it on the device first"
            )
        axes = [(n, s) for n, s in zip(own, strides[:split]) if n != 1]
        state = axes[-1][1]
        if any(s != state * math.prod(n for n, _ in axes[k + 1 :]) for k, (_, s) in enumerate(axes)):
            raise ShapeError(f"{what}: the states do not stand at equal distances: make it contiguous")
        return state, element


def readable(array: Any, stream: int) -> Any:
    """An object that exposes the address of an array: the array itself, or what its library exports."""
    if getattr(array, "requires_grad", False):
        raise ShapeError(
            "a tensor that requires derivatives goes through kinetree.bridges.torch: or give x.detach()"
        )
    if isinstance(array, cuda.DeviceArray):
        return array
    if not hasattr(array, "__cuda_array_interface__"):
        return dlpack.Taken(array, stream)
    _wait_for(array, stream)
    return array


def _wait_for(array: Any, stream: int) -> None:
    """Wait until its library is done with an array, if it names another stream for that."""
    if library_of(array) in ("", "numba"):  # the current streams of others are in order already
        theirs = array.__cuda_array_interface__.get("stream")
        if theirs is not None and int(theirs) != (stream or 1):  # 1 is the stream that others call 0
            cuda_kernels.wait(cuda.device(_number(array)), int(theirs))


def library_of(array: Any) -> str:
    """The library of an array, if new arrays of it can be made; else ""."""
    return LIBRARIES.get(type(array).__module__.partition(".")[0], "")


def device_of(name: str, arrays: Sequence[Any]) -> cuda.Device:
    """The one device that holds all arrays."""
    if cuda.only_one():
        return cuda.device()
    numbers = {_number(a) for a in arrays}
    if len(numbers) > 1:
        raise ShapeError(f"{name}: arrays of several GPUs are mixed ({sorted(numbers)}): move them to one")
    return cuda.device(numbers.pop())


def _number(array: Any) -> int:
    if hasattr(array, "is_cuda") or hasattr(array, "__cuda_array_interface__"):
        return cuda.device_of(View.of(array).pointer)
    return int(array.__dlpack_device__()[1])


def empty(
    library: str,
    batch: tuple[int, ...],
    core: tuple[int, ...],
    dtype: np.dtype,
    where: cuda.Device,
    columns: bool = False,
) -> Any:
    """A new array (*batch, *core) of a library; one of our own if the library's arrays cannot be written to.

    `columns`: neighbouring states are adjacent, as if the axes were (*core, *batch).
    """
    n, shape = len(core), batch + core
    order = (*range(len(batch), len(shape)), *range(len(batch))) if columns else ()
    back = (*range(n, len(shape)), *range(n))
    stored = core + batch if columns else shape
    if library == "torch":
        import torch

        made = torch.empty(stored, dtype=getattr(torch, str(dtype)), device=f"cuda:{where.number}")
        return made.permute(back) if columns else made
    if library == "cupy":
        import cupy

        with cupy.cuda.Device(where.number):
            made = cupy.empty(stored, dtype)
        return made.transpose(back) if columns else made
    return cuda.DeviceArray(shape, dtype, where, order)


def handed_over(library: str, array: Any) -> Any:
    """A result as an array of the inputs' library."""
    if library == "jax":
        import jax

        return jax.dlpack.from_dlpack(array)
    if library == "numba":
        from numba import cuda as numba_cuda

        return numba_cuda.as_cuda_array(array)  # keeps the memory alive
    return array


def stream_of(library: str, where: cuda.Device) -> int:
    """The stream that a library currently uses."""
    if library == "torch":
        import torch

        return int(torch.cuda.current_stream(where.number).cuda_stream)
    if library == "cupy":
        import cupy

        return int(cupy.cuda.get_current_stream().ptr)
    return 0


def waits(library: str) -> bool:
    """Whether a call waits for its results: for libraries whose streams are unknown."""
    return library not in ("torch", "cupy")
