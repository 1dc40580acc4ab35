"""A compiled program that is called like a NumPy function."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NoReturn

import numpy as np

from kinetree.compiler.ir.program import Program
from kinetree.compiler.runtime import batching as op
from kinetree.compiler.runtime import fastcall
from kinetree.compiler.runtime import threads as pool
from kinetree.compiler.runtime.artifact import Artifact
from kinetree.compiler.runtime.description import Core, Shape
from kinetree.compiler.runtime.loaded import KEPT, Loaded
from kinetree.errors import ArgumentError, ShapeError, SingularError

BLOCK = 40e3  # nanoseconds of work that a thread takes at a time
LONG = 300e3  # nanoseconds per state, above which a call releases the GIL


class Kernel:
    """A program compiled for this machine: `kernel(*inputs, out=None)` with the semantics of a NumPy gufunc.

    Batch axes lead and broadcast; `out=` may be any array, also one of the inputs. A state gives the same
    bits anywhere in a batch of any size, and for any number of threads. A state with NaN or infinity among
    its inputs gives NaN; the content of `out=` for a refused state is undefined. Machine code is compiled
    when first needed: scalar code for one state, SIMD code for a batch.

    Subclasses may give more precise errors (`wrong_shape`, `singular`), and define how a kernel is recreated
    (`program`), also in another process (`__reduce__`).
    """

    def __init__(self, artifact: Artifact):
        self.artifact = artifact
        self.name = artifact.description.name
        self.inputs = artifact.description.inputs
        self.outputs = artifact.description.outputs
        self.dtype = np.dtype(artifact.description.dtype)
        self._threads: int | None = None
        self._single: Loaded | None = None
        self._batch: Loaded | None = None
        self.calls = 0  # calls so far, until a built-in function takes over
        self._fast: Callable | None = None
        self._contexts: list[fastcall.Context] = []  # of the built-in functions that run this kernel

    # -- properties

    @property
    def ops(self) -> dict[str, int]:
        """How often each operation occurs in the program; `flops` = add + mul + div + sqrt."""
        return dict(self.artifact.ops)

    @property
    def source(self) -> str:
        """The LLVM text of the code for a batch."""
        return self.text("run")

    @property
    def assembly(self) -> str:
        """The machine code for a batch as text."""
        return self.artifact.assembly("run", self.program)

    @property
    def compile_seconds(self) -> float:
        """The time spent on tracing and compiling so far; 0 if the machine code was found on disk."""
        return self.artifact.seconds

    def report(self) -> str:
        """A description of the kernel in a few lines of text."""
        return self.artifact.report()

    def __repr__(self) -> str:
        return f"Kernel({self.artifact.description})"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(f"the kernel {self.name} does not know how it was made, so it cannot be pickled")

    def text(self, variant: str) -> str:
        """The LLVM text of the code for one state ("one") or a batch ("run")."""
        return self.artifact.text(variant, self.program)

    def program(self) -> Program:
        """The program, recreated."""
        raise TypeError(f"the kernel {self.name} does not know how it was made")

    def wrong_shape(self, core: Core, shape: Shape) -> str:
        """The message for an argument of the wrong shape."""
        return op.expected(core, shape)

    def singular(self, index: tuple[int, ...], state: list[np.ndarray]) -> NoReturn:
        """Raise `SingularError` for the first state whose guard fails: its batch index and its inputs."""
        where = f" of state {index}" if index else ""
        raise SingularError(f"{self.name}: the inertia{where} is singular along one of its motions")

    @property
    def threads(self) -> int | None:
        """How many threads a batch may use; None: the setting of `kinetree.compiler.runtime.threads`."""
        return self._threads

    @threads.setter
    def threads(self, count: int | None) -> None:
        if count is not None and (not isinstance(count, int) or count < 1):
            raise ValueError(f"threads must be a positive integer or None, not {count!r}")
        self._threads = count
        self.on_threads()

    def on_threads(self) -> None:
        """Update which batches are worth more than one thread."""
        if self._batch is not None:
            for context in self._contexts:
                context.allow(pool.longest_alone(self._batch.variant.nanoseconds, self._threads))

    # -- calls

    @property
    def call(self) -> Callable:
        """The kernel as a built-in function: the same as `kernel(...)`, with the least overhead."""
        if self._fast is None:
            made = self.fast(self._general)
            if made is None:
                return self._general
            self._fast = made[0]
            fastcall.call_by(self, self._fast)
        return self._fast

    def fast(self, general: Callable, result: type = tuple) -> tuple[Callable, fastcall.Context] | None:
        """A built-in function that runs this kernel, or `general` if the arguments do not suit the code.

        None if that is not possible here. `result` is the type of several results: tuple or a NamedTuple.
        """
        made = fastcall.for_kernel(self.name, self.inputs, self.outputs, self.dtype, general, result)
        if made is not None:
            self._contexts.append(made[1])
            self._connect()
            pool.follow(self)
        return made

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        self.calls += 1
        return (self.call if self.calls > 1 else self._general)(*arrays, out=out)

    def _general(self, *arrays: Any, out: Any = None) -> Any:
        """A call with arbitrary arrays."""
        if len(arrays) != len(self.inputs):
            names = ", ".join(core.name for core in self.inputs)
            raise ArgumentError(f"{self.name} takes {len(self.inputs)} arrays ({names}), not {len(arrays)}")
        sources = [op.convert(core, array, self.dtype) for core, array in zip(self.inputs, arrays)]
        for core, array in zip(self.inputs, sources):
            if not op.fits(core, array):
                raise ShapeError(self.wrong_shape(core, array.shape))
        sources = [
            a if op.is_plain(a, self.dtype, len(c.shape)) else a.copy("C")
            for c, a in zip(self.inputs, sources)
        ]
        if self._fast is not None and any(a is not b for a, b in zip(arrays, sources)):
            return self._fast(*sources, out=out)  # converted, they may suit it
        given = op.check_out(self.outputs, out, self.dtype)
        batch = op.batch_shape((*self.inputs, *self.outputs), sources, given)
        direct = op.are_apart(given)
        results = [
            array
            if array is not None and direct and op.is_plain(array, self.dtype, len(core.shape))
            else np.empty(batch + core.shape, self.dtype)
            for core, array in zip(self.outputs, given)
        ]
        if 0 not in batch:
            self._run(batch, sources, results)
        for place, result in zip(given, results):
            if place is not None and place is not result:
                np.copyto(place, result, casting="same_kind")
        finished = [r if g is None else g for r, g in zip(results, given)]
        values = tuple(r[()] if r.ndim == 0 and g is None else r for r, g in zip(finished, given))
        return values if len(values) != 1 else values[0]

    def _run(self, batch: Shape, sources: list[np.ndarray], results: list[np.ndarray]) -> None:
        views = [op.spread(c, a, batch) for c, a in zip(self.inputs, sources)]
        if all(length == 1 for length in batch):
            if self.single.one([*map(op.address, sources), *map(op.address, results)]) >= 0:
                self._stop((0,) * len(batch), views)
            return
        axes = len(batch)
        for k, view in enumerate(views):
            if any(op.interferes(view, r, axes, self.artifact.guarded) for r in results):
                views[k] = view.copy("C")
        lengths, strides = op.collapse(batch, [a.strides[:axes] for a in (*views, *results)])
        places = results
        if len(lengths) > 1 and lengths[-1] < op.SHORT:
            views = [np.ascontiguousarray(view) for view in views]
            places = [np.empty(batch + core.shape, self.dtype) for core in self.outputs]
            lengths = (prod(batch),)
            strides = [(core.size * self.dtype.itemsize,) for core in (*self.inputs, *self.outputs)]
        addresses = [op.address(a) for a in (*views, *places)]
        steps = [s[-1] for s in strides]
        for number, position in enumerate(op.outer(lengths)):
            shifted = [
                a + sum(p * s for p, s in zip(position, stride)) for a, stride in zip(addresses, strides)
            ]
            bad = self._states(shifted, steps, lengths[-1])
            if bad >= 0:
                self._stop(np.unravel_index(number * lengths[-1] + bad, batch), views)
        for result, place in zip(results, places):
            if result is not place:
                np.copyto(result, place)

    def _states(self, addresses: list[int], strides: list[int], count: int) -> int:
        """Run equally spaced states; returns the first singular one, or -1."""
        batch = self.batch
        cost, lanes = batch.variant.nanoseconds, batch.variant.lanes
        limit = self.threads or pool.thread_limit()
        alone = count <= pool.longest_alone(cost, self._threads)
        wanted = 1 if alone else min(limit, int(count * cost / pool.WORTH), batch.most_threads)
        block = max(lanes, int(BLOCK / cost) // lanes * lanes) if wanted > 1 else count + lanes
        return batch.run(addresses, strides, count, wanted, block)

    def _stop(self, index: tuple[Any, ...], views: list[np.ndarray]) -> NoReturn:
        position = tuple(int(k) for k in index)
        self.singular(position, [view[position] for view in views])

    # -- machine code, compiled when first needed

    @property
    def single(self) -> Loaded:
        """The scalar code."""
        if self._single is None:
            self._single = self.artifact.load("one", self.program)
            self._connect()
        return self._single

    @property
    def batch(self) -> Loaded:
        """The SIMD code."""
        if self._batch is None:
            self._batch = self.artifact.load("run", self.program)
            self._connect()
        return self._batch

    def _connect(self) -> None:
        """Let fast calls run the available machine code, if they do not block others for long."""
        for context in self._contexts:
            if self._single is not None and self._single.variant.nanoseconds < LONG:
                context.connect(self._single, single=True)
            if self._batch is not None and self._batch.variant.workspace_bytes < KEPT:
                context.connect(self._batch, single=False)
        self.on_threads()
