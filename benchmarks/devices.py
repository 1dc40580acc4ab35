"""A batch on an NVIDIA GPU in JAX and PyTorch, and the kernel alone: `python -m benchmarks.devices`."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.measure import Call, race
from kinetree.compiler.runtime import cuda

ROBOTS = {"arm7": kt.zoo.arm7, "quadruped": kt.zoo.quadruped}
FUNCTIONS = ("inverse_dynamics", "forward_dynamics")
STATES = (4096, 1 << 19)


def main(seconds: float = 0.5) -> None:
    """Print the table."""
    if not cuda.is_available() or not find_spec("torch"):
        raise SystemExit("no NVIDIA GPU, or no PyTorch with CUDA")
    print("microseconds of a batch in float64: the call until the device is done")
    print(f"{'':38}{'kernel':>9}{'torch':>9}{'jax':>9}{'torch vjp':>11}{'jax vjp':>9}")
    for robot, make in ROBOTS.items():
        for name in FUNCTIONS:
            for count in STATES:
                row(robot, make(), getattr(kt, name), count, seconds)


def row(robot: str, model: kt.Model, function: Any, count: int, seconds: float) -> None:
    """One line of the table."""
    rng = np.random.default_rng(0)
    q, v = model.random_state(rng, count)
    arrays = [q, v, rng.normal(size=v.shape)]
    contestants = _torch(function, model, arrays)
    if find_spec("jax"):
        contestants |= _jax(function, model, arrays)
    times = race(contestants, seconds, time.perf_counter_ns)
    cells = []
    for who, width in (("kernel", 9), ("torch", 9), ("jax", 9), ("torch vjp", 11), ("jax vjp", 9)):
        cells.append(f"{times[who].median / 1e3:{width}.0f}" if who in times else " " * width)
    print(f"{robot:10} {function.name:18}{count:9}{''.join(cells)}", flush=True)


def _torch(function: Any, model: kt.Model, arrays: list[np.ndarray]) -> dict[str, Call]:
    import torch

    given = [torch.tensor(a, device="cuda") for a in arrays]
    wrapped, kernel = kt.torch.wrap(function, model), kt.compile(function, model, target="cuda")
    varying = [x.clone().requires_grad_() for x in given]

    def waiting(f: Callable[..., Any]) -> Callable[..., None]:
        def call(*x: Any) -> None:
            f(*x)
            torch.cuda.synchronize()

        return call

    def slope(*x: Any) -> Any:
        return torch.autograd.grad(wrapped(*x).sum(), x)

    found = {"kernel": (kernel, given), "torch": (wrapped, given), "torch vjp": (slope, varying)}
    return {who: Call(waiting(f), x) for who, (f, x) in found.items()}


def _jax(function: Any, model: kt.Model, arrays: list[np.ndarray]) -> dict[str, Call]:
    import jax

    jax.config.update("jax_enable_x64", True)
    given = [jax.numpy.asarray(a) for a in arrays]
    wrapped = kt.jax.wrap(function, model)
    programs = {
        "jax": jax.jit(jax.vmap(wrapped)),
        "jax vjp": jax.jit(jax.grad(lambda *x: wrapped(*x).sum(), (0, 1, 2))),
    }

    def waiting(f: Callable[..., Any]) -> Callable[..., None]:
        return lambda *x: jax.block_until_ready(f(*x))

    return {who: Call(waiting(f), given) for who, f in programs.items()}


if __name__ == "__main__":
    main()
