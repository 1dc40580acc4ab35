"""The JAX primitive for functions of a model: one for all of them, with the job as a parameter.

Its jvp is the primitive again, for the job of the jvp; that is linear in the tangents, and its transpose is
the primitive for the job of the vjp. So derivatives of any order are kernels.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache, partial
from math import prod
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from kinetree.bridges.calls import Shape, Wrapped, batch_of, jvp_job, vjp_job, widened
from kinetree.bridges.jax_handlers import device_kernel, handler
from kinetree.bridges.numbers import Run, operations
from kinetree.errors import ShapeError
from kinetree.model import Model
from kinetree.stages.derivative import Jvp
from kinetree.stages.function import Function
from kinetree.stages.job import Job
from kinetree.stages.splice import lowered


class JaxFunction(Wrapped):
    """A function of a model for JAX; see `kinetree.bridges.jax.wrap`."""

    library = "jax"

    def __init__(self, function: Function, model: Model, fixed: dict[str, Any], pure: bool):
        super().__init__(function, model, fixed)
        self.pure = pure

    def arrays(self, given: dict[str, Any]) -> tuple[str, list[Any]]:
        doubles = [n for n, x in given.items() if isinstance(x, np.ndarray) and x.dtype == np.float64]
        if doubles and not jax.config.jax_enable_x64:
            warnings.warn(
                f"{self.function.name}: {', '.join(doubles)} in float64 become float32, since JAX's x64 is "
                "off: call jax.config.update('jax_enable_x64', True) first, or give float32",
                stacklevel=3,
            )
        values = [jnp.asarray(x) if isinstance(x, (list, tuple)) else x for x in given.values()]
        dtype = jnp.result_type(*values)
        if jnp.issubdtype(dtype, jnp.complexfloating):
            raise ShapeError(f"{self.function.name}: real numbers are needed, not {dtype} values")
        dtype = jnp.promote_types(dtype, jnp.float32) if jnp.issubdtype(dtype, jnp.floating) else float
        arrays = [jnp.asarray(x, dtype) for x in values]
        return str(arrays[0].dtype), arrays

    def spread(self, array: Any, shape: Shape) -> Any:
        return jnp.broadcast_to(array, shape)

    def results(self, job: Job, arrays: list[Any]) -> Sequence[Any]:
        return call.bind(*arrays, job=job, pure=self.pure)


call = Primitive("kinetree")
call.multiple_results = True


@call.def_impl
def _run(*arrays: Any, job: Job, pure: bool) -> Any:
    if jax.config.jax_disable_jit:
        return _operations(*arrays, job=job, pure=pure)
    return _compiled(job, pure)(*arrays)


@cache
def _compiled(job: Job, pure: bool) -> Any:
    return jax.jit(partial(call.bind, job=job, pure=pure))


@call.def_abstract_eval
def _shapes(*arrays: Any, job: Job, pure: bool) -> list[Any]:
    batch = batch_of(job, [a.shape for a in arrays])
    return [arrays[0].update(shape=batch + core) for core in job.shapes[1]]


# -- derivatives


def _named(job: Job, arrays: dict[str, Any], pure: bool) -> list[Any]:
    return call.bind(*(arrays[name] for name in job.present), job=job, pure=pure)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, job: Job, pure: bool) -> tuple[list, list]:
    values = call.bind(*primals, job=job, pure=pure)
    changes = {n: t for n, t in zip(job.present, tangents, strict=True) if type(t) is not ad.Zero}
    derived, jvp = jvp_job(job, tuple(changes))
    arrays = dict(zip(job.present, primals, strict=True)) | {jvp.mark + n: t for n, t in changes.items()}
    return values, _named(derived, arrays, pure)[len(values) :]


def _transpose(weights: Sequence[Any], *arrays: Any, job: Job, pure: bool) -> list[Any]:
    jvp = job.function
    if not isinstance(jvp, Jvp):
        raise NotImplementedError(f"{jvp.name} is not linear in the arguments that JAX transposes")
    count = len(jvp.base.outputs)
    counting = tuple(k for k in range(count) if type(weights[count + k]) is not ad.Zero)
    linear = {n: x for n, x in zip(job.present, arrays, strict=True) if ad.is_undefined_primal(x)}
    wrt = tuple(n for n in jvp.arguments if jvp.mark + n in linear)
    present = tuple(n for n in jvp.arguments if n in job.present)
    derived, names = vjp_job(Job(jvp.base, job.model, present, job.options, job.dtype), wrt, counting)
    given = dict(zip(job.present, arrays, strict=True))
    given |= {n: weights[count + k] for n, k in zip(names, counting, strict=True)}
    gradients = dict(zip(wrt, _named(derived, given, pure)[count:], strict=True))
    found = {jvp.mark + n: _summed(g, linear[jvp.mark + n].aval.shape) for n, g in gradients.items()}
    return [found.get(name) for name in job.present]


def _summed(gradient: Any, shape: Shape) -> Any:
    """The gradient of an array shared by all states."""
    return gradient.sum(tuple(range(gradient.ndim - len(shape))))


ad.primitive_jvps[call] = _jvp
ad.primitive_transposes[call] = _transpose


# -- batches


def _batched(arrays: Sequence[Any], axes: Sequence[Any], *, job: Job, pure: bool) -> tuple[list, list]:
    mapped = [axis is not None for axis in axes]
    moved = [x if axis is None else jnp.moveaxis(x, axis, 0) for x, axis in zip(arrays, axes, strict=True)]
    shapes = widened(job, [x.shape for x in moved], mapped)
    whole = [x if s is None else jnp.broadcast_to(x.reshape(s[0]), s[1]) for x, s in zip(moved, shapes)]
    results = call.bind(*whole, job=job, pure=pure)
    return results, [0] * len(results)


batching.primitive_batchers[call] = _batched


# -- code


def _machine_code(*arrays: Any, job: Job, pure: bool) -> Sequence[Any]:
    if pure:
        return _operations(*arrays, job=job, pure=pure)
    batch = batch_of(job, [a.shape for a in arrays])
    results = [jax.ShapeDtypeStruct(batch + core, job.dtype) for core in job.shapes[1]]
    return jax.ffi.ffi_call(handler(job, batch == (1,) * len(batch)), results)(*arrays)


def _device_code(*arrays: Any, job: Job, pure: bool) -> Sequence[Any]:
    """The kernel on XLA's stream; XLA operations if there is no kernel for this function or device."""
    kernel = None if pure else device_kernel(job)
    if kernel is None:
        return _operations(*arrays, job=job, pure=pure)
    batch = batch_of(job, [a.shape for a in arrays])
    results = [jax.ShapeDtypeStruct(batch + core, job.dtype) for core in job.shapes[1]]
    extra = [jax.ShapeDtypeStruct(*facts) for facts in kernel.extra(prod(batch))]
    return jax.ffi.ffi_call(kernel.name, [*results, *extra])(*arrays)[: len(results)]


def _operations(*arrays: Any, job: Job, pure: bool) -> Sequence[Any]:
    """The program as XLA operations; NaN in states that are refused or not finite."""
    program = lowered(job)
    inputs, outputs = job.shapes
    batch = batch_of(job, [a.shape for a in arrays])
    flat = [
        a.reshape(*a.shape[: a.ndim - len(core)], prod(core)) for a, core in zip(arrays, inputs, strict=True)
    ]
    run = Run(program, _numpy(), [[a[..., k] for k in range(a.shape[-1])] for a in flat])
    sound: Any = True
    for a in flat:
        sound = sound & jnp.isfinite(a).all(-1)
    if program.guard is not None:
        sound = sound & (run.memory[program.guard][0] >= 1.0)
    results = []
    for array, core in zip(program.outputs, outputs, strict=True):
        numbers = [jnp.where(sound, jnp.asarray(x, job.dtype), jnp.nan) for x in run.memory[array]]
        rows = [jnp.broadcast_to(x, batch) for x in numbers]
        row = jnp.stack(rows, -1) if rows else jnp.zeros((*batch, 0), job.dtype)
        results.append(row.reshape(batch + core))
    return results


@cache
def _numpy() -> dict[str, Any]:
    return operations(SimpleNamespace(**(vars(jnp) | {"min": jnp.minimum, "max": jnp.maximum})))


mlir.register_lowering(call, mlir.lower_fun(_operations, multiple_results=True))
mlir.register_lowering(call, mlir.lower_fun(_machine_code, multiple_results=True), platform="cpu")
mlir.register_lowering(call, mlir.lower_fun(_device_code, multiple_results=True), platform="cuda")
