"""Shared by all tests: the size of a run, fresh seeds, and reproducible random numbers."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
import pytest

Case = TypeVar("Case")

# First fresh seed of this run; workers inherit it, so it is the same for all.
SEED = int(os.environ.setdefault("KINETREE_SEED", str(1000 * int.from_bytes(os.urandom(4), "little"))))


def pytest_collection_finish() -> None:
    """Exempt everything imported so far from garbage collection, and collect less often."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """At the end, where `-q` keeps it, print what reproduces this run."""
    terminalreporter.write_line(
        f"KINETREE_SCALE={scale():g} (of a full run's random mechanisms), KINETREE_SEED={SEED} (fresh seeds)"
    )


def scale() -> float:
    """The number of random cases relative to the normal run."""
    return float(os.environ.get("KINETREE_SCALE", "1"))


def share(cases: Iterable[Case], parts: int) -> list[Case]:
    """One case in every `parts`, chosen by the fresh seed of the run; a full run takes them all."""
    return list(cases)[SEED // 1000 % parts :: parts] if scale() < 1 else list(cases)


def each(cases: Iterable[Case], check: Callable[[Case], None]) -> None:
    """Run a small check on all cases within one test, which names those that fail."""
    faults = []
    for case in cases:
        try:
            check(case)
        except AssertionError as fault:
            faults.append(f"{case}: {fault}")
    assert not faults, "\n".join(faults)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that depend on the name of the test alone."""
    return np.random.default_rng(list(request.node.nodeid.encode()))


@pytest.fixture
def cases() -> Callable[[int], int]:
    """The number of random cases to try where the normal run tries n."""
    return lambda n: max(1, round(n * scale()))
