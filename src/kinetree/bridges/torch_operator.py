"""The PyTorch operator for functions of a model: one for all of them, given the name of a job.

Its gradient is the operator again, for the job of the vjp. So derivatives of any order are kernels.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from kinetree.bridges.calls import Shape, Wrapped, batch_of, jvp_job, vjp_job, widened
from kinetree.errors import ArgumentError, ShapeError
from kinetree.stages.job import Job
from kinetree.stages.targets.cpu import Cpu
from kinetree.stages.targets.cuda import Cuda

_jobs: dict[str, Job] = {}  # by name
_names: dict[Job, str] = {}


class TorchFunction(Wrapped):
    """A function of a model for PyTorch; see `kinetree.bridges.torch.wrap`."""

    library = "torch"

    def arrays(self, given: dict[str, Any]) -> tuple[str, list[Any]]:
        tensors = [x for x in given.values() if isinstance(x, Tensor)]
        devices = {x.device for x in tensors} or {torch.get_default_device()}
        if len(devices) > 1:
            where = ", ".join(sorted(map(str, devices)))
            raise ArgumentError(f"{self.function.name}: the tensors are on several devices ({where})")
        dtype = torch.get_default_dtype()
        kinds = [x.dtype for x in tensors if x.is_floating_point() or x.is_complex()]
        if kinds:
            dtype = torch.float32
            for kind in kinds:
                dtype = torch.promote_types(dtype, kind)
        if dtype not in (torch.float32, torch.float64):
            raise ShapeError(f"{self.function.name}: real numbers are needed, not {dtype} values")
        (device,) = devices
        arrays = [torch.as_tensor(x, dtype=dtype, device=device) for x in given.values()]
        return str(dtype).removeprefix("torch."), arrays

    def spread(self, array: Any, shape: Shape) -> Any:
        return array.expand(shape)

    def results(self, job: Job, arrays: list[Any]) -> Sequence[Any]:
        return Call.apply(name_of(job), *arrays)


def name_of(job: Job) -> str:
    """The name of a job: the same in every process, as programs that PyTorch caches on disk require."""
    if job not in _names:
        kernel = Cpu().executable(job)
        facts = f"{job.model.name}\0{kernel.artifact.description}\0{kernel.text('one')}".encode()
        digest = hashlib.sha256(facts + kernel.artifact.tables).hexdigest()
        name = f"{job.function.name}_{digest[:32]}"
        _jobs[name], _names[job] = job, name
    return _names[job]


def job_of(name: str) -> Job:
    """The job of a name."""
    if name not in _jobs:
        raise ArgumentError(
            f"kt.torch: {name} is not known in this process: wrap and call its function before a program "
            "that was compiled elsewhere"
        )
    return _jobs[name]


OPERATOR = "kinetree::call"
torch.library.define(OPERATOR, "(str name, Tensor[] arrays) -> Tensor[]", tags=torch.Tag.pt2_compliant_tag)


@torch.library.impl(OPERATOR, ("CPU", "CUDA"))
def _run(name: str, arrays: Sequence[Tensor]) -> list[Tensor]:
    """The results of a job; each array has the common batch axes, or none."""
    job = job_of(name)
    if arrays[0].is_cuda:
        found = Cuda().executable(job)(*(a.detach().contiguous() for a in arrays))
        return list(found) if isinstance(found, tuple) else [found]
    results = _empty(name, arrays)
    kernel = Cpu().executable(job)
    kernel(*(a.detach().numpy() for a in arrays), out=tuple(r.numpy() for r in results))
    return results


@torch.library.register_fake(OPERATOR)
def _empty(name: str, arrays: Sequence[Tensor]) -> list[Tensor]:
    """Uninitialised results."""
    job = job_of(name)
    batch = batch_of(job, [a.shape for a in arrays])
    return [arrays[0].new_empty((*batch, *core)) for core in job.shapes[1]]


call = torch.ops.kinetree.call.default


@torch.library.impl(OPERATOR, "Batched")
def _mapped(name: str, arrays: Sequence[Tensor]) -> list[Tensor]:
    """The batching rule of `torch.autograd.grad(..., is_grads_batched=True)`, other than torch.func's."""
    mapped = [_is_mapped(a) for a in arrays]
    level = _level(arrays[mapped.index(True)])
    plain = [torch._remove_batch_dim(a, level, 1, 0) if more else a for a, more in zip(arrays, mapped)]
    results = call(name, _aligned(job_of(name), plain, mapped))
    return [torch._add_batch_dim(result, 0, level) for result in results]


_is_mapped = torch._C._functorch.is_legacy_batchedtensor


def _level(array: Tensor) -> int:
    """The level of the batch axis hidden in a tensor: autograd threads do not know the current one."""
    return next(k for k in range(1, 64) if not _is_mapped(torch._remove_batch_dim(array, k, 1, 0)))


def _aligned(job: Job, arrays: Sequence[Tensor], mapped: Sequence[bool]) -> list[Tensor]:
    """Arrays, some with one more leading axis, aligned to the common batch axes, or none."""
    shapes = widened(job, [tuple(a.shape) for a in arrays], mapped)
    return [a if s is None else a.reshape(s[0]).expand(s[1]) for a, s in zip(arrays, shapes, strict=True)]


class Call(torch.autograd.Function):
    """The operator with its derivatives: `Call.apply(name, *arrays)`, a tuple of results."""

    @staticmethod
    def forward(name: str, *arrays: Tensor) -> tuple[Tensor, ...]:
        return tuple(call(name, list(arrays)))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.name, *arrays = inputs
        ctx.save_for_backward(*arrays)
        ctx.save_for_forward(*arrays)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *weights: Tensor | None) -> tuple[Tensor | None, ...]:
        job, given = _saved(ctx)
        wrt = tuple(n for n, wanted in zip(job.present, ctx.needs_input_grad[1:], strict=True) if wanted)
        counting = tuple(k for k, weight in enumerate(weights) if weight is not None)
        derived, names = vjp_job(job, wrt, counting)
        found = _applied(derived, given | {n: weights[k] for n, k in zip(names, counting, strict=True)})
        gradients = dict(zip(wrt, found[len(weights) :], strict=True))
        sums = {n: g.sum_to_size(given[n].shape) for n, g in gradients.items()}
        return None, *(sums.get(n) for n in job.present)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Tensor | None) -> tuple[Tensor, ...]:
        job, given = _saved(ctx)
        changes = {n: t for n, t in zip(job.present, tangents, strict=True) if t is not None}
        derived, jvp = jvp_job(job, tuple(changes))
        found = _applied(derived, given | {jvp.mark + n: t for n, t in changes.items()})
        return found[len(job.function.outputs) :]

    @staticmethod
    def vmap(info: Any, axes: tuple, name: str, *arrays: Tensor) -> tuple[tuple, tuple]:
        mapped = [axis is not None for axis in axes[1:]]
        moved = [a if axis is None else a.movedim(axis, 0) for a, axis in zip(arrays, axes[1:], strict=True)]
        results = Call.apply(name, *_aligned(job_of(name), moved, mapped))
        return results, (0,) * len(results)


# precomputed: PyTorch inspects it at every call
Call.forward.__signature__ = inspect.signature(Call.forward)  # type: ignore[attr-defined]


def _saved(ctx: Any) -> tuple[Job, dict[str, Any]]:
    job = job_of(ctx.name)
    return job, dict(zip(job.present, ctx.saved_tensors, strict=True))


def _applied(job: Job, arrays: dict[str, Any]) -> tuple[Tensor, ...]:
    return Call.apply(name_of(job), *(arrays[name] for name in job.present))
