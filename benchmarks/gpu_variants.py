"""Variants of running a function on a GPU, timed one after another: the source of the rules in `cuda_way.py`.

    python -m benchmarks.gpu_variants [--seconds 180] [--jobs 8] [arm|quadruped|humanoid ...]

Kernels are built in parallel and timed one at a time, without the kernel for large angles. Each line is one
variant: what differs from the rules, states per second, registers, spilled bytes, states and threads per
block, and warps per multiprocessor.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from benchmarks.gpu import DTYPES, FUNCTIONS, Prepared, copy_speed, model_of, states_for
from benchmarks.gpu_clock import Clock
from kinetree.compiler.emit.llvm import gpu_plan
from kinetree.compiler.passes.strands import put_aside, strands
from kinetree.compiler.runtime import cuda
from kinetree.stages.compile import job_for
from kinetree.stages.targets import cuda_code
from kinetree.stages.targets.cuda import Cuda, CudaKernel
from kinetree.stages.targets.limbs import owners

LOCK, PATIENCE = Path(tempfile.gettempdir()) / "kinetree-gpu-variants", 20  # seconds
ROBOT = {"arm": "7-axis arm", "quadruped": "quadruped", "humanoid": "humanoid"}
RULES = cuda_code.way_of
LIMITS = gpu_plan.TILES, gpu_plan.LITTLE, gpu_plan.FEW, gpu_plan.MUCH
ALL = 227 << 10  # bytes of shared memory
CHUNKS = {"arriving": "chunks"}


def parked(held: int, slots: int, price: int = 3, **more: int) -> dict[str, int]:
    """Keep `held` values in registers; some others are recomputed, the rest wait in shared memory."""
    return {"most": held, "price": price, "held": held, "slots": slots, **more}


WAYS: dict[tuple[str, str, str], list[dict[str, Any]]] = {
    ("humanoid", "FD", "float64"): [{}, parked(104, 113, 16), parked(85, 113, 16)],
    ("humanoid", "FD", "float32"): [{}, parked(225, 100, 6), parked(195, 100, 6)],
    ("quadruped", "FD", "float64"): [{}, {"most": 95}, parked(108, 70, 6), parked(108, 100, 0)],
    ("quadruped", "FD", "float32"): [{}, {"ahead": False}, {"tile": 32}],
    ("arm", "FD", "float64"): [{}, {"ahead": False}, {"tile": 64}, parked(57, 33, warps=16), {"warps": 8}],
    ("arm", "FD", "float32"): [{}, {"ahead": False}, {"tile": 64}, parked(70, 40, warps=24)],
    ("arm", "ID", "float64"): [{}, CHUNKS, {"waves": 8}],
    ("arm", "ID", "float32"): [{}, CHUNKS, {"waves": 8}, {"tile": 64}],
    **{(robot, "ID", dtype): [{}, CHUNKS] for robot in ("quadruped", "humanoid") for dtype in DTYPES},
    **{(robot, "M", dtype): [{}, CHUNKS] for robot in ROBOT for dtype in DTYPES},
}


def chosen(choice: dict[str, Any]) -> Callable[..., dict[str, Any]]:
    """The rules, with some of their choices overridden."""

    def way(job: Any, program: Any, where: Any) -> dict[str, Any]:
        found, own = RULES(job, program, where), dict(choice)
        held, slots = own.pop("held", 0), own.pop("slots", 1000)
        if {"count", "most", "price"} & own.keys():
            owner, weights = owners(job, program)
            numbers = own.pop("count", 1), own.pop("most", 1 << 30), own.pop("price", 12)
            found["strands"] = strands(program, owner, weights, *numbers)
        if held:
            found["strands"] = put_aside(found["strands"], program, held, slots, program.inputs)
        return found | own

    return way


@contextmanager
def alone() -> Iterator[None]:
    """Exclusive use of the device; a kernel that does not end is killed with its process."""
    with LOCK.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        signal.alarm(PATIENCE)
        try:
            yield
        finally:
            signal.alarm(0)


def prepared(robot: str, name: str, dtype: str, choice: dict[str, Any]) -> CudaKernel:
    """A kernel of one variant; `tile`: states per block, `tiles`: tiles per block, `waves` of blocks."""
    choice = dict(choice)
    tile, tiles, waves = (choice.pop(name, 0) for name in ("tile", "tiles", "waves"))
    gpu_plan.TILES, gpu_plan.LITTLE, gpu_plan.FEW, gpu_plan.MUCH = ((tile,), 0, ALL, ALL) if tile else LIMITS
    cuda_code.way_of = chosen(choice)
    job = job_for("bench", FUNCTIONS[name], model_of(ROBOT[robot]), None, {}, dtype)
    kernel = CudaKernel(job)
    kernel.code.turns = False  # the kernel for large angles would take as long to build
    made = kernel.placed(cuda.device())
    if tiles or waves:
        wave = made.launcher.resident() * cuda.device().processors
        blocks = waves * wave if waves else -(-states_for(job) // (made.tile * tiles))
        kernel.code._loaded = dict.fromkeys(kernel.code._loaded, made._replace(blocks=blocks))
    return kernel


def line(ready: Prepared, clock: Clock) -> str:
    rates = sorted(ready.count / clock.seconds(ready.start, 6) / 1e9 for _ in range(3))
    facts = ready.facts()
    warps = ready.loaded.launcher.resident() * facts["threads"] // 32
    return (
        f"best {rates[2]:6.2f} median {rates[1]:6.2f} registers {facts['registers']:3d} "
        f"spilled {facts['local_bytes']:4d} tile {facts['tile']} threads {facts['threads']} "
        f"shared {facts['shared']} warps {warps}"
    )


def time_ways(key: tuple[str, str, str], finish: float) -> None:
    """All variants of one function: built in parallel with others, verified and timed alone."""
    proves = cuda_code.Code._proves_itself

    def proves_alone(code: cuda_code.Code, *arguments: Any) -> bool:
        with alone():
            return proves(code, *arguments)

    cuda_code.cache.load = lambda name: None  # PTX is cached by function, not by variant
    cuda_code.cache.store = lambda name, data: None
    cuda_code.Code._proves_itself = proves_alone  # type: ignore[method-assign]
    for choice in WAYS[key]:
        if time.time() > finish:
            break
        try:
            kernel = prepared(*key, choice)
            Cuda.executable = lambda self, job, kernel=kernel: kernel  # type: ignore[method-assign, misc]
            with alone():
                text = line(Prepared(kernel.job, states_for(kernel.job)), Clock(cuda.device()))
        except Exception as problem:
            text = f"{type(problem).__name__}: {problem}"[:300]
        print(*key, f"{choice}: {text}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_variants", description=__doc__)
    parser.add_argument("robots", nargs="*", default=list(ROBOT))
    parser.add_argument("--seconds", type=float, default=600.0, help="begin nothing new after so long")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="functions at a time")
    told = parser.parse_args()
    print(f"a copy moves {copy_speed(Clock(cuda.device())) / 1e12:.2f} TB/s", flush=True)
    finish, spawn = time.time() + told.seconds, get_context("spawn")
    waiting = [spawn.Process(target=time_ways, args=(k, finish)) for k in WAYS if k[0] in told.robots]
    running: list[Any] = []
    while waiting or running:
        while waiting and len(running) < told.jobs:
            running.append(waiting.pop(0))
            running[-1].start()
        wait([p.sentinel for p in running])
        running = [p for p in running if p.is_alive()]


if __name__ == "__main__":
    main()
