"""What the tests share: how large a run is, and how close is close."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest


def pytest_report_header() -> str:
    return f"kinetree: KINETREE_SCALE={scale():g} (number of random mechanisms, 1 is a full run)"


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
