"""Pinocchio and MuJoCo beside kinetree, if they are installed and know the robot and the quantity."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import numpy as np

import kinetree as kt
from benchmarks.measure import Call, Timing, race
from kinetree.model import Model

LOOP = 256  # states of a batch for which there is no C++ loop


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


class Peers:
    """What the others do for one model."""

    loop = LOOP

    def __init__(self, model: Model):
        self.pinocchio = self.mujoco = None
        if installed("pinocchio"):
            from benchmarks import pinocchio_peer

            self.pinocchio = pinocchio_peer.Pinocchio(model)
        if installed("mujoco"):
            from benchmarks import mujoco_peer

            self.mujoco = mujoco_peer.MuJoCo(model)

    def single(self, name: str, one: list[np.ndarray]) -> dict[str, Call]:
        """Calls from Python for one state."""
        result: dict[str, Call] = {}
        if self.pinocchio is not None and name in self.pinocchio.calls():
            function, first = self.pinocchio.calls()[name]
            result["pinocchio"] = Call(function, [*first, *self.pinocchio.arguments(name, one)])
        if self.mujoco is not None and name in self.mujoco.calls():
            result["mujoco"] = self.mujoco.calls()[name]
        return result

    def batch(self, name: str, inputs: list[np.ndarray]) -> dict[str, Call]:
        """A loop in C++ on one thread, or else a loop in Python whose overhead is subtracted afterwards."""
        if self.pinocchio is None:
            return {}
        batches, calls = self.pinocchio.batches(), self.pinocchio.calls()
        arguments = self.pinocchio.arguments(name, inputs)
        if name in batches:
            columns = [np.asfortranarray(x.T) for x in arguments]
            return {"pinocchio": Call(batches[name], columns)}
        if name not in calls:
            return {}
        rows = list(zip(*(x[:LOOP] for x in arguments)))
        function, first = calls[name]

        def loop() -> None:
            for row in rows:
                function(*first, *row)

        return {"pinocchio loop": Call(loop)}

    def net(self, name: str, timings: dict[str, Timing]) -> dict[str, Timing]:
        """The timings without the overhead of a Python call: that of the function for a single pendulum."""
        if "pinocchio loop" in timings:
            timings["pinocchio loop"] = timings["pinocchio loop"].minus(_overhead(name))
        return timings

    def error(self, name: str, inputs: list[np.ndarray], results: np.ndarray) -> float | None:
        """The largest relative difference between our first results and Pinocchio's."""
        if self.pinocchio is None or name not in self.pinocchio.calls() or name == "jacobian":
            return None
        function, first = self.pinocchio.calls()[name]
        worst = 0.0
        for k in range(5):
            state = [x[k] for x in inputs]
            found = np.array(function(*first, *self.pinocchio.arguments(name, state)))
            theirs = self.pinocchio.ours(name, state, found)
            worst = max(worst, float(np.abs(theirs - results[k]).max() / np.abs(theirs).max()))
        return worst


def _splat(function: Callable, arguments: list) -> Callable[[], object]:
    return lambda: function(*arguments)


def _overhead(name: str, known: dict[str, Timing] = {}) -> Timing:  # noqa: B006 - a memory of this function
    if name not in known:
        from benchmarks import pinocchio_peer

        twin = pinocchio_peer.Pinocchio(kt.zoo.pendulum())
        function, first = twin.calls()[name]
        one = np.zeros(1)
        count = {"coriolis_matrix": 2, "inverse_dynamics": 3, "forward_dynamics": 3}.get(name, 1)
        known[name] = race({"x": Call(_splat(function, [*first, *[one] * count]))}, 0.1)["x"]
    return known[name]
