"""What is timed: robots, functions, and one table row for each pair."""

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
    "christoffel_symbols", "jacobian", "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
    "inverse_dynamics_second_derivatives", "inverse_dynamics_hessian", "inverse_dynamics vjp",
    "inverse_dynamics jvp", "forward_dynamics vjp", "forward_dynamics jvp",
)  # fmt: skip
SMALL = ("inverse_dynamics_second_derivatives", "inverse_dynamics_hessian")  # for robots with few velocities
FEW = 10
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


def functions(model: Model) -> list[str]:
    """The functions timed for a robot."""
    return [name for name in FUNCTIONS if model.nv <= FEW or name not in SMALL]


def function_of(name: str) -> kt.Function:
    """A function of a model, or the product with its derivative."""
    base, _, product = name.partition(" ")
    function = getattr(kt, base)
    return {"": function, "vjp": kt.vjp_of(function), "jvp": kt.jvp_of(function)}[product]


def given(name: str) -> tuple[str, ...]:
    """The inputs besides the required ones: weights of a gradient, changes of all inputs."""
    base, _, product = name.partition(" ")
    function = getattr(kt, base)
    if product == "vjp":
        return tuple(f"b_{a.name}" for a in function.outputs)
    return tuple(f"d_{a.name}" for a in function.own_inputs if not a.optional) if product else ()


def options(name: str, model: Model) -> dict[str, Any]:
    return {"frame": model.body_names[-1]} if name == "jacobian" else {}


def robot_row(robot: str, model: Model, name: str, peers: Any, seconds: float) -> dict[str, Any]:
    """One robot and function: a single call, and a batch on one thread."""
    kernel, compiling = _compiled(name, model)
    batch = BATCH if max(np.prod(core.shape, dtype=float) for core in kernel.outputs) < 3000 else 256
    inputs = states(model, kernel, batch)
    many = kernel(*inputs)
    one = [x[0].copy() for x in inputs]
    names = [core.name for core in kernel.inputs]
    public = Call(function_of(name), [model], dict(zip(names, one, strict=True)) | options(name, model))
    if not given(name):
        public = Call(function_of(name), [model, *one, *options(name, model).values()])
    public.function(*public.arguments, **public.keywords)
    alone = race({"ours": public} | peers.single(name, one), seconds)
    contestants = {"ours": Call(kernel, inputs, {"out": many})} | peers.batch(name, inputs)
    counts = {"pinocchio loop": peers.loop}
    together = {k: t / counts.get(k, batch) for k, t in race(contestants, seconds).items()}
    cached = None
    results = many if isinstance(many, tuple) else (many,)
    if sum(x.nbytes for x in results) > LARGE:  # the processor's time when memory is not the limit
        few, places = [x[:CACHED] for x in inputs], tuple(x[:CACHED] for x in results)
        place = places if isinstance(many, tuple) else places[0]
        cached = (race({"ours": Call(kernel, few, {"out": place})}, seconds)["ours"] / CACHED)._asdict()
    return {
        "robot": robot, "function": name, "ops": kernel.ops, "compile_seconds": compiling,
        "batch_size": batch, "cached": cached, "single": _plain(alone),
        "batch": _plain(peers.net(name, together)),
        "error": peers.error(name, inputs, results[0]),
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
    """Inverse dynamics of 65,536 states on one thread and on all threads."""
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
    """A kernel with its code for one state, and the seconds until its first result."""
    started = time.process_time()
    kernel = kt.compile(function_of(name), model, inputs=given(name), **options(name, model))
    seconds = time.process_time() - started
    kernel.threads = 1
    state = [x[0] for x in states(model, kernel, 1)]
    started = time.process_time()
    kernel(*state)
    return kernel, seconds + time.process_time() - started


def _plain(timings: dict[str, Timing]) -> dict[str, dict[str, float]]:
    return {name: t._asdict() for name, t in timings.items()}
