"""The GPU code of a job: emitted, verified, loaded and launched.

A kernel is verified before use: some states run on both GPU and CPU, and their bits are compared. A kernel
that fails is built again at a lower optimisation level, or refused; the level that passed is cached.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import llvmlite
import numpy as np

from kinetree.compiler.emit.llvm.gpu import emit_gpu
from kinetree.compiler.emit.llvm.layout import table_bytes
from kinetree.compiler.ir.program import walk
from kinetree.compiler.passes.recompute import is_input
from kinetree.compiler.passes.roll import roll
from kinetree.compiler.passes.spoil import refuse_silently
from kinetree.compiler.runtime import cache, cuda, cuda_kernels
from kinetree.errors import CompileError, KinetreeError
from kinetree.ops import Expr
from kinetree.stages.job import Job
from kinetree.stages.target import TARGETS
from kinetree.stages.targets.cuda_way import TOGETHER, way_of

PROOF = 300  # states that verify a kernel: several tiles for each of two blocks, the last one partial
LEVELS = (4, 1, 0)  # optimisation levels of the driver, tried in this order
NONE = -1  # in place of a level: the kernel fails at all of them
LONG = 1 << 20  # characters of PTX above which the highest level would take minutes
WAVES = 8  # blocks per multiprocessor where work arrays are in device memory
MANY = 2**31 - 1  # the most blocks in a launch
NEAR, FEW = 0.01, 0.1  # approximate kernels: tolerance, and the share of states that may exceed it
LARGE = 1e4  # inputs above this are not perturbed when the sensitivity of states is measured
STREAMS = 64  # streams whose notes and work arrays are kept


class Ptx(NamedTuple):
    """PTX, and what its launch needs."""

    text: str
    tile: int
    threads: int
    shared: int
    work: int  # per thread
    waves: int  # limit on waves of blocks, or 0
    least: int  # threads in the smallest blocks, or 0 if all have as many

    def packed(self) -> bytes:
        facts = " ".join(map(str, self[1:]))
        return f"// {facts}\n{self.text}".encode()

    @staticmethod
    def unpacked(data: bytes) -> Ptx:
        text = data.decode()
        head, _, rest = text.partition("\n")
        return Ptx(rest, *map(int, head[3:].split()))


class Notes:
    """What a kernel on one stream reports: the first state that a guard refuses, and the last large angle.

    It also holds the work arrays of the kernel; each stream has its own. A launch takes an object out of
    `free`, so that threads do not share it, and puts it back once it has been read.
    """

    def __init__(self, where: cuda.Device, stream: int, free: list[Notes] | None = None):
        self.device, self.stream, self._free = where, stream, free
        self.memory, self.host = cuda.Memory(where, 16, kept=False), cuda_kernels.Pinned(where, 16)
        self._work = cuda.Memory(where, 0, kept=False)
        self.numbers = self.host.bytes[:16].view(np.int64)
        self.reset()

    def work(self, size: int) -> int:
        """The address of work arrays of this many bytes."""
        if size > self._work.size:
            self._work = cuda.Memory(self.device, size, kept=False)
        return self._work.pointer

    def reset(self) -> None:
        with self.device.current():
            for offset, value, count in ((0, 2**32 - 1, 2), (8, 0, 2)):
                status = cuda.driver().cuMemsetD32Async(
                    self.memory.pointer + offset, value, count, self.stream
                )
                cuda.check(status, "preparing a kernel")

    def copy(self) -> None:
        """Copy the notes to the host in stream order; the device must be current."""
        status = cuda.driver().cuMemcpyDtoHAsync_v2(self.host.pointer, self.memory.pointer, 16, self.stream)
        cuda.check(status, "copying from the device")

    def refused(self) -> int | None:
        """The first refused state, once the stream is done; None if there is none."""
        cuda_kernels.wait(self.device, self.stream)
        worst = int(self.numbers[0])
        if worst >= 0:
            self.reset()
        self.give_back()
        return worst if worst >= 0 else None

    def give_back(self) -> None:
        """Release the notes for the next launch on this stream."""
        if self._free is not None:
            self._free.append(self)


class Loaded(NamedTuple):
    """A kernel loaded on one device, with its memory there."""

    launcher: cuda_kernels.Launcher
    large: cuda_kernels.Launcher | None  # for large angles, launched second; returns at once if none
    tile: int
    tables: cuda.Memory
    blocks: int  # at most
    large_blocks: int  # of the kernel for large angles: as many as are resident
    work_numbers: int  # per thread, in device memory
    least: int  # threads in the smallest blocks, or 0 if all have as many

    def threads(self, count: int) -> int:
        """The threads per block for a batch: small blocks, until every multiprocessor has one."""
        most = self.launcher.threads
        if not self.least:
            return most
        fair = -(-count * self.each // (self.launcher.device.processors * self.least)) * self.least
        return min(most, 1 << (fair - 1).bit_length())

    @property
    def each(self) -> int:
        """The threads of a state, where blocks can be smaller."""
        return self.launcher.threads // self.tile

    def states(self, threads: int) -> int:
        """The states of a block with so many threads."""
        return threads // self.each if self.least else self.tile


class Code:
    """The kernels of one job, on every device that it has run on."""

    def __init__(self, job: Job, silent: bool = False, exact: bool = True):
        self.job, self.dtype, self.silent, self.exact = job, np.dtype(job.dtype), silent, exact
        program = job.program(0)
        program = program if program.is_straight else roll(program)
        self.program = refuse_silently(program) if silent else program
        self.tables = table_bytes(self.program, str(self.dtype))
        statements = [s for s in walk(self.program.body) if isinstance(s, Expr)]
        turned = [s.args[0] for s in statements if s.op in ("sin", "cos")]
        inputs = [a.args for a in turned if type(a) is Expr and is_input(a)]
        self.turns = bool(turned)
        self.angles = {(x, k) for x, k in inputs if x.kind == "input" and type(k) is not Expr}
        self.guarded = self.program.guard is not None and not silent
        self._loaded: dict[tuple[int, str], Loaded] = {}
        self._notes: dict[tuple[int, int], list[Notes]] = {}  # unused ones, by device and stream
        self._epoch = itertools.count(1)

    # -- running

    def start(self, form: Any, pointers: list[int], where: cuda.Device, stream: int) -> Notes | None:
        """Launch the kernel on the arrays of a call; returns the notes to read later, if it has a guard."""
        loaded = self.load(where, form.layout)
        if len(self._notes) > STREAMS:  # destroyed streams are not reported
            self._notes.clear()
        free = self._notes.setdefault((where.number, stream), [])
        try:
            notes = free.pop()
        except IndexError:  # other threads are using them
            notes = Notes(where, stream, free)
        arguments: list[int] = []
        for pointer, strides in zip(pointers, form.strides):
            arguments += (pointer, *strides)
        with where.current():
            self._launch(loaded, arguments, form.states, notes)
            if self.guarded:
                notes.copy()
                return notes
        notes.give_back()
        return None

    def _launch(self, loaded: Loaded, arguments: list[int], count: int, notes: Notes) -> None:
        threads = loaded.threads(count)
        blocks = min(-(-count // loaded.states(threads)), loaded.blocks)
        epoch = next(self._epoch) & (2**31 - 1)
        work = notes.work(loaded.work_numbers * blocks * threads * self.dtype.itemsize)
        arguments += (loaded.tables.pointer, work, notes.memory.pointer, count, blocks, epoch)
        loaded.launcher.launch(arguments, blocks, notes.stream, threads)
        if loaded.large is not None:
            few = min(blocks, loaded.large_blocks)
            arguments[-2] = few
            loaded.large.launch(arguments, few, notes.stream, threads)

    # -- code

    def ptx(self, layout: str, where: cuda.Device, large: bool = False) -> Ptx:
        """The PTX for one array layout, from the cache if present."""
        key, name = self.job.key, ""
        if key is not None:
            device = where.architecture, where.shared
            facts = (llvmlite.__version__, *device, layout, large, self.silent, self.exact, self.dtype, key)
            name = hashlib.sha256(f"ptx\0{facts!r}".encode()).hexdigest()
            found = cache.load(name)
            if found is not None:
                return Ptx.unpacked(found)
        ruled = layout == "rows" or not self.program.is_straight
        way = way_of(self.job, self.program, where) if ruled else {}
        way |= {"large": large, "shared": where.shared, "exact": self.exact, "together": TOGETHER}
        made = emit_gpu(self.program, str(self.dtype), layout, **way)
        text = cuda_kernels.assemble(made.text, where.architecture)
        ptx = Ptx(text, made.tile, made.threads, made.shared_bytes, made.work_numbers, made.waves, made.least)
        if name:
            cache.store(name, ptx.packed())
        return ptx

    def load(self, where: cuda.Device, layout: str) -> Loaded:
        """The kernel on a device, once verified there."""
        found = self._loaded.get((where.number, layout))
        if found is not None:
            return found
        near = self.ptx(layout, where)
        texts = [near, self.ptx(layout, where, True)] if self.turns else [near]
        blocks = where.processors * WAVES if near.work else MANY
        constants = cuda.Memory(where, len(self.tables), kept=False)
        constants.put(np.frombuffer(self.tables, np.uint8))
        known = self._level(near, where)
        levels = LEVELS if len(near.text) < LONG else LEVELS[1:]
        for level in (k for k in levels if known is None or k <= known):
            launchers = [cuda_kernels.Launcher(t.text, where, level, t.threads, t.shared) for t in texts]
            if near.waves:
                blocks = near.waves * where.processors * launchers[0].resident()
            large = launchers[1] if self.turns else None
            few = where.processors * min(WAVES, launchers[-1].resident())
            made = Loaded(launchers[0], large, near.tile, constants, blocks, few, near.work, near.least)
            if self._proves_itself(made, where):
                if level != levels[0] and known is None:
                    self._keep_level(near, where, level)
                self._loaded[where.number, layout] = made
                return made
        self._keep_level(near, where, NONE)
        raise CompileError(
            f"{self.job.function.name}: the kernel that the graphics driver made differs from what the CPU "
            "computes, at every level of optimisation: use target='cpu', and report the model and the "
            "driver's version (that it failed is kept until kt.cache.clear())"
        )

    @staticmethod
    def _name_of_level(near: Ptx, where: cuda.Device) -> str:
        facts = f"level\0{where.architecture}\0{cuda.driver_version()}\0{near.text}"
        return hashlib.sha256(facts.encode()).hexdigest()

    def _level(self, near: Ptx, where: cuda.Device) -> int | None:
        """The optimisation level that a kernel is known to need; None if nothing is known."""
        found = cache.load(self._name_of_level(near, where))
        known = {str(k).encode(): k for k in (*LEVELS[1:], NONE)}
        return known.get(found) if found is not None else None

    def _keep_level(self, near: Ptx, where: cuda.Device, level: int) -> None:
        cache.store(self._name_of_level(near, where), str(level).encode())

    def _tried(self, far: bool = False) -> tuple[list[np.ndarray], Sequence[Any]]:
        """States, and their results on the CPU, without those that the function refuses.

        `far`: every third state has angles beyond the range of the first kernel, where angles are inputs of
        the program.
        """
        states, kernel = self.job.samples(PROOF), TARGETS["cpu"].executable(self.job)
        if far:
            most, rng = np.finfo(self.dtype).maxexp - 4, np.random.default_rng(1)
            for array, k in sorted(self.angles, key=str):
                column = states[self.program.inputs.index(array)].reshape(PROOF, -1)[::3, int(k)]
                column *= np.exp2(rng.uniform(18.0, most, len(column)))
        with suppress(KinetreeError):
            return states, _several(kernel(*states))
        fine = []
        for k in range(PROOF):
            with suppress(KinetreeError):
                fine.append((k, _several(kernel(*(x[k] for x in states)))))
        if not fine:
            raise CompileError(
                f"{self.job.function.name}: the CPU refuses every state that a kernel could prove itself on: "
                "use target='cpu'"
            )
        places, rows = zip(*fine, strict=True)
        return [x[list(places)] for x in states], [np.stack(column) for column in zip(*rows, strict=True)]

    def _proves_itself(self, made: Loaded, where: cuda.Device) -> bool:
        """Whether each of the kernels gives the same bits as the CPU on some states."""
        near = self._agrees(made.launcher, made, where, *self._tried())
        return near and (made.large is None or self._agrees(made.large, made, where, *self._tried(True)))

    def _agrees(
        self,
        launcher: cuda_kernels.Launcher,
        made: Loaded,
        where: cuda.Device,
        states: list[np.ndarray],
        expected: Sequence[Any],
    ) -> bool:
        """Whether a kernel gives the expected results."""
        count = len(states[0]) if states else PROOF
        held = [cuda.array(x, where.number) for x in states]
        inputs, outputs = self.job.shapes
        results = [cuda.DeviceArray((count, *s), self.dtype, where) for s in outputs]
        arguments: list[int] = []
        for array, shape in zip([*held, *results], [*inputs, *outputs], strict=True):
            arguments += (array.memory.pointer, math.prod(shape), 1)
        for result in results:
            result.memory.put(np.full(result.shape, 777.0, self.dtype))
        notes = Notes(where, 0)
        threads = 2 * made.least or launcher.threads  # two warps that meet, where blocks can be small
        blocks = min(-(-count // made.states(threads)), 2)  # so that blocks continue to a next tile
        work = notes.work(made.work_numbers * blocks * threads * self.dtype.itemsize)
        # epoch 0 is already noted: the kernel for large angles runs too
        arguments += (made.tables.pointer, work, notes.memory.pointer, count, blocks, 0)
        with where.current():
            launcher.launch(arguments, blocks, 0, threads)
        cuda_kernels.wait(where)
        found = [(r.numpy(), np.asarray(e)) for r, e in zip(results, expected, strict=True)]
        if self.exact:
            return all(same_bits(*both) for both in found)
        moved: Sequence[Any] = expected
        with suppress(KinetreeError):  # the perturbed state may be refused
            moved = _several(TARGETS["cpu"].executable(self.job)(*map(_moved, states)))
        return all(mostly_near(*both, np.asarray(m)) for both, m in zip(found, moved, strict=True))


def _several(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def _moved(x: np.ndarray) -> np.ndarray:
    """Numbers with the last bit changed; angles so large that this would be another angle stay."""
    return np.where(np.abs(x) < LARGE, np.nextafter(x, np.inf, dtype=x.dtype), x)


def mostly_near(a: np.ndarray, b: np.ndarray, moved: np.ndarray) -> bool:
    """Whether nearly all states agree approximately.

    Unstable motion amplifies rounding. So about as many states may differ as do when the last bits of their
    inputs are changed.
    """
    return not a.size or _far(a, b) <= FEW + 1.5 * _far(moved, b)


def _far(a: np.ndarray, b: np.ndarray) -> float:
    """The share of states that differ; NaN equals NaN, and differs from every number."""
    a, b = a.reshape(len(a), -1), b.reshape(len(b), -1)
    with np.errstate(all="ignore"):
        size = 1.0 + np.max(np.abs(b), 1, keepdims=True, initial=0.0, where=np.isfinite(b))
        near = (np.abs(a - b) <= NEAR * size) | (a == b) | (np.isnan(a) & np.isnan(b))
    return float(np.mean(~near.all(1)))


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are equal bit by bit; all NaNs are equal."""
    kind = np.dtype(f"i{a.dtype.itemsize}")
    equal = np.ascontiguousarray(a).view(kind) == np.ascontiguousarray(b).view(kind)
    return bool(np.all(equal | (np.isnan(a) & np.isnan(b))))
