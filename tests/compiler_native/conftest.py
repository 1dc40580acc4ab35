"""Tests of machine code keep it in a directory of their own."""

from __future__ import annotations

import pytest

from kinetree.compiler.runtime import artifact, cache, native


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """A cache directory that does not exist yet; nothing of it is in memory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    forget(monkeypatch)
    return cache.directory()


def forget(monkeypatch) -> None:
    """As if this were another process: what was compiled can be found on disk alone."""
    monkeypatch.setattr(artifact, "_artifacts", {})
    monkeypatch.setattr(native, "_libraries", {})
