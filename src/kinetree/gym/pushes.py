"""Robots that are pushed now and then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.derived import impulse_response
from kinetree.errors import ArgumentError
from kinetree.model import Model
from kinetree.scale import philox

Array = np.ndarray


@dataclass(frozen=True)
class Push:
    """Impulses on a frame, in random horizontal directions.

    Args:
        frame: the frame or body that is pushed at its origin.
        impulse: the largest, N s; sizes are uniform from 0 to it.
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

    def pushed(
        self, model: Model, q: Array, v: Array, numbers: dict[str, Any], seed: int, runs: Array, dt: float
    ) -> Array:
        """The velocities after the pushes, if any, that fall into a time `dt`."""
        chance, size, way = philox.uniform(philox.key_of(seed, "push"), runs, 3).T
        hit = chance < dt / self.every
        if not hit.any():
            return v
        size, angle = self.impulse * size[hit], 2 * np.pi * way[hit]
        impulse = np.zeros((len(size), 6))
        impulse[:, 3], impulse[:, 4] = size * np.cos(angle), size * np.sin(angle)
        given = {name: x[hit] for name, x in numbers.items() if name == "parameters"}
        v = v.copy()
        v[hit] += impulse_response(model, q[hit].astype(float), self.frame, impulse, **given)
        return v
