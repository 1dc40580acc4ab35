"""Counter-based random numbers: those of a run follow from the seed, a name and the number of the run alone.

Philox 4x64-10 of Salmon and others (2011), NumPy's generator of that name, for whole arrays of counters at
once. No state is carried from run to run, so runs may be computed in any order, anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

ROUNDS = 10
BITS = {"float64": 53, "float32": 23}  # of a uniform number
MULTIPLIERS = np.array([0xD2E7470EE14C6C93, 0xCA5A826395121157], np.uint64)
WEYL = np.array([0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B], np.uint64)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


def key_of(seed: int, name: str) -> np.ndarray:
    """The key (2,) of one random quantity: different names have independent numbers."""
    digest = hashlib.sha256(f"{seed}\0{name}".encode()).digest()
    return np.frombuffer(digest[:16], "<u8").astype(np.uint64)


def slots(names: Sequence[tuple[str, int]], seed: int) -> np.ndarray:
    """(blocks, 3): key and counter of each block of four words, for names with a number of blocks each."""
    rows = [(*key_of(seed, name), k) for name, blocks in names for k in range(blocks)]
    return np.array(rows, np.uint64).reshape(-1, 3)


def words(key: np.ndarray, runs: np.ndarray, count: int) -> np.ndarray:
    """(len(runs), count) random 64-bit words of some runs."""
    table = np.array([(*key, k) for k in range(-(-count // 4))], np.uint64).reshape(-1, 3)
    return words_of(table, runs)[:, :count]


def words_of(table: np.ndarray, runs: np.ndarray) -> np.ndarray:
    """(len(runs), 4 blocks) random words of some runs, as given by `slots`."""
    counters = np.zeros((4, len(runs), len(table)), np.uint64)
    counters[0] = table[:, 2]
    counters[1] = np.asarray(runs, np.uint64)[:, None]
    return np.moveaxis(philox(counters, table[:, :2].T), 0, -1).reshape(len(runs), 4 * len(table))


def uniform(key: np.ndarray, runs: np.ndarray, count: int, dtype: Any = np.float64) -> np.ndarray:
    """(len(runs), count) numbers in (0, 1), both ends excluded, with as many bits as the type can hold."""
    return between(words(key, runs, count), dtype)


def between(words: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
    """Random words as numbers in (0, 1)."""
    kind = np.dtype(dtype)
    top = words >> np.uint64(64 - BITS[str(kind)])
    return (top.astype(kind) + kind.type(0.5)) * kind.type(2.0 ** -BITS[str(kind)])


def philox(counters: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Ten rounds on counters (4, ...) with keys (2, ...)."""
    a, b, c, d = counters
    k0, k1 = np.asarray(key, np.uint64)
    with np.errstate(over="ignore"):
        for _ in range(ROUNDS):
            high0, low0 = _product(MULTIPLIERS[0], a)
            high1, low1 = _product(MULTIPLIERS[1], c)
            a, b, c, d = high1 ^ b ^ k0, low1, high0 ^ d ^ k1, low0
            k0, k1 = k0 + WEYL[0], k1 + WEYL[1]
    return np.stack([a, b, c, d])


def _product(x: np.uint64, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The high and low words of the product of two 64-bit words."""
    x0, x1, y0, y1 = x & _LOW, x >> _HALF, y & _LOW, y >> _HALF
    low, cross0, cross1 = x0 * y0, x1 * y0, x0 * y1
    middle = (low >> _HALF) + (cross0 & _LOW) + cross1
    return x1 * y1 + (cross0 >> _HALF) + (middle >> _HALF), x * y
