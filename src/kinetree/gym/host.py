"""The robots of an environment on the CPU: their arrays are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.errors import ArgumentError
from kinetree.gym import tensors
from kinetree.gym.draws import runs_of
from kinetree.gym.pushes import NAME, NEEDED
from kinetree.gym.task import Task
from kinetree.model.configuration import require_sound
from kinetree.scale import philox
from kinetree.stages.job import Job
from kinetree.stages.target import TARGETS

Array = np.ndarray


class HostRobots:
    """The robots of an environment and their arrays.

    Args:
        task: what they do.
        count: the number of robots.
        dtype: of all numbers.
        backend: the library of all results.
    """

    asks = True  # whether the host knows at once that something happened to a robot

    def __init__(self, task: Task, count: int, dtype: np.dtype, backend: str):
        self.task, self.count, self.dtype, self.backend = task, count, dtype, backend
        self._advance, self._begin = task.advance(), task.begin()
        self._kernels: dict[tuple, Any] = {}
        shapes = {name: a.sizes(task.model) for name, a in (task.kept | task.drawn).items()}
        self.arrays = {name: np.zeros((count, *shape), dtype) for name, shape in shapes.items()}
        self.arrays["q"][:] = task.model.neutral()
        self.episode = np.zeros(count, np.int64)
        self.sow(0)

    def snapshot(self) -> dict[str, Any]:
        """The complete state, as NumPy arrays."""
        arrays = {name: x.copy() for name, x in self.arrays.items()}
        return {"arrays": arrays, "episode": self.episode.copy(), "total": self.total, "seed": self.seed}

    def restore(self, kept: dict[str, Any]) -> None:
        """Continue from a snapshot."""
        self.sow(kept["seed"])
        self.arrays, self.episode, self.total = kept["arrays"], kept["episode"], kept["total"]

    def sow(self, seed: int) -> None:
        """Seed all random numbers from now on."""
        self.seed, self.total = seed, 0
        self.episode[:] = 0
        self._slots = {"u": self.task.draws.slots(seed), NAME: philox.slots([(NAME, 1)], seed)}

    def taken(self, actions: Any) -> Array:
        """The actions, checked."""
        return tensors.taken(actions, (self.count, self.task.drive.size), self.dtype)

    def masked(self, mask: Any) -> Array:
        """The mask of a caller, as numbers."""
        mask = np.asarray(mask)
        if mask.shape != (self.count,) or mask.dtype != bool:
            raise ArgumentError(f"VectorEnv: reset_mask must be {self.count} booleans, got {mask!r}")
        return mask.astype(self.dtype)

    def act(self, action: Array) -> dict[str, Array]:
        """An action of all robots; returns rewards and flags. `waited` marks the robots that did nothing."""
        given = self.arrays | {"action": np.clip(action, -1, 1), "bad": np.zeros((), self.dtype)}
        given["dt"] = np.asarray(self.task.dt, self.dtype)
        if self.task.push is not None:
            given["push"] = self._drawn(NAME, np.arange(self.count), self.total)[:, :NEEDED]
        self.waited = self.arrays["over"]
        shapes = {a.name: a.sizes(self.task.model) for a in self._advance.outputs}
        out = {name: tensors.empty((self.count, *shape), self.dtype) for name, shape in shapes.items()}
        kernel, present = self._kernel(self._advance, tuple(given))
        kernel(*(given[name] for name in present), out=tuple(out.values()))
        self.arrays |= {name: out.pop(name) for name in ("q", "v", "seen", "count", "over")}
        self.arrays["last_action"] = given["action"]
        self.total += 1
        return out

    def begin(self, again: Array, given: dict[str, Any] | None = None) -> None:
        """Start new episodes for some robots; `given` q and v are start states chosen by the caller."""
        index = np.flatnonzero(again > 0.5)
        if not len(index):
            return
        parts = {f"old_{name}": x[index] for name, x in self.arrays.items()}
        parts |= {"again": np.ones((), self.dtype)}
        parts["u"] = self._drawn("u", index, self.episode[index])
        for name, value in (given or {}).items():
            width = self.arrays[name].shape[1]
            whole = rows(name, value, self.count, width, self.dtype)
            if name == "q":
                taken = np.where((again > 0.5)[:, None], whole, self.task.model.neutral())
                require_sound(self.task.model, "VectorEnv: option 'q'", taken)
            parts[f"given_{name}"] = whole[index]
        kernel, present = self._kernel(self._begin, tuple(parts))
        found = kernel(*(np.ascontiguousarray(parts[name]) for name in present))
        for a, x in zip(self._begin.outputs, found, strict=True):
            self.arrays[a.name][index] = x
        self.episode[index] += 1

    def state(self, name: str) -> Any:
        """A copy of one of the arrays."""
        array = self.arrays[name]
        copy = tensors.empty(array.shape, self.dtype)
        copy[...] = array
        return self.out(copy)

    def out(self, array: Array, truths: bool = False) -> Any:
        """An array of the library, as numbers or booleans."""
        if truths:
            array = np.greater(array, 0.5, out=tensors.empty(array.shape, np.dtype(bool)))
        return tensors.handed_over(array, self.backend)

    def _drawn(self, name: str, index: Array, count: Array | int) -> Array:
        """Uniform numbers of this name for some robots."""
        return philox.between(philox.words_of(self._slots[name], runs_of(index, count)), self.dtype)

    def _kernel(self, function: Any, given: tuple[str, ...]) -> tuple[Any, tuple[str, ...]]:
        present = function.present(given)
        key = function.name, present
        if key not in self._kernels:
            job = Job(function, self.task.model, present, {}, str(self.dtype))
            self._kernels[key] = TARGETS["cpu"].executable(job)
        return self._kernels[key], present


def rows(name: str, value: Any, count: int, width: int, dtype: Any) -> Array:
    """States given by a caller: one, or a row for each robot."""
    try:
        array = np.asarray(value, dtype)
    except (TypeError, ValueError):
        array = np.empty(0, dtype)
    if array.shape not in ((width,), (1, width), (count, width)):
        raise ArgumentError(f"VectorEnv: option {name!r} must be ({width},) or ({count}, {width})")
    array = np.broadcast_to(array, (count, width))
    if not np.isfinite(array).all():
        raise ArgumentError(f"VectorEnv: option {name!r} holds NaN or infinity")
    return array


__all__ = ["HostRobots", "rows"]
