"""NVIDIA GPUs: the same program, with one or two threads per state, or one warp per limb.

    kt.inverse_dynamics(robot, q, v, a)       arrays of CuPy, PyTorch, JAX: runs there, returns the same
    kt.compile(kt.inverse_dynamics, robot, target="cuda")        a kernel; copies host arrays, if given

Nothing is copied between host and device implicitly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kinetree.compiler.runtime import cuda, cuda_kernels
from kinetree.compiler.runtime import cuda_arrays as arrays_of
from kinetree.compiler.runtime.cuda_arrays import View
from kinetree.compiler.runtime.on_device import is_on_device
from kinetree.errors import ShapeError
from kinetree.stages.batches import delivered
from kinetree.stages.job import Job
from kinetree.stages.target import Target
from kinetree.stages.targets.cuda_code import Code, Loaded
from kinetree.stages.targets.cuda_host import from_host

FORMS = 256  # cached call forms


class Cuda(Target):
    """Compiles the program of a job to PTX; the driver does the rest."""

    name = "cuda"
    exact = True
    part_size = 0  # registers are plenty, and values that cross a cut go to slow memory

    def executable(self, job: Job) -> CudaKernel:
        return job.model.memo((type(self), job), lambda: CudaKernel(job, exact=self.exact))


class Form(NamedTuple):
    """What the shapes and strides of its arrays say about a call."""

    batch: tuple[int, ...]
    states: int
    layout: str  # "rows", "dense" or "any"
    strides: list[tuple[int, int]]  # (state, element) of every input and output
    columns: bool  # coordinate-major: neighbouring states are adjacent


class CudaKernel:
    """A function of a model on GPUs: `kernel(*arrays, out=None)`, batch axes lead.

    Args:
        silent: a refused state is NaN, and no error is raised.
        exact: with the bits of the CPU.
    """

    def __init__(self, job: Job, silent: bool = False, exact: bool = True):
        cuda.driver()
        self.job, self.name, self.dtype = job, job.function.name, np.dtype(job.dtype)
        self.code = Code(job, silent, exact)
        self.input_shapes, self.output_shapes = job.shapes
        self._forms: dict[Any, Form] = {}

    @property
    def ops(self) -> dict[str, int]:
        """How often each operation occurs in the program."""
        return self.code.program.ops

    @property
    def source(self) -> str:
        """The PTX for contiguous rows."""
        return self.code.ptx("rows", cuda.device()).text

    @property
    def tables(self) -> bytes:
        """The constant tables of the program."""
        return self.code.tables

    def placed(self, where: cuda.Device) -> Loaded:
        """The verified kernel for rows on one device."""
        return self.code.load(where, "rows")

    def report(self) -> str:
        """A description of the kernel in a few lines of text."""
        counts = ", ".join(f"{k} {v}" for k, v in self.ops.items() if v)
        return f"{self.name} ({self.dtype}, cuda)\n  operations {counts}"

    def __repr__(self) -> str:
        return f"<kernel {self.name} for GPUs, {self.dtype}>"

    # -- calls

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        if len(arrays) != len(self.job.present):
            raise TypeError(f"{self.name} takes {', '.join(self.job.present)}, got {len(arrays)} arrays")
        there = [is_on_device(a) for a in arrays]
        if arrays and all(there):
            return self._on_device(arrays, out)
        if any(there):
            where = ", ".join(f"{n} {'device' if t else 'host'}" for n, t in zip(self.job.present, there))
            raise ShapeError(
                f"{self.name}: arrays of the host and of the device are mixed ({where}): move them to one"
            )
        return self._from_host(arrays, out)

    def _on_device(self, arrays: Sequence[Any], out: Any) -> Any:
        library = arrays_of.library_of(arrays[0])
        given = out if isinstance(out, tuple) else None if out is None else (out,)
        where = arrays_of.device_of(self.name, (*arrays, *(given or ())))
        stream = arrays_of.stream_of(library, where)
        readable = [arrays_of.readable(a, stream) for a in arrays]
        views = [View.of(a) for a in readable]
        targets = None if given is None else [View.of(r) for r in given]
        form = self._form(views, targets)
        if given is None or targets is None:
            results: tuple[Any, ...] = tuple(
                arrays_of.empty(library, form.batch, s, self.dtype, where, form.columns)
                for s in self.output_shapes
            )
            targets = [View.of(r) for r in results]
        else:
            results = given
            for target in targets:  # inputs are still read after results have been written
                if any(target.overlaps(view) for view in views):
                    raise ShapeError(f"{self.name}: out shares memory with an input: give another array")
        if form.states:
            pointers = [v.pointer for v in (*views, *targets)]
            notes = self.code.start(form, pointers, where, stream)
            if notes is not None:
                worst = notes.refused()
                if worst is not None:
                    index = np.unravel_index(worst, form.batch) if form.batch else ()
                    state = [
                        v.fetched(worst, s, math.prod(shape), self.dtype, where).reshape(shape)
                        for v, s, shape in zip(views, form.strides, self.input_shapes)
                    ]
                    self.job.explain(tuple(int(k) for k in index), state)
            elif arrays_of.waits(library):
                cuda_kernels.wait(where, stream)
        if given is None:
            results = tuple(arrays_of.handed_over(library, r) for r in results)
        return results if len(results) > 1 else results[0]

    def start(self, views: list[View], targets: list[View], where: cuda.Device, stream: int) -> None:
        """Start the kernel on arrays that are on its device; its guard is not read."""
        form = self._form(views, targets)
        if form.states:
            notes = self.code.start(form, [v.pointer for v in (*views, *targets)], where, stream)
            if notes is not None:
                notes.reset()
                notes.give_back()

    def _form(self, views: list[View], targets: list[View] | None) -> Form:
        """The form of the arrays, checked once for each form of call."""
        key = tuple([v[1:] for v in views]), targets and tuple([v[1:] for v in targets])
        found = self._forms.get(key)
        if found is None:
            if len(self._forms) >= FORMS:
                self._forms.clear()
            found = self._forms[key] = self._checked(views, targets)
        return found

    def _checked(self, views: list[View], targets: list[View] | None) -> Form:
        for name, view, shape in zip(self.job.present, views, self.input_shapes, strict=True):
            if np.dtype(view.dtype) != self.dtype:
                raise ShapeError(
                    f"{self.name}: {name} holds {np.dtype(view.dtype)}, but this kernel computes in "
                    f"{self.dtype}"
                )
            if view.shape[len(view.shape) - len(shape) :] != shape or len(view.shape) < len(shape):
                raise ShapeError(self.job.wrong_shape(name, view.shape))
        try:
            batch = np.broadcast_shapes(
                *(v.shape[: len(v.shape) - len(s)] for v, s in zip(views, self.input_shapes))
            )
        except ValueError:
            shapes = ", ".join(f"{n} {v.shape}" for n, v in zip(self.job.present, views))
            raise ShapeError(
                f"{self.name}: the batch axes of the arguments do not broadcast: {shapes}"
            ) from None
        count = math.prod(batch)
        strides = [
            v.state(len(s), batch, f"{self.name}: {n}") if math.prod(s) else (0, 1)
            for v, s, n in zip(views, self.input_shapes, self.job.present)
        ]
        wide = [f for f, s in zip(strides, self.input_shapes) if math.prod(s) > 1 and f[0]]
        columns = count > 1 and bool(wide) and all(f == (1, count) for f in wide)
        if targets is not None:
            names = [a.name for a in self.job.function.outputs]
            if len(targets) != len(names):
                raise ShapeError(f"{self.name}: out has {len(targets)} arrays, but {len(names)} are needed")
            for target, shape, name in zip(targets, self.output_shapes, names):
                if target.shape != batch + shape or np.dtype(target.dtype) != self.dtype:
                    raise ShapeError(
                        f"{self.name}: out is {target.shape} of {np.dtype(target.dtype)}, needs "
                        f"{batch + shape} of {self.dtype}"
                    )
                strides.append(
                    target.state(len(shape), batch, f"{self.name}: {name}") if math.prod(shape) else (0, 1)
                )
        else:
            sizes = [math.prod(s) for s in self.output_shapes]
            strides += [(1, count) if columns else (size, 1) for size in sizes]
        dense = all(element == 1 for _, element in strides)
        rows = dense and all(
            state == math.prod(s)
            for (state, _), s in zip(strides[len(views) :], self.output_shapes, strict=True)
        )
        return Form(batch, count, "rows" if rows else "dense" if dense else "any", strides, columns)

    def _from_host(self, arrays: Sequence[Any], out: Any) -> Any:
        """Run on host arrays, in chunks that are copied while others compute."""
        sources = [a.astype(self.dtype, copy=False) for a in self.job.checked(arrays)]
        batch = np.broadcast_shapes(*(a.shape[: a.ndim - len(s)] for a, s in zip(sources, self.input_shapes)))
        count = math.prod(batch)
        results = [np.empty((count, *s), self.dtype) for s in self.output_shapes]
        flat = [
            a.reshape(s)
            if math.prod(a.shape[: a.ndim - len(s)]) == 1
            else np.broadcast_to(a, batch + s).reshape(count, *s)
            for a, s in zip(sources, self.input_shapes)
        ]
        refused = from_host(self.code, flat, results, count)
        if refused is not None:
            index = tuple(int(k) for k in np.unravel_index(refused, batch)) if batch else ()
            whole = [np.broadcast_to(a, (count, *s)) for a, s in zip(flat, self.input_shapes)]
            self.job.explain(index, [a[refused] for a in whole])
        shaped = [r.reshape(batch + s) for r, s in zip(results, self.output_shapes)]
        return delivered(self.name, shaped, out)
