"""A line on a terminal that says how far long work has come."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def progress(steps: Iterable[T], count: int, label: str) -> Iterator[T]:
    """The steps themselves; while they run, standard error shows `label` and a bar if it is a terminal."""
    stream = sys.stderr
    if not stream.isatty():
        yield from steps
        return
    shown = 0.0
    try:
        for done, step in enumerate(steps):
            if time.monotonic() - shown > 0.1:
                shown = time.monotonic()
                filled = 24 * done // max(count, 1)
                bar = "#" * filled + "." * (24 - filled)
                stream.write(f"\r\033[2K{label} [{bar}] {done}/{count}")
                stream.flush()
            yield step
    finally:
        stream.write("\r\033[2K")
        stream.flush()
