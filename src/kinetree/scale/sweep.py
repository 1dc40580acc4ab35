"""`kt.scale.map`: a function of a model for many runs, locally or on a cluster."""

from __future__ import annotations

import importlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kinetree.errors import ArgumentError
from kinetree.extras import needed
from kinetree.model import Model
from kinetree.model.validate import shown
from kinetree.motion import simulate
from kinetree.scale import store
from kinetree.scale.engines import engine_of
from kinetree.scale.reductions import BLOCK, Fold
from kinetree.scale.work import Part, Rows, Work, read
from kinetree.stages import Function

Array = np.ndarray
SECONDS = 1.0  # about how long a chunk takes
MEMORY = 1 << 28  # the most bytes of results in a chunk


class Results(NamedTuple):
    """The result of a sweep."""

    rows: Rows  # name -> (n, ...), NaN where a run failed; empty if only reductions were asked for
    reduced: dict[str, Any]
    reasons: dict[int, str]  # run -> why it failed
    processors: tuple[str, ...]  # equal processors give equal bits

    def to_parquet(self, path: str | Path) -> Path:
        """Write the rows to a Parquet file (extra `tables`): one column per number, and why a run failed."""
        arrow = needed("pyarrow", "to_parquet")
        columns: dict[str, Any] = {}
        for name, values in self.rows.items():
            for place in np.ndindex(values.shape[1:]):
                columns["_".join([name, *(str(k) for k in place)])] = values[(slice(None), *place)]
        runs = len(next(iter(columns.values()), ()))
        columns["failed"] = [self.reasons.get(run) for run in range(runs)]
        importlib.import_module("pyarrow.parquet").write_table(arrow.table(columns), str(path))
        return Path(path)


class Sweep:
    """Many runs of a function of a model, computed on demand: iterate, `collect()` or `save()`.

    Iteration yields `Part`s in the order of the runs while others are still being computed. `reduced`,
    `reasons` and `processors` describe the runs done so far.
    """

    def __init__(self, work: Work, n: int, chunk: Any, reduce: Any, engine: str, progress: Any):
        self.work, self.n, self.engine, self.progress = work, n, engine, progress
        self.fold = Fold(reduce, work.model)
        self.reasons: dict[int, str] = {}
        self.processors: set[str] = set()
        self.chunk = None if chunk == "auto" else _whole_blocks(chunk)
        self._first: Part | None = None
        engine_of(engine)

    def __iter__(self) -> Iterator[Part]:
        yield from self._parts(None)

    def __len__(self) -> int:
        return self.n

    @property
    def reduced(self) -> dict[str, Any]:
        """The reductions over the runs done so far."""
        return self.fold.results()

    def collect(self, keep: bool | None = None) -> Results:
        """Compute all runs and return their results.

        Args:
            keep: include the results of every run; by default only if nothing is reduced. Without them,
                memory does not grow with the number of runs.
        """
        keep = not self.fold.reductions if keep is None else keep
        parts = []
        for part in self:
            if keep:
                parts.append(part.rows)
        names = parts[0] if parts else {}
        rows = {name: np.concatenate([p[name] for p in parts]) for name in names}
        return Results(rows, self.reduced, dict(self.reasons), tuple(sorted(self.processors)))

    def save(self, directory: str | Path) -> Results:
        """Compute all runs and store each part in a directory as it finishes; stored parts are not repeated.

        After a crash or Ctrl-C, continue with `kt.scale.resume(directory)`.
        """
        folder = Path(directory)
        store.write_spec(folder, self.work, self.n, self._size())
        for _ in self._parts(folder):
            pass
        return Results({}, self.reduced, dict(self.reasons), tuple(sorted(self.processors)))

    def _parts(self, folder: Path | None) -> Iterator[Part]:
        self.fold = Fold(self.fold.reductions, self.work.model)
        self.reasons, self.processors = {}, set()
        size = self._size()
        chunks = [(start, min(start + size, self.n)) for start in range(0, self.n, size)]
        kept: set[tuple[int, int]] = set()
        if folder is not None:
            kept = {chunk for chunk in chunks if store.part_path(folder, chunk[0]).exists()}
        bar = _Bar(self.progress, self.n)
        made = engine_of(self.engine)(self.work, (chunk for chunk in chunks if chunk not in kept))
        try:
            for chunk in chunks:
                part = store.read_part(folder, *chunk) if folder is not None and chunk in kept else None
                if part is None:
                    part = self.work(*chunk) if chunk in kept else next(made)
                    if folder is not None:
                        store.write_part(folder, part)
                self.fold.add(part.start, part.rows, part.failed)
                self.reasons |= part.reasons
                self.processors.add(part.processor)
                bar.tell(part.stop)
                yield part
        finally:
            made.close()  # type: ignore[attr-defined]
            bar.end()

    def _size(self) -> int:
        """Runs per chunk: about a second of work, within the limit on the memory of results."""
        if self.chunk is None:
            self.work(0, 1)  # compiles
            begun = time.perf_counter()
            first = self.work(0, min(BLOCK, self.n))
            seconds = max(time.perf_counter() - begun, 1e-6)
            size = sum(x.nbytes for x in first.rows.values()) / max(1, first.stop) or 8
            runs = min(SECONDS / seconds * BLOCK, MEMORY / size)
            self.chunk = _whole_blocks(max(BLOCK, min(runs, self.n)))
        return self.chunk


def map(
    function: Any,
    model: Model,
    over: dict[str, Any],
    n: int | None = None,
    *,
    chunk: int | str = "auto",
    seed: int = 0,
    reduce: Any = None,
    engine: str = "local",
    take: Callable[[Any], Any] | None = None,
    progress: bool | None = None,
    **fixed: Any,
) -> Sweep:
    """Many runs of a function of a model, with varying inputs drawn for each run.

    The result of a run depends only on the seed and its number, not on chunks, workers, engines or failures.

    Args:
        function: a function of a model, `kt.simulate`, or a Python function f(model, **arrays) of whole
            batches, whose results have a leading axis of runs.
        model: the robot.
        over: what varies, by name: inputs of the function (`q0` and `v0` for `simulate`), "gravity",
            "parameters", or of one body "mass/NAME", "center/NAME", "inertia/NAME" (about its centre of
            mass; xx, yy, zz, xy, xz, yz). Each is a distribution (`kt.scale.normal`, `uniform`, `lognormal`,
            `on_sphere`, `choice`, `sobol`), an array with a row for each run, or `kt.scale.file(path)`.
        n: the number of runs; by default the number of rows of the arrays.
        chunk: runs computed at once; "auto" for about a second of work. It does not change results.
        seed: of the random numbers.
        reduce: reductions over all runs: `kt.scale.mean("tau")`, `covariance`, `quantiles`, `histogram`,
            `best`; one, or a list or a dict of them.
        engine: "local", the threads of this process; "ray", a local Ray cluster started for the call; or the
            address of a cluster, "ray://host:10001".
        take: extracts {name: (runs, ...)} from a result, for example from a Trajectory. By default all
            results of a function, and the last state of a simulation.
        progress: True for a line with rate and time left, None for that on a terminal only, False for
            silence.
        fixed: all other arguments of the function, the same for all runs.

    Returns:
        A `Sweep`: iterate over it, or `collect()`, or `save(directory)`.
    """
    if not isinstance(model, Model):
        raise ArgumentError(f"scale.map: the second argument must be a kinetree Model, got {shown(model)}")
    if not callable(function):
        raise ArgumentError(f"scale.map: the first argument must be a function, got {shown(function)}")
    sources = read(model, over)
    both = set(sources) & set(fixed)
    if both:
        raise ArgumentError(f"scale.map: {', '.join(sorted(both))} both varies and is fixed: give it once")
    counts = {name: source.count for name, source in sources.items() if source.count is not None}
    if n is None and not counts:
        raise ArgumentError("scale.map: say how many runs: n=...")
    total = min(counts.values()) if n is None else n
    short = [name for name, count in counts.items() if count < total]
    if isinstance(total, bool) or not isinstance(total, (int, np.integer)) or total < 1:
        raise ArgumentError(f"scale.map: n must be a whole number above 0, got {shown(n)}")
    if short or (n is None and len(set(counts.values())) > 1):
        rows = ", ".join(f"'{name}' {count}" for name, count in counts.items())
        raise ArgumentError(f"scale.map: {total} runs need a row each, and there are: {rows}")
    _refuse_missing(function, sources, fixed)
    work = Work(function, model, sources, fixed, int(seed), take)
    return Sweep(work, int(total), chunk, reduce, engine, progress)


def resume(
    directory: str | Path,
    *,
    function: Any = None,
    take: Callable[[Any], Any] | None = None,
    reduce: Any = None,
    engine: str = "local",
    progress: bool | None = None,
    **again: Any,
) -> Sweep:
    """The sweep saved in a directory; its `save(directory)` continues where it stopped.

    Args:
        directory: where it is.
        function, take, again: what the directory cannot hold because it is not data: functions of your own,
            controllers. Give these again.
        reduce, engine, progress: as for `kt.scale.map`.
    """
    folder = Path(directory)
    spec = store.read_spec(folder)
    work = store.read_work(folder, spec, function, take, again)
    return Sweep(work, spec["n"], spec["chunk"], reduce, engine, progress)


def _refuse_missing(function: Any, sources: dict[str, Any], fixed: dict[str, Any]) -> None:
    """Raise ArgumentError if a required input neither varies nor is given."""
    needed: list[str] = []
    if function is simulate:
        needed = ["q0", "v0", "duration", "dt"]
    elif isinstance(function, Function):
        needed = [a.name for a in function.own_inputs if not a.optional]
    missing = [name for name in needed if name not in sources and name not in fixed]
    if missing:
        raise ArgumentError(
            f"scale.map: give {', '.join(missing)}, in over or as an argument that stays the same"
        )


def _whole_blocks(runs: Any) -> int:
    """A number of runs rounded to whole blocks, so that reductions see the same blocks for any chunk size."""
    if isinstance(runs, bool) or not isinstance(runs, (int, float, np.integer)) or not 0 < runs < math.inf:
        raise ArgumentError(f"scale: chunk must be a number of runs or 'auto', got {shown(runs)}")
    return max(1, round(runs / BLOCK)) * BLOCK


class _Bar:
    """A progress line on the terminal: runs done, rate and time left."""

    def __init__(self, wanted: bool | None, n: int):
        terminal = bool(getattr(sys.stderr, "isatty", lambda: False)())
        self.speaks, self.n = wanted is True or (wanted is None and terminal), n
        self.begun = time.monotonic()

    def tell(self, done: int) -> None:
        if self.speaks:
            seconds = max(time.monotonic() - self.begun, 1e-9)
            left = seconds * (self.n - done) / done
            bar, rate = "#" * (24 * done // self.n), done / seconds
            line = f"sweep [{bar:<24}] {done / self.n:4.0%} {rate:9.3g} runs/s, {left:.0f} s left"
            sys.stderr.write("\r" + line[:79].ljust(79))
            sys.stderr.flush()

    def end(self) -> None:
        if self.speaks:
            sys.stderr.write("\r" + " " * 79 + "\r")
            sys.stderr.flush()
