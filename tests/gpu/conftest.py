"""A GPU for tests where there is none."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from tests.gpu.emulator import FakeDriver

from kinetree.compiler.runtime import cache, cuda, cuda_kernels

CACHED = (cuda.driver, cuda.driver_version, cuda.device, cuda.only_one)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """NVIDIA's driver, with a device made of threads behind it. Models must not outlive the test."""
    library = FakeDriver()
    for one in CACHED:
        one.cache_clear()
    monkeypatch.setattr(cuda, "_opened", lambda: library)
    monkeypatch.setattr(cuda, "SIGNATURES", {})
    monkeypatch.setattr(cuda_kernels, "assemble", lambda text, _: text)
    monkeypatch.setattr("kinetree.stages.targets.cuda_code.PROOF", 5)
    monkeypatch.setattr("kinetree.compiler.emit.llvm.gpu_plan.TILES", (32,))
    monkeypatch.setattr(cache, "load", lambda _: None)
    monkeypatch.setattr(cache, "store", lambda *_: None)
    yield library
    gc.collect()
    for one in CACHED:
        one.cache_clear()
