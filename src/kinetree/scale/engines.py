"""Where chunks of runs are computed: here, on the library's own threads, or on a cluster with Ray.

An engine yields the parts in the order of the runs, whatever order they finish in, and holds a bounded
number of them at a time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from kinetree.errors import ArgumentError
from kinetree.extras import needed
from kinetree.model.validate import shown
from kinetree.scale.work import Part, Work

Chunk = tuple[int, int]
Engine = Callable[[Work, Iterator[Chunk]], Iterator[Part]]
AHEAD = 2  # chunks in flight for each worker
RETRIES = 8  # per chunk whose worker died


def local(work: Work, chunks: Iterator[Chunk]) -> Iterator[Part]:
    """One chunk after another, each on all threads."""
    for chunk in chunks:
        yield work(*chunk)


def on_ray(address: str | None) -> Engine:
    """Chunks as Ray tasks: on a local cluster started for the call, or on the one at an address."""

    def run(work: Work, chunks: Iterator[Chunk]) -> Iterator[Part]:
        ray = needed("ray", "engine='ray'")
        ours = not ray.is_initialized()
        if ours:
            os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
            ray.init(address, include_dashboard=False, log_to_driver=False, configure_logging=False)
        try:
            yield from _tasks(ray, work, chunks)
        finally:
            if ours:
                ray.shutdown()

    return run


def _tasks(ray: Any, work: Work, chunks: Iterator[Chunk]) -> Iterator[Part]:
    graphics = str(work.fixed.get("target")).startswith("cuda")
    task = ray.remote(num_cpus=1, num_gpus=1 if graphics else 0, max_retries=RETRIES)(_chunk)
    sent = ray.put(work)  # once, for all tasks
    workers = int(ray.cluster_resources().get("GPU" if graphics else "CPU", 1)) or 1
    flying: list[Any] = []
    try:
        for chunk in chunks:
            flying.append(task.remote(sent, *chunk))
            if len(flying) >= AHEAD * workers:
                yield ray.get(flying.pop(0))
        while flying:
            yield ray.get(flying.pop(0))
    finally:
        for reference in flying:
            ray.cancel(reference, force=True)


def _chunk(work: Work, start: int, stop: int) -> Part:
    """What a Ray worker does: one chunk on one core, with one thread."""
    from kinetree import threads

    threads.set_threads(1)
    return work(start, stop)


def engine_of(name: Any) -> Engine:
    """The engine of a name: "local", "ray", or the address of a Ray cluster."""
    if name == "local":
        return local
    if name == "ray":
        return on_ray(None)
    if isinstance(name, str) and (name.startswith("ray://") or name == "auto"):
        return on_ray(name)
    raise ArgumentError(
        f"scale: unknown engine {shown(name)}: give 'local', 'ray', or an address 'ray://host:10001'"
    )
