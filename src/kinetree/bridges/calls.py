"""Functions of a model that take arrays of another library, and the jobs of their derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache, update_wrapper
from typing import Any

import numpy as np

from kinetree.errors import ArgumentError, ShapeError
from kinetree.model import Model
from kinetree.stages.arguments import named
from kinetree.stages.derivative import Derivative
from kinetree.stages.function import Function
from kinetree.stages.job import Job
from kinetree.stages.transforms import jvp_of, vjp_of
from kinetree.sweep.signature import MODEL_INPUTS

Shape = tuple[int, ...]


class Wrapped(ABC):
    """A function of one model in another library: `f(*arrays)`, batch axes lead and broadcast."""

    library: str

    def __init__(self, function: Function, model: Model, fixed: dict[str, Any]):
        who = f"kt.{self.library}.wrap"
        if not isinstance(function, Function):
            raise ArgumentError(
                f"{who}: {function!r} is not a model function; give one such as kinetree.inverse_dynamics"
            )
        if not isinstance(model, Model):
            raise ArgumentError(f"{who}: the model must be a kinetree Model, not a {type(model).__name__}")
        known = [*function.order, *(a.name for a in MODEL_INPUTS)]
        for name in fixed:
            if name not in known:
                raise ArgumentError(
                    f"{who}: {function.name} has no argument {name!r}; it takes {', '.join(known)}"
                )
        self.function, self.model, self.fixed = function, model, fixed
        self._jobs: dict[Job, Job] = {}  # known jobs, with cached shapes
        update_wrapper(self, function, assigned=("__module__", "__name__", "__doc__"), updated=())

    @abstractmethod
    def arrays(self, given: dict[str, Any]) -> tuple[str, list[Any]]:
        """The common number type of the inputs, and the inputs as arrays of that type."""

    @abstractmethod
    def spread(self, array: Any, shape: Shape) -> Any:
        """The array broadcast to a shape."""

    @abstractmethod
    def results(self, job: Job, arrays: list[Any]) -> Sequence[Any]:
        """The results of a job; each array has the common batch axes, or none."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        places = self.function.order[: len(args)]
        fixed = {name: value for name, value in self.fixed.items() if name not in places}
        given, options = named(self.function, self.model, args, fixed | keywords)
        dtype, arrays = self.arrays(given)
        job = Job(self.function, self.model, tuple(given), options, dtype)
        job = self._jobs.setdefault(job, job)
        results = self.results(job, aligned(job, arrays, self.spread))
        if len(results) == 1:
            return results[0]
        return tuple(results) if self.function.result is None else self.function.result(*results)

    def __repr__(self) -> str:
        return f"<function {self.function.name} of {self.model.name!r} for {self.library}>"


def aligned(job: Job, arrays: Sequence[Any], spread: Callable[[Any, Shape], Any]) -> list[Any]:
    """The inputs of a call, each with the common batch axes or with none; else ShapeError."""
    leading = []
    for name, array, core in zip(job.present, arrays, job.shapes[0], strict=True):
        shape = tuple(array.shape)
        split = len(shape) - len(core)
        if split < 0 or shape[split:] != core:
            raise ShapeError(job.wrong_shape(name, shape))
        leading.append(shape[:split])
    batch = leading[0]
    if any(axes not in (batch, ()) for axes in leading):
        try:
            batch = np.broadcast_shapes(*leading)
        except ValueError:
            shapes = ", ".join(f"{n} {tuple(a.shape)}" for n, a in zip(job.present, arrays))
            raise ShapeError(
                f"{job.function.name}: the batch axes of the arguments do not broadcast: {shapes}"
            ) from None
    return [
        array if axes in (batch, ()) else spread(array, batch + core)
        for array, axes, core in zip(arrays, leading, job.shapes[0], strict=True)
    ]


def batch_of(job: Job, shapes: Sequence[Shape]) -> Shape:
    """The batch axes of aligned arrays."""
    leading = (shape[: len(shape) - len(core)] for shape, core in zip(shapes, job.shapes[0], strict=True))
    return max(leading, key=len, default=())


def widened(job: Job, shapes: Sequence[Shape], mapped: Sequence[bool]) -> list[tuple[Shape, Shape] | None]:
    """How to realign arrays when some have one more leading axis: for each, the shapes to reshape and then to
    broadcast it to; None if it stays as it is.
    """
    size = next(shape[0] for shape, more in zip(shapes, mapped, strict=True) if more)
    own = [shape[more:] for shape, more in zip(shapes, mapped, strict=True)]
    batch = batch_of(job, own)
    found: list[tuple[Shape, Shape] | None] = []
    for shape, more, core in zip(own, mapped, job.shapes[0], strict=True):
        axes = shape[: len(shape) - len(core)] or (1,) * len(batch)
        first = (size if more else 1,)
        alone = not more and len(shape) == len(core)
        found.append(None if alone else (first + axes + core, (size, *batch, *core)))
    return found


@cache
def jvp_job(job: Job, along: tuple[str, ...]) -> tuple[Job, Derivative]:
    """The job that also returns the changes of the results along these inputs."""
    derived = jvp_of(job.function, coordinates="ambient")
    names = [*job.present, *(derived.mark + name for name in along)]
    return Job(derived, job.model, derived.present(names), job.options, job.dtype), derived


@cache
def vjp_job(job: Job, wrt: tuple[str, ...], weighted: tuple[int, ...]) -> tuple[Job, list[str]]:
    """The job of the gradients for these inputs, and the names of the weights of the results used."""
    derived = vjp_of(job.function, wrt=wrt, coordinates="ambient")
    names = list(derived.results)
    weights = [derived.mark + names[k] for k in weighted]
    return Job(derived, job.model, derived.present([*job.present, *weights]), job.options, job.dtype), weights
