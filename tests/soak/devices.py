"""GPU kernels against CPU machine code, bit by bit: every function, 60 random trees, all sizes.

    python -m tests.soak.campaign devices --first 0 --jobs 14 --ledger build/devices.json
    python -m tests.soak.campaign devices --seed 17        # one comparison again

A trial is one function on one tree. Batches of 1, 31 and 1,000 states are copied from the host, and also
start on the device; in another one some numbers are NaN or infinite. A batch of 100,000 starts on the device,
and on some trees is also copied from the host in chunks. Batches on the device repeat states that the CPU has
computed once: the CPU gives the same bits in every batch, which `tests/targets/test_determinism.py` asserts.
A failing trial reports where, in which states, and which other computations agree.
"""

from __future__ import annotations

import gc
import hashlib
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from tests.gpu.jobs import MADE, NAMES, TREES, case_of, job
from tests.targets.cases import tree

from kinetree.compiler.runtime import cuda
from kinetree.errors import CompileError, KinetreeError
from kinetree.stages import TARGETS, Job
from kinetree.stages.target import preferring
from kinetree.stages.targets import cuda_code
from kinetree.stages.targets.cuda import CudaKernel
from kinetree.stages.targets.cuda_code import same_bits

SOME = range(6)  # trees on which other modes, precisions and layouts are tried too
BATCHES = (1, 31, 1000)
LARGEST = int(os.environ.get("KINETREE_GPU_LARGEST", "100000"))
DISTINCT = 5000  # distinct states; fewer for functions with large results
NUMBERS = 1 << 22  # the most numbers in their results
PATIENCE = 60.0  # seconds to wait for memory held by other processes
BLOCK, LIMIT = 2, 150.0


class Unit(NamedTuple):
    """One function on one tree."""

    seed: int
    name: str
    mode: str | None = None
    dtype: str = "float64"
    columns: bool = False  # coordinate-major arrays

    @property
    def numbers(self) -> bool:
        """Whether inertias and gravity are inputs too."""
        return (self.seed + len(self.name)) % 5 == 0

    def job(self) -> Job:
        return job(self.name, self.mode, self.seed, self.dtype, self.numbers)


@cache
def units() -> list[Unit]:
    """All comparisons in order: small trees first, since large ones take minutes."""
    trees = sorted(range(TREES + 1), key=lambda seed: (case_of(seed).model.nv, seed))
    tree.cache_clear()
    return [
        *(Unit(*u) for u in product(trees, NAMES)),
        *(Unit(*u, "float32") for u in product(SOME, NAMES, (None, "looped"))),
        *(Unit(*u, "looped") for u in product(SOME, NAMES)),
        *(Unit(*u, None, "float64", True) for u in product(SOME, NAMES)),
        *(Unit(*u) for u in product(trees, MADE)),
    ]


COUNT = (TREES + 1 + 4 * len(SOME)) * len(NAMES) + (TREES + 1) * len(MADE)


def trial(seed: int) -> str:
    """Check one unit; returns a word for the kernel that ran, or raises AssertionError with all details."""
    if not cuda.is_available():
        return "no GPU here"
    unit = units()[seed % COUNT]
    if tree.cache_info().currsize > 1:  # kernels are kept with their models
        tree.cache_clear()
        gc.collect()
    try:
        return check(unit)
    except CompileError as error:
        if "the CPU refuses every state" in str(error):
            return "no state to prove a kernel on"
        if "differs from what the CPU" not in str(error):
            raise
        raise AssertionError(f"{unit}: no kernel proves itself\n{_unproved(unit)}") from error


def check(unit: Unit) -> str:
    """Compare all batches of a unit; returns the form of its kernel."""
    j = unit.job()
    cpu, gpu = TARGETS["cpu"].executable(j), TARGETS["cuda"].executable(j)
    states = _states(j, cpu, unit.seed)
    if not states:
        return "every state is refused"
    if not unit.columns:
        for count in (*BATCHES, LARGEST) if unit.seed in SOME else BATCHES:
            batch = [np.resize(x, (count, *x.shape[1:])) for x in states]
            _compare(unit, j, batch, gpu, f"{count} from the host")
        _compare(unit, j, _spoiled(states, unit.seed), gpu, "some that are not finite")
    for count in (*BATCHES, LARGEST):
        _patiently(lambda count=count: _on_device(unit, j, states, gpu, count))
    return f"{unit.dtype} {unit.mode or 'as chosen'}: {_form(gpu, unit.columns)}"


def _states(j: Job, cpu: Any, seed: int) -> list[np.ndarray]:
    """States that the CPU does not refuse."""
    numbers = sum(math.prod(s) for s in j.shapes[1])
    count = min(DISTINCT, max(BATCHES[-1], NUMBERS // max(numbers, 1)))
    states = j.samples(count, seed)
    try:
        cpu(*states)
    except KinetreeError:
        fine = [k for k in range(min(count, 200)) if _accepts(cpu, [x[k] for x in states])]
        return [np.resize(x[fine], (BATCHES[-1], *x.shape[1:])) for x in states] if fine else []
    return states


def _spoiled(states: list[np.ndarray], seed: int) -> list[np.ndarray]:
    """Some states, most with one number that is not finite, in turn in each of the inputs."""
    found = [np.resize(x, (70, *x.shape[1:])) for x in states]
    for k, x in enumerate(found):
        flat = x.reshape(len(x), -1)
        for turn, row in enumerate(range(k, len(flat), len(found) + 1)):
            if flat.size:
                flat[row, (seed + turn) % flat.shape[1]] = (np.nan, np.inf, -np.inf)[turn % 3]
    return found


def _accepts(cpu: Any, state: list[np.ndarray]) -> bool:
    try:
        cpu(*state)
    except KinetreeError:
        return False
    return True


def _compare(unit: Unit, j: Job, states: list[np.ndarray], gpu: Any, what: str) -> None:
    """The same call on CPU and GPU."""
    expected = _tuple(TARGETS["cpu"].executable(j)(*states))
    for k, (a, b) in enumerate(zip(_tuple(gpu(*states)), expected, strict=True)):
        if not same_bits(a, b):
            raise AssertionError(_story(unit, j, gpu, what, k, a, b, states))


def _on_device(unit: Unit, j: Job, states: list[np.ndarray], gpu: Any, count: int) -> None:
    """A batch on the device, against the results of the states that it repeats."""
    distinct = len(states[0])
    there = [_put(np.resize(x, (count, *x.shape[1:])), unit.columns) for x in states]
    expected = _tuple(TARGETS["cpu"].executable(j)(*(x[: min(count, distinct)] for x in states)))
    for k, (result, rows) in enumerate(zip(_tuple(gpu(*there)), expected, strict=True)):
        for first, part in _parts(result, len(rows)):
            if not same_bits(part, rows[: len(part)]):
                what = f"{count} on the device, from state {first}"
                raise AssertionError(
                    _story(unit, j, gpu, what, k, part, rows[: len(part)], [x[: len(part)] for x in states])
                )


def _put(x: np.ndarray, columns: bool) -> cuda.DeviceArray:
    if not columns or x.ndim != 2:
        return cuda.array(x)
    array = cuda.DeviceArray(x.shape, x.dtype, cuda.device(), (1, 0))
    array.memory.put(np.ascontiguousarray(x.T))
    return array


def _parts(result: cuda.DeviceArray, step: int) -> Iterator[tuple[int, np.ndarray]]:
    """An array of the device, in pieces."""
    if result.order or not math.prod(result.shape):
        whole = result.numpy()
        yield from ((k, whole[k : k + step]) for k in range(0, len(whole), step))
        return
    size = math.prod(result.shape[1:]) * result.dtype.itemsize
    for first in range(0, result.shape[0], step):
        part = np.empty((min(step, result.shape[0] - first), *result.shape[1:]), result.dtype)
        with cuda.device().current():
            pointer = result.memory.pointer + first * size
            cuda.check(cuda.driver().cuMemcpyDtoH_v2(part.ctypes.data, pointer, part.nbytes), "copying")
        yield first, part


def _patiently(call: Callable[[], None]) -> None:
    """Wait until other processes have freed memory."""
    finish = time.monotonic() + PATIENCE
    while True:
        try:
            return call()
        except cuda.CudaError as error:
            if "memory" not in str(error) or time.monotonic() > finish:
                raise
            gc.collect()
            time.sleep(1.0)


def _form(gpu: CudaKernel, columns: bool) -> str:
    """The kind of kernel."""
    where = cuda.device()
    ptx = gpu.code.ptx("any" if columns else "rows", where)
    words = ["states side by side" if columns else "where numbers stand"]
    if ptx.shared:
        words = [f"tiles of {ptx.tile}, {ptx.threads // ptx.tile} warps a state"]
    words += ["rows ahead"] if ptx.waves == 1 else []
    words += ["work on the device"] if ptx.work else []
    level = gpu.code._level(ptx, where)
    return ", ".join(words + ([f"built at level {level}"] if level is not None else []))


# -- details of a difference


def _story(
    unit: Unit, j: Job, gpu: Any, what: str, k: int, a: np.ndarray, b: np.ndarray, states: list[np.ndarray]
) -> str:
    kind = np.dtype(f"i{a.dtype.itemsize}")
    flat = [np.ascontiguousarray(x).reshape(len(b), -1) for x in (a, b)]
    other = (flat[0].view(kind) != flat[1].view(kind)) & ~(np.isnan(flat[0]) & np.isnan(flat[1]))
    rows, columns = np.nonzero(other)
    lines = [
        f"{unit}: other bits in output {k} of {what}: {len(set(rows))} states, {len(rows)} of {other.size} "
        f"numbers, states {sorted(set(rows))[:12]}, elements {sorted(set(columns))[:12]}",
        f"  {_form(gpu, unit.columns)}, PTX {_digest(gpu, unit)}, options {dict(j.options)}, {j.present}",
    ]
    for r, c in list(zip(rows, columns))[:4]:
        x, y = (float(f[r, c]) for f in flat)
        lines.append(f"  state {r} element {c}: {x.hex()} there, {y.hex()} here ({x - y:.3g})")
    one = [x[rows[0]] for x in states]
    lines += [f"  {n} = {[float(v).hex() for v in x.ravel()[:80]]}" for n, x in zip(j.present, one)]
    for who, f, together in _others(j, gpu):
        said = [_verdict(f, one, k, flat[1][rows[0]], "alone")]
        said += [_verdict(f, states, k, flat[1], "all")] if together else []
        lines.append(f"  {who}: {'; '.join(said)}")
    return "\n".join(lines)


@contextmanager
def _believed(level: int) -> Iterator[None]:
    """Build kernels at one optimisation level, without verification."""
    own = {"_proves_itself": lambda *_: True, "_level": lambda *_: level}
    before = {name: getattr(cuda_code.Code, name) for name in own}, cuda_code.LEVELS
    cuda_code.LEVELS = (level,)
    for name, function in own.items():
        setattr(cuda_code.Code, name, function)
    try:
        yield
    finally:
        functions, cuda_code.LEVELS = before
        for name, function in functions.items():
            setattr(cuda_code.Code, name, function)


def _others(j: Job, gpu: Any) -> list[tuple[str, Callable[..., Any], bool]]:
    """Other ways to compute the same: name, function, and whether it takes batches."""

    def at(level: int) -> Callable[..., Any]:
        def call(*arrays: Any) -> Any:
            with _believed(level):
                return CudaKernel(j)(*arrays)

        return call

    def eager(*arrays: Any) -> Any:
        with preferring("eager"):
            return j.function.evaluate(j.model, dict(zip(j.present, arrays)), dict(j.options))

    return [
        ("the same call again", gpu, True),
        ("the CPU again", TARGETS["cpu"].executable(j), True),
        *((f"level {n}", at(n), True) for n in (4, 1, 0)),
        ("eagerly", eager, False),
    ]


def _verdict(f: Callable[..., Any], arrays: list[np.ndarray], k: int, expected: np.ndarray, what: str) -> str:
    """How far another computation is from the CPU's result."""
    try:
        value = np.asarray(_tuple(f(*arrays))[k], expected.dtype).reshape(expected.shape)
    except Exception as error:
        return f"{what}: {type(error).__name__} {str(error)[:200]}"
    differ = int((value != expected).sum())
    return f"{what}: {differ} differ by up to {np.abs(value - expected).max(initial=0):.3g}"


def _digest(gpu: CudaKernel, unit: Unit) -> str:
    text = gpu.code.ptx("any" if unit.columns else "rows", cuda.device()).text
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _unproved(unit: Unit) -> str:
    """The details of a kernel that failed its verification."""
    j = unit.job()
    try:
        with _believed(cuda_code.LEVELS[0]):
            _compare(unit, j, j.samples(cuda_code.PROOF), CudaKernel(j), "the states of the proof")
    except AssertionError as error:
        return str(error)
    return "  but these states agree now"


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)
