"""A batch inside other libraries, and the same batch outside of them."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.measure import Call, race

ROBOTS = {"arm7": kt.zoo.arm7, "humanoid": kt.zoo.humanoid}
FUNCTIONS = ("inverse_dynamics", "forward_dynamics")
LIBRARIES = {"jax": "JAX", "torch": "PyTorch"}
STATES = 4096

HEAD = """\
| robot | function | states | µs | JAX, jitted and vmapped | ratio | PyTorch | ratio |
|---|---|--:|--:|--:|--:|--:|--:|"""


def is_worthwhile() -> bool:
    """Whether one of the libraries is installed."""
    return any(find_spec(name) for name in LIBRARIES)


def row(robot: str, name: str, seconds: float) -> dict[str, Any]:
    """The wall-clock time of a batch: of the kernel alone, and of the wrapped functions."""
    model, function = ROBOTS[robot](), getattr(kt, name)
    rng = np.random.default_rng(0)
    q, v = model.random_state(rng, STATES)
    arrays = [q, v, rng.normal(size=(STATES, model.nv))]
    contestants = {"ours": Call(kt.compile(function, model), arrays)}
    if find_spec("jax"):
        contestants["jax"] = _jax(function, model, arrays)
    if find_spec("torch"):
        import torch

        contestants["torch"] = Call(kt.torch.wrap(function, model), [torch.tensor(a) for a in arrays])
    timings = race(contestants, seconds, time.perf_counter_ns)
    batch = {who: timing._asdict() for who, timing in timings.items()}
    return {"robot": robot, "function": name, "states": STATES, "batch": batch}


def _jax(function: Any, model: kt.Model, arrays: list[np.ndarray]) -> Call:
    import jax

    jax.config.update("jax_enable_x64", True)
    f = jax.jit(jax.vmap(kt.jax.wrap(function, model)))
    return Call(lambda *given: f(*given).block_until_ready(), [jax.numpy.asarray(a) for a in arrays])


def line(result: dict[str, Any]) -> str:
    """A row of the table."""
    batch = result["batch"]
    ours = batch["ours"]["median"]
    cells = [result["robot"], result["function"], str(result["states"]), f"{ours / 1e3:.0f}"]
    for library in LIBRARIES:
        theirs = batch.get(library, {}).get("median")
        cells += [f"{theirs / 1e3:.0f}", f"{theirs / ours:.2f}"] if theirs else ["", ""]
    return "| " + " | ".join(cells) + " |"
