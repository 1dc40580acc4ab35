"""A few hundred fresh trials of the differential fuzzer in every run; the campaign is for `make soak`."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import SEED
from tests.soak import fuzzer
from tests.soak.campaign import attempt

LIGHT, FULL = 25, 1  # trials of each test


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.mark.parametrize("number", range(8))
def test_fresh_trials(number):
    """Seeds are new in every run; a failure names the one that repeats it."""
    first = SEED + 50 * number
    seeds = [first + 2 * k + 1 for k in range(LIGHT)] + [first + 2 * k for k in range(FULL)]
    failures = [text for seed in seeds if (text := attempt("fuzzer", seed)[1])]
    assert not failures, "\n".join(failures)


def test_it_finds_and_shrinks_a_fault(monkeypatch):
    """A wrong kernel is found, and the reported trial has one or two bodies."""
    real = fuzzer._tuple
    monkeypatch.setattr(
        fuzzer, "_tuple", lambda value: tuple(np.asarray(x) * (1 + 1e-9) for x in real(value))
    )
    monkeypatch.setattr(fuzzer, "SKIPPED", {"mass_matrix"})
    trial = fuzzer.Trial.random(12)
    trial = fuzzer.Trial(trial.mechanism, "mass_matrix", 12)
    with pytest.raises(AssertionError) as caught:
        fuzzer.check(trial)
    found = [(trial, str(caught.value))]
    fuzzer.shrink(found)
    small, failure = found[-1]
    assert len(small.mechanism.bodies) == 1 and not small.mechanism.rotors
    assert "times what is allowed" in failure
