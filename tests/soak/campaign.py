"""Long campaigns of random trials: each is a module of this folder with `trial(seed)` and `COUNT`.

    python -m tests.soak.campaign trees                     # to its end, or until --seconds have passed
    python -m tests.soak.campaign all --jobs 8 --ledger build/soak.json      # goes on where it stopped
    python -m tests.soak.campaign trees --seed 123          # one trial again: what a failure prints

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
from itertools import islice
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

CAMPAIGNS = (
    "trees", "loops", "files", "arguments", "fuzzer", "lifetimes", "interrupts", "caches", "exported",
)  # fmt: skip
LIMIT = 600.0  # seconds that a trial may take, on a busy machine too
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


def work(name: str, blocks: Any, current: Any, me: int, results: Connection, finish: float) -> None:
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
        results.send((block, dict(tally), failures, time.process_time() - started))


class Crew:
    """Processes that work on a campaign."""

    def __init__(self, name: str, jobs: int, finish: float):
        self.name, self.jobs, self.finish = name, jobs, finish
        self.context = multiprocessing.get_context("fork")
        self.blocks, self.current = self.context.Queue(), self.context.Array("q", [-1] * jobs)
        self.workers: dict[Connection, tuple[int, Any]] = {}

    def fill(self) -> None:
        """Start workers until there are enough."""
        for me in set(range(self.jobs)) - {number for number, _ in self.workers.values()}:
            here, there = self.context.Pipe(duplex=False)
            given = (self.name, self.blocks, self.current, me, there, self.finish)
            worker = self.context.Process(target=work, args=given)
            worker.start()
            there.close()
            self.workers[here] = me, worker

    def reports(self) -> Iterator[tuple[int, dict[str, int], list[str], float] | int]:
        """What workers send within half a second: a block that is done, or the seed at which one died."""
        for line in wait(list(self.workers), 0.5):
            assert isinstance(line, Connection)
            try:
                yield line.recv()
            except EOFError:
                me, worker = self.workers.pop(line)
                worker.join()
                if worker.exitcode and self.current[me] >= 0 and time.monotonic() < self.finish:
                    yield self.current[me]
                self.current[me] = -1

    def dismiss(self) -> None:
        for _, worker in self.workers.values():
            worker.kill()
        self.blocks.cancel_join_thread()


def run(
    name: str, ledger: Ledger, count: int, jobs: int, seconds: float, keep: Callable[[], None]
) -> None:
    """Try seeds until `count` are done or the time is over; report as they end, and `keep` now and then."""
    size = getattr(importlib.import_module(f"tests.soak.{name}"), "BLOCK", BLOCK)
    finish, kept = time.monotonic() + seconds, time.monotonic()
    crew, known = Crew(name, jobs, finish), set(ledger.done)
    waiting = iter([k for k in range(-(-count // size)) if k not in known])
    given: dict[int, range] = {}
    while time.monotonic() < finish:
        for block in islice(waiting, 2 * jobs - len(given)):
            start = ledger.first + block * size
            given[block] = range(start, min(start + size, ledger.first + count))
            crew.blocks.put((block, given[block]))
        if not given:
            break
        crew.fill()
        for report in crew.reports():
            if isinstance(report, int):
                line = f"again: python -m tests.soak.campaign {name} --seed {report}"
                failures = [f"a worker died\n  {line}"]
                ledger.failures += failures
                given = {b: seeds for b, seeds in given.items() if report not in seeds}
            else:
                block, _, failures, _ = report
                given.pop(block, None)
                ledger.add(*report)
            for failure in failures:
                print(failure, flush=True)
        if time.monotonic() > kept + 10:
            keep()
            kept = time.monotonic()
    crew.dismiss()


def conduct(name: str, options: argparse.Namespace) -> int:
    """One campaign as the command line says; 1 if trials failed."""
    kept = json.loads(options.ledger.read_text()) if options.ledger and options.ledger.exists() else {}
    if name in kept:
        ledger = Ledger(**kept[name])
    else:
        fresh = int.from_bytes(os.urandom(4), "little") * 10_000
        ledger = Ledger(fresh if options.first is None else options.first)
    count = options.count or importlib.import_module(f"tests.soak.{name}").COUNT
    print(f"{name}: seeds {ledger.first} ... {ledger.first + count - 1}, {ledger.trials} done before")

    def keep() -> None:
        if options.ledger:
            options.ledger.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps({**kept, name: asdict(ledger)})
            options.ledger.with_suffix(".new").write_text(text)
            options.ledger.with_suffix(".new").replace(options.ledger)

    run(name, ledger, count, options.jobs, options.seconds, keep)
    keep()
    words = ", ".join(f"{n:,} {word}" for word, n in sorted(ledger.tally.items()))
    failed = len(ledger.failures)
    print(f"{name}: {words}; {failed} failures, {ledger.core_seconds:,.0f} core seconds")
    return int(bool(failed))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=("all", *CAMPAIGNS))
    parser.add_argument("--seed", type=int, help="one trial again")
    parser.add_argument("--first", type=int, help="the first seed; by default a random one")
    wanted = int(os.environ.get("KINETREE_SOAK", "0"))
    help = "how many trials; by default $KINETREE_SOAK, or else the whole campaign"
    parser.add_argument("--count", type=int, default=wanted, help=help)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--ledger", type=Path, help="where the seeds that are done are kept")
    options = parser.parse_args()
    if options.seed is not None:
        word, failure = attempt(options.name, options.seed)
        print(failure or word)
        return bool(failure)
    names = CAMPAIGNS if options.name == "all" else (options.name,)
    return max(conduct(name, options) for name in names)


if __name__ == "__main__":
    sys.exit(main())
