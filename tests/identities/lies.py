"""Functions that lie: their results are off by a little, as an algorithm with a wrong term would be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import kinetree as kt

SIZE = 1e-3


def distorted(result: Any, part: int) -> Any:
    """The result with one of its outputs off by a thousandth; each number in its own way."""
    if isinstance(result, tuple):
        parts = [distorted(value, 0) if k == part else value for k, value in enumerate(result)]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    array = np.array(result, float)
    off = np.random.default_rng(array.size).uniform(0.5, 1.5, array.shape)
    return (array + SIZE * off * (array + max(1.0, float(np.abs(array).max(initial=0.0)))))[()]


@contextmanager
def lying(name: str, part: int = 0) -> Iterator[list[Any]]:
    """`kt.<name>` with one of its outputs distorted; gives the list of its honest results so far."""
    honest: Callable[..., Any] = getattr(kt, name)
    results: list[Any] = []

    def lie(*args: Any, **options: Any) -> Any:
        results.append(honest(*args, **options))
        return distorted(results[-1], part)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kt, name, lie)
        yield results
