"""Tests of machine code keep it in a directory of their own."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler_native.programs import identity_kernel

from kinetree.compiler.runtime import artifact, cache, native


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        kernel = identity_kernel(1)
        for _ in range(2):  # what calls go through is compiled once for a process, at the second call
            kernel(np.ones(1), np.ones(1))
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
