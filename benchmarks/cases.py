"""What is timed: robots, functions, and one row of the table for each pair."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.measure import Call, Timing, race
from kinetree.compiler.runtime.kernel import Kernel
from kinetree.model import Model

BATCH = 4096
CACHED = 64  # states whose results stay in the cache
LARGE = 1 << 23  # bytes of results that do not
ROBOTS: dict[str, Callable[[], Model]] = {
    "arm7": kt.zoo.arm7,
    "quadruped": kt.zoo.quadruped,
    "humanoid": kt.zoo.humanoid,
    "humanoid, fixed": lambda: kt.zoo.humanoid(floating=False),
    "chain of 20": lambda: kt.zoo.chain(20),
}
FUNCTIONS = (
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "inverse_mass_matrix", "coriolis_matrix",
    "christoffel_symbols", "jacobian",
)  # fmt: skip
TREES = {"chain": kt.zoo.chain, "binary tree": lambda n: kt.zoo.tree(n, 2)}
SIZES = (5, 10, 100, 1_000, 10_000, 100_000)
LARGEST_PEER = 300  # bodies: Pinocchio keeps dense matrices of all coordinates


def states(model: Model, kernel: Kernel, count: int) -> list[np.ndarray]:
    """Random inputs for a kernel."""
    rng = np.random.default_rng(0)
    few = np.array([model.random_state(rng)[0] for _ in range(min(count, 64))])
    return [
        few[np.arange(count) % len(few)] if core.name == "q" else rng.normal(size=(count, *core.shape))
        for core in kernel.inputs
    ]


def options(name: str, model: Model) -> dict[str, Any]:
    return {"frame": model.body_names[-1]} if name == "jacobian" else {}


def robot_row(robot: str, model: Model, name: str, peers: Any, seconds: float) -> dict[str, Any]:
    """One robot and function: a single call, and a batch on one thread."""
    kernel, compiling = _compiled(name, model)
    batch = BATCH if np.prod(kernel.outputs[0].shape, dtype=float) < 3000 else 256
    inputs = states(model, kernel, batch)
    many = kernel(*inputs)
    one = [x[0].copy() for x in inputs]
    public = Call(getattr(kt, name), [model, *one, *options(name, model).values()])
    public.function(*public.arguments)
    alone = race({"ours": public} | peers.single(name, one), seconds)
    contestants = {"ours": Call(kernel, inputs, {"out": many})} | peers.batch(name, inputs)
    counts = {"pinocchio loop": peers.loop}
    together = {k: t / counts.get(k, batch) for k, t in race(contestants, seconds).items()}
    cached = None
    if many.nbytes > LARGE:  # what the processor takes when memory does not limit it
        few, place = [x[:CACHED] for x in inputs], many[:CACHED]
        cached = (race({"ours": Call(kernel, few, {"out": place})}, seconds)["ours"] / CACHED)._asdict()
    return {
        "robot": robot, "function": name, "ops": kernel.ops, "compile_seconds": compiling,
        "batch_size": batch, "cached": cached, "single": _plain(alone),
        "batch": _plain(peers.net(name, together)),
        "error": peers.error(name, inputs, many),
    }  # fmt: skip


def size_row(tree: str, n: int, name: str, peers: Any, seconds: float) -> dict[str, Any]:
    """A chain or tree of n bodies: one state."""
    model = TREES[tree](n)
    kernel, compiling = _compiled(name, model)
    one = [x[0] for x in states(model, kernel, 1)]
    public = Call(getattr(kt, name), [model, *one])
    public.function(*public.arguments)
    contestants = {"ours": public}
    if n <= LARGEST_PEER:
        contestants |= peers(model).single(name, one)
    return {
        "robot": tree, "bodies": n, "function": name, "ops": kernel.ops, "compile_seconds": compiling,
        "single": _plain(race(contestants, seconds)),
    }  # fmt: skip


def thread_row(seconds: float) -> dict[str, Any]:
    """Inverse dynamics of 65,536 states on one thread and on all."""
    from kinetree.compiler.runtime.threads import available

    model = kt.zoo.arm7()
    kernel = kt.compile(kt.inverse_dynamics, model)
    inputs = states(model, kernel, 65_536)
    result = kernel(*inputs)

    def run(count: int) -> Callable[[], object]:
        def call() -> object:
            kernel.threads = count
            return kernel(*inputs, out=result)

        return call

    contestants = {str(c): Call(run(c)) for c in (1, available())}
    return {
        "function": "inverse_dynamics",
        "states": 65_536,
        "elapsed": _plain(race(contestants, seconds, time.perf_counter_ns)),
        "processor": _plain(race(contestants, seconds, time.process_time_ns)),
    }


def _compiled(name: str, model: Model) -> tuple[Kernel, float]:
    """A kernel with its code for one state, and the seconds of work until its first result."""
    started = time.process_time()
    kernel = kt.compile(getattr(kt, name), model, **options(name, model))
    seconds = time.process_time() - started
    kernel.threads = 1
    state = [x[0] for x in states(model, kernel, 1)]
    started = time.process_time()
    kernel(*state)
    return kernel, seconds + time.process_time() - started


def _plain(timings: dict[str, Timing]) -> dict[str, dict[str, float]]:
    return {name: t._asdict() for name, t in timings.items()}
