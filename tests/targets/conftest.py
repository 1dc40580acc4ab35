"""The ways to run an algorithm, as one fixture."""

from __future__ import annotations

import pytest
from tests.targets.execution import COMPILED, PRINTED, Runner

from kinetree.compiler.runtime import threads


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory):
    """Machine code of the tests goes to a directory of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(params=[*PRINTED, *COMPILED])
def target(request: pytest.FixtureRequest) -> tuple[str, Runner]:
    """Name of a target, and what runs a setting there."""
    return request.param, {**PRINTED, **COMPILED}[request.param]


@pytest.fixture
def any_threads(monkeypatch: pytest.MonkeyPatch):
    """Let even small batches be shared among threads."""
    monkeypatch.setattr(threads, "WORTH", 1.0)
    monkeypatch.setattr("kinetree.compiler.runtime.kernel.BLOCK", 500.0)
    yield
    threads.set_threads(None)
