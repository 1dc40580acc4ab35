"""Articulated-body sweeps in which the nodes of knots are freed together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kinetree.algorithms.freed import Freed
from kinetree.algorithms.knot_forces import ByForces
from kinetree.algorithms.knot_velocities import ByVelocities
from kinetree.algorithms.knots import Knot, knots_of
from kinetree.sweep import Sweep


def freeing(tree: Sweep, nodes: Sequence[Any], pairs: Sequence[Any]) -> Callable[..., Freed]:
    """The class of sweeps for these pairs of bodies that can touch."""
    return partial(Knotted, knots_of(tree, nodes, pairs)) if pairs else Freed


class Knotted(Freed):
    """Articulated-body sweeps with knots."""

    def __init__(self, knots: Sequence[Knot], *given: Any):
        super().__init__(*given)
        self.grips: dict[Any, Sequence[Any]] = {}  # of two bodies: what their points do
        self.forces: dict[Any, dict[int, Any]] = {}  # of two bodies: what was found at their points
        self.knots: dict[Any, Any] = {}
        for knot in knots:
            solver = ByForces(self, knot) if knot.is_long else ByVelocities(self, knot)
            self.knots |= dict.fromkeys(knot.nodes, solver)

    def free(self, i: Any) -> Any:
        return self.knots[i].free(i) if i in self.knots else super().free(i)

    def answer(self, i: Any, share: Any = 1) -> Any:
        return self.knots[i].answer(i) if i in self.knots else super().answer(i, share)
