"""GPU kernels for `compute-sanitizer`: every function on a small tree, and three robots with odd states.

    compute-sanitizer --tool memcheck python -m tests.soak.sanitized --kinds looped columns
    compute-sanitizer --tool racecheck python -m tests.soak.sanitized --part 0 2
    compute-sanitizer --tool synccheck python -m tests.soak.sanitized --kinds contact
    compute-sanitizer --tool memcheck python -m tests.soak.sanitized --matrix 200 400   # a part of `devices`

Batches are small, since everything is a hundred times slower; each kernel was verified before on several
tiles for each of two blocks. Bits are also compared with the CPU's. Prints a line for each kernel.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks import gpu_contact
from tests.gpu.jobs import MADE, NAMES
from tests.soak import devices

import kinetree as kt
from kinetree.errors import KinetreeError
from kinetree.stages import TARGETS
from kinetree.stages.targets.cuda_code import same_bits

SMALL = (2, 4, 9, 10, 13, 16, 20, 22, 26, 32, 35, 36, 37, 57)  # trees
ROBOTS = (kt.zoo.quadruped, kt.zoo.humanoid, kt.zoo.arm7)
FUNCTIONS = (kt.forward_dynamics, kt.inverse_dynamics, kt.mass_matrix)
DTYPES = ("float64", "float32")


def robot(make: Callable[[], kt.Model], dtype: str, function: Any) -> str:
    """Whole and partial tiles, with NaN, large angles, and a refused state."""
    model = make()
    q, v = (x.astype(dtype) for x in model.random_state(3, 200))
    q[[5, 150], -1], q[[7, 70], -1] = np.nan, 1e18
    arrays = (q,) if function is kt.mass_matrix else (q, v, v)
    gpu, cpu = (kt.compile(function, model, target=t, dtype=dtype) for t in ("cuda", "cpu"))
    for count in (1, 33, 200):
        some = [x[:count] for x in arrays]
        assert same_bits(gpu(*map(kt.cuda.array, some)).numpy(), cpu(*some)), "other bits"
    if function is kt.forward_dynamics and model.nq != model.nv:
        q[40, 3:7] *= 30
        try:
            gpu(*map(kt.cuda.array, arrays))
        except KinetreeError:
            return "one is refused"
        raise AssertionError("a quaternion of length 30 is not refused")
    return "as on the CPU"


def walking(name: str, dtype: str, limit: int | None) -> str:
    """Three steps of robots that touch the ground, in blocks of different sizes."""
    with patch.object(gpu_contact, "STEPS", 3):
        job = gpu_contact.job_of(gpu_contact.ROBOTS[name](), dtype, limit)
        gpu, cpu = (TARGETS[target].executable(job) for target in ("cuda", "cpu"))
        for count in (1, 33, 5000):
            given = gpu_contact.inputs_of(job.model, dtype, count)
            arrays = [given[n] for n in job.present]
            found = gpu(*map(kt.cuda.array, arrays))
            here = zip(found, cpu(*arrays), strict=True)
            assert all(same_bits(a.numpy(), np.asarray(b)) for a, b in here), "other bits"
    return "as on the CPU"


def kernels(kinds: list[str]) -> Iterator[tuple[str, Callable[[], str]]]:
    """The kernels to run: name and function; for contact, only these."""
    if "contact" in kinds:
        for name, dtype, limit in product(gpu_contact.ROBOTS, DTYPES[::-1], (4, None)):
            yield f"{name} {dtype} {limit}", lambda n=name, d=dtype, m=limit: walking(n, d, m)
        return
    for make, dtype, function in product(ROBOTS, DTYPES, FUNCTIONS):
        yield f"{make.__name__} {function.name} {dtype}", lambda m=make, d=dtype, f=function: robot(m, d, f)
    units = []
    for k, name in enumerate([*NAMES, *MADE]):
        seed, dtype = SMALL[k % len(SMALL)], DTYPES[k % 2] if name in NAMES else DTYPES[0]
        units.append(devices.Unit(seed, name, None, dtype))
        if name in NAMES and "looped" in kinds:
            units.append(devices.Unit(seed, name, "looped", dtype))
        if name in NAMES[::6] and "columns" in kinds:
            units.append(devices.Unit(seed, name, None, DTYPES[0], True))
    for unit in units:
        yield str(unit), lambda u=unit: devices.check(u)


def matrix(first: int, last: int) -> Iterator[tuple[str, Callable[[], str]]]:
    """Some of the comparisons of `devices`."""
    for seed, unit in list(enumerate(devices.units()))[first:last]:
        yield f"{seed} {unit}", lambda seed=seed: devices.trial(seed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), help="which of how many parts")
    parser.add_argument(
        "--kinds",
        nargs="*",
        default=[],
        choices=("looped", "columns", "contact"),
        help="these too; contact: instead",
    )
    parser.add_argument("--matrix", type=int, nargs=2, help="instead: from which comparison to which")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing new after so long")
    told = parser.parse_args()
    devices.BATCHES, devices.DISTINCT, devices.NUMBERS, devices.LARGEST = (1, 33), 100, 1, 200
    finish, failed = time.monotonic() + told.seconds, 0
    first, step = told.part
    todo = list(matrix(*told.matrix) if told.matrix else kernels(told.kinds))[first::step]
    for number, (name, run) in enumerate(todo):
        if time.monotonic() > finish:
            print(f"the time is over after {number} of {len(todo)}")
            break
        try:
            word = run()
        except Exception as problem:
            word, failed = f"FAILED {type(problem).__name__}: {problem}", failed + 1
        print(f"{name}: {word}", flush=True)
    print(f"{len(todo)} kernels, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
