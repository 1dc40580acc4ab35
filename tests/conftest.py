"""What the tests share: how large a run is, and how close is close."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest

# Where the fresh seeds of this run begin: the same for all workers, which inherit it.
SEED = int(os.environ.setdefault("KINETREE_SEED", str(1000 * int.from_bytes(os.urandom(4), "little"))))


def pytest_report_header() -> list[str]:
    return [
        f"kinetree: KINETREE_SCALE={scale():g} (number of random mechanisms, 1 is a full run)",
        f"kinetree: KINETREE_SEED={SEED} (where the fresh seeds of this run begin)",
    ]


def scale() -> float:
    """How many random cases to try, relative to the normal run."""
    return float(os.environ.get("KINETREE_SCALE", "1"))


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that depend on the name of the test alone."""
    return np.random.default_rng(list(request.node.nodeid.encode()))


@pytest.fixture
def cases() -> Callable[[int], int]:
    """The number of random cases to try where the normal run tries n."""
    return lambda n: max(1, round(n * scale()))
