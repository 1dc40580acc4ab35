"""The robots of an environment on a GPU: their arrays are made there and stay there.

An action is a few kernels on the stream of the library that owns the arrays: actions are clipped, robots
are pushed and moved, and finished episodes start again. Nothing is copied to the host.
"""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from kinetree.compiler.emit.llvm.random import THREADS, Generator, cut_rows, random_rows
from kinetree.compiler.runtime import cuda, cuda_kernels
from kinetree.compiler.runtime import cuda_arrays as arrays_of
from kinetree.compiler.runtime.cuda_arrays import View
from kinetree.compiler.runtime.on_device import is_on_device, kind_of
from kinetree.errors import ArgumentError
from kinetree.gym.draws import BLOCK
from kinetree.gym.host import rows
from kinetree.gym.pushes import NAME, NEEDED
from kinetree.gym.task import Task
from kinetree.scale import philox
from kinetree.stages.job import Job
from kinetree.stages.target import TARGETS

LEVEL = 4  # optimisation level in the driver


class DeviceRobots:
    """The robots of an environment and their arrays, on a device.

    Args:
        task: what they do.
        count: the number of robots.
        dtype: of all numbers.
        backend: the library of all results: "torch" or "jax"; "numpy" for host arrays, which are copied.
    """

    asks = False  # whether the host knows at once that something happened to a robot

    def __init__(self, task: Task, count: int, dtype: np.dtype, backend: str):
        self.task, self.count, self.dtype, self.backend = task, count, dtype, backend
        self.library = "" if backend == "numpy" else backend
        self.where = cuda.device(_current(self.library))
        self._advance, self._begin = task.advance(), task.begin()
        self._kernels: dict[tuple, Any] = {}
        shapes = {name: a.sizes(task.model) for name, a in (task.kept | task.drawn).items()}
        first = {name: np.zeros((count, *shape), dtype) for name, shape in shapes.items()}
        first["q"][:] = task.model.neutral()
        self.arrays = {name: self._put(x) for name, x in first.items()}
        self._spare = {name: self._empty(shape) for name, shape in shapes.items()}
        self._after = {name: self._empty(shapes[name]) for name in ("q", "v", "seen", "count", "over")}
        self._bad, self._dt = self._empty(()), self._put(np.asarray(task.dt, dtype))
        self._pushes = self._put(np.full((count, BLOCK), 0.5, dtype))
        self._pushed = View(_at(self._pushes), (count, NEEDED), (BLOCK, 1), dtype.str)
        self._uniforms = self._put(np.full((count, task.draws.width), 0.5, dtype))
        self._episode = cuda.Memory(self.where, 8 * count, kept=False)
        self._tables: dict[str, tuple[cuda.Memory, int]] = {}
        self.sow(0)

    # -- the interface of the environment

    def snapshot(self) -> dict[str, Any]:
        """The complete state, as NumPy arrays."""
        self._wait()
        arrays = {name: x.numpy() for name, x in self.arrays.items()}
        episode = self._episode.get(np.empty(self.count, np.int64))
        return {"arrays": arrays, "episode": episode, "total": self.total, "seed": self.seed}

    def restore(self, kept: dict[str, Any]) -> None:
        """Continue from a snapshot."""
        self.sow(kept["seed"])
        self.arrays = {name: self._put(x) for name, x in kept["arrays"].items()}
        self._episode.put(kept["episode"])
        self.total = kept["total"]

    def sow(self, seed: int) -> None:
        """Seed all random numbers from now on."""
        self.seed, self.total = seed, 0
        self._wait()
        self._episode.put(np.zeros(self.count, np.int64))
        for name, slots in (("u", self.task.draws.slots(seed)), (NAME, philox.slots([(NAME, 1)], seed))):
            memory = cuda.Memory(self.where, max(slots.nbytes, 8), kept=False)
            memory.put(slots)
            self._tables[name] = memory, len(slots)

    def taken(self, actions: Any) -> Any:
        """The actions, checked: on the device, one row for each robot."""
        shape = self.count, self.task.drive.size
        actions = actions.detach() if hasattr(actions, "detach") else actions
        return self._there("actions", actions, shape, "a row for each environment")

    def masked(self, mask: Any) -> Any:
        """The mask of a caller, as numbers on the device."""
        if is_on_device(mask):
            if "bool" not in str(mask.dtype) or tuple(mask.shape) != (self.count,):
                got = f"{tuple(mask.shape)} of {mask.dtype}"
                raise ArgumentError(f"VectorEnv: reset_mask must be {self.count} booleans, got {got}")
            return mask.to(self._kind) if hasattr(mask, "detach") else mask.astype(str(self.dtype))
        host = np.asarray(mask)
        if host.shape != (self.count,) or host.dtype != bool:
            raise ArgumentError(f"VectorEnv: reset_mask must be {self.count} booleans, got {host!r}")
        return self._put(host.astype(self.dtype))

    def act(self, action: Any) -> dict[str, Any]:
        """An action of all robots; returns rewards and flags. `waited` marks the robots that did nothing."""
        stream = self._stream
        taken = arrays_of.readable(action, stream)
        view = View.of(taken)
        width = self.task.drive.size
        strides = view.state(1, (self.count,), "VectorEnv: actions")
        cleaned = self._spare["last_action"]
        arguments = (view.pointer, *strides, _at(cleaned), _at(self._bad), width, self.count)
        self._launch(self._cut, arguments, stream)
        given: dict[str, Any] = self.arrays | {"action": cleaned, "bad": self._bad, "dt": self._dt}
        if self.task.push is not None:
            self._draw(NAME, self._pushes, None, stream)
            given["push"] = self._pushed
        self._held = taken  # until the next action: the device may still be reading it
        made = {a.name: a.sizes(self.task.model) for a in self._advance.outputs if a.name not in self._after}
        out = {name: arrays_of.empty(self.library, (self.count,), s, self.dtype, self.where)
               for name, s in made.items()}  # fmt: skip
        self._run(self._advance, given, self._after | out, stream)
        self.waited = self.arrays["over"]
        self._spare["last_action"], self.arrays["last_action"] = self.arrays["last_action"], cleaned
        for name, array in self._after.items():
            self._after[name], self.arrays[name] = self.arrays[name], array
        self.total += 1
        return out

    def begin(self, again: Any, given: dict[str, Any] | None = None) -> None:
        """Start new episodes for some robots; `given` q and v are start states chosen by the caller."""
        stream = self._stream
        mask = arrays_of.readable(again, stream)
        parts = {f"old_{name}": x for name, x in self.arrays.items()}
        parts |= {"again": mask, "u": self._uniforms}
        for name, value in (given or {}).items():
            width = self.arrays[name].shape[1]
            if is_on_device(value):
                parts[f"given_{name}"] = self._there(f"option {name!r}", value, (self.count, width), "rows")
                if not bool((value - value == 0).all()):
                    raise ArgumentError(f"VectorEnv: option {name!r} holds NaN or infinity")
            else:
                host = rows(name, value, self.count, width, self.dtype)
                parts[f"given_{name}"] = self._put(np.ascontiguousarray(host))
        self._draw("u", self._uniforms, mask, stream)
        self._run(self._begin, parts, self._spare, stream)
        self.arrays, self._spare = self._spare, self.arrays
        if given is not None:
            self._wait()  # host copies made for this may be freed afterwards

    def state(self, name: str) -> Any:
        """A copy of one of the arrays."""
        source = self.arrays[name]
        core = tuple(source.shape[1:])
        copy = arrays_of.empty(self.library, (self.count,), core, self.dtype, self.where)
        size = self.count * prod(core) * self.dtype.itemsize
        ends = (_at(source), size), (_at(copy), size)
        cuda_kernels.copy_rows(self.where, *ends, size, 1, self._stream)
        return self.out(copy)

    def out(self, array: Any, truths: bool = False) -> Any:
        """An array of the library, as numbers or booleans."""
        if arrays_of.waits(self.library):
            self._wait()
        if self.backend == "numpy":
            found = array.numpy()
        else:
            found = arrays_of.handed_over(self.library, array)
        return found > 0.5 if truths else found

    # -- arrays

    @property
    def _stream(self) -> int:
        return arrays_of.stream_of(self.library, self.where)

    @property
    def _kind(self) -> Any:
        import torch

        return getattr(torch, str(self.dtype))

    def _wait(self) -> None:
        cuda_kernels.wait(self.where, self._stream)

    def _empty(self, core: tuple[int, ...]) -> cuda.DeviceArray:
        return cuda.DeviceArray((self.count, *core), self.dtype, self.where)

    def _put(self, array: np.ndarray) -> cuda.DeviceArray:
        return cuda.array(array, self.where.number)

    def _there(self, what: str, value: Any, shape: tuple[int, ...], rule: str) -> Any:
        """An array of the caller: on the device, unless the backend is "numpy"."""
        if not is_on_device(value):
            if self.backend != "numpy":
                raise ArgumentError(
                    f"VectorEnv: {what} are on the host, but the robots are on the GPU: make them there, or "
                    "move them; nothing is copied unasked"
                )
            from kinetree.gym import tensors

            return self._put(np.ascontiguousarray(tensors.taken(value, shape, self.dtype)))
        if tuple(value.shape) != shape:
            raise ArgumentError(
                f"VectorEnv: {what} have shape {tuple(value.shape)}, but {shape} is needed: {rule}"
            )
        if kind_of(value) != self.dtype:
            raise ArgumentError(
                f"VectorEnv: {what} hold {kind_of(value)}, but the environment computes in {self.dtype}"
            )
        return value

    # -- kernels

    @cached_property
    def _cut(self) -> cuda_kernels.Launcher:
        return self._loaded(cut_rows(str(self.dtype)))

    @cached_property
    def _random(self) -> dict[bool, cuda_kernels.Launcher]:
        multipliers, weyl = ([int(x) for x in words] for words in (philox.MULTIPLIERS, philox.WEYL))
        generator = Generator(multipliers, weyl, philox.ROUNDS, philox.BITS[str(self.dtype)])
        texts = {masked: random_rows(generator, str(self.dtype), masked) for masked in (True, False)}
        return {masked: self._loaded(text) for masked, text in texts.items()}

    def _loaded(self, text: str) -> cuda_kernels.Launcher:
        ptx = cuda_kernels.assemble(text, self.where.architecture)
        return cuda_kernels.Launcher(ptx, self.where, LEVEL, THREADS, 0)

    def _launch(self, kernel: cuda_kernels.Launcher, arguments: tuple[int, ...], stream: int) -> None:
        with self.where.current():
            kernel.launch(arguments, -(-self.count // THREADS), stream)

    def _draw(self, name: str, target: cuda.DeviceArray, mask: Any, stream: int) -> None:
        """Uniform numbers of this name: for all robots, or for new episodes of those in the mask."""
        memory, slots = self._tables[name]
        if slots or mask is not None:
            place = 0 if mask is None else View.of(mask).pointer
            numbers = 0 if mask is None else self._episode.pointer
            arguments = (_at(target), memory.pointer, slots, place, numbers, self.total, self.count)
            self._launch(self._random[mask is not None], arguments, stream)

    def _run(self, function: Any, given: dict[str, Any], out: dict[str, Any], stream: int) -> None:
        present = function.present(tuple(given))
        key = function.name, present
        if key not in self._kernels:
            job = Job(function, self.task.model, present, {}, str(self.dtype))
            self._kernels[key] = TARGETS["cuda"].executable(job)
        views = [x if type(x) is View else View.of(x) for x in (given[name] for name in present)]
        targets = [View.of(out[a.name]) for a in function.outputs]
        self._kernels[key].start(views, targets, self.where, stream)


def _current(library: str) -> int:
    """The number of the device that a library currently uses."""
    if library != "torch":
        return 0
    import torch

    return int(torch.cuda.current_device())


def _at(array: Any) -> int:
    """The address of an array."""
    return array.memory.pointer if isinstance(array, cuda.DeviceArray) else View.of(array).pointer


__all__ = ["DeviceRobots"]
