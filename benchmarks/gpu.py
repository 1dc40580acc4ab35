"""`make bench-gpu`: functions, simulations and calls on a GPU, with their bytes and operations.

    python -m benchmarks.gpu [functions simulations batches calls contact] [--save gpu.json] [--jobs 4]

Kernels are timed by the device's clock, on arrays that are already there; calls by the CPU's clock.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import time
from collections.abc import Sequence
from functools import cache
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks import gpu_contact
from benchmarks.gpu_clock import TURNS, Clock
from kinetree.compiler.runtime import cuda, cuda_kernels
from kinetree.compiler.runtime.cuda_arrays import View
from kinetree.model import Model
from kinetree.motion.rollout import rollout
from kinetree.stages import TARGETS, Job
from kinetree.stages.compile import job_for
from kinetree.stages.targets.cuda import CudaKernel
from kinetree.stages.targets.cuda_code import Notes

ROBOTS = {"7-axis arm": kt.zoo.arm7, "quadruped": kt.zoo.quadruped, "humanoid": kt.zoo.humanoid}
FUNCTIONS = {"ID": kt.inverse_dynamics, "FD": kt.forward_dynamics, "M": kt.mass_matrix}
NUMBERS = 1 << 28  # the most numbers in the arrays of a timing
DISTINCT = 4096  # distinct states, then repeated
MANY = 100  # repetitions of small batches
STEPS = 200
CONTACT = (  # the most Newton steps
    ("float32", "cuda", 4), ("float32", "cuda", None), ("float32", "cuda_fast", 4),
    ("float32", "cuda_fast", None), ("float64", "cuda", None),
)  # fmt: skip
DTYPES = ("float32", "float64")
TIMED = list(product(ROBOTS, FUNCTIONS, DTYPES))
SIMULATED = [
    (robot, integrator, dtype, joints)
    for robot, integrator, joints in (
        ("7-axis arm", "discrete", False), ("7-axis arm", "discrete", True), ("7-axis arm", "rk4", False),
        ("quadruped", "discrete", False), ("humanoid", "discrete", False),
    )
    for dtype in DTYPES
]  # fmt: skip


@cache
def model_of(robot: str) -> Model:
    """The model of a robot, cached: kernels are kept with it."""
    return ROBOTS[robot]()


def arrays_for(job: Job, count: int, columns: bool = False) -> list[cuda.DeviceArray]:
    """Valid states on the device: a few thousand, repeated; `columns`: coordinates first."""
    return [repeated(x, count, columns) for x in job.samples(min(count, DISTINCT))]


def repeated(x: np.ndarray, count: int, columns: bool) -> cuda.DeviceArray:
    """An array of `count` states, a multiple of those in `x`: copied once, then doubled on the device."""
    array = cuda.DeviceArray(
        (count, *x.shape[1:]), x.dtype, cuda.device(), (*range(1, x.ndim), 0) if columns else ()
    )
    if columns:
        x = np.moveaxis(x, 0, -1)
    lines = np.ascontiguousarray(x).reshape(math.prod(x.shape[:-1]) if columns else 1, -1)
    if not lines.size:
        return array
    width, pitch = lines.nbytes // len(lines), array.memory.size // len(lines)
    held, start = cuda.array(lines), array.memory.pointer
    cuda_kernels.copy_rows(cuda.device(), (held.memory.pointer, width), (start, pitch), width, len(lines), 0)
    while width < pitch:
        more = min(width, pitch - width)
        cuda_kernels.copy_rows(cuda.device(), (start, pitch), (start + width, pitch), more, len(lines), 0)
        width += more
    cuda_kernels.wait(cuda.device())
    return array


class Prepared:
    """A kernel with arrays of one batch."""

    def __init__(self, job: Job, count: int, columns: bool = False):
        self.job, self.count = job, count
        self.kernel = TARGETS["cuda"].executable(job)
        self.inputs = arrays_for(job, count, columns)
        where = cuda.device()
        _, outputs = job.shapes
        self.results = [
            cuda.DeviceArray(
                (count, *s), self.kernel.dtype, where, (*range(1, len(s) + 1), 0) if columns else ()
            )
            for s in outputs
        ]
        self.kernel(*self.inputs, out=tuple(self.results))
        views = [View.of(a) for a in (*self.inputs, *self.results)]
        self.form = self.kernel._form(views[: len(self.inputs)], views[len(self.inputs) :])
        self.loaded = self.kernel.code.load(where, self.form.layout)
        self.arguments = [n for v, s in zip(views, self.form.strides) for n in (v.pointer, *s)]
        self._notes: dict[int, Notes] = {}

    def start(self, stream: int) -> None:
        """Start the kernel without checking for refused states."""
        if stream not in self._notes:
            self._notes[stream] = Notes(cuda.device(), stream)
        with cuda.device().current():
            self.kernel.code._launch(self.loaded, list(self.arguments), self.count, self._notes[stream])

    @property
    def bytes(self) -> int:
        """Bytes moved per state."""
        inputs, outputs = self.job.shapes
        return sum(math.prod(s) for s in (*inputs, *outputs)) * self.kernel.dtype.itemsize

    def facts(self) -> dict[str, int]:
        """Registers, spilled bytes, states and threads per block."""
        launcher = self.loaded.launcher
        shape = {"tile": self.loaded.tile, "threads": launcher.threads, "shared": launcher.shared}
        return launcher.facts() | shape


def states_for(job: Job) -> int:
    inputs, outputs = job.shapes
    numbers = sum(math.prod(s) for s in (*inputs, *outputs))
    return 1 << min(23, int(math.log2(NUMBERS / numbers)))


def function_job(robot: str, name: str, dtype: str) -> Job:
    return job_for("bench", FUNCTIONS[name], model_of(robot), None, {}, dtype)


def simulation_job(robot: str, integrator: str, dtype: str, joints: bool) -> Job:
    function = rollout((), 1, STEPS)
    options = function.chosen(
        integrator=integrator, passive=joints, limits=joints, constraints=(), ground=False
    )
    return Job(function, model_of(robot), function.present(()), options, dtype)


def function_row(
    robot: str,
    name: str,
    dtype: str,
    clock: Clock,
    count: int = 0,
    columns: bool = False,
    turns: int = TURNS,
) -> dict[str, Any]:
    """States per second of one function."""
    job = function_job(robot, name, dtype)
    ready = Prepared(job, count or states_for(job), columns)
    seconds = clock.seconds(ready.start, turns)
    flops = ready.kernel.ops["flops"]
    return {
        "robot": robot, "function": name, "dtype": dtype, "states": ready.count,
        "rate": ready.count / seconds, "bytes": ready.bytes, "flops": flops,
        "traffic": ready.count * ready.bytes / seconds, "work": ready.count * flops / seconds,
        **ready.facts(),
    }  # fmt: skip


def copy_speed(clock: Clock) -> float:
    """Bytes per second of a copy within the device, read plus written."""
    size = 1 << 31
    a, b = cuda.Memory(cuda.device(), size), cuda.Memory(cuda.device(), size)

    def copy(stream: int) -> None:
        with cuda.device().current():
            status = cuda.driver().cuMemcpyDtoDAsync_v2(
                *map(ctypes.c_uint64, (b.pointer, a.pointer, size, stream))
            )
            cuda.check(status, "a copy")

    return 2 * size / clock.seconds_of_copies(copy)


def simulation_row(
    robot: str, integrator: str, dtype: str, clock: Clock, states: int = 1 << 20, joints: bool = False
) -> dict[str, Any]:
    """Steps per second of a time loop; `joints`: with damping, friction and stops at joint limits."""
    ready = Prepared(simulation_job(robot, integrator, dtype, joints), states)
    seconds = clock.seconds(ready.start, 2)
    flops = ready.kernel.ops["flops"]
    return {
        "robot": robot, "integrator": integrator, "dtype": dtype, "states": states, "steps": STEPS,
        "joints": joints, "rate": states * STEPS / seconds, "work": states * STEPS * flops / seconds,
        "flops": flops, **ready.facts(),
    }  # fmt: skip


def contact_row(robot: str, dtype: str, target: str, limit: int | None, clock: Clock) -> dict[str, Any]:
    """Steps per second of robots that trot and are pushed, with a limit on Newton steps."""
    ready = gpu_contact.Loop(gpu_contact.ROBOTS[robot](), dtype, 1 << 18, limit, target)
    seconds = clock.seconds(ready.start, 1)
    rate = ready.count * gpu_contact.STEPS / seconds
    kind = {"robot": robot, "dtype": dtype, "target": target, "newton_limit": limit}
    return kind | {"rate": rate, **ready.facts()}


def call_seconds(dtype: str = "float32") -> dict[str, float]:
    """Seconds of a whole call from Python with a small batch, by kind of array."""
    arm = kt.zoo.arm7()
    q, v = arm.random_state(0, 1024)
    rows = {"kinetree": [kt.cuda.array(x.astype(dtype)) for x in (q, v, v)]}
    try:
        import torch

        rows["torch"] = [torch.as_tensor(x.astype(dtype), device="cuda") for x in (q, v, v)]
    except ImportError:
        pass
    found = {}
    for name, arrays in rows.items():
        for function in (kt.inverse_dynamics, kt.forward_dynamics):
            function(arm, *arrays)
            started = time.perf_counter()
            for _ in range(500):
                function(arm, *arrays)
            found[f"{name} {function.name}"] = (time.perf_counter() - started) / 500
    return found


def print_function(row: dict[str, Any], copied: float) -> None:
    print(
        f"{row['robot']:11s} {row['function']:2s} {row['dtype']} {row['rate'] / 1e9:6.2f} G/s  "
        f"{row['traffic'] / 1e12:5.2f} TB/s ({row['traffic'] / copied:4.0%})  "
        f"{row['work'] / 1e12:5.1f} Tflop/s  registers {row['registers']:3d} "
        f"spilled {row['local_bytes']:4d}  {row['tile']} x {row['threads'] // row['tile']} "
        f"shared {row['shared']}",
        flush=True,
    )


def print_simulation(row: dict[str, Any]) -> None:
    print(
        f"{row['robot']:11s} {row['integrator']} {'with joints ' if row['joints'] else ''}{row['dtype']} "
        f"{row['rate'] / 1e9:6.2f} G steps/s  {row['work'] / 1e12:5.1f} Tflop/s  "
        f"registers {row['registers']} spilled {row['local_bytes']}",
        flush=True,
    )


def build(which: tuple[Any, ...]) -> None:
    """Build a kernel, so that it is cached."""
    part, *rest = which
    if part == "contact":
        gpu_contact.Loop(gpu_contact.ROBOTS[rest[0]](), rest[1], 256, rest[3], rest[2])
    else:
        job = simulation_job(*rest) if part == "simulations" else function_job(*rest)
        CudaKernel(job).placed(cuda.device())


def to_build(parts: Sequence[str]) -> list[tuple[Any, ...]]:
    """The kernels that the parts need, largest first."""
    robots = list(ROBOTS)
    found: list[tuple[Any, ...]] = []
    if "contact" in parts:
        found += [("contact", robot, *kind) for robot, kind in product(gpu_contact.ROBOTS, CONTACT)]
    if "simulations" in parts:
        found += [("simulations", *s) for s in sorted(SIMULATED, key=lambda s: -robots.index(s[0]))]
    if "functions" in parts or "batches" in parts:
        found += [("functions", *f) for f in sorted(TIMED, key=lambda f: -robots.index(f[0]))]
    return found


class Results(dict[str, Any]):
    """The measurements, saved to a file as they are made."""

    def __init__(self, path: str | None):
        super().__init__(copy=0.0, functions=[], columns=[], simulations=[], contact=[], calls={}, batches=[])
        self.path = path

    def add(self, kind: str, row: dict[str, Any]) -> dict[str, Any]:
        self[kind].append(row)
        self.save()
        return row

    def save(self) -> None:
        if self.path:
            Path(self.path).write_text(json.dumps(self, indent=1))


def time_functions(clock: Clock, found: Results) -> None:
    for which in TIMED:
        print_function(found.add("functions", function_row(*which, clock)), found["copy"])
    for name in ("ID", "FD"):
        for dtype in DTYPES:
            row = found.add("columns", function_row("7-axis arm", name, dtype, clock, columns=True))
            print(f"7-axis arm, coordinates first, {name} {dtype} {row['rate'] / 1e9:6.2f} G/s", flush=True)


def time_simulations(clock: Clock, found: Results) -> None:
    for robot, integrator, dtype, joints in SIMULATED:
        row = simulation_row(robot, integrator, dtype, clock, joints=joints)
        print_simulation(found.add("simulations", row))


def time_calls(clock: Clock, found: Results) -> None:
    found["calls"] = call_seconds()
    found.save()
    for name, seconds in found["calls"].items():
        print(f"a call, {name}: {seconds * 1e6:.0f} us")


def time_batches(clock: Clock, found: Results) -> None:
    for robot, name in product(ROBOTS, ("ID", "FD")):
        for k in range(5, 23):
            row = function_row(robot, name, "float32", clock, 1 << k, turns=MANY if k < 16 else TURNS)
            found.add("batches", {n: row[n] for n in ("robot", "function", "states", "rate")})
    print(f"{len(found['batches'])} batches timed", flush=True)


def time_contact(clock: Clock, found: Results) -> None:
    for robot, (dtype, target, limit) in product(gpu_contact.ROBOTS, CONTACT):
        row = found.add("contact", contact_row(robot, dtype, target, limit, clock))
        most = f", at most {limit} Newton steps" if limit else ""
        print(
            f"{robot}, contact {dtype} {target}{most} {row['rate'] / 1e6:.0f} M steps/s  registers "
            f"{row['registers']} spilled {row['local_bytes']}",
            flush=True,
        )


PARTS = {
    "functions": time_functions, "simulations": time_simulations, "batches": time_batches,
    "calls": time_calls, "contact": time_contact,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all if none is named")
    parser.add_argument("--save", help="write the results to a JSON file")
    parser.add_argument("--jobs", type=int, default=0, help="build kernels in so many processes before")
    chosen = parser.parse_args()
    if wrong := set(chosen.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(wrong))}: there are {', '.join(PARTS)}")
    if not cuda.is_available():
        print("no GPU here: nothing to time")
        return
    parts = chosen.parts or list(PARTS)
    if chosen.jobs:
        with get_context("spawn").Pool(chosen.jobs) as pool:
            pool.map(build, to_build(parts), 1)
    clock, found = Clock(cuda.device()), Results(chosen.save)
    found["copy"] = copy_speed(clock)
    print(f"a copy moves {found['copy'] / 1e12:.2f} TB/s", flush=True)
    for part in parts:
        PARTS[part](clock, found)


if __name__ == "__main__":
    main()
