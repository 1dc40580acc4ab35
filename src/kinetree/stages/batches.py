"""Batches of numbers of any kind: arrays become numbers for the interpreter, and results become arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.compiler.runtime.batching import check_place
from kinetree.errors import ShapeError
from kinetree.model import Model

if TYPE_CHECKING:
    from kinetree.stages.function import Function

Shape = tuple[int, ...]


def batch_of(
    function: Function, model: Model, arrays: Mapping[str, np.ndarray], options: Mapping[str, Any]
) -> tuple[Shape, dict[str, int]]:
    """The joint batch axes of some inputs, and for each input how many axes belong to one state."""
    cores = {a.name: len(a.shape) for a in function.inputs}
    try:
        batch = np.broadcast_shapes(*(a.shape[: a.ndim - cores[name]] for name, a in arrays.items()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ShapeError(
            f"{function.name}: the batch axes of the arguments do not broadcast: {shapes}"
        ) from None
    return batch, cores


def numbers(array: np.ndarray, core: int, batch: Shape) -> Any:
    """The array as nested lists of numbers; each number carries the batch axes."""
    if array.ndim == core and not batch:
        return array.tolist()
    axes = tuple(range(array.ndim - core, array.ndim))
    return _split(np.moveaxis(array, axes, tuple(range(core))), core)


def _split(array: np.ndarray, depth: int) -> Any:
    return [_split(part, depth - 1) for part in array] if depth else array + 0


def poisoned(
    results: list[Any], arrays: Mapping[str, np.ndarray], cores: Mapping[str, int], batch: Shape
) -> list[Any]:
    """NaN in all results of every state whose inputs hold NaN or infinity."""
    finite = {name: np.isfinite(array) for name, array in arrays.items() if array.dtype != object}
    if all(numbers.all() for numbers in finite.values()):
        return results
    bad: Any = np.zeros(batch, bool)
    for name, numbers in finite.items():
        bad = bad | ~numbers.all(axis=tuple(range(numbers.ndim - cores[name], numbers.ndim)))
    return [
        np.where(np.reshape(bad, batch + (1,) * (np.ndim(r) - len(batch))), np.nan, r)[()]
        if isinstance(r, (np.ndarray, np.generic)) and r.dtype.kind in "fc"
        else r
        for r in results
    ]


def delivered(name: str, results: Sequence[Any], out: Any) -> Any:
    """The return value of a call: one result or a tuple, written to the caller's arrays if given."""
    if out is None:
        values = tuple(r[()] if isinstance(r, np.ndarray) and r.ndim == 0 else r for r in results)
    else:
        values = out if isinstance(out, tuple) else (out,)
        if len(values) != len(results):
            raise ShapeError(f"{name}: out has {len(values)} arrays, but {len(results)} are needed")
        for place, result in zip(values, results, strict=True):
            check_place(name, place, np.asarray(result).dtype)
            if np.shape(place) != np.shape(result):
                raise ShapeError(f"{name}: out has shape {np.shape(place)} but {np.shape(result)} is needed")
            np.copyto(place, result, casting="same_kind")
    return values[0] if len(values) == 1 else values
