"""Random pushes on robots."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.derived import impulse_response
from kinetree.errors import ArgumentError
from kinetree.model import Model

NAME, NEEDED = "push", 3  # name and count of the uniform numbers for a push


@dataclass(frozen=True)
class Push:
    """Random horizontal impulses on a frame.

    Args:
        frame: the frame or body that is pushed at its origin.
        impulse: the largest impulse, N s; magnitudes are uniform between 0 and this.
        every: the mean time between two pushes of a robot, s.
    """

    frame: str
    impulse: float
    every: float

    def checked(self, model: Model) -> Push:
        model.frame(self.frame)
        for name in ("impulse", "every"):
            value = getattr(self, name)
            if not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
                raise ArgumentError(f"Push: {name} must be a positive number, got {value!r}")
        return self

    def pushed(self, model: Model, q: Any, v: Any, u: Any, dt: float) -> Any:
        """The velocity of a robot after the push, if any, within a time `dt`; u are uniform numbers (3,)."""
        chance, size, way = u
        angle = 2 * math.pi * way
        size = ops.where(ops.less(chance, dt / self.every), self.impulse * size, 0.0)
        impulse = np.array([0.0, 0.0, 0.0, size * ops.cos(angle), size * ops.sin(angle), 0.0])
        return v + impulse_response(model, q, self.frame, impulse)
