"""How far apart two results are."""

from __future__ import annotations

from typing import Any

import numpy as np


def error(value: Any, truth: Any, scale: float = 0.0) -> float:
    """Largest difference, relative to the largest entry of the truth (or to `scale`, if that is larger)."""
    value, truth = np.asarray(value, float), np.asarray(truth, float)
    if value.shape != truth.shape:
        raise AssertionError(f"shapes differ: {value.shape} and {truth.shape}")
    if not truth.size:
        return 0.0
    if not np.isfinite(value).all():
        raise AssertionError(f"not finite: {value}")
    size = max(float(np.abs(truth).max()), scale)
    return float(np.abs(value - truth).max()) / (size or 1.0)


def condition(matrix: Any) -> float:
    """Condition number of a symmetric positive definite matrix, at least 1."""
    return float(np.linalg.cond(matrix)) if np.size(matrix) else 1.0


def assert_close(value: Any, truth: Any, tolerance: float, scale: float = 0.0, what: str = "") -> None:
    """Fail unless `error(value, truth, scale)` is below the tolerance."""
    e = error(value, truth, scale)
    assert e <= tolerance, f"{what or 'result'}: relative error {e:.2e} exceeds {tolerance:.1e}"
