"""A caller's arrays as machine code takes them: broadcast, converted, with one stride over the batch.

The rules are those of NumPy's generalised universal functions. Machine code needs the core of every state
contiguous and one batch axis; arrays that cannot be viewed that way are copied.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kinetree.compiler.runtime.description import Core, Shape
from kinetree.errors import ArgumentError, ShapeError

SHORT = 64  # states: runs of equal stride shorter than this are gathered by a copy


def convert(core: Core, value: Any, dtype: np.dtype) -> np.ndarray:
    """`value` as an array of `dtype`."""
    refuse_masked(core.name, value)
    array = np.asarray(value)
    if array.dtype == dtype:
        return array
    if array.dtype.kind not in "fiub":
        raise ShapeError(
            f"{core.name} has type {array.dtype}, but real numbers are needed: "
            "convert it, or use target='eager' for other kinds of numbers"
        )
    return array.astype(dtype)


def is_masked_array(value: Any) -> bool:
    """True for a masked array, without loading NumPy's module for them, which takes a while."""
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(value, masked.MaskedArray)


def refuse_masked(name: str, value: Any) -> None:
    """Raise if some numbers of an array are masked: the values there are meaningless."""
    if is_masked_array(value) and np.ma.is_masked(value):
        raise ShapeError(f"{name} has masked numbers: fill them first, or leave these states out")


def fits(core: Core, array: np.ndarray) -> bool:
    """True if the last axes of an array are those of the core."""
    axes = len(core.shape)
    return array.ndim >= axes and array.shape[array.ndim - axes :] == core.shape


def expected(core: Core, shape: Shape) -> str:
    """The message for an argument of the wrong shape."""
    wanted = ", ".join(["...", *map(str, core.shape)])
    return f"{core.name} has shape {shape} but ({wanted}) is needed"


def batch_shape(
    cores: Sequence[Core], arrays: Sequence[np.ndarray], outs: Sequence[np.ndarray | None]
) -> Shape:
    """The common batch shape of all arguments."""
    batches = [a.shape[: a.ndim - len(c.shape)] for c, a in zip(cores, arrays)]
    given = [o.shape[: o.ndim - len(c.shape)] for c, o in zip(cores[len(arrays) :], outs) if o is not None]
    everything = {*batches, *given}
    if len(everything) == 1:
        return everything.pop()
    try:
        batch = np.broadcast_shapes(*batches, *given)
    except ValueError:
        pairs = ", ".join(f"{c.name} {a.shape}" for c, a in zip(cores, (*arrays, *outs)) if a is not None)
        raise ShapeError(f"the batch axes of the arguments do not broadcast: {pairs}") from None
    if any(g != batch for g in given):
        raise ShapeError(f"out has batch shape {given[0]}, but the arguments broadcast to {batch}")
    return batch


def spread(core: Core, array: np.ndarray, batch: Shape) -> np.ndarray:
    """An array broadcast to all batch axes, without a copy."""
    shape = batch + core.shape
    return array if array.shape == shape else np.broadcast_to(array, shape)


def check_out(cores: Sequence[Core], out: Any, dtype: np.dtype) -> list[np.ndarray | None]:
    """`out=` as one array or None for each result."""
    outs = list(out) if isinstance(out, tuple) else [out]
    if out is None:
        return [None] * len(cores)
    if len(outs) != len(cores):
        raise ShapeError(f"out has {len(outs)} arrays, but there are {len(cores)} results")
    for core, array in zip(cores, outs):
        if array is None:
            continue
        check_place(core.name, array, dtype)
        if not fits(core, array):
            raise ShapeError("out: " + expected(core, array.shape))
    return outs


def check_place(name: str, array: Any, dtype: np.dtype) -> None:
    """Raise unless a result of `dtype` can be written to an array."""
    if not isinstance(array, np.ndarray):
        raise ArgumentError(f"out for {name} must be a NumPy array, not a {type(array).__name__}")
    if not array.flags.writeable:
        raise ShapeError(f"out for {name} is read-only")
    if array.dtype.kind not in "fcO" or not np.can_cast(dtype, array.dtype, "same_kind"):
        raise ShapeError(f"out for {name} holds {array.dtype} values, but the results are {dtype}")


def are_apart(outs: Sequence[np.ndarray | None]) -> bool:
    """True if no two results share memory."""
    arrays = [array for array in outs if array is not None]
    return not any(np.may_share_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k])


def is_plain(array: np.ndarray, dtype: np.dtype, axes: int) -> bool:
    """True if machine code can access the last `axes` axes of an array as they are."""
    if array.dtype != dtype or not array.flags.aligned:
        return False
    if array.flags.c_contiguous:
        return True
    step = dtype.itemsize
    for axis in range(array.ndim - 1, array.ndim - axes - 1, -1):
        if array.shape[axis] != 1 and array.strides[axis] != step:
            return False
        step *= array.shape[axis]
    return True


def collapse(batch: Shape, strides: Sequence[Shape]) -> tuple[Shape, list[Shape]]:
    """Batch axes merged wherever every array has a uniform stride through them."""
    lengths: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis, length in enumerate(batch):
        if length == 1:
            continue
        if lengths and all(s[-1] == t[axis] * length for s, t in zip(steps, strides)):
            lengths[-1] *= length
            for s, t in zip(steps, strides):
                s[-1] = t[axis]
        else:
            lengths.append(length)
            for s, t in zip(steps, strides):
                s.append(t[axis])
    return tuple(lengths), [tuple(s) for s in steps]


def outer(lengths: Shape) -> Iterator[tuple[int, ...]]:
    """The indices of the runs along the last axis."""
    return iter(np.ndindex(*lengths[:-1]))


def interferes(source: np.ndarray, result: np.ndarray, batch_axes: int, lasting: bool) -> bool:
    """True if writing one state of `result` may change what another state reads from `source`.

    With `lasting`, the source must stay unchanged until all states are done.
    """
    if not np.may_share_memory(source, result):
        return False
    if lasting:
        return True
    if address(source) != address(result) or batch_axes == 0:
        return batch_axes != 0
    if source.strides[:batch_axes] != result.strides[:batch_axes]:
        return True
    extent = max(int(np.prod(a.shape[batch_axes:], dtype=np.int64)) * a.itemsize for a in (source, result))
    steps = sorted(
        (abs(s), n) for s, n in zip(result.strides[:batch_axes], result.shape[:batch_axes]) if n > 1
    )
    for step, length in steps:
        if step < extent:
            return True
        extent = step * length
    return False


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]
