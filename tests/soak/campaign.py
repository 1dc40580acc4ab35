"""Long campaigns of random trials: each is a module of this folder with `trial(seed)` and `COUNT`.

    python -m tests.soak.campaign trees                     # to its end, or until --seconds have passed
    python -m tests.soak.campaign all --jobs 8 --ledger build/soak.json      # resumes where it stopped
    python -m tests.soak.campaign trees --seed 123          # repeats one trial, as a failure prints it

A trial returns a word that is counted, or raises. A worker that dies counts as a failure of the seed it was
at. A trial that exceeds its module's LIMIT is tried again at the end, alone, and fails only if it exceeds it
again. The ledger records which blocks of seeds are done and which seeds failed; a resumed campaign tries
these again, since the fault may have been fixed.
"""

from __future__ import annotations

import argparse
import gc
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
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

CAMPAIGNS = (
    "lifetimes", "caches", "exported", "arguments", "loops", "fuzzer", "interrupts", "files", "stumbles",
    "trees", "devices",
)  # fmt: skip
LIMIT = 600.0  # seconds for a trial, also on a busy machine
BLOCK = 100  # seeds that a worker takes at a time
LATE, FAILED = "out of time", "failed"
TOO_LONG = 75  # exit code of a worker whose trial takes too long


@dataclass
class Ledger:
    """The progress of a campaign: finished blocks of seeds, outcomes of the trials, and failures."""

    first: int
    done: list[list[int]] = field(default_factory=list)  # ranges of blocks, half-open
    tally: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    late: list[int] = field(default_factory=list)  # seeds out of time that are still to be tried alone
    core_seconds: float = 0.0

    @property
    def trials(self) -> int:
        return sum(self.tally.values())

    def knows(self, block: int) -> bool:
        return any(start <= block < stop for start, stop in self.done)

    def add(self, report: Report) -> None:
        self.tally = dict(Counter(self.tally) + Counter(report.tally))
        self.failures += report.failures
        self.late = sorted({*self.late, *report.late})
        self.core_seconds = round(self.core_seconds + report.seconds, 3)

    def forgive(self) -> None:
        """Forget failures, so that they are tried again."""
        seeds = [int(line.rsplit(" ", 1)[1]) for line in self.failures]
        self.failures, self.late = [], sorted({*self.late, *seeds})
        self.tally = dict(Counter(self.tally) - Counter({FAILED: len(seeds)}))

    def finish(self, block: int) -> None:
        """Record that a block is done."""
        merged: list[list[int]] = []
        for start, stop in sorted([*self.done, [block, block + 1]]):
            if merged and merged[-1][1] == start:
                merged[-1][1] = stop
            else:
                merged.append([start, stop])
        self.done = merged


@dataclass
class Report:
    """A worker's report on its seeds."""

    tally: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    seconds: float = 0.0

    def end(self, death: Death, line: str) -> None:
        """Record and print that a worker died."""
        if death.late:
            self.late.append(death.seed)
        else:
            self.tally[FAILED] += 1
            self.failures.append(f"a worker died\n  {line}")
        print(f"{LATE}; {line}" if death.late else self.failures[-1], flush=True)


class TooLongError(BaseException):
    """A trial takes too long. A BaseException, so that nothing handles it on the way."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TooLongError if the block takes longer."""

    def stop(*_: Any) -> None:
        raise TooLongError(f"takes longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def again(name: str, seed: int) -> str:
    return f"again: python -m tests.soak.campaign {name} --seed {seed}"


def attempt(name: str, seed: int) -> tuple[str, str]:
    """The outcome of a trial, and what to print if it failed or was out of time."""
    module = importlib.import_module(f"tests.soak.{name}")
    try:
        with at_most(getattr(module, "LIMIT", LIMIT)):
            return module.trial(seed), ""
    except TooLongError as error:
        return LATE, f"{error}\n  {again(name, seed)}"
    except Exception as error:
        what = str(error) or repr(error)
        if not isinstance(error, AssertionError):
            where = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__}: {what} ({where.filename}:{where.lineno})"
        return FAILED, f"{what}\n  {again(name, seed)}"


def work(name: str, blocks: Any, current: Any, me: int, results: Connection, finish: float) -> None:
    """A worker: takes blocks of seeds until there are none or the time is up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    gc.freeze()  # exempt imports from garbage collection
    while True:
        try:
            block, seeds = blocks.get(timeout=1)
        except queue.Empty:
            return
        started, report = time.process_time(), Report()
        for seed in seeds:
            if time.monotonic() > finish:
                return  # an unfinished block does not count
            current[me] = seed
            word, failure = attempt(name, seed)
            if word == LATE:
                os._exit(TOO_LONG)  # the state of this process is unknown: a new worker does the rest
            report.tally[word] += 1
            if failure:
                report.failures.append(failure)
        current[me] = -1
        report.seconds = time.process_time() - started
        results.send((block, report))


class Death(NamedTuple):
    """The seed at which a worker died, and whether it was out of time."""

    seed: int
    late: bool


class Crew:
    """The worker processes of a campaign."""

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

    def reports(self) -> Iterator[tuple[int, Report] | Death]:
        """The messages of workers within half a second: a finished block, or an early death."""
        for line in wait(list(self.workers), 0.5):
            assert isinstance(line, Connection)
            try:
                yield line.recv()
            except EOFError:
                me, worker = self.workers.pop(line)
                worker.join()
                if worker.exitcode and self.current[me] >= 0 and time.monotonic() < self.finish:
                    yield Death(self.current[me], worker.exitcode == TOO_LONG)
                self.current[me] = -1

    def dismiss(self) -> None:
        for _, worker in self.workers.values():
            worker.kill()
        self.blocks.cancel_join_thread()


def run(
    name: str, ledger: Ledger, count: int, jobs: int, seconds: float, keep: Callable[[], None]
) -> None:
    """Try seeds until `count` are done or the time is up, then those that were out of time, alone."""
    size = getattr(importlib.import_module(f"tests.soak.{name}"), "BLOCK", BLOCK)
    finish, last = time.monotonic() + seconds, ledger.first + count
    starts = range(ledger.first, last, size)
    blocks = {k: range(s, min(s + size, last)) for k, s in enumerate(starts) if not ledger.knows(k)}
    for block, report in _reports(Crew(name, jobs, finish), blocks, keep):
        ledger.add(report)
        ledger.finish(block)
    late = {seed: [seed] for seed in ledger.late}
    for seed, report in _reports(Crew(name, 1, finish), late, keep):
        if report.late:
            report.late, report.tally[FAILED] = [], 1
            report.failures.append(f"takes too long, also alone\n  {again(name, seed)}")
        ledger.late.remove(seed)
        ledger.add(report)


def _reports(
    crew: Crew, blocks: Mapping[int, Sequence[int]], keep: Callable[[], None]
) -> Iterator[tuple[int, Report]]:
    """The reports on blocks of seeds as they finish; failures are printed at once.

    A worker that dies is a failure of the seed it was at; another one continues with the rest of its block.
    """
    waiting, given, ended, kept = list(blocks)[::-1], {}, defaultdict(Report), time.monotonic()
    while (waiting or given) and time.monotonic() < crew.finish:
        while waiting and len(given) < 2 * crew.jobs:
            block = waiting.pop()
            given[block] = list(blocks[block])
            crew.blocks.put((block, given[block]))
        crew.fill()
        for message in crew.reports():
            if isinstance(message, Death):
                block = next(b for b, seeds in given.items() if message.seed in seeds)
                given[block].remove(message.seed)
                crew.blocks.put((block, given[block]))
                ended[block].end(message, again(crew.name, message.seed))
                continue
            block, report = message
            for line in report.failures:
                print(line, flush=True)
            report.tally += ended[block].tally
            report.failures += ended[block].failures
            report.late = ended.pop(block).late
            del given[block]
            yield block, report
        if time.monotonic() > kept + 10:
            keep()
            kept = time.monotonic()
    crew.dismiss()


def conduct(name: str, options: argparse.Namespace) -> int:
    """Run one campaign as the command line says; returns 1 if trials failed."""
    kept = json.loads(options.ledger.read_text()) if options.ledger and options.ledger.exists() else {}
    if name in kept:
        ledger = Ledger(**kept[name])
        ledger.forgive()
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
    failed, late = len(ledger.failures), len(ledger.late)
    print(f"{name}: {words}; {failed} failures, {late} out of time, {ledger.core_seconds:,.0f} core seconds")
    return int(bool(failed or late))


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
