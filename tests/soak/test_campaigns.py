"""A few trials of every campaign, and how campaigns report."""

from __future__ import annotations

import os
import shutil
import sys
import time
import types

import pytest
from tests.conftest import SEED
from tests.soak import campaign

from kinetree.compiler.runtime import cache, threads

FEW = {
    "trees": 6, "loops": 4, "files": 100, "arguments": 60, "lifetimes": 8, "interrupts": 1, "caches": 20,
    "exported": 1, "devices": 2, "stumbles": 1,
}  # fmt: skip
NEEDED = {"interrupts": hasattr(os, "fork"), "caches": hasattr(os, "mkfifo"), "exported": shutil.which("gcc")}


@pytest.fixture(autouse=True)
def _as_before(tmp_path_factory, monkeypatch):
    """Restore what campaigns set for their processes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setattr(cache, "_limit", cache._limit)
    monkeypatch.setattr(threads, "WORTH", threads.WORTH)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FEW)
def test_fresh_trials(name):
    """Seeds are new in every run; a failure names the one that repeats it."""
    if not NEEDED.get(name, True):
        pytest.skip("needs forks, pipes or a C compiler")
    failures = [text for k in range(FEW[name]) if (text := campaign.attempt(name, SEED + k)[1])]
    assert not failures, "\n".join(failures)


def test_every_campaign_is_tried():
    assert {*FEW, "fuzzer"} == set(campaign.CAMPAIGNS)


@pytest.fixture
def sample(monkeypatch):
    """A campaign that fails at seed 103, ends the process at 107, and never ends at 111."""

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
    for seed, what in ((103, "three is wrong"), (107, "a worker died"), (111, "too long, also alone")):
        assert f"again: python -m tests.soak.campaign sample --seed {seed}" in lines and what in lines
    assert ledger.tally == {"even": 10, "odd": 7, "failed": 3} and ledger.done == [[0, 10]]
    printed = capsys.readouterr().out
    for seed in (103, 107, 111):
        assert f"again: python -m tests.soak.campaign sample --seed {seed}" in printed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_what_is_out_of_time_is_tried_again_alone(sample, tmp_path, monkeypatch, capsys):
    """A busy computer is not a failure; seeds not yet tried again stay in the ledger."""
    module, mark = sys.modules["tests.soak.sample"], tmp_path / "tried"

    def trial(seed: int) -> str:
        while seed == 3 and not mark.exists():
            mark.touch()
            time.sleep(60)
        return "fine"

    monkeypatch.setattr(module, "trial", trial)
    ledger = campaign.Ledger(0)
    campaign.run("sample", ledger, 10, 2, 60.0, lambda: None)
    assert ledger.tally == {"fine": 10} and not ledger.failures and not ledger.late
    assert "out of time; again: python -m tests.soak.campaign sample --seed 3" in capsys.readouterr().out
    late = campaign.Ledger(0, done=[[0, 10]], tally={"fine": 19}, late=[3])
    campaign.run("sample", late, 20, 1, 0.0, lambda: None)
    assert late.late == [3]
    campaign.run("sample", late, 20, 1, 60.0, lambda: None)
    assert late.tally == {"fine": 20} and not late.late


@pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_campaign_goes_on_where_it_stopped(sample):
    ledger = campaign.Ledger(200, done=[[0, 3], [4, 5]], tally={"odd": 4, "even": 4})
    campaign.run("sample", ledger, 11, 1, 60.0, lambda: None)
    assert ledger.done == [[0, 6]] and ledger.trials == 11 and not ledger.failures


@pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_what_failed_is_tried_again(sample, capsys):
    """Seed 103 fails as before; 104 has been fixed."""
    lines = [f"wrong\n  {campaign.again('sample', seed)}" for seed in (103, 104)]
    ledger = campaign.Ledger(100, [[0, 3]], {"even": 2, "odd": 2, "failed": 2}, lines)
    ledger.forgive()
    assert ledger.late == [103, 104] and not ledger.failures and ledger.trials == 4
    campaign.run("sample", ledger, 6, 1, 60.0, lambda: None)
    assert ledger.tally == {"even": 3, "odd": 2, "failed": 1} and not ledger.late
    assert [line.rsplit(" ", 1)[1] for line in ledger.failures] == ["103"]
