"""The interpreter as a target: plain Python on numbers of any kind; a batch is one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.stages.batches import batch_of, delivered, poisoned
from kinetree.stages.job import Job
from kinetree.stages.target import Target, preferring


class Eager(Target):
    """Runs the body of a function as it is."""

    name = "eager"

    def executable(self, job: Job) -> Callable[..., Any]:
        return Evaluation(job)


class Evaluation:
    """A function of a model in plain Python, called as `evaluation(*arrays, out=None)`."""

    def __init__(self, job: Job):
        self.job = job

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        given = dict(zip(self.job.present, map(_computable, arrays), strict=True))
        return _run(self.job, given, out)


def _computable(array: Any) -> np.ndarray:
    """Integers, booleans and half precision as doubles: their own arithmetic would overflow.

    The same for arrays of objects that are empty or hold only plain numbers, so that the NaN rule holds for
    them too.
    """
    array = np.asarray(array)
    if array.dtype == object and all(type(x) in (float, int) for x in array.flat):
        return array.astype(np.float64)
    small = array.dtype.kind in "iub" or (array.dtype.kind == "f" and array.dtype.itemsize < 4)
    return array.astype(np.float64) if small else array


def _run(job: Job, arrays: dict[str, np.ndarray], out: Any) -> Any:
    function = job.function
    batch, cores = batch_of(function, job.model, arrays, job.options)
    with np.errstate(invalid="ignore"), preferring("eager"):  # an infinite input gives NaN
        results = function.evaluate(job.model, arrays, job.options)
    results = poisoned(results, arrays, cores, batch)
    if job.dtype == "float32":
        results = [result.astype(np.float32) for result in results]
    return delivered(function.name, results, out)
