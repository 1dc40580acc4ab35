"""A few fresh trials of the differential fuzzer in every run; the campaign is for `make soak`."""

from __future__ import annotations

import os

import numpy as np
import pytest
from tests.conftest import scale
from tests.soak import fuzzer

FIRST = int.from_bytes(os.urandom(5), "little")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.mark.parametrize("number", range(8))
def test_fresh_trials(number):
    """The seeds are new in every run: a failure names the one that repeats it."""
    for k in range(max(1, round(3 * scale()))):
        fuzzer.run(FIRST + 1000 * number + k)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(200))
def test_campaign(number):
    for k in range(round(50 * scale())):
        fuzzer.run(FIRST + 10**6 * (number + 1) + k)


def test_it_finds_and_shrinks_a_fault(monkeypatch):
    """A wrong kernel is found, and what is reported is one body or two."""
    real = fuzzer._tuple
    monkeypatch.setattr(
        fuzzer, "_tuple", lambda value: tuple(np.asarray(x) * (1 + 1e-9) for x in real(value))
    )
    monkeypatch.setattr(fuzzer, "SKIPPED", {"mass_matrix"})
    trial = fuzzer.Trial.random(11)
    trial = fuzzer.Trial(trial.mechanism, "mass_matrix", 11)
    with pytest.raises(AssertionError) as caught:
        fuzzer.check(trial)
    small, failure = fuzzer.shrunk(trial, str(caught.value))
    assert len(small.mechanism.bodies) == 1 and not small.mechanism.rotors
    assert "times what is allowed" in failure
