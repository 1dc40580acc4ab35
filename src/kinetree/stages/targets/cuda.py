"""NVIDIA GPUs: the same program, one state a thread.

    kt.inverse_dynamics(robot, q, v, a)       arrays of CuPy or PyTorch on a GPU: runs there, returns the same
    kt.compile(kt.inverse_dynamics, robot, target="cuda")        a kernel; copies arrays of the host, if given

Nothing is copied between host and device in silence. A kernel proves itself before it is trusted: some
states run on both sides, and their bits are compared.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import llvmlite
import numpy as np

from kinetree.compiler.emit.llvm.gpu import OWN_BYTES, THREADS, emit_gpu
from kinetree.compiler.emit.llvm.layout import table_bytes
from kinetree.compiler.ir.program import walk
from kinetree.compiler.passes.spoil import refuse_silently
from kinetree.compiler.runtime import cache, cuda
from kinetree.errors import CompileError, ShapeError
from kinetree.ops import Expr
from kinetree.stages.batches import delivered
from kinetree.stages.job import Job
from kinetree.stages.target import TARGETS, Target

PROOF = 96  # states on which a kernel proves itself
LEVELS = (4, 1, 0)  # of optimisation in the driver: what fails its proof is tried lower
CHUNK = 1 << 28  # bytes of arrays of the host that are on the device at a time
WAVES = 8  # blocks on each processor where work arrays are in the device's memory


class Cuda(Target):
    """Compiles the program of a job to PTX; the driver does the rest."""

    name = "cuda"
    part_size = 3000  # there are many registers, and what crosses a cut is in slow memory

    def executable(self, job: Job) -> CudaKernel:
        return job.model.memo((Cuda, job), lambda: CudaKernel(job))


class View(NamedTuple):
    """An array on a device: where it stands, its shape, and its strides counted in numbers."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype

    @staticmethod
    def of(array: Any) -> View:
        facts = array.__cuda_array_interface__
        shape, dtype = tuple(facts["shape"]), np.dtype(facts["typestr"])
        strides = facts.get("strides")
        if strides is None:
            steps = [math.prod(shape[k + 1 :]) for k in range(len(shape))]
        else:
            steps = [s // dtype.itemsize for s in strides]
        return View(facts["data"][0], shape, tuple(steps), dtype)

    def overlaps(self, other: View) -> bool:
        """True if some memory may belong to both."""
        (a, b), (c, d) = self._span(), other._span()
        return a < d and c < b

    def _span(self) -> tuple[int, int]:
        """The first address, and the one behind the last."""
        if 0 in self.shape:
            return self.pointer, self.pointer
        ends = [(n - 1) * s for n, s in zip(self.shape, self.strides)]
        size = self.dtype.itemsize
        low, high = sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends) + 1
        return self.pointer + low * size, self.pointer + high * size

    def state(self, core: int, batch: tuple[int, ...], what: str) -> tuple[int, int]:
        """(state stride, element stride) of an array whose last `core` axes belong to a state."""
        split = len(self.shape) - core
        own, rest = self.shape[:split], self.shape[split:]
        steps = [s for s, n in zip(self.strides[split:], rest) if n != 1]
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
        axes = [(n, s) for n, s in zip(own, self.strides[:split]) if n != 1]
        state = axes[-1][1]
        if any(s != state * math.prod(n for n, _ in axes[k + 1 :]) for k, (_, s) in enumerate(axes)):
            raise ShapeError(f"{what}: the states do not stand at equal distances: make it contiguous")
        return state, element


class Loaded(NamedTuple):
    """A kernel on one device, with what it needs there."""

    launcher: cuda.Launcher
    large: cuda.Launcher | None  # for large angles, started behind the other; returns if there were none
    tables: cuda.Memory
    work: cuda.Memory
    blocks: int  # at most; 0: as many as there are states for


class CudaKernel:
    """A function of a model on GPUs: `kernel(*arrays, out=None)`, batch axes lead.

    Args:
        silent: a state that the function refuses is NaN, and nobody waits to hear of it.
    """

    def __init__(self, job: Job, silent: bool = False):
        cuda.driver()
        self.job, self.name, self.dtype = job, job.function.name, np.dtype(job.dtype)
        self.program = job.program(Cuda.part_size)
        self.silent = silent
        if silent:
            self.program = refuse_silently(self.program)
        self.input_shapes, self.output_shapes = job.shapes
        self._loaded: dict[tuple[int, bool], Loaded] = {}
        self._notes: dict[tuple[int, int], cuda.Memory] = {}  # by device and stream

    @property
    def ops(self) -> dict[str, int]:
        """How often each operation stands in the program."""
        return self.program.ops

    @property
    def source(self) -> str:
        """The PTX for results in rows."""
        return self._ptx(True, cuda.device().architecture)

    @property
    def tables(self) -> bytes:
        """The constant tables of the program."""
        return table_bytes(self.program, str(self.dtype))

    @property
    def work_numbers(self) -> int:
        """The numbers of work arrays in the memory of a device, for each thread."""
        numbers = sum(a.size for a in self.program.work)
        return numbers if numbers * self.dtype.itemsize > OWN_BYTES else 0

    def report(self) -> str:
        """What the kernel is, as a few lines of text."""
        counts = ", ".join(f"{k} {v}" for k, v in self.ops.items() if v)
        return f"{self.name} ({self.dtype}, cuda)\n  operations {counts}"

    def __repr__(self) -> str:
        return f"<kernel {self.name} for GPUs, {self.dtype}>"

    # -- calls

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        if len(arrays) != len(self.job.present):
            raise TypeError(f"{self.name} takes {', '.join(self.job.present)}, got {len(arrays)} arrays")
        there = [hasattr(a, "__cuda_array_interface__") for a in arrays]
        if arrays and all(there):
            return self._on_device(arrays, out)
        if any(there):
            where = ", ".join(f"{n} {'device' if t else 'host'}" for n, t in zip(self.job.present, there))
            raise ShapeError(
                f"{self.name}: arrays of the host and of the device are mixed ({where}): move them to one"
            )
        return self._from_host(arrays, out)

    def _on_device(self, arrays: Sequence[Any], out: Any) -> Any:
        views = [View.of(a) for a in arrays]
        for name, view, shape in zip(self.job.present, views, self.input_shapes, strict=True):
            if view.dtype != self.dtype:
                raise ShapeError(
                    f"{self.name}: {name} holds {view.dtype}, but this kernel computes in {self.dtype}"
                )
            if view.shape[len(view.shape) - len(shape) :] != shape:
                raise ShapeError(self.job.wrong_shape(name, view.shape))
        batch = np.broadcast_shapes(
            *(v.shape[: len(v.shape) - len(s)] for v, s in zip(views, self.input_shapes))
        )
        where = cuda.device(cuda.device_of(views[0].pointer)) if views[0].pointer else cuda.device()
        library = _library(arrays[0])
        given = out if isinstance(out, tuple) else None if out is None else (out,)
        results = given or tuple(_empty(library, batch + s, self.dtype, where) for s in self.output_shapes)
        targets = [View.of(r) for r in results]
        for target, shape in zip(targets, self.output_shapes, strict=True):
            if target.shape != batch + shape or target.dtype != self.dtype:
                raise ShapeError(
                    f"{self.name}: out is {target.shape} of {target.dtype}, needs {batch + shape}"
                )
        for target in targets:  # inputs are read again after results have been written
            if any(target.overlaps(view) for view in views):
                raise ShapeError(f"{self.name}: out shares memory with an input: give another array")
        stream = _stream(library)
        self._run(views, targets, batch, where, stream)
        if not library:
            cuda.driver()
            self._any(where).launcher.wait(stream)
        return results if len(results) > 1 else results[0]

    def _any(self, where: cuda.Device) -> Loaded:
        return next(v for (number, _), v in self._loaded.items() if number == where.number)

    def _from_host(self, arrays: Sequence[Any], out: Any) -> Any:
        """Arrays of the host, in chunks that fit."""
        sources = [a.astype(self.dtype, copy=False) for a in self.job.checked(arrays)]
        batch = np.broadcast_shapes(*(a.shape[: a.ndim - len(s)] for a, s in zip(sources, self.input_shapes)))
        count = math.prod(batch)
        flat = [np.broadcast_to(a, batch + s).reshape(count, *s) for a, s in zip(sources, self.input_shapes)]
        results = [np.empty((count, *s), self.dtype) for s in self.output_shapes]
        row = sum(math.prod(s) for s in (*self.input_shapes, *self.output_shapes)) * self.dtype.itemsize
        step = max(1, CHUNK // max(row, 1))
        where = cuda.device()
        for start in range(0, count, step):
            inputs = [cuda.array(np.ascontiguousarray(a[start : start + step]), where.number) for a in flat]
            size = min(step, count - start)
            outputs = [cuda.DeviceArray((size, *s), self.dtype, where) for s in self.output_shapes]
            self._run([View.of(a) for a in inputs], [View.of(a) for a in outputs], (size,), where, 0, start)
            self._any(where).launcher.wait()
            for result, output in zip(results, outputs, strict=True):
                result[start : start + size] = output.numpy()
        shaped = [r.reshape(batch + s) for r, s in zip(results, self.output_shapes)]
        return delivered(self.name, shaped, out)

    def _run(
        self,
        inputs: list[View],
        outputs: list[View],
        batch: tuple[int, ...],
        where: cuda.Device,
        stream: int,
        first: int = 0,
    ) -> None:
        count = math.prod(batch)
        if not count:
            return
        names = [*self.job.present, *(a.name for a in self.job.function.outputs)]
        shapes = [*self.input_shapes, *self.output_shapes]
        facts = [
            v.state(len(s), batch, f"{self.name}: {n}") if math.prod(s) else (0, 1)
            for v, s, n in zip([*inputs, *outputs], shapes, names, strict=True)
        ]
        dense = all(element == 1 for _, element in facts)
        rows = dense and all(
            state == math.prod(s)
            for (state, _), s in zip(facts[len(inputs) :], self.output_shapes, strict=True)
        )
        loaded = self._load(where, rows)
        blocks = -(-count // THREADS)
        blocks = min(blocks, loaded.blocks) if loaded.blocks else blocks
        arguments: list[int] = []
        for view, (state, element) in zip([*inputs, *outputs], facts, strict=True):
            arguments += [view.pointer, state, element]
        notes = self._notes.get((where.number, stream))
        if notes is None:
            notes = self._notes[where.number, stream] = cuda.Memory(where, 16)
        arguments += [loaded.tables.pointer, loaded.work.pointer, notes.pointer, count, blocks]
        self._start(loaded, arguments, blocks, notes, stream)
        if self.program.guard is not None and not self.silent:
            loaded.launcher.wait(stream)
            worst = int(notes.get(np.empty(1, np.int64))[0])
            if worst >= 0:
                self._refused(inputs, worst, batch, where, first)

    def _start(
        self, loaded: Loaded, arguments: list[int], blocks: int, notes: cuda.Memory, stream: int
    ) -> None:
        loaded.launcher.reset(notes, 0, stream)
        loaded.launcher.launch(arguments, blocks, stream)
        if loaded.large is not None:
            loaded.large.launch(arguments, blocks, stream)

    def _refused(
        self, inputs: list[View], worst: int, batch: tuple[int, ...], where: cuda.Device, first: int
    ) -> None:
        """Bring the state that was refused to the host, and say what is wrong with it."""
        state = []
        for view, shape, name in zip(inputs, self.input_shapes, self.job.present, strict=True):
            step, element = view.state(len(shape), batch, name)
            numbers = np.empty(math.prod(shape), self.dtype)
            for k in range(numbers.size):
                address = view.pointer + (worst * step + k * element) * self.dtype.itemsize
                with where.current():
                    one = numbers[k : k + 1]
                    cuda.driver().cuMemcpyDtoH_v2(
                        cuda._address(one), cuda.ctypes.c_uint64(address), cuda.ctypes.c_size_t(one.nbytes)
                    )
            state.append(numbers.reshape(shape))
        index = np.unravel_index(worst, batch) if not first else (worst + first,)
        self.job.explain(tuple(int(k) for k in index) if batch else (), state)

    # -- code

    def _ptx(self, rows: bool, architecture: str, large: bool = False) -> str:
        key = self.job.key
        name = ""
        if key is not None:
            facts = (llvmlite.__version__, architecture, rows, large, self.silent, self.dtype, key)
            name = hashlib.sha256("\0".join(["ptx", *map(str, facts)]).encode()).hexdigest()
            found = cache.load(name)
            if found is not None:
                return found.decode()
        text = cuda.assemble(emit_gpu(self.program, str(self.dtype), rows, large=large).text, architecture)
        if name:
            cache.store(name, text.encode())
        return text

    def placed(self, where: cuda.Device) -> Loaded:
        """The kernel for rows on one device, proven."""
        return self._load(where, True)

    def _load(self, where: cuda.Device, rows: bool) -> Loaded:
        found = self._loaded.get((where.number, rows))
        if found is not None:
            return found
        work = self.work_numbers * self.dtype.itemsize
        blocks = where.processors * WAVES if work else 0
        memory = cuda.Memory(where, work * blocks * THREADS)
        constants = cuda.Memory(where, len(self.tables))
        constants.put(np.frombuffer(self.tables, np.uint8))
        turns = any(isinstance(s, Expr) and s.op in ("sin", "cos") for s in walk(self.program.body))
        texts = [
            self._ptx(rows, where.architecture, large) for large in ((False, True) if turns else (False,))
        ]
        for level in LEVELS:
            launchers = [cuda.Launcher(text, where, level) for text in texts]
            made = Loaded(launchers[0], launchers[1] if turns else None, constants, memory, blocks)
            if self._proves_itself(made, where):
                self._loaded[where.number, rows] = made
                return made
        raise CompileError(
            f"{self.name}: the kernel that the graphics driver made differs from what the CPU computes, at "
            "every level of optimisation: use target='cpu', and report the model and the driver's version"
        )

    def _proves_itself(self, made: Loaded, where: cuda.Device) -> bool:
        """Whether some states have the same bits on both sides, by each of the kernels."""
        states = self.job.samples(PROOF)
        expected = TARGETS["cpu"].executable(self.job)(*states)
        expected = expected if isinstance(expected, tuple) else (expected,)
        held = [cuda.array(x, where.number) for x in states]
        results = [cuda.DeviceArray((PROOF, *s), self.dtype, where) for s in self.output_shapes]
        arguments: list[int] = []
        for array, shape in zip([*held, *results], [*self.input_shapes, *self.output_shapes], strict=True):
            arguments += [array.memory.pointer, math.prod(shape), 1]
        blocks = -(-PROOF // THREADS)
        notes = cuda.Memory(where, 16)
        arguments += [made.tables.pointer, made.work.pointer, notes.pointer, PROOF, blocks]
        for far, launcher in enumerate((made.launcher, made.large)):
            if launcher is not None:
                launcher.reset(notes, far)
                launcher.launch(arguments, blocks)
                launcher.wait()
                pairs = zip(results, expected, strict=True)
                if any(r.numpy().tobytes() != np.ascontiguousarray(e).tobytes() for r, e in pairs):
                    return False
        return True


def _library(array: Any) -> str:
    """The library that an array belongs to, if it is one whose arrays can be made."""
    root = type(array).__module__.partition(".")[0]
    return root if root in ("torch", "cupy") else ""


def _empty(library: str, shape: tuple[int, ...], dtype: np.dtype, where: cuda.Device) -> Any:
    if library == "torch":
        import torch

        return torch.empty(shape, dtype=getattr(torch, str(dtype)), device=f"cuda:{where.number}")
    if library == "cupy":
        import cupy

        with cupy.cuda.Device(where.number):
            return cupy.empty(shape, dtype)
    return cuda.DeviceArray(shape, dtype, where)


def _stream(library: str) -> int:
    """The stream on which a library works now."""
    if library == "torch":
        import torch

        return int(torch.cuda.current_stream().cuda_stream)
    if library == "cupy":
        import cupy

        return int(cupy.cuda.get_current_stream().ptr)
    return 0
