"""A mutated robot file gives a model with finite numbers that moves, or an error with a name."""

from __future__ import annotations

from tests.io.test_fuzz import loaded

COUNT = 1_000_000
BLOCK = 1000


def trial(seed: int) -> str:
    return "loaded" if loaded(range(seed, seed + 1)) else "refused"
