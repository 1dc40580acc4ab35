"""Pinocchio and MuJoCo for comparison, if they are installed and support the robot and the quantity."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from contextlib import suppress
from functools import cache

import numpy as np

import kinetree as kt
from benchmarks.measure import Call, Timing, race
from benchmarks.mujoco_peer import MuJoCo
from benchmarks.pinocchio_peer import BATCHES, FUNCTIONS, Pinocchio
from kinetree.errors import ModelError
from kinetree.model import Model

LOOP = 256  # states in a batch without a C++ loop
COMPARED = (
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "inverse_mass_matrix", "coriolis_matrix",
    "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
)  # fmt: skip


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


class Peers:
    """The calls of the peers for one model."""

    loop = LOOP

    def __init__(self, model: Model):
        self.pinocchio = Pinocchio(model) if installed("pinocchio") else None
        self.mujoco = None
        if installed("mujoco"):
            with suppress(ModelError):  # MuJoCo refuses inertias that no body can have
                self.mujoco = MuJoCo(model)

    def single(self, name: str, one: Sequence[np.ndarray]) -> dict[str, Call]:
        """Calls from Python for one state."""
        result: dict[str, Call] = {}
        if self.pinocchio is not None and name in FUNCTIONS:
            result["pinocchio"] = self.pinocchio.call(name, self.pinocchio.arguments(name, one))
        if self.mujoco is not None and name in self.mujoco.calls():
            result["mujoco"] = self.mujoco.calls()[name]
        return result

    def batch(self, name: str, inputs: Sequence[np.ndarray]) -> dict[str, Call]:
        """A C++ loop on one thread, or else a Python loop whose overhead is subtracted afterwards."""
        if self.pinocchio is None or name not in FUNCTIONS:
            return {}
        arguments = self.pinocchio.arguments(name, inputs)
        if name in BATCHES:
            return {"pinocchio": self.pinocchio.batch(name, arguments)}
        rows = zip(*(x[:LOOP] for x in arguments))
        return {"pinocchio loop": _in_turn([self.pinocchio.call(name, row) for row in rows])}

    def net(self, name: str, timings: dict[str, Timing]) -> dict[str, Timing]:
        """The timings without the overhead of a Python call, which is that for a single pendulum."""
        if "pinocchio loop" in timings:
            timings["pinocchio loop"] = timings["pinocchio loop"].minus(_overhead(name))
        return timings

    def error(self, name: str, inputs: list[np.ndarray], results: np.ndarray) -> float | None:
        """The largest relative difference between our first results and Pinocchio's."""
        if self.pinocchio is None or name not in COMPARED:
            return None
        worst = 0.0
        for k in range(5):
            state = [x[k] for x in inputs]
            call = self.pinocchio.call(name, self.pinocchio.arguments(name, state))
            theirs = self.pinocchio.ours(name, state, _array(call.function(*call.arguments)))
            worst = max(worst, float(np.abs(theirs - results[k]).max() / np.abs(theirs).max()))
        return worst


def _array(result: object) -> np.ndarray:
    """A result as an array; empty if the call leaves it in the data."""
    return np.zeros(0) if result is None or isinstance(result, tuple) else np.array(result)


def _in_turn(calls: list[Call]) -> Call:
    """All calls, one after another."""
    function, rows = calls[0].function, [call.arguments for call in calls]

    def loop() -> None:
        for row in rows:
            function(*row)

    return Call(loop)


@cache
def _overhead(name: str) -> Timing:
    """The time per call of many calls for a single pendulum."""
    twin = Pinocchio(kt.zoo.pendulum())
    count = sum(not argument.optional for argument in getattr(kt, name).inputs)
    return race({"x": _in_turn([twin.call(name, [np.zeros(1)] * count)] * LOOP)}, 0.1)["x"] / LOOP
