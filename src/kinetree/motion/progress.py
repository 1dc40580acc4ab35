"""A progress line on the terminal for long runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 1.0  # seconds before the first line
PERIOD = 0.2  # seconds between updates


class Progress:
    """Reports how much of a run is done.

    `wanted`: None for a line on the terminal if the run takes long, True for a line in any case, False for
    silence, or a function that is called with the fraction done.
    """

    def __init__(
        self, wanted: bool | Callable[[float], Any] | None, duration: float, states: int, steps: int
    ):
        self.wanted, self.duration, self.states, self.steps = wanted, duration, states, steps
        self.begun = self.said = time.monotonic()
        self.shown = False
        terminal = bool(getattr(sys.stderr, "isatty", lambda: False)())
        self.speaks = wanted is True or (wanted is None and terminal)

    def tell(self, done: int) -> None:
        """Report that `done` steps are complete."""
        fraction = done / self.steps
        if callable(self.wanted):
            self.wanted(fraction)
            return
        now = time.monotonic()
        if not self.speaks or now - self.begun < PATIENCE or now - self.said < PERIOD:
            return
        self.said, self.shown = now, True
        width = 24
        bar = "#" * int(width * fraction)
        rate = done * self.states / (now - self.begun)
        left = (now - self.begun) * (1 - fraction) / max(fraction, 1e-9)
        line = f"simulate [{bar:<{width}}] {fraction:4.0%} {rate:9.3g} steps/s, {left:.0f} s left"
        sys.stderr.write("\r" + line[:79].ljust(79))
        sys.stderr.flush()

    def end(self) -> None:
        """Remove the line."""
        if self.shown:
            sys.stderr.write("\r" + " " * 79 + "\r")
            sys.stderr.flush()
