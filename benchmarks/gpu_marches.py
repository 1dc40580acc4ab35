"""Ways in which the threads of a block go through time loops with contact, timed one after the other.

    python -m benchmarks.gpu_marches [--seconds 85] [--jobs 16] [--first 12] ["quadruped, 4 points" ...]
    python -m benchmarks.gpu_marches --assemble            without a device: what `ptxas` says of each

Kernels are built side by side, and run one at a time, without that for large angles. Each line is one way:
million steps a second, how many of 1,000 states have not the bits of the CPU, registers, bytes that did not
fit into them, warps on a processor, and whether the kernel for large angles would have been needed (it "asks
again"). The first ways are those that matter most.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu_clock import Clock
from benchmarks.gpu_contact import ROBOTS, STEPS, Loop, inputs_of, job_of
from benchmarks.gpu_variants import alone, run_beside
from kinetree.compiler.emit.llvm.gpu import March, emit_gpu
from kinetree.compiler.runtime import cuda, cuda_kernels
from kinetree.stages import TARGETS
from kinetree.stages.targets import cuda_code, cuda_way
from kinetree.stages.targets.cuda import CudaKernel

DTYPE, STATES, CHECKED = "float32", 1 << 16, 1000
ROUNDS = 2
PATIENCE = 60.0  # seconds until the CPU's results must be there
TIMED = list(ROBOTS)[:3]
MARCHES = [
    March(),
    March("turns", period=5, threads=256),
    March("turns", period=5, pace=300, threads=256),
    March("turns", period=4, pace=300, threads=256),
    March("idle", pace=300, threads=256),
    March("turns", pace=300, threads=256),
    March("turns", period=5, pace=300, threads=128),
    March("steps", period=5, threads=256),
    March(period=5),
    March(period=4),
    March("turns", period=5, pace=300, threads=384, warps=12),
    March("turns", period=5, pace=300, threads=512, warps=16),
    March("steps", threads=256),
    March("searches", period=5, pace=300, threads=256),
    March("turns", period=5, pace=1000, threads=256),
    March("turns", period=5, pace=100, threads=256),
    March("idle", threads=256),
    March("turns", threads=256),
    March("turns", period=4, threads=128),
    March("idle", pace=300, threads=128),
    March(threads=256),
    March(threads=128),
    March(threads=32),
]


def marching(march: March) -> None:
    """Let one way be the rule, and nothing be kept by it."""
    cuda_way.MARCHES[DTYPE] = march
    cuda_code.cache.load = lambda name: None  # PTX is kept by function, not by way
    cuda_code.cache.store = lambda name, data: None
    cuda_code.Code._proves_itself = lambda *_: True  # type: ignore[method-assign]


def expect(robot: str, folder: Path) -> None:
    """What the CPU makes of some states, in a file."""
    model = ROBOTS[robot]()
    job = job_of(model, DTYPE)
    values = inputs_of(model, DTYPE, CHECKED)
    q, v, *_ = TARGETS["cpu"].executable(job)(*(values[n] for n in job.present))
    unfinished = folder / f"{robot}.unfinished.npy"
    np.save(unfinished, np.concatenate([q, v], -1))
    unfinished.rename(folder / f"{robot}.npy")


def expected(robot: str, folder: Path) -> np.ndarray:
    """The same, once it is there."""
    finish = time.monotonic() + PATIENCE
    while not (folder / f"{robot}.npy").exists() and time.monotonic() < finish:
        time.sleep(0.1)
    return np.load(folder / f"{robot}.npy")


def timed(robot: str, march: March, folder: Path, finish: float) -> str:
    """What there is to say of one way on a device."""
    marching(march)
    model = ROBOTS[robot]()
    kernel = CudaKernel(job_of(model, DTYPE))
    kernel.code.turns = False  # the kernel for large angles would take as long to build
    made, right = kernel.placed(cuda.device()), expected(robot, folder)
    values = inputs_of(model, DTYPE, STATES)
    with alone():
        if time.time() > finish:
            return "no time left"
        loop = Loop(model, DTYPE, STATES, kernel=kernel, values=values)
        found = np.concatenate([x.numpy()[:CHECKED] for x in loop.results[:2]], -1)
        rate = STATES * STEPS / Clock(cuda.device()).seconds(loop.start, 1, ROUNDS)
        (notes,) = (n for free in kernel.code._notes.values() for n in free if n.stream)
        with cuda.device().current():
            notes.copy()
        cuda_kernels.wait(cuda.device(), notes.stream)
    wrong = sum(not cuda_code.same_bits(a, b) for a, b in zip(found, right, strict=True))
    facts, warps = loop.facts(), made.launcher.resident() * march.threads // 32
    return (
        f"{rate / 1e6:7.1f} M/s  {wrong} differ  registers {facts['registers']} "
        f"spilled {facts['local_bytes']} warps {warps}{' asks again' if notes.numbers[1] else ''}"
    )


def assembled(robot: str, march: March, folder: Path, finish: float) -> str:
    """What `ptxas` says of one way."""
    made = emit_gpu(job_of(ROBOTS[robot](), DTYPE).program(0), DTYPE, "rows", large=False, march=march)
    name = folder / f"{os.getpid()}"
    name.with_suffix(".ptx").write_text(cuda_kernels.assemble(made.text, "sm_90"))
    call = ["ptxas", "-v", "-O3", "-arch=sm_90", f"{name}.ptx", "-o", f"{name}.cubin"]
    said = subprocess.run(call, check=True, capture_output=True, text=True).stderr
    facts = re.findall(r"Used \d+ registers|\d+ bytes (?:stack frame|spill stores|spill loads)", said)
    size = code_bytes(name.with_suffix(".cubin").read_bytes())
    return f"{size / 1024:6.1f} KB of code, {', '.join(facts)}"


def code_bytes(cubin: bytes) -> int:
    """The size of the code in an object file: its sections are those that are executed."""
    (start,) = struct.unpack_from("<Q", cubin, 40)
    size, count = struct.unpack_from("<HH", cubin, 58)
    sections = [struct.unpack_from("<IIQQQQ", cubin, start + k * size) for k in range(count)]
    return sum(length for _, _, flags, _, _, length in sections if flags & 4)


def line(say: Callable[..., str], robot: str, march: March, folder: Path, finish: float) -> None:
    """Print what there is to say of one way; an error is that too."""
    if time.time() > finish:
        return
    try:
        text = say(robot, march, folder, finish)
    except Exception as problem:
        text = f"{type(problem).__name__}: {problem}"[:300]
    print(f"{robot:20s} {named(march):52s} {text}", flush=True)


def named(march: March) -> str:
    """The ways in which it differs from the plainest, in words."""
    period = f", periods of {march.period}" if march.period else ""
    pace = f", every {march.pace}" if march.pace else ""
    warps = f", {march.warps} warps" if march.warps else ""
    return f"{march.together or 'alone'}{period}{pace}, {march.threads} threads{warps}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_marches", description=__doc__)
    parser.add_argument("robots", nargs="*", default=TIMED, help=f"some of {TIMED}")
    parser.add_argument("--seconds", type=float, default=85.0, help="begin nothing new after so long")
    parser.add_argument("--first", type=int, default=len(MARCHES), help="so many ways")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="kernels that are built at a time")
    parser.add_argument("--assemble", action="store_true", help="build kernels with ptxas, and run none")
    told = parser.parse_args()
    if not told.assemble and not cuda.is_available():
        sys.exit("no GPU here: --assemble builds kernels without one")
    spawn, finish = get_context("spawn"), time.time() + told.seconds
    with tempfile.TemporaryDirectory() as name:
        folder, say = Path(name), assembled if told.assemble else timed
        start = functools.partial(spawn.Process, target=line)
        tasks = [
            start(name=f"{robot} {named(march)}", args=(say, robot, march, folder, finish))
            for march in MARCHES[: told.first]
            for robot in told.robots
        ]
        references: list[Any] = [spawn.Process(target=expect, args=(r, folder)) for r in told.robots]
        for process in run_beside([*(references if say is timed else ()), *tasks], told.jobs):
            if process.exitcode:
                print(f"{process.name} ended with {process.exitcode}", flush=True)


if __name__ == "__main__":
    main()
