"""Host arrays on a GPU: chunks of states are copied while others compute.

Each of a few lanes has a stream, pinned host memory and device memory. While the CPU copies one chunk into
its lane, others are in transfer to the device, computed, or in transfer back.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from kinetree.compiler.runtime import cuda, cuda_kernels
from kinetree.stages.targets.cuda_code import Code, Notes

CHUNK = 1 << 24  # bytes of a chunk, inputs and results
LANES = 3
COPIERS, MANY = 4, 1 << 20  # threads that copy on the host, from this many bytes on


class HostForm(NamedTuple):
    """The call form with the arrays of a chunk."""

    states: int
    strides: list[tuple[int, int]]
    layout: str = "rows"


class _Lane:
    """A stream with its host and device buffers."""

    def __init__(self, where: cuda.Device, size: int):
        self.device, self.stream = where, cuda_kernels.Stream(where)
        self.host, self.there = cuda_kernels.Pinned(where, size), cuda.Memory(where, size)
        self.start = self.count = 0
        self.notes: Notes | None = None

    def part(self, offset: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Some bytes of the host buffer as an array."""
        size = math.prod(shape) * dtype.itemsize
        return self.host.bytes[offset : offset + size].view(dtype).reshape(shape)

    def copy(self, to_device: bool, start: int, size: int) -> None:
        if not size:
            return
        host, there, stream = self.host.pointer + start, self.there.pointer + start, self.stream.handle
        with self.device.current():
            if to_device:
                status = cuda.driver().cuMemcpyHtoDAsync_v2(there, host, size, stream)
            else:
                status = cuda.driver().cuMemcpyDtoHAsync_v2(host, there, size, stream)
        cuda.check(status, "copying")


def from_host(code: Code, inputs: list[np.ndarray], results: list[np.ndarray], count: int) -> int | None:
    """Compute `results` (count, ...) from `inputs` (count, ...) or shared; the first state refused."""
    if not count:
        return None
    where = cuda.device()
    shapes, outputs = code.job.shapes
    item = code.dtype.itemsize
    each = [a.ndim > len(s) for a, s in zip(inputs, shapes, strict=True)]
    common = {k: cuda.array(a, where.number) for k, a in enumerate(inputs) if not each[k]}
    sizes = [math.prod(s) * item for s in shapes]
    widths = [size if e else 0 for size, e in zip(sizes, each)] + [math.prod(s) * item for s in outputs]
    step = max(1, min(count, CHUNK // max(sum(widths), 1)))
    step = min(count, -(-step // 128) * 128)
    starts = np.concatenate([[0], np.cumsum([_even(w * step) for w in widths])]).astype(int).tolist()
    split = len(inputs)
    lanes = [_Lane(where, starts[-1]) for _ in range(min(LANES, -(-count // step)))]
    strides = [(math.prod(s) if e else 0, 1) for s, e in zip(shapes, each)]
    strides += [(math.prod(s), 1) for s in outputs]

    def collect(lane: _Lane) -> int | None:
        if not lane.count:
            return None
        cuda_kernels.wait(where, lane.stream.handle)
        refused = lane.notes.refused() if lane.notes else None
        for result, offset in zip(results, starts[split:]):
            shape = (lane.count, *result.shape[1:])
            copy(lane.part(offset, shape, code.dtype), result[lane.start : lane.start + lane.count])
        found, lane.count = None if refused is None else lane.start + refused, 0
        return found

    def copy(source: np.ndarray, target: np.ndarray) -> None:
        """Copy with several threads: one alone does not reach memory bandwidth."""
        step = -(-len(source) // COPIERS)
        parts = [slice(k, k + step) for k in range(0, len(source), step)]
        if source.nbytes < MANY:
            target[...] = source
        else:
            list(copiers.map(lambda part: np.copyto(target[part], source[part]), parts))

    worst: list[int] = []

    def note(found: int | None) -> None:
        worst.extend([] if found is None else [found])

    copiers = ThreadPoolExecutor(COPIERS)
    try:
        for number, start in enumerate(range(0, count, step)):
            lane = lanes[number % len(lanes)]
            note(collect(lane))
            if worst:
                break
            size = min(step, count - start)
            for k, array in enumerate(inputs):
                if each[k]:
                    copy(array[start : start + size], lane.part(starts[k], (size, *shapes[k]), code.dtype))
            for k, width in enumerate(widths[:split]):
                lane.copy(True, starts[k], width * size)
            pointers = [
                lane.there.pointer + starts[k] if e else common[k].memory.pointer for k, e in enumerate(each)
            ]
            pointers += [lane.there.pointer + s for s in starts[split:-1]]
            lane.start, lane.count = start, size
            lane.notes = code.start(HostForm(size, strides), pointers, where, lane.stream.handle)
            for k, width in enumerate(widths[split:], split):
                lane.copy(False, starts[k], width * size)
        for lane in lanes:
            note(collect(lane))
    finally:  # also after an interrupt: memory and streams are reused by others
        copiers.shutdown()
        for lane in lanes:
            with suppress(cuda.CudaError):
                cuda_kernels.wait(where, lane.stream.handle)
    return min(worst, default=None)


def _even(size: int) -> int:
    """A number of bytes rounded up to the alignment of arrays."""
    return -(-size // 256) * 256


__all__: list[Any] = ["from_host"]
