"""Kernels registered with XLA: machine code on the CPU, kernels on the GPUs of this process.

XLA never forgets a handler, so handlers and what they point to are kept for the life of the process.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax

from kinetree.compiler.runtime import cuda
from kinetree.compiler.runtime.xla import Api, Handler, api_of, name_of
from kinetree.compiler.runtime.xla_cuda import DeviceHandler, Place
from kinetree.errors import CompileError
from kinetree.stages.job import Job
from kinetree.stages.targets.cpu import Cpu
from kinetree.stages.targets.cuda import CudaKernel, Loaded

MIDDLE = 128  # threads per block where that is free: XLA does not say how large a batch will be

_handlers: dict[str, Handler] = {}
_kernels: dict[str, DeviceKernel] = {}


@cache
def handler(job: Job, single: bool) -> str:
    """The name under which the machine code of a job is registered with XLA."""
    kernel = Cpu().executable(job)
    name = name_of(kernel, single)
    if name not in _handlers:
        _handlers[name] = made = Handler(kernel, single, _api())
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(made.address), platform="cpu")
    return name


class DeviceKernel(NamedTuple):
    """A GPU kernel registered with XLA."""

    name: str
    kernel: CudaKernel
    handler: DeviceHandler
    work: int  # numbers in work arrays per thread
    blocks: int  # blocks that use them at the same time, on the largest GPU
    threads: int  # per block with work arrays
    tile: int  # states per block

    def extra(self, states: int) -> list[tuple[tuple[int], Any]]:
        """Shape and type of the two results besides those of the function: notes and work arrays."""
        blocks = min(-(-states // self.tile), self.blocks)
        return [((4,), "uint32"), ((self.work * blocks * self.threads,), self.kernel.dtype)]


@cache
def device_kernel(job: Job) -> DeviceKernel | None:
    """The kernel of a job, verified on each GPU of this process; None if there cannot be one."""
    numbers = _numbers()
    if not numbers:
        return None
    try:
        kernel = CudaKernel(job, silent=True)
        devices = [cuda.device(number) for number in numbers]
        loaded = [kernel.placed(device) for device in devices]
    except (CompileError, cuda.CudaError):  # an operation that GPUs lack, or a device that is too old
        return None
    digest = hashlib.sha256(kernel.source.encode() + kernel.tables).hexdigest()
    name = f"kinetree_{kernel.name}_device_{digest[:32]}"
    if name not in _kernels:
        places = [_place(device, found) for device, found in zip(devices, loaded, strict=True)]
        made = DeviceHandler(kernel.name, *job.shapes, places, _api())
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(made.address), platform="CUDA")
        _kernels[name] = DeviceKernel(
            name,
            kernel,
            made,
            loaded[0].work_numbers,
            max(place.blocks for place in places),
            places[0].threads,
            places[0].tile,
        )
    return _kernels[name]


@cache
def _numbers() -> list[int]:
    """The numbers of the GPUs that JAX uses; JAX may lower a program for GPUs that are not present."""
    try:
        found = jax.local_devices(backend="cuda")
    except RuntimeError:
        return []
    return [d.local_hardware_id for d in found] if cuda.is_available() else []


def _place(device: cuda.Device, found: Loaded) -> Place:
    large = None if found.large is None else found.large.function.value
    function = found.launcher.function.value
    wide = (found.states(MIDDLE), MIDDLE) if found.least else (found.tile, found.launcher.threads)
    shape = found.blocks, *wide, found.launcher.shared
    return Place(device.context.value or 0, function or 0, large or 0, found.tables.pointer, *shape)


@cache
def _api() -> Api:
    return api_of((Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h").read_text())


__all__ = ["DeviceKernel", "device_kernel", "handler"]
