"""A few trials of every campaign, and how the campaigns report."""

from __future__ import annotations

import os
import shutil
import sys
import types

import pytest
from tests.conftest import SEED
from tests.soak import campaign

from kinetree.compiler.runtime import cache, threads

FEW = {
    "trees": 6, "loops": 4, "files": 100, "arguments": 60, "lifetimes": 8, "interrupts": 1, "caches": 20,
    "exported": 1,
}  # fmt: skip
NEEDED = {"interrupts": hasattr(os, "fork"), "caches": hasattr(os, "mkfifo"), "exported": shutil.which("gcc")}


@pytest.fixture(autouse=True)
def _as_before(tmp_path_factory, monkeypatch):
    """What campaigns set for their processes is as it was afterwards."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setattr(cache, "_limit", cache._limit)
    monkeypatch.setattr(threads, "WORTH", threads.WORTH)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FEW)
def test_fresh_trials(name):
    """The seeds are new in every run: a failure names the one that repeats it."""
    if not NEEDED.get(name, True):
        pytest.skip("needs forks, pipes or a C compiler")
    failures = [text for k in range(FEW[name]) if (text := campaign.attempt(name, SEED + k)[1])]
    assert not failures, "\n".join(failures)


def test_every_campaign_is_tried():
    assert {*FEW, "fuzzer"} == set(campaign.CAMPAIGNS)


@pytest.fixture
def sample(monkeypatch):
    """A campaign that fails at seed 103, ends the process at 107, and takes for ever at 111."""

    def trial(seed: int) -> str:
        assert seed != 103, "three is wrong"
        if seed == 107:
            os._exit(9)
        while seed == 111:
            pass
        return "even" if seed % 2 == 0 else "odd"

    module = types.ModuleType("tests.soak.sample")
    module.trial, module.COUNT, module.BLOCK, module.LIMIT = trial, 20, 2, 0.5
    monkeypatch.setitem(sys.modules, "tests.soak.sample", module)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_failures_deaths_and_endless_trials_are_reported_with_their_seeds(sample, capsys):
    ledger = campaign.Ledger(100)
    campaign.run("sample", ledger, 20, 2, 60.0, lambda: None)
    lines = "\n".join(sorted(ledger.failures))
    assert len(ledger.failures) == 3, lines
    for seed, what in ((103, "three is wrong"), (107, "a worker died"), (111, "takes longer than 0.5 s")):
        assert f"python -m tests.soak.campaign sample --seed {seed}" in lines and what in lines
    assert ledger.tally == {"even": 9, "odd": 7, "failed": 2}  # the block of the one that died is lost
    printed = capsys.readouterr().out
    assert all(failure in printed for failure in ledger.failures)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_campaign_goes_on_where_it_stopped(sample):
    ledger = campaign.Ledger(200, done=[0, 1, 2, 4], tally={"odd": 4, "even": 4})
    campaign.run("sample", ledger, 11, 1, 60.0, lambda: None)
    assert sorted(ledger.done) == [0, 1, 2, 3, 4, 5] and ledger.trials == 11 and not ledger.failures
