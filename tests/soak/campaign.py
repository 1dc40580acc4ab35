"""Long campaigns of random trials: each is a module of this folder with `trial(seed)` and `COUNT`.

    python -m tests.soak.campaign trees                         # to its end, or until --seconds have passed
    python -m tests.soak.campaign trees --jobs 8 --ledger build/soak.json      # goes on where it stopped
    python -m tests.soak.campaign trees --seed 123              # one trial again: what a failure prints

A trial returns a word that is counted, or raises. A worker that dies, or a trial that takes longer than its
module's LIMIT, is a failure like any other, and its seed is known. The ledger keeps which seeds are done.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import queue
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

CAMPAIGNS = ("trees", "files", "arguments", "fuzzer", "lifetimes", "interrupts", "caches", "exported")
LIMIT = 120.0  # seconds that a trial may take
BLOCK = 100  # seeds that a worker takes at a time


@dataclass
class Ledger:
    """What a campaign has done: which blocks of seeds, how the trials ended, and which failed."""

    first: int
    done: list[int] = field(default_factory=list)
    tally: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    core_seconds: float = 0.0

    @property
    def trials(self) -> int:
        return sum(self.tally.values())

    def add(self, block: int, tally: dict[str, int], failures: list[str], seconds: float) -> None:
        self.done.append(block)
        self.tally = dict(Counter(self.tally) + Counter(tally))
        self.failures += failures
        self.core_seconds = round(self.core_seconds + seconds, 3)


class TooLongError(AssertionError):
    """A trial that does not end."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TooLongError in a trial that takes longer."""

    def stop(*_: Any) -> None:
        raise TooLongError(f"takes longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def attempt(name: str, seed: int) -> tuple[str, str]:
    """How a trial ended, and what to print about it if it failed."""
    module = importlib.import_module(f"tests.soak.{name}")
    try:
        with at_most(getattr(module, "LIMIT", LIMIT)):
            return module.trial(seed), ""
    except Exception as error:
        what = str(error) or repr(error)
        if not isinstance(error, AssertionError):
            where = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__}: {what} ({where.filename}:{where.lineno})"
        return "failed", f"{what}\n  again: python -m tests.soak.campaign {name} --seed {seed}"


def work(name: str, blocks: Any, current: Any, me: int, results: Any, finish: float) -> None:
    """What a worker does: blocks of seeds, until there are none or the time is over."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    while True:
        try:
            block, seeds = blocks.get(timeout=1)
        except queue.Empty:
            return
        started, tally, failures = time.process_time(), Counter[str](), []
        for seed in seeds:
            if time.monotonic() > finish:
                return  # a block that was begun but not finished does not count
            current[me] = seed
            word, failure = attempt(name, seed)
            tally[word] += 1
            if failure:
                failures.append(failure)
        current[me] = -1
        results.put((block, dict(tally), failures, time.process_time() - started))


def run(
    name: str, ledger: Ledger, count: int, jobs: int, seconds: float, keep: Callable[[], None]
) -> None:
    """Try seeds until `count` are done or the time is over; report as they end, and `keep` now and then."""
    module = importlib.import_module(f"tests.soak.{name}")
    size = getattr(module, "BLOCK", BLOCK)
    context = multiprocessing.get_context("fork")
    blocks, results, current = context.Queue(), context.Queue(), context.Array("q", [-1] * jobs)
    known = set(ledger.done)
    waiting = [k for k in range(-(-count // size)) if k not in known]
    given: dict[int, range] = {}
    workers: dict[int, Any] = {}
    finish, kept = time.monotonic() + seconds, time.monotonic()
    while workers or (given and time.monotonic() < finish) or waiting:
        while waiting and len(given) < 2 * jobs and time.monotonic() < finish:
            block = waiting.pop(0)
            start = ledger.first + block * size
            given[block] = range(start, min(start + size, ledger.first + count))
            blocks.put((block, given[block]))
        if time.monotonic() >= finish:
            waiting = []
        for me in range(jobs):
            if me not in workers and given and time.monotonic() < finish:
                workers[me] = context.Process(target=work, args=(name, blocks, current, me, results, finish))
                workers[me].start()
        try:
            block, *what = results.get(timeout=0.5)
            given.pop(block, None)
            ledger.add(block, *what)
            for failure in what[1]:
                print(failure, flush=True)
            if time.monotonic() > kept + 10:
                keep()
                kept = time.monotonic()
        except queue.Empty:
            pass
        for me, worker in list(workers.items()):
            if not worker.is_alive():
                worker.join()
                del workers[me]
                if worker.exitcode not in (0, -signal.SIGKILL) and current[me] >= 0:
                    line = f"again: python -m tests.soak.campaign {name} --seed {current[me]}"
                    ledger.failures.append(f"died with {worker.exitcode}\n  {line}")
                    print(ledger.failures[-1], flush=True)
                    given = {b: s for b, s in given.items() if current[me] not in s}
                    current[me] = -1
        if time.monotonic() > finish + 5:
            for worker in workers.values():
                worker.kill()
    for line in (blocks, results):
        line.cancel_join_thread()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=CAMPAIGNS)
    parser.add_argument("--seed", type=int, help="one trial again")
    parser.add_argument("--first", type=int, help="the first seed; by default a random one")
    parser.add_argument("--count", type=int, help="how many trials; by default the whole campaign")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--ledger", type=Path, help="where the seeds that are done are kept")
    options = parser.parse_args()
    if options.seed is not None:
        word, failure = attempt(options.name, options.seed)
        print(failure or word)
        return bool(failure)
    kept = json.loads(options.ledger.read_text()) if options.ledger and options.ledger.exists() else {}
    if options.name in kept:
        ledger = Ledger(**kept[options.name])
    else:
        fresh = int.from_bytes(os.urandom(4), "little") * 10_000
        ledger = Ledger(fresh if options.first is None else options.first)
    count = options.count or importlib.import_module(f"tests.soak.{options.name}").COUNT
    print(f"{options.name}: seeds {ledger.first} ... {ledger.first + count - 1}, {ledger.trials} done before")

    def keep() -> None:
        if options.ledger:
            options.ledger.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps({**kept, options.name: asdict(ledger)})
            options.ledger.with_suffix(".new").write_text(text)
            options.ledger.with_suffix(".new").replace(options.ledger)

    run(options.name, ledger, count, options.jobs, options.seconds, keep)
    keep()
    words = ", ".join(f"{n:,} {word}" for word, n in sorted(ledger.tally.items()))
    failed = len(ledger.failures)
    print(f"{options.name}: {words}; {failed} failures, {ledger.core_seconds:,.0f} core seconds")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
