"""A compiled program that is called like a NumPy function."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinetree.compiler.ir.program import Program
from kinetree.compiler.runtime import batching as op
from kinetree.compiler.runtime import fastcall
from kinetree.compiler.runtime import threads as pool
from kinetree.compiler.runtime.artifact import Artifact
from kinetree.compiler.runtime.batching import Core, Describe, Shape
from kinetree.compiler.runtime.entry import Description
from kinetree.compiler.runtime.loaded import KEPT, Loaded
from kinetree.errors import SingularError

BLOCK = 40e3  # nanoseconds of work that a thread takes at a time
LONG = 300e3  # nanoseconds of one state, beyond which a call lets other Python threads run


class Kernel:
    """A program compiled for this machine: `kernel(*inputs, out=None)` with the semantics of a NumPy gufunc.

    Batch axes lead and broadcast; `out=` may be any array, also one of the inputs. A state gives the same
    bits wherever it stands in a batch of any size, and for any number of threads. A state with NaN or
    infinity among its inputs gives NaN. Machine code is made when it is first needed: scalar code for one
    state, SIMD code for a batch.

    Args:
        program: what to compile (after `compiler.pipeline.optimize`), or a function that gives it.
        input_shapes, output_shapes: the shape of each argument and result for one state.
        describe: the message of the `ShapeError` for an argument of this name and shape.
        on_singular: called with the batch index and the inputs of the first state whose guard fails; raises.
        key: a text that determines the program; machine code is then found on disk without it.
    """

    def __init__(
        self,
        program: Program | Callable[[], Program],
        input_shapes: Sequence[Shape],
        output_shapes: Sequence[Shape],
        dtype: str = "float64",
        *,
        input_names: Sequence[str] = (),
        output_names: Sequence[str] = (),
        name: str = "",
        describe: Describe | None = None,
        on_singular: Callable[[tuple[int, ...], list[np.ndarray]], None] | None = None,
        key: str | None = None,
        ops: dict[str, int] | None = None,
    ):
        if isinstance(program, Program):
            input_names = input_names or [a.name for a in program.inputs]
            output_names = output_names or [a.name for a in program.outputs]
            name = name or program.name
        self.inputs = tuple(
            Core(n, tuple(s)) for n, s in zip(_named(input_names, input_shapes), input_shapes)
        )
        self.outputs = tuple(
            Core(n, tuple(s)) for n, s in zip(_named(output_names, output_shapes), output_shapes)
        )
        self.name = name or "kernel"
        self.dtype = np.dtype(dtype)
        self._threads: int | None = None
        self._describe = describe
        self._on_singular = on_singular
        description = Description(
            self.name,
            str(self.dtype),
            [(c.name, list(c.shape)) for c in self.inputs],
            [(c.name, list(c.shape)) for c in self.outputs],
            ops=dict(ops or {}),
        )
        self._artifact = Artifact(program, description, key)
        self._single: Loaded | None = None
        self._batch: Loaded | None = None
        self._calls = 0
        self._fast: Callable | None = None
        self._context: fastcall.Context | None = None

    # -- what it is

    @property
    def ops(self) -> dict[str, int]:
        """How often each operation stands in the program; `flops` = add + mul + div + sqrt."""
        return dict(self._artifact.ops)

    @property
    def source(self) -> str:
        """The LLVM text of the code for a batch."""
        return self._artifact.module("run").text

    @property
    def assembly(self) -> str:
        """The machine code for a batch as text."""
        return self._artifact.assembly("run")

    @property
    def compile_seconds(self) -> float:
        """The time that tracing and compiling took so far; 0 if the machine code was found on disk."""
        return self._artifact.seconds

    def report(self) -> str:
        """What the kernel is, as a few lines of text."""
        return self._artifact.report(self.inputs, self.outputs)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{c.name}{list(c.shape)}" for c in self.inputs)
        outputs = ", ".join(f"{c.name}{list(c.shape)}" for c in self.outputs)
        return f"Kernel({self.name}: {inputs} -> {outputs}, {self.dtype})"

    @property
    def threads(self) -> int | None:
        """How many threads a batch may use; None: as many as `kinetree.compiler.runtime.threads` says."""
        return self._threads

    @threads.setter
    def threads(self, count: int | None) -> None:
        if count is not None and (not isinstance(count, int) or count < 1):
            raise ValueError(f"threads must be a positive integer or None, not {count!r}")
        self._threads = count
        self.on_threads()

    def on_threads(self) -> None:
        """Decide anew which batches are worth more than one thread."""
        if self._context is not None and self._batch is not None:
            cost = self._batch.description.nanoseconds
            self._context.allow(pool.longest_alone(cost, self._threads))

    # -- calls

    @property
    def call(self) -> Callable:
        """The kernel as a built-in function: what `kernel(...)` does, with the least overhead."""
        if self._fast is None:
            made = fastcall.make(self.name, self.inputs, self.outputs, self.dtype, self._general)
            if made is None:
                return self._general
            self._fast, self._context = made
            self._connect()
            pool.follow(self)
            # a built-in function in the class is called without `self`, and without a Python frame in between
            kind = type(self)
            self.__class__ = type(
                kind.__name__, (kind,), {"__call__": self._fast, "__module__": kind.__module__}
            )
        return self._fast

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        self._calls += 1
        return (self.call if self._calls > 1 else self._general)(*arrays, out=out)

    def _general(self, *arrays: Any, out: Any = None) -> Any:
        """A call with whatever arrays."""
        if len(arrays) != len(self.inputs):
            names = ", ".join(core.name for core in self.inputs)
            raise TypeError(f"{self.name} takes {len(self.inputs)} arrays ({names}), not {len(arrays)}")
        sources = [op.convert(c, a, self.dtype, self._describe) for c, a in zip(self.inputs, arrays)]
        given = op.check_out(self.outputs, out)
        batch = op.batch_shape((*self.inputs, *self.outputs), sources, given)
        direct = op.are_apart(given)
        results = [
            array
            if array is not None and direct and op.is_plain(array, self.dtype, len(core.shape))
            else np.empty(batch + core.shape, self.dtype)
            for core, array in zip(self.outputs, given)
        ]
        sources = [
            a if op.is_plain(a, self.dtype, len(c.shape)) else a.copy("C")
            for c, a in zip(self.inputs, sources)
        ]
        if 0 not in batch:
            self._run(batch, sources, results)
        for array, result in zip(given, results):
            if array is not None and array is not result:
                np.copyto(array, result, casting="same_kind")
        finished = [r if g is None else g for r, g in zip(results, given)]
        values = tuple(r[()] if r.ndim == 0 and g is None else r for r, g in zip(finished, given))
        return values if len(values) != 1 else values[0]

    def _run(self, batch: Shape, sources: list[np.ndarray], results: list[np.ndarray]) -> None:
        if not batch or batch == (1,) * len(batch):
            if self.single.call([*map(op.address, sources), *map(op.address, results)]) >= 0:
                self._singular((0,) * len(batch), batch, sources)
            return
        axes = len(batch)
        views = [np.broadcast_to(a, batch + c.shape) for c, a in zip(self.inputs, sources)]
        for k, view in enumerate(views):
            if any(op.interferes(view, r, axes, self.batch.description.guarded) for r in results):
                views[k] = sources[k] = view.copy("C")
        lengths, strides = op.collapse(batch, [a.strides[:axes] for a in (*views, *results)])
        if len(lengths) > 1 and lengths[-1] < op.SHORT:
            temporary = [np.empty(batch + c.shape, self.dtype) for c in self.outputs]
            self._run(batch, [np.ascontiguousarray(v) for v in views], temporary)
            for result, value in zip(results, temporary):
                np.copyto(result, value)
            return
        addresses = [op.address(a) for a in (*views, *results)]
        steps = [s[-1] for s in strides]
        for number, position in enumerate(op.outer(lengths)):
            shifted = [
                a + sum(p * s for p, s in zip(position, stride)) for a, stride in zip(addresses, strides)
            ]
            bad = self._states(shifted, steps, lengths[-1])
            if bad >= 0:
                self._singular(np.unravel_index(number * lengths[-1] + bad, batch), batch, views)

    def _states(self, addresses: list[int], strides: list[int], count: int) -> int:
        """Run states at equal distances; the first singular one, or -1."""
        batch = self.batch
        cost = batch.description.nanoseconds
        limit = self.threads or pool.thread_limit()
        alone = count <= pool.longest_alone(cost, self._threads)
        wanted = 1 if alone else min(limit, int(count * cost / pool.WORTH), batch.most_threads)
        lanes = batch.description.lanes
        block = max(lanes, int(BLOCK / cost) // lanes * lanes)
        counter = ctypes.c_int64(0)
        work = batch.worker(addresses, strides, count, counter, block if wanted > 1 else count + lanes)
        found = [index for index in pool.run(work, wanted) if index >= 0]
        return min(found, default=-1)

    def _singular(self, index: Sequence[Any], batch: Shape, sources: list[np.ndarray]) -> None:
        position = tuple(int(k) for k in index)
        if self._on_singular is not None:
            views = [np.broadcast_to(a, batch + c.shape) for c, a in zip(self.inputs, sources)]
            self._on_singular(position, [view[position] for view in views])
        where = f" of state {position}" if position else ""
        raise SingularError(f"{self.name}: the inertia{where} is singular along one of its motions")

    # -- machine code, made when first needed

    @property
    def single(self) -> Loaded:
        """The scalar code."""
        if self._single is None:
            self._single = self._artifact.load("one")
            self._connect()
        return self._single

    @property
    def batch(self) -> Loaded:
        """The SIMD code."""
        if self._batch is None:
            self._batch = self._artifact.load("run")
            self._connect()
        return self._batch

    def _connect(self) -> None:
        """Let fast calls run the machine code that is there, if they do not hold up others for long."""
        if self._context is not None:
            if self._single is not None and self._single.description.nanoseconds < LONG:
                self._context.connect(self._single, single=True)
            if self._batch is not None and self._batch.description.workspace_bytes < KEPT:
                self._context.connect(self._batch, single=False)
                self.on_threads()


def _named(names: Sequence[str], shapes: Sequence[Shape]) -> Sequence[str]:
    return names if len(names) == len(shapes) else [f"argument {k}" for k in range(len(shapes))]
