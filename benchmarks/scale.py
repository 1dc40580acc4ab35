"""How sweeps scale with the threads of one machine, and the overhead of a chunk.

python -m benchmarks.scale [--runs 100000] [--ray]
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np

import kinetree as kt


def sweep(runs: int, engine: str = "local", chunk: int | str = "auto") -> kt.scale.Sweep:
    """Simulations of 1,000 steps of a 7-axis arm from random states."""
    over = {"q0": kt.scale.uniform(-0.5, 0.5), "v0": kt.scale.normal(0, 0.1)}
    law = kt.control.PD(kt.zoo.arm7(), np.zeros(7), kp=50.0, kd=10.0)
    return kt.scale.map(
        kt.simulate, kt.zoo.arm7(), over, runs, duration=1.0, dt=1e-3, control=law, engine=engine,
        chunk=chunk, reduce=kt.scale.mean("q"), progress=False,
    )  # fmt: skip


def seconds(runs: int, **how: object) -> float:
    """The time of a sweep, excluding compilation."""
    made = sweep(runs, **how)  # type: ignore[arg-type]
    made._size()
    begun = time.perf_counter()
    made.collect()
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--ray", action="store_true", help="beside a local Ray")
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    print(f"{options.runs:,} simulations of 1,000 steps of a 7-axis arm; {cores} cores")
    alone = 0.0
    for threads in [k for k in (1, 2, 4, 8, 16, 32, 64) if k <= cores]:
        kt.threads.set_threads(threads)
        took = seconds(options.runs)
        alone = alone or took
        rate = options.runs * 1000 / took
        print(
            f"{threads:3d} threads {took:8.2f} s {rate / 1e6:8.1f} million steps/s "
            f"{alone / took:6.2f} times one thread"
        )
    made = sweep(1 << 20)
    begun = time.perf_counter()
    made.work.drawn(0, 65536)
    print(f"drawing 14 numbers: {(time.perf_counter() - begun) / 65536 * 1e6:.2f} us a run")
    if options.ray:
        kt.threads.set_threads(1)
        one = seconds(options.runs, chunk=8192)
        both = seconds(options.runs, chunk=8192, engine="ray")
        print(f"one thread {one:.2f} s; Ray with its start, {cores} workers: {both:.2f} s")


if __name__ == "__main__":
    main()
